//! What one discovery found: the tools that may be called, and those that may not.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::Error;
use crate::guard::quote;
use crate::trust::{DeclaredTrust, ToolDefinition};

/// The surface's tools as one discovery found them (TRUST-3 to TRUST-10).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Catalogue {
    /// The tools that may be called, in the surface's order.
    pub tools: Vec<ToolDefinition>,
    /// The tools that may not, each with the reason. One of them takes none of the others along.
    pub set_aside: Vec<SetAside>,
    /// Why the list may not be whole. None when the surface's list was read to its end (TRUST-9).
    pub cut: Option<String>,
}

/// A tool that was offered and is not to be called.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SetAside {
    /// The name that the surface gave it, quoted and bounded: it may be anything (GUARD-3).
    pub name: String,
    /// Which rule refused it.
    pub why: String,
}

impl Catalogue {
    /// Sorts what the surface listed. The first of equal definitions counts; a name with two
    /// different ones is nobody's, since which of the two a call would reach is unknown.
    pub(crate) fn sort(listed: Vec<Value>, cut: Option<String>, trust: &DeclaredTrust<'_>) -> Self {
        let mut tools: Vec<ToolDefinition> = Vec::new();
        let mut set_aside = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut ambiguous: BTreeMap<String, ()> = BTreeMap::new();
        for listed in listed {
            match ToolDefinition::read(&listed).and_then(|tool| {
                trust.admit(&tool)?;
                Ok(tool)
            }) {
                Err(refusal) => set_aside.push(SetAside::of(&listed, refusal.to_string())),
                Ok(tool) => match places.get(tool.name()) {
                    None => {
                        places.insert(tool.name().to_owned(), tools.len());
                        tools.push(tool);
                    }
                    Some(&at) if tools[at].digest() == tool.digest() => {}
                    Some(_) => {
                        if ambiguous.insert(tool.name().to_owned(), ()).is_none() {
                            set_aside.push(SetAside::of(
                                &listed,
                                "two different tools are listed under this name".to_owned(),
                            ));
                        }
                    }
                },
            }
        }
        tools.retain(|tool| !ambiguous.contains_key(tool.name()));
        Self { tools, set_aside, cut }
    }

    /// The tool by its name, when it may be called.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ToolDefinition> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// The definition to call, or why it is not to be called.
    pub(crate) fn must_offer(&self, name: &str) -> Result<&ToolDefinition, Error> {
        if let Some(tool) = self.get(name) {
            return Ok(tool);
        }
        let quoted = quote(name);
        let why = match self.set_aside.iter().find(|aside| aside.name == quoted) {
            Some(aside) => aside.why.clone(),
            None => "the surface does not offer it".to_owned(),
        };
        Err(Error::ToolNotOffered { tool: name.to_owned(), why })
    }
}

impl SetAside {
    fn of(listed: &Value, why: String) -> Self {
        let name = match listed.get("name") {
            Some(Value::String(name)) => quote(name),
            Some(other) => quote(&other.to_string()),
            None => "a tool without a name".to_owned(),
        };
        Self { name, why }
    }
}
