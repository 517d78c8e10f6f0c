//! Presence: what people see of a participant (PRES-1).

use serde_json::{Value, json};

use crate::attachment::Attachment;

/// What a participant is about to do, for the people at the surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// The verb: `editing`, `thinking`, `waiting`.
    pub action: String,
    /// What it is done to, by the surface's own handle.
    pub target: Option<String>,
    /// How much attention it asks for.
    pub priority: Priority,
    /// Ties the activities of one piece of work together.
    pub correlation_id: Option<String>,
}

/// How much attention an activity asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Priority {
    /// Nobody needs to look.
    Background,
    /// Worth showing.
    #[default]
    Normal,
    /// Worth a look now.
    Attention,
    /// The participant waits for a person.
    Blocking,
}

impl Priority {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::Normal => "normal",
            Self::Attention => "attention",
            Self::Blocking => "blocking",
        }
    }
}

impl Activity {
    /// An activity of normal priority, with no target.
    pub fn new(action: impl Into<String>) -> Self {
        Self {
            action: action.into(),
            target: None,
            priority: Priority::Normal,
            correlation_id: None,
        }
    }

    pub(crate) fn frame(&self, attachment: &Attachment) -> Value {
        let participant = &attachment.participant;
        json!({
            "jsonrpc": "2.0",
            "method": "notifications/human-plus/activity",
            "params": {
                "actor": {
                    "id": participant.id(),
                    "name": participant.name(),
                    "color": participant.color(),
                    "type": "agent",
                },
                "surfaceId": attachment.surface_id,
                "sessionId": attachment.session_id.as_str(),
                "action": self.action,
                "target": self.target,
                "priority": self.priority.as_str(),
                "correlationId": self.correlation_id,
            },
        })
    }
}
