//! The reports that can be asked for by name.

use crate::redact::Redactor;
use crate::verdict::Run;
use crate::{console, github, har, html, json, junit, markdown, tap};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A report of a whole run, as one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// What a terminal shows, without colours.
    Console,
    /// JUnit XML.
    Junit,
    /// Versioned JSON.
    Json,
    /// TAP version 14.
    Tap,
    /// Workflow commands of GitHub Actions.
    Github,
    /// Markdown, for a job's summary.
    Markdown,
    /// The HTTP of every kept record, as HAR 1.2.
    Har,
    /// One page that needs nothing else.
    Html,
}

/// A name that is no [`Format`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown report `{name}` (known: {})", known())]
pub struct UnknownFormat {
    /// The name that was given.
    pub name: String,
}

impl Format {
    /// Every format, in the order in which they are told.
    pub const ALL: &[Self] = &[
        Self::Console,
        Self::Junit,
        Self::Json,
        Self::Tap,
        Self::Github,
        Self::Markdown,
        Self::Har,
        Self::Html,
    ];

    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Console => "console",
            Self::Junit => "junit",
            Self::Json => "json",
            Self::Tap => "tap",
            Self::Github => "github",
            Self::Markdown => "markdown",
            Self::Har => "har",
            Self::Html => "html",
        }
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let found = Self::ALL.iter().find(|format| format.name() == name);
        found.copied().ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The report of `run` in `format`, every secret replaced (AUTH-2).
pub fn render(format: Format, run: &Run, redactor: &Redactor) -> String {
    match format {
        Format::Console => console(run, redactor),
        Format::Junit => junit::write(run, redactor),
        Format::Json => json::write(run, redactor),
        Format::Tap => tap::write(run, redactor),
        Format::Github => github::write(run, redactor),
        Format::Markdown => markdown::write(run, redactor),
        Format::Har => har::write(run, redactor),
        Format::Html => html::write(run, redactor),
    }
}

fn console(run: &Run, redactor: &Redactor) -> String {
    let printer = console::Printer::new(console::Options::default(), redactor);
    let mut text: String = run.cases.iter().map(|case| printer.case(case)).collect();
    let wall = run.cases.iter().map(|case| case.wall_us).sum();
    text.push_str(&printer.summary(run, Duration::from_micros(wall)));
    text
}

fn known() -> String {
    Format::ALL.iter().map(|format| format!("`{format}`")).collect::<Vec<_>>().join(", ")
}
