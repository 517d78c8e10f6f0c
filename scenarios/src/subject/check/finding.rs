//! What a check has to say: what was seen, why it matters, how to fix it.

use std::fmt;

use crate::subject::adapter::AdapterFault;
use crate::subject::protocol::{Capability, Hello};

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkup {
    /// Who answered, when anybody did.
    pub hello: Option<Hello>,
    /// How many operations were asked.
    pub asked: usize,
    /// What is wrong, in the order it was found. Empty when the adapter is fit for a suite.
    pub findings: Vec<Finding>,
}

impl Checkup {
    /// Whether a suite can be run over this adapter: nothing is wrong with it for certain. What
    /// asks for a look does not count.
    pub fn is_clean(&self) -> bool {
        self.hello.is_some() && self.count(Level::Wrong) == 0
    }

    fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }
}

impl fmt::Display for Checkup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(hello) = &self.hello {
            writeln!(f, "{} {} ({})", hello.name, hello.version, hello.language)?;
            let lacks: Vec<_> = Capability::ALL
                .iter()
                .filter(|capability| !hello.can(**capability))
                .map(|capability| capability.as_str())
                .collect();
            let lacks = if lacks.is_empty() { "nothing".into() } else { lacks.join(", ") };
            writeln!(f, "lacks: {lacks}\n")?;
        }
        for finding in &self.findings {
            writeln!(f, "{finding}\n")?;
        }
        let (wrong, look) = (self.count(Level::Wrong), self.count(Level::Look));
        write!(f, "{} operations asked, {wrong} wrong, {look} to look at", self.asked)
    }
}

/// Something about an adapter that its author should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How certain it is.
    pub level: Level,
    /// What was seen.
    pub what: String,
    /// Why it matters.
    pub why: &'static str,
    /// How to fix it.
    pub fix: String,
}

/// How certain a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The adapter breaks the protocol.
    Wrong,
    /// It may be the adapter's mistake or the client's nature: somebody should look.
    Look,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Wrong => "wrong",
            Level::Look => "look",
        };
        write!(f, "{level}: {}\n  why: {}\n  fix: {}", self.what, self.why, self.fix)
    }
}

/// A fault of the adapter, as its author should read it.
pub(super) fn from_fault(fault: &AdapterFault) -> Finding {
    let fix = match fault {
        AdapterFault::OwnFailure { operation, .. } => {
            format!("answer `{operation}`, or do not claim the capability it belongs to")
        }
        AdapterFault::WrongAnswer { operation, .. } => {
            format!("give `{operation}` the shape that the guide's table shows")
        }
        AdapterFault::Hung { .. } => "answer every request, at the latest when the client's own \
                                      timeout has passed"
            .into(),
        AdapterFault::Exited { .. } => "catch what the client raises, and answer with it".into(),
        _ => "see the protocol's reference in the guide".into(),
    };
    Finding {
        level: Level::Wrong,
        what: fault.to_string(),
        why: "no verdict about a client can be carried by an adapter that fails itself",
        fix,
    }
}
