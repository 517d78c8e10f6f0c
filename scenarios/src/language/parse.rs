//! From the text of a file to its cases, or to everything that is wrong with it.

use super::diagnostic::{Diagnostic, Diagnostics, Source};
use super::expand::{Expanded, expand};
use super::node::{Node, PathStep, Span, Value};
use super::scenario::Scenario;
use super::shape::{self, Problem};
use super::{references, schema};
use indexmap::IndexMap;
use std::sync::OnceLock;

/// One case: a scenario with its variables filled in.
#[derive(Debug, Clone)]
pub struct ParsedCase {
    /// The file it stands in.
    pub source: Source,
    /// Where its document starts.
    pub span: Span,
    /// The values of its matrix.
    pub parameters: IndexMap<String, String>,
    /// The scenario.
    pub scenario: Scenario,
    /// The same with places.
    pub document: Node,
}

impl ParsedCase {
    /// Where a part of the scenario stands in the file.
    pub fn span_of(&self, path: &[PathStep]) -> Span {
        self.document.nearest(path).span
    }
}

/// Reads every case of a file. A file may hold several documents, each of them a scenario.
pub fn parse_file(source: &Source) -> Result<Vec<ParsedCase>, Diagnostics> {
    let documents = documents(source)?;
    let mut diagnostics = Diagnostics::default();
    let mut cases = Vec::new();
    let mut names: IndexMap<String, Span> = IndexMap::new();
    for document in &documents {
        let mut report = |problem: Problem| {
            diagnostics.push(Diagnostic {
                source: source.clone(),
                span: problem.span,
                message: problem.message,
                help: problem.help,
            });
        };
        if let Some((_, Node { value: Value::Text(name), span })) = document.entry("name")
            && let Some(first) = names.insert(name.clone(), *span)
        {
            report(Problem {
                span: *span,
                message: format!("a scenario of this file is already called `{name}`"),
                help: Some(format!("the other one is on line {}", first.line)),
            });
        }
        match expand(document) {
            Ok(expanded) => {
                for case in expanded {
                    match type_case(source, document.span, case) {
                        Ok(case) => cases.push(case),
                        Err(problems) => problems.into_iter().for_each(&mut report),
                    }
                }
            }
            Err(problems) => {
                problems.into_iter().for_each(&mut report);
                // A document whose variables are wrong can still be told what else is wrong.
                let shape = shape::problems(root_schema(), document);
                shape.into_iter().filter(|p| !p.message.contains("${")).for_each(&mut report);
            }
        }
    }
    if diagnostics.is_empty() { Ok(cases) } else { Err(diagnostics) }
}

fn documents(source: &Source) -> Result<Vec<Node>, Diagnostics> {
    let text: &str = &source.text;
    let documents: Result<Vec<Node>, _> = serde_yaml::from_multiple(text);
    let mut diagnostics = Diagnostics::default();
    let mut report = |span: Span, message: String, help: Option<&str>| {
        let help = help.map(str::to_owned);
        diagnostics.push(Diagnostic { source: source.clone(), span, message, help });
    };
    match documents {
        Ok(documents) => {
            let documents: Vec<Node> =
                documents.into_iter().filter(|node| node.value != Value::Null).collect();
            if documents.is_empty() {
                let span = Span { line: 1, column: 1, start: 0, len: 0 };
                report(span, "the file holds no scenario".into(), None);
                return Err(diagnostics);
            }
            Ok(documents)
        }
        Err(error) => {
            let span =
                error.location().map_or(Span { line: 1, column: 1, ..Span::default() }, Into::into);
            report(span, yaml_words(&error), None);
            Err(diagnostics)
        }
    }
}

/// The YAML reader's own words, without the place that it adds to them and without advice to
/// programmers.
fn yaml_words(error: &serde_yaml::Error) -> String {
    let words = error.without_snippet().to_string();
    let words = words.lines().next().unwrap_or_default();
    let words = words.strip_prefix("error: ").unwrap_or(words);
    let words = match words.strip_prefix("line ").and_then(|rest| rest.split_once(": ")) {
        Some((_, rest)) => rest,
        None => words.split(" at line ").next().unwrap_or(words),
    };
    let words = words.split(", set DuplicateKeyPolicy").next().unwrap_or(words);
    format!("this is not YAML: {words}")
}

fn root_schema() -> &'static serde_json::Value {
    static SCHEMA: OnceLock<serde_json::Value> = OnceLock::new();
    SCHEMA.get_or_init(schema)
}

fn type_case(source: &Source, span: Span, case: Expanded) -> Result<ParsedCase, Vec<Problem>> {
    let Expanded { parameters, document } = case;
    let problems = shape::problems(root_schema(), &document);
    if !problems.is_empty() {
        return Err(problems);
    }
    let json = document.to_json();
    let scenario: Scenario = serde_path_to_error::deserialize(&json).map_err(|error| {
        // What the schema cannot say, a type still may: the place comes from serde's path.
        let path: Vec<PathStep> = error
            .path()
            .iter()
            .filter_map(|segment| match segment {
                serde_path_to_error::Segment::Seq { index } => Some(PathStep::Index(*index)),
                serde_path_to_error::Segment::Map { key } => Some(PathStep::Key(key.clone())),
                serde_path_to_error::Segment::Enum { variant } => {
                    Some(PathStep::Key(variant.clone()))
                }
                serde_path_to_error::Segment::Unknown => None,
            })
            .collect();
        let span = document.nearest(&path).span;
        vec![Problem { span, message: error.inner().to_string(), help: None }]
    })?;
    let problems = references::problems(&scenario, &document);
    if problems.is_empty() {
        Ok(ParsedCase { source: source.clone(), span, parameters, scenario, document })
    } else {
        Err(problems)
    }
}
