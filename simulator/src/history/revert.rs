//! `revert`: an agent's applied write sets a cell back to a value that the agent itself wrote
//! earlier, over a person's later write that the agent has seen.

use super::anomaly::{Anomaly, AnomalyKind};
use super::facts::{Write, name};
use super::overwrite::{Overwrite, OverwrittenCell};
use super::telling::evidence;
use super::timeline::History;

pub(super) fn find(history: &History) -> Vec<Anomaly> {
    let put_back = |cell: &OverwrittenCell<'_>, client: &str| {
        cell.person.number <= cell.seen && earlier(history, cell, client).is_some()
    };
    history.overwrites(put_back).into_iter().map(|overwrite| told(history, &overwrite)).collect()
}

/// The agent's own earlier write of the same value, before the person's.
pub(super) fn earlier<'a>(
    history: &'a History,
    cell: &OverwrittenCell<'_>,
    client: &str,
) -> Option<&'a Write> {
    history.writes.iter().rev().find(|write| {
        write.number < cell.person.number
            && write.client() == Some(client)
            && write.cells.iter().any(|c| name(c) == cell.cell && c.new == cell.change.new)
    })
}

fn told(history: &History, overwrite: &Overwrite<'_>) -> Anomaly {
    let own = overwrite.cells.iter().filter_map(|cell| earlier(history, cell, overwrite.client));
    let mut rows = history
        .deliveries_to(overwrite.client, overwrite.write.seq)
        .flat_map(|delivery| &delivery.rows);
    let warned = rows.any(|row| {
        overwrite
            .cells
            .iter()
            .any(|cell| row.write >= cell.person.number && row.handle == cell.change.handle)
    });
    let protection = if warned {
        "deferring to a change that the feed did not say was the agent's own (FEED-9)"
    } else {
        "asking what changed, and who changed it, before putting anything back (SURF-6, SURF-7, \
         FEED-9)"
    };
    Anomaly {
        kind: AnomalyKind::Revert,
        client: overwrite.client.to_owned(),
        says: format!(
            "{} {}, which is what it had written there before: it had seen the edit and put its \
             own value back",
            history.agent(overwrite.client),
            overwrite.says(history)
        ),
        protection: protection.to_owned(),
        evidence: evidence(overwrite.entries(history).into_iter().chain(own.map(|w| w.seq))),
    }
}
