//! The scenario language: YAML in, typed scenarios out, every mistake shown where it stands.
//!
//! ```text
//! text -> node (values with spans) -> expand (matrix, variables) -> shape (against the types' own
//!         JSON Schema, all errors) -> scenario (typed) -> references (tools, screens, agents, ids)
//! ```
//!
//! The types in [`scenario`], [`step`] and [`expect`] are the only description of the language:
//! the schema for editors, the reference page and the checks of shape are all made from them.

pub mod diagnostic;
pub mod expand;
pub mod expect;
pub mod node;
mod parse;
pub mod reference;
mod references;
pub mod scenario;
pub mod shape;
pub mod step;
mod suggest;

pub use diagnostic::{Diagnostic, Diagnostics};
pub use parse::{ParsedCase, parse_file};
pub use scenario::Scenario;

/// The JSON Schema of one scenario document, for editors.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::generate::SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<Scenario>()
        .to_value();
    if let Some(root) = schema.as_object_mut() {
        root.insert("title".into(), "relay-testbed scenario".into());
    }
    schema
}
