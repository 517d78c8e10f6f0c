//! The relay: a broker between clients and a surface, which owns no state of the surface.
//!
//! The core takes values and returns values; no socket is in it.
//! - `token`, `frame`, `refusal`: what a request is made of, and how it is refused.
//! - `registry`, `session`, `mailbox`, `routing`: who is there, what waits for whom, who
//!   asked what; `subscribers`, how the public relays see it.
//! - `dialect`, `spec`: where relays differ, and the `relay:` section of a scenario.
//!
//! The shell gives it a clock, a journal, faults and HTTP.
//! - `hub`: everything that the routes share; `inward` and `outward`: how a frame gets from
//!   one party to the other.
//! - `exchange`: one HTTP exchange, from its journal entry to its fate; `request`: what is read
//!   of it before.
//! - `routes`: the paths; `leg`, `poll`, `events`, `shaper`,
//!   `body`: how frames leave.

mod body;
mod dialect;
mod events;
mod exchange;
mod frame;
mod hub;
mod inward;
mod leg;
mod mailbox;
mod outward;
mod poll;
mod refusal;
mod registry;
mod request;
mod routes;
mod routing;
mod session;
mod shaper;
mod spec;
mod subscribers;
mod token;

pub(crate) use hub::{Bystanders, Hub, lock};
pub(crate) use routes::router;
pub use spec::{DialectName, PollShape, RelaySpec};
