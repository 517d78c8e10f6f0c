//! The printer: cases, summaries and timelines as text that has passed the gate.

use super::paint::Paint;
use super::{excerpt, failure, summary, timeline};
use crate::record::Record;
use crate::redact::{Draft, Redactor};
use crate::verdict::{Case, Run};
use std::collections::BTreeSet;
use std::time::Duration;

/// How a person wants to read.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Whether the terminal shows colours.
    pub colour: bool,
    /// Whether cases that are fine get a line too.
    pub verbose: bool,
    /// Whether each told case is drawn as a sequence, from its first moment to its last.
    pub timeline: bool,
    /// How many columns the terminal has.
    pub width: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { colour: false, verbose: false, timeline: false, width: 100 }
    }
}

/// Tells a run in a terminal, case by case.
#[derive(Debug)]
pub struct Printer<'r> {
    options: Options,
    redactor: &'r Redactor,
}

impl<'r> Printer<'r> {
    /// A printer whose every word passes `redactor` (AUTH-2).
    pub fn new(options: Options, redactor: &'r Redactor) -> Self {
        Self { options, redactor }
    }

    /// What to print when a case has been judged: nothing for one that is fine, unless the
    /// options ask for it.
    pub fn case(&self, case: &Case) -> String {
        let case = self.redactor.clean(case);
        self.redactor.release(Draft::from(failure::tell(&case, &self.options)))
    }

    /// What to print when all cases have been told. `wall` is the time that the whole run took.
    ///
    /// The last line is `N passed, N failed`, with `, N skipped` when some were; it is never
    /// coloured, so that a script finds it.
    pub fn summary(&self, run: &Run, wall: Duration) -> String {
        let run = self.redactor.clean(run);
        self.redactor.release(Draft::from(summary::tell(&run, wall, &self.options)))
    }

    /// One case as a sequence, one lane a party, whatever its verdict.
    pub fn timeline(&self, case: &Case) -> String {
        let case = self.redactor.clean(case);
        let text = match &case.record {
            Some(record) => self.draw(record, &failure::evidence(&case)),
            None => "no record of this case was kept\n".to_owned(),
        };
        self.redactor.release(Draft::from(text))
    }

    /// A saved record as a sequence, one lane a party.
    pub fn record(&self, record: &Record) -> String {
        let record = self.redactor.clean(record);
        self.redactor.release(Draft::from(self.draw(&record, &BTreeSet::new())))
    }

    fn draw(&self, record: &Record, evidence: &BTreeSet<u64>) -> String {
        timeline::draw(record, evidence, Paint::new(self.options.colour))
    }
}

/// The part of a case's record around its evidence, for reports that hold plain text.
pub(crate) fn excerpt_for(case: &Case) -> String {
    let lines = case
        .record
        .as_ref()
        .map(|record| excerpt::lines(record, &failure::evidence(case), &Options::default()));
    lines.unwrap_or_default().into_iter().map(|line| line + "\n").collect()
}
