//! Our own client, in this process and on the case's clock.

use super::protocol::{
    Actor, Answer, Attach, Attached, AttachmentState, Auth, Call, Called, Capability, Change,
    ChangeKind, Changes, Config, Detached, Detection, DetectionState, Digest, Done, ErrorCode,
    FeedState, Happened, Hello, Named, Operation, OperationError, PROTOCOL, PollDialect, Priority,
    SetAside, Status, Tool, Tools, Transport,
};
use crate::run::Recorder;
use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use relay_client as client;
use relay_simulator::wire::Endpoint;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tracing::subscriber::DefaultGuard;

mod log;

/// Our client during one case.
pub struct Builtin {
    endpoint: Endpoint,
    agents: RefCell<BTreeMap<String, Agent>>,
    stores: RefCell<BTreeMap<String, Arc<dyn client::AttachmentStore>>>,
    entropy: client::Entropy,
    /// While it lives, what the client logs on this thread goes to the record.
    _log: DefaultGuard,
}

/// One agent's client, and the attachment it works on.
#[derive(Clone)]
struct Agent {
    client: client::Client,
    attachment: client::AttachmentId,
}

/// How the built-in client introduces itself.
pub fn hello() -> Hello {
    Hello {
        protocol: PROTOCOL,
        name: "builtin".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        language: "Rust".to_owned(),
        capabilities: Capability::ALL.to_vec(),
        cannot_honour: Vec::new(),
        timeout_step_ms: 1,
    }
}

impl Builtin {
    /// Our client for a world at `endpoint`, its ids drawn from `seed`, its log going to
    /// `recorder`.
    pub(crate) fn new(endpoint: &Endpoint, recorder: &Arc<Recorder>, seed: u64) -> Self {
        // Another stream of the same seed than the one that made the session.
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        random.set_stream(1);
        Self {
            endpoint: endpoint.clone(),
            agents: RefCell::default(),
            stores: RefCell::default(),
            entropy: client::Entropy::from_rng(random),
            _log: log::capture(recorder),
        }
    }

    /// How it introduces itself.
    pub fn hello(&self) -> &Hello {
        static HELLO: OnceLock<Hello> = OnceLock::new();
        HELLO.get_or_init(hello)
    }

    /// Does what it is asked.
    pub async fn perform(&self, operation: Operation) -> Result<Answer, OperationError> {
        match operation {
            Operation::Hello { .. } => Ok(Answer::Hello(hello())),
            Operation::Attach(attach) => self.attach(*attach).await,
            Operation::Tools(named) => self.tools(&named).await,
            Operation::Call(call) => self.call(call).await,
            Operation::ChangesSince(named) => self.changes_since(&named).await,
            Operation::ConflictDetection(named) => {
                let Seat { agent, owner } = self.seat(&named)?;
                let detection = agent.client.conflict_detection(&owner, &agent.attachment).await;
                let state = detection_state(detection.map_err(failure)?);
                Ok(Answer::Detection(Detection { state }))
            }
            Operation::Announce(announce) => {
                let named = Named { agent: announce.agent, owner: announce.owner };
                let Seat { agent, owner } = self.seat(&named)?;
                let mut activity = client::Activity::new(announce.action);
                activity.target = announce.target;
                activity.correlation_id = announce.correlation_id;
                activity.priority = match announce.priority {
                    Priority::Background => client::Priority::Background,
                    Priority::Normal => client::Priority::Normal,
                    Priority::Attention => client::Priority::Attention,
                    Priority::Blocking => client::Priority::Blocking,
                };
                let told = agent.client.announce(&owner, &agent.attachment, activity).await;
                told.map_err(failure)?;
                Ok(Answer::Done(Done {}))
            }
            Operation::Status(named) => self.status(&named).await,
            Operation::Detach(named) => {
                let Seat { agent, owner } = self.seat(&named)?;
                agent.client.detach(&owner, &agent.attachment).await.map_err(failure)?;
                let status =
                    agent.client.status(&owner, &agent.attachment).await.map_err(failure)?;
                Ok(Answer::Detached(Detached { state: attachment_state(status.state) }))
            }
            Operation::Digest { definition } => digest(&definition),
            Operation::Reset | Operation::Shutdown => {
                self.agents.borrow_mut().clear();
                self.stores.borrow_mut().clear();
                Ok(Answer::Done(Done {}))
            }
        }
    }

    /// The case is over: everything is forgotten.
    pub async fn leave(self) {
        drop(self);
    }

    async fn attach(&self, attach: Attach) -> Result<Answer, OperationError> {
        let client = self.client(&attach.config)?;
        let owner = client::Owner::new(&attach.owner);
        if let Some(id) = attach.resume {
            let attachment = client::AttachmentId::from(id);
            let known = client.status(&owner, &attachment).await.map_err(failure)?;
            let agent = Agent { client, attachment: known.id.clone() };
            self.agents.borrow_mut().insert(attach.agent, agent);
            return Ok(attached(&known));
        }
        let invitation = client::Invitation::builder()
            .relay_base_url(&attach.invitation.relay_base_url)
            .session_id(&attach.invitation.session_id)
            .token(attach.invitation.token.reveal())
            .surface_id(&attach.invitation.surface_id)
            .application(&attach.invitation.application)
            .build()
            .map_err(|error| refused("Invitation", &error))?;
        let participant = client::Participant::new(
            &attach.participant.id,
            &attach.participant.name,
            &attach.participant.color,
        );
        let seat = client.attach(&owner, invitation, participant).await.map_err(failure)?;
        let agent = Agent { client, attachment: seat.id.clone() };
        self.agents.borrow_mut().insert(attach.agent, agent);
        Ok(attached(&seat))
    }

    fn client(&self, config: &Config) -> Result<client::Client, OperationError> {
        let trust = match &config.trust {
            trust if trust.undeclared => client::TrustPolicy::undeclared(),
            trust if trust.every_tool => client::TrustPolicy::every_tool(),
            trust => client::TrustPolicy::allowing(trust.allow.iter().map(String::as_str)),
        };
        let trust =
            config.trust.pins.iter().fold(trust, |trust, (tool, digest)| trust.pin(tool, digest));
        let transport = match config.transport {
            Transport::Sse => client::Transport::sse(),
            Transport::LongPoll => client::Transport::long_poll(long_poll(config)),
        };
        let egress = client::EgressPolicy::builder()
            .allow_unverified(config.egress.allow_unverified)
            .allowed_hosts(config.egress.allowed_hosts.iter().map(String::as_str))
            .allowed_ports(config.egress.allowed_ports.iter().copied())
            .build()
            .map_err(|error| refused("EgressPolicy", &error))?;
        let mut builder = client::Client::builder()
            .trust(trust)
            .transport(transport)
            .egress(egress)
            .auth(match config.auth {
                Auth::Query => client::Auth::Query,
                Auth::Bearer => client::Auth::Bearer,
            })
            .timeout(Duration::from_millis(config.timeout_ms))
            .max_result_bytes(bytes(config.max_result_bytes))
            .max_frame_bytes(bytes(config.max_frame_bytes))
            .require_revision(config.require_revision)
            .subscribe_first(config.subscribe_first)
            .store(self.store(config))
            .entropy(self.entropy.clone());
        if let Some(path) = &self.endpoint.unix_socket {
            builder = builder.unix_socket(path);
        }
        if let Some(root) = &self.endpoint.tls_root_der {
            builder = builder.tls_roots(vec![root.clone()]);
        } else {
            // Plain HTTP: the platform's roots would cost more to load than a whole case.
            builder = builder.tls_roots(Vec::new());
        }
        builder.build().map_err(failure)
    }

    fn store(&self, config: &Config) -> Arc<dyn client::AttachmentStore> {
        let Some(name) = &config.store.path else {
            return Arc::new(client::MemoryStore::default());
        };
        let mut stores = self.stores.borrow_mut();
        let store =
            stores.entry(name.clone()).or_insert_with(|| Arc::new(client::MemoryStore::default()));
        Arc::clone(store)
    }

    fn seat(&self, named: &Named) -> Result<Seat, OperationError> {
        match self.agents.borrow().get(&named.agent) {
            Some(agent) => {
                Ok(Seat { agent: agent.clone(), owner: client::Owner::new(&named.owner) })
            }
            None => Err(OperationError {
                code: ErrorCode::NotAttached,
                native: "none".to_owned(),
                message: format!("the agent `{}` is not attached", named.agent),
                happened: Some(Happened::No),
            }),
        }
    }

    async fn tools(&self, named: &Named) -> Result<Answer, OperationError> {
        let Seat { agent, owner } = self.seat(named)?;
        let catalogue = agent.client.tools(&owner, &agent.attachment).await.map_err(failure)?;
        Ok(Answer::Tools(Tools {
            tools: catalogue
                .tools
                .iter()
                .map(|tool| Tool {
                    name: tool.name().to_owned(),
                    description: tool.description().to_owned(),
                    digest: Some(tool.digest()),
                })
                .collect(),
            set_aside: Some(
                catalogue
                    .set_aside
                    .iter()
                    .map(|aside| SetAside { name: plain(&aside.name), why: aside.why.to_string() })
                    .collect(),
            ),
        }))
    }

    async fn call(&self, call: Call) -> Result<Answer, OperationError> {
        let named = Named { agent: call.agent, owner: call.owner };
        let Seat { agent, owner } = self.seat(&named)?;
        let called = agent
            .client
            .call(&owner, &agent.attachment, &call.tool, &call.arguments)
            .await
            .map_err(failure)?;
        let revision = called.revision.map(|revision| revision.token().to_owned());
        Ok(Answer::Called(Called { text: called.framed, revision }))
    }

    async fn changes_since(&self, named: &Named) -> Result<Answer, OperationError> {
        let Seat { agent, owner } = self.seat(named)?;
        let changes =
            agent.client.changes_since(&owner, &agent.attachment).await.map_err(failure)?;
        Ok(Answer::Changes(Changes {
            feed: feed_state(changes.feed()),
            complete: changes.is_complete(),
            answered: changes.answered(),
            nothing_changed: changes.nothing_changed(),
            changes: changes
                .rows()
                .iter()
                .map(|change| Change {
                    handle: change.handle.clone(),
                    kind: change_kind(change.kind),
                    actor: actor(change.actor),
                    label: change.label.clone(),
                })
                .collect(),
            defer_to: changes.defer_to().iter().map(|change| change.handle.clone()).collect(),
            handles: changes.handles().into_iter().map(str::to_owned).collect(),
            revision: changes.revision().map(|revision| revision.token().to_owned()),
        }))
    }

    async fn status(&self, named: &Named) -> Result<Answer, OperationError> {
        let Seat { agent, owner } = self.seat(named)?;
        let seat = agent.client.status(&owner, &agent.attachment).await.map_err(failure)?;
        Ok(Answer::Status(Status {
            state: attachment_state(seat.state),
            revision: seat.revision.as_ref().map(|revision| revision.token().to_owned()),
            conflict_detection: detection_state(seat.conflict_detection),
            change_feed: feed_state(seat.change_feed),
            client: Some(seat.client_id.to_string()),
        }))
    }
}

struct Seat {
    agent: Agent,
    owner: client::Owner,
}

fn attached(seat: &client::Attachment) -> Answer {
    Answer::Attached(Attached {
        attachment: seat.id.to_string(),
        client: Some(seat.client_id.to_string()),
    })
}

fn bytes(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn long_poll(config: &Config) -> client::LongPoll {
    let mut settings = match config.poll.dialect {
        PollDialect::Readme => client::LongPoll::readme(),
        PollDialect::Public => client::LongPoll::public(),
    };
    settings.path = config.poll.path.clone();
    settings.wait = Duration::from_millis(config.poll.wait_ms);
    settings
}

fn digest(definition: &Value) -> Result<Answer, OperationError> {
    match client::ToolDefinition::read(definition) {
        Ok(tool) => Ok(Answer::Digest(Digest { digest: tool.digest() })),
        Err(error) => Err(refused("ToolDefinition", &error)),
    }
}

fn refused(native: &str, error: &dyn std::fmt::Display) -> OperationError {
    OperationError {
        code: ErrorCode::PolicyRefused,
        native: native.to_owned(),
        message: error.to_string(),
        happened: Some(Happened::No),
    }
}

/// A name as the surface sent it, where the client quoted it and had nothing to escape.
fn plain(name: &str) -> String {
    let inner = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
    inner.filter(|inner| !inner.contains(['\\', '"'])).unwrap_or(name).to_owned()
}

/// The client's error in the testbed's words.
fn failure(error: client::Error) -> OperationError {
    let code = match error.code() {
        "attachment_unauthorized" if matches!(error, client::Error::Unauthorized { .. }) => {
            ErrorCode::Unauthorized
        }
        "surface_unavailable" if matches!(error, client::Error::Gone { .. }) => ErrorCode::Gone,
        "attachment_unauthorized" | "surface_unavailable" | "not_attached" => {
            ErrorCode::NotAttached
        }
        "surface_changed_under_you" => ErrorCode::SurfaceChangedUnderYou,
        "conflict_detection_unavailable" => ErrorCode::ConflictDetectionUnavailable,
        "tool_refused" => ErrorCode::ToolRefused,
        // Trust that was never declared refuses tools, like every other trust.
        "policy_refused" if matches!(error, client::Error::Untrusted(_)) => ErrorCode::ToolRefused,
        "tool_error" => ErrorCode::ToolError,
        "protocol_error" | "result_refused" => ErrorCode::ProtocolError,
        "transport_error" => ErrorCode::TransportError,
        "timeout" => ErrorCode::Timeout,
        "policy_refused" | "wrong_owner" | "invalid_argument" | "invalid_configuration" => {
            ErrorCode::PolicyRefused
        }
        _ => ErrorCode::ForeignException,
    };
    OperationError {
        code,
        native: error.code().to_owned(),
        message: error.to_string(),
        happened: Some(match error.happened() {
            client::Happened::No => Happened::No,
            client::Happened::Yes => Happened::Yes,
            client::Happened::Unknown => Happened::Unknown,
        }),
    }
}

fn attachment_state(state: client::AttachmentState) -> AttachmentState {
    match state {
        client::AttachmentState::Attached => AttachmentState::Attached,
        client::AttachmentState::SurfaceUnavailable => AttachmentState::SurfaceUnavailable,
        client::AttachmentState::Unauthorized => AttachmentState::AttachmentUnauthorized,
        client::AttachmentState::Detached => AttachmentState::Detached,
    }
}

fn detection_state(state: client::ConflictDetection) -> DetectionState {
    match state {
        client::ConflictDetection::NotObserved => DetectionState::NotObserved,
        client::ConflictDetection::Unavailable => DetectionState::Unavailable,
        client::ConflictDetection::Minted => DetectionState::Minted,
        client::ConflictDetection::Enforced => DetectionState::Enforced,
    }
}

fn feed_state(state: client::ChangeFeed) -> FeedState {
    match state {
        client::ChangeFeed::NotObserved => FeedState::NotObserved,
        client::ChangeFeed::Unavailable => FeedState::Unavailable,
        client::ChangeFeed::Offered => FeedState::Offered,
        client::ChangeFeed::Attributed => FeedState::Attributed,
    }
}

fn change_kind(kind: client::ChangeKind) -> ChangeKind {
    match kind {
        client::ChangeKind::Created => ChangeKind::Created,
        client::ChangeKind::Updated => ChangeKind::Updated,
        client::ChangeKind::Deleted => ChangeKind::Deleted,
        client::ChangeKind::Moved => ChangeKind::Moved,
        client::ChangeKind::Unknown => ChangeKind::Unknown,
    }
}

fn actor(actor: client::ChangeActor) -> Actor {
    match actor {
        client::ChangeActor::Human => Actor::Human,
        client::ChangeActor::Agent => Actor::Agent,
        client::ChangeActor::Other => Actor::Other,
        client::ChangeActor::Unknown => Actor::Unknown,
    }
}
