//! Tool names: what one may look like, and which belong to people.

use crate::guard::is_invisible;

/// The longest name, in characters.
const NAME_CHARS_MAX: usize = 128;

/// `[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}`, whole string (TRUST-7). Nothing is mended: a name that
/// only looks like a good one is somebody's trick.
pub(super) fn is_well_formed(name: &str) -> bool {
    let bytes = name.as_bytes();
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    bytes.first().is_some_and(is_plain)
        && bytes.len() <= NAME_CHARS_MAX
        && bytes.iter().all(|b| is_plain(b) || b".:-".contains(b))
}

/// What a person does with a proposal, and an agent never.
const RESERVED: [&str; 5] = ["confirm", "reject", "accept", "approve", "deny"];

/// The reserved word among a name's tokens (TRUST-6). Tokens split at `_ . : -`, at digits and at
/// case boundaries; invisible characters at both ends are not part of a name. What stands between
/// two separators is looked at whole too, since `conFirm` has no other reading.
pub(super) fn reserved_verb(name: &str) -> Option<&'static str> {
    name.trim_matches(is_invisible)
        .split(|c: char| matches!(c, '_' | '.' | ':' | '-') || c.is_ascii_digit())
        .find_map(|part| verb(part).or_else(|| words(part).into_iter().find_map(|it| verb(&it))))
}

fn verb(token: &str) -> Option<&'static str> {
    RESERVED.into_iter().find(|verb| verb.eq_ignore_ascii_case(token))
}

/// `sheetConfirm` splits before `C`; `HTTPConfirm` splits before the `C` that begins a word, the
/// last capital of a run.
fn words(part: &str) -> Vec<String> {
    let chars: Vec<char> = part.chars().collect();
    let mut words = vec![String::new()];
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| chars[at]);
        let after = chars.get(at + 1);
        let begins_word = c.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if begins_word {
            words.push(String::new());
        }
        // There is one from the start.
        if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_formed_names_are_plain_ascii_from_end_to_end() {
        for name in ["a", "_x", "0", "vendor.tool", "web-search", "a:b", "A_b.C-d:9"] {
            assert!(is_well_formed(name), "{name:?}");
        }
        for name in [
            "",
            " ",
            "-a",
            ".a",
            ":a",
            "a b",
            "a\n",
            "a ",
            " a",
            "a\u{200b}",
            "\u{feff}a",
            "\u{441}a",
            "a\u{7}",
            "é",
            "a/b",
            "a\0",
        ] {
            assert!(!is_well_formed(name), "{name:?}");
        }
        assert!(is_well_formed(&"a".repeat(128)));
        assert!(!is_well_formed(&"a".repeat(129)));
    }

    #[track_caller]
    fn check(name: &str, expect: Option<&str>) {
        assert_eq!(reserved_verb(name), expect, "{name:?}");
    }

    #[test]
    fn a_reserved_word_is_found_among_the_tokens() {
        check("confirm", Some("confirm"));
        check("CONFIRM", Some("confirm"));
        check("screen_confirm", Some("confirm"));
        check("screen.reject", Some("reject"));
        check("screen:accept", Some("accept"));
        check("approve-all", Some("approve"));
        check("sheetDeny", Some("deny"));
        check("denyAll", Some("deny"));
        check("HTTPConfirm", Some("confirm"));
        check("HTTPConfirmNow", Some("confirm"));
        check("confirmHTTP", Some("confirm"));
        check("step2confirm", Some("confirm"));
        check("confirm2", Some("confirm"));
        check("x9CONFIRM", Some("confirm"));
        check("surface_confirm ", Some("confirm"));
        check("\u{200b}confirm\u{feff}", Some("confirm"));
        check("confirm\n", Some("confirm"));
        check("send_confirm_email", Some("confirm"));
        check("screen_conFirm", Some("confirm"));
        check("aCCept", Some("accept"));
    }

    #[test]
    fn a_word_that_only_holds_a_reserved_one_stays_callable() {
        for name in [
            "send_confirmation_email",
            "preconfirm",
            "denylist",
            "unconfirmed",
            "acceptance",
            "approver",
            "rejected",
            "screen_read",
            "indeny",
            "",
            "_",
        ] {
            check(name, None);
        }
    }
}
