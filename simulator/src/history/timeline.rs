//! The history: facts in the order in which they happened.

use std::collections::BTreeMap;

use serde_json::Value;

use super::facts::{Answer, Calm, Delivery, HeldBack, Refusal, Request, Write};
use crate::journal::{Direction, Event};

/// Everything that anomalies are named from. Facts are pushed in the order of the record.
#[derive(Debug, Clone, Default)]
pub struct History {
    pub(super) writes: Vec<Write>,
    pub(super) deliveries: Vec<Delivery>,
    pub(super) refusals: Vec<Refusal>,
    pub(super) requests: Vec<Request>,
    pub(super) answers: Vec<Answer>,
    pub(super) calms: Vec<Calm>,
    pub(super) held_back: Vec<HeldBack>,
    pub(super) names: BTreeMap<String, String>,
}

impl History {
    /// A history without facts.
    pub fn new() -> Self {
        Self::default()
    }

    /// What sentences call the agent behind a client id, such as its name in a scenario.
    pub fn name(&mut self, client: impl Into<String>, name: impl Into<String>) {
        self.names.insert(client.into(), name.into());
    }

    /// The surface's state changed.
    pub fn write(&mut self, write: Write) {
        self.writes.push(write);
    }

    /// A client was told something.
    pub fn delivery(&mut self, delivery: Delivery) {
        self.deliveries.push(delivery);
    }

    /// A call was refused as stale.
    pub fn refusal(&mut self, refusal: Refusal) {
        self.refusals.push(refusal);
    }

    /// A client sent a request.
    pub fn request(&mut self, request: Request) {
        self.requests.push(request);
    }

    /// An answer reached a client.
    pub fn answer(&mut self, answer: Answer) {
        self.answers.push(answer);
    }

    /// A client told its caller that nothing changed.
    pub fn claim_nothing_changed(&mut self, calm: Calm) {
        self.calms.push(calm);
    }

    /// An agent left a handle alone because of a change row.
    pub fn held_back(&mut self, held_back: HeldBack) {
        self.held_back.push(held_back);
    }

    /// Takes what a journal's event says; most events say nothing about two writers.
    pub fn event(&mut self, seq: u64, event: &Event) {
        match event.clone() {
            Event::Write { write: number, author, action, cells, request } => {
                self.write(Write { seq, number, author, action, cells, request });
            }
            Event::Delivery { client, as_of, cells, rows, revision, request: _ } => {
                self.delivery(Delivery { seq, client, as_of, cells, rows, revision });
            }
            Event::StaleRefusal { client, tool, pin, would_write, as_of, request: _ } => {
                self.refusal(Refusal { seq, client, tool, pin, would_write, as_of });
            }
            Event::Frame { direction, client: Some(client), frame, .. } => {
                self.frame(seq, direction, &client, &frame);
            }
            _ => {}
        }
    }

    /// Takes a frame that passed the relay: the requests in it, or the answers. Of a frame
    /// towards a client, `client` is the one that it reached.
    pub fn frame(&mut self, seq: u64, direction: Direction, client: &str, frame: &Value) {
        if let Some(members) = frame.as_array() {
            members.iter().for_each(|member| self.frame(seq, direction, client, member));
            return;
        }
        let Some(id) = frame.get("id").filter(|id| !id.is_null()).cloned() else { return };
        let client = client.to_owned();
        match (direction, frame.get("method")) {
            (Direction::ToSurface, Some(_)) => {
                self.request(Request { seq, client, id, frame: frame.clone() });
            }
            (Direction::ToClient, None) => {
                self.answer(Answer { seq, client, id, asked_by: None });
            }
            _ => {}
        }
    }
}
