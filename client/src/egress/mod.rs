//! Egress: where the client may connect to. One policy, composed by every transport (EGRESS-6).
//!
//! ```text
//! Invitation -> url (spelling, EGRESS-2) -> policy (proxy, lists, EGRESS-1, EGRESS-3)
//!            -> resolve (every address of the name) -> address (every special range, EGRESS-4)
//!            -> CheckedRelay: the URL, and the only addresses that may be connected to
//! ```

mod address;
mod policy;
mod resolve;
mod url;

pub use address::{Special, special};
pub use policy::{CheckedRelay, EgressPolicy, EgressPolicyBuilder, EgressRefused};
pub use resolve::{Resolve, SystemResolver};
pub use url::{RelayUrl, RelayUrlError};
