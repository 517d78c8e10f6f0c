//! Catches what the client logs on this thread, at every level, for the record.

use crate::run::Recorder;
use std::fmt::Write as _;
use std::sync::Arc;
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// Sends the client's log lines to the record until the guard is dropped. Only this thread is
/// listened to: a case lives on one.
pub(super) fn capture(recorder: &Arc<Recorder>) -> DefaultGuard {
    let layer = ToRecord { recorder: Arc::clone(recorder) };
    tracing::subscriber::set_default(tracing_subscriber::registry().with(layer))
}

struct ToRecord {
    recorder: Arc<Recorder>,
}

/// Only the client under test is listened to: the libraries below it log addresses of this
/// machine, and the simulator has its journal.
const LISTENED_TO: &str = "relay_client";

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for ToRecord {
    fn enabled(&self, metadata: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target().starts_with(LISTENED_TO)
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        // A span's fields are part of what is logged: a token in one would be in every line.
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(fields) = span.extensions().get::<Fields>() {
                let _ = write!(line.fields, " {}{{{}}}", span.name(), fields.0.trim());
            }
        }
        let level = event.metadata().level().as_str().to_lowercase();
        self.recorder.log(&level, event.metadata().target(), line.text());
    }

    fn on_new_span(
        &self,
        attributes: &tracing::span::Attributes<'_>,
        id: &tracing::span::Id,
        context: Context<'_, S>,
    ) {
        let mut line = Line::default();
        attributes.record(&mut line);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Fields(line.fields));
        }
    }

    fn on_record(
        &self,
        id: &tracing::span::Id,
        values: &tracing::span::Record<'_>,
        context: Context<'_, S>,
    ) {
        let mut line = Line::default();
        values.record(&mut line);
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            fields.0.push_str(&line.fields);
        }
    }
}

struct Fields(String);

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Line {
    fn text(self) -> String {
        let fields = self.fields.trim();
        if fields.is_empty() { self.message } else { format!("{} {fields}", self.message) }
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value}"),
            name => write!(self.fields, " {name}={value}"),
        };
    }
}
