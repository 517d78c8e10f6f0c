//! The client under test: ours in this process, or somebody else's behind an adapter.

pub mod adapter;
pub mod protocol;
