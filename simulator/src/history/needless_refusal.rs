//! `needless_refusal`: a call was refused as stale, and nothing between its pin and the refusal
//! touched a cell that it would have written or that its agent had seen through that pin's read.
//!
//! A pin stands for everything that its agent was shown under it: the cells of every answer that
//! carried it, and, since a marker goes on covering what an earlier one covered, whatever the
//! agent had seen before of the same screens and of the screens that it writes. So a refusal
//! counts as needed when a write touched one of those cells and the agent had not been shown it,
//! or when one touched them after the pin was handed out. A pin that no delivery explains proves
//! nothing either way.

use std::collections::BTreeSet;

use super::anomaly::{Anomaly, AnomalyKind};
use super::facts::{Delivery, Refusal, Write, handle_of, name};
use super::telling::{evidence, list};
use super::timeline::History;

pub(super) fn find(history: &History) -> Vec<Anomaly> {
    history.refusals.iter().filter_map(|refusal| judge(history, refusal)).collect()
}

fn judge(history: &History, refusal: &Refusal) -> Option<Anomaly> {
    let client = refusal.client.as_str();
    let carried = |delivery: &&Delivery| delivery.revision.as_deref() == Some(&refusal.pin);
    let pinned: Vec<_> = history.deliveries_to(client, refusal.seq).filter(carried).collect();
    let handed_out = pinned.iter().map(|delivery| delivery.as_of).max()?;

    let writes_to: BTreeSet<_> = refusal.would_write.iter().map(|c| handle_of(c)).collect();
    let read_of: BTreeSet<_> =
        pinned.iter().flat_map(|d| &d.cells).map(|cell| handle_of(cell)).collect();
    let ever_seen = |handles: &BTreeSet<&str>| -> BTreeSet<&str> {
        let cells = history.deliveries_to(client, refusal.seq).flat_map(|d| &d.cells);
        cells.map(String::as_str).filter(|cell| handles.contains(handle_of(cell))).collect()
    };
    let would_write: BTreeSet<_> = refusal.would_write.iter().map(String::as_str).collect();
    let of_its_screens = &would_write | &ever_seen(&writes_to);
    let of_its_read = &would_write | &ever_seen(&read_of);

    let needed = |write: &&Write| {
        write.number <= refusal.as_of
            && write.cells.iter().map(name).any(|cell| {
                let unseen = write.number > history.seen(client, &cell, refusal.seq);
                (of_its_screens.contains(cell.as_str()) && unseen)
                    || (of_its_read.contains(cell.as_str()) && write.number > handed_out)
            })
    };
    if history.writes.iter().any(|write| needed(&write)) {
        return None;
    }
    let between = |write: &&Write| write.number > handed_out && write.number <= refusal.as_of;
    let moved: Vec<&Write> = history.writes.iter().filter(between).collect();
    let why = match moved.as_slice() {
        [] => "nothing at all had changed".to_owned(),
        moved => {
            let handles: BTreeSet<_> =
                moved.iter().flat_map(|w| &w.cells).map(|c| format!("`{}`", c.handle)).collect();
            format!("only {} had changed", list(&handles.into_iter().collect::<Vec<_>>()))
        }
    };
    let wanted = match refusal.would_write.as_slice() {
        [] => "would have written nothing".to_owned(),
        cells => {
            let cells: Vec<_> = cells.iter().map(|cell| format!("`{cell}`")).collect();
            format!("would have written {}", list(&cells))
        }
    };
    let seqs = pinned.iter().map(|delivery| delivery.seq).max().into_iter();
    Some(Anomaly {
        kind: AnomalyKind::NeedlessRefusal,
        client: client.to_owned(),
        says: format!(
            "`{}` of {} was refused as stale; it {wanted}, and {why}",
            refusal.tool,
            history.agent(client)
        ),
        protection: "a revision fine enough to tell what moved, or one that says which rows did \
                     (SURF-5)"
            .to_owned(),
        evidence: evidence(seqs.chain(moved.iter().map(|w| w.seq)).chain([refusal.seq])),
    })
}
