//! Conversations with a surface: what is asked, and what it answers, writes and journals.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::bench::{Bench, revision};
use super::{SpecError, Surface, SurfaceSpec};
use crate::journal::{Author, Event, Journal};
use crate::surface_host::{Emission, SurfaceHost};

const CONFLICT: &str = "the board changed after";

fn code(answer: &Value) -> &Value {
    &answer["error"]["code"]
}

fn writes(bench: &Bench) -> usize {
    bench.events().iter().filter(|event| matches!(event, Event::Write { .. })).count()
}

#[test]
fn a_handshake_and_what_nobody_knows() {
    let mut bench = Bench::new(json!({}));
    let ask = |method: &str| json!({ "jsonrpc": "2.0", "id": "i", "method": method });
    let answer = bench.send("a", &ask("initialize"));
    assert_eq!(answer["id"], "i");
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(bench.send("a", &ask("ping"))["result"], json!({}));
    assert_eq!(*code(&bench.send("a", &ask("resources/list"))), json!(-32601));
    let notice = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(bench.send("a", &notice), Value::Null);
    assert_eq!(*code(&bench.call("a", None, "screen_burn", json!({}))), json!(-32602));
    assert_eq!(*code(&bench.call("a", None, "screen_read", json!({}))), json!(-32602));
    let mut mute = Bench::new(json!({ "protocol_version": null }));
    assert_eq!(mute.send("a", &ask("initialize"))["result"].get("protocolVersion"), None);
}

#[test]
fn every_json_gets_an_answer_or_silence_and_never_a_panic() {
    let mut bench = Bench::new(json!({}));
    let odd = [
        json!(null),
        json!(7),
        json!([]),
        json!([[]]),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": [] }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": { "name": "screen_read", "arguments": [], "_meta": 3 } }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "cursor": 9 } }),
    ];
    for frame in odd {
        let answer = bench.send("a", &frame);
        let answer = answer.as_array().map_or(&answer, |answers| &answers[0]);
        assert!(answer["error"]["code"].is_i64(), "{frame}: {answer}");
    }
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    assert_eq!(bench.send("a", &answer), Value::Null);
}

#[test]
fn a_batch_is_answered_as_a_batch() {
    let mut bench = Bench::new(json!({ "revisions": { "reject": "http-409" } }));
    bench.edit(json!({ "move": "screen_1", "to": { "x": 40 } }));
    let call = |id: u64, pin: &str| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "screen_move", "arguments": { "id": "screen_1", "x": 1 },
            "_meta": { "revision": pin } } })
    };
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    let batch = json!([call(1, "r1"), ping, { "jsonrpc": "2.0", "method": "n" }]);
    let answer = bench.send("a", &batch);
    assert_eq!(answer.as_array().unwrap().len(), 2);
    assert_eq!(*code(&answer[0]), json!(409));
    assert_eq!(answer[1]["id"], 2);
    let alone = bench.send("a", &call(3, "r1"));
    assert_eq!(alone["http"], 409);
    assert_eq!(alone["body"]["error"], "conflict");
}

#[test]
fn reads_and_writes_tell_what_they_show_and_no_more() {
    let mut bench = Bench::new(json!({ "screens": { "screen_7": { "title": "Budget" } } }));
    let read = bench.call("a", None, "screen_read", json!({ "id": "screen_7" }));
    assert_eq!(revision(&read), "r1");
    let shown = &read["result"]["structuredContent"];
    assert_eq!(
        *shown,
        json!({ "id": "screen_7", "title": "Budget", "kind": "note", "x": 0, "y": 0, "content": "" })
    );
    assert_eq!(read["result"]["content"][0]["text"].as_str().unwrap(), shown.to_string());
    let moved = bench.call("a", Some("r1"), "screen_move", json!({ "id": "screen_7", "x": 9 }));
    assert_eq!(revision(&moved), "r2");
    assert_eq!(moved["result"]["structuredContent"], json!({ "id": "screen_7", "x": 9 }));
    let events = bench.events();
    let [
        Event::Delivery { cells: all, .. },
        Event::Write { author, request, .. },
        Event::Delivery { cells, as_of, .. },
    ] = events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!(all.len(), 6);
    assert_eq!(cells, &["screen_7.x"]);
    assert_eq!(*as_of, 2);
    assert_eq!(*author, Author::Agent { client: "a".to_owned() });
    assert_eq!(*request, Some(json!("a-2")));
}

#[test]
fn a_list_of_everything_tells_what_is_gone() {
    let mut bench = Bench::new(json!({ "screens": { "a": {}, "b": {} } }));
    bench.edit(json!({ "delete": "a" }));
    let list = bench.call("a", Some("r1"), "screen_list", json!({}));
    assert_eq!(revision(&list), "r2");
    assert_eq!(list["result"]["structuredContent"]["screens"].as_array().unwrap().len(), 1);
    let Some(Event::Delivery { cells, .. }) = bench.events().pop() else { panic!("no delivery") };
    let of_a: Vec<_> = cells.iter().filter(|cell| cell.starts_with("a.")).collect();
    assert_eq!(of_a, ["a.exists"]);
    assert_eq!(cells.len(), 7);
}

#[test]
fn a_stale_pin_writes_nothing_and_is_journaled_with_what_it_would_have_written() {
    let mut bench = Bench::new(json!({}));
    bench.call("a", None, "screen_read", json!({ "id": "screen_1" }));
    bench.edit(json!({ "move": "screen_1", "to": { "x": 40 } }));
    let before = bench.surface.board();
    let refused = bench.call("a", Some("r1"), "screen_move", json!({ "id": "screen_1", "y": 1 }));
    assert_eq!(*code(&refused), json!(409));
    assert!(refused["error"]["message"].as_str().unwrap().contains(CONFLICT));
    assert_eq!(bench.surface.board(), before);
    let last = bench.events().pop().unwrap();
    let expect = Event::StaleRefusal {
        client: "a".to_owned(),
        tool: "screen_move".to_owned(),
        pin: "r1".to_owned(),
        would_write: vec!["screen_1.y".to_owned()],
        as_of: 2,
        request: Some(json!("a-2")),
    };
    assert_eq!(last, expect);
    let elsewhere = bench.call("a", Some("r1"), "screen_move", json!({ "id": "screen_2", "y": 1 }));
    assert_eq!(revision(&elsewhere), "r1+screen_2.3");
    let again = bench.call(
        "a",
        Some("r1+screen_2.3"),
        "screen_rename",
        json!({ "id": "screen_2", "title": "Mine" }),
    );
    assert_eq!(revision(&again), "r1+screen_2.4");
}

#[test]
fn a_write_to_what_a_person_deleted_is_a_conflict_before_it_is_an_error() {
    let mut bench = Bench::new(json!({}));
    bench.edit(json!({ "delete": "screen_1" }));
    let move_it = json!({ "id": "screen_1", "x": 1 });
    assert_eq!(*code(&bench.call("a", Some("r1"), "screen_move", move_it.clone())), json!(409));
    let create = json!({ "id": "screen_1" });
    assert_eq!(*code(&bench.call("a", Some("r1"), "screen_create", create)), json!(409));
    let unpinned = bench.call("a", None, "screen_move", move_it);
    assert_eq!(unpinned["result"]["isError"], true);
    assert_eq!(revision(&unpinned), "");
    let Some(Event::Delivery { cells, .. }) = bench.events().pop() else { panic!("no delivery") };
    assert_eq!(cells, ["screen_1.exists"]);
}

#[test]
fn every_spelling_of_a_rejection_reaches_the_wire() {
    for (spelling, error) in [
        ("code-409", json!({ "code": 409 })),
        ("code=conflict", json!({ "code": "conflict" })),
        ("code=\"409\"", json!({ "code": "409" })),
        ("data.code=409", json!({ "code": -32000, "data": { "code": 409 } })),
        (
            "data.code=stale_revision",
            json!({ "code": -32000, "data": { "code": "stale_revision" } }),
        ),
        ("data.reason=CONFLICT", json!({ "code": -32000, "data": { "reason": "CONFLICT" } })),
    ] {
        let mut bench = Bench::new(json!({ "revisions": { "reject": spelling } }));
        bench.edit(json!({ "move": "screen_1", "to": { "x": 40 } }));
        let mut refused =
            bench.call("a", Some("r1"), "screen_move", json!({ "id": "screen_1", "x": 1 }));
        refused["error"].as_object_mut().unwrap().remove("message");
        assert_eq!(refused["error"], error, "{spelling}");
        assert_eq!(writes(&bench), 1);
    }
}

#[test]
fn every_place_and_shape_of_a_marker_reaches_the_wire() {
    for (mint, path) in [
        ("_meta.revision", "/_meta/revision"),
        ("_meta.etag", "/_meta/etag"),
        ("_meta.version", "/_meta/version"),
        ("_meta.surfaceRevision", "/_meta/surfaceRevision"),
        ("_meta.surface_revision", "/_meta/surface_revision"),
        ("revision", "/revision"),
        ("surfaceRevision", "/surfaceRevision"),
        ("surface_revision", "/surface_revision"),
        ("etag", "/etag"),
        ("version", "/version"),
    ] {
        let mut bench = Bench::new(json!({ "revisions": { "mint": mint } }));
        for tool in ["screen_list", "changes_since"] {
            let answer = bench.call("a", None, tool, json!({}));
            assert_eq!(answer["result"].pointer(path), Some(&json!("r1")), "{mint} {tool}");
        }
    }
    let mut bench = Bench::new(json!({ "revisions": { "mint": "none" } }));
    let answer = bench.call("a", None, "screen_list", json!({}));
    assert_eq!(answer["result"].as_object().unwrap().len(), 2);
    for (marker, minted) in [
        (json!("number"), json!(1)),
        (json!({ "bytes": 4 }), json!("r1~~")),
        (json!({ "value": true }), json!(true)),
        (json!({ "value": 7.0 }), json!(7.0)),
    ] {
        let mut bench = Bench::new(json!({ "revisions": { "marker": marker } }));
        let answer = bench.call("a", None, "screen_list", json!({}));
        assert_eq!(answer["result"]["_meta"]["revision"], minted);
    }
    let mut long = Bench::new(json!({ "revisions": { "marker": { "bytes": 513 } } }));
    let answer = long.call("a", None, "screen_list", json!({}));
    let pin = revision(&answer).to_owned();
    assert_eq!(pin.len(), 513);
    long.edit(json!({ "move": "screen_1", "to": { "x": 40 } }));
    let refused = long.call("a", Some(&pin), "screen_move", json!({ "id": "screen_1", "x": 1 }));
    assert_eq!(*code(&refused), json!(409));
}

#[test]
fn a_marker_that_says_nothing_refuses_nobody() {
    let mut bench = Bench::new(json!({ "revisions": { "marker": { "value": "fixed" } } }));
    bench.edit(json!({ "move": "screen_1", "to": { "x": 40 } }));
    let moved = bench.call("a", Some("fixed"), "screen_move", json!({ "id": "screen_1", "x": 1 }));
    assert_eq!(revision(&moved), "fixed");
}

#[test]
fn enforcement_decides_who_is_refused() {
    for (enforce, feed, write, read, asks) in [
        ("never", false, false, false, false),
        ("writes", false, true, false, false),
        ("every-call", false, true, true, false),
        ("every-call", true, true, true, true),
    ] {
        let mut bench = Bench::new(json!({
            "revisions": { "enforce": enforce }, "changes": { "enforce": feed }
        }));
        bench.edit(json!({ "move": "screen_1", "to": { "x": 40 } }));
        let mut refused =
            |tool: &str, with: Value| *code(&bench.call("a", Some("r1"), tool, with)) == json!(409);
        assert_eq!(refused("screen_read", json!({ "id": "screen_1" })), read, "{enforce}");
        assert_eq!(refused("changes_since", json!({ "since": "r1" })), asks, "{enforce}");
        assert_eq!(refused("screen_move", json!({ "id": "screen_1", "x": 1 })), write, "{enforce}");
    }
}

#[test]
fn a_pin_that_was_never_minted_is_stale_and_a_missing_one_passes_unless_forbidden() {
    let mut bench = Bench::new(json!({}));
    let with = json!({ "id": "screen_1", "x": 1 });
    for pin in ["r9", "whatever", ""] {
        assert_eq!(*code(&bench.call("a", Some(pin), "screen_move", with.clone())), json!(409));
    }
    assert_eq!(revision(&bench.call("a", None, "screen_move", with.clone())), "r2");
    let mut strict = Bench::new(json!({ "revisions": { "unpinned": "refuse" } }));
    let refused = strict.call("a", None, "screen_move", with);
    assert_eq!(refused["error"]["data"]["code"], "precondition_required");
    assert_eq!(writes(&strict), 0);
    assert_eq!(revision(&strict.call("a", None, "screen_list", json!({}))), "r1");
}

#[test]
fn a_proposal_is_applied_when_a_person_confirms_it_and_not_before() {
    let mut bench = Bench::new(json!({}));
    let before = bench.surface.board();
    let with = json!({ "id": "screen_1", "title": "Proposed" });
    let staged = bench.call("a", None, "screen_propose", with);
    assert_eq!(staged["result"]["structuredContent"]["proposal"], "p1");
    let by_agent = bench.call("a", None, "screen_confirm", json!({ "proposal": "p1" }));
    assert_eq!(by_agent["result"]["isError"], true);
    assert_eq!(bench.surface.board(), before);
    assert_eq!(bench.surface.proposals()["p1"]["set"], json!({ "title": "Proposed" }));
    assert_eq!(bench.edit(json!({ "confirm": "p1" })), 2);
    assert_eq!(bench.surface.board()["screen_1"]["title"], "Proposed");
    let Some(Event::Write { author, action, request, .. }) = bench.events().pop() else {
        panic!("no write")
    };
    assert_eq!(author, Author::Agent { client: "a".to_owned() });
    assert_eq!((action.as_str(), request), ("confirm", Some(json!("a-1"))));
    bench.call("a", None, "screen_propose", json!({ "title": "New" }));
    assert_eq!(bench.edit(json!({ "reject": "p2" })), 2);
    let gone = serde_json::from_value(json!({ "confirm": "p2" })).unwrap();
    let refusal = bench.surface.edit("Ada", &gone).unwrap_err().to_string();
    assert_eq!(refusal, "there is no open proposal `p2` to confirm (open: none)");
}

#[test]
fn people_edit_without_pins_and_are_told_what_cannot_be() {
    let mut bench = Bench::new(json!({}));
    assert_eq!(bench.edit(json!({ "create": { "title": "Risks" } })), 2);
    assert_eq!(bench.edit(json!({ "update": "screen_4", "set": { "content": "fire" } })), 3);
    assert_eq!(bench.edit(json!({ "move": "screen_4", "to": { "x": 0 } })), 3);
    assert_eq!(bench.edit(json!({ "undo": true })), 4);
    assert_eq!(bench.surface.board()["screen_4"]["content"], "");
    for (edit, words) in [
        (json!({ "delete": "screen_9" }), "there is no screen `screen_9` to delete (screens: `scr"),
        (json!({ "create": { "id": "screen_1" } }), "there is a screen `screen_1` already"),
        (json!({ "create": { "id": "" } }), "cannot be a screen's id"),
        (json!({ "confirm": "p1" }), "no open proposal `p1`"),
    ] {
        let edit = serde_json::from_value(edit).unwrap();
        let refusal = bench.surface.edit("Ada", &edit).unwrap_err().to_string();
        assert!(refusal.contains(words), "{refusal}");
    }
    bench.edit(json!({ "undo": true }));
    let undo = serde_json::from_value(json!({ "undo": true })).unwrap();
    assert_eq!(
        bench.surface.edit("Ada", &undo).unwrap_err().to_string(),
        "there is nothing left to undo"
    );
}

#[test]
fn an_upsert_brings_back_what_a_person_deleted() {
    let spec = json!({ "upsert": true, "changes": { "tombstones": "drop" } });
    let mut bench = Bench::new(spec);
    bench.edit(json!({ "delete": "screen_1" }));
    let answer = bench.call("a", Some("r1"), "screen_move", json!({ "id": "screen_1", "x": 1 }));
    assert_eq!(revision(&answer), "r3");
    assert_eq!(bench.surface.board()["screen_1"]["title"], "Untitled");
}

#[test]
fn a_definition_changes_after_a_call_and_says_so_when_told() {
    let mut bench = Bench::new(json!({ "tools": { "redefine": [
        { "tool": "screen_move", "after": 1, "to": { "description": "Run." }, "announce": true }
    ] } }));
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                       "params": { "name": "screen_list" } });
    let emitted = bench.surface.receive("a", &call);
    let [Emission::Frame { .. }, Emission::Frame { frame, tells }] = emitted.as_slice() else {
        panic!("{emitted:?}")
    };
    assert_eq!(frame["method"], "notifications/tools/list_changed");
    assert!(tells.is_empty());
    assert_eq!(bench.surface.receive("a", &call).len(), 1);
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    assert_eq!(bench.send("a", &list)["result"]["tools"][4]["description"], "Run.");
}

#[test]
fn a_call_without_an_answer_is_not_counted() {
    let mut bench = Bench::new(json!({ "tools": {
        "extra": [{ "name": "mute", "answers": [{ "silent": true }] }],
        "redefine": [{ "tool": "screen_list", "after": 1, "to": { "gone": true } }] } }));
    assert_eq!(bench.call("a", None, "mute", json!({})), Value::Null);
    assert_eq!(revision(&bench.call("a", None, "screen_list", json!({}))), "r1");
    assert_eq!(*code(&bench.call("a", None, "screen_list", json!({}))), json!(-32602));
}

#[test]
fn extra_tools_answer_by_their_script_and_carry_a_revision_when_they_succeed() {
    let mut bench = Bench::new(json!({ "tools": { "extra": [{ "name": "odd", "answers": [
        { "text": "fine" }, { "text": "no", "is_error": true }, { "silent": true }, { "raw": 7 }
    ] }] } }));
    let mut odd = || bench.call("a", None, "odd", json!({ "any": "thing" }));
    assert_eq!(revision(&odd()), "r1");
    let failed = odd();
    assert_eq!((&failed["result"]["isError"], revision(&failed)), (&json!(true), ""));
    assert_eq!(odd(), Value::Null);
    assert_eq!(odd()["result"], 7);
}

#[test]
fn presence_is_what_a_client_last_announced() {
    let mut bench = Bench::new(json!({}));
    let activity = json!({ "action": "moving", "target": "screen_1" });
    let method = "notifications/human-plus/activity";
    bench.send("a", &json!({ "jsonrpc": "2.0", "method": method, "params": activity }));
    assert_eq!(bench.surface.presence()["a"], activity);
    bench.send("a", &json!({ "jsonrpc": "2.0", "method": "notifications/peer_left" }));
    assert!(bench.surface.presence().is_empty());
}

#[test]
fn a_board_that_cannot_be_is_refused() {
    let spec: SurfaceSpec = serde_json::from_value(json!({ "screens": { "": {} } })).unwrap();
    let refused = Surface::new(&spec, Journal::forgetful()).unwrap_err();
    assert_eq!(refused, SpecError::Handle(String::new()));
}
