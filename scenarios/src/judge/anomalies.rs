//! Anomalies between two writers, read from the surface's history as the record holds it.

use super::reading::{Answered, Reading};
use crate::subject::protocol::Changes;
use relay_reports::record::{self, Event};
use relay_reports::verdict::Anomaly;
use relay_simulator::history::{
    self, Calm, Delivery, HeldBack, History, Refusal, Write, informed_overwrites,
};
use relay_simulator::journal::{Author, CellChange, ChangeRow, Direction};

/// Every anomaly of a record, in order, and every informed overwrite as a remark.
pub(super) fn of(reading: &Reading<'_>) -> (Vec<Anomaly>, Vec<String>) {
    let history = history(reading);
    let anomalies = history::anomalies(&history)
        .into_iter()
        .map(|found| Anomaly {
            kind: found.kind.word().to_owned(),
            says: found.says,
            protection: found.protection,
            evidence: found.evidence,
        })
        .collect();
    let remarks = informed_overwrites(&history)
        .into_iter()
        .map(|informed| format!("informed overwrite: {}", informed.says))
        .collect();
    (anomalies, remarks)
}

fn history(reading: &Reading<'_>) -> History {
    let mut history = History::new();
    for (client, agent) in reading.agents() {
        history.name(client, agent);
    }
    for entry in &reading.record.entries {
        let seq = entry.seq;
        match &entry.event {
            Event::Write { write, author, action, cells, request } => history.write(Write {
                seq,
                number: *write,
                author: match author.clone() {
                    record::Author::Person { name } => Author::Person { name },
                    record::Author::Agent { client } => Author::Agent { client },
                },
                action: action.clone(),
                cells: cells
                    .iter()
                    .cloned()
                    .map(|record::CellChange { handle, field, old, new }| CellChange {
                        handle,
                        field,
                        old,
                        new,
                    })
                    .collect(),
                request: request.clone(),
            }),
            Event::Delivery { client, as_of, cells, rows, revision, request: _ } => {
                let rows = rows
                    .iter()
                    .cloned()
                    .map(|record::ChangeRow { handle, write, actor }| ChangeRow {
                        handle,
                        write,
                        actor,
                    })
                    .collect();
                history.delivery(Delivery {
                    seq,
                    client: client.clone(),
                    as_of: *as_of,
                    cells: cells.clone(),
                    rows,
                    revision: revision.clone(),
                });
            }
            Event::StaleRefusal { client, tool, pin, would_write, as_of, request: _ } => {
                history.refusal(Refusal {
                    seq,
                    client: client.clone(),
                    tool: tool.clone(),
                    pin: pin.clone(),
                    would_write: would_write.clone(),
                    as_of: *as_of,
                });
            }
            Event::Frame { direction, client: Some(client), frame, .. } => {
                let direction = match direction {
                    record::Direction::ToSurface => Direction::ToSurface,
                    record::Direction::ToClient => Direction::ToClient,
                };
                history.frame(seq, direction, client, frame);
            }
            _ => {}
        }
    }
    for answer in reading.answers() {
        claims(&mut history, reading, answer);
    }
    history
}

/// What a client told its caller of changes: that there were none, or whom to defer to.
fn claims(history: &mut History, reading: &Reading<'_>, answer: Answered<'_>) {
    let Some(changes) = answer.ok.and_then(|ok| serde_json::from_value::<Changes>(ok.clone()).ok())
    else {
        return;
    };
    let Some(client) = reading.client(answer.agent) else { return };
    let seq = answer.seq;
    if changes.nothing_changed {
        let rests_on = reading.last_delivery(client, seq);
        let client = client.to_owned();
        history.claim_nothing_changed(Calm { seq, client, since: None, answer: rests_on });
    }
    for handle in changes.defer_to {
        history.held_back(HeldBack { seq, client: client.to_owned(), handle });
    }
}
