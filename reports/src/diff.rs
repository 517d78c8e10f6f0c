//! What changed between two runs, or between two records of one case.

use crate::record::Record;
use crate::redact::{Draft, Redactor};
use crate::telling::moment::{Kind, Moment, Weight};
use crate::telling::{teller, words};
use crate::verdict::{Case, Run, Tally};
use indexmap::IndexMap;
use similar::{ChangeTag, TextDiff};

/// How many unchanged moments stand around a change.
const CONTEXT: usize = 3;

/// What changed between two runs, in words, worst first. Every secret is replaced (AUTH-2).
pub fn runs(before: &Run, after: &Run, redactor: &Redactor) -> String {
    let (before, after) = (redactor.clean(before), redactor.clean(after));
    let mut groups: IndexMap<Change, Vec<String>> =
        Change::ORDER.iter().map(|change| (*change, Vec::new())).collect();
    let old: IndexMap<&str, &Case> = before.cases.iter().map(|c| (c.id.as_str(), c)).collect();
    let new: IndexMap<&str, &Case> = after.cases.iter().map(|c| (c.id.as_str(), c)).collect();
    for case in &after.cases {
        let change = match old.get(case.id.as_str()) {
            Some(was) => Change::between(was, case),
            None => Some(Change::New),
        };
        if let Some(change) = change {
            let was = old.get(case.id.as_str()).copied();
            groups.entry(change).or_default().push(line(was, Some(case)));
        }
    }
    for case in before.cases.iter().filter(|case| !new.contains_key(case.id.as_str())) {
        groups.entry(Change::Gone).or_default().push(line(Some(case), None));
    }
    let mut text = conditions(&before, &after);
    for (change, lines) in groups.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        text.push_str(&format!("{}: {}\n", change.title(), lines.len()));
        text.extend(lines);
    }
    if text.is_empty() {
        text.push_str("nothing changed\n");
    }
    redactor.release(Draft::from(text))
}

/// Where two records part, as a diff of their stories: what the second has not is `-`, what it
/// has instead is `+`. Ids and times are left out, since they differ between runs that are alike.
pub fn records(before: &Record, after: &Record, redactor: &Redactor) -> String {
    let (before, after) = (redactor.clean(before), redactor.clean(after));
    let (old, new) = (story(&before), story(&after));
    let diff = TextDiff::from_lines(&old, &new);
    let mut text = String::new();
    for group in diff.grouped_ops(CONTEXT) {
        if !text.is_empty() {
            text.push_str("  ⋮\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            text.push_str(&format!("{sign} {}\n", change.value().trim_end()));
        }
    }
    if text.is_empty() {
        text.push_str("the two records tell the same story\n");
    }
    redactor.release(Draft::from(text))
}

/// How a case changed, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Change {
    Broke,
    FailsOtherwise,
    StoppedRunning,
    Gone,
    Fixed,
    RunsNow,
    New,
    Other,
}

impl Change {
    const ORDER: &[Self] = &[
        Self::Broke,
        Self::FailsOtherwise,
        Self::StoppedRunning,
        Self::Gone,
        Self::Fixed,
        Self::RunsNow,
        Self::New,
        Self::Other,
    ];

    fn between(was: &Case, is: &Case) -> Option<Self> {
        match (was.verdict.tally(), is.verdict.tally()) {
            (Tally::Failed, Tally::Failed) => {
                (fingerprint(was) != fingerprint(is)).then_some(Self::FailsOtherwise)
            }
            (_, Tally::Failed) => Some(Self::Broke),
            (Tally::Failed, Tally::Passed) => Some(Self::Fixed),
            (Tally::Skipped, Tally::Passed) => Some(Self::RunsNow),
            (Tally::Passed | Tally::Failed, Tally::Skipped) => Some(Self::StoppedRunning),
            _ => (was.verdict.word() != is.verdict.word()).then_some(Self::Other),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Broke => "broke",
            Self::FailsOtherwise => "fails in another way",
            Self::StoppedRunning => "is skipped now",
            Self::Gone => "is gone",
            Self::Fixed => "fixed",
            Self::RunsNow => "passes, was skipped",
            Self::New => "new",
            Self::Other => "changed",
        }
    }
}

/// How a case failed: which expectations broke, and which anomalies there were.
fn fingerprint(case: &Case) -> (&'static str, Vec<&str>, Vec<&str>) {
    let broken = case.expectations.iter().filter(|e| !e.held).map(|e| e.path.as_str());
    let anomalies = case.anomalies.iter().map(|anomaly| anomaly.kind.as_str());
    (case.verdict.word(), broken.collect(), anomalies.collect())
}

fn line(was: Option<&Case>, is: Option<&Case>) -> String {
    let Some(case) = is.or(was) else { return String::new() };
    let word = |case: Option<&Case>| case.map_or("absent", |case| case.verdict.word());
    let mut text = format!("  {}\n      ", words::plain(&case.id));
    match (word(was), word(is)) {
        (old, new) if old == new => text.push_str(new),
        (old, new) => text.push_str(&format!("{old} → {new}")),
    }
    if let Some(reason) = is.and_then(|case| case.verdict.reason()) {
        text.push_str(&format!(": {}", words::plain(reason)));
    }
    text + "\n"
}

/// What made the two runs different before they began.
fn conditions(before: &Run, after: &Run) -> String {
    let pairs = [
        ("client", before.client.clone(), after.client.clone()),
        ("testbed", before.testbed.clone(), after.testbed.clone()),
        ("seed", before.seed.to_string(), after.seed.to_string()),
        ("clock", before.clock.clone(), after.clock.clone()),
        ("wire", before.wire.clone(), after.wire.clone()),
    ];
    let changed = pairs.iter().filter(|(_, old, new)| old != new);
    changed
        .map(|(name, old, new)| format!("{name}: {} → {}\n", words::plain(old), words::plain(new)))
        .collect()
}

/// The story of a record, one moment a line.
fn story(record: &Record) -> String {
    let moments = teller::tell(record);
    moments.iter().filter(|moment| moment.weight == Weight::Story).map(told).collect()
}

fn told(moment: &Moment) -> String {
    if moment.kind == Kind::Step {
        return format!("── {}\n", moment.title);
    }
    let stable = moment.details.iter().filter(|detail| !detail.starts_with('#'));
    let details: String = stable.map(|detail| format!("  {detail}")).collect();
    let (from, to) = (moment.from.name(), moment.to.name());
    if from == to {
        return format!("{from}  {}{details}\n", moment.title);
    }
    format!("{from} → {to}  {}{details}\n", moment.title)
}
