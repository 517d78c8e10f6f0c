//! Hostile invitations, each against the one egress policy, and through every transport (EGRESS-6).
//!
//! The corpus is data: `hostile_invitations.yaml` tells what each trick is. A trick that somebody
//! thinks of becomes a line there.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::future::ready;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use relay_client::{
    Activity, AttachmentState, CheckedRelay, Client, EgressPolicy, EgressRefused, Error, Happened,
    Invitation, InvitationError, LongPoll, Owner, Participant, RelayUrlError, Resolve, Transport,
    TrustPolicy,
};
use serde::Deserialize;

const CORPUS: &str = include_str!("hostile_invitations.yaml");
const PROXY: &str = "http://proxy.internal:3128";
/// What a name resolves to unless the entry says otherwise.
const PUBLIC: &str = "93.184.216.34";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    url: String,
    note: String,
    refused: Option<String>,
    admitted: Option<Vec<IpAddr>>,
    resolves: Option<Vec<IpAddr>>,
    later: Option<Vec<IpAddr>>,
    listed: Option<Vec<String>>,
    ports: Option<Vec<u16>>,
    #[serde(default = "yes")]
    opt_in: bool,
    through: Option<Through>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Through {
    Proxy,
}

fn yes() -> bool {
    true
}

fn corpus() -> Vec<Entry> {
    serde_yaml::from_str(CORPUS).unwrap()
}

/// Answers what the entry says, and counts how often it was asked.
#[derive(Debug)]
struct Scripted {
    answers: Mutex<Vec<Vec<IpAddr>>>,
    asked: Mutex<usize>,
}

impl Resolve for Scripted {
    fn resolve<'a>(
        &'a self,
        _host: &'a str,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        *self.asked.lock().unwrap() += 1;
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
        Box::pin(ready(Ok(answer)))
    }
}

impl Entry {
    fn resolver(&self) -> Arc<Scripted> {
        let first = self.resolves.clone().unwrap_or_else(|| vec![PUBLIC.parse().unwrap()]);
        let answers = [Some(first), self.later.clone()].into_iter().flatten().collect();
        Arc::new(Scripted { answers: Mutex::new(answers), asked: Mutex::new(0) })
    }

    fn policy(&self, resolver: Arc<Scripted>) -> EgressPolicy {
        // The URL's own host as the most lenient of readers sees it, so that what is refused is
        // refused for the trick.
        let own = || url::Url::parse(&self.url).ok()?.host_str().map(str::to_owned);
        let hosts = self.listed.clone().unwrap_or_else(|| own().into_iter().collect());
        let builder = EgressPolicy::builder()
            .allow_unverified(self.opt_in)
            .allowed_hosts(hosts)
            .allowed_ports(self.ports.clone().unwrap_or_else(|| vec![443]))
            .resolver(resolver);
        let builder = if self.through.is_some() { builder.proxy(PROXY) } else { builder };
        builder.build().unwrap()
    }

    fn invitation(&self) -> Result<Invitation, InvitationError> {
        Invitation::builder()
            .relay_base_url(&self.url)
            .session_id("board-1")
            .token("sesame-open-please")
            .surface_id("board")
            .application("planner")
            .build()
    }

    async fn admit(&self, policy: &EgressPolicy) -> Result<CheckedRelay, &'static str> {
        let invitation = self.invitation().map_err(|error| word_of_invitation(&error))?;
        policy.admit(&invitation).await.map_err(|refused| word_of(&refused))
    }

    /// What is wrong with how the policy treats this entry. Nothing, when it is as it must be.
    async fn judge(&self) -> Result<(), String> {
        let resolver = self.resolver();
        let policy = self.policy(Arc::clone(&resolver));
        let seen = self.admit(&policy).await;
        let asked = *resolver.asked.lock().unwrap();
        match (&self.refused, &self.admitted) {
            (Some(word), None) => match seen {
                Err(seen) if seen == word => {}
                other => return Err(format!("must be refused for its {word}, and is {other:?}")),
            },
            (None, Some(expected)) => {
                let relay =
                    seen.map_err(|seen| format!("must be admitted, not refused: {seen}"))?;
                let dialled: Vec<IpAddr> = relay.addresses().iter().map(SocketAddr::ip).collect();
                if dialled != *expected {
                    return Err(format!("must be dialled at {expected:?}, and is at {dialled:?}"));
                }
                let port = relay.base_url().port_or_known_default().unwrap();
                if relay.addresses().iter().any(|address| address.port() != port) {
                    return Err("is dialled at another port than its URL's".to_owned());
                }
            }
            _ => return Err("is either refused or admitted, and must say which".to_owned()),
        }
        if asked > 1 || (self.through.is_some() && asked > 0) {
            return Err(format!("was looked up {asked} times"));
        }
        if self.later.is_some()
            && let Ok(relay) = self.admit(&policy).await
        {
            return Err(format!("was admitted again, at {:?}", relay.addresses()));
        }
        Ok(())
    }
}

fn word_of_invitation(error: &InvitationError) -> &'static str {
    match error {
        InvitationError::RelayUrl(RelayUrlError::Spelling { .. }) => "spelling",
        InvitationError::RelayUrl(RelayUrlError::Scheme) => "scheme",
        InvitationError::RelayUrl(RelayUrlError::Userinfo) => "userinfo",
        InvitationError::RelayUrl(RelayUrlError::Query) => "query",
        InvitationError::RelayUrl(RelayUrlError::Fragment) => "fragment",
        _ => "another field",
    }
}

fn word_of(refused: &EgressRefused) -> &'static str {
    match refused {
        EgressRefused::NoProxy => "unverified",
        EgressRefused::NotHttps => "scheme",
        EgressRefused::Host { .. } => "host",
        EgressRefused::Port { .. } => "port",
        EgressRefused::Address { .. } | EgressRefused::NotLocal { .. } => "address",
        EgressRefused::Unresolvable { .. } => "silence",
        _ => "something else",
    }
}

/// Real sockets stay untouched, so the runtime needs no driver.
fn run<T>(case: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(case)
}

#[test]
fn hostile_invitations_are_refused_for_what_they_are_and_good_ones_admitted() {
    let corpus = corpus();
    let wrong: Vec<String> = run(async {
        let mut wrong = Vec::new();
        for entry in &corpus {
            if let Err(what) = entry.judge().await {
                wrong.push(format!("{:?} ({}) {what}", entry.url, entry.note));
            }
        }
        wrong
    });
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), corpus.len(), wrong.join("\n"));
}

/// A corpus that shrank, or lost a kind of trick, proves less than it seems to.
#[test]
fn hostile_invitations_are_many_and_of_every_kind() {
    let corpus = corpus();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in &corpus {
        *kinds.entry(entry.refused.as_deref().unwrap_or("admitted")).or_default() += 1;
    }
    let refused: usize =
        kinds.iter().filter(|(kind, _)| **kind != "admitted").map(|(_, n)| n).sum();
    assert!(refused >= 150, "{kinds:?}");
    for kind in [
        "admitted",
        "spelling",
        "scheme",
        "userinfo",
        "query",
        "fragment",
        "host",
        "port",
        "address",
        "silence",
        "unverified",
    ] {
        assert!(kinds.contains_key(kind), "{kind}: {kinds:?}");
    }
    assert_eq!(kinds.len(), 11, "{kinds:?}");
}

#[test]
fn hostile_invitations_are_never_repeated_in_a_refusal() {
    for entry in corpus() {
        let Err(error) = entry.invitation() else { continue };
        let said = format!("{error} {error:?}");
        assert!(entry.url.len() < 12 || !said.contains(&entry.url), "{said}");
        for secret in ["pass", "aaaaaaaaaaaaaaaa", "tenant"] {
            let is_there = entry.url.contains(secret) && said.contains(secret);
            // "a user name or password" is a word of ours.
            assert!(!is_there || secret == "pass", "{said}");
        }
    }
}

/// One policy, and both transports and every operation under it: nothing is sent, and a slip of
/// configuration ends nothing (EGRESS-6, LIFE-5).
#[test]
fn hostile_invitations_are_refused_through_every_transport() {
    let transports = [
        Transport::sse(),
        Transport::long_poll(LongPoll::readme()),
        Transport::long_poll(LongPoll::public()),
    ];
    run(async {
        for transport in transports {
            let mut reached = 0;
            for entry in corpus().iter().filter(|entry| entry.refused.is_some()) {
                let Ok(invitation) = entry.invitation() else { continue };
                reached += 1;
                refused_by_a_client(entry, invitation, &transport).await;
            }
            assert!(reached > 60, "{reached}");
        }
    });
}

async fn refused_by_a_client(entry: &Entry, invitation: Invitation, transport: &Transport) {
    // First without a client: one that is let through by mistake would dial a stranger.
    let alone = entry.policy(entry.resolver()).admit(&invitation).await;
    assert!(alone.is_err(), "{:?} ({}) is admitted", entry.url, entry.note);
    let client = Client::builder()
        .transport(transport.clone())
        .trust(TrustPolicy::every_tool())
        .egress(entry.policy(entry.resolver()))
        .tls_roots(Vec::new())
        .build()
        .unwrap();
    let owner = Owner::new("somebody");
    let participant = Participant::new("agent-1", "Ada", "#336699");
    let id = client.attach(&owner, invitation, participant).await.unwrap().id;
    let operations = [
        client.tools(&owner, &id).await.map(drop),
        client.call(&owner, &id, "screen_read", &serde_json::Map::new()).await.map(drop),
        client.changes_since(&owner, &id).await.map(drop),
        client.announce(&owner, &id, Activity::new("reading")).await,
        client.detach(&owner, &id).await,
    ];
    for outcome in operations {
        let Err(Error::Egress { cause: refused, happened: Happened::No }) = &outcome else {
            panic!("{:?} ({}) came to {outcome:?}", entry.url, entry.note);
        };
        assert_eq!(Some(word_of(refused)), entry.refused.as_deref(), "{:?}", entry.url);
    }
    let state = client.status(&owner, &id).await.unwrap().state;
    assert_eq!(state, AttachmentState::Attached, "{:?}", entry.url);
}
