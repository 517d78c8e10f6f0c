//! `double_apply`: one request was applied more than once.
//!
//! A request is one frame under one id of one client. The same frame sent twice is one request
//! still: whoever re-sends it has made one call. Another frame under the same id is another
//! request, of a client that is careless with its ids.

use super::anomaly::{Anomaly, AnomalyKind};
use super::facts::{Request, Write};
use super::telling::evidence;
use super::timeline::History;

pub(super) fn find(history: &History) -> Vec<Anomaly> {
    let mut found: Vec<Anomaly> = Vec::new();
    for (index, write) in history.writes.iter().enumerate() {
        let (Some(client), Some(id)) = (write.client(), &write.request) else { continue };
        let same = |earlier: &&Write| {
            earlier.client() == Some(client)
                && earlier.request.as_ref() == Some(id)
                && same_frame(request_of(history, earlier), request_of(history, write))
        };
        let Some(first) = history.writes[..index].iter().find(same) else { continue };
        let sent = [request_of(history, first), request_of(history, write)];
        let resent = matches!(sent, [Some(one), Some(other)] if one.seq != other.seq);
        let protection = if resent {
            "a client that never sends a call again whose outcome it does not know (MCP-5)"
        } else {
            "a relay that hands each frame to the surface once (RELAY-2)"
        };
        let sent = sent.into_iter().flatten().map(|request| request.seq);
        found.push(Anomaly {
            kind: AnomalyKind::DoubleApply,
            client: client.to_owned(),
            says: format!(
                "one call of {} ({id}, `{}`) was applied twice, as write {} and as write {}",
                history.agent(client),
                write.action,
                first.number,
                write.number
            ),
            protection: protection.to_owned(),
            evidence: evidence(sent.chain([first.seq, write.seq])),
        });
    }
    found
}

/// The request that a write came from: the newest under its id before it.
fn request_of<'a>(history: &'a History, write: &Write) -> Option<&'a Request> {
    history.requests.iter().rev().find(|request| {
        request.seq < write.seq
            && Some(request.client.as_str()) == write.client()
            && Some(&request.id) == write.request.as_ref()
    })
}

fn same_frame(one: Option<&Request>, other: Option<&Request>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.frame == other.frame,
        _ => true,
    }
}
