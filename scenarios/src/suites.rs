//! The scenarios that are built into the binary.

use crate::language::diagnostic::Source;
use include_dir::{Dir, include_dir};

static SUITES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/suites");

/// The registry of requirements lies beside the scenarios and is none.
const NOT_SCENARIOS: &[&str] = &["requirements.yaml"];

/// Every embedded scenario file, by name, in order.
pub fn embedded() -> Vec<Source> {
    let mut sources = Vec::new();
    collect(&SUITES, &mut sources);
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn collect(dir: &Dir<'_>, into: &mut Vec<Source>) {
    for file in dir.files() {
        let name = file.path().display().to_string();
        let is_yaml = name.ends_with(".yaml") && !NOT_SCENARIOS.contains(&name.as_str());
        if let (true, Some(text)) = (is_yaml, file.contents_utf8()) {
            into.push(Source::new(format!("suites/{name}"), text));
        }
    }
    for inner in dir.dirs() {
        collect(inner, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_holds_its_suites() {
        let names: Vec<String> = embedded().iter().map(Source::name).collect();
        assert!(names.iter().any(|name| name == "suites/revision.yaml"), "{names:?}");
        assert!(!names.iter().any(|name| name.ends_with("requirements.yaml")));
    }
}
