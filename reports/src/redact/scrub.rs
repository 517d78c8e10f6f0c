//! Every place in a record or a run where a secret could stand.
//!
//! Each type is taken apart field by field, so that a new field does not compile until someone
//! has decided about it.

use super::Redactor;
use crate::record::{
    AnswerError, Author, CellChange, ChangeRow, ClientName, Entry, Event, Header, Record,
};
use crate::verdict::{Anomaly, Case, Expectation, Run, Verdict};
use indexmap::IndexMap;
use serde_json::Value;

/// Something whose secrets can be replaced in place.
pub(crate) trait Scrub {
    /// Replaces every secret in it.
    fn scrub(&mut self, redactor: &Redactor);
}

/// Scrubs each of the values it is given.
macro_rules! scrub {
    ($redactor:expr; $($value:expr),+ $(,)?) => {{ $($value.scrub($redactor);)+ }};
}

impl Scrub for String {
    fn scrub(&mut self, redactor: &Redactor) {
        *self = redactor.redact(self);
    }
}

impl<T: Scrub> Scrub for Option<T> {
    fn scrub(&mut self, redactor: &Redactor) {
        if let Some(value) = self {
            value.scrub(redactor);
        }
    }
}

impl<T: Scrub> Scrub for Vec<T> {
    fn scrub(&mut self, redactor: &Redactor) {
        for value in self {
            value.scrub(redactor);
        }
    }
}

impl<T: Scrub> Scrub for IndexMap<String, T> {
    fn scrub(&mut self, redactor: &Redactor) {
        *self = std::mem::take(self)
            .into_iter()
            .map(|(mut key, mut value)| {
                scrub!(redactor; key, value);
                (key, value)
            })
            .collect();
    }
}

impl Scrub for Value {
    fn scrub(&mut self, redactor: &Redactor) {
        match self {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => text.scrub(redactor),
            Value::Array(values) => values.scrub(redactor),
            Value::Object(fields) => {
                *fields = std::mem::take(fields)
                    .into_iter()
                    .map(|(mut key, mut value)| {
                        scrub!(redactor; key, value);
                        (key, value)
                    })
                    .collect();
            }
        }
    }
}

impl Scrub for Record {
    fn scrub(&mut self, redactor: &Redactor) {
        let Self { header, entries } = self;
        scrub!(redactor; header, entries);
    }
}

impl Scrub for Header {
    fn scrub(&mut self, redactor: &Redactor) {
        let Self { format: _, testbed, case, seed: _, clock, wire, client, plan } = self;
        let ClientName { name, version } = client;
        scrub!(redactor; testbed, case, clock, wire, name, version, plan);
    }
}

impl Scrub for Entry {
    fn scrub(&mut self, redactor: &Redactor) {
        let Self { seq: _, at: _, event } = self;
        event.scrub(redactor);
    }
}

impl Scrub for Event {
    fn scrub(&mut self, redactor: &Redactor) {
        match self {
            Self::StepStarted { step: _, says } | Self::Note { says } => says.scrub(redactor),
            Self::StepEnded { step: _ } => {}
            Self::Request { exchange: _, client, method, route, query, headers, bytes: _ } => {
                scrub!(redactor; client, method, route, query, headers);
            }
            Self::Response { exchange: _, status: _, headers } => headers.scrub(redactor),
            Self::ResponseEnded { exchange: _, bytes: _, how } => how.scrub(redactor),
            Self::Frame { exchange: _, direction: _, client, frame } => {
                scrub!(redactor; client, frame);
            }
            Self::Fault { rule: _, says, breaks, exchange: _ } => scrub!(redactor; says, breaks),
            Self::Write { write: _, author, action, cells, request } => {
                scrub!(redactor; author, action, cells, request);
            }
            Self::Delivery { client, as_of: _, cells, rows, revision, request } => {
                scrub!(redactor; client, cells, rows, revision, request);
            }
            Self::StaleRefusal { client, tool, pin, would_write, as_of: _, request } => {
                scrub!(redactor; client, tool, pin, would_write, request);
            }
            Self::Session { what, client } => scrub!(redactor; what, client),
            Self::Answer { agent, step: _, operation, ok, error } => {
                scrub!(redactor; agent, operation, ok, error);
            }
            Self::Attachment { agent, client, state } => scrub!(redactor; agent, client, state),
            Self::Log { level, target, message } => scrub!(redactor; level, target, message),
            Self::Board { screens } => screens.scrub(redactor),
        }
    }
}

impl Scrub for Author {
    fn scrub(&mut self, redactor: &Redactor) {
        match self {
            Self::Person { name } => name.scrub(redactor),
            Self::Agent { client } => client.scrub(redactor),
        }
    }
}

impl Scrub for CellChange {
    fn scrub(&mut self, redactor: &Redactor) {
        let Self { handle, field, old, new } = self;
        scrub!(redactor; handle, field, old, new);
    }
}

impl Scrub for ChangeRow {
    fn scrub(&mut self, redactor: &Redactor) {
        let Self { handle, write: _, actor } = self;
        scrub!(redactor; handle, actor);
    }
}

impl Scrub for AnswerError {
    fn scrub(&mut self, redactor: &Redactor) {
        let Self { code, native, message, happened } = self;
        scrub!(redactor; code, native, message, happened);
    }
}

impl Scrub for Run {
    fn scrub(&mut self, redactor: &Redactor) {
        let Self { format: _, testbed, client, seed: _, clock, wire, stale_baseline, cases } = self;
        scrub!(redactor; testbed, client, clock, wire, stale_baseline, cases);
    }
}

impl Scrub for Case {
    fn scrub(&mut self, redactor: &Redactor) {
        let Self {
            id,
            name,
            file,
            line: _,
            parameters,
            proves,
            tags,
            verdict,
            expectations,
            anomalies,
            remarks,
            simulated_us: _,
            wall_us: _,
            record,
        } = self;
        scrub!(redactor; id, name, file, parameters, proves, tags, verdict);
        scrub!(redactor; expectations, anomalies, remarks, record);
    }
}

impl Scrub for Verdict {
    fn scrub(&mut self, redactor: &Redactor) {
        match self {
            Self::Passed => {}
            Self::Failed { reason }
            | Self::KnownFailure { reason }
            | Self::UnexpectedPass { reason }
            | Self::NotRun { reason }
            | Self::Inconclusive { reason }
            | Self::TestbedFault { reason } => reason.scrub(redactor),
        }
    }
}

impl Scrub for Expectation {
    fn scrub(&mut self, redactor: &Redactor) {
        let Self { path, line: _, column: _, source, expected, seen, held: _, evidence: _ } = self;
        scrub!(redactor; path, source, expected, seen);
    }
}

impl Scrub for Anomaly {
    fn scrub(&mut self, redactor: &Redactor) {
        let Self { kind, says, protection, evidence: _ } = self;
        scrub!(redactor; kind, says, protection);
    }
}
