//! Moments as lines: evidence mark, time, who to whom, what, and the details.

use super::Options;
use super::paint::Paint;
use crate::record::Record;
use crate::telling::excerpt::{self, Line};
use crate::telling::moment::{Kind, Moment, Party};
use crate::telling::teller;
use crate::telling::words;
use std::collections::BTreeSet;
use unicode_width::UnicodeWidthStr;

/// The part of the record around the evidence.
pub(super) fn lines(record: &Record, evidence: &BTreeSet<u64>, options: &Options) -> Vec<String> {
    let moments = teller::tell(record);
    let chosen = excerpt::choose(&moments, evidence);
    let columns = Columns::of(&chosen);
    let paint = Paint::new(options.colour);
    let mut last_at = None;
    let mut lines = Vec::new();
    for line in chosen {
        match line {
            Line::Gap(n) => {
                let told = format!("⋮ {}", words::count(n, "more moment"));
                lines.push(format!(
                    "  {:columns$}{}",
                    "",
                    paint.quiet(&told),
                    columns = columns.text()
                ));
            }
            Line::Moment { moment, evidence } => {
                let time =
                    if last_at == Some(moment.at) { String::new() } else { words::at(moment.at) };
                last_at = Some(moment.at);
                lines.extend(columns.lines(moment, evidence, &time, options, paint));
            }
        }
    }
    lines
}

/// How wide the columns are.
struct Columns {
    time: usize,
    left: usize,
    right: usize,
}

impl Columns {
    fn of(lines: &[Line<'_>]) -> Self {
        let moments = || {
            lines.iter().filter_map(|line| match line {
                Line::Moment { moment, .. } => Some(*moment),
                Line::Gap(_) => None,
            })
        };
        let widest = |width: &dyn Fn(&Moment) -> usize| moments().map(width).max().unwrap_or(0);
        Self {
            time: widest(&|moment| words::at(moment.at).len()),
            left: widest(&|moment| sides(moment).0.width()),
            right: widest(&|moment| sides(moment).2.width()),
        }
    }

    /// Where the text starts, after the mark.
    fn text(&self) -> usize {
        self.time + 2 + self.left + 3 + self.right + 2
    }

    fn lines(
        &self,
        moment: &Moment,
        evidence: bool,
        time: &str,
        options: &Options,
        paint: Paint,
    ) -> Vec<String> {
        let mark = if evidence { paint.bad("▌") } else { " ".to_owned() };
        if moment.kind == Kind::Step {
            let rule = paint.quiet(&format!("── {}", moment.title));
            return vec![format!("{mark} {}  {rule}", paint.quiet(&pad(time, self.time)))];
        }
        let (left, sign, right) = sides(moment);
        let head = format!(
            "{mark} {}  {} {sign} {}  ",
            paint.quiet(&pad(time, self.time)),
            pad(left, self.left),
            pad(right, self.right),
        );
        let room = options.width.saturating_sub(self.text() + 4).max(30);
        let text = wrap(&moment.title, room);
        let continued = format!("{mark} {:width$}", "", width = self.text());
        let mut lines: Vec<Vec<String>> = Vec::new();
        for line in &text {
            lines.push(vec![paint.moment(moment.kind, line)]);
        }
        let mut used = text.last().map_or(0, |line| line.width());
        for detail in &moment.details {
            let detail = words::elide(detail, room);
            if used > 0 && used + 2 + detail.width() > room {
                lines.push(Vec::new());
                used = 0;
            }
            used += 2 + detail.width();
            lines.last_mut().into_iter().for_each(|line| line.push(painted(&detail, paint)));
        }
        let starts = std::iter::once(head).chain(std::iter::repeat(continued));
        let joined = starts.zip(lines).map(|(start, parts)| start + &parts.join("  "));
        joined.map(|line| line.trim_end().to_owned()).collect()
    }
}

/// Who stands on the left, the arrow, who stands on the right.
fn sides(moment: &Moment) -> (&str, &'static str, &str) {
    let (from, to) = (&moment.from, &moment.to);
    if moment.kind == Kind::Step {
        return ("", " ", "");
    }
    match (from.is_left(), to.is_left()) {
        _ if moment.kind == Kind::Fault => ("", "!", to.name()),
        // What a client told its caller, or a state of its own.
        (true, true) => (from.name(), "•", ""),
        (true, false) => (from.name(), "→", to.name()),
        (false, true) => (to.name(), "←", from.name()),
        (false, false) if *from == Party::Testbed => (from.name(), "•", ""),
        (false, false) => ("", "•", to.name()),
    }
}

/// Pins and revisions stand out, the other details stand back.
fn painted(detail: &str, paint: Paint) -> String {
    let marker = ["pin ", "unpinned", "revision "].iter().any(|start| detail.starts_with(start));
    if marker { paint.marker(detail) } else { paint.quiet(detail) }
}

pub(super) fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(missing))
}

/// Breaks text at spaces so that lines fit, and words that are too long where they must.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last().map_or(0, |line| line.width());
        if line > 0 && line + 1 + word.width() > width {
            lines.push(String::new());
        }
        let mut line = lines.pop().unwrap_or_default();
        if !line.is_empty() {
            line.push(' ');
        }
        for c in word.chars() {
            if line.width() >= width {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_at_spaces_and_long_words_where_they_must() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("a 123456789", 5), ["a", "12345", "6789"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("漢字 漢字", 5), ["漢字", "漢字"]);
    }
}
