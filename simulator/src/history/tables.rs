//! Each anomaly as a tiny history written by hand, and beside it the twin whose party was
//! protected.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::{
    Anomaly, AnomalyKind, Answer, Calm, Delivery, HeldBack, History, Refusal, Request, Write,
    anomalies, informed_overwrites,
};
use crate::journal::{Author, CellChange, ChangeRow};

/// A history written line by line; each line is an entry of the record, from 1.
#[derive(Default)]
struct Script {
    history: History,
    seq: u64,
    number: u64,
}

impl Script {
    fn new() -> Self {
        Self { number: 1, ..Self::default() }
    }

    fn next(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// A write; a capital letter begins a person's name, a small one a client id.
    fn writes(self, who: &str, cell: &str, old: Value, new: Value) -> Self {
        self.writes_as(who, "screen_move", None, &[(cell, old, new)])
    }

    fn writes_as(
        mut self,
        who: &str,
        action: &str,
        request: Option<Value>,
        cells: &[(&str, Value, Value)],
    ) -> Self {
        self.number += 1;
        let person = who.starts_with(char::is_uppercase);
        let author = if person {
            Author::Person { name: who.to_owned() }
        } else {
            Author::Agent { client: who.to_owned() }
        };
        let cells = cells
            .iter()
            .map(|(cell, old, new)| {
                let (handle, field) = cell.rsplit_once('.').unwrap();
                let (handle, field) = (handle.to_owned(), field.to_owned());
                CellChange { handle, field, old: old.clone(), new: new.clone() }
            })
            .collect();
        let (seq, number) = (self.next(), self.number);
        self.history.write(Write {
            seq,
            number,
            author,
            action: action.to_owned(),
            cells,
            request,
        });
        self
    }

    fn deletes(self, who: &str, handle: &str) -> Self {
        let cells = [
            (format!("{handle}.exists"), json!(true), json!(false)),
            (format!("{handle}.x"), json!(0), json!(null)),
        ];
        let cells = cells.each_ref().map(|(c, o, n)| (c.as_str(), o.clone(), n.clone()));
        self.writes_as(who, "screen_delete", None, &cells)
    }

    fn creates(self, who: &str, handle: &str) -> Self {
        let cells = [
            (format!("{handle}.exists"), json!(false), json!(true)),
            (format!("{handle}.x"), json!(null), json!(0)),
        ];
        let cells = cells.each_ref().map(|(c, o, n)| (c.as_str(), o.clone(), n.clone()));
        self.writes_as(who, "screen_create", None, &cells)
    }

    /// What the board holds now reaches a client.
    fn told(self, client: &str, revision: &str, cells: &[&str]) -> Self {
        let now = self.number;
        self.told_late(client, now, revision, cells)
    }

    fn told_late(mut self, client: &str, as_of: u64, revision: &str, cells: &[&str]) -> Self {
        let seq = self.next();
        self.history.delivery(Delivery {
            seq,
            client: client.to_owned(),
            as_of,
            cells: cells.iter().map(|cell| (*cell).to_owned()).collect(),
            rows: Vec::new(),
            revision: (!revision.is_empty()).then(|| revision.to_owned()),
        });
        self
    }

    fn told_rows(mut self, client: &str, rows: &[(&str, u64, Option<&str>)]) -> Self {
        let (seq, as_of) = (self.next(), self.number);
        let row = |(handle, write, actor): &(&str, u64, Option<&str>)| ChangeRow {
            handle: (*handle).to_owned(),
            write: *write,
            actor: actor.map(str::to_owned),
        };
        self.history.delivery(Delivery {
            seq,
            client: client.to_owned(),
            as_of,
            cells: Vec::new(),
            rows: rows.iter().map(row).collect(),
            revision: Some(format!("r{as_of}")),
        });
        self
    }

    fn refused(mut self, client: &str, pin: &str, would_write: &[&str]) -> Self {
        let (seq, as_of) = (self.next(), self.number);
        self.history.refusal(Refusal {
            seq,
            client: client.to_owned(),
            tool: "screen_move".to_owned(),
            pin: pin.to_owned(),
            would_write: would_write.iter().map(|cell| (*cell).to_owned()).collect(),
            as_of,
        });
        self
    }

    /// The client says that nothing changed, after the entry `answer`.
    fn calm(mut self, client: &str, answer: Option<u64>) -> Self {
        let seq = self.next();
        let client = client.to_owned();
        self.history.claim_nothing_changed(Calm { seq, client, since: None, answer });
        self
    }

    fn holds_back(mut self, client: &str, handle: &str) -> Self {
        let seq = self.next();
        let (client, handle) = (client.to_owned(), handle.to_owned());
        self.history.held_back(HeldBack { seq, client, handle });
        self
    }

    fn asks(mut self, client: &str, id: Value, frame: Value) -> Self {
        let (seq, client) = (self.next(), client.to_owned());
        self.history.request(Request { seq, client, id, frame });
        self
    }

    fn answered(mut self, client: &str, id: Value, asked_by: Option<&str>) -> Self {
        let (seq, client) = (self.next(), client.to_owned());
        let asked_by = asked_by.map(str::to_owned);
        self.history.answer(Answer { seq, client, id, asked_by });
        self
    }

    fn finds(&self) -> Vec<Anomaly> {
        anomalies(&self.history)
    }

    /// Exactly one anomaly, of this kind, on these entries, told and stopped in these words.
    #[track_caller]
    fn is(&self, kind: AnomalyKind, evidence: &[u64], says: &str, protection: &str) {
        let found = self.finds();
        let [only] = found.as_slice() else { panic!("not one anomaly: {found:#?}") };
        assert_eq!((only.kind, only.evidence.as_slice()), (kind, evidence), "{only:#?}");
        assert!(only.says.contains(says), "{}", only.says);
        assert!(only.protection.contains(protection), "{}", only.protection);
    }

    #[track_caller]
    fn is_clean(&self) {
        assert_eq!(self.finds(), []);
    }
}

const X: &str = "screen_7.x";

#[test]
fn an_overwrite_of_what_was_never_seen_is_a_lost_update() {
    use AnomalyKind::LostUpdate;
    // Read, the person moves, the agent moves over it.
    let stale = Script::new().told("a", "r1", &[X]).writes("Ada", X, json!(0), json!(40));
    let lost = stale.writes("a", X, json!(40), json!(10));
    let says = "agent `a` set `screen_7.x` from Ada's 40 to 10, and had last been shown an older";
    lost.is(LostUpdate, &[1, 2, 3], says, "SURF-3");
    assert_eq!(informed_overwrites(&lost.history), []);
    // Never read at all.
    let blind =
        Script::new().writes("Ada", X, json!(0), json!(40)).writes("a", X, json!(40), json!(1));
    blind.is(LostUpdate, &[1, 2], "never been shown any value", "SURF-2");
    // An answer that the relay held back was not read: the delivery came after the write.
    let late = Script::new()
        .told("a", "r1", &[X])
        .writes("Ada", X, json!(0), json!(40))
        .writes("a", X, json!(40), json!(10))
        .told_late("a", 2, "r2", &[X]);
    late.is(LostUpdate, &[1, 2, 3], "older value", "SURF-3");
    // A delivery that arrives late and reflects an old state shows an old value.
    let old = Script::new()
        .writes("Ada", X, json!(0), json!(40))
        .told_late("a", 1, "r1", &[X])
        .writes("a", X, json!(40), json!(10));
    old.is(LostUpdate, &[1, 2, 3], "older value", "SURF-3");
    // A change row names the screen and shows no value of it.
    let row = Script::new()
        .told("a", "r1", &[X])
        .writes("Ada", X, json!(0), json!(40))
        .told_rows("a", &[("screen_7", 2, Some("human"))])
        .writes("a", X, json!(40), json!(10));
    row.is(LostUpdate, &[1, 2, 4], "older value", "SURF-3");
}

#[test]
fn a_blind_repeat_after_a_refusal_is_a_lost_update_of_its_own_cause() {
    let refused = Script::new()
        .told("a", "r1", &[X])
        .writes("Ada", X, json!(0), json!(40))
        .refused("a", "r1", &[X]);
    let repeated = refused.writes("a", X, json!(40), json!(10));
    let says = "although `screen_move` had just been refused";
    repeated.is(AnomalyKind::LostUpdate, &[1, 2, 3, 4], says, "REV-5");
    let read_again = Script::new()
        .told("a", "r1", &[X])
        .writes("Ada", X, json!(0), json!(40))
        .refused("a", "r1", &[X])
        .told("a", "r2", &[X])
        .writes("a", X, json!(40), json!(10));
    read_again.is_clean();
    // Read again, and edited again: lost, and no repeat.
    let twice = Script::new()
        .told("a", "r1", &[X])
        .writes("Ada", X, json!(0), json!(40))
        .refused("a", "r1", &[X])
        .told("a", "r2", &[X])
        .writes("Ada", X, json!(40), json!(41))
        .writes("a", X, json!(41), json!(10));
    twice.is(AnomalyKind::LostUpdate, &[4, 5, 6], "had last been shown an older", "SURF-3");
}

#[test]
fn an_informed_overwrite_is_listed_and_no_anomaly() {
    let informed = Script::new()
        .writes("Ada", X, json!(0), json!(40))
        .told("a", "r2", &[X])
        .writes("a", X, json!(40), json!(10));
    informed.is_clean();
    let listed = informed_overwrites(&informed.history);
    assert_eq!(listed[0].evidence, [1, 2, 3]);
    assert!(listed[0].says.ends_with("from Ada's 40 to 10, having seen it"), "{}", listed[0].says);
    // Another agent's value, another cell, the agent's own value: nobody's edit was overwritten.
    Script::new()
        .writes("b", X, json!(0), json!(40))
        .writes("a", X, json!(40), json!(1))
        .is_clean();
    let y = "screen_7.y";
    Script::new()
        .writes("Ada", y, json!(0), json!(4))
        .writes("a", X, json!(0), json!(1))
        .is_clean();
    let twice = Script::new().writes("a", X, json!(0), json!(1)).writes("a", X, json!(1), json!(2));
    twice.is_clean();
    // What a person confirmed, a person did.
    Script::new()
        .writes("Ada", X, json!(0), json!(40))
        .writes_as("a", "confirm", None, &[(X, json!(40), json!(10))])
        .is_clean();
}

#[test]
fn an_own_value_put_back_over_a_seen_edit_is_a_revert() {
    use AnomalyKind::Revert;
    let seen = || {
        Script::new()
            .writes("a", X, json!(0), json!(10))
            .writes("Ada", X, json!(10), json!(40))
            .told("a", "r3", &[X])
    };
    let says = "it had seen the edit and put its own value back";
    seen().writes("a", X, json!(40), json!(10)).is(Revert, &[1, 2, 3, 4], says, "asking what");
    let warned = seen().told_rows("a", &[("screen_7", 3, Some("human"))]);
    warned.writes("a", X, json!(40), json!(10)).is(Revert, &[1, 2, 3, 5], says, "deferring");
    // A new value is a decision; an older value of somebody else is not the agent's own.
    seen().writes("a", X, json!(40), json!(11)).is_clean();
    let of_b = Script::new()
        .writes("b", X, json!(0), json!(10))
        .writes("Ada", X, json!(10), json!(40))
        .told("a", "r3", &[X])
        .writes("a", X, json!(40), json!(10));
    of_b.is_clean();
    assert_eq!(informed_overwrites(&of_b.history).len(), 1);
}

#[test]
fn what_a_person_deleted_and_an_agent_brings_back_is_a_resurrection() {
    use AnomalyKind::Resurrection;
    let s = "screen_7";
    let exists = "screen_7.exists";
    let unseen = || Script::new().told("a", "r1", &[X, exists]).deletes("Ada", s);
    let says = "Ada deleted `screen_7`, and agent `a` made it anew, without having been told";
    unseen().creates("a", s).is(Resurrection, &[1, 2, 3], says, "SURF-8");
    let knowing = unseen().told_rows("a", &[(s, 2, Some("human"))]).creates("a", s);
    knowing.is(Resurrection, &[1, 2, 4], "knowing of the deletion", "FEED-9");
    // Told once for the agent that did it, whatever it does to the thing afterwards, and once for
    // another that writes to what came back.
    let on = unseen().creates("a", s).writes("a", X, json!(0), json!(5));
    on.is(Resurrection, &[1, 2, 3], says, "SURF-8");
    let both = unseen().creates("a", s).writes("b", X, json!(0), json!(5)).finds();
    assert_eq!(both.iter().map(|a| a.client.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(both[1].says.contains("wrote to it"), "{}", both[1].says);
    // A person brought it back; an agent had deleted it; a person confirmed the proposal.
    unseen().creates("Ada", s).told("a", "r3", &[X]).writes("a", X, json!(0), json!(5)).is_clean();
    Script::new().deletes("b", s).creates("a", s).is_clean();
    let back = [(exists, json!(false), json!(true))];
    unseen().writes_as("a", "confirm", None, &back).is_clean();
    // Taking it away again brings nothing back.
    let again = unseen().creates("b", s).deletes("a", s).finds();
    assert_eq!(again.iter().map(|a| a.client.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn a_calm_answer_over_somebody_elses_write_is_false() {
    use AnomalyKind::FalseCalm;
    let hidden = Script::new().told("a", "r1", &[X]).deletes("Ada", "screen_3");
    let dropped = hidden.told_rows("a", &[]).calm("a", Some(3));
    dropped.is(FalseCalm, &[2, 3, 4], "and Ada had deleted `screen_3`", "SURF-8");
    let no_feed = Script::new().told("a", "r1", &[X]).writes("Ada", X, json!(0), json!(1));
    no_feed.calm("a", None).is(FalseCalm, &[2, 3], "Ada had changed `screen_7`", "FEED-2");
    let unread = Script::new().told("a", "r1", &[X]).writes("Ada", X, json!(0), json!(1));
    let unread = unread.told_rows("a", &[("screen_7", 2, Some("human"))]).calm("a", Some(3));
    unread.is(FalseCalm, &[2, 3, 4], "Ada had changed", "reading the rows");
    // A marker that moved past an edit which its reader was never shown.
    let skipped = Script::new()
        .told("a", "r1", &[X])
        .writes("Ada", "screen_1.x", json!(0), json!(1))
        .told("a", "r2", &[X])
        .told_rows("a", &[])
        .calm("a", Some(4));
    skipped.is(FalseCalm, &[2, 4, 5], "Ada had changed `screen_1`", "covers only what");
    // A row for one edit is no word of the next.
    let again = Script::new()
        .told("a", "r1", &[X])
        .writes("Ada", X, json!(0), json!(1))
        .told_rows("a", &[("screen_7", 2, Some("human"))])
        .writes("Ada", X, json!(1), json!(2))
        .told_rows("a", &[])
        .calm("a", Some(5));
    again.is(FalseCalm, &[4, 5, 6], "Ada had changed", "SURF-6");
    // Another agent is somebody else as well.
    let other = Script::new().told("a", "r1", &[X]).writes("b", X, json!(0), json!(1));
    other.told_rows("a", &[]).calm("a", Some(3)).is(
        FalseCalm,
        &[2, 3, 4],
        "agent `b` had",
        "SURF-6",
    );
}

#[test]
fn a_calm_answer_over_nothing_new_is_true() {
    let read = || Script::new().told("a", "r1", &[X]);
    read().told_rows("a", &[]).calm("a", Some(2)).is_clean();
    // The agent's own write, an edit from before the agent came, one it has read, one it was told
    // of by a row, one that came after the feed had answered.
    let own = read().writes("a", X, json!(0), json!(1)).told_rows("a", &[]).calm("a", Some(3));
    own.is_clean();
    let before = Script::new().writes("Ada", "screen_1.x", json!(0), json!(1));
    before.told("a", "r2", &[X]).told_rows("a", &[]).calm("a", Some(3)).is_clean();
    let edited = || read().writes("Ada", X, json!(0), json!(1));
    edited().told("a", "r2", &[X]).told_rows("a", &[]).calm("a", Some(4)).is_clean();
    let rows = [("screen_7", 2, Some("human"))];
    edited().told_rows("a", &rows).told_rows("a", &[]).calm("a", Some(4)).is_clean();
    let after = read().told_rows("a", &[]).writes("Ada", X, json!(0), json!(1)).calm("a", Some(2));
    after.is_clean();
    // Where the caller knows better when the interval began, it says so.
    let mut since = read().writes("Ada", "screen_1.x", json!(0), json!(1)).told_rows("a", &[]);
    let calm = Calm { seq: 4, client: "a".to_owned(), since: Some(2), answer: Some(3) };
    since.history.claim_nothing_changed(calm);
    since.is_clean();
}

#[test]
fn a_refusal_over_somebody_elses_screen_is_needless() {
    let read = || Script::new().told("a", "r1", &[X]);
    let coarse = read().writes("Ada", "screen_1.x", json!(0), json!(1)).refused("a", "r1", &[X]);
    let says = "it would have written `screen_7.x`, and only `screen_1` had changed";
    coarse.is(AnomalyKind::NeedlessRefusal, &[1, 2, 3], says, "SURF-5");
    let idle = read().refused("a", "r1", &[X]);
    idle.is(AnomalyKind::NeedlessRefusal, &[1, 2], "nothing at all had changed", "SURF-5");
    // The edit touched what would have been written, or what the pin's read had shown.
    read().writes("Ada", X, json!(0), json!(1)).refused("a", "r1", &[X]).is_clean();
    let title = "screen_7.title";
    Script::new()
        .told("a", "r1", &[X, title])
        .writes("Ada", title, json!("A"), json!("B"))
        .refused("a", "r1", &[X])
        .is_clean();
    // The pin's read had shown the other screen, and the agent may have gone by it.
    Script::new()
        .told("a", "r1", &[X, "screen_1.x"])
        .writes("Ada", "screen_1.x", json!(0), json!(1))
        .refused("a", "r1", &[X])
        .is_clean();
    // A pin handed out on the agent's own write stands on the read before it.
    Script::new()
        .told("a", "r1", &[X, title])
        .writes("a", X, json!(0), json!(5))
        .told("a", "r2", &[X])
        .writes("Ada", title, json!("A"), json!("B"))
        .refused("a", "r2", &[X])
        .is_clean();
    // A pin handed out late does not cover what its reader was not shown.
    read()
        .writes("Ada", X, json!(0), json!(1))
        .told("a", "r1+screen_2.2", &["screen_2.x"])
        .refused("a", "r1+screen_2.2", &[X])
        .is_clean();
    // A pin that nobody was seen to hand out proves nothing.
    read().refused("a", "r9", &[X]).is_clean();
}

#[test]
fn an_agent_that_stands_aside_for_itself_is_told_so() {
    use AnomalyKind::SelfDeference;
    let own = || Script::new().writes("a", X, json!(0), json!(1));
    let held = |actor| own().told_rows("a", &[("screen_7", 2, actor)]).holds_back("a", "screen_7");
    held(None).is(SelfDeference, &[1, 2, 3], "the row named nobody", "SURF-7");
    held(Some("human")).is(SelfDeference, &[1, 2, 3], "the row named `human`", "SURF-7");
    held(Some(" Assistant")).is_clean();
    let hers = Script::new().writes("Ada", X, json!(0), json!(1));
    hers.told_rows("a", &[("screen_7", 2, None)]).holds_back("a", "screen_7").is_clean();
    let mixed = own().writes("Ada", X, json!(1), json!(2));
    let rows = [("screen_7", 3, None), ("screen_7", 2, None)];
    mixed.told_rows("a", &rows).holds_back("a", "screen_7").is_clean();
    own().told_rows("a", &[("screen_7", 2, None)]).is_clean();
}

#[test]
fn an_answer_in_the_wrong_hands_is_a_leak() {
    use AnomalyKind::Leak;
    let asked = || Script::new().asks("a", json!(1), json!({ "a": 1 }));
    asked().answered("b", json!(1), None).is(
        Leak,
        &[1, 2],
        "which agent `a` had asked for",
        "RELAY-2",
    );
    asked().answered("a", json!("1"), None).is(Leak, &[2], "nobody had asked for", "RELAY-2");
    let swapped = asked().asks("b", json!(1), json!({ "b": 1 })).answered("b", json!(1), Some("a"));
    swapped.is(Leak, &[1, 3], "`b` received the answer 1, which agent `a`", "IDENT-2");
    asked().answered("a", json!(1), None).answered("a", json!(1), None).is_clean();
    asked().asks("b", json!(1), json!({})).answered("b", json!(1), Some("b")).is_clean();
}

#[test]
fn one_request_applied_twice_is_told_as_such() {
    use AnomalyKind::DoubleApply;
    let call = || json!({ "name": "screen_create" });
    let made = |script: Script, handle: &str| {
        let cell = format!("{handle}.exists");
        let cells = [(cell.as_str(), json!(false), json!(true))];
        script.writes_as("a", "screen_create", Some(json!(1)), &cells)
    };
    let asked = || made(Script::new().asks("a", json!(1), call()), "screen_4");
    let says = "one call of agent `a` (1, `screen_create`) was applied twice, as write 2 and as";
    made(asked(), "screen_5").is(DoubleApply, &[1, 2, 3], says, "RELAY-2");
    let resent = made(asked().asks("a", json!(1), call()), "screen_5");
    resent.is(DoubleApply, &[1, 2, 3, 4], says, "MCP-5");
    let unheard = made(made(Script::new(), "screen_4"), "screen_5");
    unheard.is(DoubleApply, &[1, 2], says, "RELAY-2");
    let other = [("screen_5.exists", json!(false), json!(true))];
    asked().writes_as("a", "screen_create", Some(json!(2)), &other).is_clean();
    // Another call under the same id is another request; so is the same id of another client.
    made(asked().asks("a", json!(1), json!({ "name": "other" })), "screen_5").is_clean();
    let cells = [("screen_5.exists", json!(false), json!(true))];
    asked().writes_as("b", "screen_create", Some(json!(1)), &cells).is_clean();
}

#[test]
fn anomalies_come_in_the_order_in_which_they_came_true_and_use_names() {
    let mut script = Script::new()
        .told("a", "r1", &[X])
        .writes("Ada", X, json!(0), json!(1))
        .calm("a", None)
        .writes("a", X, json!(1), json!(2));
    script.history.name("a", "the planner");
    let found = script.finds();
    let kinds: Vec<_> = found.iter().map(|anomaly| anomaly.kind.word()).collect();
    assert_eq!(kinds, ["false_calm", "lost_update"]);
    assert!(found.iter().all(|anomaly| anomaly.says.starts_with("the planner ")), "{found:#?}");
}
