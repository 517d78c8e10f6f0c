//! Turning the entries of one record into moments.

use super::frame;
use super::moment::{Kind, Moment, Party, Weight};
use super::told::{self, Told};
use super::words::{count, elide, plain};
use crate::record::{Author, CellChange, Direction, Entry, Event, Record};
use serde_json::Value;
use std::collections::BTreeMap;

/// How many characters of a log line a moment shows.
const LOG_CHARS: usize = 400;

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
                told::request(who, name, query, *bytes)
            }
            Event::Response { exchange, status, .. } => {
                let (who, name) = self.exchange(*exchange);
                let title = format!("{status} to {name}");
                let told = Told::from(Kind::Http, Party::Relay, who, title);
                if *status < 400 { told.weighing(Weight::Wire) } else { told }
            }
            Event::ResponseEnded { exchange, bytes, how } => {
                let (who, name) = self.exchange(*exchange);
                told::response_end(who, &name, *bytes, how)
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
                self.write(author, action, cells).with(format!("write {write}"))
            }
            Event::Delivery { client, as_of, cells, rows, revision, .. } => {
                let to = self.client(Some(client));
                let title = told::delivery(cells, rows);
                let mut told = Told::from(Kind::Delivery, Party::Surface, to, title)
                    .with(format!("as of write {as_of}"))
                    .weighing(Weight::Bookkeeping);
                told.details.extend(revision.as_ref().map(|r| format!("revision {}", plain(r))));
                told
            }
            Event::StaleRefusal { client, tool, pin, would_write, as_of, .. } => {
                told::refusal(self.client(Some(client)), tool, would_write)
                    .with(format!("pin {}", plain(pin)))
                    .with(format!("as of write {as_of}"))
            }
            Event::Session { what, client } => {
                told::session(what, self.client(client.as_deref()).name())
            }
            Event::Answer { agent, operation, ok, error, .. } => {
                told::answer(agent, operation, ok.as_ref(), error.as_ref())
            }
            Event::Attachment { agent, state, .. } => {
                let title = format!("attachment is {}", plain(state));
                Told::at(Kind::State, Party::Client(plain(agent)), title)
            }
            Event::Log { level, target, message } => {
                let title = format!("{}: {}", plain(level), elide(&plain(message), LOG_CHARS));
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

    fn write(&self, author: &Author, action: &str, cells: &[CellChange]) -> Told {
        let (action, cells) = (plain(action), told::cells(cells));
        match author {
            Author::Person { name } => {
                let title = format!("{action}: {cells}");
                Told::from(Kind::Edit, Party::Person(plain(name)), Party::Surface, title)
            }
            Author::Agent { client } => {
                let who = self.client(Some(client));
                let title = format!("applies {action} of {}: {cells}", who.name());
                Told::at(Kind::Write, Party::Surface, title)
            }
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
