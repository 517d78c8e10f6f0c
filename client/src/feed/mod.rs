//! The change feed: what somebody else did since the agent's last turn.
//!
//! - [`names`]: which tool is the feed (FEED-1).
//! - [`row`]: one change: handle, kind, actor, label (FEED-6 to FEED-8).
//! - [`answer`]: where in a result rows, flags and pages stand (FEED-4, FEED-5, FEED-12).
//! - [`changes`]: the answer, which says first whether it can say anything (FEED-2 to FEED-5,
//!   FEED-9 to FEED-12).
//! - [`state`]: what was seen of the feed so far (FEED-2, FEED-10).

mod answer;
mod changes;
mod names;
mod row;
mod state;

pub use changes::{Changes, Doubt};
pub(crate) use names::is_feed;
pub use row::{Change, ChangeActor, ChangeKind};
pub use state::ChangeFeed;
