//! One exchange on each transport: its order, its deadline, its pace (LIFE-1, MCP-2, SSE-*, POLL-*).

use std::time::Duration;

use crate::mock::{
    Act, Part, Relay, SESSION, Seat, TOKEN, json_error, minted, result, run, run_real, seeded, sse,
    text, transports,
};
use relay_client::{Auth, Happened, LongPoll, Transport};
use serde_json::{Value, json};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn attaching_sends_nothing_and_the_first_call_makes_one_handshake() {
    run(async {
        for transport in transports() {
            let relay = Relay::start().await;
            let seat = Seat::take(relay.builder().transport(transport.clone())).await;
            assert!(relay.seen().is_empty(), "{transport:?}");
            seat.call("screen_read").await.unwrap();
            seat.call("screen_move").await.unwrap();
            let posts: Vec<String> =
                relay.names().into_iter().filter(|name| name.starts_with("inbox")).collect();
            assert_eq!(
                posts,
                [
                    "inbox initialize",
                    "inbox notifications/initialized",
                    "inbox tools/list",
                    "inbox tools/call",
                    "inbox tools/list",
                    "inbox tools/call",
                ],
                "{transport:?}"
            );
        }
    });
}

#[test]
fn every_request_carries_client_and_token_and_ids_are_unguessable() {
    run(async {
        for transport in transports() {
            let relay = Relay::start().await;
            let seat = Seat::take(relay.builder().transport(transport)).await;
            seat.call("screen_read").await.unwrap();
            seat.client.detach(&seat.owner, &seat.attachment.id).await.unwrap();
            let mut ids = Vec::new();
            for seen in relay.seen() {
                assert_eq!(seen.query["client"], seat.attachment.client_id.as_str(), "{seen:?}");
                assert_eq!(seen.query["token"], TOKEN);
                assert_eq!(seen.authorization, None);
                assert_eq!(seen.path, format!("/relay/{SESSION}/{}", seen.route));
                assert_eq!(seen.headers["accept-encoding"], "identity");
                assert!(!seen.headers.contains_key("referer"));
                ids.extend(seen.frame.and_then(|frame| frame.get("id").cloned()));
            }
            assert_eq!(ids.len(), 3);
            for (at, id) in ids.iter().enumerate() {
                assert!(id.as_str().unwrap().len() > 16, "{id}");
                assert!(!ids[..at].contains(id));
            }
            assert_eq!(relay.names().last().unwrap(), "unregister");
        }
    });
}

#[test]
fn a_bearer_token_is_in_the_header_and_not_in_the_query() {
    run(async {
        for transport in transports() {
            let relay = Relay::start().await;
            let seat = Seat::take(relay.builder().transport(transport).auth(Auth::Bearer)).await;
            seat.call("screen_read").await.unwrap();
            seat.client.detach(&seat.owner, &seat.attachment.id).await.unwrap();
            for seen in relay.seen() {
                assert_eq!(seen.authorization.unwrap(), format!("Bearer {TOKEN}"));
                assert!(!seen.query.contains_key("token"), "{:?}", seen.query);
            }
        }
    });
    assert_eq!("header".parse::<Auth>().unwrap_err().code(), "invalid_configuration");
}

#[test]
fn a_silent_surface_times_out_at_the_deadline_to_the_millisecond() {
    run(async {
        for transport in transports() {
            for timeout in [Duration::from_millis(30), Duration::from_millis(1_250), 30 * SECOND] {
                let relay = Relay::start().await.calls(|_, _, _| Value::Null);
                let seat =
                    Seat::take(relay.builder().transport(transport.clone()).timeout(timeout)).await;
                seat.client.tools(&seat.owner, &seat.attachment.id).await.unwrap();
                let asked = Instant::now();
                let error = seat.call("screen_move").await.unwrap_err();
                assert_eq!(asked.elapsed(), timeout, "{transport:?}");
                assert_eq!(error.code(), "timeout");
                assert_eq!(error.happened(), Happened::Unknown);
                assert!(!error.is_terminal());
                assert!(error.to_string().contains("`screen_move`"), "{error}");
                assert_eq!(relay.count("inbox tools/call"), 1, "never sent again");
                // The notice that nobody waits any more goes out behind the caller's back.
                tokio::time::sleep(SECOND).await;
                assert_eq!(relay.count("inbox notifications/cancelled"), 1);
            }
        }
    });
}

#[test]
fn each_leg_that_hangs_ends_at_the_same_deadline() {
    run(async {
        for (transport, leg, happened) in [
            (Transport::sse(), "inbox tools/call", Happened::Unknown),
            (Transport::sse(), "events", Happened::Unknown),
            (Transport::long_poll(LongPoll::readme()), "inbox tools/call", Happened::Unknown),
            (Transport::long_poll(LongPoll::readme()), "outbox", Happened::Unknown),
            (Transport::long_poll(LongPoll::public()), "poll", Happened::Unknown),
            (Transport::sse(), "inbox initialize", Happened::No),
            (Transport::sse(), "inbox tools/list", Happened::No),
        ] {
            let relay = Relay::start().await;
            let seat = Seat::take(relay.builder().transport(transport).timeout(4 * SECOND)).await;
            if happened == Happened::Unknown {
                // `initialize` and `tools/list` have a receive leg each before the call's.
                relay.on_nth(leg, if leg.starts_with("inbox") { 1 } else { 3 }, Act::Hang);
            } else {
                relay.on(leg, Act::Hang);
            }
            let asked = Instant::now();
            let error = seat.call("screen_move").await.unwrap_err();
            assert_eq!(asked.elapsed(), 4 * SECOND, "{leg}");
            assert_eq!((error.code(), error.happened()), ("timeout", happened), "{leg}: {error}");
        }
    });
}

#[test]
fn an_answer_at_the_last_moment_is_taken() {
    run(async {
        for transport in transports() {
            let relay = Relay::start().await;
            let seat = Seat::take(relay.builder().transport(transport).timeout(10 * SECOND)).await;
            relay.on("inbox tools/call", Act::Late(Duration::from_millis(9_990)));
            seat.call("screen_read").await.unwrap();
        }
    });
}

#[test]
fn a_relay_that_ignores_wait_is_paced_and_one_that_honours_it_is_not() {
    run(async {
        let empty = Act::Answer(200, "application/json", b"{\"frames\":[]}".to_vec());
        for settings in [LongPoll::readme(), LongPoll::public()] {
            let relay = Relay::start().await.calls(|_, _, _| Value::Null);
            let path = settings.path.clone();
            let transport = Transport::long_poll(settings);
            let seat = Seat::take(relay.builder().transport(transport).timeout(10 * SECOND)).await;
            seat.client.tools(&seat.owner, &seat.attachment.id).await.unwrap();
            relay.on(&path, empty.clone());
            relay.forget();
            seat.call("screen_move").await.unwrap_err();
            let polls: Vec<u64> = relay
                .seen()
                .iter()
                .filter(|seen| seen.route == path)
                .map(|seen| seen.at_ms)
                .collect();
            assert!(polls.len() < 25, "{} polls", polls.len());
            assert!(polls.windows(2).all(|pair| pair[1] - pair[0] >= 100), "{polls:?}");
        }
        // Honoured: the next poll starts in the very instant that the one before it ended.
        let relay = Relay::start().await.calls(|_, _, _| Value::Null);
        let transport = Transport::long_poll(LongPoll { wait: 2 * SECOND, ..LongPoll::readme() });
        let seat = Seat::take(relay.builder().transport(transport).timeout(7 * SECOND)).await;
        seat.client.tools(&seat.owner, &seat.attachment.id).await.unwrap();
        relay.forget();
        seat.call("screen_move").await.unwrap_err();
        let polls: Vec<(u64, String)> = relay
            .seen()
            .iter()
            .filter(|seen| seen.route == "outbox")
            .map(|seen| (seen.at_ms, seen.query["wait"].clone()))
            .skip(1)
            .collect();
        let waits: Vec<&str> = polls.iter().map(|(_, wait)| wait.as_str()).collect();
        assert_eq!(waits[..4], ["2", "2", "2", "1"], "no wait reaches past the deadline");
        assert_eq!([polls[1].0 - polls[0].0, polls[2].0 - polls[1].0], [2000, 2000]);
    });
}

#[test]
fn cursors_and_subscribers_go_back_as_they_came() {
    run(async {
        let relay = Relay::start().await;
        let transport = Transport::long_poll(LongPoll::readme());
        let seat = Seat::take(relay.builder().transport(transport)).await;
        seat.call("screen_read").await.unwrap();
        let after: Vec<Option<String>> = relay
            .seen()
            .iter()
            .filter(|seen| seen.route == "outbox")
            .map(|seen| seen.query.get("after").cloned())
            .collect();
        assert_eq!(after, [None, Some("1".to_owned()), Some("2".to_owned())]);

        let relay = Relay::start().await;
        let transport = Transport::long_poll(LongPoll::public());
        let seat = Seat::take(relay.builder().transport(transport)).await;
        seat.call("screen_read").await.unwrap();
        let polls: Vec<_> = relay.seen().into_iter().filter(|seen| seen.route == "poll").collect();
        assert_eq!(polls[0].query.get("subscriber"), None);
        assert_eq!(polls[1].query["subscriber"], "0000000000000001");
        assert!(polls.iter().all(|poll| poll.query["direction"] == "outbound"));
        assert!(polls.iter().all(|poll| poll.query["wait"].parse::<u64>().unwrap() > 1000));
    });
}

#[test]
fn a_gateway_that_gives_up_on_a_poll_is_an_empty_answer() {
    run(async {
        for status in [408, 502, 503, 504, 524] {
            let relay = Relay::start().await;
            let transport = Transport::long_poll(LongPoll::readme());
            let seat = Seat::take(relay.builder().transport(transport)).await;
            let page = format!("<html>GET /relay/sess-1/outbox?token={TOKEN}</html>");
            relay.on_nth("outbox", 3, Act::Answer(status, "text/html", page.into_bytes()));
            seat.call("screen_read").await.unwrap();
            assert_eq!(relay.count("outbox"), 4, "{status}");
        }
        let relay = Relay::start().await;
        let transport = Transport::long_poll(LongPoll::readme());
        let seat = Seat::take(relay.builder().transport(transport)).await;
        relay.on("outbox", json_error(405, "method_not_allowed"));
        let asked = Instant::now();
        let error = seat.call("screen_read").await.unwrap_err();
        assert_eq!(asked.elapsed(), Duration::ZERO, "a wrong dialect shows at once");
        assert_eq!(error.code(), "transport_error");
        assert!(error.to_string().contains("dialect"), "{error}");
    });
}

#[test]
fn subscribe_first_opens_the_receive_leg_before_the_post() {
    run(async {
        for transport in transports() {
            let relay = Relay::start().await;
            let builder = relay.builder().transport(transport.clone()).subscribe_first(true);
            let seat = Seat::take(builder).await;
            seat.call("screen_read").await.unwrap();
            let names = relay.names();
            let first = names.iter().position(|name| !name.starts_with("inbox")).unwrap();
            assert_eq!(first, 0, "{names:?}");
            let call = names.iter().position(|name| name == "inbox tools/call").unwrap();
            assert!(!names[call - 1].starts_with("inbox"), "{names:?}");
        }
        // What fails before the post is no call.
        let relay = Relay::start().await;
        let seat = Seat::take(relay.builder().subscribe_first(true)).await;
        seat.client.tools(&seat.owner, &seat.attachment.id).await.unwrap();
        relay.on_nth("events", 2, json_error(500, "oops"));
        let error = seat.call("screen_read").await.unwrap_err();
        assert_eq!(error.happened(), Happened::No);
        assert_eq!(relay.count("inbox tools/call"), 0);
    });
}

/// A stream in place of the call's receive leg.
async fn call_over(parts: Vec<Part>, then_hold: bool) -> Result<String, relay_client::Error> {
    let relay = Relay::start().await;
    let builder = relay.builder().timeout(5 * SECOND).max_frame_bytes(2000);
    let seat = Seat::take(builder.entropy(seeded(1))).await;
    seat.client.tools(&seat.owner, &seat.attachment.id).await.unwrap();
    relay.on_nth("events", 2, Act::Stream { parts, then_hold });
    seat.call("screen_read").await.map(|result| result.framed)
}

fn answer_in(before: &str, after: &str) -> Vec<Part> {
    vec![text(before), Part::LastAnswer, text(after)]
}

#[test]
fn the_answer_is_found_in_every_kind_of_stream() {
    run(async {
        let noise = ": keepalive\n\nid: 7\ndata:\n\nevent: heartbeat\ndata: {}\n\ndata: not json\n\n\
                     data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n\
                     event: error\ndata: overloaded\n\n";
        for (name, before, after) in [
            ("LF", "event: mcp\ndata: ", "\n\n"),
            ("CRLF", "event: mcp\r\ndata: ", "\r\n\r\n"),
            ("CR", "event: mcp\rdata: ", "\r\r"),
            ("default event", "data: ", "\n\n"),
            ("message event", "event: message\ndata:", "\n\n"),
            ("BOM", "\u{feff}data: ", "\n\n"),
            ("retry first", "retry: 2000\n\nevent: mcp\ndata: ", "\n\n"),
            ("batch", "data: [{\"jsonrpc\":\"2.0\",\"method\":\"x\"},", "]\n\n"),
            ("split lines", "data: [\ndata: ", "\ndata: ]\n\n"),
            ("noise", noise, ""),
        ] {
            let mut parts = answer_in(before, after);
            if name == "noise" {
                parts = vec![text(noise), text("data: "), Part::LastAnswer, text("\n\n")];
            }
            let framed = call_over(parts, true).await;
            assert!(framed.is_ok_and(|framed| framed.contains("screen_read")), "{name}");
        }
    });
}

#[test]
fn a_stream_without_the_answer_says_how_it_ended() {
    run(async {
        for (name, parts, hold, code, says) in [
            ("ended", vec![text("retry: 1\n\n")], false, "transport_error", "ended before"),
            ("cut", answer_in("data: ", ""), false, "transport_error", "ended inside an event"),
            ("cut at one newline", answer_in("data: ", "\n"), false, "transport_error", "inside"),
            ("silent", vec![text(": hi\n\n")], true, "timeout", "no answer to `screen_read`"),
            ("unreadable", vec![text("data: {\n\n")], true, "timeout", "could not be read"),
            (
                "another id",
                vec![text("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")],
                true,
                "timeout",
                "no answer",
            ),
        ] {
            let error = call_over(parts, hold).await.unwrap_err();
            assert_eq!(error.code(), code, "{name}: {error}");
            assert!(error.to_string().contains(says), "{name}: {error}");
            assert_eq!(error.happened(), Happened::Unknown, "{name}");
        }
    });
}

#[test]
fn an_oversized_event_is_refused_and_the_wait_goes_on() {
    run(async {
        let big = "x".repeat(5000);
        let parts = vec![text(&format!("data: {big}\n\ndata: ")), Part::LastAnswer, text("\n\n")];
        assert!(call_over(parts, true).await.is_ok(), "a small frame behind it arrives");

        let error = call_over(vec![text(&format!("data: {big}\n\n"))], true).await.unwrap_err();
        assert_eq!(error.code(), "timeout");
        assert!(error.to_string().contains("over the size bound"), "{error}");

        let chatter = vec![
            text(&": keepalive\n\n".repeat(1000)),
            text("data: "),
            Part::LastAnswer,
            text("\n\n"),
        ];
        assert!(call_over(chatter, true).await.is_ok(), "keepalives do not count");
    });
}

#[test]
fn an_answer_over_the_bound_is_refused_at_once_as_applied() {
    run(async {
        for transport in transports() {
            let relay = Relay::start().await.calls(|_, _, _| result(&"x".repeat(5000)));
            let builder = relay.builder().transport(transport).max_frame_bytes(2000);
            let seat = Seat::take(builder).await;
            let asked = Instant::now();
            let error = seat.call("screen_read").await.unwrap_err();
            assert_eq!(asked.elapsed(), Duration::ZERO);
            assert_eq!((error.code(), error.happened()), ("result_refused", Happened::Yes));
            assert!(error.to_string().contains("2000 bytes"), "{error}");
        }
    });
}

/// On the real clock: a paused one stands still while bytes are on their way.
#[test]
fn a_stream_that_never_pauses_still_ends_at_the_deadline() {
    run_real(async {
        let relay = Relay::start().await;
        let seat = Seat::take(relay.builder().timeout(Duration::from_millis(400))).await;
        seat.client.tools(&seat.owner, &seat.attachment.id).await.unwrap();
        relay.on_nth("events", 2, sse(vec![Part::Flood(": x\n".repeat(5000))]));
        let asked = Instant::now();
        assert_eq!(seat.call("screen_read").await.unwrap_err().code(), "timeout");
        assert!(asked.elapsed() < 10 * SECOND, "{:?}", asked.elapsed());
    });
}

#[test]
fn a_page_in_place_of_the_stream_is_not_read_and_not_shown() {
    run(async {
        for media_type in ["text/html", "application/json", "text/plain", ""] {
            let relay = Relay::start().await;
            let seat = Seat::take(relay.builder()).await;
            relay.on("events", Act::Answer(200, media_type, b"<b>PAGE</b>".to_vec()));
            let error = seat.call("screen_read").await.unwrap_err();
            assert_eq!(error.code(), "protocol_error", "{media_type}");
            assert!(!format!("{error} {error:?}").contains("PAGE"));
        }
    });
}

#[test]
fn an_answer_in_the_posts_own_body_is_taken() {
    run(async {
        for transport in transports() {
            let relay = Relay::start().await.calls(|_, _, _| minted("inline", "r9"));
            let seat = Seat::take(relay.builder().transport(transport).entropy(seeded(3))).await;
            seat.client.tools(&seat.owner, &seat.attachment.id).await.unwrap();
            let prefix = relay.seen()[0].frame.as_ref().unwrap()["id"].as_str().unwrap().to_owned();
            let id = prefix.replace("-1", "-4");
            let body = json!({ "jsonrpc": "2.0", "id": id, "result": {
                "content": [{ "type": "text", "text": "inline" }] } });
            let body = body.to_string().into_bytes();
            relay.on_nth("inbox tools/call", 1, Act::Answer(200, "application/json", body));
            let result = seat.call("screen_read").await.unwrap();
            assert!(result.framed.contains("inline"));
        }
    });
}

#[test]
fn exact_ids_alone_are_answers() {
    run(async {
        for transport in transports() {
            for (name, id) in [
                ("number", json!(1)),
                ("true", json!(true)),
                ("null", Value::Null),
                ("another", json!("0000000000000000-3")),
            ] {
                let mut wrong = result("stolen");
                wrong["id"] = id;
                let relay = Relay::start().await.calls(move |_, _, _| wrong.clone());
                let builder = relay.builder().transport(transport.clone()).timeout(SECOND);
                let seat = Seat::take(builder).await;
                let error = seat.call("screen_read").await.unwrap_err();
                assert_eq!(error.code(), "timeout", "{name}");
            }
        }
    });
}

#[test]
fn calls_of_one_attachment_wait_for_each_other() {
    run(async {
        for transport in transports() {
            let relay = Relay::start().await;
            let seat = Seat::take(relay.builder().transport(transport)).await;
            let (a, b) = tokio::join!(seat.call("screen_read"), seat.call("screen_move"));
            assert!(a.unwrap().framed.contains("screen_read"));
            assert!(b.unwrap().framed.contains("screen_move"));
            assert_eq!(relay.count("inbox initialize"), 1);
        }
    });
}

#[test]
fn one_seed_gives_one_conversation() {
    let talk = || {
        run(async {
            let relay = Relay::start().await;
            let seat = Seat::take(relay.builder().entropy(seeded(7))).await;
            let framed = seat.call("screen_read").await.unwrap().framed;
            let frames: Vec<_> =
                relay.seen().into_iter().map(|seen| (seen.query, seen.frame)).collect();
            (framed, frames)
        })
    };
    assert_eq!(talk(), talk());
}

#[test]
fn a_stream_is_let_go_once_the_answer_is_there_and_when_nobody_waits_for_it() {
    run(async {
        let relay = Relay::start().await.calls(|tool, _, _| match tool {
            "screen_read" => result("read"),
            _ => Value::Null,
        });
        let seat = Seat::take(relay.builder()).await;
        for tool in ["screen_read", "screen_move"] {
            let _ = seat.call(tool).await;
            tokio::time::sleep(SECOND).await;
            assert_eq!(relay.open_streams(), 0, "{tool}");
        }
        assert_eq!(relay.count("events"), 5);
        // A caller that gives up takes its stream along.
        let gave_up = tokio::time::timeout(SECOND, seat.call("screen_move")).await;
        assert!(gave_up.is_err());
        tokio::time::sleep(SECOND).await;
        assert_eq!(relay.open_streams(), 0);
    });
}
