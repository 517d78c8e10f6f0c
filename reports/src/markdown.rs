//! A run as Markdown: for the summary of a CI job, a pull request, a wiki.

use crate::console::{excerpt_for, last_line};
use crate::redact::{Draft, Redactor};
use crate::telling::words::{count, plain, span};
use crate::verdict::{Case, Expectation, Run, Tally, Verdict};
use indexmap::IndexMap;

/// How many bytes a summary may have: GitHub shows none that is over 1 MiB.
const BYTES_MAX: usize = 1_000_000;

/// A run as Markdown, every secret replaced (AUTH-2).
pub fn write(run: &Run, redactor: &Redactor) -> String {
    let run = redactor.clean(run);
    let mut text = head(&run);
    let end = tail(&run);
    let failed: Vec<&Case> =
        run.cases.iter().filter(|case| case.verdict.tally() == Tally::Failed).collect();
    for (nth, case) in failed.iter().enumerate() {
        let section = failure(case);
        if text.len() + section.len() + end.len() > BYTES_MAX {
            let left = count(failed.len() - nth, "more failure");
            text.push_str(&format!("\n*{left} left out here: the summary would be too long.*\n"));
            break;
        }
        text.push_str(&section);
    }
    text.push_str(&end);
    redactor.release(Draft::from(text))
}

fn head(run: &Run) -> String {
    let simulated = run.cases.iter().map(|case| case.simulated_us).sum();
    format!(
        "## {mark} {numbers}\n\n{client} · {cases}, {simulated} simulated · seed {seed}, {clock} \
         clock, {wire} wire\n",
        mark = if run.tally().1 > 0 || !run.stale_baseline.is_empty() { "❌" } else { "✅" },
        numbers = last_line(run),
        client = text(&run.client),
        cases = count(run.cases.len(), "case"),
        simulated = span(simulated),
        seed = run.seed,
        clock = text(&run.clock),
        wire = text(&run.wire),
    )
}

fn failure(case: &Case) -> String {
    let mut section = format!("\n### {}: {}\n\n", case.verdict.word(), text(&case.id));
    section.push_str(&format!("{}\n", text(case.verdict.reason().unwrap_or_default())));
    for broken in case.expectations.iter().filter(|expectation| !expectation.held) {
        section.push_str(&expectation(case, broken));
    }
    for anomaly in &case.anomalies {
        section.push_str(&format!(
            "\n> **{}** {}\n>\n> *What stops it:* {}\n",
            text(&anomaly.kind.replace('_', " ")),
            text(&anomaly.says),
            text(&anomaly.protection),
        ));
    }
    let excerpt = excerpt_for(case);
    if !excerpt.is_empty() {
        section.push_str("\n<details><summary>What happened</summary>\n\n");
        section.push_str(&fenced(&excerpt, "text"));
        section.push_str("\n</details>\n");
    }
    section
}

fn expectation(case: &Case, broken: &Expectation) -> String {
    format!(
        "\n`{}:{}`\n\n{}\n| | |\n|---|---|\n| expected | {} |\n| seen | {} |\n",
        plain(&case.file).replace('`', "'"),
        broken.line,
        fenced(&format!("{}\n", plain(broken.source.trim())), "yaml"),
        text(&broken.expected),
        text(&broken.seen),
    )
}

/// What is not a failure and still has to be seen.
fn tail(run: &Run) -> String {
    let mut lines = String::new();
    for entry in &run.stale_baseline {
        lines.push_str(&format!("- **stale baseline**: {}\n", text(entry)));
    }
    for case in &run.cases {
        if let Verdict::KnownFailure { reason } = &case.verdict {
            lines.push_str(&format!("- **known failure** {}: {}\n", text(&case.id), text(reason)));
        }
    }
    let mut reasons: IndexMap<(&str, &str), usize> = IndexMap::new();
    for case in run.cases.iter().filter(|case| case.verdict.tally() == Tally::Skipped) {
        let reason = case.verdict.reason().unwrap_or_default();
        *reasons.entry((case.verdict.word(), reason)).or_default() += 1;
    }
    for ((word, reason), n) in reasons {
        lines.push_str(&format!("- **{word}** {n} × {}\n", text(reason)));
    }
    if lines.is_empty() { lines } else { format!("\n### Also\n\n{lines}") }
}

/// Text between Markdown: nothing in it is markup, a link, a mention or HTML, except that what
/// stands between two backticks is code.
fn text(text: &str) -> String {
    let text = plain(text);
    let parts: Vec<&str> = text.split('`').collect();
    let mut out = String::with_capacity(text.len());
    for (nth, part) in parts.iter().enumerate() {
        let closed = nth % 2 == 1 && nth + 1 < parts.len();
        if closed && !part.trim().is_empty() {
            out.push_str(&format!("`{}`", part.replace('|', "\\|")));
            continue;
        }
        // The backtick before this part, and the one after it when it closes nothing.
        if nth % 2 == 1 {
            out.push_str("\\`");
        }
        out.push_str(&escaped(part));
        if closed {
            out.push_str("\\`");
        }
    }
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            '\\' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

/// A code block whose fence is longer than any run of backticks in it.
fn fenced(code: &str, language: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for c in code.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence}{language}\n{code}{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fenced("a ```` b\n", "text"), "`````text\na ```` b\n`````\n");
        assert_eq!(fenced("a\n", "text"), "```text\na\n```\n");
    }

    #[test]
    fn text_is_never_markup() {
        assert_eq!(text("<b>|*x*|"), "&lt;b&gt;\\|\\*x\\*\\|");
        assert_eq!(text("a `b_c|` d_e `"), "a `b_c\\|` d\\_e \\`");
        assert_eq!(text("`` `"), "\\`\\` \\`");
        assert_eq!(text("@someone [a](b) #1"), "&#64;someone \\[a\\](b) \\#1");
    }
}
