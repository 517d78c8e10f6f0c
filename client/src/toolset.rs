//! The surface's tools in the shape that an agent's harness takes tools (TRUST-8).

use serde_json::{Map, Value};

use crate::catalogue::Catalogue;

use crate::error::{Error, Happened};
use crate::trust::ToolDefinition;
use crate::{AttachmentId, Client, Owner};

/// Which calls a person of the host has to approve first.
///
/// This is the host's own policy. What a surface says of its tools (`readOnlyHint`,
/// `destructiveHint`) decides nothing: a surface that wants to be obeyed would say that everything
/// is harmless (TRUST-8).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Approval {
    /// Every call.
    #[default]
    Always,
    /// Every call but those of these tools.
    AllBut(Vec<String>),
    /// None.
    Never,
}

impl Approval {
    /// Whether calls of this tool need an approval.
    #[must_use]
    pub fn is_needed_for(&self, tool: &str) -> bool {
        match self {
            Self::Always => true,
            Self::AllBut(free) => !free.iter().any(|name| name == tool),
            Self::Never => false,
        }
    }
}

/// One tool for a harness.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HarnessTool {
    /// What the model calls it by. It is checked to be a plain name (TRUST-7).
    pub name: String,
    /// The surface's description, framed as its words (GUARD-3).
    pub description: String,
    /// The JSON Schema of the arguments, as the surface wrote it.
    pub parameters: Map<String, Value>,
    /// Whether a person of the host has to approve a call.
    pub needs_approval: bool,
}

impl Client {
    /// The tools that may be called now, for a harness to show a model.
    ///
    /// # Errors
    /// As [`Client::tools`], and when a definition is over the bound of a result.
    pub async fn toolset(
        &self,
        owner: &Owner,
        id: &AttachmentId,
        approval: &Approval,
    ) -> Result<Vec<HarnessTool>, Error> {
        let surface = self.status(owner, id).await?.surface_id;
        let Catalogue { tools, .. } = self.tools(owner, id).await?;
        tools.iter().map(|tool| self.for_harness(&surface, tool, approval)).collect()
    }

    fn for_harness(
        &self,
        surface: &str,
        tool: &ToolDefinition,
        approval: &Approval,
    ) -> Result<HarnessTool, Error> {
        let over = |why: crate::TooLarge| Error::ResultRefused {
            tool: tool.name().to_owned(),
            what: format!("its definition cannot be shown: {why}"),
            happened: Happened::No,
        };
        let inner = self.inner();
        let parameters = tool.input_schema();
        inner.guard.check(Value::from(parameters.clone()).to_string().len()).map_err(over)?;
        let nonce = inner.entropy.hex::<16>()?;
        let framed =
            inner.guard.guard(surface, tool.name(), tool.description(), &nonce).map_err(over)?;
        Ok(HarnessTool {
            name: tool.name().to_owned(),
            description: framed.to_string(),
            parameters: parameters.clone(),
            needs_approval: approval.is_needed_for(tool.name()),
        })
    }
}
