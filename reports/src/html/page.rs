//! Putting the page together.

use super::data;
use crate::console::last_line;
use crate::redact::{Draft, Redactor};
use crate::telling::words::plain;
use crate::verdict::{Run, Tally};

/// The page. Each [`PARTS`] marker stands in it once, in order.
const PAGE: &str = include_str!("page.html");

/// Where the page's parts go.
const PARTS: [&str; 5] = ["{title}", "{style}", "{noscript}", "{data}", "{script}"];

/// How many bytes a page should have at most: one that a mail takes and a phone opens. Records
/// are left out, those of passing cases first, until it fits.
const BYTES_MAX: usize = 1_900_000;

/// A run as one HTML page, every secret replaced (AUTH-2).
pub fn write(run: &Run, redactor: &Redactor) -> String {
    let run = redactor.clean(run);
    let (style, script) = (include_str!("style.css"), include_str!("script.js"));
    let noscript = noscript(&run);
    let shell = PAGE.len() + style.len() + script.len() + noscript.len();
    let data = data::of(&run, BYTES_MAX.saturating_sub(shell));
    let title = format!("{} · relay-testbed", last_line(&run));
    let mut page = String::with_capacity(shell + data.len());
    let mut rest = PAGE;
    for (marker, part) in
        PARTS.iter().zip([title.as_str(), style, noscript.as_str(), data.as_str(), script])
    {
        let (before, after) = rest.split_once(marker).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(part);
        rest = after;
    }
    page.push_str(rest);
    redactor.release(Draft::from(page))
}

/// What a reader without scripts gets: the numbers, and what failed.
fn noscript(run: &Run) -> String {
    let failed = run.cases.iter().filter(|case| case.verdict.tally() == Tally::Failed);
    let items = failed.map(|case| {
        let reason = case.verdict.reason().unwrap_or_default();
        format!("<li><b>{}</b> {}</li>", escaped(&case.id), escaped(reason))
    });
    format!("<h1>{}</h1><ul>{}</ul>", last_line(run), items.collect::<String>())
}

fn escaped(text: &str) -> String {
    plain(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
