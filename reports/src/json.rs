//! A run as JSON, for other programs and for later commands: what changed since, render again.
//!
//! The shape is [`Run`] itself; [`schema`] describes it. Its version stands in `format` and grows
//! when a reader of the last version could misread a new run. A new optional field does not count.

use crate::redact::{Draft, Redactor};
use crate::verdict::Run;
use serde_json::Value;

/// The version of the JSON's shape, which a run carries in its `format`.
pub const FORMAT: u32 = 1;

/// Why a saved run could not be read. Every message leads with the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunFileError {
    /// It is not JSON, or not a run.
    #[error("{file}:{line}:{column}: not a saved run: {why}")]
    Shape {
        /// The file, as the caller named it.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        why: String,
    },
    /// A newer testbed wrote it.
    #[error(
        "{file}: the run has format {found}, and this version reads up to {FORMAT}; it was \
         written by a newer testbed (`{testbed}`)"
    )]
    Newer {
        /// The file, as the caller named it.
        file: String,
        /// Its format.
        found: u64,
        /// The version that wrote it.
        testbed: String,
    },
}

/// A run as indented JSON, every secret replaced (AUTH-2).
pub fn write(run: &Run, redactor: &Redactor) -> String {
    let run = redactor.clean(run);
    // A run holds strings, numbers and JSON values with string keys: nothing that cannot be
    // written.
    #[allow(clippy::unwrap_used)]
    let mut text = serde_json::to_string_pretty(&*run).unwrap();
    text.push('\n');
    redactor.release(Draft::from(text))
}

/// Reads a run that [`write()`] wrote. `file` is only named in errors.
pub fn read(file: &str, text: &str) -> Result<Run, RunFileError> {
    let text = text.trim_start_matches('\u{feff}');
    // The version first: a newer run may look like nothing that we know.
    if let Ok(value) = serde_json::from_str::<Value>(text)
        && let Some(found) = value["format"].as_u64().filter(|found| *found > u64::from(FORMAT))
    {
        let testbed = value["testbed"].as_str().unwrap_or("unnamed").to_owned();
        return Err(RunFileError::Newer { file: file.to_owned(), found, testbed });
    }
    serde_json::from_str(text).map_err(|error| {
        let why = error.to_string();
        let why = why.rfind(" at line ").map_or(why.as_str(), |end| &why[..end]);
        let (line, column) = (error.line(), error.column());
        RunFileError::Shape { file: file.to_owned(), line, column, why: why.to_owned() }
    })
}

/// The JSON Schema of a saved run.
pub fn schema() -> Value {
    schemars::schema_for!(Run).to_value()
}
