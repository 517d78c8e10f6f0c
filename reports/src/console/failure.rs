//! One case: a line when it is fine, and all that a reader needs to understand it when not.

use super::excerpt;
use super::paint::Paint;
use super::{Options, timeline};
use crate::telling::snippet;
use crate::telling::words::{plain, plain_lines, span};
use crate::verdict::{Anomaly, Case, Expectation, Tally, Verdict};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::collections::BTreeSet;

/// Tells a case, as far as the options want to hear of it.
pub(super) fn tell(case: &Case, options: &Options) -> String {
    let failed = case.verdict.tally() == Tally::Failed;
    if !failed && !options.verbose {
        return String::new();
    }
    let paint = Paint::new(options.colour);
    let mut lines = vec![heading(case, paint)];
    if !failed && case.simulated_us > 0 {
        lines[0].push_str(&paint.quiet(&format!("  {}", span(case.simulated_us))));
    }
    if failed {
        lines.extend(about(case, paint));
        lines.push(String::new());
        let body = body(case, options);
        if !body.is_empty() {
            lines.extend(body);
            lines.push(String::new());
        }
    } else {
        let reason = case.verdict.reason().map(plain);
        let remarks = case.remarks.iter().map(|remark| format!("remark: {}", plain(remark)));
        lines.extend(reason.into_iter().chain(remarks).map(|l| paint.quiet(&format!("     {l}"))));
    }
    if !failed && options.timeline {
        lines.extend(drawn(case, paint));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// `FAIL revision.yaml::a write … [transport=sse]`
pub(super) fn heading(case: &Case, paint: Paint) -> String {
    let word = match &case.verdict {
        Verdict::Passed => paint.good("PASS"),
        Verdict::Failed { .. } => paint.bad("FAIL"),
        Verdict::KnownFailure { .. } => paint.doubtful("KNOWN FAILURE"),
        Verdict::UnexpectedPass { .. } => paint.bad("UNEXPECTED PASS"),
        Verdict::NotRun { .. } => paint.doubtful("NOT RUN"),
        Verdict::Inconclusive { .. } => paint.doubtful("INCONCLUSIVE"),
        Verdict::TestbedFault { .. } => paint.bad("TESTBED FAULT"),
    };
    format!("{word} {}", paint.strong(&plain(&case.id)))
}

/// Every entry of the record that a broken expectation or an anomaly rests on.
pub(super) fn evidence(case: &Case) -> BTreeSet<u64> {
    let broken = broken(case).flat_map(|expectation| &expectation.evidence);
    let anomalies = case.anomalies.iter().flat_map(|anomaly| &anomaly.evidence);
    broken.chain(anomalies).copied().collect()
}

fn broken(case: &Case) -> impl Iterator<Item = &Expectation> {
    case.expectations.iter().filter(|expectation| !expectation.held)
}

/// The reason, and in a quiet line what the case is about.
fn about(case: &Case, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(reason) = case.verdict.reason() {
        lines.extend(plain_lines(reason).lines().map(|line| format!("     {line}")));
    }
    let mut facts = Vec::new();
    match (broken(case).count(), case.expectations.len()) {
        (_, 0) => {}
        (0, 1) => facts.push("its expectation held".to_owned()),
        (0, all) => facts.push(format!("all {all} expectations held")),
        (1, 1) => facts.push("its expectation broke".to_owned()),
        (broken, all) => facts.push(format!("{broken} of {all} expectations broke")),
    }
    facts.push(format!("{} simulated", span(case.simulated_us)));
    if !case.proves.is_empty() {
        facts.push(format!("proves {}", plain(&case.proves.join(", "))));
    }
    lines.push(paint.quiet(&format!("     {}", facts.join(" · "))));
    lines
}

fn body(case: &Case, options: &Options) -> Vec<String> {
    let paint = Paint::new(options.colour);
    let mut lines = Vec::new();
    let mut section = |section: Vec<String>| {
        lines.extend(
            section.into_iter().map(
                |line| {
                    if line.is_empty() { line } else { format!("  {line}") }
                },
            ),
        );
        lines.push(String::new());
    };
    for expectation in broken(case) {
        section(diagnostic(case, expectation, options));
    }
    for anomaly in &case.anomalies {
        section(anomaly_lines(anomaly, options));
    }
    for remark in &case.remarks {
        section(vec![format!("{}: {}", paint.strong("remark"), plain(remark))]);
    }
    if options.timeline {
        section(drawn(case, paint));
    } else if let Some(record) = &case.record {
        let told = excerpt::lines(record, &evidence(case), options);
        if !told.is_empty() {
            let title = format!("{} {}", paint.strong("what happened"), legend(case, paint));
            section([vec![title.trim_end().to_owned()], told].concat());
        }
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn legend(case: &Case, paint: Paint) -> String {
    if evidence(case).is_empty() {
        return String::new();
    }
    format!(
        "{}{}{}",
        paint.quiet("("),
        paint.bad("▌"),
        paint.quiet(" is what the verdict rests on)")
    )
}

/// The expectation where it stands in the scenario, with what was seen instead.
fn diagnostic(case: &Case, expectation: &Expectation, options: &Options) -> Vec<String> {
    let source = plain_source(&expectation.source);
    let span = snippet::underline(&source, expectation.column);
    let room = options.width.saturating_sub(12).max(40);
    let fold = |text: &str| {
        let lines: Vec<String> =
            plain_lines(text).lines().flat_map(|line| excerpt::wrap(line, room)).collect();
        lines.join("\n")
    };
    let (expected, seen) = (fold(&expectation.expected), fold(&expectation.seen));
    let file = plain(&case.file);
    let group = Level::ERROR
        .with_name(Some("expected"))
        .primary_title(expected)
        .element(
            Snippet::source(source.as_str())
                .line_start(usize::try_from(expectation.line).unwrap_or(1))
                .path(file)
                .annotation(AnnotationKind::Primary.span(span)),
        )
        .element(Level::ERROR.with_name(Some("seen")).message(seen));
    let renderer = if options.colour { Renderer::styled() } else { Renderer::plain() };
    let text = renderer.term_width(options.width.saturating_sub(2).max(40)).render(&[group]);
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// A line of a scenario, with columns left where they were.
fn plain_source(source: &str) -> String {
    source.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn anomaly_lines(anomaly: &Anomaly, options: &Options) -> Vec<String> {
    let paint = Paint::new(options.colour);
    let room = options.width.saturating_sub(6).max(40);
    let kind = plain(&anomaly.kind).replace('_', " ");
    let mut lines = vec![format!("{}: {}", paint.bad("anomaly"), paint.strong(&kind))];
    let says = plain_lines(&anomaly.says);
    lines.extend(says.lines().flat_map(|l| excerpt::wrap(l, room)).map(|l| format!("  {l}")));
    if !anomaly.protection.is_empty() {
        let told = format!("what stops it: {}", plain(&anomaly.protection));
        lines.extend(excerpt::wrap(&told, room).iter().map(|l| format!("  {}", paint.good(l))));
    }
    lines
}

fn drawn(case: &Case, paint: Paint) -> Vec<String> {
    match &case.record {
        Some(record) => {
            timeline::draw(record, &evidence(case), paint).lines().map(str::to_owned).collect()
        }
        None => vec![paint.quiet("no record of this case was kept")],
    }
}
