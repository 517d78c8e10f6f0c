//! The words of single events, as leaves that need to remember nothing.

use super::moment::{Kind, Party, Weight};
use super::words::{count, elide, plain, value};
use crate::record::{AnswerError, CellChange, ChangeRow};
use indexmap::IndexMap;
use serde_json::Value;

/// How many characters of an answer a moment shows.
const ANSWER_CHARS: usize = 120;

/// How many characters of an error's message it shows. They are why a reader came.
const MESSAGE_CHARS: usize = 400;

/// How many characters of a name it shows, whoever chose it.
const NAME_CHARS: usize = 48;

/// How many cells of a delivery it names.
const CELLS_MAX: usize = 6;

/// A moment without its place and time.
pub(super) struct Told {
    pub(super) kind: Kind,
    pub(super) from: Party,
    pub(super) to: Party,
    pub(super) title: String,
    pub(super) details: Vec<String>,
    pub(super) weight: Weight,
}

impl Told {
    pub(super) fn from(kind: Kind, from: Party, to: Party, title: String) -> Self {
        Self { kind, from, to, title, details: Vec::new(), weight: Weight::Story }
    }

    pub(super) fn at(kind: Kind, party: Party, title: String) -> Self {
        Self::from(kind, party.clone(), party, title)
    }

    pub(super) fn with(mut self, detail: String) -> Self {
        self.details.push(detail);
        self
    }

    pub(super) fn weighing(mut self, weight: Weight) -> Self {
        self.weight = weight;
        self
    }
}

pub(super) fn request(
    who: Party,
    name: String,
    query: &IndexMap<String, String>,
    bytes: u64,
) -> Told {
    let mut told = Told::from(Kind::Http, who, Party::Relay, name).weighing(Weight::Wire);
    for key in ["wait", "after", "subscriber"] {
        told.details.extend(query.get(key).map(|v| format!("{key}={}", plain(v))));
    }
    if bytes > 0 {
        told.details.push(in_bytes(bytes));
    }
    told
}

pub(super) fn response_end(who: Party, name: &str, bytes: u64, how: &str) -> Told {
    // A client closes its stream once it has its answer (SSE-1): nothing to tell.
    let (how, weight) = match how {
        "complete" => ("is complete", Weight::Bookkeeping),
        "hung_up" => ("was left by the client", Weight::Wire),
        "reset" => ("was reset", Weight::Story),
        other => (other, Weight::Story),
    };
    let title = format!("the response to {name} {}", plain(how));
    Told::from(Kind::Http, Party::Relay, who, title).with(in_bytes(bytes)).weighing(weight)
}

pub(super) fn refusal(who: Party, tool: &str, would_write: &[String]) -> Told {
    let mut title = format!("{} is stale", plain(tool));
    if !would_write.is_empty() {
        let cells = plain(&would_write.join(", "));
        title.push_str(&format!("; would have written {cells}"));
    }
    Told::from(Kind::Refusal, Party::Surface, who, title)
}

pub(super) fn session(what: &str, client: &str) -> Told {
    let what = match what {
        "opened" => "the session opens".to_owned(),
        "ended" => "the session ends".to_owned(),
        "expired" => "the session expires".to_owned(),
        "restarted" => "the relay restarts".to_owned(),
        "client_left" => format!("{client} leaves the session"),
        other => format!("session: {}", plain(other)),
    };
    Told::at(Kind::Session, Party::Relay, what)
}

/// What a client gave its caller.
pub(super) fn answer(
    agent: &str,
    operation: &str,
    ok: Option<&Value>,
    error: Option<&AnswerError>,
) -> Told {
    let (agent, operation) = (plain(agent), elide(&plain(operation), NAME_CHARS));
    let (from, to) = (Party::Client(agent.clone()), Party::Agent(agent));
    let Some(error) = error else {
        let ok = ok.map_or_else(|| "nothing".to_owned(), value);
        let title = format!("{operation} returned {}", elide(&ok, ANSWER_CHARS));
        return Told::from(Kind::Answer, from, to, title);
    };
    let (code, message) = (plain(&error.code), elide(&plain(&error.message), MESSAGE_CHARS));
    let title = format!("{operation} failed with `{code}`: {message}");
    let mut told = Told::from(Kind::AnswerError, from, to, title);
    told.details.extend(error.happened.as_ref().map(|h| format!("happened: {}", plain(h))));
    told
}

/// `tells screen_7.x; change row: screen_7 (write 2, human)`.
pub(super) fn delivery(cells: &[String], rows: &[ChangeRow]) -> String {
    let mut parts = Vec::new();
    if !cells.is_empty() {
        let mut named: Vec<String> = cells.iter().take(CELLS_MAX).map(|cell| plain(cell)).collect();
        if cells.len() > CELLS_MAX {
            named.push(format!("{} more", cells.len() - CELLS_MAX));
        }
        parts.push(format!("tells {}", named.join(", ")));
    }
    parts.extend(rows.iter().map(|row| {
        let actor = row.actor.as_ref().map_or_else(|| "nobody named".to_owned(), |a| plain(a));
        format!("change row: {} (write {}, {actor})", plain(&row.handle), row.write)
    }));
    if parts.is_empty() { "tells nothing of its state".to_owned() } else { parts.join("; ") }
}

/// `screen_7 x 0 → 40, y 0 → 10; screen_9 deleted`.
pub(super) fn cells(cells: &[CellChange]) -> String {
    let mut handles: Vec<(&str, Vec<&CellChange>)> = Vec::new();
    for cell in cells {
        match handles.iter_mut().find(|(handle, _)| *handle == cell.handle) {
            Some((_, changes)) => changes.push(cell),
            None => handles.push((&cell.handle, vec![cell])),
        }
    }
    if handles.is_empty() {
        return "nothing changed".to_owned();
    }
    let told = handles.iter().map(|(handle, changes)| {
        let life = changes.iter().find(|cell| cell.field == "exists").map(|cell| &cell.new);
        let fields = || {
            let fields = changes.iter().filter(|cell| cell.field != "exists").map(|cell| {
                let (old, new) = (value(&cell.old), value(&cell.new));
                format!("{} {} → {}", plain(&cell.field), elide(&old, 40), elide(&new, 40))
            });
            fields.collect::<Vec<_>>().join(", ")
        };
        match life {
            Some(Value::Bool(true)) => format!("{} created", plain(handle)),
            Some(_) => format!("{} deleted", plain(handle)),
            None => format!("{} {}", plain(handle), fields()),
        }
    });
    told.collect::<Vec<_>>().join("; ")
}

fn in_bytes(bytes: u64) -> String {
    count(usize::try_from(bytes).unwrap_or(usize::MAX), "byte")
}
