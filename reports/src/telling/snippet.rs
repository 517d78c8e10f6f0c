//! What to underline in a line of a scenario.

use std::ops::Range;

/// The bytes of `source` that the YAML node at `column` (from 1, in characters) covers on its
/// line: a bracketed node to its closing bracket, a quoted one to its closing quote, everything
/// else to the next comma, bracket or comment.
pub(crate) fn underline(source: &str, column: u64) -> Range<usize> {
    let skip = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
    let start = source.char_indices().nth(skip).map_or(source.len(), |(at, _)| at);
    let node = &source[start..];
    let len = node_len(node);
    if len == 0 {
        // A column past the line's end still gets a caret.
        let from = source.trim_end().len().min(start);
        return from..source.len().max(from);
    }
    start..start + len
}

fn node_len(node: &str) -> usize {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut last = ' ';
    for (at, c) in node.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            // A quote opens only where a scalar may begin: `person's` holds an apostrophe.
            (None, '"' | '\'') if last == ' ' || "{[:,".contains(last) => quote = Some(c),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') if depth == 0 => return node[..at].trim_end().len(),
            (None, '}' | ']') => depth -= 1,
            (None, ',') if depth == 0 => return node[..at].trim_end().len(),
            (None, '#') if last == ' ' && at > 0 => return node[..at].trim_end().len(),
            _ => {}
        }
        last = c;
    }
    node.trim_end().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The column is where `^` stands; the underlined part is expected.
    fn check(source: &str, column: u64, expect: &str) {
        assert_eq!(&source[underline(source, column)], expect);
    }

    #[test]
    fn a_node_is_underlined_to_its_end() {
        let line = "    expect: { error: gone, says: [a, \"b, c\"] } # why";
        check(line, 5, "expect: { error: gone, says: [a, \"b, c\"] }");
        check(line, 13, "{ error: gone, says: [a, \"b, c\"] }");
        check(line, 15, "error: gone");
        check(line, 28, "says: [a, \"b, c\"]");
        check("  - anomalies: none", 5, "anomalies: none");
        check("name: a person's edit, kept", 1, "name: a person's edit");
        check("é: { ü: 1, b: 2 }", 6, "ü: 1");
    }

    #[test]
    fn a_column_outside_the_line_is_no_crash() {
        assert_eq!(underline("ab", 9), 2..2);
        assert_eq!(underline("", 1), 0..0);
        assert_eq!(underline("ab", 0), 0..2);
    }
}
