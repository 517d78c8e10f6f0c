//! Durations as scenarios write them: `250ms`, `12s`, `1m30s`, `4h`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// A length of time with its unit in its text, so that no number is ever read in the wrong unit.
///
/// It is one or more whole numbers, each with a unit: `us`, `ms`, `s`, `m`, `h`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(Duration);

impl Span {
    /// The same length as a standard duration.
    pub const fn get(self) -> Duration {
        self.0
    }

    /// Changes the length.
    pub fn scale(&mut self, scale: &impl Fn(Duration) -> Duration) {
        self.0 = scale(self.0);
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self(duration)
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        span.0
    }
}

/// A text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSpan {
    /// A number stands without a unit after it.
    #[error("`{0}` has no unit (a duration is written like `250ms`, `12s`, `1m30s` or `4h`)")]
    NoUnit(String),
    /// The unit is none of ours.
    #[error("`{text}` has an unknown unit `{unit}` (units: `us`, `ms`, `s`, `m`, `h`)")]
    UnknownUnit {
        /// The whole text.
        text: String,
        /// The unit in it.
        unit: String,
    },
    /// It does not begin with a whole number, or one of its parts does not.
    #[error("`{0}` is not a duration (one is written like `250ms`, `12s`, `1m30s` or `4h`)")]
    NotASpan(String),
    /// It is longer than the clock can count.
    #[error("`{0}` is too long a duration (the most is a year, `8760h`)")]
    TooLong(String),
}

/// The longest duration there is; a scenario ends after an hour of simulated time, so that a
/// year is generous and every sum of durations stays far from overflow.
const MOST: Duration = Duration::from_secs(365 * 24 * 3600);

impl FromStr for Span {
    type Err = BadSpan;

    fn from_str(text: &str) -> Result<Self, BadSpan> {
        let mut rest = text.trim();
        let mut total = Duration::ZERO;
        if rest.is_empty() {
            return Err(BadSpan::NotASpan(text.to_owned()));
        }
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, tail) = rest.split_at(digits);
            let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
            let (unit, tail) = tail.split_at(letters);
            if digits == 0 {
                return Err(BadSpan::NotASpan(text.to_owned()));
            }
            let Ok(number) = number.parse::<u64>() else {
                return Err(BadSpan::TooLong(text.to_owned()));
            };
            let part = match unit {
                "us" => Some(Duration::from_micros(number)),
                "ms" => Some(Duration::from_millis(number)),
                "s" => Some(Duration::from_secs(number)),
                "m" => number.checked_mul(60).map(Duration::from_secs),
                "h" => number.checked_mul(3600).map(Duration::from_secs),
                "" if tail.is_empty() => return Err(BadSpan::NoUnit(text.to_owned())),
                "" => return Err(BadSpan::NotASpan(text.to_owned())),
                _ => {
                    let unit = unit.to_owned();
                    return Err(BadSpan::UnknownUnit { text: text.to_owned(), unit });
                }
            };
            total = part
                .and_then(|part| total.checked_add(part))
                .filter(|total| *total <= MOST)
                .ok_or_else(|| BadSpan::TooLong(text.to_owned()))?;
            rest = tail.trim_start();
        }
        Ok(Self(total))
    }
}

impl fmt::Display for Span {
    /// The shortest text that reads back as the same length.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut micros = self.0.as_micros();
        if micros == 0 {
            return f.write_str("0s");
        }
        for (unit, size) in
            [("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)]
        {
            if micros >= size {
                write!(f, "{}{unit}", micros / size)?;
                micros %= size;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsText;
        impl Visitor<'_> for AsText {
            type Value = Span;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration like `250ms`, `12s` or `4h`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Span, E> {
                Err(E::custom(BadSpan::NoUnit(number.to_string())))
            }
        }
        deserializer.deserialize_any(AsText)
    }
}

impl JsonSchema for Span {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A length of time with its unit: `250ms`, `12s`, `1m30s`, `4h`.",
            "pattern": r"^\s*([0-9]+(us|ms|s|m|h)\s*)+$",
            "examples": ["250ms", "12s", "1m30s", "4h"],
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn texts_read_as_lengths_and_print_back() {
        for (text, millis, printed) in [
            ("250ms", 250, "250ms"),
            ("12s", 12_000, "12s"),
            ("90s", 90_000, "1m30s"),
            ("1m30s", 90_000, "1m30s"),
            (" 1m 30s ", 90_000, "1m30s"),
            ("4h", 14_400_000, "4h"),
            ("0s", 0, "0s"),
            ("1500ms", 1_500, "1s500ms"),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.get(), Duration::from_millis(millis), "{text}");
            assert_eq!(span.to_string(), printed, "{text}");
            assert_eq!(printed.parse::<Span>().unwrap(), span, "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused_in_words_that_help() {
        for (text, words) in [
            ("12", "has no unit"),
            ("1m30", "has no unit"),
            ("12 s", "not a duration"),
            ("12sec", "unknown unit `sec`"),
            ("", "not a duration"),
            ("s", "not a duration"),
            ("-1s", "not a duration"),
            ("1.5s", "not a duration"),
            ("9000h", "too long"),
            ("99999999999999999999s", "too long"),
            ("18446744073709551615h", "too long"),
        ] {
            let refusal = text.parse::<Span>().unwrap_err().to_string();
            assert!(refusal.contains(words), "{text}: {refusal}");
        }
    }

    #[test]
    fn a_bare_number_in_yaml_is_asked_for_its_unit() {
        let refusal = serde_json::from_str::<Span>("12").unwrap_err().to_string();
        assert!(refusal.contains("`12` has no unit"), "{refusal}");
        assert_eq!(serde_json::from_str::<Span>("\"12s\"").unwrap().to_string(), "12s");
    }
}
