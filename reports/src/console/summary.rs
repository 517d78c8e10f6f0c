//! The end of a run: what was not fine, what was not run and why, and the numbers.

use super::Options;
use super::failure::heading;
use super::paint::Paint;
use crate::telling::words::{count, plain, span};
use crate::verdict::{Case, Run, Tally, Verdict};
use indexmap::IndexMap;
use std::time::Duration;

/// Tells how a run ended.
pub(super) fn tell(run: &Run, wall: Duration, options: &Options) -> String {
    let paint = Paint::new(options.colour);
    let mut lines = vec![paint.quiet(&"─".repeat(options.width.min(72)))];
    lines.extend(failures(run, paint));
    lines.extend(known(run, paint));
    lines.extend(grouped(run, "not run", options, &|v| matches!(v, Verdict::NotRun { .. })));
    let inconclusive = |verdict: &Verdict| matches!(verdict, Verdict::Inconclusive { .. });
    lines.extend(grouped(run, "inconclusive", options, &inconclusive));
    lines.extend(stale_baseline(run, paint));
    lines.extend(numbers(run, wall, paint));
    lines.push(String::new());
    lines.push(last_line(run));
    lines.push(String::new());
    lines.join("\n")
}

/// `N passed, N failed`, with `, N skipped` when some were.
pub(crate) fn last_line(run: &Run) -> String {
    let (passed, failed, skipped) = run.tally();
    let mut line = format!("{passed} passed, {failed} failed");
    if skipped > 0 {
        line.push_str(&format!(", {skipped} skipped"));
    }
    line
}

/// What failed once more, since its full account has scrolled away.
fn failures(run: &Run, paint: Paint) -> Vec<String> {
    let failed: Vec<&Case> =
        run.cases.iter().filter(|case| case.verdict.tally() == Tally::Failed).collect();
    let mut lines: Vec<String> = failed
        .iter()
        .flat_map(|case| {
            let reason = plain(case.verdict.reason().unwrap_or_default());
            let place = paint.quiet(&format!("     {}: {reason}", place(case)));
            [heading(case, paint), place]
        })
        .collect();
    end_section(&mut lines);
    lines
}

/// Where to look: the first broken expectation, else the scenario.
fn place(case: &Case) -> String {
    match case.expectations.iter().find(|expectation| !expectation.held) {
        Some(broken) => format!("{}:{}:{}", plain(&case.file), broken.line, broken.column),
        None => format!("{}:{}", plain(&case.file), case.line),
    }
}

fn known(run: &Run, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    for case in &run.cases {
        if let Verdict::KnownFailure { reason } = &case.verdict {
            lines.push(heading(case, paint));
            lines.push(paint.quiet(&format!("     {}", plain(reason))));
        }
    }
    end_section(&mut lines);
    lines
}

/// Cases of one kind by reason, the most frequent first.
fn grouped(
    run: &Run,
    title: &str,
    options: &Options,
    wanted: &dyn Fn(&Verdict) -> bool,
) -> Vec<String> {
    let paint = Paint::new(options.colour);
    let mut reasons: IndexMap<&str, Vec<&Case>> = IndexMap::new();
    for case in run.cases.iter().filter(|case| wanted(&case.verdict)) {
        reasons.entry(case.verdict.reason().unwrap_or_default()).or_default().push(case);
    }
    reasons.sort_by(|_, a, _, b| b.len().cmp(&a.len()));
    let all: usize = reasons.values().map(Vec::len).sum();
    if all == 0 {
        return Vec::new();
    }
    let mut lines = vec![paint.doubtful(&format!("{title}: {}", count(all, "case")))];
    let digits = all.to_string().len();
    for (reason, cases) in reasons {
        lines.push(format!("  {:>digits$} × {}", cases.len(), plain(reason)));
        if options.verbose {
            let ids = cases.iter().map(|case| format!("       {}", plain(&case.id)));
            lines.extend(ids.map(|id| paint.quiet(&id)));
        }
    }
    end_section(&mut lines);
    lines
}

fn stale_baseline(run: &Run, paint: Paint) -> Vec<String> {
    if run.stale_baseline.is_empty() {
        return Vec::new();
    }
    let n = run.stale_baseline.len();
    let noun = if n == 1 { "entry" } else { "entries" };
    let mut lines = vec![paint.bad(&format!("stale baseline: {n} {noun} to remove"))];
    lines.extend(run.stale_baseline.iter().map(|entry| format!("  {}", plain(entry))));
    end_section(&mut lines);
    lines
}

fn numbers(run: &Run, wall: Duration, paint: Paint) -> Vec<String> {
    let wall_us = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
    let simulated: u64 = run.cases.iter().map(|case| case.simulated_us).sum();
    let mut rows = vec![
        ("client", plain(&run.client)),
        ("cases", cases(run)),
        ("counted", counted(run).unwrap_or_default()),
        ("time", format!("{} simulated, {} on the wall", span(simulated), span(wall_us))),
    ];
    if let Some(slowest) = run.cases.iter().max_by_key(|case| case.wall_us)
        && slowest.wall_us > 0
    {
        rows.push(("slowest", format!("{} {}", span(slowest.wall_us), plain(&slowest.id))));
    }
    let conditions =
        format!("{}, {} clock, {} wire", run.seed, plain(&run.clock), plain(&run.wire));
    rows.push(("seed", conditions));
    let row =
        |(name, text): (&str, String)| format!("{}  {text}", paint.quiet(&format!("{name:>8}")));
    rows.into_iter().filter(|(_, text)| !text.is_empty()).map(row).collect()
}

/// How many cases of how many files.
fn cases(run: &Run) -> String {
    let mut files: Vec<&str> = run.cases.iter().map(|case| case.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    format!("{} from {}", run.cases.len(), count(files.len(), "file"))
}

/// What the three numbers of the last line hide.
fn counted(run: &Run) -> Option<String> {
    let hidden = [
        ("known failure", "passed"),
        ("unexpected pass", "failed"),
        ("testbed fault", "failed"),
        ("inconclusive", "skipped"),
    ];
    let told = hidden.iter().filter_map(|(word, counted)| {
        let n = run.cases.iter().filter(|case| case.verdict.word() == *word).count();
        (n > 0).then(|| format!("{n} {word} as {counted}"))
    });
    let told = told.collect::<Vec<_>>().join(", ");
    (!told.is_empty()).then_some(told)
}

fn end_section(lines: &mut Vec<String>) {
    if !lines.is_empty() {
        lines.push(String::new());
    }
}
