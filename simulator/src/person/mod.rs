//! People who edit the surface beside the agents.

pub mod edit;

pub use edit::{BadEdit, Edit, Fields, Position};
