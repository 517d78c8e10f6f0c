//! `leak`: an answer was delivered to a client that had not asked for it.

use super::anomaly::{Anomaly, AnomalyKind};
use super::facts::{Answer, Request};
use super::telling::evidence;
use super::timeline::History;

pub(super) fn find(history: &History) -> Vec<Anomaly> {
    history.answers.iter().filter_map(|answer| judge(history, answer)).collect()
}

fn judge(history: &History, answer: &Answer) -> Option<Anomaly> {
    let asked = |request: &&Request| request.id == answer.id && request.seq < answer.seq;
    let own = history.requests.iter().filter(asked).any(|r| r.client == answer.client);
    let known = answer.asked_by.as_deref();
    let meant_for_another = known.is_some_and(|asked_by| asked_by != answer.client);
    if !meant_for_another && (own || known.is_some()) {
        return None;
    }
    let request = history
        .requests
        .iter()
        .filter(asked)
        .rev()
        .find(|r| known.map_or(r.client != answer.client, |asked_by| r.client == asked_by));
    let owner = known.or(request.map(|request| request.client.as_str()));
    let whose = owner.map_or_else(
        || "nobody had asked for".to_owned(),
        |owner| format!("{} had asked for", history.agent(owner)),
    );
    Some(Anomaly {
        kind: AnomalyKind::Leak,
        client: answer.client.clone(),
        says: format!(
            "{} received the answer {}, which {whose}",
            history.agent(&answer.client),
            answer.id
        ),
        protection: "a relay that hands an answer to the client that asked, and to nobody else \
                     (RELAY-2); ids that are unique across clients (IDENT-2)"
            .to_owned(),
        evidence: evidence(request.map(|request| request.seq).into_iter().chain([answer.seq])),
    })
}
