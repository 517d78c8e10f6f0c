//! `false_calm`: a client answered "nothing changed" for an interval in which somebody else
//! wrote.
//!
//! The interval ends with the feed's answer that the claim rests on; what happened after it was
//! made is nobody's lie. It begins when the client was first told anything, or where the caller
//! says. Within it, a write that the client had been told of before it asked is no news, whatever
//! marker it asked with; a write that it had not been told of is, also when its marker had moved
//! past the write.

use super::anomaly::{Anomaly, AnomalyKind};
use super::facts::{Calm, Write};
use super::telling::{evidence, list};
use super::timeline::History;
use crate::journal::ChangeRow;

pub(super) fn find(history: &History) -> Vec<Anomaly> {
    history.calms.iter().filter_map(|calm| judge(history, calm)).collect()
}

fn judge(history: &History, calm: &Calm) -> Option<Anomaly> {
    let client = calm.client.as_str();
    let answer = history.deliveries.iter().find(|d| Some(d.seq) == calm.answer);
    let asked = answer.map_or(calm.seq, |answer| answer.seq);
    let first_told = history.deliveries_to(client, asked).next();
    let in_interval = |write: &&Write| {
        let begun = match calm.since {
            Some(since) => write.seq > since,
            None => first_told.is_none_or(|first| write.number > first.as_of),
        };
        let over = match answer {
            Some(answer) => write.number > answer.as_of,
            None => write.seq > calm.seq,
        };
        begun && !over
    };
    let hidden: Vec<&Write> = history
        .writes
        .iter()
        .filter(in_interval)
        .filter(|write| write.client() != Some(client))
        .filter(|write| !history.was_told(client, write, asked))
        .collect();
    if hidden.is_empty() {
        return None;
    }
    let in_answer = |write: &Write| {
        let names_it = |row: &ChangeRow| {
            row.write >= write.number && write.cells.iter().any(|cell| cell.handle == row.handle)
        };
        answer.is_some_and(|answer| answer.rows.iter().any(names_it))
    };
    let protection = match answer {
        None => "an answer `cannot say` when no feed answered (FEED-2, FEED-3)",
        Some(_) if hidden.iter().all(|write| in_answer(write)) => {
            "reading the rows of the answer before calling it calm (FEED-3)"
        }
        Some(_) if hidden.iter().any(|write| deletes(write)) => {
            "a tombstone for what was deleted, or a feed that says that it is partial (SURF-8)"
        }
        Some(_) => {
            "a feed that lists every change since the marker, or says that it is partial \
                    (SURF-6, SURF-9), and a marker that covers only what its reader was shown"
        }
    };
    let did: Vec<_> = hidden.iter().map(|write| did(history, write)).collect();
    let seqs = hidden.iter().map(|write| write.seq).chain(calm.answer).chain([calm.seq]);
    Some(Anomaly {
        kind: AnomalyKind::FalseCalm,
        client: client.to_owned(),
        says: format!(
            "{} was told that nothing had changed, and {}",
            history.agent(client),
            list(&did)
        ),
        protection: protection.to_owned(),
        evidence: evidence(seqs),
    })
}

fn deletes(write: &Write) -> bool {
    write.cells.iter().any(|cell| cell.field == "exists" && cell.new == false)
}

fn did(history: &History, write: &Write) -> String {
    let handle = write.cells.first().map_or("", |cell| cell.handle.as_str());
    let verb = match write.existence_of(handle) {
        Some(true) => "created",
        Some(false) => "deleted",
        None => "changed",
    };
    format!("{} had {verb} `{handle}`", history.author(write))
}
