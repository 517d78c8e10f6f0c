//! Running: each planned case on a clock of its own, several at once, results in the plan's
//! order.

mod case;
mod conditions;
mod recorder;
mod runner;
mod seat;

pub use case::token;
pub use conditions::name_hash;
pub use conditions::{Clock, Conditions};
pub(crate) use recorder::Recorder;
pub use runner::{Progress, RunOptions, Runner, Which};
