//! A surface on a bench: tests talk to it as an agent's client would, without any wire.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Surface, SurfaceSpec};
use crate::journal::{Event, Sink, Tape};
use crate::person::Edit;
use crate::surface_host::{Emission, SurfaceHost};

/// A surface, and the tape of what it did.
pub(crate) struct Bench {
    pub(crate) surface: Surface,
    pub(crate) tape: Arc<Tape>,
    asked: u64,
}

impl Bench {
    pub(crate) fn new(spec: Value) -> Self {
        let spec: SurfaceSpec = serde_json::from_value(spec).unwrap();
        let (tape, journal) = Tape::start();
        let surface = Surface::new(&spec, journal).unwrap();
        Self { surface, tape, asked: 0 }
    }

    /// Calls a tool and answers the whole frame; what it tells is journaled as delivered. An HTTP
    /// answer comes as `{"http": status, …}`, silence as null.
    pub(crate) fn call(
        &mut self,
        client: &str,
        pin: Option<&str>,
        tool: &str,
        with: Value,
    ) -> Value {
        self.asked += 1;
        let mut params = json!({ "name": tool, "arguments": with });
        if let Some(pin) = pin {
            params["_meta"] = json!({ "revision": pin });
        }
        let id = format!("{client}-{}", self.asked);
        let frame = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        self.send(client, &frame)
    }

    /// Sends a frame and answers the first thing that came of it.
    pub(crate) fn send(&mut self, client: &str, frame: &Value) -> Value {
        let mut first = Value::Null;
        for emission in self.surface.receive(client, frame) {
            let value = match emission {
                Emission::Frame { frame, tells } => {
                    tells.iter().for_each(|t| self.tape.note(t.delivered_to(client)));
                    frame
                }
                Emission::HttpStatus { status, body } => json!({ "http": status, "body": body }),
            };
            if first.is_null() {
                first = value;
            }
        }
        first
    }

    pub(crate) fn edit(&mut self, edit: Value) -> u64 {
        let edit: Edit = serde_json::from_value(edit).unwrap();
        self.surface.edit("Ada", &edit).unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.tape.events()
    }
}

/// The revision on an answer, where the default surface puts it.
pub(crate) fn revision(answer: &Value) -> &str {
    answer["result"]["_meta"]["revision"].as_str().unwrap_or_default()
}
