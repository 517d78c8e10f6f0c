//! The part of a record that a reader needs to see beside a broken expectation.

use super::moment::{Kind, Moment, Weight};
use std::collections::BTreeSet;

/// How many moments of the story are shown before each piece of evidence. What led to it says
/// more than what followed.
const BEFORE: usize = 5;

/// How many are shown after it.
const AFTER: usize = 2;

/// How many pieces of evidence are shown from the first on, and how many up to the last. A count
/// that is off by a hundred rests on hundreds, and they are alike.
const EVIDENCE_EACH_END: usize = 6;

/// A line of an excerpt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'m> {
    /// A moment, and whether it is evidence.
    Moment {
        /// What happened.
        moment: &'m Moment,
        /// Whether the broken expectation, or the anomaly, rests on it.
        evidence: bool,
    },
    /// So many moments of the story were left out here.
    Gap(usize),
}

/// The moments around the evidence; the end of the story when there is no evidence, since an
/// expectation over nothing is broken by what never came.
pub(crate) fn choose<'m>(moments: &'m [Moment], evidence: &BTreeSet<u64>) -> Vec<Line<'m>> {
    let is_evidence = |moment: &Moment| evidence.contains(&moment.seq);
    let story: Vec<&Moment> =
        moments.iter().filter(|m| m.weight == Weight::Story || is_evidence(m)).collect();
    let chosen = around(&story, is_evidence);
    let mut lines = Vec::new();
    let mut gap = 0;
    for (nth, moment) in story.into_iter().enumerate() {
        if !chosen.contains(&nth) {
            gap += usize::from(moment.kind != Kind::Step);
            continue;
        }
        if gap > 0 {
            lines.push(Line::Gap(gap));
            gap = 0;
        }
        lines.push(Line::Moment { moment, evidence: is_evidence(moment) });
    }
    if gap > 0 {
        lines.push(Line::Gap(gap));
    }
    lines
}

/// Which moments of the story to show, as places in it.
fn around(story: &[&Moment], is_evidence: impl Fn(&Moment) -> bool) -> BTreeSet<usize> {
    let mut centres: Vec<usize> = (0..story.len()).filter(|nth| is_evidence(story[*nth])).collect();
    if centres.len() > 2 * EVIDENCE_EACH_END {
        centres.drain(EVIDENCE_EACH_END..centres.len() - EVIDENCE_EACH_END);
    }
    if centres.is_empty() {
        centres.extend(story.len().checked_sub(1));
    }
    let mut chosen = BTreeSet::new();
    for centre in centres {
        let before = walk(story, (0..centre).rev(), BEFORE);
        let after = walk(story, centre + 1..story.len(), AFTER);
        chosen.extend(before.into_iter().chain([centre]).chain(after));
    }
    // A gap of a single moment takes the line that the moment itself would.
    for nth in 1..story.len() {
        if !chosen.contains(&nth) && chosen.contains(&(nth - 1)) && chosen.contains(&(nth + 1)) {
            chosen.insert(nth);
        }
    }
    chosen
}

/// The next `max` moments, and the steps of the script between them, which are headings.
fn walk(story: &[&Moment], places: impl Iterator<Item = usize>, max: usize) -> Vec<usize> {
    let mut taken = Vec::new();
    let mut counted = 0;
    for nth in places {
        if story[nth].kind != Kind::Step {
            counted += 1;
        }
        if counted > max {
            break;
        }
        taken.push(nth);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::super::moment::Party;
    use super::*;

    fn moments(n: u64) -> Vec<Moment> {
        let moment = |seq| Moment {
            seq,
            at: seq,
            kind: Kind::Frame,
            from: Party::Relay,
            to: Party::Relay,
            title: String::new(),
            details: Vec::new(),
            weight: if seq % 2 == 0 { Weight::Wire } else { Weight::Story },
        };
        (1..=n).map(moment).collect()
    }

    /// Sequence numbers, evidence with `!`, gaps as `(n)`.
    fn check(n: u64, evidence: &[u64], expect: &str) {
        let moments = moments(n);
        let lines = choose(&moments, &evidence.iter().copied().collect());
        let told: Vec<_> = lines
            .iter()
            .map(|line| match line {
                Line::Moment { moment, evidence: true } => format!("{}!", moment.seq),
                Line::Moment { moment, evidence: false } => moment.seq.to_string(),
                Line::Gap(n) => format!("({n})"),
            })
            .collect();
        assert_eq!(told.join(" "), expect);
    }

    #[test]
    fn a_few_moments_of_the_story_stand_around_the_evidence() {
        check(40, &[21], "(5) 11 13 15 17 19 21! 23 25 (7)");
        check(40, &[20], "(5) 11 13 15 17 19 20! 21 23 (8)");
        check(60, &[15, 51], "(2) 5 7 9 11 13 15! 17 19 (10) 41 43 45 47 49 51! 53 55 (2)");
        check(30, &[9, 25], "1 3 5 7 9! 11 13 15 17 19 21 23 25! 27 29");
    }

    #[test]
    fn much_evidence_is_shown_at_both_ends() {
        let moments = moments(1_000);
        let lines = choose(&moments, &(1..=1_000).collect());
        assert!(lines.len() < 40, "{} lines", lines.len());
        assert!(matches!(lines.first(), Some(Line::Moment { moment, .. }) if moment.seq == 1));
        assert!(matches!(lines.last(), Some(Line::Moment { moment, .. }) if moment.seq == 1_000));
    }

    #[test]
    fn without_evidence_the_end_is_shown() {
        check(40, &[], "(14) 29 31 33 35 37 39");
        check(4, &[], "1 3");
        check(0, &[], "");
    }
}
