//! The plan: the cases that will be run, in order, each with what judging needs to know.

use crate::language::ParsedCase;
use crate::language::node::{PathStep, Span, path_text};
use crate::language::scenario::Scenario;
use crate::language::step::Step;
use crate::subject::protocol::Transport;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// One case, ready to run and to be judged. It is saved with the record, so that a record can be
/// judged again without the file it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedCase {
    /// `file::name [axis=value, …]`, unique in a run.
    pub id: String,
    /// The file, as the user named it.
    pub file: String,
    /// The line where the scenario starts.
    pub line: u64,
    /// The values of its matrix.
    pub parameters: IndexMap<String, String>,
    /// The scenario, variables filled in.
    pub scenario: Scenario,
    /// Where its steps and expectations stand, by path.
    pub places: IndexMap<String, Place>,
}

/// A place in a scenario file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Place {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// The line as written.
    pub source: String,
}

impl PlannedCase {
    /// The place of a path, or of the nearest thing above it that has one.
    pub fn place(&self, path: &str) -> Place {
        let mut path = path;
        loop {
            if let Some(place) = self.places.get(path) {
                return place.clone();
            }
            match path.rfind(['.', '[']) {
                Some(cut) => path = &path[..cut],
                None => return Place { line: self.line, column: 1, source: String::new() },
            }
        }
    }

    /// The steps in the order of the script, those of `together` after the step that holds them,
    /// each with its path.
    pub fn steps(&self) -> Vec<(String, &Step)> {
        let mut steps = Vec::new();
        collect_steps("script", &self.scenario.script, &mut steps);
        steps
    }

    /// The transport that every agent uses, when it is one.
    pub fn transport(&self) -> Transport {
        self.scenario.client.transport.unwrap_or_default()
    }
}

fn collect_steps<'a>(prefix: &str, steps: &'a [Step], into: &mut Vec<(String, &'a Step)>) {
    for (index, step) in steps.iter().enumerate() {
        let path = format!("{prefix}[{index}]");
        into.push((path.clone(), step));
        if let Some(together) = &step.together {
            collect_steps(&format!("{path}.together"), together, into);
        }
    }
}

/// Plans one parsed case. `shown_as` is the file's name in reports.
pub fn plan(case: ParsedCase, shown_as: &str) -> PlannedCase {
    let mut id = format!("{shown_as}::{}", case.scenario.name);
    if !case.parameters.is_empty() {
        let values: Vec<String> =
            case.parameters.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        id.push_str(&format!(" [{}]", values.join(", ")));
    }
    let places = places(&case);
    PlannedCase {
        id,
        file: shown_as.to_owned(),
        line: case.span.line,
        parameters: case.parameters,
        scenario: case.scenario,
        places,
    }
}

fn places(case: &ParsedCase) -> IndexMap<String, Place> {
    let mut places = IndexMap::new();
    let lines: Vec<&str> = case.source.text.lines().collect();
    let mut add = |path: &[PathStep], span: Span| {
        let line = usize::try_from(span.line.saturating_sub(1)).ok().and_then(|at| lines.get(at));
        let source = line.copied().unwrap_or_default().trim_end().to_owned();
        places.insert(path_text(path), Place { line: span.line, column: span.column, source });
    };
    let mut path = Vec::new();
    for part in ["script", "then"] {
        path.push(PathStep::Key(part.into()));
        walk(&case.document, &mut path, 0, &mut add);
        path.pop();
    }
    places
}

/// Walks the steps and their expectations, no deeper than a person would want to be pointed.
fn walk(
    document: &crate::language::node::Node,
    path: &mut Vec<PathStep>,
    depth: usize,
    add: &mut dyn FnMut(&[PathStep], Span),
) {
    use crate::language::node::Value;
    let node = document.nearest(path);
    match &node.value {
        Value::List(items) if depth == 0 => {
            for index in 0..items.len() {
                path.push(PathStep::Index(index));
                add(path, document.nearest(path).span);
                walk(document, path, depth + 1, add);
                path.pop();
            }
        }
        Value::Map(entries) => {
            for (key, value) in entries {
                path.push(PathStep::Key(key.name.clone()));
                add(path, key.span);
                match key.name.as_str() {
                    "together" => walk(document, path, 0, add),
                    "expect" => walk(document, path, depth + 1, add),
                    _ if depth >= 1 && matches!(value.value, Value::Map(_)) && depth < 4 => {
                        walk(document, path, depth + 1, add);
                    }
                    _ => {}
                }
                path.pop();
            }
        }
        _ => {}
    }
}
