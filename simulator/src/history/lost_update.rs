//! `lost_update`: an agent's applied write changes a cell whose current value a person wrote
//! after the newest value of it that the agent had been told. A blind repeat after a refusal is
//! one.

use super::anomaly::{Anomaly, AnomalyKind};
use super::facts::Refusal;
use super::overwrite::Overwrite;
use super::telling::evidence;
use super::timeline::History;

pub(super) fn find(history: &History) -> Vec<Anomaly> {
    let lost = history.overwrites(|cell, _| cell.person.number > cell.seen);
    lost.into_iter().map(|overwrite| told(history, &overwrite)).collect()
}

fn told(history: &History, overwrite: &Overwrite<'_>) -> Anomaly {
    let agent = history.agent(overwrite.client);
    let never = overwrite.cells.iter().all(|cell| cell.seen == 0);
    let knew =
        if never { "never been shown any value there" } else { "last been shown an older value" };
    let repeated = refused_before(history, overwrite);
    let (says, protection) = match repeated {
        Some(refusal) => (
            format!(
                "{agent} {}, although `{}` had just been refused as stale: it repeated the call \
                 without reading what had changed",
                overwrite.says(history),
                refusal.tool
            ),
            "reading again after a refusal, and never sending the same arguments again (REV-5)",
        ),
        None => (
            format!("{agent} {}, and had {knew}", overwrite.says(history)),
            protection(history, overwrite),
        ),
    };
    let seqs = overwrite.entries(history).into_iter().chain(repeated.map(|refusal| refusal.seq));
    Anomaly {
        kind: AnomalyKind::LostUpdate,
        client: overwrite.client.to_owned(),
        says,
        protection: protection.to_owned(),
        evidence: evidence(seqs),
    }
}

/// The refusal of a call that would have written one of these cells, when the agent was told
/// nothing of the cell between the refusal and its write.
fn refused_before<'a>(history: &'a History, overwrite: &Overwrite<'_>) -> Option<&'a Refusal> {
    let wrote_it = |refusal: &&Refusal| {
        let same = overwrite.cells.iter().any(|cell| {
            let told = history.last_telling(overwrite.client, &cell.cell, overwrite.write.seq);
            refusal.would_write.contains(&cell.cell)
                && told.is_none_or(|told| told.seq < refusal.seq)
        });
        refusal.client == overwrite.client && refusal.seq < overwrite.write.seq && same
    };
    history.refusals.iter().rev().find(wrote_it)
}

fn protection(history: &History, overwrite: &Overwrite<'_>) -> &'static str {
    let mut told = history.deliveries_to(overwrite.client, overwrite.write.seq);
    if told.any(|delivery| delivery.revision.is_some()) {
        "a pin on the write to what the agent had last read (REV-3), and a surface that refuses a \
         stale one (SURF-3)"
    } else {
        "reading before writing, on a surface that mints a revision (SURF-2) and refuses a stale \
         pin (SURF-3)"
    }
}
