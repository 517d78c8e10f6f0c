//! Records, verdicts, and what people and machines read of them.
//!
//! This crate renders; it never runs and never judges. It knows neither the client nor the
//! simulator: whatever it shows was written down in a [`record::Record`] or a [`verdict::Run`].
//!
//! [`render`] gives a whole run in any [`Format`]; [`console::Printer`] tells it case by case
//! while it runs; [`record_file`] keeps a record, [`json`] a run, and [`diff`] compares two.
//!
//! Every one of them takes a [`Redactor`], and no text leaves without passing it (AUTH-2).
//!
//! ```
//! use relay_reports::{Format, Redactor, render, verdict::Run};
//!
//! # let run = Run {
//! #     format: relay_reports::json::FORMAT, testbed: "0.1.0".into(),
//! #     client: "builtin 0.1.0".into(), seed: 7, clock: "virtual".into(), wire: "unix".into(),
//! #     stale_baseline: vec![], cases: vec![],
//! # };
//! let redactor = Redactor::new(["an-invitation-token-of-the-run"])?;
//! let text = render(Format::Console, &run, &redactor);
//! assert!(text.ends_with("0 passed, 0 failed\n"));
//! # Ok::<(), relay_reports::SecretTooShort>(())
//! ```

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
