//! A record, read once: windows of steps, answers, requests, frames, and who is who.

use super::Timing;
use crate::plan::PlannedCase;
use indexmap::IndexMap;
use relay_reports::record::{AnswerError, Direction, Entry, Event, Record};
use serde_json::Value;
use std::collections::BTreeMap;

/// What stands in a record where a client let the session's token slip (AUTH-2). The recorder
/// writes it instead of the token.
pub const LEAKED: &str = "[leaked token]";

/// The stretch of a record in which a step ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    /// Sequence number of its first entry.
    pub(super) first: u64,
    /// Sequence number of its last entry; the end of the record when it never ended.
    pub(super) last: u64,
    /// When it began, in microseconds.
    pub(super) began: u64,
    /// When it ended, in microseconds.
    pub(super) ended: u64,
}

impl Window {
    pub(super) fn holds(&self, seq: u64) -> bool {
        (self.first..=self.last).contains(&seq)
    }
}

/// What a client gave its caller in a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answered<'a> {
    pub(super) seq: u64,
    pub(super) agent: &'a str,
    pub(super) operation: &'a str,
    pub(super) ok: Option<&'a Value>,
    pub(super) error: Option<&'a AnswerError>,
}

/// A request that reached the relay, with its response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Requested<'a> {
    pub(super) seq: u64,
    pub(super) at: u64,
    pub(super) client: Option<&'a str>,
    pub(super) route: &'a str,
    pub(super) query: &'a IndexMap<String, String>,
    pub(super) headers: &'a IndexMap<String, String>,
    pub(super) status: Option<u16>,
    /// When its response's body came to its end.
    pub(super) ended_at: Option<u64>,
}

/// A frame that a client sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent<'a> {
    pub(super) seq: u64,
    pub(super) client: Option<&'a str>,
    pub(super) frame: &'a Value,
}

impl<'a> Sent<'a> {
    pub(super) fn method(&self) -> Option<&'a str> {
        self.frame.get("method").and_then(Value::as_str)
    }

    pub(super) fn tool(&self) -> Option<&'a str> {
        self.frame.pointer("/params/name").and_then(Value::as_str)
    }
}

/// A record, read once.
pub(super) struct Reading<'a> {
    pub(super) record: &'a Record,
    pub(super) timing: Timing,
    windows: BTreeMap<usize, Window>,
    answers: Vec<(usize, Answered<'a>)>,
    requests: Vec<Requested<'a>>,
    sent: Vec<Sent<'a>>,
    agents: BTreeMap<&'a str, &'a str>,
    names: BTreeMap<String, usize>,
}

impl<'a> Reading<'a> {
    pub(super) fn of(plan: &'a PlannedCase, record: &'a Record, timing: Timing) -> Self {
        let mut reading = Self {
            record,
            timing,
            windows: BTreeMap::new(),
            answers: Vec::new(),
            requests: Vec::new(),
            sent: Vec::new(),
            agents: BTreeMap::new(),
            names: plan
                .steps()
                .iter()
                .enumerate()
                .filter_map(|(index, (_, step))| step.name.clone().map(|name| (name, index)))
                .collect(),
        };
        let mut exchanges = BTreeMap::new();
        for entry in &record.entries {
            reading.take(entry, &mut exchanges);
        }
        reading.name_strangers();
        reading
    }

    /// A client that does not tell its id is known by the step in which the id first appeared.
    fn name_strangers(&mut self) {
        for request in &self.requests {
            let Some(client) = request.client else { continue };
            if self.agents.contains_key(client) {
                continue;
            }
            // The innermost step is the one that began last: `together` begins before its parts.
            let step = self
                .windows
                .iter()
                .filter(|(_, window)| window.holds(request.seq))
                .filter_map(|(step, _)| self.answers.iter().find(|(of, _)| of == step))
                .next_back();
            if let Some((_, answer)) = step {
                self.agents.insert(client, answer.agent);
            }
        }
    }

    fn take(&mut self, entry: &'a Entry, exchanges: &mut BTreeMap<u64, usize>) {
        let (seq, at) = (entry.seq, entry.at);
        match &entry.event {
            Event::StepStarted { step, .. } => {
                let window = Window { first: seq, last: u64::MAX, began: at, ended: at };
                self.windows.insert(*step, window);
            }
            Event::StepEnded { step } => {
                if let Some(window) = self.windows.get_mut(step) {
                    window.last = seq;
                    window.ended = at;
                }
            }
            Event::Answer { agent, step, operation, ok, error } => self.answers.push((
                *step,
                Answered { seq, agent, operation, ok: ok.as_ref(), error: error.as_ref() },
            )),
            Event::Attachment { agent, client: Some(client), .. } => {
                self.agents.entry(client).or_insert(agent);
            }
            Event::Request { exchange, client, route, query, headers, .. } => {
                exchanges.insert(*exchange, self.requests.len());
                self.requests.push(Requested {
                    seq,
                    at,
                    client: client.as_deref(),
                    route,
                    query,
                    headers,
                    status: None,
                    ended_at: None,
                });
            }
            Event::Response { exchange, status, .. } => {
                if let Some(index) = exchanges.get(exchange) {
                    self.requests[*index].status = Some(*status);
                }
            }
            Event::ResponseEnded { exchange, .. } => {
                if let Some(index) = exchanges.get(exchange) {
                    self.requests[*index].ended_at = Some(at);
                }
            }
            Event::Frame { direction: Direction::ToSurface, client, frame, .. } => {
                let members =
                    frame.as_array().map_or_else(|| std::slice::from_ref(frame), Vec::as_slice);
                for frame in members {
                    self.sent.push(Sent { seq, client: client.as_deref(), frame });
                }
            }
            _ => {}
        }
    }

    /// The stretch in which a step ran; none when it never began.
    pub(super) fn window(&self, step: usize) -> Option<Window> {
        self.windows.get(&step).copied()
    }

    /// The stretch of the step of this name.
    pub(super) fn named(&self, name: &str) -> Option<Window> {
        self.names.get(name).and_then(|step| self.window(*step))
    }

    /// The answer of the step of this name.
    pub(super) fn answer_of(&self, name: &str) -> Option<Answered<'a>> {
        self.names.get(name).and_then(|step| self.answer(*step))
    }

    /// The last answer of a step: what its act led to.
    pub(super) fn answer(&self, step: usize) -> Option<Answered<'a>> {
        self.answers.iter().rev().find(|(of, _)| *of == step).map(|(_, answer)| *answer)
    }

    /// Every answer, in order.
    pub(super) fn answers(&self) -> impl Iterator<Item = Answered<'a>> {
        self.answers.iter().map(|(_, answer)| *answer)
    }

    /// Every request that reached the relay, in order.
    pub(super) fn requests(&self) -> &[Requested<'a>] {
        &self.requests
    }

    /// Every frame that a client sent, in order.
    pub(super) fn sent(&self) -> &[Sent<'a>] {
        &self.sent
    }

    /// The agent behind a client id.
    pub(super) fn agent(&self, client: &str) -> Option<&'a str> {
        self.agents.get(client).copied()
    }

    /// Every client id with its agent.
    pub(super) fn agents(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.agents.iter().map(|(client, agent)| (*client, *agent))
    }

    /// The client id of an agent.
    pub(super) fn client(&self, agent: &str) -> Option<&'a str> {
        self.agents.iter().find(|(_, of)| **of == agent).map(|(client, _)| *client)
    }

    /// The newest thing that a client was told before an entry.
    pub(super) fn last_delivery(&self, to: &str, before: u64) -> Option<u64> {
        let entries = self.record.entries.iter().rev().skip_while(|entry| entry.seq >= before);
        let mut deliveries = entries.filter(|entry| match &entry.event {
            Event::Delivery { client, .. } => client == to,
            _ => false,
        });
        deliveries.next().map(|entry| entry.seq)
    }

    /// Whether a client id is this agent's. No agent asked for: any will do.
    pub(super) fn is(&self, client: Option<&str>, agent: Option<&str>) -> bool {
        agent.is_none_or(|agent| client.and_then(|client| self.agent(client)) == Some(agent))
    }

    /// Whether the client ever said anything to its caller.
    pub(super) fn anything_answered(&self) -> bool {
        self.answers.iter().any(|(step, answer)| {
            let is_of_the_script = self.windows.contains_key(step);
            is_of_the_script && (answer.operation != "attach" || answer.error.is_some())
        })
    }

    /// Whether any request reached the relay.
    pub(super) fn reached_relay(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Why the run itself is to blame, when it is.
    pub(super) fn testbed_fault(&self) -> Option<String> {
        self.record.entries.iter().find_map(|entry| match &entry.event {
            Event::Note { says } => says.strip_prefix(FAULT).map(str::to_owned),
            _ => None,
        })
    }
}

/// How a note begins that says that the testbed or the adapter broke.
pub const FAULT: &str = "testbed fault: ";
