//! What went over the wire: requests, frames, pins, order, pacing.

use super::reading::{Requested, Sent, Window};
use super::words::{all_of, count, is_part, micros};
use super::{Bench, Finding, Timing};
use crate::language::expect::{Count, CountBounds, ExpectPins, FrameFilter, Pacing, RequestFilter};
use indexmap::IndexMap;
use serde_json::Value;

/// What an absent pin is called.
const NONE: &str = "none";
/// What stands for any pin at all.
const ANY: &str = "any";

/// The pins of the calls that reached the surface, in order (REV-3).
pub(super) fn pins(bench: &mut Bench<'_>, path: &str, expected: &ExpectPins) {
    let (tool, agent, wanted) = match expected {
        ExpectPins::All(wanted) => (None, None, wanted),
        ExpectPins::Some(filter) => (filter.tool.as_deref(), filter.agent.as_deref(), &filter.are),
    };
    let calls: Vec<&Sent<'_>> = bench
        .reading
        .sent()
        .iter()
        .filter(|sent| sent.method() == Some("tools/call"))
        .filter(|sent| tool.is_none_or(|tool| sent.tool() == Some(tool)))
        .filter(|sent| bench.reading.is(sent.client, agent))
        .collect();
    let seen: Vec<String> = calls.iter().map(|sent| pin_of(sent.frame)).collect();
    let held = seen.len() == wanted.len()
        && seen
            .iter()
            .zip(wanted)
            .all(|(seen, wanted)| seen == wanted || (wanted == ANY && seen != NONE));
    let evidence = calls.iter().map(|sent| sent.seq).collect();
    bench.lay(
        path,
        format!("the pins {}", all_of(wanted)),
        Finding::new(held, all_of(&seen), evidence),
    );
}

fn pin_of(frame: &Value) -> String {
    match frame.pointer("/params/_meta/revision") {
        None => NONE.to_owned(),
        Some(Value::String(pin)) => pin.clone(),
        Some(other) => other.to_string(),
    }
}

/// Requests that reached the relay.
pub(super) fn requests(bench: &mut Bench<'_>, path: &str, filter: &RequestFilter) {
    let Some(span) = span(bench, path, filter.during.as_deref(), filter.after.as_deref()) else {
        return;
    };
    let found: Vec<Requested<'_>> = bench
        .reading
        .requests()
        .iter()
        .filter(|request| {
            span.holds(request.seq)
                && filter.route.as_deref().is_none_or(|route| is_on(request, route))
                && bench.reading.is(request.client, filter.agent.as_deref())
                && filter.status.is_none_or(|status| request.status == Some(status))
                && has_all(&filter.query, request.query)
                && has_all(&filter.headers, request.headers)
        })
        .copied()
        .collect();
    let what = describe_requests(filter);
    number(bench, path, filter.count.as_ref(), &what, found.iter().map(|one| one.seq).collect());
    for (kind, wanted) in [("query", &filter.every_query), ("headers", &filter.every_headers)] {
        for (name, value) in wanted {
            let single = IndexMap::from([(name.clone(), value.clone())]);
            let strays: Vec<&Requested<'_>> = found
                .iter()
                .filter(|one| {
                    !has_all(&single, if kind == "query" { one.query } else { one.headers })
                })
                .collect();
            let seen = match (found.len(), strays.first()) {
                (0, _) => "no request to look at".to_owned(),
                (all, None) => format!("all {all} of them"),
                (all, Some(first)) => {
                    let has = if kind == "query" { first.query } else { first.headers };
                    let has = has.get(name).map_or("none", String::as_str);
                    format!("{} of {all} without it, the first with `{has}`", strays.len())
                }
            };
            let held = !found.is_empty() && strays.is_empty();
            let evidence = strays.iter().map(|one| one.seq).collect();
            let words =
                format!("every one of {what} to have `{name}` {} in its {kind}", word(value));
            bench.lay(&format!("{path}.every_{kind}"), words, Finding::new(held, seen, evidence));
        }
    }
}

/// Whether a request is of a route. `receive` is any leg on which frames come to a client, so that
/// one expectation speaks of both transports.
fn is_on(request: &Requested<'_>, route: &str) -> bool {
    match route {
        "receive" => matches!(request.route, "events" | "outbox" | "poll"),
        _ => request.route == route,
    }
}

fn word(value: &str) -> String {
    match value {
        "present" | "absent" => value.to_owned(),
        other => format!("as `{other}`"),
    }
}

fn has_all(wanted: &IndexMap<String, String>, has: &IndexMap<String, String>) -> bool {
    wanted.iter().all(|(name, value)| match (value.as_str(), has.get(name)) {
        ("present", found) => found.is_some_and(|found| !found.is_empty()),
        ("absent", found) => found.is_none(),
        (value, found) => found.is_some_and(|found| found == value),
    })
}

fn describe_requests(filter: &RequestFilter) -> String {
    let mut words = vec![match &filter.route {
        Some(route) => format!("requests to `{route}`"),
        None => "requests".to_owned(),
    }];
    words.extend(filter.agent.as_ref().map(|agent| format!("of `{agent}`")));
    words.extend(filter.status.map(|status| format!("answered {status}")));
    words.extend(filter.during.as_ref().map(|step| format!("during `{step}`")));
    words.extend(filter.after.as_ref().map(|step| format!("after `{step}`")));
    let having = filter.query.iter().chain(&filter.headers);
    words.extend(having.map(|(name, value)| format!("with `{name}` {}", word(value))));
    words.join(" ")
}

/// Frames that clients sent.
pub(super) fn frames(bench: &mut Bench<'_>, path: &str, filter: &FrameFilter) {
    let Some(span) = span(bench, path, filter.during.as_deref(), filter.after.as_deref()) else {
        return;
    };
    let params = filter.params.clone().map(Value::Object);
    let found: Vec<&Sent<'_>> = bench
        .reading
        .sent()
        .iter()
        .filter(|sent| {
            span.holds(sent.seq)
                && filter.method.as_deref().is_none_or(|method| sent.method() == Some(method))
                && filter.tool.as_deref().is_none_or(|tool| {
                    sent.method() == Some("tools/call") && sent.tool() == Some(tool)
                })
                && bench.reading.is(sent.client, filter.agent.as_deref())
                && params.as_ref().is_none_or(|params| {
                    sent.frame.get("params").is_some_and(|whole| is_part(params, whole))
                })
        })
        .collect();
    let evidence: Vec<u64> = found.iter().map(|sent| sent.seq).collect();
    number(bench, path, filter.count.as_ref(), &describe_frames(filter), evidence.clone());
    if filter.unique_ids == Some(true) {
        let ids: Vec<String> =
            found.iter().filter_map(|sent| sent.frame.get("id")).map(Value::to_string).collect();
        let mut unique = ids.clone();
        unique.sort();
        unique.dedup();
        let held = !ids.is_empty() && unique.len() == ids.len();
        let seen = format!("{} ids, {} of them different", ids.len(), unique.len());
        let words = "every request id to be different".to_owned();
        bench.lay(&format!("{path}.unique_ids"), words, Finding::new(held, seen, evidence));
    }
}

fn describe_frames(filter: &FrameFilter) -> String {
    let mut words = vec![match (&filter.method, &filter.tool) {
        (_, Some(tool)) => format!("calls of `{tool}`"),
        (Some(method), None) => format!("frames `{method}`"),
        (None, None) => "frames".to_owned(),
    }];
    words.extend(filter.agent.as_ref().map(|agent| format!("of `{agent}`")));
    words.extend(filter.during.as_ref().map(|step| format!("during `{step}`")));
    words.extend(filter.after.as_ref().map(|step| format!("after `{step}`")));
    words.extend(
        filter.params.as_ref().map(|params| format!("with {}", Value::Object(params.clone()))),
    );
    words.join(" ")
}

/// The methods of clients' frames, in order, from the first.
pub(super) fn order(bench: &mut Bench<'_>, path: &str, wanted: &[String]) {
    let sent = &bench.reading.sent()[..bench.reading.sent().len().min(wanted.len())];
    let seen: Vec<String> =
        sent.iter().map(|sent| sent.method().unwrap_or("a response").to_owned()).collect();
    let evidence = sent.iter().map(|sent| sent.seq).collect();
    let finding = Finding::new(seen == wanted, all_of(&seen), evidence);
    bench.lay(path, format!("first {}, in this order", all_of(wanted)), finding);
}

/// The time between one request of a route and the next (POLL-3).
pub(super) fn pacing(bench: &mut Bench<'_>, path: &str, pacing: &Pacing) {
    let Some(span) = span(bench, path, pacing.during.as_deref(), None) else { return };
    let requests: Vec<&Requested<'_>> = bench
        .reading
        .requests()
        .iter()
        .filter(|one| is_on(one, &pacing.route) && span.holds(one.seq))
        .collect();
    let gaps: Vec<(u64, u64)> = requests
        .windows(2)
        .filter_map(|pair| match pair {
            [before, after] => {
                before.ended_at.map(|ended| (after.seq, after.at.saturating_sub(ended)))
            }
            _ => None,
        })
        .collect();
    let scale = match bench.reading.timing {
        Timing::Exact => 1.0,
        Timing::Real { scale, .. } => scale,
    };
    let bound =
        |time: relay_simulator::duration::Span| (time.get().as_micros() as f64 * scale) as u64;
    let shown: Vec<String> = gaps.iter().take(8).map(|(_, gap)| micros(*gap)).collect();
    let seen = match gaps.len() {
        0 => "no two requests to look between".to_owned(),
        many => format!("{many} gaps: {}", shown.join(", ")),
    };
    if let Some(least) = pacing.gap_at_least {
        let strays: Vec<u64> =
            gaps.iter().filter(|(_, gap)| *gap < bound(least)).map(|(seq, _)| *seq).collect();
        let finding = Finding::new(!gaps.is_empty() && strays.is_empty(), seen.clone(), strays);
        let words = format!("at least {least} between requests to `{}`", pacing.route);
        bench.lay(&format!("{path}.gap_at_least"), words, finding);
    }
    if let Some(most) = pacing.gap_at_most {
        let allowance = match bench.reading.timing {
            Timing::Exact => 0,
            Timing::Real { allowance_us, .. } => allowance_us,
        };
        let strays: Vec<u64> = gaps
            .iter()
            .filter(|(_, gap)| *gap > bound(most) + allowance)
            .map(|(seq, _)| *seq)
            .collect();
        let finding = Finding::new(!gaps.is_empty() && strays.is_empty(), seen, strays);
        let words = format!("at most {most} between requests to `{}`", pacing.route);
        bench.lay(&format!("{path}.gap_at_most"), words, finding);
    }
}

/// How many were found. Nothing said: at least one.
fn number(
    bench: &mut Bench<'_>,
    path: &str,
    expected: Option<&Count>,
    what: &str,
    evidence: Vec<u64>,
) {
    let some = Count::Within(CountBounds { at_least: Some(1), at_most: None });
    let expected = expected.unwrap_or(&some);
    let seen = evidence.len() as u64;
    let finding = Finding::new(expected.holds(seen), format!("{seen}"), evidence);
    bench.lay(path, format!("{} {what}", count(expected)), finding);
}

/// The stretch of the record that a filter speaks of. A step that never ran proves nothing, and
/// that is said.
fn span(
    bench: &mut Bench<'_>,
    path: &str,
    during: Option<&str>,
    after: Option<&str>,
) -> Option<Window> {
    let whole = Window { first: 0, last: u64::MAX, began: 0, ended: u64::MAX };
    let missing = |name: &str| format!("the step `{name}` never ran");
    let window = match (during, after) {
        (None, None) => Ok(whole),
        (Some(name), None) => bench.reading.named(name).ok_or_else(|| missing(name)),
        (None, Some(name)) => bench
            .reading
            .named(name)
            .map(|window| Window { first: window.last, ..whole })
            .ok_or_else(|| missing(name)),
        (Some(during), Some(after)) => {
            match (bench.reading.named(during), bench.reading.named(after)) {
                (Some(during), Some(after)) => {
                    Ok(Window { first: during.first.max(after.last), ..during })
                }
                (None, _) => Err(missing(during)),
                (_, None) => Err(missing(after)),
            }
        }
    };
    match window {
        Ok(window) => Some(window),
        Err(seen) => {
            bench.lay(path, "a step to look at", Finding::new(false, seen, Vec::new()));
            None
        }
    }
}
