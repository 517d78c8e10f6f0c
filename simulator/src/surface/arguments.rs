//! The arguments of a stock tool, read strictly: whatever is not asked for is refused.

use serde_json::{Map, Value, json};

use super::board::{Change, Field};
use super::tools::Stock;

/// The most characters a handle has.
pub(crate) const HANDLE_CHARS_MAX: usize = 128;

/// A call of a stock tool, understood.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Call {
    List,
    Read { handle: String },
    Write(Change),
    Propose(Change),
    Confirm { proposal: String },
    Feed { since: Option<Value> },
}

/// Arguments that a tool does not take, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadArguments {
    #[error("`{tool}` needs `{name}`")]
    Lacking { tool: String, name: &'static str },
    #[error("`{tool}` needs at least one of {}", .names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))]
    LackingAll { tool: String, names: Vec<&'static str> },
    #[error("`{tool}` does not take `{name}`")]
    Unknown { tool: String, name: String },
    #[error("`{name}` of `{tool}` must be {must}")]
    Wrong { tool: String, name: &'static str, must: &'static str },
}

/// Reads the arguments of the stock tool that is listed as `tool`. `fresh` names a screen that is
/// created without an id.
pub(crate) fn read(
    stock: Stock,
    tool: &str,
    arguments: &Map<String, Value>,
    fresh: impl FnOnce() -> String,
) -> Result<Call, BadArguments> {
    let all = Field::ALL.as_slice();
    let (takes, others): (&[Field], &[&str]) = match stock {
        Stock::List => (&[], &[]),
        Stock::Read | Stock::Delete => (&[], &["id"]),
        Stock::Rename => (&[Field::Title], &["id"]),
        Stock::Move => (&[Field::X, Field::Y], &["id"]),
        Stock::Create | Stock::Update | Stock::Propose => (all, &["id"]),
        Stock::Confirm => (&[], &["proposal"]),
        Stock::Feed => (&[], &["since"]),
    };
    for name in arguments.keys() {
        if !others.contains(&name.as_str()) && !takes.iter().any(|field| field.name() == name) {
            return Err(BadArguments::Unknown { tool: tool.to_owned(), name: name.clone() });
        }
    }
    let lacking = |name| BadArguments::Lacking { tool: tool.to_owned(), name };
    let id = text(tool, arguments, "id")?;
    let id = || id.clone().ok_or_else(|| lacking("id"));
    let fields = || fields(tool, arguments, takes);
    let some_fields = || match fields() {
        Ok(fields) if fields.is_empty() => Err(BadArguments::LackingAll {
            tool: tool.to_owned(),
            names: takes.iter().map(|field| field.name()).collect(),
        }),
        read => read,
    };
    Ok(match stock {
        Stock::List => Call::List,
        Stock::Read => Call::Read { handle: id()? },
        Stock::Create => {
            let fields = fields()?;
            Call::Write(Change::Create { handle: id().unwrap_or_else(|_| fresh()), fields })
        }
        Stock::Rename | Stock::Move | Stock::Update => {
            Call::Write(Change::Set { handle: id()?, fields: some_fields()? })
        }
        Stock::Delete => Call::Write(Change::Delete { handle: id()? }),
        Stock::Propose => Call::Propose(match id() {
            Ok(handle) => Change::Set { handle, fields: some_fields()? },
            Err(_) => Change::Create { handle: fresh(), fields: some_fields()? },
        }),
        Stock::Confirm => Call::Confirm {
            proposal: text(tool, arguments, "proposal")?.ok_or_else(|| lacking("proposal"))?,
        },
        Stock::Feed => match arguments.get("since") {
            None | Some(Value::Null) => Call::Feed { since: None },
            Some(since @ (Value::String(_) | Value::Number(_))) => {
                Call::Feed { since: Some(since.clone()) }
            }
            Some(_) => {
                let (name, must) = ("since", "a revision of this surface");
                return Err(BadArguments::Wrong { tool: tool.to_owned(), name, must });
            }
        },
    })
}

/// A handle or a name: a text of 1 to [`HANDLE_CHARS_MAX`] characters.
fn text(
    tool: &str,
    arguments: &Map<String, Value>,
    name: &'static str,
) -> Result<Option<String>, BadArguments> {
    match arguments.get(name) {
        None => Ok(None),
        Some(Value::String(text)) if is_handle(text) => Ok(Some(text.clone())),
        Some(_) => {
            let must = "a text of 1 to 128 characters";
            Err(BadArguments::Wrong { tool: tool.to_owned(), name, must })
        }
    }
}

/// Whether a text can be a handle.
pub(crate) fn is_handle(text: &str) -> bool {
    (1..=HANDLE_CHARS_MAX).contains(&text.chars().count())
}

fn fields(
    tool: &str,
    arguments: &Map<String, Value>,
    takes: &[Field],
) -> Result<Vec<(Field, Value)>, BadArguments> {
    let mut fields = Vec::new();
    for field in takes {
        let Some(given) = arguments.get(field.name()) else { continue };
        let wrong = |must| BadArguments::Wrong { tool: tool.to_owned(), name: field.name(), must };
        let value = match field {
            Field::X | Field::Y => whole(given).ok_or_else(|| wrong("a whole number"))?,
            _ if given.is_string() => given.clone(),
            _ => return Err(wrong("a text")),
        };
        fields.push((*field, value));
    }
    Ok(fields)
}

/// A whole number, also when a client spells it `7.0`.
fn whole(value: &Value) -> Option<Value> {
    /// Up to here every whole number is a double of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if let Some(number) = value.as_i64() {
        return Some(json!(number));
    }
    let number = value.as_f64().filter(|n| n.fract() == 0.0 && n.abs() <= EXACT)?;
    // In range and whole by the line above, so that nothing is cut.
    #[allow(clippy::cast_possible_truncation)]
    let number = number as i64;
    Some(json!(number))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn check(stock: Stock, arguments: Value, expect: Result<Call, &str>) {
        let read = read(stock, "tool", arguments.as_object().unwrap(), || "screen_9".to_owned());
        match expect {
            Ok(call) => assert_eq!(read, Ok(call), "{arguments}"),
            Err(words) => {
                let refusal = read.unwrap_err().to_string();
                assert!(refusal.contains(words), "{arguments}: {refusal}");
            }
        }
    }

    fn set(handle: &str, fields: &[(Field, Value)]) -> Call {
        Call::Write(Change::Set { handle: handle.to_owned(), fields: fields.to_vec() })
    }

    #[test]
    fn good_arguments_are_understood() {
        check(Stock::List, json!({}), Ok(Call::List));
        check(Stock::Read, json!({ "id": "s" }), Ok(Call::Read { handle: "s".to_owned() }));
        check(Stock::Move, json!({ "id": "s", "x": 7.0 }), Ok(set("s", &[(Field::X, json!(7))])));
        check(
            Stock::Update,
            json!({ "y": -3, "id": "s", "title": "T" }),
            Ok(set("s", &[(Field::Title, json!("T")), (Field::Y, json!(-3))])),
        );
        let create = Change::Create { handle: "screen_9".to_owned(), fields: Vec::new() };
        check(Stock::Create, json!({}), Ok(Call::Write(create)));
        check(Stock::Feed, json!({ "since": null }), Ok(Call::Feed { since: None }));
        check(Stock::Feed, json!({ "since": 7 }), Ok(Call::Feed { since: Some(json!(7)) }));
    }

    #[test]
    fn anything_else_is_refused_by_name() {
        check(Stock::List, json!({ "all": true }), Err("does not take `all`"));
        check(Stock::Read, json!({}), Err("needs `id`"));
        check(Stock::Read, json!({ "id": 7 }), Err("`id` of `tool` must be a text"));
        check(Stock::Read, json!({ "id": "" }), Err("must be a text of 1 to 128"));
        check(Stock::Read, json!({ "id": "x".repeat(129) }), Err("must be a text of 1 to 128"));
        check(Stock::Move, json!({ "id": "s" }), Err("at least one of `x`, `y`"));
        check(Stock::Move, json!({ "id": "s", "x": 0.5 }), Err("must be a whole number"));
        check(Stock::Move, json!({ "id": "s", "x": 1e300 }), Err("must be a whole number"));
        check(Stock::Move, json!({ "id": "s", "title": "T" }), Err("does not take `title`"));
        check(Stock::Rename, json!({ "id": "s", "title": 1 }), Err("must be a text"));
        check(Stock::Create, json!({ "id": 1 }), Err("`id` of `tool`"));
        check(Stock::Confirm, json!({}), Err("needs `proposal`"));
        check(Stock::Feed, json!({ "since": true }), Err("must be a revision"));
    }
}
