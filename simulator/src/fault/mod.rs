//! Faults: what a relay or the network before it does wrong, on purpose.
//!
//! A [`FaultRule`] sees a message pass and decides its fate; the first rule that matches wins.
//!
//! - `selector`: the `on:` of a rule, which also says when a person edits.
//! - `message`: what passes a relay, as a selector sees it.
//! - `matcher`: a selector with its count.
//! - `rule`: the `faults:` list of a scenario.
//! - `stream_shape`, `mutation`: the parts of a rule about bytes and about frames.
//! - `check`: which powers make sense on which messages.
//! - `words`: what a fault says in the journal, and which line of the contract it breaks.
//! - `engine`: the rules of a relay while it runs.

mod check;
mod engine;
mod matcher;
mod message;
mod mutation;
mod rule;
mod selector;
mod stream_shape;
mod words;

pub use check::BadRule;
pub(crate) use engine::{Engine, Fate};
pub use matcher::Matcher;
pub use message::{Kind, Message, Route};
pub(crate) use mutation::with_id;
pub use mutation::{IdChange, Mutation, Retarget, RpcError};
pub use rule::{Close, FaultRule, Hoard, Redirect, Status};
pub use selector::{Nth, RouteName, Selector};
pub use stream_shape::{Buffer, Junk, LineEnds, Split};
