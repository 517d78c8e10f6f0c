//! x

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
mod transport;
mod trust;

pub use activity::{Activity, Priority};
pub use attachment::{Attachment, AttachmentId, AttachmentState, Owner};
pub use builder::ClientBuilder;
pub use catalogue::{Catalogue, SetAside};
pub use client::{CallResult, Client};
pub use egress::{
    CheckedRelay, EgressPolicy, EgressPolicyBuilder, EgressRefused, Resolve, Special,
    SystemResolver, special,
};
pub use entropy::{Entropy, NoEntropy};
pub use error::{Error, Fault, Happened};
pub use feed::{Change, ChangeActor, ChangeFeed, ChangeKind, Changes, Doubt};
pub use guard::{Framed, RESULT_BYTES_MAX, ResultGuard, TooLarge};
pub use invitation::{Invitation, InvitationBuilder, InvitationError, Participant};
pub use revision::{ConflictDetection, REVISION_BYTES_MAX, Revision, UnusableRevision};
pub use token::{ClientId, ClientIdError, SessionId, SessionIdError, Token, TokenError};
pub use trust::{DeclaredTrust, Refusal, ToolDefinition, TrustPolicy};
