//! A client for Human+ relays: it joins a live surface as a named participant, next to the people
//! who edit it.
//!
//! The *surface* is a running application that owns its state, its tools and its change feed. A
//! *relay* is a broker in between. A *person* edits the surface directly. This crate is the fourth
//! party: the client, which speaks for an agent and runs in a *host*'s workers.
//!
//! # From an invitation to a call
//!
//! ```no_run
//! use relay_client::{
//!     Approval, Client, EgressPolicy, Error, Invitation, Owner, Participant, TrustPolicy,
//! };
//! use serde_json::json;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::builder()
//!     .trust(TrustPolicy::allowing(["screen_read", "screen_move", "changes_since"]))
//!     .egress(
//!         EgressPolicy::builder()
//!             .proxy("http://egress.internal:3128")
//!             .allowed_hosts(["relay.example"])
//!             .build()?,
//!     )
//!     .build()?;
//!
//! let invitation = Invitation::builder()
//!     .relay_base_url("https://relay.example/relay")
//!     .session_id("planning-7")
//!     .token(std::env::var("RELAY_TOKEN")?)
//!     .surface_id("board")
//!     .application("planner")
//!     .build()?;
//!
//! // Nothing is sent yet.
//! let owner = Owner::new("tenant-3/chat-41");
//! let ada = Participant::new("agent-ada", "Ada", "#336699");
//! let seat = client.attach(&owner, invitation, ada).await?.id;
//!
//! // A read mints a revision, and every later call is pinned to it.
//! let arguments = json!({ "id": "screen_7" });
//! let arguments = arguments.as_object().cloned().unwrap_or_default();
//! let read = client.call(&owner, &seat, "screen_read", &arguments).await?;
//! println!("{}", read.framed);
//!
//! // Before putting anything back the way it was: what did somebody else do meanwhile?
//! let changes = client.changes_since(&owner, &seat).await?;
//! if !changes.nothing_changed() {
//!     for change in changes.defer_to() {
//!         println!("{} was {} by {}", change.handle, change.kind, change.actor);
//!     }
//! }
//!
//! match client.call(&owner, &seat, "screen_move", &arguments).await {
//!     Ok(moved) => println!("{}", moved.framed),
//!     // Nothing was applied. The next call is unpinned: read again, then decide.
//!     Err(changed @ Error::SurfaceChanged { .. }) => println!("{changed}"),
//!     Err(other) => println!("{} ({:?})", other, other.happened()),
//! }
//! client.detach(&owner, &seat).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # The life of an attachment
//!
//! ```text
//!  attach                                       detach
//! --------> Attached ----------------------------------------> Detached
//!           |  ^  | |
//!           |  |  | '-- 401 on any request ------------------> Unauthorized
//!           |  |  '---- 410, or `session_gone` --------------> SurfaceUnavailable
//!           |  |
//!           '--'  a stale pin was refused, a deadline passed, a stream was lost,
//!                 local policy said no: the attachment stays as it is
//! ```
//!
//! What the three ends have in common: no later operation sends anything, and the token is
//! forgotten.
//!
//! # The life of a call
//!
//! ```text
//! owner? trust? name? state?          locally: nothing is sent when one of them says no
//!   -> initialize, initialized        once per attachment and process
//!   -> tools/list, to its last page   before every call: a changed definition is caught here
//!   -> tools/call, pinned             one POST, then the answer, under one deadline
//!   -> bounds, revision, frame        a result that is refused here had been applied
//!   -> store                          what was observed, for every worker
//! ```
//!
//! # What it does not do
//!
//! It does not merge, retry, or decide for the agent. It never tells a read from a write, so it
//! pins every call. It keeps no connection open between calls.
//!
//! Calls of one attachment wait for each other within one process. Workers in *different*
//! processes that use one attachment *at the same time* share one mailbox at the relay, and one may
//! take the other's answer from it: give each of them its own attachment, or its own turn.

mod activity;
mod answer;
mod attachment;
mod builder;
mod catalogue;
mod client;
mod egress;
mod entropy;
mod error;
mod feed;
mod frame;
mod guard;
mod invitation;
mod ledger;
mod mcp;
mod poll_body;
mod revision;
mod session;
mod stale;
mod store;
mod token;
mod toolset;
mod transport;
mod trust;

// Joining: who, where, under which rules.
pub use builder::ClientBuilder;
pub use client::{CallResult, Client};
pub use invitation::{Invitation, InvitationBuilder, InvitationError, Participant};
pub use token::{ClientId, ClientIdError, SessionId, SessionIdError, Token, TokenError};

// The attachment, and where it is kept.
pub use attachment::{Attachment, AttachmentId, AttachmentState, Owner};
#[cfg(feature = "sqlite")]
pub use store::SqliteStore;
pub use store::{AttachmentStore, MemoryStore, RecordBytes, SealingKey, StoreError, Versioned};

// Trust, and the tools it admits.
pub use catalogue::{Catalogue, SetAside};
pub use toolset::{Approval, HarnessTool};
pub use trust::{DeclaredTrust, Refusal, ToolDefinition, TrustPolicy};

// Two writers.
pub use feed::{Change, ChangeActor, ChangeFeed, ChangeKind, Changes, Doubt};
pub use revision::{ConflictDetection, REVISION_BYTES_MAX, Revision, UnusableRevision};

// Presence, results, failures.
pub use activity::{Activity, Priority};
pub use error::{Error, Fault, Happened};
pub use guard::{Framed, RESULT_BYTES_MAX, ResultGuard, TooLarge};

// The wire.
pub use egress::{
    CheckedRelay, EgressPolicy, EgressPolicyBuilder, EgressRefused, RelayUrl, RelayUrlError,
    Resolve, Special, SystemResolver, special,
};
pub use entropy::{Entropy, NoEntropy};
pub use mcp::PROTOCOL_VERSION;
pub use transport::{Auth, Dialect, LongPoll, Transport};
