//! People who edit the surface beside the agents.

pub mod edit;
pub mod trigger;

pub use edit::{BadEdit, Edit, Fields, Position};
pub use trigger::{BadTrigger, Moment, Trigger, When};
