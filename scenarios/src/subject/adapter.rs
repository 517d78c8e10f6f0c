//! The host of an adapter: starts somebody else's client, asks it, and survives what it does.
//!
//! ```text
//!              ask                    writer ──────► stdin
//!   runner ───────────► Adapter ──┤   reader ◄────── stdout    adapter, in a process
//!          ◄───────────           │   scribe ◄────── stderr    group of its own
//!             answer              └   minder: one life, from spawn to the last kill
//! ```
//!
//! Whatever an adapter does wrong becomes an [`AdapterFault`], which is never counted for or
//! against the client that it holds. The host owns the deadlines. It runs on a tokio
//! current-thread runtime with the real clock: another process cannot be put on a virtual one.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::protocol::{
    Answer, Capability, ErrorCode, Hello, Operation, OperationError, PROTOCOL, Request,
};

mod ascii;
mod fault;
mod life;
mod lines;
mod reply;

pub use fault::{AdapterFault, Tail};
use life::Life;
pub(super) use reply::Outcome;

/// How much an adapter may take and how long it may think.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// From the spawn to the answer to `hello`. An interpreter on a busy machine takes its time.
    pub hello: Duration,
    /// From `shutdown` to the end of the process.
    pub shutdown: Duration,
    /// The longest line that is read from stdout, in bytes. Far above the largest frame a relay
    /// carries (256 KiB, six bytes an escaped character), far below what would hurt.
    pub line_bytes: usize,
    /// The longest line that is kept of stderr, in bytes; the rest of a longer one is dropped.
    pub log_line_bytes: usize,
    /// How many lines of stderr are kept until somebody takes them; older ones are dropped.
    pub log_lines: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hello: Duration::from_secs(20),
            shutdown: Duration::from_secs(5),
            line_bytes: 4 << 20,
            log_line_bytes: 8 << 10,
            log_lines: 4_000,
        }
    }
}

/// A client under test in a process of its own.
#[derive(Debug)]
pub struct Adapter {
    command: Vec<String>,
    limits: Limits,
    hello: Hello,
    life: Life,
    /// Held during an operation by clients that do one thing at a time.
    turn: Mutex<()>,
}

impl Adapter {
    /// Starts the adapter and hears its `hello`.
    ///
    /// `command` is split as a shell would split it, and no shell sees it: variables, globs and
    /// pipes mean nothing.
    ///
    /// # Errors
    /// When it cannot be started, does not answer in time, or speaks another protocol.
    pub async fn start(command: &str, limits: Limits) -> Result<Self, AdapterFault> {
        let command = split(command)?;
        let (life, hello) = begin(&command, &limits).await?;
        Ok(Self { command, limits, hello, life, turn: Mutex::new(()) })
    }

    /// What the adapter said of itself and its client.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Whether the process can be asked something. After a death, see [`Adapter::restart`].
    pub fn is_alive(&self) -> bool {
        self.life.is_alive()
    }

    /// Asks for `operation` and waits until `deadline` has passed at the most.
    ///
    /// Several operations may be asked at once. A client without the capability
    /// `concurrent-agents` is asked them one after the other, and each has its whole deadline.
    ///
    /// # Errors
    /// The inner error is the client's; the outer one is the adapter's alone. An adapter that
    /// misses the deadline is killed with everything that it started.
    pub async fn ask(
        &self,
        operation: Operation,
        deadline: Duration,
    ) -> Result<Result<Answer, OperationError>, AdapterFault> {
        let _turn = match self.hello.can(Capability::ConcurrentAgents) {
            true => None,
            false => Some(self.turn.lock().await),
        };
        ask(&self.life, operation, deadline).await
    }

    /// Asks for something that no operation may be, and gives back what came, unread.
    pub(super) async fn ask_oddly(
        &self,
        fields: &Map<String, Value>,
        deadline: Duration,
    ) -> Result<Outcome, AdapterFault> {
        let mut request = fields.clone();
        let id = self.life.next_id();
        request.insert("id".into(), id.into());
        let line = sayable(&request)?;
        self.life.exchange(id, "an unknown operation", None, line, deadline).await
    }

    /// Closes stdin without a word, as a testbed that crashed does.
    ///
    /// # Errors
    /// When the adapter stays, or leaves with another status than 0.
    pub(super) async fn hang_up(mut self) -> Result<(), AdapterFault> {
        self.life.close_stdin();
        self.life.leave(self.limits.shutdown).await
    }

    /// What the adapter wrote to stderr since the last time, oldest first, as it came: secrets
    /// that a client leaks are in it, and finding them is the caller's business (AUTH-2).
    ///
    /// Waits a moment, because a line may still be on its way when the answer is already here.
    pub async fn take_log(&self) -> Vec<String> {
        self.life.take_log().await
    }

    /// Ends this life, whatever is left of it, and begins another one: every agent is forgotten.
    ///
    /// # Errors
    /// As [`Adapter::start`]; also when the client says something else of itself than before,
    /// since a plan was made with the first answer.
    pub async fn restart(&mut self) -> Result<(), AdapterFault> {
        self.life.end().await;
        let (life, hello) = begin(&self.command, &self.limits).await?;
        self.life = life;
        if hello != self.hello {
            return Err(AdapterFault::ChangedItsMind);
        }
        Ok(())
    }

    /// Asks the adapter to leave, and makes it when it does not.
    ///
    /// # Errors
    /// When it did not leave by itself, or with another status than 0.
    pub async fn stop(self) -> Result<(), AdapterFault> {
        let asked = ask(&self.life, Operation::Shutdown, self.limits.shutdown).await?;
        if let Err(error) = asked {
            let how = format!("it answered `{}`: {}", error.code, error.message);
            return Err(AdapterFault::LeftBadly { how });
        }
        self.life.leave(self.limits.shutdown).await
    }
}

/// Spawns a life and hears its `hello`.
async fn begin(command: &[String], limits: &Limits) -> Result<(Life, Hello), AdapterFault> {
    let life = Life::begin(command, limits)?;
    let outcome = exchange(&life, &Operation::Hello { protocol: PROTOCOL }, limits.hello).await?;
    match read_hello(outcome) {
        Ok(hello) => Ok((life, hello)),
        Err(fault) => {
            life.end().await;
            Err(fault)
        }
    }
}

/// The version is looked at before the shape: the shape is that of the version.
fn read_hello(outcome: Outcome) -> Result<Hello, AdapterFault> {
    let operation = Operation::Hello { protocol: PROTOCOL };
    let ok = match outcome {
        Outcome::Ok(ok) => ok,
        Outcome::Error(error) => {
            return Err(AdapterFault::OwnFailure {
                operation: operation.name(),
                native: error.native,
                message: error.message,
            });
        }
    };
    match ok.get("protocol").and_then(Value::as_u64) {
        Some(theirs) if theirs == u64::from(PROTOCOL) => {}
        Some(theirs) => return Err(AdapterFault::WrongProtocol { theirs, ours: PROTOCOL }),
        None => {
            return Err(AdapterFault::WrongAnswer {
                operation: operation.name(),
                why: "`protocol` is missing or not a whole number".into(),
            });
        }
    }
    match operation.read_ok(ok) {
        Ok(Answer::Hello(hello)) => Ok(hello),
        Ok(_) => unreachable!("`hello` is read as `Hello`"),
        Err(error) => {
            Err(AdapterFault::WrongAnswer { operation: operation.name(), why: error.to_string() })
        }
    }
}

async fn ask(
    life: &Life,
    operation: Operation,
    deadline: Duration,
) -> Result<Result<Answer, OperationError>, AdapterFault> {
    match exchange(life, &operation, deadline).await? {
        Outcome::Ok(ok) => match operation.read_ok(ok) {
            Ok(answer) => Ok(Ok(answer)),
            Err(error) => Err(AdapterFault::WrongAnswer {
                operation: operation.name(),
                why: error.to_string(),
            }),
        },
        Outcome::Error(error) if error.code == ErrorCode::AdapterError => {
            Err(AdapterFault::OwnFailure {
                operation: operation.name(),
                native: error.native,
                message: error.message,
            })
        }
        Outcome::Error(error) => Ok(Err(error)),
    }
}

async fn exchange(
    life: &Life,
    operation: &Operation,
    deadline: Duration,
) -> Result<Outcome, AdapterFault> {
    if let Operation::Attach(attach) = operation {
        life.keep_secret(attach.invitation.token.reveal());
    }
    let id = life.next_id();
    let line = sayable(&Request { id, operation: operation.clone() })?;
    life.exchange(id, operation.name(), operation.agent(), line, deadline).await
}

fn sayable(request: &impl Serialize) -> Result<Vec<u8>, AdapterFault> {
    ascii::line(request).map_err(|error| AdapterFault::Unsayable { why: error.to_string() })
}

/// A command line as words.
fn split(command: &str) -> Result<Vec<String>, AdapterFault> {
    let unreadable = |why: String| AdapterFault::CommandLine { command: command.into(), why };
    let words = shell_words::split(command).map_err(|error| unreadable(error.to_string()))?;
    match words.is_empty() {
        true => Err(unreadable("it is empty".into())),
        false => Ok(words),
    }
}

#[cfg(test)]
mod tests;
