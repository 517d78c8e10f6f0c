//! Every power of a fault, as a client meets it on the socket.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use relay_simulator::journal::{Ending, Event};
use relay_simulator::wire::{Wire, dial};
use serde_json::{Value, json};
use support::{SESSION, Stage, TOKEN, call, case, case_on, request, seconds, spec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

fn rules(rule: Value) -> Value {
    json!({ "faults": [rule] })
}

fn read(id: i32) -> Value {
    call(id, "screen_read", json!({"id": "screen_7"}))
}

fn frames(answer: &support::Answer) -> Vec<Value> {
    answer.json()["frames"].as_array().unwrap().clone()
}

#[track_caller]
fn struck(stage: &Stage, says: &str, breaks: Option<&str>) {
    let faults = stage.faults();
    let expect = (says.to_owned(), breaks.map(str::to_owned));
    assert!(faults.contains(&expect), "{expect:?} is not among {faults:?}");
}

#[test]
fn a_hoarded_answer_comes_when_its_time_is_over() {
    case(rules(json!({"on": {"answer": "tools/call", "nth": 2}, "hoard": "12s"})), async |stage| {
        let mut stream = stage.stream("a").await;
        stage.post("a", &read(1)).await;
        assert_eq!(stream.until("\"id\":1,").await, Some(seconds(0.0)));
        stage.post("a", &read(2)).await;
        stage.post("a", &read(3)).await;
        assert_eq!(stream.until("\"id\":3,").await, Some(seconds(0.0)));
        assert_eq!(stream.until("\"id\":2,").await, Some(seconds(12.0)));
        struck(stage, "held the answer to tools/call of screen_read for 12s", Some("RELAY-9"));
    });
}

#[test]
fn a_hoarded_answer_holds_a_poll_as_long() {
    case(rules(json!({"on": {"answer": "tools/call"}, "hoard": "12s"})), async |stage| {
        stage.post("a", &read(1)).await;
        let polled = stage.poll("a", "&wait=20").await;
        assert_eq!((polled.at, frames(&polled).len()), (seconds(12.0), 1));
    });
}

#[test]
fn a_hoard_until_the_next_request_lets_the_old_answer_go_first() {
    let rule = json!({"on": {"answer": "tools/call", "nth": 1}, "hoard": "until-next-request"});
    case(rules(rule), async |stage| {
        stage.post("a", &read(1)).await;
        assert_eq!(frames(&stage.poll("a", "&wait=5").await).len(), 0);
        stage.post("b", &read(7)).await;
        assert_eq!(frames(&stage.poll("a", "&wait=5").await).len(), 0);
        stage.post("a", &read(2)).await;
        let ids: Vec<Value> = frames(&stage.poll("a", "&wait=5").await)
            .iter()
            .map(|frame| frame["id"].clone())
            .collect();
        assert_eq!(ids, [json!(1), json!(2)]);
    });
}

#[test]
fn a_hoard_for_ever_never_comes() {
    case(rules(json!({"on": {"answer": "tools/call"}, "hoard": "for-ever"})), async |stage| {
        stage.post("a", &read(1)).await;
        stage.post("a", &request(2, "ping")).await;
        sleep(seconds(600.0)).await;
        let ids = frames(&stage.poll("a", "&wait=25").await);
        assert_eq!(ids.len(), 1);
        assert_eq!(ids[0]["id"], json!(2));
    });
}

#[test]
fn a_route_can_be_hoarded_too() {
    for (hoard, at) in [("3s", 3.0), ("until-next-request", 8.0)] {
        case(rules(json!({"on": {"route": "inbox", "nth": 1}, "hoard": hoard})), async |stage| {
            let first = async { stage.post("a", &request(1, "ping")).await };
            let second = async {
                sleep(seconds(8.0)).await;
                stage.post("a", &request(2, "ping")).await
            };
            let (first, _) = tokio::join!(first, second);
            assert_eq!((first.status, first.at), (202, seconds(at)), "{hoard}");
        });
    }
}

#[test]
fn a_buffer_withholds_bytes_on_the_socket_until_the_close() {
    case(rules(json!({"on": "events", "buffer": "until-close"})), async |stage| {
        let mut stream = stage.stream("a").await;
        stage.post("a", &request(1, "ping")).await;
        // The head comes at once, and nothing after it.
        stream.read().await.unwrap();
        assert!(stream.raw.starts_with(b"HTTP/1.1 200"));
        let more = timeout(seconds(100.0), stream.read()).await;
        assert!(more.is_err(), "{:?}", String::from_utf8_lossy(&stream.raw));
        assert_eq!(stream.body(), "");
        stage.world.end_session();
        assert_eq!(stream.end().await, (seconds(100.0), true));
        assert!(
            stream.body().starts_with("retry: 2000\n\nevent: mcp\ndata: {"),
            "{}",
            stream.body()
        );
        assert!(stream.body().contains(": keepalive"));
        struck(stage, "buffered events until its close", Some("RELAY-9"));
    });
}

#[test]
fn what_a_buffer_withholds_has_not_been_delivered() {
    case(rules(json!({"on": "events", "buffer": "until-close"})), async |stage| {
        let mut stream = stage.stream("a").await;
        stage.post("a", &read(1)).await;
        assert!(timeout(seconds(20.0), stream.until("\"id\":1")).await.is_err());
        let delivered = |event: &Event| matches!(event, Event::Delivery { .. });
        assert!(!stage.events().iter().any(delivered));
        stage.world.end_session();
        stream.end().await;
        assert!(stage.events().iter().any(delivered));
    });
}

#[test]
fn a_buffer_runs_one_event_late() {
    case(rules(json!({"on": "events", "buffer": "until-next-event"})), async |stage| {
        let mut stream = stage.stream("a").await;
        stage.post("a", &request(1, "ping")).await;
        assert!(timeout(seconds(5.0), stream.until("\"id\":1")).await.is_err());
        stage.post("a", &request(2, "ping")).await;
        assert_eq!(stream.until("\"id\":1").await, Some(seconds(5.0)));
        assert!(!stream.body().contains("\"id\":2"));
    });
}

#[test]
fn a_buffer_fills_with_keepalives_too() {
    case(rules(json!({"on": "events", "buffer": {"bytes": 64}})), async |stage| {
        let mut stream = stage.stream("a").await;
        stage.post("a", &request(1, "ping")).await;
        // 13 bytes of retry and 58 of the event, of which 64 leave; 13 of each keepalive follow.
        assert_eq!(stream.until("\"result\":{").await, Some(seconds(0.0)));
        assert_eq!(stream.until("}\n\n").await, Some(seconds(75.0)));
    });
}

#[test]
fn requests_are_lost_delayed_or_passed_on_twice() {
    let moved = json!({"id": "screen_7", "x": 40});
    for (rule, x_at_once, x_later, writes) in [
        (json!({"on": {"request": "tools/call"}, "drop": true}), 0, 0, 0),
        (json!({"on": {"request": "tools/call"}, "delay": "3s"}), 0, 40, 1),
        (json!({"on": {"request": "tools/call"}, "duplicate": 1}), 40, 40, 1),
    ] {
        case(rules(rule.clone()), async |stage| {
            let posted = stage.post("a", &call(1, "screen_move", moved.clone())).await;
            assert_eq!((posted.status, posted.at), (202, seconds(0.0)), "{rule}");
            assert_eq!(stage.world.board()["screen_7"]["x"], json!(x_at_once), "{rule}");
            sleep(seconds(3.001)).await;
            assert_eq!(stage.world.board()["screen_7"]["x"], json!(x_later), "{rule}");
            let written =
                stage.events().iter().filter(|event| matches!(event, Event::Write { .. })).count();
            assert!(written >= writes, "{rule}: {written}");
        });
    }
}

#[test]
fn a_passed_on_request_is_applied_twice() {
    let rule = json!({"on": {"request": "tools/call"}, "duplicate": 1});
    case(rules(rule), async |stage| {
        stage.post("a", &call(1, "screen_create", json!({"title": "Risks"}))).await;
        assert_eq!(stage.world.board().len(), 4);
        assert_eq!(frames(&stage.poll("a", "&wait=0").await).len(), 2);
    });
}

#[test]
fn answers_are_lost_or_come_again() {
    for (rule, count) in [
        (json!({"on": {"answer": "*"}, "drop": true}), 0),
        (json!({"on": {"answer": "*"}, "duplicate": 2}), 3),
    ] {
        case(rules(rule.clone()), async |stage| {
            stage.post("a", &request(1, "ping")).await;
            assert_eq!(frames(&stage.poll("a", "&wait=0").await).len(), count, "{rule}");
        });
    }
}

#[test]
fn a_status_stands_in_for_the_relay_and_may_lie_about_what_happened() {
    let moved = call(1, "screen_move", json!({"id": "screen_7", "x": 40}));
    for (rule, status, body, x) in [
        (json!({"on": "inbox", "status": 410}), 410, r#"{"error":"session_gone"}"#, 0),
        (
            json!({"on": {"request": "tools/call"}, "status": {"code": 502, "body": "<html>", "content_type": "text/html"}, "applied": true}),
            502,
            "<html>",
            40,
        ),
        (
            json!({"on": "inbox", "status": {"code": 401, "body": {"error": "session_gone"}}}),
            401,
            r#"{"error":"session_gone"}"#,
            0,
        ),
    ] {
        case(rules(rule.clone()), async |stage| {
            let answer = stage.post("a", &moved).await;
            assert_eq!((answer.status, answer.body.as_str()), (status, body), "{rule}");
            assert_eq!(stage.world.board()["screen_7"]["x"], json!(x), "{rule}");
        });
    }
}

#[test]
fn a_redirect_points_elsewhere() {
    for code in [301, 302, 303, 307, 308] {
        let rule = json!({"on": "poll", "redirect": {"to": "http://127.0.0.1:9/x", "code": code}});
        case(rules(rule), async |stage| {
            let answer = stage.poll("a", "&wait=0").await;
            assert_eq!(answer.status, code);
            assert_eq!(answer.header("location"), Some("http://127.0.0.1:9/x"));
        });
    }
}

#[test]
fn connections_end_in_four_ways_on_a_post() {
    for wire in [Wire::Unix, Wire::Tcp, Wire::Tls] {
        for (close, whole) in
            [("reset", false), ("cut", false), ("end", true), ("black-hole", false)]
        {
            let spec =
                spec(rules(json!({"on": "inbox", "close": close, "applied": true})), json!([]));
            case_on(wire, spec, async |stage| {
                let head = format!("POST /{SESSION}/inbox?token={TOKEN}&client=a");
                let body = call(1, "screen_move", json!({"id": "screen_7", "x": 40})).to_string();
                let asked = timeout(seconds(60.0), stage.try_ask(&head, body.as_bytes())).await;
                match close {
                    "black-hole" => assert!(asked.is_err(), "{wire}"),
                    _ => assert_eq!(asked.unwrap().is_some(), whole, "{close} on {wire}"),
                }
                assert_eq!(stage.world.board()["screen_7"]["x"], json!(40), "{close} on {wire}");
                if close == "reset" {
                    let reset = |event: &Event| {
                        matches!(event, Event::ResponseEnded { how: Ending::Reset, .. })
                    };
                    assert!(stage.events().iter().any(reset), "{wire}: {:?}", stage.events());
                }
            });
        }
    }
}

#[test]
fn a_reset_is_one_on_tcp() {
    let spec = spec(rules(json!({"on": "events", "close": "reset"})), json!([]));
    case_on(Wire::Tcp, spec, async |stage| {
        let mut stream = dial(stage.endpoint()).await.unwrap();
        let head =
            format!("GET /{SESSION}/events?token={TOKEN}&client=a HTTP/1.1\r\nhost: x\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let error = stream.read(&mut [0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    });
}

#[test]
fn a_stream_breaks_where_the_answer_would_be() {
    for (close, finished, carried) in
        [("cut", false, false), ("end", true, false), ("reset", false, false)]
    {
        case(rules(json!({"on": {"answer": "ping"}, "close": close})), async |stage| {
            let mut stream = stage.stream("a").await;
            stream.until("retry").await.unwrap();
            stage.post("a", &request(1, "ping")).await;
            assert_eq!(stream.end().await, (seconds(0.0), finished), "{close}");
            assert_eq!(stream.body().contains("\"result\":{}}\n\n"), carried, "{close}");
            assert_eq!(stage.faults().len(), 1, "{close}");
        });
    }
    case(rules(json!({"on": {"answer": "ping"}, "close": "black-hole"})), async |stage| {
        let mut stream = stage.stream("a").await;
        stream.until("retry").await.unwrap();
        stage.post("a", &request(1, "ping")).await;
        assert!(timeout(seconds(300.0), stream.read()).await.is_err(), "no keepalive either");
    });
}

#[test]
fn a_poll_breaks_where_the_answer_would_be() {
    case(rules(json!({"on": {"answer": "ping"}, "close": "cut"})), async |stage| {
        stage.post("a", &request(1, "ping")).await;
        let head = format!("GET /{SESSION}/outbox?token={TOKEN}&client=a&wait=5");
        assert_eq!(stage.try_ask(&head, b"").await, None);
        // The relay believes that it handed the answer over; only a cursor brings it back.
        assert_eq!(frames(&stage.poll("a", "&wait=0&after=0").await).len(), 1);
    });
}

#[test]
fn answers_change_on_their_way() {
    for (mutation, pointer, expect) in [
        (json!({"id": "flip-type"}), "/id", json!("1")),
        (json!({"id": "other"}), "/id", json!(9_007_199_254_740_991_u64)),
        (json!({"error": {"code": "conflict", "message": "no"}}), "/error/code", json!("conflict")),
        (json!({"merge": {"result": {"extra": 1}}}), "/result/extra", json!(1)),
    ] {
        case(rules(json!({"on": {"answer": "*"}, "mutate": mutation})), async |stage| {
            stage.post("a", &request(1, "ping")).await;
            let frame = frames(&stage.poll("a", "&wait=0").await).remove(0);
            assert_eq!(frame.pointer(pointer), Some(&expect), "{mutation}");
            struck(stage, "changed the answer to ping", Some("RELAY-2"));
        });
    }
}

#[test]
fn answers_reach_others() {
    for (retarget, a, b) in
        [(json!({"client": "b"}), 0, 1), (json!("others"), 0, 1), (json!("everyone"), 1, 1)]
    {
        case(rules(json!({"on": {"answer": "tools/call"}, "retarget": retarget})), async |stage| {
            stage.poll("b", "&wait=0").await;
            stage.post("a", &read(1)).await;
            assert_eq!(frames(&stage.poll("a", "&wait=0").await).len(), a, "{retarget}");
            assert_eq!(frames(&stage.poll("b", "&wait=0").await).len(), b, "{retarget}");
            let told: Vec<String> = stage
                .events()
                .into_iter()
                .filter_map(|event| match event {
                    Event::Delivery { client, .. } => Some(client),
                    _ => None,
                })
                .collect();
            assert!(told.contains(&"b".to_owned()), "{retarget}: {told:?}");
        });
    }
}

#[test]
fn frames_are_slipped_in_before_an_answer() {
    let inject =
        json!([{"jsonrpc": "2.0", "id": "$id", "method": "sampling/createMessage"}, "not JSON"]);
    case(rules(json!({"on": {"answer": "ping"}, "inject": inject})), async |stage| {
        let mut stream = stage.stream("a").await;
        stage.post("a", &request(5, "ping")).await;
        stream.until("\"result\"").await.unwrap();
        let body = stream.body();
        assert!(
            body.contains(
                "data: {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"sampling/createMessage\"}\n\n"
            ),
            "{body}"
        );
        assert!(body.contains("data: not JSON\n\n"), "{body}");
    });
}

#[test]
fn the_bytes_of_a_stream_take_every_legal_form() {
    for (shape, expect) in [
        (json!({"line_ends": "crlf"}), "retry: 2000\r\n\r\nevent: mcp\r\ndata: {"),
        (json!({"line_ends": "cr"}), "retry: 2000\r\revent: mcp\rdata: {"),
        (json!({"bom": true}), "\u{feff}retry: 2000\n\n"),
        (json!({"split": {"every": 1}}), "retry: 2000\n\nevent: mcp\ndata: {"),
        (
            json!({"junk": ["comment", "unknown-event"]}),
            ": nothing to see\n\nevent: weather\ndata: {\"sun\":true}\n\nevent: mcp",
        ),
        (json!({"junk": ["not-json"]}), "event: mcp\ndata: this is {not} JSON\n\nevent: mcp"),
    ] {
        let mut rule = json!({"on": "events"});
        rule.as_object_mut().unwrap().extend(shape.as_object().unwrap().clone());
        case(rules(rule), async |stage| {
            let mut stream = stage.stream("a").await;
            stage.post("a", &request(1, "ping")).await;
            stream.until("\"result\":{}}").await.unwrap();
            assert!(stream.body().contains(expect), "{shape}: {:?}", stream.body());
            if shape.get("split").is_some() {
                let chunks = String::from_utf8_lossy(&stream.raw).matches("\r\n1\r\n").count();
                assert!(chunks > 50, "{chunks} chunks of one byte");
            }
        });
    }
}

#[test]
fn junk_can_be_as_large_as_it_likes() {
    case(rules(json!({"on": "events", "junk": [{"oversized": 300_000}]})), async |stage| {
        let mut stream = stage.stream("a").await;
        stage.post("a", &request(1, "ping")).await;
        stream.until("\"id\":1").await.unwrap();
        let longest = stream.body().lines().map(str::len).max().unwrap();
        assert_eq!(longest, "data: ".len() + 300_000);
    });
}

#[test]
fn polls_ignore_or_overrun_what_they_were_asked() {
    for (rule, at) in [
        (json!({"on": "poll", "ignore_wait": true}), 0.0),
        (json!({"on": "poll", "over_hold": "3s"}), 8.0),
    ] {
        case(rules(rule.clone()), async |stage| {
            assert_eq!(stage.poll("a", "&wait=5").await.at, seconds(at), "{rule}");
            let head = format!("GET /{SESSION}/poll?token={TOKEN}&client=a&wait=5000");
            assert_eq!(stage.ask(&head, "").await.at, seconds(at * 2.0), "{rule}");
        });
    }
}

#[test]
fn faults_change_while_the_relay_runs() {
    case(rules(json!({"on": "inbox", "status": 503})), async |stage| {
        assert_eq!(stage.post("a", &request(1, "ping")).await.status, 503);
        stage.world.set_faults(vec![]);
        assert_eq!(stage.post("a", &request(1, "ping")).await.status, 202);
    });
}

#[test]
fn the_first_rule_that_chooses_a_message_strikes() {
    let faults = json!({"faults": [
        {"on": {"route": "inbox", "nth": 2}, "status": 500},
        {"on": {"route": "inbox", "nth": [2, 3]}, "status": 503},
    ]});
    case(faults, async |stage| {
        for status in [202, 500, 503, 202] {
            assert_eq!(stage.post("a", &request(1, "ping")).await.status, status);
        }
    });
}

#[test]
fn people_edit_before_and_after_a_frame_and_at_a_time() {
    let edit = |x: i32| json!({"move": "screen_7", "to": {"x": x}});
    for (trigger, expect_read) in [
        (json!({"on": {"request": "tools/call"}, "at": "before", "edit": edit(1)}), 1),
        (json!({"on": {"request": "tools/call"}, "at": "after", "edit": edit(2)}), 0),
        (json!({"on": {"answer": "tools/call"}, "at": "before", "edit": edit(3)}), 3),
        (json!({"on": {"answer": "tools/call"}, "at": "after", "edit": edit(4)}), 0),
        (json!({"on": {"route": "inbox"}, "at": "before", "edit": edit(5)}), 5),
    ] {
        case_on(Wire::Unix, spec(json!({}), json!([trigger])), async |stage| {
            stage.post("a", &read(1)).await;
            // Whatever the agent reads, the person was there before it could.
            let x = stage.world.board()["screen_7"]["x"].clone();
            assert_eq!(x, trigger["edit"]["to"]["x"], "{trigger}");
            let frame = frames(&stage.poll("a", "&wait=0").await).remove(0);
            assert_eq!(
                frame["result"]["structuredContent"]["x"],
                json!(expect_read),
                "{trigger}: {frame}"
            );
        });
    }
    let timed = json!([{"at": "12s", "edit": edit(6)}]);
    case_on(Wire::Unix, spec(json!({}), timed), async |stage| {
        sleep(seconds(11.999)).await;
        assert_eq!(stage.world.board()["screen_7"]["x"], json!(0));
        sleep(seconds(0.002)).await;
        assert_eq!(stage.world.board()["screen_7"]["x"], json!(6));
    });
}
