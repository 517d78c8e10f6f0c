//! The relay's promises (contract, section 3), over real sockets and to the millisecond.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use relay_simulator::clock::run_virtual;
use relay_simulator::journal::{Direction, Ending, Event, Journal, Tape};
use relay_simulator::wire::{Wire, dial};
use relay_simulator::world::World;
use serde_json::{Value, json};
use support::{
    SESSION, Stage, TOKEN, call, case, case_on, case_without_surface, request, seconds, spec,
};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep};

fn frames(answer: &support::Answer) -> Vec<Value> {
    answer.json()["frames"].as_array().unwrap().clone()
}

#[test]
fn an_answer_waits_for_the_leg_of_its_client_on_every_wire() {
    for wire in [Wire::Unix, Wire::Tcp, Wire::Tls] {
        case_on(wire, spec(json!({}), json!([])), async |stage| {
            assert_eq!(stage.post("a", &request("x-1", "ping")).await.status, 202);
            let mut other = stage.stream("b").await;
            let mut own = stage.stream("a").await;
            assert_eq!(own.until(r#""id":"x-1""#).await, Some(seconds(0.0)), "{wire}");
            other.until("retry: 2000").await.unwrap();
            assert!(!other.body().contains("x-1"), "{wire}: {}", other.body());
        });
    }
}

#[test]
fn a_stream_begins_at_once_and_keeps_alive() {
    case(json!({}), async |stage| {
        let mut stream = stage.stream("a").await;
        assert_eq!(stream.until("retry: 2000\n\n").await, Some(seconds(0.0)));
        let head = String::from_utf8_lossy(&stream.raw).into_owned();
        for header in
            ["content-type: text/event-stream", "cache-control: no-cache", "x-accel-buffering: no"]
        {
            assert!(head.contains(header), "{header}: {head}");
        }
        assert_eq!(stream.until(": keepalive\n\n").await, Some(seconds(15.0)));
        assert_eq!(stream.until(": keepalive\n\n: keepalive\n\n").await, Some(seconds(30.0)));
    });
}

#[test]
fn one_frame_is_one_event_whatever_its_line_breaks() {
    case_without_surface(json!({}), async |stage| {
        let mut stream = stage.stream("a").await;
        stream.until("retry").await.unwrap();
        let pretty = "{\n  \"jsonrpc\": \"2.0\",\r\n  \"method\": \"n\"\n}";
        let posted = stage.ask(&format!("POST /{SESSION}/outbox?token={TOKEN}"), pretty).await;
        assert_eq!(posted.status, 202);
        stream.until("data: }\n\n").await.unwrap();
        let expect = "event: mcp\ndata: {\ndata:   \"jsonrpc\": \"2.0\",\ndata:   \"method\": \"n\"\ndata: }\n\n";
        assert!(stream.body().ends_with(expect), "{:?}", stream.body());
    });
}

#[test]
fn the_readme_poll_waits_answers_at_once_and_resumes_by_cursor() {
    case(json!({}), async |stage| {
        let empty = stage.poll("a", "&wait=5").await;
        assert_eq!((empty.at, frames(&empty)), (seconds(5.0), vec![]));
        assert_eq!(empty.header("cache-control"), Some("no-store"));
        let (polled, _) = tokio::join!(stage.poll("a", "&wait=20&after=0"), async {
            sleep(seconds(3.0)).await;
            stage.post("a", &request(1, "ping")).await
        });
        assert_eq!(polled.at, seconds(8.0));
        assert_eq!((frames(&polled).len(), &polled.json()["cursor"]), (1, &json!("1")));
        // The answer was lost on its way: the old cursor brings it again.
        let again = stage.poll("a", "&wait=0&after=0").await;
        assert_eq!(frames(&again), frames(&polled));
        let cursor = again.json()["cursor"].as_str().unwrap().to_owned();
        let next = stage.poll("a", &format!("&wait=0&after={cursor}")).await;
        assert_eq!(frames(&next), [] as [Value; 0]);
    });
}

#[test]
fn a_caller_that_hangs_up_mid_poll_loses_nothing() {
    case(json!({}), async |stage| {
        let parked =
            stage.send(&format!("GET /{SESSION}/outbox?token={TOKEN}&client=a&wait=20"), b"").await;
        sleep(seconds(1.0)).await;
        drop(parked);
        stage.post("a", &request(1, "ping")).await;
        assert_eq!(frames(&stage.poll("a", "&wait=0").await).len(), 1);
        assert_eq!(frames(&stage.poll("a", "&wait=0").await).len(), 0);
    });
}

#[test]
fn frames_that_were_taken_and_not_sent_go_back() {
    let held = json!({"faults": [{"on": {"route": "poll", "nth": 1}, "hoard": "12s"}]});
    case(held, async |stage| {
        stage.post("a", &request(1, "ping")).await;
        stage.post("a", &request(2, "ping")).await;
        let parked =
            stage.send(&format!("GET /{SESSION}/outbox?token={TOKEN}&client=a"), b"").await;
        sleep(seconds(1.0)).await;
        drop(parked);
        stage.post("a", &request(3, "ping")).await;
        let ids: Vec<Value> = frames(&stage.poll("a", "&wait=0").await)
            .iter()
            .map(|frame| frame["id"].clone())
            .collect();
        assert_eq!(ids, [json!(1), json!(2), json!(3)]);
        let delivered =
            |event: &&Event| matches!(event, Event::Frame { direction: Direction::ToClient, .. });
        assert_eq!(stage.events().iter().filter(delivered).count(), 3);
    });
}

#[test]
fn nothing_of_a_world_outlives_it() {
    run_virtual(async {
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let before = tasks();
        let (tape, journal) = Tape::start();
        let late = json!({"faults": [{"on": "inbox", "delay": "30m"}]});
        let people = json!([{"at": "30m", "edit": {"delete": "screen_7"}}]);
        let world = World::start(spec(late, people), Wire::Unix, 1, journal).await.unwrap();
        let stage = Stage { world, tape, began: Instant::now() };
        stage.post("a", &request(1, "ping")).await;
        let mut stream = stage.stream("a").await;
        stream.until("retry").await.unwrap();
        assert!(tasks() > before);
        let Stage { world, tape, .. } = stage;
        let endpoint = world.endpoint().clone();
        world.shutdown().await;
        assert_eq!(tasks(), before);
        assert!(dial(&endpoint).await.is_err());
        assert!(!endpoint.unix_socket.unwrap().exists());
        assert_eq!(stream.read().await, None);
        // What ends with its world has not been hung up on.
        let hung_up =
            |event: &Event| matches!(event, Event::ResponseEnded { how: Ending::HungUp, .. });
        assert!(!tape.events().iter().any(hung_up), "{:?}", tape.events());
    })
    .unwrap();
}

#[test]
fn a_revoked_token_is_unauthorized_and_the_session_lives() {
    case(json!({}), async |stage| {
        stage.world.revoke_token();
        let answer = stage.post("a", &request(1, "ping")).await;
        assert_eq!((answer.status, answer.json()), (401, json!({"error": "invalid_token"})));
    });
}

#[test]
fn a_tool_is_shown_as_it_was_in_the_beginning() {
    case(json!({}), async |stage| {
        let tool = stage.world.tool_definition("screen_move").unwrap();
        assert_eq!(tool["name"], json!("screen_move"));
        assert_eq!(stage.world.tool_definition("screen_wipe"), None);
        assert_eq!(stage.events().len(), 1, "only the session was opened");
    });
}

#[test]
fn worlds_that_make_no_sense_do_not_start() {
    for (relay, session, words) in [
        (
            json!({"faults": [{"on": "inbox"}]}),
            SESSION,
            "fault 1 of the relay: a fault on inbox has no power",
        ),
        (json!({}), "x", "invalid_session_id"),
    ] {
        let started = run_virtual(async {
            let mut spec = spec(relay, json!([]));
            spec.session_id = session.to_owned();
            World::start(spec, Wire::Unix, 1, Journal::forgetful()).await.map(|_| ())
        });
        let refusal = started.unwrap().unwrap_err().to_string();
        assert!(refusal.contains(words), "{refusal}");
    }
}

#[test]
fn the_public_poll_keeps_its_subscriber_and_sends_strings() {
    case(json!({}), async |stage| {
        let poll = async |more: &str| {
            let head =
                format!("GET /{SESSION}/poll?token={TOKEN}&client=a&direction=outbound{more}");
            stage.ask(&head, "").await
        };
        let first = poll("&wait=250").await;
        assert_eq!(first.at, seconds(0.25));
        let subscriber = first.json()["subscriber"].as_str().unwrap().to_owned();
        assert_eq!(subscriber.len(), 16);
        stage.post("a", &request(1, "ping")).await;
        let second = poll(&format!("&wait=0&subscriber={subscriber}")).await.json();
        assert_eq!(second["subscriber"], json!(subscriber));
        let frame = second["frames"][0].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(frame).unwrap()["id"], json!(1));
        // Held for twenty seconds unless it says otherwise, and never for more than twenty-five.
        assert_eq!(poll("").await.at, seconds(20.25));
        assert_eq!(poll("&wait=60000").await.at, seconds(45.25));
    });
}

#[test]
fn poll_bodies_have_every_legal_shape() {
    for (shape, key, cursor) in [
        ("frames", Some("frames"), Some(("cursor", json!("1")))),
        ("events", Some("events"), Some(("next", json!(1)))),
        ("messages", Some("messages"), Some(("last_event_id", json!("1")))),
        ("list", None, None),
    ] {
        case(json!({"poll_body": shape}), async |stage| {
            stage.post("a", &request(1, "ping")).await;
            let body = stage.poll("a", "&wait=0").await.json();
            let list = key.map_or(&body, |key| &body[key]);
            assert_eq!(list[0]["id"], json!(1), "{shape}");
            if let Some((name, value)) = cursor {
                assert_eq!(body[name], value, "{shape}");
            }
        });
    }
    case(json!({"poll_body": "one"}), async |stage| {
        stage.post("a", &request(1, "ping")).await;
        stage.post("a", &request(2, "ping")).await;
        for expect in [json!(1), json!(2)] {
            assert_eq!(stage.poll("a", "&wait=0").await.json()["id"], expect);
        }
        assert_eq!(stage.poll("a", "&wait=0").await.json(), json!([]));
    });
}

#[test]
fn two_clients_with_one_id_get_their_own_answers() {
    case(json!({}), async |stage| {
        stage.post("a", &call(1, "screen_read", json!({"id": "screen_7"}))).await;
        stage.post("b", &call(1, "screen_read", json!({"id": "screen_8"}))).await;
        let b = stage.poll("b", "&wait=0").await.body;
        let a = stage.poll("a", "&wait=0").await.body;
        assert!(a.contains("Budget") && !a.contains("Plan"), "{a}");
        assert!(b.contains("Plan") && !b.contains("Budget"), "{b}");
    });
}

#[test]
fn a_surface_elsewhere_is_served_over_http() {
    case_without_surface(json!({}), async |stage| {
        let inbound = format!("GET /{SESSION}/poll?token={TOKEN}&direction=inbound&wait=0");
        let outbox = format!("POST /{SESSION}/outbox?token={TOKEN}");
        // Asked before the surface is there: kept for it.
        stage.post("a", &request(1, "x")).await;
        stage.post("b", &request(1, "y")).await;
        let got = stage.ask(&inbound, "").await.json();
        let asked: Vec<Value> = got["frames"]
            .as_array()
            .unwrap()
            .iter()
            .map(|frame| serde_json::from_str(frame.as_str().unwrap()).unwrap())
            .collect();
        assert_eq!((&asked[0]["id"], &asked[0]["method"]), (&json!(1), &json!("x")));
        // The second client's id is taken; the surface sees another one, and answers with it.
        assert_eq!(asked[1]["method"], json!("y"));
        assert_ne!(asked[1]["id"], json!(1));
        let batch = json!([
            {"jsonrpc": "2.0", "id": asked[1]["id"], "result": "for b"},
            {"jsonrpc": "2.0", "id": 1, "result": "for a"},
            {"jsonrpc": "2.0", "id": 99, "result": "for nobody"},
            {"jsonrpc": "2.0", "method": "notifications/n"},
        ]);
        let (mut a, mut b) = (stage.stream("a").await, stage.stream("b").await);
        a.until("retry").await.unwrap();
        b.until("retry").await.unwrap();
        assert_eq!(stage.ask(&outbox, &batch.to_string()).await.status, 202);
        a.until("notifications/n").await.unwrap();
        b.until("notifications/n").await.unwrap();
        let of = |body: String| body.replace("event: mcp\n", "");
        let notification = r#"data: {"jsonrpc":"2.0","method":"notifications/n"}"#;
        assert_eq!(
            of(a.body()),
            format!(
                "retry: 2000\n\ndata: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"for a\"}}\n\n{notification}\n\n"
            )
        );
        assert_eq!(
            of(b.body()),
            format!(
                "retry: 2000\n\ndata: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"for b\"}}\n\n{notification}\n\n"
            )
        );
        // Presence, once a client.
        let mut surface =
            stage.open(&format!("GET /{SESSION}/events?token={TOKEN}&direction=inbound")).await;
        surface.until("\"subscriberId\":\"b\"").await.unwrap();
        stage.ask(&format!("POST /{SESSION}/unregister?token={TOKEN}&client=b"), "").await;
        surface.until("notifications/peer_left").await.unwrap();
        assert_eq!(surface.body().matches("peer_joined").count(), 2);
    });
}

#[test]
fn unauthorized_and_gone_are_told_apart_on_every_route() {
    case(json!({}), async |stage| {
        let frame = r#"{"jsonrpc":"2.0","method":"n"}"#;
        let routes = [
            ("POST", "inbox", frame),
            ("POST", "outbox", frame),
            ("GET", "events", ""),
            ("GET", "outbox", ""),
            ("GET", "poll", ""),
            ("POST", "unregister", ""),
        ];
        for (method, route, body) in routes {
            for (session, token, status, code) in [
                (SESSION, "token=fedcba9876543210&", 401, "invalid_token"),
                (SESSION, "token=&", 401, "invalid_token"),
                (SESSION, "", 401, "invalid_token"),
                ("never-was", "token=0123456789abcdef&", 410, "session_gone"),
                ("never-was", "token=x&", 410, "session_gone"),
                ("never-was", "", 401, "invalid_token"),
            ] {
                let head = format!("{method} /{session}/{route}?{token}client=a&wait=0");
                let answer = stage.ask(&head, body).await;
                assert_eq!(
                    (answer.status, answer.json()),
                    (status, json!({"error": code})),
                    "{head}"
                );
            }
        }
        stage.world.end_session();
        for (method, route, body) in routes {
            let head = format!("{method} /{SESSION}/{route}?token={TOKEN}&client=a&wait=0");
            assert_eq!(stage.ask(&head, body).await.status, 410, "{head}");
        }
    });
}

#[test]
fn a_bearer_is_as_good_as_a_token_in_the_query() {
    case(json!({}), async |stage| {
        for (header, status) in [
            (format!("authorization: Bearer {TOKEN}"), 202),
            ("authorization: Bearer fedcba9876543210".to_owned(), 401),
            (format!("authorization: Basic {TOKEN}"), 401),
        ] {
            let head = format!("POST /{SESSION}/inbox?client=a\n{header}");
            let answer = stage.ask(&head, &request(1, "ping").to_string()).await;
            assert_eq!(answer.status, status, "{header}");
        }
        stage.post("a", &request(1, "ping")).await;
        let text = format!("{:?}", stage.events());
        assert!(text.contains("Bearer [token]"), "{text}");
        assert!(text.contains(r#""token": "[token]""#), "{text}");
        assert!(!text.contains(TOKEN), "{text}");
    });
}

#[test]
fn registering_is_refused_by_the_table() {
    case(json!({}), async |stage| {
        for (body, status, code) in [
            (json!({"session": "other-1", "token": TOKEN}).to_string(), 200, None),
            (json!({"session": "other-1", "token": TOKEN}).to_string(), 200, None),
            (
                json!({"session": "other-1", "token": "fedcba9876543210"}).to_string(),
                401,
                Some("session_taken"),
            ),
            (json!({"session": "x", "token": TOKEN}).to_string(), 401, Some("invalid_session_id")),
            (json!({"session": "other-2", "token": "x"}).to_string(), 401, Some("invalid_token")),
            (json!({"session": "other-2"}).to_string(), 400, Some("missing_fields")),
            ("null".to_owned(), 400, Some("missing_fields")),
            ("{".to_owned(), 400, Some("invalid_json")),
        ] {
            let answer = stage.ask("POST /register", &body).await;
            assert_eq!(answer.status, status, "{body}");
            assert_eq!(answer.json()["error"].as_str(), code, "{body}");
        }
    });
}

#[test]
fn odd_requests_have_answers_of_their_own() {
    case(json!({}), async |stage| {
        let inbox = format!("POST /{SESSION}/inbox?token={TOKEN}&client=a");
        for (head, body, status, code) in [
            (inbox.as_str(), "hello", 400, "invalid_frame"),
            (inbox.as_str(), r#"[{"jsonrpc":"2.0","method":"a"},5]"#, 400, "invalid_frame"),
            (
                inbox.as_str(),
                r#"{"jsonrpc":"2.0","method":"notifications/peer_left"}"#,
                400,
                "invalid_frame",
            ),
            ("POST /nope", "", 404, "not_found"),
            ("GET /abc/events?token=x", "", 404, "not_found"),
            ("GET /session-1/inbox", "", 405, "method_not_allowed"),
            ("PUT /register", "", 405, "method_not_allowed"),
        ] {
            let answer = stage.ask(head, body).await;
            assert_eq!(
                (answer.status, answer.json()["error"].as_str()),
                (status, Some(code)),
                "{head} {body}"
            );
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{head}");
        }
        let health = stage.ask("GET /", "").await;
        assert_eq!((health.status, &health.json()["ok"]), (200, &json!(true)));
    });
}

#[test]
fn a_body_past_the_limit_is_answered_and_harms_nobody() {
    for wire in [Wire::Unix, Wire::Tcp] {
        case_on(wire, spec(json!({}), json!([])), async |stage| {
            let frame = |bytes: usize| {
                let head = r#"{"jsonrpc":"2.0","method":"a","params":{"p":""#;
                format!("{head}{}\"}}}}", "x".repeat(bytes - head.len() - 3))
            };
            let head = format!("POST /{SESSION}/inbox?token={TOKEN}&client=a");
            for (bytes, status) in [(262_144, 202), (262_145, 413), (3_000_000, 413), (100, 202)] {
                let mut stream = dial(stage.endpoint()).await.unwrap();
                let head = format!("{head} HTTP/1.1\r\nhost: x\r\ncontent-length: {bytes}\r\n\r\n");
                stream.write_all(head.as_bytes()).await.unwrap();
                // The whole of it can be sent: a caller that is cut off while it still writes
                // never reads why.
                stream.write_all(frame(bytes).as_bytes()).await.unwrap();
                let answer = stage.read_answer(&mut stream, true).await.unwrap();
                assert_eq!(answer.status, status, "{bytes} on {wire}");
                assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
            }
        });
    }
}

#[test]
fn ending_the_session_closes_streams_and_releases_polls() {
    case(json!({}), async |stage| {
        let mut stream = stage.stream("a").await;
        stream.until("retry").await.unwrap();
        let (polled, ended, ()) = tokio::join!(stage.poll("b", "&wait=20"), stream.end(), async {
            sleep(seconds(2.0)).await;
            stage.world.end_session();
        });
        assert_eq!((polled.status, polled.at), (410, seconds(2.0)));
        assert_eq!(ended, (seconds(2.0), true));
    });
}

#[test]
fn an_unused_session_expires_and_an_open_stream_does_not_save_it() {
    case(json!({"idle_timeout": "20s"}), async |stage| {
        sleep(seconds(10.0)).await;
        let mut stream = stage.stream("a").await;
        assert_eq!(stream.end().await, (seconds(30.0), true));
        assert_eq!(stage.poll("a", "&wait=0").await.status, 410);
        let expired = stage
            .events()
            .iter()
            .any(|event| matches!(event, Event::Session { what, .. } if what == "expired"));
        assert!(expired);
    });
}

#[test]
fn one_client_leaves_and_the_others_stay() {
    case(json!({}), async |stage| {
        let mut stream = stage.stream("b").await;
        stream.until("retry").await.unwrap();
        stage.stream("a").await.until("retry").await.unwrap();
        let left =
            stage.ask(&format!("POST /{SESSION}/unregister?token={TOKEN}&client=a"), "").await;
        assert_eq!(left.status, 200);
        stage.post("b", &request(1, "ping")).await;
        stream.until("\"id\":1").await.unwrap();
    });
}

#[test]
fn a_restart_forgets_frames_and_breaks_connections() {
    case(json!({}), async |stage| {
        stage.post("a", &request(1, "ping")).await;
        let mut stream = stage.stream("b").await;
        stream.until("retry").await.unwrap();
        stage.world.restart_relay();
        assert_eq!(stream.read().await, None);
        let polled = stage.poll("a", "&wait=0").await;
        assert_eq!((polled.status, frames(&polled)), (200, vec![]));
    });
}

/// What a client of the README does: post, open the stream, read the answer, close; five times.
async fn turns(stage: &Stage) {
    for id in 1..=5 {
        stage.post("a", &call(id, "screen_read", json!({"id": "screen_7"}))).await;
        let mut stream = stage.stream("a").await;
        stream.until(&format!("\"id\":{id},")).await.unwrap();
    }
}

#[test]
fn streams_that_close_between_turns_lose_no_answer() {
    for wire in [Wire::Unix, Wire::Tcp, Wire::Tls] {
        case_on(wire, spec(json!({}), json!([])), async |stage| {
            turns(stage).await;
            let delivered = stage
                .events()
                .iter()
                .filter(|event| {
                    matches!(event, Event::Frame { direction: Direction::ToClient, .. })
                })
                .count();
            assert_eq!((delivered, stage.began.elapsed()), (5, seconds(0.0)), "{wire}");
        });
    }
}

#[test]
fn a_hundred_runs_have_one_journal() {
    let run = || {
        case(
            json!({"faults": [{"on": {"answer": "tools/call", "chance": 0.5}, "delay": "3s"}]}),
            async |stage| {
                let work = async |client: &str| {
                    for id in 1..=3 {
                        stage
                            .post(client, &call(id, "screen_read", json!({"id": "screen_7"})))
                            .await;
                        let mut stream = stage.stream(client).await;
                        stream.until(&format!("\"id\":{id},")).await.unwrap();
                    }
                };
                tokio::join!(work("a"), work("b"), work("c"), stage.poll("d", "&wait=5"));
                format!("{:#?}", stage.tape.entries())
            },
        )
    };
    let first = run();
    assert!(first.contains("delayed the answer to tools/call"));
    for _ in 0..100 {
        assert!(run() == first, "two runs of one seed differ");
    }
}
