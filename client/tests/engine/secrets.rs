//! The token is shown to the relay and to nobody else (AUTH-2).

use std::io::Write;
use std::sync::{Arc, Mutex};

use relay_client::{Auth, LongPoll, SealingKey, Transport};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::mock::{Act, Relay, SESSION, Seat, TOKEN, json_error, run};

/// Everything that was logged, by every crate.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// The only test that installs a logger, since there is one for the whole process.
#[test]
fn the_token_is_in_no_log_error_or_debug_print() {
    let log = Log::default();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .with_ansi(false)
        .init();
    let mut told = String::new();
    run(async {
        let echo = format!("<html>GET /relay/{SESSION}/inbox?token={TOKEN}</html>").into_bytes();
        let acts = [
            None,
            Some(Act::Answer(500, "text/html", echo.clone())),
            Some(Act::Answer(200, "text/html", echo.clone())),
            Some(Act::Answer(302, "text/html", echo.clone())),
            Some(Act::Answer(
                400,
                "application/json",
                json!({ "error": TOKEN }).to_string().into(),
            )),
            Some(json_error(401, TOKEN)),
            Some(json_error(410, TOKEN)),
            Some(Act::Hang),
        ];
        for auth in [Auth::Query, Auth::Bearer] {
            for transport in [
                Transport::sse(),
                Transport::long_poll(LongPoll::readme()),
                Transport::long_poll(LongPoll::public()),
            ] {
                for act in acts.clone() {
                    for request in ["inbox tools/call", "events", "outbox", "poll", "unregister"] {
                        let relay = Relay::start().await;
                        let builder = relay.builder().transport(transport.clone()).auth(auth);
                        told += &format!("{builder:?}");
                        let seat = Seat::take(builder).await;
                        if let Some(act) = &act {
                            relay.on(request, act.clone());
                        }
                        let called = seat.call("screen_read").await;
                        let left = seat.client.detach(&seat.owner, &seat.attachment.id).await;
                        for error in
                            [called.as_ref().err(), left.as_ref().err()].into_iter().flatten()
                        {
                            told += &format!("{error} {error:?} {error:#?}");
                            let mut source = std::error::Error::source(error);
                            while let Some(cause) = source {
                                told += &format!("{cause} {cause:?}");
                                source = cause.source();
                            }
                        }
                        told +=
                            &format!("{:?} {:?} {:?}", seat.client, seat.attachment, seat.owner);
                        told += &format!("{:?} {called:?}", seat.status().await);
                    }
                }
            }
        }
        // A relay that is not there at all.
        let relay = Relay::start().await;
        let seat = Seat::take(relay.builder().unix_socket("/nowhere/relay.sock")).await;
        let error = seat.call("screen_read").await.unwrap_err();
        assert_eq!(error.code(), "transport_error");
        told += &format!("{error} {error:?} {:?}", SealingKey::new([7; 32]));
    });
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    // A canary that never sang proves nothing.
    for spoke in ["relay answered", "route=\"inbox\"", "attached", "status=401", "reqwest"] {
        assert!(logged.contains(spoke), "nothing of {spoke:?} was logged");
    }
    assert!(told.contains("redacted"));
    for (where_, text) in [("log", &logged), ("errors and debug prints", &told)] {
        if let Some(at) = text.find(TOKEN) {
            let from = text[..at].char_indices().rev().nth(300).map_or(0, |(at, _)| at);
            panic!("the token is in the {where_}: …{}…", &text[from..at]);
        }
    }
}
