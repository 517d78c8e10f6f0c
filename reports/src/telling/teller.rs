//! Turning the entries of one record into moments.

use super::frame;
use super::moment::{Kind, Moment, Party, Weight};
use super::words::{count, elide, plain, value};
use crate::record::{Author, CellChange, ChangeRow, Direction, Entry, Event, Record};
use serde_json::Value;
use std::collections::BTreeMap;

/// How many characters of an answer a moment shows.
const ANSWER_CHARS: usize = 120;

/// How many characters of an error's message or a log line it shows. They are why a reader came.
const MESSAGE_CHARS: usize = 400;

/// How many characters of a name it shows, whoever chose it.
const NAME_CHARS: usize = 48;

/// How many cells of a delivery it names.
const CELLS_MAX: usize = 6;

/// Tells every entry of a record, in order.
pub(crate) fn tell(record: &Record) -> Vec<Moment> {
    let mut teller = Teller::new(record);
    record.entries.iter().map(|entry| teller.moment(entry)).collect()
}

/// What has to be remembered to tell an entry.
struct Teller {
    /// Client ids to the agents they speak for.
    agents: BTreeMap<String, String>,
    /// What each request asked, by client and id.
    asked: BTreeMap<(String, String), String>,
    /// Who made an HTTP exchange, and what it was.
    exchanges: BTreeMap<u64, (Party, String)>,
}

impl Teller {
    fn new(record: &Record) -> Self {
        // An attachment may be told after its first frame, so the names are gathered first.
        let agents = record.entries.iter().filter_map(|entry| match &entry.event {
            Event::Attachment { agent, client: Some(client), .. } => {
                Some((client.clone(), plain(agent)))
            }
            _ => None,
        });
        Self { agents: agents.collect(), asked: BTreeMap::new(), exchanges: BTreeMap::new() }
    }

    fn client(&self, id: Option<&str>) -> Party {
        let Some(id) = id else { return Party::Client("a stranger".to_owned()) };
        Party::Client(self.agents.get(id).cloned().unwrap_or_else(|| elide(&plain(id), 16)))
    }

    fn moment(&mut self, entry: &Entry) -> Moment {
        let told = self.told(&entry.event);
        Moment {
            seq: entry.seq,
            at: entry.at,
            kind: told.kind,
            from: told.from,
            to: told.to,
            title: told.title,
            details: told.details,
            weight: told.weight,
        }
    }

    fn told(&mut self, event: &Event) -> Told {
        match event {
            Event::StepStarted { step, says } => {
                Told::at(Kind::Step, Party::Testbed, plain(says)).with(format!("step {step}"))
            }
            Event::StepEnded { step } => {
                Told::at(Kind::Step, Party::Testbed, format!("step {step} is over"))
                    .weighing(Weight::Bookkeeping)
            }
            Event::Request { exchange, client, method, route, query, bytes, .. } => {
                let who = self.client(client.as_deref());
                let name = format!("{} {}", plain(method), plain(route));
                self.exchanges.insert(*exchange, (who.clone(), name.clone()));
                let mut told =
                    Told::from(Kind::Http, who, Party::Relay, name).weighing(Weight::Wire);
                for key in ["wait", "after", "subscriber"] {
                    told.details.extend(query.get(key).map(|v| format!("{key}={}", plain(v))));
                }
                if *bytes > 0 {
                    told.details.push(format!("{bytes} bytes"));
                }
                told
            }
            Event::Response { exchange, status, .. } => {
                let (who, name) = self.exchange(*exchange);
                let title = format!("{status} to {name}");
                let told = Told::from(Kind::Http, Party::Relay, who, title);
                if *status < 400 { told.weighing(Weight::Wire) } else { told }
            }
            Event::ResponseEnded { exchange, bytes, how } => {
                let (who, name) = self.exchange(*exchange);
                // A client closes its stream once it has its answer (SSE-1): nothing to tell.
                let (how, weight) = match how.as_str() {
                    "complete" => ("is complete", Weight::Bookkeeping),
                    "hung_up" => ("was left by the client", Weight::Wire),
                    "reset" => ("was reset", Weight::Story),
                    other => (other, Weight::Story),
                };
                let title = format!("the response to {name} {}", plain(how));
                Told::from(Kind::Http, Party::Relay, who, title)
                    .with(count(usize::try_from(*bytes).unwrap_or(usize::MAX), "byte"))
                    .weighing(weight)
            }
            Event::Frame { direction, client, frame, .. } => {
                self.frame(*direction, client.as_deref(), frame)
            }
            Event::Fault { says, breaks, .. } => {
                let mut told = Told::at(Kind::Fault, Party::Relay, plain(says));
                told.details.extend(breaks.as_ref().map(|id| format!("breaks {}", plain(id))));
                told
            }
            Event::Write { write, author, action, cells, .. } => {
                let (action, cells) = (plain(action), cells_in_words(cells));
                let told = match author {
                    Author::Person { name } => {
                        let title = format!("{action}: {cells}");
                        Told::from(Kind::Edit, Party::Person(plain(name)), Party::Surface, title)
                    }
                    Author::Agent { client } => {
                        let who = self.client(Some(client));
                        let title = format!("applies {action} of {}: {cells}", who.name());
                        Told::at(Kind::Write, Party::Surface, title)
                    }
                };
                told.with(format!("write {write}"))
            }
            Event::Delivery { client, as_of, cells, rows, revision, .. } => {
                let to = self.client(Some(client));
                let title = delivery_in_words(cells, rows);
                let mut told = Told::from(Kind::Delivery, Party::Surface, to, title)
                    .with(format!("as of write {as_of}"))
                    .weighing(Weight::Bookkeeping);
                told.details.extend(revision.as_ref().map(|r| format!("revision {}", plain(r))));
                told
            }
            Event::StaleRefusal { client, tool, pin, would_write, as_of, .. } => {
                let mut title = format!("{} is stale", plain(tool));
                if !would_write.is_empty() {
                    title.push_str(&format!(
                        "; would have written {}",
                        plain(&would_write.join(", "))
                    ));
                }
                let to = self.client(Some(client));
                Told::from(Kind::Refusal, Party::Surface, to, title)
                    .with(format!("pin {}", plain(pin)))
                    .with(format!("as of write {as_of}"))
            }
            Event::Session { what, client } => {
                let what = match what.as_str() {
                    "opened" => "the session opens".to_owned(),
                    "ended" => "the session ends".to_owned(),
                    "expired" => "the session expires".to_owned(),
                    "restarted" => "the relay restarts".to_owned(),
                    "client_left" => {
                        format!("{} leaves the session", self.client(client.as_deref()).name())
                    }
                    other => format!("session: {}", plain(other)),
                };
                Told::at(Kind::Session, Party::Relay, what)
            }
            Event::Answer { agent, operation, ok, error, .. } => {
                let (agent, operation) = (plain(agent), elide(&plain(operation), NAME_CHARS));
                let (kind, title) = match error {
                    Some(error) => {
                        let message = elide(&plain(&error.message), MESSAGE_CHARS);
                        let code = plain(&error.code);
                        let title = format!("{operation} failed with `{code}`: {message}");
                        (Kind::AnswerError, title)
                    }
                    None => {
                        let ok = ok.as_ref().map_or_else(|| "nothing".to_owned(), value);
                        (Kind::Answer, format!("{operation} returned {}", elide(&ok, ANSWER_CHARS)))
                    }
                };
                let happened = error.as_ref().and_then(|error| error.happened.as_ref());
                let from = Party::Client(agent.clone());
                let mut told = Told::from(kind, from, Party::Agent(agent), title);
                told.details
                    .extend(happened.map(|happened| format!("happened: {}", plain(happened))));
                told
            }
            Event::Attachment { agent, state, .. } => {
                let title = format!("attachment is {}", plain(state));
                Told::at(Kind::State, Party::Client(plain(agent)), title)
            }
            Event::Log { level, target, message } => {
                let title = format!("{}: {}", plain(level), elide(&plain(message), MESSAGE_CHARS));
                let (kind, weight) = match level.as_str() {
                    "warn" | "error" => (Kind::Warning, Weight::Story),
                    _ => (Kind::Log, Weight::Bookkeeping),
                };
                Told::at(kind, Party::Testbed, title).with(plain(target)).weighing(weight)
            }
            Event::Board { screens } => {
                let title = format!("holds {} at the end", count(screens.len(), "screen"));
                Told::at(Kind::Board, Party::Surface, title).weighing(Weight::Bookkeeping)
            }
            Event::Note { says } => Told::at(Kind::Note, Party::Testbed, plain(says)),
        }
    }

    fn frame(&mut self, direction: Direction, client: Option<&str>, frame: &Value) -> Told {
        let who = self.client(client);
        let owner = client.unwrap_or_default().to_owned();
        let words = {
            let asked = &self.asked;
            frame::tell(frame, &|id| asked.get(&(owner.clone(), id.to_string())).cloned())
        };
        let (from, to) = match direction {
            Direction::ToSurface => {
                self.remember(&owner, frame);
                (who, Party::Surface)
            }
            Direction::ToClient => (Party::Surface, who),
        };
        let kind = if words.error { Kind::FrameError } else { Kind::Frame };
        Told { details: words.details, ..Told::from(kind, from, to, words.title) }
    }

    /// Keeps what a request asked, so that its answer can be told.
    fn remember(&mut self, owner: &str, frame: &Value) {
        let frames = frame.as_array().map_or(std::slice::from_ref(frame), Vec::as_slice);
        for frame in frames {
            if let (Some(id), Some(name)) = (frame.get("id"), frame::request_name(frame)) {
                self.asked.insert((owner.to_owned(), id.to_string()), name);
            }
        }
    }

    fn exchange(&self, number: u64) -> (Party, String) {
        let unknown = || (self.client(None), format!("exchange {number}"));
        self.exchanges.get(&number).cloned().unwrap_or_else(unknown)
    }
}

/// A moment without its place and time.
struct Told {
    kind: Kind,
    from: Party,
    to: Party,
    title: String,
    details: Vec<String>,
    weight: Weight,
}

impl Told {
    fn from(kind: Kind, from: Party, to: Party, title: String) -> Self {
        Self { kind, from, to, title, details: Vec::new(), weight: Weight::Story }
    }

    fn at(kind: Kind, party: Party, title: String) -> Self {
        Self::from(kind, party.clone(), party, title)
    }

    fn with(mut self, detail: String) -> Self {
        self.details.push(detail);
        self
    }

    fn weighing(mut self, weight: Weight) -> Self {
        self.weight = weight;
        self
    }
}

/// `tells screen_7.x; change row: screen_7 (write 2, human)`.
fn delivery_in_words(cells: &[String], rows: &[ChangeRow]) -> String {
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
fn cells_in_words(cells: &[CellChange]) -> String {
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
