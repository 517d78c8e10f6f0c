//! The parties of a Human+ session that a client meets, for tests: a relay, a surface, people who
//! edit it, and the faults that strike between them.
//!
//! A [`journal::Journal`] is the one ordered list of what happened; [`clock`] runs all of it on a
//! virtual clock, over real sockets.

pub mod clock;
pub mod duration;
pub mod fault;
pub mod history;
pub mod journal;
pub mod person;
pub mod relay;
pub mod surface;
pub mod surface_host;
pub mod wire;
pub mod world;
