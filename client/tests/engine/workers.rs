//! Workers that share attachments through a store (STORE-1, STORE-2, MCP-2).

use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use relay_client::{
    Attachment, AttachmentId, AttachmentState, AttachmentStore, ClientBuilder, ConflictDetection,
    MemoryStore, Owner, RecordBytes, SealingKey, SqliteStore, StoreError,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::mock::{Act, Relay, Seat, TOKEN, json_error, minted, result, run, transports};

/// What every store owes (STORE-2), whatever it keeps records in.
async fn conforms(store: &dyn AttachmentStore) {
    let (id, other) = (AttachmentId::from("a"), AttachmentId::from("b"));
    let bytes = |text: &str| RecordBytes::new(text.as_bytes().to_vec());
    assert_eq!(store.get(&id).await.unwrap(), None);
    assert_eq!(
        store.replace(&id, 1, &bytes("x")).await.unwrap_err(),
        StoreError::Stale { read: 1 },
        "what is not there cannot be replaced"
    );
    store.insert(&id, &bytes("one")).await.unwrap();
    assert_eq!(store.insert(&id, &bytes("again")).await.unwrap_err(), StoreError::Exists);
    store.insert(&other, &bytes("\0\u{ff}")).await.unwrap();

    let read = store.get(&id).await.unwrap().unwrap();
    assert_eq!((read.version, read.record), (1, bytes("one")));
    store.replace(&id, 1, &bytes("two")).await.unwrap();
    for stale in [0, 1, 3, u64::MAX] {
        assert_eq!(
            store.replace(&id, stale, &bytes("lost")).await.unwrap_err(),
            StoreError::Stale { read: stale }
        );
    }
    let read = store.get(&id).await.unwrap().unwrap();
    assert_eq!((read.version, read.record), (2, bytes("two")));
    assert_eq!(store.get(&other).await.unwrap().unwrap().version, 1, "its neighbour is unharmed");

    store.remove(&id).await.unwrap();
    store.remove(&id).await.unwrap();
    assert_eq!(store.get(&id).await.unwrap(), None);
    store.insert(&id, &bytes("anew")).await.unwrap();
    assert_eq!(store.get(&id).await.unwrap().unwrap().version, 1);
}

#[test]
fn every_store_conforms() {
    let dir = tempfile::tempdir().unwrap();
    run(async {
        conforms(&MemoryStore::new()).await;
        conforms(&SqliteStore::open(dir.path().join("seats.db")).unwrap()).await;
    });
}

const RACE: &str = "RELAY_CLIENT_TEST_RACE";
const LAPS: u64 = 150;

/// One process of the race below: adds one to a number, `LAPS` times. Run as a test of its own it
/// has no file to race on, and nothing to do.
#[test]
fn a_racer() {
    let Ok(file) = std::env::var(RACE) else { return };
    run(async {
        let store = SqliteStore::open(file).unwrap();
        let id = AttachmentId::from("counter");
        for _ in 0..LAPS {
            loop {
                let read = store.get(&id).await.unwrap().unwrap();
                let number: u64 =
                    std::str::from_utf8(read.record.as_bytes()).unwrap().parse().unwrap();
                let next = RecordBytes::new((number + 1).to_string().into_bytes());
                match store.replace(&id, read.version, &next).await {
                    Ok(()) => break,
                    Err(StoreError::Stale { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
    });
}

#[test]
fn two_processes_race_on_one_file_and_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("seats.db");
    let id = AttachmentId::from("counter");
    let store = SqliteStore::open(&file).unwrap();
    run(async { store.insert(&id, &RecordBytes::new(b"0".to_vec())).await.unwrap() });
    let racer = |_| -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "workers::a_racer"])
            .env(RACE, &file)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    for mut child in [1, 2].map(racer) {
        assert!(child.wait().unwrap().success());
    }
    let end = run(async { store.get(&id).await.unwrap().unwrap() });
    assert_eq!(end.record.as_bytes(), (2 * LAPS).to_string().as_bytes());
    assert_eq!(end.version, 2 * LAPS + 1);
}

/// Another worker's client for a seat that was taken elsewhere.
fn worker(builder: ClientBuilder, owner: &Owner, attachment: &Attachment) -> Seat {
    Seat { client: builder.build().unwrap(), owner: owner.clone(), attachment: attachment.clone() }
}

#[test]
fn a_restart_keeps_pins_and_costs_one_handshake() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("seats.db");
    run(async {
        for transport in transports() {
            let relay = Relay::start().await.calls(|_, _, _| minted("a", "r1"));
            let open = || {
                let store = Arc::new(SqliteStore::open(&file).unwrap());
                relay.builder().transport(transport.clone()).store(store)
            };
            let first = Seat::take(open()).await;
            first.call("screen_read").await.unwrap();
            first.call("screen_read").await.unwrap();
            let second = worker(open(), &first.owner, &first.attachment);
            drop(first);
            second.call("screen_move").await.unwrap();
            assert_eq!(relay.pins(), [Value::Null, json!("r1"), json!("r1")]);
            assert_eq!(relay.count("inbox initialize"), 2);
            let clients: Vec<_> =
                relay.seen().iter().map(|seen| seen.query["client"].clone()).collect();
            assert!(clients.windows(2).all(|pair| pair[0] == pair[1]));
            let mut ids: Vec<String> = relay
                .seen()
                .iter()
                .filter_map(|seen| Some(seen.frame.as_ref()?.get("id")?.as_str()?.to_owned()))
                .collect();
            let asked = ids.len();
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), asked, "no two workers use one id");
        }
    });
}

#[test]
fn an_end_that_another_worker_saw_is_never_overwritten() {
    run(async {
        let relay = Relay::start().await.calls(|_, _, _| minted("a", "r9"));
        let store = Arc::new(MemoryStore::new());
        let one = Seat::take(relay.builder().store(store.clone())).await;
        let two = worker(relay.builder().store(store), &one.owner, &one.attachment);
        one.call("screen_read").await.unwrap();
        relay.on_nth("inbox tools/call", 1, Act::Late(Duration::from_secs(5)));
        relay.on("unregister", json_error(410, "session_gone"));
        let (slow, ()) = tokio::join!(one.call("screen_move"), async {
            sleep(Duration::from_secs(1)).await;
            two.client.detach(&two.owner, &two.attachment.id).await.unwrap();
        });
        slow.unwrap();
        let status = one.status().await;
        assert_eq!(status.state, AttachmentState::SurfaceUnavailable);
        assert_eq!(one.call("screen_read").await.unwrap_err().code(), "surface_unavailable");
    });
}

#[test]
fn a_refusal_of_an_old_pin_does_not_drop_a_newer_one() {
    run(async {
        let mut answers = vec![
            minted("a", "r1"),
            minted("b", "r2"),
            json!({ "error": { "code": 409, "message": "stale" } }),
        ]
        .into_iter();
        let relay =
            Relay::start().await.calls(move |_, _, _| answers.next().unwrap_or(result("c")));
        let store = Arc::new(MemoryStore::new());
        let one = Seat::take(relay.builder().store(store.clone())).await;
        let two = worker(relay.builder().store(store), &one.owner, &one.attachment);
        one.call("screen_read").await.unwrap();
        two.client.tools(&two.owner, &two.attachment.id).await.unwrap();
        relay.on_nth("inbox tools/call", 1, Act::Late(Duration::from_secs(5)));
        let (refused, ()) = tokio::join!(one.call("screen_move"), async {
            sleep(Duration::from_secs(1)).await;
            two.call("screen_read").await.unwrap();
        });
        assert_eq!(refused.unwrap_err().code(), "surface_changed_under_you");
        let status = one.status().await;
        assert_eq!(status.revision.unwrap().token(), "r2");
        assert_eq!(status.conflict_detection, ConflictDetection::Enforced);
    });
}

#[test]
fn a_sealed_file_holds_neither_token_nor_owner_and_an_ended_one_no_token_either() {
    let contains = |file: &Path, text: &str| {
        let bytes = std::fs::read(file).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    let dir = tempfile::tempdir().unwrap();
    run(async {
        let relay = Relay::start().await;
        let file = dir.path().join("sealed.db");
        let open = |key: u8| {
            let store = Arc::new(SqliteStore::open(&file).unwrap());
            relay.builder().store(store).sealing_key(SealingKey::new([key; 32]))
        };
        let seat = Seat::take(open(1)).await;
        seat.call("screen_read").await.unwrap();
        for secret in [TOKEN, "owner-1", "planner"] {
            assert!(!contains(&file, secret), "{secret}");
        }
        let other_key = worker(open(2), &seat.owner, &seat.attachment);
        assert_eq!(other_key.call("screen_read").await.unwrap_err().code(), "store_error");

        let file = dir.path().join("plain.db");
        let store = Arc::new(SqliteStore::open(&file).unwrap());
        let seat = Seat::take(relay.builder().store(store)).await;
        assert!(contains(&file, TOKEN), "as documented: without a key it is in the clear");
        seat.client.detach(&seat.owner, &seat.attachment.id).await.unwrap();
        assert!(!contains(&file, TOKEN), "the end forgets the token");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    });
}
