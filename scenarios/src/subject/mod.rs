//! The client under test: ours in this process, or somebody else's behind an adapter.

pub mod adapter;
pub mod builtin;
pub mod check;
pub mod protocol;

use adapter::{Adapter, AdapterFault};
use builtin::Builtin;
use protocol::{Answer, Capability, Hello, Operation, OperationError};
use std::rc::Rc;
use std::time::Duration;

/// A client under test during one case.
pub enum Subject {
    /// Ours.
    Builtin(Builtin),
    /// Somebody else's.
    Adapter {
        /// The process that holds it. It outlives the case.
        adapter: Rc<Adapter>,
        /// How long it may think about one operation.
        deadline: Duration,
    },
}

/// What broke that is not the client's fault.
#[derive(Debug, thiserror::Error)]
pub enum SubjectFault {
    /// The adapter did.
    #[error("the adapter broke: {0}")]
    Adapter(#[from] AdapterFault),
    /// The case's clock did.
    #[error(transparent)]
    Clock(#[from] relay_simulator::clock::ClockError),
    /// The adapter says of itself that it failed.
    #[error("the adapter failed at `{operation}`: {message}")]
    AdapterError {
        /// What it was asked.
        operation: &'static str,
        /// What it says.
        message: String,
    },
    /// The runtime could not be made.
    #[error("cannot start a runtime: {0}")]
    Runtime(#[from] std::io::Error),
}

impl Subject {
    /// A client behind an adapter, with everything of the case before forgotten.
    ///
    /// # Errors
    /// When the adapter does not answer `reset`.
    pub async fn adapter(adapter: Rc<Adapter>, deadline: Duration) -> Result<Self, SubjectFault> {
        let subject = Self::Adapter { adapter, deadline };
        if let Err(error) = subject.perform(Operation::Reset).await? {
            let message = error.message;
            return Err(SubjectFault::AdapterError { operation: "reset", message });
        }
        Ok(subject)
    }

    /// Who it is and what it can do.
    pub fn hello(&self) -> &Hello {
        match self {
            Self::Builtin(builtin) => builtin.hello(),
            Self::Adapter { adapter, .. } => adapter.hello(),
        }
    }

    /// Asks it to do something. The inner result is the client's, the outer one is not.
    ///
    /// # Errors
    /// When the adapter broke, or says that it failed itself.
    pub async fn perform(
        &self,
        operation: Operation,
    ) -> Result<Result<Answer, OperationError>, SubjectFault> {
        match self {
            Self::Builtin(builtin) => Ok(builtin.perform(operation).await),
            Self::Adapter { adapter, deadline } => Ok(adapter.ask(operation, *deadline).await?),
        }
    }

    /// What the client logged since the last time: level, module, line. The built-in client's log
    /// goes to the record by itself.
    pub async fn take_log(&self) -> Vec<(String, String, String)> {
        match self {
            Self::Adapter { adapter, .. } if adapter.hello().can(Capability::LogCapture) => adapter
                .take_log()
                .await
                .into_iter()
                .map(|line| ("debug".to_owned(), adapter.hello().name.clone(), line))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The case is over.
    pub async fn leave(self) {
        if let Self::Builtin(builtin) = self {
            builtin.leave().await;
        }
    }
}
