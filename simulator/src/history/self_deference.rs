//! `self_deference`: a change row for an agent's own write does not say that it is the agent's,
//! and the agent held back because of it.

use super::anomaly::{Anomaly, AnomalyKind};
use super::facts::{Delivery, HeldBack, Write};
use super::telling::evidence;
use super::timeline::History;
use crate::journal::ChangeRow;

/// The words by which a feed says that the asking agent made a change (FEED-8).
const OWN_WORDS: [&str; 4] = ["agent", "assistant", "self", "me"];

pub(super) fn find(history: &History) -> Vec<Anomaly> {
    history.held_back.iter().filter_map(|held| judge(history, held)).collect()
}

fn judge(history: &History, held: &HeldBack) -> Option<Anomaly> {
    let client = held.client.as_str();
    let names_it = |delivery: &&Delivery| delivery.rows.iter().any(|r| r.handle == held.handle);
    let warning = history.deliveries_to(client, held.seq).rev().find(names_it)?;
    let rows: Vec<&ChangeRow> = warning.rows.iter().filter(|r| r.handle == held.handle).collect();
    let written: Vec<&Write> = rows.iter().filter_map(|row| of_row(history, row)).collect();
    let all_own = written.len() == rows.len() && written.iter().all(|w| w.client() == Some(client));
    let unsaid = rows.iter().find(|row| !says_own(row))?;
    if !all_own {
        return None;
    }
    let agent = history.agent(client);
    let named = unsaid
        .actor
        .as_ref()
        .map_or_else(|| "named nobody".to_owned(), |actor| format!("named `{actor}`"));
    Some(Anomaly {
        kind: AnomalyKind::SelfDeference,
        client: client.to_owned(),
        says: format!(
            "{agent} left `{}` alone because the feed said that it had changed; the change was \
             {agent}'s own, and the row {named}",
            held.handle
        ),
        protection: "a feed that attributes an agent's own changes to it (SURF-7)".to_owned(),
        evidence: evidence(written.iter().map(|w| w.seq).chain([warning.seq, held.seq])),
    })
}

fn of_row<'a>(history: &'a History, row: &ChangeRow) -> Option<&'a Write> {
    history.writes.iter().find(|write| write.number == row.write)
}

fn says_own(row: &ChangeRow) -> bool {
    let word = row.actor.as_deref().unwrap_or_default().trim().to_ascii_lowercase();
    OWN_WORDS.contains(&word.as_str())
}
