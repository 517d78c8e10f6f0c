//! Times, counts, and text that is safe to show.

use serde_json::Value;
use std::fmt::Write as _;

/// A time on the case's clock: `+12.034 s`.
pub(crate) fn at(us: u64) -> String {
    format!("+{}.{:03} s", us / 1_000_000, us / 1000 % 1000)
}

/// A span of time, in the largest units that tell it: `3 ms`, `4.21 s`, `1 h 12 min 3 s`.
pub(crate) fn span(us: u64) -> String {
    let seconds = us / 1_000_000;
    match seconds {
        0 if us < 1000 => format!("{us} µs"),
        0 => format!("{} ms", us / 1000),
        1..60 => format!("{}.{:02} s", seconds, us / 10_000 % 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min {} s", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

/// `1 case`, `2 cases`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Text as it may be shown on one line: whatever would move a cursor, colour a terminal, or turn
/// the reading direction is spelled out. What a surface wrote is not to be trusted (GUARD-3).
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if c.is_control() || is_invisible(c) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            _ => out.push(c),
        }
    }
    out
}

/// [`plain`], line by line.
pub(crate) fn plain_lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// At most `max` characters, the rest told by `…`.
pub(crate) fn elide(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(max.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// A value as a reader wants it: a word bare, everything else as compact JSON.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::String(text) if is_word(text) => text.clone(),
        other => plain(&other.to_string()),
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c))
}

/// Direction marks and overrides, zero-width characters, the byte order mark, and the characters
/// that XML does not allow.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fffe}' | '\u{ffff}' | '\u{61c}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn times_read_well() {
        assert_eq!(at(0), "+0.000 s");
        assert_eq!(at(12_034_999), "+12.034 s");
        let spans = [
            (7, "7 µs"),
            (3_400, "3 ms"),
            (4_219_000, "4.21 s"),
            (60_000_000, "1 min 0 s"),
            (4_323_000_000, "1 h 12 min 3 s"),
        ];
        for (us, text) in spans {
            assert_eq!(span(us), text);
        }
    }

    #[test]
    fn what_a_surface_wrote_cannot_touch_the_terminal() {
        assert_eq!(
            plain("a\u{1b}[2J\r\nb\u{202e}c\u{9b}1m"),
            "a\\u{1b}[2J\\r\\nb\\u{202e}c\\u{9b}1m"
        );
        assert_eq!(plain("tëxt ✓ 😀"), "tëxt ✓ 😀");
    }

    #[test]
    fn values_are_bare_only_when_they_are_words() {
        assert_eq!(value(&json!("screen_7")), "screen_7");
        assert_eq!(value(&json!("two words")), "\"two words\"");
        assert_eq!(value(&json!("")), "\"\"");
        assert_eq!(value(&json!({"a": [1, null]})), r#"{"a":[1,null]}"#);
    }

    #[test]
    fn a_cut_is_seen() {
        assert_eq!(elide("abcdef", 6), "abcdef");
        assert_eq!(elide("abcdefg", 6), "abcde…");
    }
}
