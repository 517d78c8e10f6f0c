//! Receivers as the public relays know them: every stream and every poll subscriber is one of its
//! own, answers are routed by their id alone, and nothing is kept for those that are not there.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::Value;
use tokio::time::{Duration, Instant};

use super::frame::{Frame, FrameKind};
use super::mailbox::{Mailbox, Ready};
use super::routing::Ask;
use super::session::Parcel;

/// A poller that has not come back for this long is gone.
const POLLER_IDLE: Duration = Duration::from_secs(60);

/// The subscribers of a session.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    all: IndexMap<String, Subscriber>,
    /// Who asked last with an id, by the id's bare text: `1` and `"1"` are one.
    asked: BTreeMap<String, Ask>,
}

#[derive(Debug)]
struct Subscriber {
    mailbox: Mailbox<Parcel>,
    /// The client it said it is; empty when it said nothing.
    label: String,
    inbound: bool,
    polls: bool,
    seen: Instant,
}

/// Where a frame of the surface goes.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// What it answers, when that is known.
    pub(crate) ask: Option<Ask>,
    /// Subscriber ids, each with its label.
    pub(crate) subscribers: Vec<(String, String)>,
}

impl Subscribers {
    /// Adds a subscriber, or hears from one again. True when it is new.
    pub(crate) fn arrive(
        &mut self,
        id: &str,
        label: &str,
        inbound: bool,
        polls: bool,
        now: Instant,
    ) -> bool {
        if let Some(known) = self.all.get_mut(id) {
            known.seen = now;
            label.clone_into(&mut known.label);
            return false;
        }
        let subscriber = Subscriber {
            mailbox: Mailbox::new(),
            label: label.to_owned(),
            inbound,
            polls,
            seen: now,
        };
        self.all.insert(id.to_owned(), subscriber);
        true
    }

    pub(crate) fn mailbox(&mut self, id: &str) -> Option<&mut Mailbox<Parcel>> {
        self.all.get_mut(id).map(|subscriber| &mut subscriber.mailbox)
    }

    /// A stream ends, and its subscriber with it; a poller stays. True when somebody left.
    pub(crate) fn depart(&mut self, id: &str) -> bool {
        match self.all.get(id) {
            Some(subscriber) if !subscriber.polls => {
                self.all.shift_remove(id).is_some_and(|gone| !gone.inbound)
            }
            _ => false,
        }
    }

    /// Lets pollers go that have not come back, and names the outbound ones.
    pub(crate) fn reap(&mut self, now: Instant) -> Vec<String> {
        let mut gone = Vec::new();
        self.all.retain(|id, subscriber| {
            let stays = !subscriber.polls
                || subscriber.mailbox.has_legs()
                || now.duration_since(subscriber.seen) < POLLER_IDLE;
            if !stays && !subscriber.inbound {
                gone.push(id.clone());
            }
            stays
        });
        gone
    }

    /// Notes who asked. The last one to ask with an id gets its answer; who gave no label is
    /// forgotten. What was held until the next request is let go.
    pub(crate) fn ask(&mut self, label: &str, request: &Frame) {
        if label.is_empty() || !matches!(request.kind, FrameKind::Request(_)) {
            return;
        }
        self.asked.insert(bare(&request.id()), Ask::new(label, request));
        for subscriber in self.all.values_mut().filter(|subscriber| subscriber.label == label) {
            subscriber.mailbox.request_made();
        }
    }

    /// Whom a frame of the surface reaches.
    pub(crate) fn route(&mut self, frame: &Frame) -> Reach {
        let outbound = || self.all.iter().filter(|(_, subscriber)| !subscriber.inbound);
        let named =
            |(id, subscriber): (&String, &Subscriber)| (id.clone(), subscriber.label.clone());
        let everybody = || outbound().map(named).collect();
        let is_answer = matches!(frame.kind, FrameKind::Answer(_)) && !frame.id().is_null();
        let anybody_labelled = outbound().any(|(_, subscriber)| !subscriber.label.is_empty());
        if !is_answer || !anybody_labelled {
            let ask = is_answer.then(|| self.asked.get(&bare(&frame.id())).cloned()).flatten();
            return Reach { ask, subscribers: everybody() };
        }
        let Some(ask) = self.asked.get(&bare(&frame.id())).cloned() else {
            return Reach::default();
        };
        let own = outbound().filter(|(_, subscriber)| subscriber.label == ask.client);
        let subscribers = own.map(named).collect();
        self.asked.remove(&bare(&frame.id()));
        Reach { ask: Some(ask), subscribers }
    }

    /// Hands a frame to everybody who listens on the surface's side.
    pub(crate) fn tell_surface(&mut self, frame: &Frame) {
        for subscriber in self.all.values_mut().filter(|subscriber| subscriber.inbound) {
            subscriber.mailbox.post(Parcel::of(frame.clone()), Ready::Now);
        }
    }

    /// Every outbound subscriber with its label.
    pub(crate) fn outbound(&self) -> Vec<(String, String)> {
        let outbound = self.all.iter().filter(|(_, subscriber)| !subscriber.inbound);
        outbound.map(|(id, subscriber)| (id.clone(), subscriber.label.clone())).collect()
    }

    pub(crate) fn end(&mut self) {
        for subscriber in self.all.values_mut() {
            subscriber.mailbox.end();
        }
    }
}

/// An id as a key without its type.
fn bare(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn with(labels: &[(&str, &str)]) -> Subscribers {
        let mut subscribers = Subscribers::default();
        for (id, label) in labels {
            subscribers.arrive(id, label, false, false, Instant::now());
        }
        subscribers
    }

    fn ask(subscribers: &mut Subscribers, label: &str, id: Value) {
        let frame = Frame::of(json!({"jsonrpc": "2.0", "id": id, "method": "m"})).unwrap();
        subscribers.ask(label, &frame);
    }

    fn reach(subscribers: &mut Subscribers, id: Value) -> Vec<String> {
        let frame = Frame::of(json!({"jsonrpc": "2.0", "id": id, "result": {}})).unwrap();
        subscribers.route(&frame).subscribers.into_iter().map(|(id, _)| id).collect()
    }

    #[test]
    fn equal_ids_cross_over() {
        let mut subscribers = with(&[("s1", "A"), ("s2", "B")]);
        ask(&mut subscribers, "A", json!(1));
        ask(&mut subscribers, "B", json!("1"));
        assert_eq!(reach(&mut subscribers, json!(1)), ["s2"]);
        assert_eq!(reach(&mut subscribers, json!(1)), [] as [&str; 0]);
        assert_eq!(reach(&mut subscribers, json!(null)), ["s1", "s2"]);
    }

    #[test]
    fn an_unlabelled_watcher_reads_what_was_for_somebody_else() {
        let mut subscribers = with(&[("w", "")]);
        ask(&mut subscribers, "A", json!(1));
        assert_eq!(reach(&mut subscribers, json!(1)), ["w"]);
    }

    #[test]
    fn a_poller_is_reaped_when_it_stays_away_and_a_stream_when_it_ends() {
        let now = Instant::now();
        let mut subscribers = with(&[("stream", "A")]);
        assert!(subscribers.arrive("poller", "A", false, true, now));
        assert!(!subscribers.arrive("poller", "A", false, true, now));
        assert!(!subscribers.depart("poller"));
        assert!(subscribers.depart("stream"));
        assert_eq!(subscribers.reap(now + Duration::from_secs(59)), [] as [&str; 0]);
        assert_eq!(subscribers.reap(now + Duration::from_secs(60)), ["poller"]);
    }
}
