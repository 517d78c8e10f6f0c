//! What a person reads in a terminal.
//!
//! [`Printer::case`] tells a case as soon as it is judged, [`Printer::summary`] closes the run.
//! Both give text back and print nothing: who calls them owns the terminal, and whether it has
//! colours.

mod excerpt;
mod failure;
mod paint;
mod printer;
mod summary;
mod timeline;

pub(crate) use printer::excerpt_for;
pub use printer::{Options, Printer};
pub(crate) use summary::last_line;
