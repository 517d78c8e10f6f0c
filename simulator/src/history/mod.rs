//! What went wrong between two writers, named from the surface's own order of writes and from
//! what was delivered to whom, never from what a client claims (contract, section 5).
//!
//! Everything here is pure: a [`History`] is filled from a journal or from a saved record, and
//! [`anomalies`] and [`informed_overwrites`] are functions of it.
//!
//! - `facts`: what a history is made of.
//! - `knowledge`: what each agent had been told at each moment.
//! - `anomaly`: the names, and the list of all of them.
//! - one file for each anomaly.

mod anomaly;
mod double_apply;
mod facts;
mod false_calm;
mod informed_overwrite;
mod knowledge;
mod leak;
mod lost_update;
mod needless_refusal;
mod overwrite;
mod resurrection;
mod revert;
mod self_deference;
#[cfg(test)]
mod tables;
mod telling;
mod timeline;

pub use anomaly::{Anomaly, AnomalyKind, anomalies};
pub use facts::{Answer, Calm, Delivery, HeldBack, Refusal, Request, Write};
pub use informed_overwrite::{InformedOverwrite, informed_overwrites};
pub use timeline::History;
