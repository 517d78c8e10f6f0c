//! What a step led to: the answer that the client gave its caller.

use super::reading::{Answered, Window};
use super::words::{all_of, allowed, any_of, count, micros, short, spelled, took};
use super::{Bench, Finding, Timing};
use crate::language::expect::{Expect, ExpectChanges, ExpectTools, OneOf, Took};
use crate::language::step::Step;
use crate::subject::protocol::{Changes, ErrorCode, SetAside, Tools};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(super) fn judge(bench: &mut Bench<'_>, index: usize, path: &str, step: &Step) {
    if step.agent.is_none() {
        return;
    }
    let window = bench.reading.window(index);
    let (Some(window), Some(answer)) = (window, bench.reading.answer(index)) else {
        bench.lay(path, "an answer", Finding::new(false, "the step never came to an end", vec![]));
        return;
    };
    let silent = Expect::default();
    let expect = step.expect.as_ref().unwrap_or(&silent);
    let of = Of { path: format!("{path}.expect"), answer, window, index };
    outcome(bench, &of, path, expect);
    words(bench, &of, expect);
    if let Some(tools) = &expect.tools {
        judge_tools(bench, &of, tools);
    }
    if let Some(changes) = &expect.changes {
        judge_changes(bench, &of, changes);
    }
    field(bench, &of, "state", expect.state.as_ref(), &["state"]);
    field(
        bench,
        &of,
        "conflict_detection",
        expect.conflict_detection.as_ref(),
        &["conflict_detection", "state"],
    );
    field(bench, &of, "change_feed", expect.change_feed.as_ref(), &["change_feed", "feed"]);
    if let Some(expected) = &expect.took {
        let spent = of.window.ended.saturating_sub(of.window.began);
        time(bench, &of.path("took"), expected, spent, vec![answer.seq]);
    }
    if let Some(expected) = &expect.requests {
        let made: Vec<u64> = bench
            .reading
            .requests()
            .iter()
            .filter(|request| of.window.holds(request.seq))
            .filter(|request| bench.reading.is(request.client, Some(answer.agent)))
            .map(|request| request.seq)
            .collect();
        let seen = made.len() as u64;
        let finding = Finding::new(expected.holds(seen), format!("{seen}"), made);
        bench.lay(&of.path("requests"), format!("{} HTTP requests", count(expected)), finding);
    }
}

/// What is being judged.
struct Of<'a> {
    path: String,
    answer: Answered<'a>,
    window: Window,
    index: usize,
}

impl Of<'_> {
    fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }
}

/// Success, or the error that was asked for.
fn outcome(bench: &mut Bench<'_>, of: &Of<'_>, step_path: &str, expect: &Expect) {
    let Answered { seq, operation, error, .. } = of.answer;
    match (&expect.error, error) {
        _ if expect.may_fail.is_some() => either(bench, of, expect.may_fail.as_ref()),
        (None, None) => {
            let seen = Finding::new(true, "success", vec![seq]);
            bench.lay(step_path, format!("`{operation}` to succeed"), seen);
        }
        (None, Some(error)) => {
            let seen = format!("`{}` ({}: {})", error.code, error.native, short(&error.message));
            let finding = Finding::new(false, seen, vec![seq]);
            bench.lay(step_path, format!("`{operation}` to succeed"), finding);
        }
        (Some(expected), None) => {
            let finding = Finding::new(false, "success", vec![seq]);
            let words = any_of(&allowed(expected));
            bench.lay(&of.path("error"), format!("the error {words}"), finding);
        }
        (Some(expected), Some(error)) => {
            let codes = allowed(expected);
            let held = codes.contains(&error.code);
            let seen = format!("`{}` ({}: {})", error.code, error.native, short(&error.message));
            let finding = Finding::new(held, seen, vec![seq]);
            bench.lay(&of.path("error"), format!("the error {}", any_of(&codes)), finding);
            if held && codes.len() > 1 {
                let remark = format!("step {} answered `{}`", of.index + 1, error.code);
                bench.remarks.push(remark);
            }
        }
    }
    if let Some(expected) = &expect.happened {
        let seen = error.and_then(|error| error.happened.clone());
        let held = seen.as_ref().is_some_and(|seen| allowed(expected).contains(seen));
        let seen =
            seen.map_or_else(|| "nothing said about it".to_owned(), |word| format!("`{word}`"));
        let words = format!("the client to say that it happened: {}", any_of(&allowed(expected)));
        bench.lay(&of.path("happened"), words, Finding::new(held, seen, vec![seq]));
    }
}

/// Success, or one of the errors that are as right.
fn either(bench: &mut Bench<'_>, of: &Of<'_>, branches: Option<&OneOf<ErrorCode>>) {
    let codes = branches.map(allowed).unwrap_or_default();
    let (held, seen, taken) = match of.answer.error {
        None => (true, "success".to_owned(), "succeeded".to_owned()),
        Some(error) => (
            codes.contains(&error.code),
            format!("`{}` ({}: {})", error.code, error.native, short(&error.message)),
            format!("answered `{}`", error.code),
        ),
    };
    let finding = Finding::new(held, seen, vec![of.answer.seq]);
    bench.lay(&of.path("may_fail"), format!("success, or the error {}", any_of(&codes)), finding);
    if held {
        bench.remarks.push(format!("step {} {taken}", of.index + 1));
    }
}

/// What is said, and what is not.
fn words(bench: &mut Bench<'_>, of: &Of<'_>, expect: &Expect) {
    let seq = of.answer.seq;
    let message = of.answer.error.map(|error| error.message.as_str()).unwrap_or_default();
    let text = of.answer.ok.map(told_text).unwrap_or_default();
    for (index, word) in expect.says.iter().enumerate() {
        let finding = Finding::new(message.contains(word.as_str()), short(message), vec![seq]);
        bench.lay(
            &of.path(&format!("says[{index}]")),
            format!("the error to say `{word}`"),
            finding,
        );
    }
    for (index, word) in expect.never_says.iter().enumerate() {
        let held = !message.contains(word.as_str()) && !text.contains(word.as_str());
        let finding = Finding::new(held, short(&format!("{message}{text}")), vec![seq]);
        let path = of.path(&format!("never_says[{index}]"));
        bench.lay(&path, format!("`{word}` not to be said"), finding);
    }
    if let Some(other) = &expect.differs_from {
        let said = |answer: Answered<'_>| match answer.error {
            Some(error) => error.message.clone(),
            None => answer.ok.map(told_text).unwrap_or_default(),
        };
        let (mine, theirs) = (said(of.answer), bench.reading.answer_of(other));
        let (held, seen) = match theirs.map(said) {
            None => (false, format!("the step `{other}` was never answered")),
            Some(theirs) => (mine != theirs, short(&mine)),
        };
        let words = format!("other words than those of `{other}`");
        bench.lay(&of.path("differs_from"), words, Finding::new(held, seen, vec![seq]));
    }
    for (index, word) in expect.contains.iter().enumerate() {
        let finding = Finding::new(text.contains(word.as_str()), short(&text), vec![seq]);
        let path = of.path(&format!("contains[{index}]"));
        bench.lay(&path, format!("the result to hold `{word}`"), finding);
    }
}

/// The text of an answer as its caller reads it.
fn told_text(ok: &Value) -> String {
    match ok.get("text") {
        Some(Value::String(text)) => text.clone(),
        _ => ok.to_string(),
    }
}

fn judge_tools(bench: &mut Bench<'_>, of: &Of<'_>, expect: &ExpectTools) {
    let seq = of.answer.seq;
    let Some(answer) = read::<Tools>(bench, of, "tools") else { return };
    let listed: Vec<&str> = answer.tools.iter().map(|tool| tool.name.as_str()).collect();
    let set_aside: Option<Vec<&str>> = answer
        .set_aside
        .as_ref()
        .map(|list: &Vec<SetAside>| list.iter().map(|tool| tool.name.as_str()).collect());
    let seen = format!("{} listed", all_of(&listed));
    for name in &expect.include {
        let finding = Finding::new(listed.contains(&name.as_str()), &seen, vec![seq]);
        bench.lay(&of.path("tools.include"), format!("`{name}` to be listed"), finding);
    }
    for name in &expect.exclude {
        let finding = Finding::new(!listed.contains(&name.as_str()), &seen, vec![seq]);
        bench.lay(&of.path("tools.exclude"), format!("`{name}` not to be listed"), finding);
    }
    for name in &expect.set_aside {
        let (held, seen) = match &set_aside {
            Some(names) => (names.contains(&name.as_str()), format!("{} told", all_of(names))),
            None => (false, "nothing told about tools that were left out".to_owned()),
        };
        let words = format!("`{name}` to be told as left out");
        bench.lay(&of.path("tools.set_aside"), words, Finding::new(held, seen, vec![seq]));
    }
}

fn judge_changes(bench: &mut Bench<'_>, of: &Of<'_>, expect: &ExpectChanges) {
    let seq = of.answer.seq;
    let Some(answer) = read::<Changes>(bench, of, "changes") else { return };
    let told = short(&of.answer.ok.map(Value::to_string).unwrap_or_default());
    let flags = [
        ("answered", expect.answered, answer.answered),
        ("nothing_changed", expect.nothing_changed, answer.nothing_changed),
        ("complete", expect.complete, answer.complete),
    ];
    for (name, expected, seen) in flags {
        if let Some(expected) = expected {
            let finding = Finding::new(expected == seen, format!("{seen} in {told}"), vec![seq]);
            let path = of.path(&format!("changes.{name}"));
            bench.lay(&path, format!("`{name}` to be {expected}"), finding);
        }
    }
    if let Some(expected) = &expect.defer_to {
        let sorted = |list: &[String]| {
            let mut list = list.to_vec();
            list.sort();
            list.dedup();
            list
        };
        let held = sorted(expected) == sorted(&answer.defer_to);
        let finding = Finding::new(held, all_of(&answer.defer_to), vec![seq]);
        let words = format!("to defer to {}", all_of(expected));
        bench.lay(&of.path("changes.defer_to"), words, finding);
    }
    if let Some(expected) = &expect.handles {
        let finding = Finding::new(*expected == answer.handles, all_of(&answer.handles), vec![seq]);
        let words = format!("the handles {}", all_of(expected));
        bench.lay(&of.path("changes.handles"), words, finding);
    }
    if let Some(expected) = &expect.rows {
        let row = |handle: &str, kind: Option<String>, actor: Option<String>| {
            let part = |word: Option<String>| word.unwrap_or_else(|| "*".to_owned());
            format!("{handle} {} by {}", part(kind), part(actor))
        };
        let wanted: Vec<String> = expected
            .iter()
            .map(|r| row(&r.handle, r.kind.as_ref().map(spelled), r.actor.as_ref().map(spelled)))
            .collect();
        let held = expected.len() == answer.changes.len()
            && expected.iter().zip(&answer.changes).all(|(expected, seen)| {
                expected.handle == seen.handle
                    && expected.kind.is_none_or(|kind| kind == seen.kind)
                    && expected.actor.is_none_or(|actor| actor == seen.actor)
            });
        let seen: Vec<String> = answer
            .changes
            .iter()
            .map(|r| row(&r.handle, Some(spelled(&r.kind)), Some(spelled(&r.actor))))
            .collect();
        let finding = Finding::new(held, all_of(&seen), vec![seq]);
        bench.lay(&of.path("changes.rows"), format!("the rows {}", all_of(&wanted)), finding);
    }
}

/// Reads the answer as the shape that the expectation speaks of.
fn read<T: DeserializeOwned>(bench: &mut Bench<'_>, of: &Of<'_>, key: &str) -> Option<T> {
    let ok = of.answer.ok?;
    match serde_json::from_value(ok.clone()) {
        Ok(answer) => Some(answer),
        Err(_) => {
            let seen = format!("an answer to `{}`", of.answer.operation);
            let finding = Finding::new(false, seen, vec![of.answer.seq]);
            bench.lay(&of.path(key), format!("an answer that tells of {key}"), finding);
            None
        }
    }
}

/// A word in the answer, under the first of these keys that it has.
fn field<T: Serialize>(
    bench: &mut Bench<'_>,
    of: &Of<'_>,
    key: &str,
    expected: Option<&OneOf<T>>,
    names: &[&str],
) {
    let Some(expected) = expected else { return };
    let seen = names
        .iter()
        .find_map(|name| of.answer.ok.and_then(|ok| ok.get(name)))
        .and_then(Value::as_str);
    let words = allowed(expected);
    let held = seen.is_some_and(|seen| words.iter().any(|word| word == seen));
    let seen = seen.map_or_else(|| "nothing told".to_owned(), |word| format!("`{word}`"));
    let finding = Finding::new(held, seen, vec![of.answer.seq]);
    bench.lay(&of.path(key), format!("`{key}` to be {}", any_of(&words)), finding);
}

/// How long something took. On the real clock "too slow" may be the machine's fault, and then
/// nothing is said about the client.
pub(super) fn time(
    bench: &mut Bench<'_>,
    path: &str,
    expected: &Took,
    us: u64,
    evidence: Vec<u64>,
) {
    let wanted = |span: relay_simulator::duration::Span| span.get().as_micros() as u64;
    let (least, most) = match expected {
        Took::Exactly(time) => (Some(wanted(*time)), Some(wanted(*time))),
        Took::Within(bounds) => (bounds.at_least.map(wanted), bounds.at_most.map(wanted)),
    };
    let (shown, short_enough, long_enough) = match bench.reading.timing {
        // To the millisecond: below that a record's order says more than its clock.
        Timing::Exact => (
            micros(us),
            most.is_none_or(|most| us < most + 1_000),
            least.is_none_or(|least| us >= least),
        ),
        Timing::Real { scale, allowance_us } => {
            let scaled = |us: u64| (us as f64 * scale) as u64;
            let slow = most.is_some_and(|most| us > scaled(most) + allowance_us);
            if slow {
                let reason = format!(
                    "{path} took {} of real time, {} more than a scaled {} allows",
                    micros(us),
                    micros(us - scaled(most.unwrap_or(0))),
                    micros(most.unwrap_or(0)),
                );
                bench.too_slow.get_or_insert(reason);
            }
            let shown = format!("{} (scaled by {scale})", micros(us));
            // A timer of the client's own may fire a little early against ours.
            let early = us + 2_000 < scaled(least.unwrap_or(0));
            (shown, true, !early)
        }
    };
    let finding = Finding::new(short_enough && long_enough, shown, evidence);
    bench.lay(path, format!("to take {}", took(expected)), finding);
}
