//! The reports of a run that holds every kind of verdict.
#![allow(clippy::unwrap_used, missing_docs)]

mod console;
mod diff;
mod fixtures;
mod gate;
mod html;
mod json;
mod junit;
mod machines;
