//! A whole case as a sequence: one lane a party, time downwards, words on the right.

use super::excerpt::pad;
use super::paint::Paint;
use crate::record::Record;
use crate::telling::moment::{Kind, Moment, Party, Weight};
use crate::telling::{teller, words};
use std::collections::BTreeSet;
use unicode_width::UnicodeWidthStr;

/// The narrowest lane, in columns, so that an arrow is still an arrow.
const LANE_COLUMNS_MIN: usize = 8;

/// Draws a record.
pub(super) fn draw(record: &Record, evidence: &BTreeSet<u64>, paint: Paint) -> String {
    let moments: Vec<Moment> = teller::tell(record)
        .into_iter()
        .filter(|moment| moment.weight < Weight::Bookkeeping || evidence.contains(&moment.seq))
        .collect();
    let lanes = Lanes::of(&moments);
    let time_width = moments.iter().map(|m| words::at(m.at).len()).max().unwrap_or(0);
    let mut text = format!("  {:time_width$}  {}\n", "", paint.strong(lanes.names().trim_end()));
    let mut last_at = None;
    for moment in &moments {
        let time = if last_at == Some(moment.at) { String::new() } else { words::at(moment.at) };
        last_at = Some(moment.at);
        let mark = if evidence.contains(&moment.seq) { paint.bad("▌") } else { " ".to_owned() };
        let time = paint.quiet(&pad(&time, time_width));
        let line = format!("{mark} {time}  {}", lanes.line(moment, paint));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The parties from left to right. An agent and the client that speaks for it share a lane.
struct Lanes {
    names: Vec<String>,
    width: usize,
}

impl Lanes {
    fn of(moments: &[Moment]) -> Self {
        let parties: BTreeSet<(u8, &str)> =
            moments.iter().flat_map(|m| [&m.from, &m.to]).filter_map(place).collect();
        let names: Vec<String> = parties.into_iter().map(|(_, name)| name.to_owned()).collect();
        let widest = names.iter().map(|name| name.width()).max().unwrap_or(0);
        Self { names, width: (widest + 2).max(LANE_COLUMNS_MIN) }
    }

    fn names(&self) -> String {
        self.names.iter().map(|name| pad(name, self.width)).collect()
    }

    fn line(&self, moment: &Moment, paint: Paint) -> String {
        let lane = |party: &Party| {
            let (_, name) = place(party)?;
            self.names.iter().position(|lane| lane == name)
        };
        let (picture, text) = match (lane(&moment.from), lane(&moment.to)) {
            (Some(from), Some(to)) if from != to => (self.arrow(from, to), moment.title.clone()),
            (_, Some(at)) => (self.dot(at, sign(moment.kind)), moment.title.clone()),
            _ => (self.dot(usize::MAX, ""), format!("── {}", moment.title)),
        };
        let details = if moment.kind == Kind::Step { "" } else { &moment.details.join("  ") };
        format!(
            "{}{}  {}",
            paint.moment(moment.kind, &picture),
            paint.moment(moment.kind, &text),
            paint.quiet(details),
        )
    }

    /// `│       ├───────┼──────▶│`
    fn arrow(&self, from: usize, to: usize) -> String {
        let (low, high) = (from.min(to), from.max(to));
        let mut text = String::new();
        for lane in 0..self.names.len() {
            let inside = (low..high).contains(&lane);
            text.push_str(match lane {
                _ if lane == from && from < to => "├",
                _ if lane == from => "┤",
                _ if lane == to => "│",
                _ if inside => "┼",
                _ => "│",
            });
            let mut bar = if inside { "─" } else { " " }.repeat(self.width - 1);
            // An arrow head takes the place of the stroke beside the lane that it points to.
            if inside && lane + 1 == to {
                bar = "─".repeat(self.width - 2) + "▶";
            } else if inside && lane == to {
                bar = "◀".to_owned() + &"─".repeat(self.width - 2);
            }
            text.push_str(&bar);
        }
        text
    }

    fn dot(&self, at: usize, sign: &str) -> String {
        let lane = |lane| pad(if lane == at { sign } else { "│" }, self.width);
        (0..self.names.len()).map(lane).collect()
    }
}

/// The order of the lanes, and their names; the testbed has none.
fn place(party: &Party) -> Option<(u8, &str)> {
    let order = match party {
        Party::Testbed => return None,
        Party::Person(_) => 0,
        Party::Agent(_) | Party::Client(_) => 1,
        Party::Relay => 2,
        Party::Surface => 3,
    };
    Some((order, party.name()))
}

fn sign(kind: Kind) -> &'static str {
    match kind {
        Kind::Fault => "✗",
        Kind::AnswerError => "✗",
        _ => "●",
    }
}
