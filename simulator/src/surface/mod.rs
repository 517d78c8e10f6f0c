//! The stock surface: a board of screens with tools, revisions and a change feed.

mod board;
mod revision;
pub mod spec;

pub use spec::{ScreenSpec, SpecError, SurfaceSpec};
