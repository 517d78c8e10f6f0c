//! The MCP half of the conversation, as values (MCP-1, MCP-2, TRUST-9).
//!
//! Nothing here touches the wire: each state makes the next frame and reads the next answer.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::Participant;
use crate::error::Error;
use crate::guard::quote;
use crate::trust::DeclaredTrust;

/// The protocol revision that is asked for and required (MCP-1).
pub const PROTOCOL_VERSION: &str = "2025-06-18";

/// The handshake, before its answer. It cannot be made without the receipt of a declared trust
/// (TRUST-1).
///
/// ```text
/// ExpectInitialize --answer with 2025-06-18--> Ready
///        \---------anything else------------> refused, and no tool is listed
/// ```
#[derive(Debug)]
pub(crate) struct ExpectInitialize(());

/// The handshake is done: tools may be listed and called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ready(());

impl ExpectInitialize {
    pub(crate) fn new(_: &DeclaredTrust<'_>) -> Self {
        Self(())
    }

    pub(crate) fn request(&self, id: &str, participant: &Participant) -> Value {
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {},
            "clientInfo": {
                "name": env!("CARGO_PKG_NAME"),
                "title": participant.name(),
                "version": env!("CARGO_PKG_VERSION"),
            },
        });
        request(id, "initialize", params)
    }

    pub(crate) fn answered(self, result: &Value) -> Result<Ready, Error> {
        match result.get("protocolVersion") {
            Some(Value::String(version)) if version == PROTOCOL_VERSION => Ok(Ready(())),
            None | Some(Value::Null) => Err(Error::surface_protocol(format!(
                "the surface named no protocol version (`{PROTOCOL_VERSION}` is required), so no \
                 tool was listed"
            ))),
            Some(other) => Err(Error::surface_protocol(format!(
                "the surface speaks protocol version {} (`{PROTOCOL_VERSION}` is required), so no \
                 tool was listed",
                quote(&text_of(other))
            ))),
        }
    }
}

impl Ready {
    /// Sent once behind the handshake, without waiting for anything (MCP-2).
    pub(crate) fn initialized(self) -> Value {
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
    }

    pub(crate) fn list_tools(self, id: &str, cursor: Option<&str>) -> Value {
        let params = match cursor {
            Some(cursor) => json!({ "cursor": cursor }),
            None => json!({}),
        };
        request(id, "tools/list", params)
    }

    /// A call, pinned when there is a marker to pin it to (REV-3).
    pub(crate) fn call_tool(
        self,
        id: &str,
        tool: &str,
        arguments: &Map<String, Value>,
        pin: Option<&str>,
    ) -> Value {
        let mut params = json!({ "name": tool, "arguments": arguments });
        if let Some(pin) = pin {
            params["_meta"] = json!({ "revision": pin });
        }
        request(id, "tools/call", params)
    }
}

/// Tells the surface that nobody waits for the answer to `id` any more.
pub(crate) fn cancelled(id: &str, reason: &str) -> Value {
    json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": { "requestId": id, "reason": reason },
    })
}

fn request(id: &str, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A string without its quotes, anything else as JSON.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A surface that needs more pages than this for its tools has more tools than a model can read.
const PAGES_MAX: usize = 64;

/// The pages of one `tools/list`, read to their end so that no tool hides behind page one
/// (TRUST-9).
#[derive(Debug, Default)]
pub(crate) struct ToolPages {
    pub(crate) tools: Vec<Value>,
    cursors: BTreeSet<String>,
    pages: usize,
}

/// What a page asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextPage {
    /// The page behind this cursor.
    At(String),
    /// Nothing: the list is whole.
    Whole,
    /// Nothing, although the surface says that there is more. The words say why.
    Cut(&'static str),
}

impl ToolPages {
    /// Takes the result of one page.
    pub(crate) fn read(&mut self, mut result: Value) -> Result<NextPage, Error> {
        let Some(tools) = result.get_mut("tools").and_then(Value::as_array_mut) else {
            return Err(Error::surface_protocol("the surface's tool list has no list of `tools`"));
        };
        self.tools.append(tools);
        self.pages += 1;
        Ok(match result.get("nextCursor") {
            None | Some(Value::Null) => NextPage::Whole,
            Some(Value::String(cursor)) if !self.cursors.insert(cursor.clone()) => {
                NextPage::Cut("the surface sent the same cursor twice")
            }
            Some(Value::String(_)) if self.pages == PAGES_MAX => {
                NextPage::Cut("the surface has more than 64 pages of tools")
            }
            Some(Value::String(cursor)) => NextPage::At(cursor.clone()),
            Some(_) => NextPage::Cut("the surface sent a cursor that is no string"),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_the_required_protocol_version_makes_ready() {
        let answered = |result: Value| ExpectInitialize(()).answered(&result);
        answered(json!({ "protocolVersion": "2025-06-18" })).unwrap();
        for version in
            [json!("2025-03-26"), json!("2025-06-18 "), json!(20250618), json!(null), json!("")]
        {
            let error = answered(json!({ "protocolVersion": version })).unwrap_err();
            assert_eq!(error.code(), "protocol_error", "{version}");
        }
        answered(json!({})).unwrap_err();
        answered(json!([])).unwrap_err();
        let hostile = answered(json!({ "protocolVersion": "x".repeat(100_000) })).unwrap_err();
        assert!(hostile.to_string().len() < 2000);
    }

    #[test]
    fn pages_end_at_the_last_cursor_and_at_a_stuck_one() {
        let page = |cursor: Value| json!({ "tools": [{ "name": "a" }], "nextCursor": cursor });
        let mut pages = ToolPages::default();
        assert_eq!(pages.read(page(json!("2"))).unwrap(), NextPage::At("2".to_owned()));
        assert_eq!(pages.read(page(json!(""))).unwrap(), NextPage::At(String::new()));
        assert_eq!(pages.read(page(json!(null))).unwrap(), NextPage::Whole);
        assert_eq!(pages.tools.len(), 3);

        let mut cycle = ToolPages::default();
        cycle.read(page(json!("2"))).unwrap();
        cycle.read(page(json!("3"))).unwrap();
        assert!(matches!(cycle.read(page(json!("2"))).unwrap(), NextPage::Cut(_)));
        assert!(matches!(ToolPages::default().read(page(json!(7))).unwrap(), NextPage::Cut(_)));
        ToolPages::default().read(json!({ "tools": {} })).unwrap_err();
    }

    #[test]
    fn pages_have_a_bound() {
        let mut pages = ToolPages::default();
        for n in 1.. {
            let next = pages.read(json!({ "tools": [], "nextCursor": n.to_string() })).unwrap();
            if next == NextPage::Cut("the surface has more than 64 pages of tools") {
                assert_eq!(n, PAGES_MAX);
                break;
            }
        }
    }

    #[test]
    fn a_pin_goes_back_as_it_came() {
        let call = |pin| Ready(()).call_tool("i", "t", &Map::new(), pin);
        assert_eq!(call(None)["params"], json!({ "name": "t", "arguments": {} }));
        assert_eq!(call(Some(" r1 "))["params"]["_meta"], json!({ "revision": " r1 " }));
    }
}
