//! Trust: which of a surface's tools an agent may see and call.
//!
//! - [`name`]: what a tool may be called, and which names belong to people (TRUST-6, TRUST-7).
//! - [`definition`]: a tool as a model reads it, and its digest (TRUST-5).
//! - this file: the policy, and the receipt without which nothing reaches a surface.

mod definition;
mod name;

use std::collections::{BTreeMap, BTreeSet};

use subtle::ConstantTimeEq;

use crate::guard::quote;
pub use definition::ToolDefinition;

/// Which tools are trusted. Nothing is, until somebody says so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustPolicy {
    scope: Scope,
    pins: BTreeMap<String, String>,
    requires_pins: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Scope {
    #[default]
    Undeclared,
    Only(BTreeSet<String>),
    EveryTool,
}

impl TrustPolicy {
    /// Nothing is declared. Not even discovery happens (TRUST-1).
    #[must_use]
    pub fn undeclared() -> Self {
        Self::default()
    }

    /// Only these tools (TRUST-3). None of them at all is a declaration too, and is refused in
    /// words of its own (TRUST-2).
    #[must_use]
    pub fn allowing<S: Into<String>>(tools: impl IntoIterator<Item = S>) -> Self {
        let scope = Scope::Only(tools.into_iter().map(Into::into).collect());
        Self { scope, ..Self::default() }
    }

    /// Every tool that the surface offers, those that belong to people excepted (TRUST-6).
    #[must_use]
    pub fn every_tool() -> Self {
        Self { scope: Scope::EveryTool, ..Self::default() }
    }

    /// Pins a tool to a digest of its definition (TRUST-4): see [`ToolDefinition::digest`].
    #[must_use]
    pub fn pin(mut self, tool: impl Into<String>, digest: impl Into<String>) -> Self {
        self.pins.insert(tool.into(), digest.into());
        self
    }

    /// Admits pinned tools only (TRUST-10). A tool that is trusted by its name alone may be defined
    /// anew at any time; under this policy it has to be pinned first, and the refusal tells the
    /// digest to look at.
    #[must_use]
    pub fn require_pins(mut self) -> Self {
        self.requires_pins = true;
        self
    }

    /// The receipt that trust is declared, without which no handshake starts (TRUST-1).
    ///
    /// # Errors
    /// When nothing was declared, or an empty allowlist.
    pub fn declared(&self) -> Result<DeclaredTrust<'_>, Refusal> {
        match &self.scope {
            Scope::Undeclared => Err(Refusal::Undeclared),
            Scope::Only(tools) if tools.is_empty() => Err(Refusal::EmptyAllowlist),
            _ => Ok(DeclaredTrust(self)),
        }
    }
}

/// Trust that was declared. Whoever holds one may speak to the surface.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredTrust<'a>(&'a TrustPolicy);

impl DeclaredTrust<'_> {
    /// Whether a tool of this name may be called at all, before its definition is known.
    ///
    /// # Errors
    /// When its name is none, belongs to people, or is not on the allowlist.
    pub fn admit_name(&self, tool: &str) -> Result<(), Refusal> {
        if !name::is_well_formed(tool) {
            return Err(Refusal::MalformedName { quoted: quote(tool) });
        }
        if let Some(verb) = name::reserved_verb(tool) {
            return Err(Refusal::Reserved { tool: tool.to_owned(), verb });
        }
        match &self.0.scope {
            Scope::Only(tools) if !tools.contains(tool) => Err(Refusal::NotAllowed {
                tool: tool.to_owned(),
                allowed: tools.iter().cloned().collect(),
            }),
            _ => Ok(()),
        }
    }

    /// Whether a tool may be shown and called as it is defined now (TRUST-4).
    ///
    /// # Errors
    /// As [`DeclaredTrust::admit_name`], and when the definition is not the pinned one.
    pub fn admit(&self, tool: &ToolDefinition) -> Result<(), Refusal> {
        self.admit_name(tool.name())?;
        let pin = self.0.pins.get(tool.name());
        // Hashing every definition at every discovery would cost more than the rest of it.
        if pin.is_none() && !self.0.requires_pins {
            return Ok(());
        }
        let digest = tool.digest();
        let tool = tool.name().to_owned();
        match pin {
            Some(pin) if pin.as_bytes().ct_eq(digest.as_bytes()).into() => Ok(()),
            Some(pin) => Err(Refusal::Changed { tool, pinned: pin.clone(), digest }),
            None => Err(Refusal::Unpinned { tool, digest }),
        }
    }
}

/// Why a tool, or all of them, are not to be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Nobody said which tools are trusted (TRUST-1).
    #[error(
        "no trust is declared, so nothing was sent to the surface: say which tools may be used \
         (hint: `TrustPolicy::allowing`)"
    )]
    Undeclared,
    /// The allowlist is empty (TRUST-2).
    #[error(
        "the declared allowlist is empty, so nothing was sent to the surface: it trusts no tool \
         at all"
    )]
    EmptyAllowlist,
    /// The name is not one that a tool can have (TRUST-7).
    #[error(
        "{quoted} is not a tool name (a letter, digit or `_`, then at most 127 letters, digits, \
         `_`, `.`, `:` or `-`)"
    )]
    MalformedName {
        /// The name, quoted: it may be anything.
        quoted: String,
    },
    /// The name belongs to the people on the surface (TRUST-6).
    #[error(
        "tool `{tool}` is reserved for the people on the surface, under every policy: its name \
         holds `{verb}`, and what an agent proposes is theirs to decide"
    )]
    Reserved {
        /// The tool.
        tool: String,
        /// The word in its name.
        verb: &'static str,
    },
    /// The tool is not on the allowlist (TRUST-3).
    #[error(
        "tool `{tool}` is not on the allowlist (allowed: {})",
        .allowed.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ")
    )]
    NotAllowed {
        /// The tool.
        tool: String,
        /// The ones that are.
        allowed: Vec<String>,
    },
    /// The definition is not the pinned one (TRUST-4).
    #[error(
        "the definition of tool `{tool}` changed: it is pinned to `{pinned}` and is now `{digest}`"
    )]
    Changed {
        /// The tool.
        tool: String,
        /// What it is pinned to.
        pinned: String,
        /// What it is now.
        digest: String,
    },
    /// Only pinned tools are admitted, and this one is not pinned (TRUST-10).
    #[error(
        "tool `{tool}` is not pinned, and only pinned tools are admitted (it is now `{digest}`)"
    )]
    Unpinned {
        /// The tool.
        tool: String,
        /// What to pin it to, once somebody has read its definition.
        digest: String,
    },
    /// What was listed is no tool definition (TRUST-10).
    #[error("what was listed as a tool is none: {why}")]
    Malformed {
        /// What is wrong with it.
        why: &'static str,
    },
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn tool(name: &str) -> ToolDefinition {
        ToolDefinition::read(&json!({ "name": name, "inputSchema": { "type": "object" } })).unwrap()
    }

    #[test]
    fn forgotten_and_empty_trust_are_refused_in_different_words() {
        assert_eq!(TrustPolicy::undeclared().declared().unwrap_err(), Refusal::Undeclared);
        let empty = TrustPolicy::allowing(Vec::<String>::new());
        assert_eq!(empty.declared().unwrap_err(), Refusal::EmptyAllowlist);
        assert_ne!(Refusal::Undeclared.to_string(), Refusal::EmptyAllowlist.to_string());
        assert!(TrustPolicy::every_tool().declared().is_ok());
    }

    #[test]
    fn only_what_is_on_the_list_is_admitted() {
        let policy = TrustPolicy::allowing(["surface_read", "surface_write"]);
        let trust = policy.declared().unwrap();
        assert!(trust.admit_name("surface_read").is_ok());
        let refused = trust.admit_name("surface_wipe").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "tool `surface_wipe` is not on the allowlist (allowed: `surface_read`, `surface_write`)"
        );
        assert!(trust.admit_name("Surface_read").is_err(), "names are compared as they are");
    }

    #[test]
    fn no_policy_reaches_what_belongs_to_people() {
        let listed = TrustPolicy::allowing(["screen_confirm"]);
        for policy in [TrustPolicy::every_tool(), listed] {
            let refused = policy.declared().unwrap().admit(&tool("screen_confirm")).unwrap_err();
            assert!(matches!(refused, Refusal::Reserved { verb: "confirm", .. }), "{refused}");
        }
    }

    #[test]
    fn a_pinned_tool_is_admitted_only_as_it_was() {
        let digest = tool("surface_write").digest();
        let pinned = |digest: &str| TrustPolicy::every_tool().pin("surface_write", digest);
        let policy = pinned(&digest);
        assert!(policy.declared().unwrap().admit(&tool("surface_write")).is_ok());
        assert!(policy.declared().unwrap().admit(&tool("other")).is_ok(), "only pinned ones");
        for wrong in ["", "sha256:", &digest.to_uppercase(), &digest[..digest.len() - 1]] {
            let policy = pinned(wrong);
            let refused = policy.declared().unwrap().admit(&tool("surface_write")).unwrap_err();
            assert!(matches!(refused, Refusal::Changed { .. }), "{refused}");
        }
    }

    #[test]
    fn a_tool_without_a_pin_takes_itself_out_where_pins_are_required() {
        let digest = tool("surface_write").digest();
        let policy = TrustPolicy::every_tool().require_pins().pin("surface_write", &digest);
        let trust = policy.declared().unwrap();
        assert!(trust.admit(&tool("surface_write")).is_ok());
        let refused = trust.admit(&tool("surface_read")).unwrap_err();
        assert!(matches!(&refused, Refusal::Unpinned { tool, .. } if tool == "surface_read"));
        assert!(refused.to_string().contains(&tool("surface_read").digest()), "{refused}");
        let unlisted = TrustPolicy::allowing(["surface_read"]).pin("surface_write", &digest);
        assert!(
            unlisted.declared().unwrap().admit(&tool("surface_write")).is_err(),
            "no pin lists"
        );
    }

    #[test]
    fn a_name_that_is_none_is_refused_under_every_policy_and_quoted() {
        let policy = TrustPolicy::every_tool();
        let refused = policy.declared().unwrap().admit_name("screen_read\u{200b}").unwrap_err();
        assert!(matches!(refused, Refusal::MalformedName { .. }));
        assert!(refused.to_string().contains("\\u{200b}"), "{refused}");
    }
}
