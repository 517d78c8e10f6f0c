//! Records on disk: JSON Lines, the [`Header`] on the first line, then one [`Entry`] a line.
//!
//! One record has one spelling: keys stand in the order of the types, no spaces, `\n` at the end
//! of every line. Two runs of one seed can therefore be compared byte for byte.
//!
//! A reader is strict where judging depends on it. An event that it does not know, a sequence
//! that goes back, or a file that was cut off is refused, with the line: judging a record with
//! a hole in it would give a verdict about something that did not happen. Unknown *fields* are
//! let pass, since [`FORMAT`] does not count an optional one.

use crate::record::{Entry, FORMAT, Header, Record};
use crate::redact::Redactor;
use std::io::{self, BufRead};

/// Why a record could not be read. Every message leads with `file:line`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordFileError {
    /// Reading failed before the text did.
    #[error("{file}:{line}: could not read on: {source}")]
    Io {
        /// The file, as the caller named it.
        file: String,
        /// The line that was being read, from 1.
        line: u64,
        /// What the system said.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("{file}:1: the record is empty; its first line should be a header")]
    Empty {
        /// The file, as the caller named it.
        file: String,
    },
    /// A newer testbed wrote it.
    #[error(
        "{file}:1: the record has format {found}, and this version reads up to {FORMAT}; \
         it was written by a newer testbed (`{testbed}`)"
    )]
    Newer {
        /// The file, as the caller named it.
        file: String,
        /// Its format.
        found: u64,
        /// The version that wrote it, as the header says.
        testbed: String,
    },
    /// A line is not what should stand there.
    #[error("{file}:{line}: {why}")]
    Line {
        /// The file, as the caller named it.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
}

/// Writes a record as JSON Lines, every secret replaced (AUTH-2).
pub fn write(record: &Record, redactor: &Redactor) -> String {
    let clean = redactor.clean(record);
    let mut text = json_line(&clean.header);
    for entry in &clean.entries {
        text.push_str(&json_line(entry));
    }
    redactor.release(text.into())
}

/// Reads a record. `file` is only named in errors.
pub fn read(file: &str, input: impl BufRead) -> Result<Record, RecordFileError> {
    let mut lines = Lines { file, number: 0, input };
    let Some(first) = lines.next_filled()? else {
        return Err(RecordFileError::Empty { file: file.to_owned() });
    };
    let header = header(&lines, &first)?;
    let mut entries: Vec<Entry> = Vec::new();
    while let Some(line) = lines.next_filled()? {
        let entry: Entry = serde_json::from_str(&line).map_err(|e| lines.wrong(said(&e)))?;
        if let Some(last) = entries.last() {
            follows(last, &entry).map_err(|why| lines.wrong(why))?;
        }
        entries.push(entry);
    }
    Ok(Record { header, entries })
}

/// The JSON Schemas of a record's lines: the first line's under `header`, every other's under
/// `entry`.
pub fn schema() -> serde_json::Value {
    serde_json::json!({
        "header": schemars::schema_for!(Header),
        "entry": schemars::schema_for!(Entry),
    })
}

/// The header, its format checked before its shape: a newer header may look like nothing we know.
fn header(lines: &Lines<'_, impl BufRead>, line: &str) -> Result<Header, RecordFileError> {
    let value: serde_json::Value = serde_json::from_str(line).map_err(|e| lines.wrong(said(&e)))?;
    let Some(found) = value.get("format").and_then(serde_json::Value::as_u64) else {
        return Err(lines.wrong("the first line is not a record's header: it has no `format`"));
    };
    if found > u64::from(FORMAT) {
        let testbed = value["testbed"].as_str().unwrap_or("unnamed").to_owned();
        return Err(RecordFileError::Newer { file: lines.file.to_owned(), found, testbed });
    }
    serde_json::from_value(value).map_err(|e| lines.wrong(format!("not a record's header: {e}")))
}

/// Whether `next` may stand after `last`.
fn follows(last: &Entry, next: &Entry) -> Result<(), String> {
    if next.seq <= last.seq {
        return Err(format!("entry {} stands after entry {}", next.seq, last.seq));
    }
    if next.at < last.at {
        return Err(format!("entry {} is earlier than the entry before it", next.seq));
    }
    Ok(())
}

/// A parser's words without its own line and column: a line of JSON Lines is always its line 1.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let bare = text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]);
    if error.is_eof() {
        return format!("the line is cut off ({bare})");
    }
    if error.is_syntax() {
        return format!("not JSON ({bare} at column {})", error.column());
    }
    bare.replace("unknown variant", "unknown event").replace("expected one of", "known are")
}

fn json_line(value: &impl serde::Serialize) -> String {
    // The record's types hold strings, numbers and JSON values with string keys: nothing in
    // them can fail to be written.
    #[allow(clippy::unwrap_used)]
    let mut line = serde_json::to_string(value).unwrap();
    line.push('\n');
    line
}

struct Lines<'f, R> {
    file: &'f str,
    number: u64,
    input: R,
}

impl<R: BufRead> Lines<'_, R> {
    /// The next line that holds something, without its line end.
    fn next_filled(&mut self) -> Result<Option<String>, RecordFileError> {
        loop {
            let mut line = String::new();
            self.number += 1;
            let read = self.input.read_line(&mut line).map_err(|source| RecordFileError::Io {
                file: self.file.to_owned(),
                line: self.number,
                source,
            })?;
            if read == 0 {
                return Ok(None);
            }
            let trimmed = line.trim_start_matches('\u{feff}').trim();
            if !trimmed.is_empty() {
                return Ok(Some(trimmed.to_owned()));
            }
        }
    }

    fn wrong(&self, why: impl Into<String>) -> RecordFileError {
        RecordFileError::Line { file: self.file.to_owned(), line: self.number, why: why.into() }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const HEADER: &str = r#"{"format":1,"testbed":"0.1.0","case":"a.yaml::b","seed":7,"clock":"virtual","wire":"unix","client":{"name":"builtin","version":"0.1.0"},"plan":{"z":1,"a":0.1}}"#;
    const FRAME: &str = r#"{"seq":1,"at":12000,"event":"frame","exchange":3,"direction":"to_surface","client":"c1","frame":{"n":1.7976931348623157e+308,"m":0.30000000000000004,"jsonrpc":"2.0"}}"#;
    const NOTE: &str = r#"{"seq":2,"at":12000,"event":"note","says":"ü \u0001"}"#;

    fn saved(lines: &[&str]) -> String {
        lines.iter().flat_map(|line| [*line, "\n"]).collect()
    }

    fn why(text: &str) -> String {
        read("case.jsonl", text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_read_is_written_back_byte_for_byte() {
        let text = saved(&[HEADER, FRAME, NOTE]);
        let record = read("case.jsonl", text.as_bytes()).unwrap();
        assert_eq!(record.entries.len(), 2);
        assert_eq!(write(&record, &Redactor::none()), text);
    }

    #[test]
    fn line_ends_blank_lines_and_a_byte_order_mark_do_not_matter() {
        let tidy = read("case.jsonl", saved(&[HEADER, FRAME]).as_bytes()).unwrap();
        let untidy = format!("\u{feff}{HEADER}\r\n\r\n{FRAME}");
        assert_eq!(read("case.jsonl", untidy.as_bytes()).unwrap(), tidy);
    }

    #[test]
    fn an_unknown_field_is_let_pass() {
        let note = NOTE.replace(r#""event""#, r#""colour":"red","event""#);
        let record = read("case.jsonl", saved(&[HEADER, &note]).as_bytes()).unwrap();
        assert_eq!(record.entries.len(), 1);
    }

    #[test]
    fn the_schema_knows_every_event_and_the_header() {
        let schema = schema();
        assert!(schema["header"]["properties"]["seed"].is_object());
        let text = schema["entry"].to_string();
        for event in ["step_started", "stale_refusal", "board", "note"] {
            assert!(text.contains(&format!("\"{event}\"")), "{event} is not in the schema");
        }
    }

    #[test]
    fn a_newer_format_is_refused_in_words() {
        let text = saved(&[r#"{"format":2,"testbed":"9.0.0","shape":"another"}"#]);
        assert_eq!(
            why(&text),
            "case.jsonl:1: the record has format 2, and this version reads up to 1; it was \
             written by a newer testbed (`9.0.0`)"
        );
    }

    #[test]
    fn every_refusal_names_the_line_and_why() {
        let again = FRAME.replace(r#""seq":1"#, r#""seq":2"#);
        let earlier = NOTE.replace("12000", "11999");
        let table = [
            (String::new(), "case.jsonl:1: the record is empty"),
            (saved(&["{}"]), "case.jsonl:1: the first line is not a record's header"),
            (saved(&[r#"{"format":1}"#]), "case.jsonl:1: not a record's header: missing field"),
            (saved(&[HEADER, "", "nonsense"]), "case.jsonl:3: not JSON (expected ident at col"),
            (saved(&[HEADER, &FRAME[..40]]), "case.jsonl:2: the line is cut off (EOF while"),
            (saved(&[HEADER, NOTE, &again]), "case.jsonl:3: entry 2 stands after entry 2"),
            (saved(&[HEADER, FRAME, &earlier]), "case.jsonl:3: entry 2 is earlier than"),
            (
                saved(&[HEADER, r#"{"seq":1,"at":0,"event":"teleport"}"#]),
                "case.jsonl:2: unknown event `teleport`, known are `step_started`",
            ),
        ];
        for (text, start) in table {
            let said = why(&text);
            assert!(said.starts_with(start), "{said:?} should start with {start:?}");
        }
    }
}
