//! Agents and a person on one board, in thousands of random orders: which habits and which
//! powers of a surface rule out which anomalies.

#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use relay_simulator::history::{Calm, History, anomalies};
use relay_simulator::journal::{Event, Journal, Sink, Tape};
use relay_simulator::person::Edit;
use relay_simulator::surface::{Surface, SurfaceSpec};
use relay_simulator::surface_host::{Emission, SurfaceHost};
use serde_json::{Value, json};

/// Seeds a property is tried with.
const SEEDS: u64 = 60;
/// Calls and edits of one run.
const TURNS: usize = 60;

/// How an agent goes about its work.
#[derive(Clone, Copy, PartialEq)]
enum Habit {
    /// Reads and asks, and never writes.
    Watches,
    /// Asks what changed, reads again, leaves alone what others changed, pins, and after a
    /// refusal begins with asking.
    Careful,
    /// Reads once, writes what it likes, and repeats what was refused.
    Naive,
    /// Reads everything again and again, and puts one screen back to where it wants it.
    Corrects,
}

/// One agent's client: what it knows and what it means to do next.
struct Agent {
    id: &'static str,
    habit: Habit,
    pin: Option<Value>,
    last_marker: Option<Value>,
    known: BTreeSet<String>,
    deferred: BTreeSet<String>,
    to_read: Vec<String>,
    repeat: Option<(String, Value)>,
    asked: bool,
    began: bool,
}

/// The board, the people, and the random order of it all.
struct Room {
    surface: Surface,
    tape: Arc<Tape>,
    rng: ChaCha8Rng,
    calls: u64,
    calms: Vec<Calm>,
}

impl Agent {
    fn new(id: &'static str, habit: Habit) -> Self {
        Self {
            id,
            habit,
            pin: None,
            last_marker: None,
            known: BTreeSet::new(),
            deferred: BTreeSet::new(),
            to_read: Vec::new(),
            repeat: None,
            asked: false,
            began: false,
        }
    }

    /// One call.
    fn act(&mut self, room: &mut Room) {
        if self.habit == Habit::Corrects {
            self.correct(room);
        } else if !self.began {
            self.began = true;
            self.known.extend(room.surface.board().keys().cloned());
            self.call(room, "screen_list", json!({}));
        } else if let Some((tool, with)) = self.repeat.take() {
            self.write(room, &tool, with);
        } else if let Some(handle) = self.to_read.pop_if(|_| self.asked) {
            let answer = self.call(room, "screen_read", json!({ "id": handle }));
            if answer["result"]["isError"] == true {
                self.known.remove(&handle);
            }
        } else if self.habit != Habit::Naive && !self.asked {
            self.ask(room);
        } else {
            self.asked = false;
            self.work(room);
        }
    }

    fn correct(&mut self, room: &mut Room) {
        let answer = self.call(room, "screen_list", json!({}));
        let screens = answer["result"]["structuredContent"]["screens"].as_array().unwrap();
        if screens.iter().any(|screen| screen["id"] == "screen_1" && screen["x"] != 1) {
            self.call(room, "screen_move", json!({ "id": "screen_1", "x": 1 }));
        }
    }

    fn ask(&mut self, room: &mut Room) {
        let with = self.last_marker.as_ref().map_or(json!({}), |since| json!({ "since": since }));
        let answer = self.call(room, "changes_since", with);
        self.asked = true;
        let Some(rows) = answer["result"]["_meta"]["changes"].as_array() else { return };
        if rows.is_empty() && answer["result"]["_meta"].get("complete").is_none() {
            room.claim_calm(self.id);
        }
        for row in rows {
            let handle = row["screen_id"].as_str().unwrap().to_owned();
            if row["change"] == "deleted" {
                self.known.remove(&handle);
            }
            if row["actor_type"] != "agent" {
                self.deferred.insert(handle.clone());
                if row["change"] != "deleted" {
                    self.known.insert(handle.clone());
                    self.to_read.push(handle);
                }
            }
        }
    }

    /// Writes to something that it may write to, or makes something new.
    fn work(&mut self, room: &mut Room) {
        let free = |handle: &&String| {
            self.habit == Habit::Naive || !self.deferred.contains(handle.as_str())
        };
        let mine: Vec<String> = self.known.iter().filter(free).cloned().collect();
        let handle = mine.get(room.rng.random_range(0..mine.len().max(1))).cloned();
        let small = room.rng.random_range(0..3);
        let (tool, with) = match (handle, room.rng.random_range(0..6)) {
            (Some(id), 0) if self.habit == Habit::Watches => ("screen_read", json!({ "id": id })),
            _ if self.habit == Habit::Watches => ("screen_list", json!({})),
            (Some(id), 0 | 1) => ("screen_move", json!({ "id": id, "x": small })),
            (Some(id), 2) => ("screen_rename", json!({ "id": id, "title": small.to_string() })),
            (Some(id), 3) => ("screen_update", json!({ "id": id, "y": small, "content": "c" })),
            (Some(id), 4) => ("screen_delete", json!({ "id": id })),
            _ => ("screen_create", json!({ "title": "new" })),
        };
        self.write(room, tool, with);
    }

    fn write(&mut self, room: &mut Room, tool: &str, with: Value) {
        let answer = self.call(room, tool, with.clone());
        if answer["error"]["code"] == 409 && self.habit == Habit::Naive {
            self.repeat = Some((tool.to_owned(), with));
        } else if let Some(id) = answer["result"]["structuredContent"]["id"].as_str() {
            // A naive agent goes on working with what it once knew, deleted or not.
            if tool == "screen_delete" && self.habit != Habit::Naive {
                self.known.remove(id);
            } else {
                self.known.insert(id.to_owned());
            }
        }
    }

    fn call(&mut self, room: &mut Room, tool: &str, with: Value) -> Value {
        room.calls += 1;
        let mut params = json!({ "name": tool, "arguments": with });
        if let Some(pin) = &self.pin {
            params["_meta"] = json!({ "revision": pin });
        }
        let id = format!("{}-{}", self.id, room.calls);
        let frame = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let answer = room.send(self.id, &frame);
        if let Some(revision) = answer["result"]["_meta"].get("revision") {
            self.pin = Some(revision.clone());
            self.last_marker = self.pin.clone();
        } else if answer["error"]["code"] == 409 {
            self.pin = None;
            self.asked = false;
        }
        answer
    }
}

impl Room {
    fn new(spec: &SurfaceSpec, seed: u64) -> Self {
        let (tape, journal) = Tape::start();
        let surface = Surface::new(spec, Journal::clone(&journal)).unwrap();
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Self { surface, tape, rng, calls: 0, calms: Vec::new() }
    }

    fn send(&mut self, client: &str, frame: &Value) -> Value {
        let seq = |room: &Self| room.tape.events().len() as u64;
        let asked = Event::Note { says: format!("{client} asks") };
        self.tape.note(asked);
        let emitted = self.surface.receive(client, frame);
        let [Emission::Frame { frame, tells }] = emitted.as_slice() else {
            panic!("at {}: {emitted:?}", seq(self))
        };
        tells.iter().for_each(|telling| self.tape.note(telling.delivered_to(client)));
        frame.clone()
    }

    /// The newest event is the feed's answer that the claim rests on.
    fn claim_calm(&mut self, client: &str) {
        let answer = self.tape.events().len() as u64;
        self.tape.note(Event::Note { says: format!("{client} is told that nothing changed") });
        let client = client.to_owned();
        self.calms.push(Calm { seq: answer + 1, client, since: None, answer: Some(answer) });
    }

    /// A person does something, or thinks better of it.
    fn edit(&mut self) {
        let board = self.surface.board();
        let handles: Vec<_> = board.keys().cloned().collect();
        let id = handles.get(self.rng.random_range(0..handles.len().max(1)));
        let small = self.rng.random_range(0..3);
        let edit = match (id, self.rng.random_range(0..7)) {
            (Some(id), 0 | 1) => json!({ "move": id, "to": { "x": small } }),
            (Some(id), 2) => json!({ "rename": id, "title": small.to_string() }),
            (Some(id), 3) => json!({ "update": id, "set": { "content": "hers" } }),
            (Some(id), 4) => json!({ "delete": id }),
            (_, 5) => json!({ "undo": true }),
            _ => json!({ "create": { "title": "hers" } }),
        };
        let edit: Edit = serde_json::from_value(edit).unwrap();
        // There may be nothing left to undo.
        _ = self.surface.edit("Ada", &edit);
    }

    fn history(&self) -> History {
        let mut history = History::new();
        for (event, seq) in self.tape.events().iter().zip(1..) {
            history.event(seq, event);
        }
        self.calms.iter().cloned().for_each(|calm| history.claim_nothing_changed(calm));
        history
    }
}

/// How often each anomaly happens over all seeds.
fn run(spec: Value, habits: &[(&'static str, Habit)]) -> BTreeMap<&'static str, usize> {
    let spec: SurfaceSpec = serde_json::from_value(spec).unwrap();
    let mut counts = BTreeMap::new();
    for seed in 0..SEEDS {
        let mut room = Room::new(&spec, seed);
        let mut agents: Vec<_> = habits.iter().map(|(id, habit)| Agent::new(id, *habit)).collect();
        for _ in 0..TURNS {
            match room.rng.random_range(0..agents.len() + 1) {
                index if index < agents.len() => agents[index].act(&mut room),
                _ => room.edit(),
            }
        }
        for anomaly in anomalies(&room.history()) {
            *counts.entry(anomaly.kind.word()).or_default() += 1;
        }
    }
    counts
}

const CAREFUL: &[(&str, Habit)] = &[("a", Habit::Careful), ("b", Habit::Careful)];
const NAIVE: &[(&str, Habit)] = &[("a", Habit::Naive), ("b", Habit::Naive)];

#[test]
fn careful_agents_on_a_protecting_surface_do_nothing_wrong() {
    for per in ["screen", "field"] {
        let found = run(json!({ "revisions": { "per": per } }), CAREFUL);
        assert_eq!(found, BTreeMap::new(), "per: {per}");
    }
}

#[test]
fn refusing_reads_protects_nobody_and_costs_refusals() {
    let found = run(json!({ "revisions": { "enforce": "every-call" } }), CAREFUL);
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), ["needless_refusal"], "{found:?}");
}

#[test]
fn who_never_writes_overwrites_nothing_and_brings_nothing_back() {
    let worst = json!({
        "upsert": true,
        "revisions": { "enforce": "never", "per": "surface" },
        "changes": { "attribute": "nobody", "tombstones": "drop" }
    });
    let coarse = json!({ "revisions": { "enforce": "every-call", "per": "surface" } });
    for spec in [json!({}), worst, coarse] {
        let found = run(spec.clone(), &[("a", Habit::Watches), ("b", Habit::Watches)]);
        for kind in ["lost_update", "revert", "resurrection", "double_apply"] {
            assert_eq!(found.get(kind), None, "{spec}");
        }
    }
}

#[test]
fn naive_agents_lose_edits_and_bring_things_back() {
    let worst = json!({
        "upsert": true,
        "revisions": { "enforce": "never" },
        "changes": { "tombstones": "drop" }
    });
    let found = run(worst, NAIVE);
    for kind in ["lost_update", "resurrection"] {
        assert!(found.get(kind).is_some_and(|count| *count > 100), "{kind}: {found:?}");
    }
    // A surface that protects as well as it can is no match for a blind repeat.
    let found = run(json!({}), NAIVE);
    assert!(found.contains_key("lost_update"), "{found:?}");
}

#[test]
fn putting_things_back_is_a_revert_that_no_revision_stops() {
    let found = run(json!({}), &[("a", Habit::Corrects)]);
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), ["revert"], "{found:?}");
}

#[test]
fn a_deletion_without_a_trace_makes_careful_agents_falsely_calm() {
    let found = run(json!({ "changes": { "tombstones": "drop" } }), CAREFUL);
    assert!(found.contains_key("false_calm"), "{found:?}");
}

#[test]
fn a_coarse_revision_costs_refusals_and_hides_edits_behind_partial_reads() {
    let found = run(json!({ "revisions": { "per": "surface" } }), CAREFUL);
    assert!(found.contains_key("needless_refusal"), "{found:?}");
    assert!(found.contains_key("lost_update"), "{found:?}");
    assert!(found.contains_key("false_calm"), "{found:?}");
}
