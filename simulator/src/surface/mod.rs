//! The stock surface: a board of screens with tools, revisions and a change feed.
//!
//! A frame goes in at [`Surface`] (`host`), is read (`mcp`), and a `tools/call` is understood
//! (`arguments`), held against its pin (`revision`), applied to the `board`, and answered with
//! what it tells (`call`, `feed`; `script` for extra tools). What the surface does and leaves
//! undone is said by its [`SurfaceSpec`].

mod arguments;
#[cfg(test)]
pub(crate) mod bench;
mod board;
mod call;
#[cfg(test)]
mod conversations;
mod feed;
mod host;
mod mcp;
mod revision;
mod script;
pub mod spec;
mod tools;

pub use host::{EditRefused, Surface};
pub use spec::{ScreenSpec, SpecError, SurfaceSpec};
