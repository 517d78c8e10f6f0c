//! Checks a document against the JSON Schema of the language's types, and says everything that
//! is wrong with it at once.
//!
//! Deserializing with serde would stop at the first mistake and knows no places. The schema is
//! generated from the very types that serde fills afterwards, so the two cannot disagree.

use super::node::{Node, PathStep, Span, Value, path_text};
use super::suggest::did_you_mean;
use relay_simulator::duration;
use serde_json::Value as Json;

/// One mistake of shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Where.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
}

/// Everything that is wrong with the shape of a document.
pub fn problems(schema: &Json, document: &Node) -> Vec<Problem> {
    let mut walk = Walk { root: schema, problems: Vec::new() };
    walk.check(schema, document, &mut Vec::new());
    walk.problems
}

struct Walk<'a> {
    root: &'a Json,
    problems: Vec<Problem>,
}

type Path = Vec<PathStep>;

impl<'a> Walk<'a> {
    fn check(&mut self, schema: &'a Json, node: &Node, path: &mut Path) {
        let (schema, name) = self.resolve(schema);
        if name == Some("Duration") && matches!(node.value, Value::Text(_) | Value::Number(_)) {
            return self.check_duration(node);
        }
        if let Some(parts) = list(schema, "allOf") {
            parts.iter().for_each(|part| self.check(part, node, path));
        }
        match list(schema, "anyOf").or_else(|| list(schema, "oneOf")) {
            Some(branches) if schema.get("properties").is_some() => {
                self.check_flattened(schema, branches, node, path);
            }
            Some(branches) => self.check_branches(schema, branches, node, path),
            None => self.check_one(schema, node, path),
        }
    }

    /// Follows `$ref`, and tells the name of the type that it led to.
    fn resolve(&self, mut schema: &'a Json) -> (&'a Json, Option<&'a str>) {
        let mut name = None;
        while let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
            name = reference.rsplit('/').next();
            let Some(target) = self.root.pointer(reference.trim_start_matches('#')) else { break };
            schema = target;
        }
        (schema, name)
    }

    fn check_one(&mut self, schema: &'a Json, node: &Node, path: &mut Path) {
        if let Some(words) = words(schema) {
            return self.check_word(schema, &words, node, path);
        }
        let allowed = types(schema);
        if !allowed.is_empty() && !allowed.iter().any(|kind| is_of(kind, node)) {
            let expected = allowed.iter().map(|kind| type_words(kind)).collect::<Vec<_>>();
            return self.add(
                node.span,
                format!("expected {}, found {}", expected.join(" or "), found(node)),
                None,
            );
        }
        match &node.value {
            Value::Map(entries) => self.check_map(schema, entries, node, path),
            Value::List(items) => {
                if let Some(item_schema) = schema.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        path.push(PathStep::Index(index));
                        self.check(item_schema, item, path);
                        path.pop();
                    }
                }
            }
            Value::Number(number) => {
                let below = schema.get("minimum").and_then(Json::as_f64);
                let above = schema.get("maximum").and_then(Json::as_f64);
                let value = number.as_f64().unwrap_or(0.0);
                if below.is_some_and(|least| value < least) {
                    self.add(node.span, format!("`{number}` is too small here"), None);
                } else if above.is_some_and(|most| value > most) {
                    self.add(node.span, format!("`{number}` is too large here"), None);
                }
            }
            _ => {}
        }
    }

    fn check_map(
        &mut self,
        schema: &'a Json,
        entries: &[(super::node::Key, Node)],
        node: &Node,
        path: &mut Path,
    ) {
        let properties = schema.get("properties").and_then(Json::as_object);
        let closed = schema.get("additionalProperties") == Some(&Json::Bool(false));
        let other = schema.get("additionalProperties").filter(|other| other.is_object());
        for (key, value) in entries {
            let known = properties.and_then(|properties| properties.get(&key.name));
            match known.or(other) {
                Some(value_schema) => {
                    path.push(PathStep::Key(key.name.clone()));
                    self.check(value_schema, value, path);
                    path.pop();
                }
                None if closed => {
                    let names: Vec<&str> =
                        properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                    let place = place(schema, path);
                    self.add(
                        key.span,
                        format!("unknown key `{}` in {place}", key.name),
                        Some(meant(&key.name, &names)),
                    );
                }
                None => {}
            }
        }
        for required in list(schema, "required").into_iter().flatten().filter_map(Json::as_str) {
            if !entries.iter().any(|(key, _)| key.name == required) {
                let place = place(schema, path);
                self.add(node.span, format!("`{required}` is missing in {place}"), None);
            }
        }
    }

    fn check_word(&mut self, schema: &Json, words: &[&Json], node: &Node, path: &Path) {
        if words.iter().any(|word| **word == node.to_json()) {
            return;
        }
        let known: Vec<&str> = words.iter().filter_map(|word| word.as_str()).collect();
        let what = title(schema).map_or_else(
            || format!("value for {}", place(schema, path)),
            |title| without_article(title).to_owned(),
        );
        match &node.value {
            Value::Text(text) => {
                self.add(node.span, format!("unknown {what} `{text}`"), Some(meant(text, &known)));
            }
            _ => {
                self.add(
                    node.span,
                    format!("expected {what}, found {}", found(node)),
                    Some(one_of(&known)),
                );
            }
        }
    }

    /// A mapping with keys of its own and a part that is one of several (serde's `flatten`).
    fn check_flattened(
        &mut self,
        schema: &'a Json,
        branches: &'a [Json],
        node: &Node,
        path: &mut Path,
    ) {
        let Value::Map(entries) = &node.value else { return self.check_one(schema, node, path) };
        let own = schema.get("properties").and_then(Json::as_object);
        let is_own = |name: &str| own.is_some_and(|own| own.contains_key(name));
        for (key, value) in entries.iter().filter(|(key, _)| is_own(&key.name)) {
            if let Some(value_schema) = own.and_then(|own| own.get(&key.name)) {
                path.push(PathStep::Key(key.name.clone()));
                self.check(value_schema, value, path);
                path.pop();
            }
        }
        let rest = Value::Map(
            entries.iter().filter(|(key, _)| !is_own(&key.name)).cloned().collect::<Vec<_>>(),
        );
        let rest = Node { value: rest, span: node.span };
        self.check_branches(schema, branches, &rest, path);
    }

    fn check_branches(
        &mut self,
        schema: &'a Json,
        branches: &'a [Json],
        node: &Node,
        path: &mut Path,
    ) {
        let mut tried = Vec::new();
        for branch in branches {
            let mut walk = Walk { root: self.root, problems: Vec::new() };
            walk.check(branch, node, path);
            if walk.problems.is_empty() {
                return;
            }
            tried.push((self.resolve(branch).0, walk.problems));
        }
        let fitting: Vec<_> =
            tried.into_iter().filter(|(branch, _)| self.could_be(branch, node)).collect();
        if let Value::Text(text) = &node.value {
            let known: Vec<&str> =
                fitting.iter().flat_map(|(branch, _)| self.all_words(branch)).collect();
            if !known.is_empty()
                && fitting.iter().all(|(branch, _)| !self.all_words(branch).is_empty())
            {
                let what = title(schema).map_or("value", without_article);
                return self.add(
                    node.span,
                    format!("unknown {what} `{text}`"),
                    Some(meant(text, &known)),
                );
            }
        }
        if let (Value::Map(entries), true) = (&node.value, fitting.len() > 1) {
            let keys: Vec<&str> = fitting
                .iter()
                .flat_map(|(branch, _)| branch.get("properties").and_then(Json::as_object))
                .flat_map(|properties| properties.keys().map(String::as_str))
                .collect();
            let stranger = entries.iter().find(|(key, _)| !keys.contains(&key.name.as_str()));
            let what = title(schema).map_or("key", without_article);
            match (stranger, entries.is_empty()) {
                (Some((key, _)), _) => {
                    return self.add(
                        key.span,
                        format!("unknown {what} `{}`", key.name),
                        Some(meant(&key.name, &keys)),
                    );
                }
                (None, true) => {
                    return self.add(
                        node.span,
                        format!("{what} says nothing"),
                        Some(one_of(&keys)),
                    );
                }
                (None, false) => {}
            }
        }
        let best = fitting.into_iter().min_by_key(|(branch, problems)| {
            let knows = |name: &str| branch.pointer(&format!("/properties/{name}")).is_some();
            let unknown = match &node.value {
                Value::Map(entries) => entries.iter().filter(|(key, _)| !knows(&key.name)).count(),
                _ => 0,
            };
            // `12x` is a slip in a duration, not in one of the words beside it.
            let begins_with_digit = matches!(&node.value, Value::Text(text)
                if text.starts_with(|c: char| c.is_ascii_digit()));
            let is_word_list = words(branch).is_some();
            (unknown, begins_with_digit && is_word_list, problems.len())
        });
        match best {
            Some((_, problems)) => self.problems.extend(problems),
            None => {
                let expected: Vec<String> =
                    branches.iter().map(|branch| self.branch_words(branch)).collect();
                let expected: Vec<&str> =
                    expected.iter().map(String::as_str).filter(|word| *word != "nothing").collect();
                self.add(
                    node.span,
                    format!("expected {}, found {}", expected.join(" or "), found(node)),
                    None,
                );
            }
        }
    }

    /// Whether a branch is about nodes of this kind at all.
    fn could_be(&self, branch: &'a Json, node: &Node) -> bool {
        let (branch, name) = self.resolve(branch);
        if name == Some("Duration") {
            // A bare number is a duration whose unit was forgotten.
            return matches!(node.value, Value::Text(_) | Value::Number(_));
        }
        if let Some(inner) = list(branch, "anyOf").or_else(|| list(branch, "oneOf")) {
            return inner.iter().any(|inner| self.could_be(inner, node));
        }
        if words(branch).is_some() {
            return matches!(node.value, Value::Text(_));
        }
        let kinds = types(branch);
        kinds.is_empty() || kinds.iter().any(|kind| is_of(kind, node))
    }

    /// The words that a branch allows, inner branches included.
    fn all_words(&self, branch: &'a Json) -> Vec<&'a str> {
        let (branch, _) = self.resolve(branch);
        if let Some(inner) = list(branch, "anyOf").or_else(|| list(branch, "oneOf")) {
            return inner.iter().flat_map(|inner| self.all_words(inner)).collect();
        }
        words(branch).into_iter().flatten().filter_map(Json::as_str).collect()
    }

    fn branch_words(&self, branch: &'a Json) -> String {
        let (branch, name) = self.resolve(branch);
        if name == Some("Duration") {
            return "a duration such as `12s`".into();
        }
        let known = self.all_words(branch);
        if !known.is_empty() {
            return known.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ");
        }
        if let Some(title) = title(branch) {
            return title.to_owned();
        }
        types(branch).first().map_or("something else", |kind| type_words(kind)).to_owned()
    }

    fn check_duration(&mut self, node: &Node) {
        let text = match &node.value {
            Value::Text(text) => text.clone(),
            other => match other {
                Value::Number(number) => number.to_string(),
                _ => return,
            },
        };
        if let Err(error) = text.parse::<duration::Span>() {
            self.add(node.span, error.to_string(), None);
        }
    }

    fn add(&mut self, span: Span, message: String, help: Option<String>) {
        self.problems.push(Problem { span, message, help });
    }
}

fn list<'a>(schema: &'a Json, key: &str) -> Option<&'a [Json]> {
    schema.get(key).and_then(Json::as_array).map(Vec::as_slice)
}

fn title(schema: &Json) -> Option<&str> {
    schema.get("title").and_then(Json::as_str)
}

/// The values of `const` or `enum`.
fn words(schema: &Json) -> Option<Vec<&Json>> {
    match (schema.get("const"), list(schema, "enum")) {
        (Some(word), _) => Some(vec![word]),
        (None, Some(words)) => Some(words.iter().collect()),
        (None, None) => None,
    }
}

fn types(schema: &Json) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::String(kind)) => vec![kind],
        Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_of(kind: &str, node: &Node) -> bool {
    match (kind, &node.value) {
        ("null", Value::Null)
        | ("boolean", Value::Bool(_))
        | ("string", Value::Text(_))
        | ("array", Value::List(_))
        | ("object", Value::Map(_))
        | ("number", Value::Number(_)) => true,
        ("integer", Value::Number(number)) => number.is_i64() || number.is_u64(),
        _ => false,
    }
}

fn type_words(kind: &str) -> &'static str {
    match kind {
        "null" => "nothing",
        "boolean" => "true or false",
        "string" => "text",
        "array" => "a list",
        "object" => "a mapping",
        "integer" => "a whole number",
        "number" => "a number",
        _ => "something else",
    }
}

fn found(node: &Node) -> String {
    match &node.value {
        Value::Text(text) if text.chars().count() <= 40 => format!("the text `{text}`"),
        Value::Number(number) => format!("the number {number}"),
        Value::Bool(value) => format!("`{value}`"),
        _ => node.kind().to_owned(),
    }
}

/// `a step`, or the path when the type has no name for people.
fn place(schema: &Json, path: &Path) -> String {
    match (title(schema), path.is_empty()) {
        (Some(title), _) => title.to_owned(),
        (None, true) => "the document".to_owned(),
        (None, false) => format!("`{}`", path_text(path)),
    }
}

fn without_article(title: &str) -> &str {
    ["a ", "an ", "the "].iter().find_map(|article| title.strip_prefix(article)).unwrap_or(title)
}

/// What was meant, or what there is.
fn meant(wrong: &str, known: &[&str]) -> String {
    did_you_mean(wrong, known.iter().copied()).unwrap_or_else(|| one_of(known))
}

fn one_of(known: &[&str]) -> String {
    let mut seen = Vec::new();
    for word in known {
        if !seen.contains(word) {
            seen.push(word);
        }
    }
    match seen.as_slice() {
        [] => "nothing is allowed here".to_owned(),
        [only] => format!("the only one is `{only}`"),
        _ => {
            let words: Vec<String> = seen.iter().map(|word| format!("`{word}`")).collect();
            format!("one of {}", words.join(", "))
        }
    }
}
