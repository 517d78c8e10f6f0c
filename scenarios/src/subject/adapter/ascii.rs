//! Requests are ASCII: a pipe whose other end guesses an encoding guesses right.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

/// `value` as one line of JSON in ASCII, its line feed included.
pub(super) fn line<T: Serialize>(value: &T) -> serde_json::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(512);
    value.serialize(&mut Serializer::with_formatter(&mut line, Ascii(CompactFormatter)))?;
    line.push(b'\n');
    Ok(line)
}

struct Ascii(CompactFormatter);

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut plain = 0;
        for (at, character) in fragment.char_indices().filter(|(_, one)| !one.is_ascii()) {
            self.0.write_string_fragment(writer, &fragment[plain..at])?;
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                write!(writer, "\\u{unit:04x}")?;
            }
            plain = at + character.len_utf8();
        }
        self.0.write_string_fragment(writer, &fragment[plain..])
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_line_is_ascii_and_reads_back() {
        let text = "a\u{7f}\n\"\\ü\u{2028}\u{1f600}\u{10ffff}z";
        let line = line(&text).unwrap();
        assert!(line.is_ascii());
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "one line is one line");
        assert_eq!(serde_json::from_slice::<String>(&line).unwrap(), text);
    }
}
