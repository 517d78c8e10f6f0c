//! Where requests go, over TCP: checked addresses, no redirect, no surprise (EGRESS-1, 4, 5, 6).

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use relay_client::{
    Client, EgressPolicy, Happened, Invitation, LongPoll, Owner, Resolve, Transport, TrustPolicy,
};
use serde_json::Map;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::mock::{TOKEN, participant, run, run_real};

/// A resolver that says one thing first and another later.
#[derive(Debug)]
struct Scripted {
    asked: AtomicUsize,
    answers: Vec<Vec<IpAddr>>,
}

impl Resolve for Scripted {
    fn resolve<'a>(
        &'a self,
        _: &'a str,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = self.answers[asked.min(self.answers.len() - 1)].clone();
        Box::pin(async move { Ok(answer) })
    }
}

/// Accepts connections and gives each this answer, counting them.
async fn canary(answer: String) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let hits = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&hits);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            let mut request = vec![0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (port, hits)
}

fn transports() -> [Transport; 2] {
    [Transport::sse(), Transport::long_poll(LongPoll::readme())]
}

async fn call(egress: EgressPolicy, transport: Transport, url: &str) -> relay_client::Error {
    let client = Client::builder()
        .trust(TrustPolicy::every_tool())
        .transport(transport)
        .egress(egress)
        .timeout(std::time::Duration::from_secs(5))
        .tls_roots(Vec::new())
        .build()
        .unwrap();
    let invitation = Invitation::builder()
        .relay_base_url(url)
        .session_id("sess-1")
        .token(TOKEN)
        .surface_id("board")
        .build()
        .unwrap();
    let owner = Owner::new("o");
    let id = client.attach(&owner, invitation, participant()).await.unwrap().id;
    client.call(&owner, &id, "screen_read", &Map::new()).await.unwrap_err()
}

#[test]
fn a_public_name_with_a_private_address_is_never_connected_to() {
    run(async {
        let (port, hits) = canary(String::new()).await;
        for address in ["127.0.0.1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"] {
            for transport in transports() {
                let resolver =
                    Scripted { asked: 0.into(), answers: vec![vec![address.parse().unwrap()]] };
                let egress = EgressPolicy::builder()
                    .allow_unverified(true)
                    .allowed_hosts(["relay.example"])
                    .allowed_ports([port])
                    .resolver(Arc::new(resolver))
                    .build()
                    .unwrap();
                let error = call(egress, transport, &format!("https://relay.example:{port}")).await;
                assert_eq!((error.code(), error.happened()), ("policy_refused", Happened::No));
                assert!(!error.is_terminal());
            }
        }
        assert_eq!(hits.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn nothing_is_sent_without_a_proxy_or_the_opt_in() {
    run(async {
        let (port, hits) = canary(String::new()).await;
        for transport in transports() {
            let egress = EgressPolicy::builder()
                .allowed_hosts(["127.0.0.1"])
                .allowed_ports([port])
                .build()
                .unwrap();
            let error = call(egress, transport, &format!("http://127.0.0.1:{port}")).await;
            assert_eq!(error.code(), "policy_refused");
        }
        assert_eq!(hits.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn a_redirect_is_not_followed_and_the_token_does_not_travel() {
    run(async {
        let (other, hits) = canary(String::new()).await;
        for status in [301, 302, 303, 307, 308] {
            let to = format!(
                "HTTP/1.1 {status} Moved\r\nlocation: http://127.0.0.1:{other}/\r\n\
                 content-length: 0\r\nconnection: close\r\n\r\n"
            );
            let (port, _) = canary(to).await;
            for transport in transports() {
                let egress = EgressPolicy::builder()
                    .allow_unverified(true)
                    .allowed_hosts(["127.0.0.1"])
                    .allowed_ports([port, other])
                    .build()
                    .unwrap();
                let error = call(egress, transport, &format!("http://127.0.0.1:{port}")).await;
                assert_eq!(error.code(), "transport_error");
                assert!(error.to_string().contains("redirect"), "{error}");
            }
        }
        assert_eq!(hits.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn every_request_goes_through_the_proxy_that_was_named() {
    run(async {
        let (proxy, hits) =
            canary("HTTP/1.1 502 Bad\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".into())
                .await;
        for transport in transports() {
            let before = hits.load(Ordering::SeqCst);
            let egress = EgressPolicy::builder()
                .proxy(format!("http://127.0.0.1:{proxy}"))
                .allowed_hosts(["relay.example"])
                .build()
                .unwrap();
            let error = call(egress, transport, "https://relay.example/x").await;
            assert_eq!((error.code(), error.happened()), ("transport_error", Happened::No));
            assert_eq!(hits.load(Ordering::SeqCst), before + 1, "{error}");
        }
    });
}

const RELAY: &str = "RELAY_CLIENT_TEST_RELAY";

/// The child of the test below: one call in a process whose environment names proxies. Run as a
/// test of its own it has no relay, and nothing to do.
#[test]
fn a_call_among_proxies() {
    let Ok(url) = std::env::var(RELAY) else { return };
    let port = url.rsplit(':').next().unwrap().parse().unwrap();
    run_real(async {
        let egress = EgressPolicy::builder()
            .allow_unverified(true)
            .allowed_hosts(["127.0.0.1"])
            .allowed_ports([port])
            .build()
            .unwrap();
        assert_eq!(call(egress, Transport::sse(), &url).await.code(), "attachment_unauthorized");
    });
}

#[test]
fn proxies_of_the_environment_are_not_followed() {
    let proxy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let proxy_url = format!("http://{}", proxy.local_addr().unwrap());
    let relay = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let relay_url = format!("http://{}", relay.local_addr().unwrap());
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "reach::a_call_among_proxies"]).env(RELAY, relay_url);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
        child.env(name, &proxy_url);
    }
    child.env_remove("NO_PROXY").env_remove("no_proxy").stdout(std::process::Stdio::null());
    let mut child = child.spawn().unwrap();
    // In a thread of its own, which a child that goes elsewhere leaves waiting.
    std::thread::spawn(move || {
        let (mut stream, _) = relay.accept().unwrap();
        io::Read::read(&mut stream, &mut [0; 4096]).unwrap();
        let answer = b"HTTP/1.1 401 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        io::Write::write_all(&mut stream, answer).unwrap();
    });
    assert!(child.wait().unwrap().success());
    assert_eq!(proxy.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn the_connection_goes_to_the_address_that_was_checked() {
    run(async {
        // The system says 127.0.0.1 for this name; the policy's resolver says another loopback.
        let listener = TcpListener::bind("127.0.0.77:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = format!("http://localhost:{port}");
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(answer).await;
            }
        });
        let local = || vec!["127.0.0.77".parse().unwrap()];
        let egress = |answers| {
            EgressPolicy::builder()
                .allow_unverified(true)
                .allowed_hosts(["localhost"])
                .allowed_ports([port])
                .resolver(Arc::new(Scripted { asked: 0.into(), answers }))
                .build()
                .unwrap()
        };
        let error = call(egress(vec![local()]), Transport::sse(), &url).await;
        assert_eq!(error.code(), "protocol_error", "it was reached, and answered: {error}");
        // The name leads elsewhere at the second request, which is checked like the first.
        let flipped = vec![local(), vec!["10.0.0.1".parse().unwrap()]];
        for transport in transports() {
            let error = call(egress(flipped.clone()), transport, &url).await;
            assert_eq!(error.code(), "policy_refused", "{error}");
        }
    });
}
