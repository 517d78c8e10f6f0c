//! Matrices and variables: one document becomes one tree of values for each case.

use super::node::{Key, Node, Span, Value};
use super::shape::Problem;
use super::suggest::did_you_mean;
use indexmap::{IndexMap, IndexSet};

/// One case of a document: the values of its matrix, and the document with them filled in.
#[derive(Debug, Clone)]
pub struct Expanded {
    /// Axis to value, as text, in the order of the file.
    pub parameters: IndexMap<String, String>,
    /// The document without its `matrix`.
    pub document: Node,
}

/// An axis of this name chooses the clients' transport, also when nothing refers to it.
pub const TRANSPORT_AXIS: &str = "transport";

/// The most cases that one document may become.
const CASES_MAX: usize = 4096;

/// Fills in the matrix and the variables of a document.
pub fn expand(document: &Node) -> Result<Vec<Expanded>, Vec<Problem>> {
    let mut problems = Vec::new();
    let axes = axes(document, &mut problems);
    let bindings = bindings(document);
    let count = axes.iter().map(|(_, values)| values.len()).product::<usize>();
    if count > CASES_MAX {
        problems.push(Problem {
            span: document.get("matrix").map_or(document.span, |node| node.span),
            message: format!("the matrix makes {count} cases, and {CASES_MAX} are the most"),
            help: None,
        });
        return Err(problems);
    }

    let mut body = document.clone();
    remove(&mut body, "matrix");
    remove(&mut body, "let");
    let mut used = IndexSet::new();
    let mut cases = Vec::new();
    for index in 0..count {
        let choice = choice(&axes, index);
        let mut variables: IndexMap<&str, &Node> = IndexMap::new();
        variables.extend(bindings.iter().map(|(key, node)| (key.name.as_str(), *node)));
        variables.extend(choice.iter().map(|(key, node)| (key.name.as_str(), *node)));
        let mut filler =
            Filler { variables: &variables, used: &mut used, problems: &mut problems, depth: 0 };
        let mut document = filler.fill(&body);
        let parameters = choice
            .iter()
            .map(|(key, node)| (key.name.clone(), parameter_text(node)))
            .collect::<IndexMap<_, _>>();
        if let Some((_, transport)) = choice.iter().find(|(key, _)| key.name == TRANSPORT_AXIS) {
            choose_transport(&mut document, transport);
        }
        cases.push(Expanded { parameters, document });
    }

    for (key, _) in axes
        .iter()
        .map(|(key, values)| (*key, values))
        .filter(|(key, _)| key.name != TRANSPORT_AXIS && !used.contains(&key.name))
    {
        problems.push(unused("axis", key));
    }
    for (key, _) in bindings.iter().filter(|(key, _)| !used.contains(&key.name)) {
        problems.push(unused("variable", key));
    }
    if problems.is_empty() { Ok(cases) } else { Err(problems) }
}

fn unused(what: &str, key: &Key) -> Problem {
    Problem {
        span: key.span,
        message: format!("{what} `{}` is never used", key.name),
        help: Some(format!("refer to it as `${{{}}}`, or take it out", key.name)),
    }
}

type Axes<'a> = Vec<(&'a Key, &'a [Node])>;

fn axes<'a>(document: &'a Node, problems: &mut Vec<Problem>) -> Axes<'a> {
    let mut axes: Axes<'a> = Vec::new();
    let Some(Node { value: Value::Map(entries), .. }) = document.get("matrix") else { return axes };
    for (key, node) in entries {
        match &node.value {
            Value::List(values) if !values.is_empty() => axes.push((key, values)),
            Value::List(_) => problems.push(Problem {
                span: node.span,
                message: format!("axis `{}` has no values, so there would be no case", key.name),
                help: None,
            }),
            _ => problems.push(Problem {
                span: node.span,
                message: format!(
                    "axis `{}` needs a list of values, found {}",
                    key.name,
                    node.kind()
                ),
                help: None,
            }),
        }
    }
    axes
}

fn bindings(document: &Node) -> Vec<(&Key, &Node)> {
    match document.get("let") {
        Some(Node { value: Value::Map(entries), .. }) => {
            entries.iter().map(|(key, node)| (key, node)).collect()
        }
        _ => Vec::new(),
    }
}

/// The values of the `index`th case; the last axis turns fastest.
fn choice<'a>(axes: &Axes<'a>, mut index: usize) -> Vec<(&'a Key, &'a Node)> {
    let mut chosen = Vec::new();
    for (key, values) in axes.iter().rev() {
        chosen.push((*key, &values[index % values.len()]));
        index /= values.len();
    }
    chosen.reverse();
    chosen
}

fn parameter_text(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => text.clone(),
        _ => node.to_json().to_string(),
    }
}

fn remove(document: &mut Node, name: &str) {
    if let Value::Map(entries) = &mut document.value {
        entries.retain(|(key, _)| key.name != name);
    }
}

/// Puts the transport of the case into `client`, where the document says none itself.
fn choose_transport(document: &mut Node, transport: &Node) {
    let Value::Map(entries) = &mut document.value else { return };
    let key = |name: &str| Key { name: name.into(), span: transport.span };
    if !entries.iter().any(|(key, _)| key.name == "client") {
        let empty = Node { value: Value::Map(Vec::new()), span: transport.span };
        entries.push((key("client"), empty));
    }
    for (name, client) in entries.iter_mut() {
        if let (true, Value::Map(fields)) = (name.name == "client", &mut client.value)
            && !fields.iter().any(|(key, _)| key.name == "transport")
        {
            fields.push((key("transport"), transport.clone()));
        }
    }
}

struct Filler<'a> {
    variables: &'a IndexMap<&'a str, &'a Node>,
    used: &'a mut IndexSet<String>,
    problems: &'a mut Vec<Problem>,
    depth: usize,
}

/// Variables may speak of other variables, but not without end.
const DEPTH_MAX: usize = 16;

impl Filler<'_> {
    fn fill(&mut self, node: &Node) -> Node {
        let value = match &node.value {
            Value::Text(text) => return self.fill_text(text, node.span),
            Value::List(items) => Value::List(items.iter().map(|item| self.fill(item)).collect()),
            Value::Map(entries) => Value::Map(
                entries
                    .iter()
                    .map(|(key, value)| {
                        let name = parameter_text(&self.fill_text(&key.name, key.span));
                        (Key { name, span: key.span }, self.fill(value))
                    })
                    .collect(),
            ),
            other => other.clone(),
        };
        Node { value, span: node.span }
    }

    /// A text that is one reference becomes the value itself; references within a longer text
    /// become text. `$${` stands for a plain `${`.
    fn fill_text(&mut self, text: &str, span: Span) -> Node {
        let plain = |text: String| Node { value: Value::Text(text), span };
        if !text.contains("${") {
            return plain(text.to_owned());
        }
        if let Some(name) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'))
            && !name.contains(['{', '}'])
        {
            return match self.lookup(name, span) {
                Some(value) => Node { span, ..value },
                None => plain(text.to_owned()),
            };
        }
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            if rest[..at].ends_with('$') {
                filled.push_str(&rest[..at - 1]);
                filled.push_str("${");
                rest = &rest[at + 2..];
                continue;
            }
            filled.push_str(&rest[..at]);
            let Some(end) = rest[at..].find('}') else {
                self.problems.push(Problem {
                    span,
                    message: "`${` has no `}` after it".into(),
                    help: Some("a plain `${` is written `$${`".into()),
                });
                return plain(text.to_owned());
            };
            let name = &rest[at + 2..at + end];
            if let Some(value) = self.lookup(name, span) {
                filled.push_str(&parameter_text(&value));
            }
            rest = &rest[at + end + 1..];
        }
        filled.push_str(rest);
        plain(filled)
    }

    fn lookup(&mut self, name: &str, span: Span) -> Option<Node> {
        let Some(value) = self.variables.get(name).copied() else {
            let known: Vec<&str> = self.variables.keys().copied().collect();
            self.problems.push(Problem {
                span,
                message: format!(
                    "`${{{name}}}` is neither an axis of `matrix` nor a name of `let`"
                ),
                help: did_you_mean(name, known),
            });
            return None;
        };
        self.used.insert(name.to_owned());
        if self.depth > DEPTH_MAX {
            self.problems.push(Problem {
                span,
                message: format!("`${{{name}}}` leads back to itself"),
                help: None,
            });
            return None;
        }
        self.depth += 1;
        let filled = self.fill(value);
        self.depth -= 1;
        Some(filled)
    }
}
