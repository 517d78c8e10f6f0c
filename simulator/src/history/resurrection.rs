//! `resurrection`: an agent creates a handle that a person deleted, or writes to it, with no
//! person having brought it back. One is told for each agent and deletion: what the agent goes on
//! to do to the thing that it brought back is the same mistake.

use super::anomaly::{Anomaly, AnomalyKind};
use super::facts::Write;
use super::telling::evidence;
use super::timeline::History;

pub(super) fn find(history: &History) -> Vec<Anomaly> {
    let mut told: Vec<(&str, &str, u64)> = Vec::new();
    let mut found = Vec::new();
    for write in history.writes.iter().filter(|write| !write.has_person_behind()) {
        let Some(client) = write.client() else { continue };
        for handle in handles(write) {
            // To delete a thing again is no way of bringing it back.
            if write.existence_of(handle) == Some(false) {
                continue;
            }
            let Some(deletion) = standing_deletion(history, handle, write.number) else { continue };
            let key = (client, handle, deletion.number);
            if !told.contains(&key) {
                told.push(key);
                found.push(tell(history, client, handle, deletion, write));
            }
        }
    }
    found
}

/// The person's deletion of a handle that no person has taken back before a write.
fn standing_deletion<'a>(history: &'a History, handle: &str, before: u64) -> Option<&'a Write> {
    let by_people = |write: &&Write| write.number < before && write.has_person_behind();
    let last = history
        .writes
        .iter()
        .filter(by_people)
        .filter(|write| write.existence_of(handle).is_some())
        .max_by_key(|write| write.number)?;
    // A deletion that an agent proposed and a person confirmed is the person's as well.
    (last.existence_of(handle) == Some(false)).then_some(last)
}

fn handles(write: &Write) -> Vec<&str> {
    let mut handles: Vec<_> = write.cells.iter().map(|cell| cell.handle.as_str()).collect();
    handles.dedup();
    handles
}

fn tell(history: &History, client: &str, handle: &str, deletion: &Write, write: &Write) -> Anomaly {
    let (agent, person) = (history.agent(client), history.author(deletion));
    let knew = history.was_told(client, deletion, write.seq);
    let did = if write.existence_of(handle) == Some(true) { "made it anew" } else { "wrote to it" };
    let (why, protection) = if knew {
        (
            "knowing of the deletion",
            "leaving a deleted thing deleted: it is the person's change (FEED-9)",
        )
    } else {
        (
            "without having been told of the deletion",
            "a revision that moves on a deletion (SURF-4), a tombstone in the feed (SURF-8), and a \
             write that does not create",
        )
    };
    let told = history.last_telling(client, &format!("{handle}.exists"), write.seq);
    let seqs = [deletion.seq, write.seq].into_iter().chain(told.map(|delivery| delivery.seq));
    Anomaly {
        kind: AnomalyKind::Resurrection,
        client: client.to_owned(),
        says: format!("{person} deleted `{handle}`, and {agent} {did}, {why}"),
        protection: protection.to_owned(),
        evidence: evidence(seqs),
    }
}
