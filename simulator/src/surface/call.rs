//! `tools/call`: arguments first, then the pin, then the board, then what the answer tells.
//!
//! The order matters. A call with bad arguments is refused as such whatever its pin says; a stale
//! pin is refused before anybody looks whether the screen is still there, so that a write to a
//! thing that somebody deleted is told as the conflict it is; and a refusal writes nothing.

use serde_json::{Map, Value, json};

use super::arguments::{self, Call};
use super::board::{Cell, Change, EXISTS, FIRST_WRITE, Impossible, Screen, Signature};
use super::feed::{FeedAnswer, rows};
use super::host::{Proposal, Surface};
use super::mcp::{Reply, RpcError};
use super::revision::{Marker, Shown, Touch};
use super::script::{self, Scripted};
use super::spec::{CodeWord, Enforce, ExpiredSince, MarkerShape, MintPlace, Rejection, Unpinned};
use super::tools::{Behind, Stock};
use crate::journal::{Author, Event};
use crate::surface_host::Telling;

/// One `tools/call`: who asks, under which id and pin, by which name.
#[derive(Clone, Copy)]
struct Asked<'a> {
    client: &'a str,
    id: &'a Value,
    tool: &'a str,
    pin: Option<&'a Value>,
}

impl Surface {
    /// Answers `tools/call`.
    pub(super) fn call(&mut self, client: &str, id: &Value, params: Option<&Value>) -> Reply {
        let reply = self.try_call(client, id, params).unwrap_or_else(|refusal| *refusal);
        if reply != Reply::Silence {
            self.calls += 1;
        }
        reply
    }

    fn try_call(
        &mut self,
        client: &str,
        id: &Value,
        params: Option<&Value>,
    ) -> Result<Reply, Box<Reply>> {
        let bad = |says: &str| Box::new(Reply::Error(RpcError::invalid_params(says)));
        let params = params.and_then(Value::as_object).ok_or_else(|| bad("there are no params"))?;
        let tool =
            params.get("name").and_then(Value::as_str).ok_or_else(|| bad("no tool named"))?;
        let empty = Map::new();
        let arguments = match params.get("arguments") {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return Err(bad("the arguments of a tool are an object")),
        };
        let pin = params.get("_meta").and_then(|meta| meta.get("revision"));
        let asked = Asked { client, id, tool, pin: pin.filter(|pin| !pin.is_null()) };
        match self.catalogue.find(tool, self.calls) {
            None => Err(bad(&format!("there is no tool `{tool}`"))),
            Some(Behind::Extra(index)) => self.call_extra(asked, index),
            Some(Behind::Stock(stock)) => {
                let fresh = || self.board.fresh_handle();
                let call = arguments::read(stock, tool, arguments, fresh)
                    .map_err(|says| Box::new(Reply::Error(RpcError::invalid_params(says))))?;
                self.call_stock(asked, stock, call)
            }
        }
    }

    fn call_extra(&mut self, asked: Asked<'_>, index: usize) -> Result<Reply, Box<Reply>> {
        let enforced = self.spec.revisions.enforce == Enforce::EveryCall;
        let pin = self.check_pin(asked, enforced, false, &Touch::Nothing, &[])?;
        let turn = self.turns[index];
        self.turns[index] += 1;
        Ok(match script::answer(&self.spec.tools.extra[index], turn) {
            Scripted::AsIs(reply) => reply,
            Scripted::Result(result) => self.tell(asked, pin, result, Shown::Nothing, Vec::new()),
        })
    }

    fn call_stock(
        &mut self,
        asked: Asked<'_>,
        stock: Stock,
        call: Call,
    ) -> Result<Reply, Box<Reply>> {
        let call = match call {
            Call::Write(change) => Call::Write(self.upserted(change)),
            Call::Propose(change) => Call::Propose(self.upserted(change)),
            other => other,
        };
        let (touch, would_write) = match &call {
            Call::List | Call::Feed { .. } => (Touch::Everything, Vec::new()),
            Call::Read { handle } => (Touch::Cells(Cell::all_of(handle)), Vec::new()),
            Call::Write(change) | Call::Propose(change) => {
                (Touch::Cells(change.cells()), change.cells())
            }
            Call::Confirm { .. } => (Touch::Nothing, Vec::new()),
        };
        let enforced = match (stock, self.spec.revisions.enforce) {
            (Stock::Feed, _) => self.spec.changes.enforce,
            (_, Enforce::Never) => false,
            (_, Enforce::Writes) => stock.writes(),
            (_, Enforce::EveryCall) => true,
        };
        let pin = self.check_pin(asked, enforced, stock.writes(), &touch, &would_write)?;
        Ok(match call {
            Call::List => self.list(asked, pin),
            Call::Read { handle } => self.read(asked, pin, &handle),
            Call::Write(change) => self.write(asked, pin, &change),
            Call::Propose(change) => self.propose(asked, pin, change),
            Call::Confirm { proposal } => {
                let says = format!("only the person at the board confirms `{proposal}`");
                Reply::Result { result: failure(says), tells: None }
            }
            Call::Feed { since } => self.changes_since(asked, pin, since.as_ref())?,
        })
    }

    /// Where a screen is made by being written to, a write to a missing one makes it.
    fn upserted(&self, change: Change) -> Change {
        match change {
            Change::Set { handle, fields }
                if self.spec.upsert && !self.board.screens().contains_key(&handle) =>
            {
                Change::Create { handle, fields }
            }
            other => other,
        }
    }

    /// Lets a call pass, with what its pin covers, or refuses it.
    fn check_pin(
        &self,
        asked: Asked<'_>,
        enforced: bool,
        writes: bool,
        touch: &Touch,
        would_write: &[Cell],
    ) -> Result<Option<Marker>, Box<Reply>> {
        let Some(pin) = asked.pin else {
            return if writes && self.spec.revisions.unpinned == Unpinned::Refuse {
                Err(Box::new(Reply::Error(RpcError {
                    code: json!(-32000),
                    message: "a write needs the revision that it is based on".to_owned(),
                    data: Some(json!({ "code": "precondition_required" })),
                })))
            } else {
                Ok(None)
            };
        };
        if matches!(self.spec.revisions.marker, MarkerShape::Value(_)) {
            return Ok(None);
        }
        let marker = self.read_marker(pin);
        let stale = marker.as_ref().is_none_or(|marker| self.revisions().is_stale(marker, touch));
        if !(enforced && stale) {
            return Ok(marker);
        }
        self.journal.note(Event::StaleRefusal {
            client: asked.client.to_owned(),
            tool: asked.tool.to_owned(),
            pin: spelled(pin),
            would_write: would_write.iter().map(Cell::text).collect(),
            as_of: self.board.newest(),
            request: Some(asked.id.clone()),
        });
        Err(Box::new(rejection(&self.spec.revisions.reject)))
    }

    /// Reads a marker as a client sent it back.
    fn read_marker(&self, sent: &Value) -> Option<Marker> {
        match sent {
            Value::String(text) => self.revisions().read(text),
            Value::Number(number) => self.revisions().read(&format!("r{number}")),
            _ => None,
        }
    }

    fn list(&self, asked: Asked<'_>, pin: Option<Marker>) -> Reply {
        let screens: Vec<_> =
            self.board.screens().iter().map(|(id, screen)| shown(id, screen)).collect();
        // Who is shown everything is told of what is gone, too.
        let told = self.board.known().flat_map(|handle| {
            let there = self.board.screens().contains_key(handle);
            if there { Cell::all_of(handle) } else { vec![Cell::new(handle, EXISTS)] }
        });
        let told = told.collect();
        self.tell(asked, pin, content(json!({ "screens": screens })), Shown::Everything, told)
    }

    fn read(&self, asked: Asked<'_>, pin: Option<Marker>, handle: &str) -> Reply {
        let Some(screen) = self.board.screens().get(handle) else {
            return self.impossible(asked, &Impossible::Missing(handle.to_owned()));
        };
        let result = content(shown(handle, screen));
        self.tell(asked, pin, result, Shown::Screen(handle), Cell::all_of(handle))
    }

    /// Writes, and answers with the cells that were written and no others: what an answer shows
    /// counts as seen, and an agent that moved a screen has not looked at its title.
    fn write(&mut self, asked: Asked<'_>, pin: Option<Marker>, change: &Change) -> Reply {
        let by = Signature {
            author: Author::Agent { client: asked.client.to_owned() },
            action: asked.tool.to_owned(),
            request: Some(asked.id.clone()),
        };
        let written = match self.board.apply(change, by) {
            Ok(written) => written,
            Err(impossible) => return self.impossible(asked, &impossible),
        };
        written.into_iter().for_each(|number| self.journal_write(number));
        let mut structured = Map::from_iter([("id".to_owned(), json!(change.handle()))]);
        match change {
            Change::Create { handle, .. } => {
                structured.extend(
                    self.board.screens().get(handle).map(Screen::fields).unwrap_or_default(),
                );
            }
            Change::Set { fields, .. } => {
                structured
                    .extend(fields.iter().map(|(f, value)| (f.name().to_owned(), value.clone())));
            }
            Change::Delete { .. } => {
                structured.insert("deleted".to_owned(), json!(true));
            }
        }
        let own = written.and_then(|number| self.board.write(number));
        let shown = own.map_or(Shown::Nothing, Shown::OwnWrite);
        self.tell(asked, pin, content(Value::Object(structured)), shown, change.cells())
    }

    fn propose(&mut self, asked: Asked<'_>, pin: Option<Marker>, change: Change) -> Reply {
        let handle = change.handle().to_owned();
        if matches!(change, Change::Set { .. }) && !self.board.screens().contains_key(&handle) {
            return self.impossible(asked, &Impossible::Missing(handle));
        }
        self.proposed += 1;
        let proposal = format!("p{}", self.proposed);
        let staged = json!({ "proposal": proposal, "id": handle, "staged": true });
        let (client, request) = (asked.client.to_owned(), asked.id.clone());
        self.proposals.insert(proposal, Proposal { client, request, change });
        self.tell(asked, pin, content(staged), Shown::Nothing, Vec::new())
    }

    fn changes_since(
        &self,
        asked: Asked<'_>,
        pin: Option<Marker>,
        since: Option<&Value>,
    ) -> Result<Reply, Box<Reply>> {
        let spec = &self.spec.changes;
        let from = match since {
            None => Some(Marker::at(FIRST_WRITE)),
            Some(since) => self.read_marker(since),
        };
        let asked_for = from.as_ref().map(|from| self.revisions().since(from)).unwrap_or_default();
        let forgotten = self.forgotten();
        let kept: Vec<_> =
            asked_for.iter().copied().filter(|write| write.number > forgotten).collect();
        let expired = from.is_none() || kept.len() < asked_for.len();
        // Whoever sent no marker has none that could be refused.
        if expired && spec.expired == ExpiredSince::Error && since.is_some() {
            let says = "`since` is no revision that this feed remembers";
            return Err(Box::new(Reply::Error(RpcError::invalid_params(says))));
        }
        let answer = FeedAnswer {
            rows: rows(&kept, &self.board, asked.client, spec),
            partial: expired && spec.expired != ExpiredSince::Calm,
        };
        let mut result = answer.spell(&self.board, spec);
        let revision = self.mint(asked, pin.as_ref(), Shown::Everything, &mut result);
        let tells = Telling {
            asked_by: asked.client.to_owned(),
            request: Some(asked.id.clone()),
            as_of: self.board.newest(),
            cells: answer.cells(),
            rows: answer.told(),
            revision,
        };
        Ok(Reply::Result { result, tells: Some(tells) })
    }

    /// The newest write that the feed no longer remembers.
    fn forgotten(&self) -> u64 {
        let Some(remembers) = self.spec.changes.remembers else { return 0 };
        let mut noticed = self.board.writes().iter().rev().filter(|write| write.noticed);
        noticed.nth(remembers).map_or(0, |write| write.number)
    }

    /// A result that tells the values of cells, with its revision.
    fn tell(
        &self,
        asked: Asked<'_>,
        pin: Option<Marker>,
        mut result: Map<String, Value>,
        shown: Shown<'_>,
        cells: Vec<Cell>,
    ) -> Reply {
        let revision = self.mint(asked, pin.as_ref(), shown, &mut result);
        let tells = Telling {
            asked_by: asked.client.to_owned(),
            request: Some(asked.id.clone()),
            as_of: self.board.newest(),
            cells: cells.iter().map(Cell::text).collect(),
            rows: Vec::new(),
            revision,
        };
        Reply::Result { result, tells: Some(tells) }
    }

    /// Puts a revision on a result, where this surface puts it, and answers it as the record
    /// spells it.
    fn mint(
        &self,
        asked: Asked<'_>,
        pin: Option<&Marker>,
        shown: Shown<'_>,
        result: &mut Map<String, Value>,
    ) -> Option<String> {
        let place = self.spec.revisions.mint.place()?;
        let marker = self.revisions().mint(asked.client, pin, shown);
        let value = match &self.spec.revisions.marker {
            MarkerShape::Text => json!(marker.to_string()),
            MarkerShape::Number => json!(marker.base()),
            MarkerShape::Bytes(bytes) => json!(format!("{:~<bytes$}", marker.to_string())),
            MarkerShape::Value(value) => value.clone(),
        };
        let text = spelled(&value);
        match place {
            MintPlace::Top(key) => _ = result.insert(key.to_owned(), value),
            MintPlace::Meta(key) => {
                let meta = result.entry("_meta").or_insert_with(|| json!({}));
                meta[key] = value;
            }
        }
        Some(text)
    }

    /// An error of the board: `isError`, no revision, and word of whether the screen is there.
    fn impossible(&self, asked: Asked<'_>, impossible: &Impossible) -> Reply {
        let (Impossible::Missing(handle) | Impossible::Exists(handle)) = impossible;
        let tells = Telling {
            asked_by: asked.client.to_owned(),
            request: Some(asked.id.clone()),
            as_of: self.board.newest(),
            cells: vec![Cell::new(handle, EXISTS).text()],
            rows: Vec::new(),
            revision: None,
        };
        Reply::Result { result: failure(impossible.to_string()), tells: Some(tells) }
    }
}

/// A tool's own error, as text that a model reads (MCP-3).
fn failure(says: String) -> Map<String, Value> {
    let mut result = Map::new();
    result.insert("content".to_owned(), json!([{ "type": "text", "text": says }]));
    result.insert("isError".to_owned(), json!(true));
    result
}

/// A result that says the same thing twice: as compact JSON for a model, and structured.
fn content(structured: Value) -> Map<String, Value> {
    let mut result = Map::new();
    let text = structured.to_string();
    result.insert("content".to_owned(), json!([{ "type": "text", "text": text }]));
    result.insert("structuredContent".to_owned(), structured);
    result
}

fn shown(id: &str, screen: &Screen) -> Value {
    let id = std::iter::once(("id".to_owned(), json!(id)));
    Value::Object(id.chain(screen.fields()).collect())
}

/// A marker as the record spells it: a text as it is, anything else as JSON.
fn spelled(marker: &Value) -> String {
    marker.as_str().map_or_else(|| marker.to_string(), str::to_owned)
}

/// A stale rejection in the surface's spelling. It does not say which revision is the newest: a
/// client that pinned to it would pin to something that it never read.
fn rejection(spelling: &Rejection) -> Reply {
    let message = "the board changed after the revision that this call is pinned to; nothing was \
                   written";
    let error =
        |code: Value, data: Option<Value>| RpcError { code, message: message.to_owned(), data };
    match spelling {
        Rejection::Http(status) => Reply::Http {
            status: *status,
            body: json!({ "error": "conflict", "message": message }),
            in_batch: error(CodeWord::Number(i64::from(*status)).value(), None),
        },
        Rejection::Code(code) => Reply::Error(error(code.value(), None)),
        Rejection::DataCode(code) => {
            Reply::Error(error(json!(-32000), Some(json!({ "code": code.value() }))))
        }
        Rejection::DataReason(reason) => {
            Reply::Error(error(json!(-32000), Some(json!({ "reason": reason }))))
        }
    }
}
