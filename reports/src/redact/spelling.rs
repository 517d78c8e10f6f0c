//! Finding a secret in a text, however the text spells it.
//!
//! The text of a report has been through JSON, a URL, XML or HTML, often through two of them. A
//! list of ready-made spellings would miss the mixed ones, so a secret is matched character by
//! character, each in any spelling: raw, `%41` (also `%2541`), `\u0041` behind any run of
//! backslashes, `&#65;`.

/// A secret, ready to be looked for.
pub(super) struct Needle {
    chars: Vec<char>,
}

impl Needle {
    pub(super) fn new(secret: &str) -> Self {
        Self { chars: secret.chars().collect() }
    }

    /// The end of the secret's spelling that starts at `start`, when one does.
    pub(super) fn ends_at(&self, text: &str, start: usize) -> Option<usize> {
        // A spelling can be ambiguous (`%25` is `%` or the start of `%25`), so every place that
        // the characters so far can end at is kept. There are rarely more than one.
        let mut places = vec![start];
        for c in &self.chars {
            let mut next = Vec::new();
            for place in places {
                spellings(*c, &text[place..], |len| {
                    if !next.contains(&(place + len)) {
                        next.push(place + len);
                    }
                });
            }
            if next.is_empty() {
                return None;
            }
            places = next;
        }
        places.into_iter().max()
    }
}

/// Tells the length of every spelling of `c` that `text` starts with.
fn spellings(c: char, text: &str, mut found: impl FnMut(usize)) {
    let Some(first) = text.chars().next() else { return };
    if first == c || (c == ' ' && first == '+') {
        found(first.len_utf8());
    }
    let len = match first {
        '%' => percent(c, text),
        '\\' => {
            short_escape(c, text).into_iter().for_each(&mut found);
            unicode_escape(c, text)
        }
        '&' => entity(c, text),
        _ => None,
    };
    if let Some(len) = len {
        found(len);
    }
}

/// `%41`, `%2541`, …: every byte of the character in percent encoding, any number of times over.
fn percent(c: char, text: &str) -> Option<usize> {
    let mut buffer = [0; 4];
    let mut rest = text;
    for byte in c.encode_utf8(&mut buffer).bytes() {
        rest = rest.strip_prefix('%')?;
        // A character that is `%` itself ends in `25`, which must not be eaten as nesting.
        while rest.starts_with("25") && rest.get(2..4).is_some_and(is_hex) {
            rest = &rest[2..];
        }
        let hex = rest.get(..2).filter(|hex| is_hex(hex))?;
        (u8::from_str_radix(hex, 16).ok()? == byte).then_some(())?;
        rest = &rest[2..];
    }
    Some(text.len() - rest.len())
}

/// `\n`, `\"`, `\/`, behind as many backslashes as JSON inside JSON piles up.
fn short_escape(c: char, text: &str) -> Option<usize> {
    let rest = text.trim_start_matches('\\');
    let run = text.len() - rest.len();
    let letter = match c {
        // The run of backslashes is itself the spelling of one.
        '\\' => return Some(run),
        '"' | '/' => c,
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        _ => return None,
    };
    rest.starts_with(letter).then_some(run + 1)
}

/// `\u0041`, as a surrogate pair where it takes one, behind any run of backslashes.
fn unicode_escape(c: char, text: &str) -> Option<usize> {
    let mut units = [0; 2];
    let mut rest = text;
    for unit in c.encode_utf16(&mut units) {
        rest = rest.strip_prefix('\\')?.trim_start_matches('\\').strip_prefix('u')?;
        let hex = rest.get(..4).filter(|hex| is_hex(hex))?;
        (u16::from_str_radix(hex, 16).ok()? == *unit).then_some(())?;
        rest = &rest[4..];
    }
    Some(text.len() - rest.len())
}

/// `&amp;`, `&#38;`, `&#x26;`, also escaped again as `&amp;amp;`.
fn entity(c: char, text: &str) -> Option<usize> {
    let mut rest = text.strip_prefix('&')?;
    while let Some(inner) = rest.strip_prefix("amp;") {
        // `&amp;` alone is an ampersand; only before another entity's body is it nesting.
        if !inner.starts_with(|next: char| next == '#' || next.is_ascii_alphabetic()) {
            break;
        }
        match entity_body(c, inner) {
            Some(len) => return Some(text.len() - inner.len() + len),
            None if inner.starts_with("amp;") => rest = inner,
            None => break,
        }
    }
    entity_body(c, rest).map(|len| text.len() - rest.len() + len)
}

/// The length of an entity's body with its semicolon, when it means `c`.
fn entity_body(c: char, body: &str) -> Option<usize> {
    let end = body.find(';').filter(|end| *end <= 8)?;
    let name = &body[..end];
    let meant = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    };
    (meant == c).then_some(end + 1)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
