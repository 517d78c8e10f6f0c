//! Whatever JSON reaches a surface, it answers each request once or with an error, and stays
//! whole.

#![allow(clippy::unwrap_used, missing_docs)]

use proptest::prelude::*;
use relay_simulator::journal::{Event, Tape};
use relay_simulator::surface::{Surface, SurfaceSpec};
use relay_simulator::surface_host::{Emission, SurfaceHost};
use serde_json::{Map, Value, json};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        "[r0-9+./~%a-z_ ]{0,12}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop_oneof![Just("screen_1"), Just("screen_2"), Just("screen_4"), Just("r1"), Just("p1")]
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..4).prop_map(object),
        ]
    })
}

/// Keys that mean something somewhere, and others.
fn word() -> impl Strategy<Value = String> {
    let known = [
        "id",
        "title",
        "kind",
        "x",
        "y",
        "content",
        "since",
        "proposal",
        "name",
        "arguments",
        "_meta",
        "revision",
        "cursor",
        "jsonrpc",
        "method",
        "params",
        "result",
        "error",
    ];
    prop_oneof![9 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => any::<String>()]
}

fn object(members: Vec<(String, Value)>) -> Value {
    Value::Object(members.into_iter().collect::<Map<_, _>>())
}

/// Mostly well-formed calls, so that the fuzz gets past the door.
fn any_frame() -> impl Strategy<Value = Value> {
    let tool = prop::sample::select(
        &[
            "screen_list",
            "screen_read",
            "screen_create",
            "screen_rename",
            "screen_move",
            "screen_update",
            "screen_delete",
            "screen_propose",
            "screen_confirm",
            "changes_since",
            "odd",
            "nothing",
        ][..],
    );
    let arguments = prop::collection::vec((word(), any_json()), 0..4).prop_map(object);
    let right = (prop::sample::select(&["screen_1", "screen_2", "screen_9"][..]), any::<i8>())
        .prop_map(|(id, x)| json!({ "id": id, "x": x }));
    let pin = prop_oneof![
        Just(Value::Null),
        Just(json!("r1")),
        (1..9u8, 1..9u8).prop_map(|(base, later)| json!(format!("r{base}+screen_1.{later}"))),
        any_json(),
    ];
    let call = (any_json(), tool, prop_oneof![arguments, right], pin).prop_map(
        |(id, tool, arguments, pin)| {
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": tool, "arguments": arguments, "_meta": { "revision": pin } } })
        },
    );
    let method = prop::sample::select(&["initialize", "ping", "tools/list", "tools/call", "x"][..]);
    let request = (any_json(), method, any_json()).prop_map(|(id, method, params)| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    });
    prop_oneof![6 => call, 2 => request, 1 => any_json()]
}

proptest! {
    #[test]
    fn no_json_breaks_a_surface(
        frames in prop::collection::vec(prop_oneof![9 => any_frame(), 1 => prop::collection::vec(any_frame(), 0..3).prop_map(Value::from)], 1..24),
        per in prop::sample::select(&["screen", "surface", "field"][..]),
        marker in prop::sample::select(&["text", "number"][..]),
        upsert: bool,
    ) {
        let spec: SurfaceSpec = serde_json::from_value(json!({
            "revisions": { "per": per, "marker": marker }, "upsert": upsert,
            "tools": { "extra": [{ "name": "odd" }] }
        })).unwrap();
        let (tape, journal) = Tape::start();
        let mut surface = Surface::new(&spec, journal).unwrap();
        for frame in &frames {
            let before = surface.newest_write();
            let emitted = surface.receive("a", frame);
            prop_assert!(emitted.len() <= 1, "{frame}: {emitted:?}");
            for emission in emitted {
                let Emission::Frame { frame: answer, .. } = emission else {
                    return Err(TestCaseError::fail("an HTTP answer that nobody asked for"));
                };
                for answer in answer.as_array().into_iter().flatten() {
                    prop_assert_eq!(&answer["jsonrpc"], "2.0");
                }
                if answer["error"].is_object() {
                    prop_assert_eq!(surface.newest_write(), before, "{} wrote", frame);
                }
            }
        }
        let numbers: Vec<u64> = tape.events().iter().filter_map(|event| match event {
            Event::Write { write, .. } => Some(*write),
            _ => None,
        }).collect();
        prop_assert_eq!(&numbers, &(2..=surface.newest_write()).collect::<Vec<_>>());
        for screen in surface.board().values() {
            prop_assert!(screen["x"].is_i64() && screen["title"].is_string());
        }
    }
}
