//! The hostile corpus through both transports: what is refused sends nothing (EGRESS-6).

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use relay_client::{
    Client, EgressPolicy, Happened, Invitation, LongPoll, Owner, Resolve, Transport, TrustPolicy,
};
use serde::Deserialize;
use serde_json::Map;
use tokio::net::TcpListener;
use url::Url;

use crate::mock::{TOKEN, participant, run};

const CORPUS: &str = include_str!("../hostile_invitations.yaml");

/// One entry; the head of the corpus says what each field means.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    url: String,
    refused: Option<String>,
    #[serde(default)]
    #[allow(dead_code, reason = "what is admitted is the policy's own test")]
    admitted: Vec<String>,
    note: String,
    resolves: Option<Vec<IpAddr>>,
    later: Option<Vec<IpAddr>>,
    listed: Option<Vec<String>>,
    ports: Option<Vec<u16>>,
    #[serde(default = "yes")]
    opt_in: bool,
    through: Option<String>,
}

fn yes() -> bool {
    true
}

#[derive(Debug)]
struct Says {
    asked: AtomicUsize,
    first: Vec<IpAddr>,
    later: Vec<IpAddr>,
}

impl Resolve for Says {
    fn resolve<'a>(
        &'a self,
        _: &'a str,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        let first = self.asked.fetch_add(1, Ordering::SeqCst) == 0;
        let answer = if first { self.first.clone() } else { self.later.clone() };
        Box::pin(async move { Ok(answer) })
    }
}

impl Entry {
    fn egress(&self, proxy: &str) -> Option<EgressPolicy> {
        let public = || vec![IpAddr::from([93, 184, 216, 34])];
        let first = self.resolves.clone().unwrap_or_else(public);
        let later = self.later.clone().unwrap_or_else(|| first.clone());
        let own = Url::parse(&self.url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let listed = self.listed.clone().unwrap_or_else(|| own.into_iter().collect());
        let mut builder = EgressPolicy::builder()
            .allow_unverified(self.opt_in)
            .allowed_hosts(listed)
            .resolver(Arc::new(Says { asked: 0.into(), first, later }));
        if let Some(ports) = &self.ports {
            builder = builder.allowed_ports(ports.clone());
        }
        if self.through.is_some() {
            builder = builder.proxy(proxy);
        }
        builder.build().ok()
    }
}

#[test]
fn hostile_invitations_send_nothing_on_either_transport() {
    let entries: Vec<Entry> = serde_yaml::from_str(CORPUS).unwrap();
    run(async {
        // What would be sent through a proxy arrives here.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = format!("http://{}", listener.local_addr().unwrap());
        let hits = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&hits);
        tokio::spawn(async move {
            while listener.accept().await.is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
        for entry in &entries {
            let Some(why) = &entry.refused else { continue };
            for transport in [Transport::sse(), Transport::long_poll(LongPoll::readme())] {
                let invitation = Invitation::builder()
                    .relay_base_url(&entry.url)
                    .session_id("sess-1")
                    .token(TOKEN)
                    .surface_id("board")
                    .build();
                // Refused before there is a client to send anything.
                let (Ok(invitation), Some(egress)) = (invitation, entry.egress(&proxy)) else {
                    *refused.entry("when it was built").or_default() += 1;
                    continue;
                };
                let client = Client::builder()
                    .trust(TrustPolicy::every_tool())
                    .transport(transport)
                    .egress(egress)
                    .tls_roots(Vec::new())
                    .build()
                    .unwrap();
                let owner = Owner::new("o");
                let id = client.attach(&owner, invitation, participant()).await.unwrap().id;
                let case = format!("{} ({}: {why})", entry.url.escape_debug(), entry.note);
                let error = client.call(&owner, &id, "screen_read", &Map::new()).await.unwrap_err();
                assert_eq!(error.code(), "policy_refused", "{case}: {error}");
                assert_eq!(error.happened(), Happened::No, "{case}");
                assert!(!error.is_terminal(), "{case}");
                assert!(!format!("{error} {error:?}").contains(TOKEN), "{case}");
                *refused.entry("when it was used").or_default() += 1;
            }
        }
        assert!(refused["when it was used"] >= 150, "{refused:?}");
        assert_eq!(hits.load(Ordering::SeqCst), 0, "not one packet");
    });
}
