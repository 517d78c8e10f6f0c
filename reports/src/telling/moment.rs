//! One thing that happened, as a reader is told it.

/// An entry of a record in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The entry's place in the record.
    pub(crate) seq: u64,
    /// Microseconds on the case's clock.
    pub(crate) at: u64,
    /// What sort of thing it is.
    pub(crate) kind: Kind,
    /// Where it started.
    pub(crate) from: Party,
    /// Where it went; the same party for what went nowhere.
    pub(crate) to: Party,
    /// What it was: `tools/call screen_move id=screen_7 x=10`.
    pub(crate) title: String,
    /// What else a reader looks for: `#3`, `pin r1`, `revision r2`.
    pub(crate) details: Vec<String>,
    /// How near to the story it is.
    pub(crate) weight: Weight,
}

/// How near to the story a moment is. A report shows the moments up to some weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// A reader who asks why has to see it.
    Story,
    /// The HTTP around it, when nothing is wrong with it.
    Wire,
    /// What only a judge reads: deliveries, ends of steps, quiet log lines.
    Bookkeeping,
}

/// Who took part.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Party {
    /// The testbed itself: steps of the script, notes.
    Testbed,
    /// A person, by name.
    Person(String),
    /// What calls a client, by its name in the scenario.
    Agent(String),
    /// The client that speaks for an agent, by the agent's name where it is known, else by its id.
    Client(String),
    /// The relay.
    Relay,
    /// The surface.
    Surface,
}

impl Party {
    /// Its name in a report. An agent and the client that speaks for it share one.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Testbed => "testbed",
            Self::Person(name) | Self::Agent(name) | Self::Client(name) => name,
            Self::Relay => "relay",
            Self::Surface => "surface",
        }
    }

    /// Whether it stands on the left of a picture, before the wire.
    pub(crate) fn is_left(&self) -> bool {
        matches!(self, Self::Person(_) | Self::Agent(_) | Self::Client(_))
    }
}

/// What sort of thing a moment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Step,
    Http,
    Frame,
    /// A frame that is a JSON-RPC error.
    FrameError,
    Fault,
    /// A person's edit.
    Edit,
    /// An agent's write.
    Write,
    Delivery,
    Refusal,
    Session,
    Answer,
    /// An answer that is an error.
    AnswerError,
    State,
    Log,
    /// A log line that warns, or worse.
    Warning,
    Board,
    Note,
}

impl Kind {
    /// Its name for a machine: a class in HTML.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Http => "http",
            Self::Frame => "frame",
            Self::FrameError => "frame-error",
            Self::Fault => "fault",
            Self::Edit => "edit",
            Self::Write => "write",
            Self::Delivery => "delivery",
            Self::Refusal => "refusal",
            Self::Session => "session",
            Self::Answer => "answer",
            Self::AnswerError => "answer-error",
            Self::State => "state",
            Self::Log => "log",
            Self::Warning => "warning",
            Self::Board => "board",
            Self::Note => "note",
        }
    }
}
