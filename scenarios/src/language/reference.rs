//! The reference page of the language, rendered from the types' own schema and documentation.

use serde_json::Value as Json;
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;

/// The page, as Markdown.
pub fn page() -> String {
    let schema = super::schema();
    let mut page = String::from(HEAD);
    let mut seen = BTreeSet::new();
    let mut queue = VecDeque::from([("a scenario".to_owned(), schema.clone())]);
    while let Some((name, part)) = queue.pop_front() {
        let mut found = Vec::new();
        section(&mut page, &schema, &name, &part, &mut found);
        for reference in found {
            if seen.insert(reference.clone())
                && let Some(part) = schema.pointer(&format!("/$defs/{reference}"))
            {
                queue.push_back((name_of(&reference, part), part.clone()));
            }
        }
    }
    page
}

const HEAD: &str = "\
# The scenario language

<!-- Made from the types by `relay-testbed schema --markdown`. A test compares the two. -->

A scenario is one YAML document; a file may hold several, separated by `---`. Unknown keys, bad
values and references to things that do not exist are errors, all shown at once, each at its place.
`relay-testbed schema` prints the same as a JSON Schema for editors.

`${name}` stands for a value of `matrix` or `let`: alone it becomes the value itself, inside a
longer text it becomes text; `$${` is a plain `${`. A matrix axis called `transport` also sets the
clients' transport. YAML's own anchors and merge keys work.

";

/// One type: its documentation, then its keys or its words.
fn section(page: &mut String, root: &Json, name: &str, part: &Json, found: &mut Vec<String>) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "## {name}\n");
    if let Some(text) = description(part) {
        let _ = writeln!(page, "{text}\n");
    }
    if let Some(properties) = part.get("properties").and_then(Json::as_object) {
        let required: Vec<&str> = strings(part.get("required"));
        let _ = writeln!(page, "| key | value | meaning |\n|---|---|---|");
        for (key, value) in properties {
            let star = if required.contains(&key.as_str()) { " (needed)" } else { "" };
            let kind = kind(root, value, found);
            let text = cell(description(value).unwrap_or_default());
            let _ = writeln!(page, "| `{key}`{star} | {kind} | {text} |");
        }
        page.push('\n');
    }
    let branches = ["anyOf", "oneOf"].iter().find_map(|key| part.get(*key)?.as_array());
    if let Some(branches) = branches {
        let _ = writeln!(page, "One of:\n");
        for branch in branches.iter().filter(|branch| branch.get("type") != Some(&"null".into())) {
            let kind = kind(root, branch, found);
            let text = description(branch).map(|text| format!(": {}", cell(text)));
            let _ = writeln!(page, "- {kind}{}", text.unwrap_or_default());
        }
        page.push('\n');
    }
    if let Some(words) = words(part) {
        let _ = writeln!(page, "One of {}.\n", words.join(", "));
    }
}

fn name_of(reference: &str, part: &Json) -> String {
    let name = part.get("title").and_then(Json::as_str).unwrap_or(reference);
    name.strip_suffix("Spec").unwrap_or(name).to_owned()
}

fn description(part: &Json) -> Option<&str> {
    part.get("description").and_then(Json::as_str)
}

/// A paragraph as a table's cell can hold it.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// What stands behind a key, in a few words, with links to the types it speaks of.
fn kind(root: &Json, value: &Json, found: &mut Vec<String>) -> String {
    if let Some(reference) = value.get("$ref").and_then(Json::as_str) {
        let reference = reference.rsplit('/').next().unwrap_or_default().to_owned();
        if reference == "Duration" {
            return "duration, `12s`".to_owned();
        }
        let part = root.pointer(&format!("/$defs/{reference}")).unwrap_or(&Json::Null);
        let name = name_of(&reference, part);
        found.push(reference);
        return format!("[{name}](#{})", anchor(&name));
    }
    if let Some(words) = words(value) {
        return words.join(", ");
    }
    if let Some(branches) = ["anyOf", "oneOf"].iter().find_map(|key| value.get(*key)?.as_array()) {
        let kinds: Vec<String> = branches
            .iter()
            .filter(|branch| branch.get("type") != Some(&"null".into()))
            .map(|branch| kind(root, branch, found))
            .collect();
        return kinds.join(" or ");
    }
    if let Some(items) = value.get("items") {
        return format!("list of {}", kind(root, items, found));
    }
    let types: Vec<&str> = match value.get("type") {
        Some(Json::String(kind)) => vec![kind],
        list => strings(list),
    };
    let is_object = types.contains(&"object");
    if let (true, Some(other)) = (is_object, value.get("additionalProperties"))
        && other.is_object()
    {
        return format!("mapping of names to {}", kind(root, other, found));
    }
    if let (true, Some(properties)) = (is_object, value.get("properties").and_then(Json::as_object))
    {
        let keys: Vec<String> = properties
            .iter()
            .map(|(key, value)| format!("`{key}:` {}", kind(root, value, found)))
            .collect();
        return keys.join(", ");
    }
    let words: Vec<&str> = types
        .iter()
        .filter(|kind| **kind != "null")
        .map(|kind| match *kind {
            "string" => "text",
            "integer" => "whole number",
            "number" => "number",
            "boolean" => "`true` or `false`",
            "array" => "list",
            "object" => "mapping",
            other => other,
        })
        .collect();
    if words.is_empty() { "any value".to_owned() } else { words.join(" or ") }
}

fn words(part: &Json) -> Option<Vec<String>> {
    if let Some(word) = part.get("const") {
        return Some(vec![format!("`{}`", plain(word))]);
    }
    let words = part.get("enum")?.as_array()?;
    Some(words.iter().map(|word| format!("`{}`", plain(word))).collect())
}

fn plain(word: &Json) -> String {
    word.as_str().map_or_else(|| word.to_string(), str::to_owned)
}

fn strings(list: Option<&Json>) -> Vec<&str> {
    list.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect()
}

/// The anchor that Markdown readers give a heading.
fn anchor(name: &str) -> String {
    let kept = name.to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_reference_page_says_what_the_types_say() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/scenario-reference.md");
        let written = std::fs::read_to_string(file).unwrap_or_default();
        assert!(
            written == page(),
            "docs/scenario-reference.md is behind the types: \
             `relay-testbed schema --markdown > docs/scenario-reference.md`"
        );
    }

    #[test]
    fn every_link_of_the_page_leads_somewhere() {
        let page = page();
        let headings: BTreeSet<String> =
            page.lines().filter_map(|line| line.strip_prefix("## ")).map(anchor).collect();
        for (_, rest) in page.match_indices("](#").map(|(at, _)| page.split_at(at + 3)) {
            let target = rest.split(')').next().unwrap();
            assert!(headings.contains(target), "#{target} leads nowhere");
        }
        assert!(headings.len() > 20, "{headings:?}");
    }
}
