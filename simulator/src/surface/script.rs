//! The scripted answers of extra tools.

use serde_json::{Map, Value, json};

use super::mcp::{Reply, RpcError};
use super::spec::{ExtraTool, ScriptedAnswer, SpecError};

/// The deepest nesting there is: a JSON writer is recursive, and a test's stack is small.
const NEST_MAX: usize = 1_000;

/// What a script says to one call, before anything is minted on it.
pub(crate) enum Scripted {
    /// A result that a revision may be added to.
    Result(Map<String, Value>),
    /// A reply that goes out as it is.
    AsIs(Reply),
}

/// Refuses scripts that cannot be played.
pub(crate) fn check(tool: &ExtraTool) -> Result<(), SpecError> {
    for answer in &tool.answers {
        let words = [
            ("text", answer.text.is_some()),
            ("bytes", answer.bytes.is_some()),
            ("nest", answer.nest.is_some()),
            ("raw", answer.raw.is_some()),
            ("error", answer.error.is_some()),
            ("silent", answer.silent),
        ];
        let mut said = words.into_iter().filter(|(_, said)| *said).map(|(word, _)| word);
        if let (Some(one), Some(other)) = (said.next(), said.next()) {
            return Err(SpecError::TwoAnswersInOne { tool: tool.name.clone(), one, other });
        }
        if let Some(depth) = answer.nest.filter(|depth| *depth > NEST_MAX) {
            return Err(SpecError::TooDeep { tool: tool.name.clone(), depth, most: NEST_MAX });
        }
    }
    Ok(())
}

/// The answer to the call of that turn, from 0; the last one answers every later call.
pub(crate) fn answer(tool: &ExtraTool, turn: usize) -> Scripted {
    let ok = ScriptedAnswer::default();
    let answer = tool.answers.get(turn).or(tool.answers.last()).unwrap_or(&ok);
    if answer.silent {
        return Scripted::AsIs(Reply::Silence);
    }
    if let Some(error) = &answer.error {
        return Scripted::AsIs(Reply::Error(RpcError {
            code: error.code.clone(),
            message: error.message.clone(),
            data: error.data.clone(),
        }));
    }
    if let Some(raw) = &answer.raw {
        return Scripted::AsIs(Reply::Raw(raw.clone()));
    }
    let text = match (&answer.text, answer.bytes) {
        (Some(text), _) => text.clone(),
        (None, Some(bytes)) => "x".repeat(bytes),
        (None, None) => "ok".to_owned(),
    };
    let mut result = Map::new();
    result.insert("content".to_owned(), json!([{ "type": "text", "text": text }]));
    if let Some(depth) = answer.nest {
        let nested = (1..depth).fold(json!([]), |inner, _| json!([inner]));
        result.insert("structuredContent".to_owned(), json!({ "nested": nested }));
    }
    if answer.is_error {
        result.insert("isError".to_owned(), json!(true));
        return Scripted::AsIs(Reply::Result { result, tells: None });
    }
    Scripted::Result(result)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn tool(answers: Value) -> ExtraTool {
        serde_json::from_value(json!({ "name": "odd", "answers": answers })).unwrap()
    }

    fn result(tool: &ExtraTool, turn: usize) -> Value {
        match answer(tool, turn) {
            Scripted::Result(result) | Scripted::AsIs(Reply::Result { result, .. }) => {
                Value::Object(result)
            }
            Scripted::AsIs(Reply::Raw(raw)) => raw,
            Scripted::AsIs(Reply::Error(error)) => error.frame(&json!(1)),
            Scripted::AsIs(_) => json!("silence"),
        }
    }

    #[test]
    fn answers_come_in_turn_and_the_last_one_stays() {
        let odd = tool(json!([
            { "text": "one" }, { "bytes": 3, "is_error": true }, { "raw": [1] },
            { "error": { "code": "conflict", "data": { "x": 1 } } }, { "silent": true }
        ]));
        assert_eq!(result(&odd, 0)["content"][0]["text"], "one");
        assert_eq!(result(&odd, 1)["content"][0]["text"], "xxx");
        assert_eq!(result(&odd, 1)["isError"], true);
        assert_eq!(result(&odd, 2), json!([1]));
        assert_eq!(
            result(&odd, 3)["error"],
            json!({ "code": "conflict", "message": "", "data": { "x": 1 } })
        );
        assert_eq!(result(&odd, 4), "silence");
        assert_eq!(result(&odd, 99), "silence");
        assert_eq!(result(&tool(json!([])), 0)["content"][0]["text"], "ok");
    }

    #[test]
    fn nesting_is_as_deep_as_asked() {
        let deep = result(&tool(json!([{ "nest": 200 }])), 0);
        let mut inner = &deep["structuredContent"]["nested"];
        let mut depth = 0;
        while let Some(list) = inner.as_array() {
            depth += 1;
            inner = list.first().unwrap_or(&Value::Null);
        }
        assert_eq!(depth, 200);
    }

    #[test]
    fn scripts_that_cannot_be_played_are_refused() {
        for (answers, words) in [
            (json!([{ "text": "a", "raw": 1 }]), "says both `text` and `raw`"),
            (json!([{ "nest": 1001 }]), "nests 1001 deep (the most is 1000"),
        ] {
            let refusal = check(&tool(answers)).unwrap_err().to_string();
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
