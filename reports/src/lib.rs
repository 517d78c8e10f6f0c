//! Records, verdicts, and what people and machines read of them.
//!
//! This crate renders; it never runs and never judges. It knows neither the client nor the
//! simulator: whatever it shows was written down in a [`record::Record`] or a [`verdict::Run`].

pub mod console;
pub mod diff;
mod format;
pub mod github;
pub mod har;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod record;
pub mod record_file;
mod redact;
pub mod tap;
mod telling;
pub mod verdict;

pub use format::{Format, UnknownFormat, render};
pub use redact::{MARK, Redactor, SECRET_CHARS_MIN, SecretTooShort};
