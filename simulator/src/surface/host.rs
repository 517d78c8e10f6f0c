//! The surface itself: it owns the board, and answers whoever calls.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::arguments::is_handle;
use super::board::{Board, Change, Field, Impossible, Signature};
use super::mcp::{Incoming, Reply, RpcError, result_frame};
use super::revision::Revisions;
use super::spec::{SpecError, SurfaceSpec, Tombstones};
use super::tools::Catalogue;
use crate::journal::{Author, Event, Journal};
use crate::person::{Edit, Fields, Position};
use crate::surface_host::{Emission, SurfaceHost, Telling};

/// A live application that agents reach through a relay and people edit directly.
///
/// It is a state machine without a clock: everything that it does, it does in answer to a frame
/// or to an edit. It journals its writes and its refusals at the moment they happen; what its
/// answers tell is journaled by the relay, when they arrive.
#[derive(Debug)]
pub struct Surface {
    pub(super) spec: SurfaceSpec,
    pub(super) board: Board,
    pub(super) catalogue: Catalogue,
    pub(super) journal: Journal,
    /// How many `tools/call` were answered.
    pub(super) calls: u64,
    /// How often each extra tool was called.
    pub(super) turns: Vec<usize>,
    pub(super) proposals: IndexMap<String, Proposal>,
    pub(super) proposed: u64,
    presence: IndexMap<String, Value>,
}

/// A write that an agent staged and nobody confirmed yet (SURF-11).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Proposal {
    pub(super) client: String,
    pub(super) request: Value,
    pub(super) change: Change,
}

/// Why a person's edit could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditRefused {
    /// It edits a screen that is not there.
    #[error("there is no screen `{id}` to {verb} (screens: {there})")]
    NoSuchScreen {
        /// The screen.
        id: String,
        /// What was to be done.
        verb: &'static str,
        /// The screens there are.
        there: String,
    },
    /// It creates a screen that is there already.
    #[error("there is a screen `{0}` already")]
    ScreenExists(String),
    /// It creates a screen whose id is none.
    #[error("`{0}` cannot be a screen's id (an id has 1 to 128 characters)")]
    BadId(String),
    /// There is nothing left to undo.
    #[error("there is nothing left to undo")]
    NothingToUndo,
    /// It decides on a proposal that nobody made, or that was decided on.
    #[error("there is no open proposal `{id}` to {verb} (open: {open})")]
    NoSuchProposal {
        /// The proposal.
        id: String,
        /// `confirm` or `reject`.
        verb: &'static str,
        /// The proposals there are.
        open: String,
    },
}

impl Surface {
    /// Opens a board.
    pub fn new(spec: &SurfaceSpec, journal: Journal) -> Result<Self, SpecError> {
        if let Some(handle) = spec.screens.keys().find(|handle| !is_handle(handle)) {
            return Err(SpecError::Handle(handle.clone()));
        }
        spec.tools.extra.iter().try_for_each(super::script::check)?;
        Ok(Self {
            board: Board::new(&spec.screens, spec.changes.tombstones == Tombstones::Keep),
            catalogue: Catalogue::new(&spec.tools, spec.changes.tool.name())?,
            spec: spec.clone(),
            journal,
            calls: 0,
            turns: vec![0; spec.tools.extra.len()],
            proposals: IndexMap::new(),
            proposed: 0,
            presence: IndexMap::new(),
        })
    }

    /// A person's edit. Answers the number of its write, or of the newest one when nothing
    /// changed: a screen moved to where it was, a proposal thrown away.
    pub fn edit(&mut self, person: &str, edit: &Edit) -> Result<u64, EditRefused> {
        let by = Signature {
            author: Author::Person { name: person.to_owned() },
            action: edit.verb().to_owned(),
            request: None,
        };
        let written = match edit {
            Edit::Undo => Some(self.board.undo(by).ok_or(EditRefused::NothingToUndo)?),
            Edit::Confirm { proposal } => self.confirm(person, proposal)?,
            Edit::Reject { proposal } => {
                self.open_proposal(proposal, "reject")?;
                self.proposals.shift_remove(proposal);
                self.journal.note(Event::Note { says: format!("{person} rejected {proposal}") });
                None
            }
            Edit::Create { id: Some(id), .. } if !is_handle(id) => {
                return Err(EditRefused::BadId(id.clone()));
            }
            _ => self.make(edit.verb(), &self.change_of(edit), by)?,
        };
        Ok(written.map_or(self.board.newest(), |number| {
            self.journal_write(number);
            number
        }))
    }

    /// The board as it is: handle to fields, in the board's order.
    pub fn board(&self) -> IndexMap<String, Value> {
        let screens = self.board.screens().iter();
        screens.map(|(handle, screen)| (handle.clone(), screen.fields().into())).collect()
    }

    /// The definitions of the tools that are on offer now, as `tools/list` would answer them.
    pub fn definitions(&self) -> Vec<Value> {
        self.catalogue.definitions(self.calls)
    }

    /// The number of the newest write; 1 while nobody wrote.
    pub fn newest_write(&self) -> u64 {
        self.board.newest()
    }

    /// What each client last announced of itself (PRES-1), by client id.
    pub fn presence(&self) -> &IndexMap<String, Value> {
        &self.presence
    }

    /// The proposals that wait for a person: their ids, who made them, and the fields they would
    /// set.
    pub fn proposals(&self) -> IndexMap<String, Value> {
        let told = |proposal: &Proposal| {
            let fields: Map<String, Value> = match &proposal.change {
                Change::Create { fields, .. } | Change::Set { fields, .. } => {
                    fields.iter().map(|(f, value)| (f.name().to_owned(), value.clone())).collect()
                }
                Change::Delete { .. } => Map::new(),
            };
            json!({ "client": proposal.client, "id": proposal.change.handle(), "set": fields })
        };
        self.proposals.iter().map(|(id, proposal)| (id.clone(), told(proposal))).collect()
    }

    pub(super) fn revisions(&self) -> Revisions<'_> {
        Revisions { per: self.spec.revisions.per, writes: self.board.writes() }
    }

    pub(super) fn journal_write(&self, number: u64) {
        if let Some(write) = self.board.write(number) {
            self.journal.note(Event::Write {
                write: write.number,
                author: write.by.author.clone(),
                action: write.by.action.clone(),
                cells: write.cells.clone(),
                request: write.by.request.clone(),
            });
        }
    }

    /// Applies what an agent staged. The write stays the agent's: the person agreed to it.
    fn confirm(&mut self, person: &str, id: &str) -> Result<Option<u64>, EditRefused> {
        let Proposal { client, request, change } = self.open_proposal(id, "confirm")?.clone();
        let by = Signature {
            author: Author::Agent { client },
            action: "confirm".to_owned(),
            request: Some(request),
        };
        let written = self.make("confirm", &change, by)?;
        self.proposals.shift_remove(id);
        self.journal.note(Event::Note { says: format!("{person} confirmed {id}") });
        Ok(written)
    }

    fn open_proposal(&self, id: &str, verb: &'static str) -> Result<&Proposal, EditRefused> {
        self.proposals.get(id).ok_or_else(|| EditRefused::NoSuchProposal {
            id: id.to_owned(),
            verb,
            open: list(self.proposals.keys()),
        })
    }

    fn make(
        &mut self,
        verb: &'static str,
        change: &Change,
        by: Signature,
    ) -> Result<Option<u64>, EditRefused> {
        self.board.apply(change, by).map_err(|impossible| match impossible {
            Impossible::Missing(id) => {
                EditRefused::NoSuchScreen { id, verb, there: list(self.board.screens().keys()) }
            }
            Impossible::Exists(id) => EditRefused::ScreenExists(id),
        })
    }

    fn change_of(&self, edit: &Edit) -> Change {
        let set = |id: &str, fields: &Fields| Change::Set {
            handle: id.to_owned(),
            fields: field_values(fields),
        };
        match edit {
            Edit::Move { id, to: Position { x, y } } => {
                set(id, &Fields { x: *x, y: *y, ..Fields::default() })
            }
            Edit::Rename { id, title } => {
                set(id, &Fields { title: Some(title.clone()), ..Fields::default() })
            }
            Edit::Update { id, set: fields } => set(id, fields),
            Edit::Create { id, fields } => Change::Create {
                handle: id.clone().unwrap_or_else(|| self.board.fresh_handle()),
                fields: field_values(fields),
            },
            Edit::Delete { id } => Change::Delete { handle: id.clone() },
            // The three that change no screen of their own; `edit` has dealt with them.
            Edit::Undo | Edit::Confirm { .. } | Edit::Reject { .. } => {
                Change::Set { handle: String::new(), fields: Vec::new() }
            }
        }
    }

    fn notified(&mut self, client: &str, method: &str, params: Option<&Value>) {
        match method {
            "notifications/human-plus/activity" => {
                let said = params.cloned().unwrap_or(Value::Null);
                self.presence.insert(client.to_owned(), said);
            }
            "notifications/peer_left" => _ = self.presence.shift_remove(client),
            // `initialized` and `cancelled` change nothing here: every call is over when it is
            // answered. Notifications that nobody knows are passed over, as JSON-RPC wants it.
            _ => {}
        }
    }

    fn reply(&mut self, client: &str, id: &Value, method: &str, params: Option<&Value>) -> Reply {
        match method {
            "initialize" => self.initialize(),
            "ping" => Reply::Raw(json!({})),
            "tools/list" => {
                let cursor = match params.and_then(|params| params.get("cursor")) {
                    None | Some(Value::Null) => Ok(None),
                    Some(Value::String(cursor)) => Ok(Some(cursor.as_str())),
                    Some(_) => Err("a cursor is a text".to_owned()),
                };
                let page = cursor.and_then(|cursor| {
                    self.catalogue
                        .page(cursor, self.calls)
                        .map_err(|_| format!("there is no page `{}`", cursor.unwrap_or_default()))
                });
                page.map_or_else(|says| Reply::Error(RpcError::invalid_params(says)), Reply::Raw)
            }
            "tools/call" => self.call(client, id, params),
            _ => Reply::Error(RpcError::method_not_found(method)),
        }
    }

    fn initialize(&self) -> Reply {
        let mut result = Map::new();
        if let Some(version) = &self.spec.protocol_version {
            result.insert("protocolVersion".to_owned(), json!(version));
        }
        result.insert("capabilities".to_owned(), json!({ "tools": { "listChanged": true } }));
        let info = json!({ "name": self.spec.application, "version": env!("CARGO_PKG_VERSION") });
        result.insert("serverInfo".to_owned(), info);
        Reply::Raw(Value::Object(result))
    }

    /// Takes one member; pushes its answer and what the answer tells.
    fn take(&mut self, client: &str, frame: &Value, in_batch: bool, out: &mut Out) {
        let (id, reply) = match Incoming::read(frame) {
            Incoming::Notification { method, params } => {
                return self.notified(client, method, params);
            }
            Incoming::Answer => return,
            Incoming::Invalid { id } => (id, Reply::Error(RpcError::invalid_request())),
            Incoming::Request { id, method, params } => {
                let calls = self.calls;
                let reply = self.reply(client, id, method, params);
                if self.calls > calls && self.catalogue.announces(self.calls) {
                    let method = "notifications/tools/list_changed";
                    let notice = json!({ "jsonrpc": "2.0", "method": method });
                    out.after.push(Emission::plain(notice));
                }
                (id, reply)
            }
        };
        match reply {
            Reply::Result { result, tells } => {
                out.frames.push(result_frame(id, Value::Object(result)));
                out.tells.extend(tells);
            }
            Reply::Raw(result) => out.frames.push(result_frame(id, result)),
            Reply::Error(error) => out.frames.push(error.frame(id)),
            Reply::Http { in_batch: error, .. } if in_batch => out.frames.push(error.frame(id)),
            Reply::Http { status, body, .. } => {
                out.after.insert(0, Emission::HttpStatus { status, body });
            }
            Reply::Silence => {}
        }
    }
}

/// What the members of one delivery to the surface came to.
#[derive(Default)]
struct Out {
    frames: Vec<Value>,
    tells: Vec<Telling>,
    after: Vec<Emission>,
}

impl SurfaceHost for Surface {
    fn receive(&mut self, client: &str, frame: &Value) -> Vec<Emission> {
        let mut out = Out::default();
        let batch = frame.as_array().filter(|members| !members.is_empty());
        match batch {
            Some(members) => {
                members.iter().for_each(|member| self.take(client, member, true, &mut out));
            }
            None => self.take(client, frame, false, &mut out),
        }
        let frame = match batch {
            _ if out.frames.is_empty() => None,
            Some(_) => Some(Value::Array(out.frames)),
            None => out.frames.pop(),
        };
        let answer = frame.map(|frame| Emission::Frame { frame, tells: out.tells });
        answer.into_iter().chain(out.after).collect()
    }
}

fn field_values(fields: &Fields) -> Vec<(Field, Value)> {
    let Fields { title, kind, x, y, content } = fields;
    let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
    let all = [
        (Field::Title, text(title)),
        (Field::Kind, text(kind)),
        (Field::X, x.map(|x| json!(x))),
        (Field::Y, y.map(|y| json!(y))),
        (Field::Content, text(content)),
    ];
    all.into_iter().filter_map(|(field, value)| Some((field, value?))).collect()
}

fn list<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
