//! What an adapter can do wrong. Never counted for or against the client that it holds.

use std::fmt;
use std::time::Duration;

use crate::subject::protocol::PROTOCOL;

/// An adapter's own failure, or the host's failure to run it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdapterFault {
    /// The command line is no command line.
    #[error("cannot read the command line `{command}`: {why}")]
    CommandLine {
        /// The command line.
        command: String,
        /// What is wrong with it.
        why: String,
    },
    /// The program cannot be started.
    #[error(
        "cannot start `{program}`: {why}\n  hint: no shell reads the command line, so aliases, \
         variables and `~` mean nothing; give the program's path or a name on PATH"
    )]
    Spawn {
        /// The program.
        program: String,
        /// What the system said.
        why: String,
    },
    /// A request cannot be written as JSON.
    #[error("cannot write the request as JSON: {why}")]
    Unsayable {
        /// Why not.
        why: String,
    },
    /// It ended while it was needed.
    #[error("the adapter ended ({status}) {}{stderr}{}", during(operation), exit_hint(operation))]
    Exited {
        /// How it ended: `exit status: 0`, `signal: 11 (SIGSEGV)`.
        status: String,
        /// What it was asked then.
        operation: Option<&'static str>,
        /// Its last words.
        stderr: Tail,
    },
    /// It closed its end of the conversation and went on running.
    #[error(
        "the adapter closed its stdout {} and went on running, so it was killed{stderr}",
        during(operation)
    )]
    ClosedStdout {
        /// What it was asked then.
        operation: Option<&'static str>,
        /// Its last words.
        stderr: Tail,
    },
    /// It did not answer in time. It was killed, with everything that it had started.
    #[error(
        "the adapter did not answer `{operation}` within {} ms, so it and all it had started were \
         killed{stderr}{}",
        waited.as_millis(),
        hang_hint(operation)
    )]
    Hung {
        /// What it was asked.
        operation: &'static str,
        /// The agent it was asked of.
        agent: Option<String>,
        /// How long it had.
        waited: Duration,
        /// Its last words.
        stderr: Tail,
    },
    /// It wrote something that is not JSON.
    #[error("the adapter wrote a line that is not JSON: {why}\n  line: {line}\n  hint: {hint}")]
    NotJson {
        /// The line, shortened.
        line: String,
        /// What the reader said.
        why: String,
        /// How to fix it.
        hint: &'static str,
    },
    /// It wrote JSON that is not an answer.
    #[error("the adapter wrote a line that is not an answer: {why}\n  line: {line}")]
    NotAnAnswer {
        /// The line, shortened.
        line: String,
        /// What is wrong with it.
        why: String,
    },
    /// It answered what nobody had asked, or answered twice.
    #[error(
        "the adapter answered request {id}, which is not waiting for an answer{}",
        last_hint(*last)
    )]
    Unasked {
        /// The id it gave.
        id: u64,
        /// The last id that was asked.
        last: u64,
    },
    /// It wrote a line that is too long to be an answer.
    #[error("the adapter wrote a line of more than {bound} bytes\n  it begins: {line}")]
    TooLong {
        /// The bound.
        bound: usize,
        /// Its beginning.
        line: String,
    },
    /// It speaks another version.
    #[error("the adapter speaks version {theirs} of the protocol, and this testbed speaks {ours}")]
    WrongProtocol {
        /// What the adapter was written for.
        theirs: u64,
        /// What the testbed speaks.
        ours: u32,
    },
    /// Its `ok` does not have the shape that the operation is answered with.
    #[error("the adapter's answer to `{operation}` has the wrong shape: {why}")]
    WrongAnswer {
        /// What it was asked.
        operation: &'static str,
        /// What is wrong with the answer.
        why: String,
    },
    /// It said so itself: `adapter_error`.
    #[error("the adapter failed at `{operation}`: {native}: {message}")]
    OwnFailure {
        /// What it was asked.
        operation: &'static str,
        /// What failed.
        native: String,
        /// Its words.
        message: String,
    },
    /// It said something else of itself after a restart.
    #[error("the adapter says something else of its client after a restart than before it")]
    ChangedItsMind,
    /// It was asked to leave and left badly.
    #[error("the adapter did not leave well after `shutdown`: {how}")]
    LeftBadly {
        /// How it left.
        how: String,
    },
    /// It is not running any more. The reason was told to whoever asked then.
    #[error("the adapter is not running any more: {why}")]
    NotRunning {
        /// Why it ended.
        why: String,
    },
}

impl AdapterFault {
    /// Whether the process is gone because of it, so that a restart is needed.
    pub fn ends_the_life(&self) -> bool {
        !matches!(self, Self::WrongAnswer { .. } | Self::OwnFailure { .. } | Self::Unsayable { .. })
    }
}

fn during(operation: &Option<&'static str>) -> String {
    match operation {
        Some(operation) => format!("without answering `{operation}`"),
        None => "while it was asked nothing".into(),
    }
}

fn exit_hint(operation: &Option<&'static str>) -> String {
    match operation {
        Some("hello") => format!(
            "\n  hint: an adapter reads lines from stdin until its end; is this one? It should \
             answer {{\"id\":1,\"op\":\"hello\",\"protocol\":{PROTOCOL}}}"
        ),
        _ => String::new(),
    }
}

fn hang_hint(operation: &str) -> &'static str {
    match operation {
        "hello" => "\n  hint: flush stdout after every line, and read stdin line by line",
        _ => "",
    }
}

fn last_hint(last: u64) -> String {
    match last {
        0 => "; nothing was asked yet".into(),
        last => format!(" (the last one asked is {last}); answer every request once, with its id"),
    }
}

/// The last lines of stderr, secrets hidden, for a person who wonders what happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tail(pub Vec<String>);

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.0 {
            write!(f, "\n  stderr: {line}")?;
        }
        Ok(())
    }
}
