//! The command line: what can be asked for, and how.

use crate::select::{Selection, Shard};
use crate::subject::protocol::Transport;
use clap::{Args, Parser, Subcommand, ValueEnum};
use relay_reports::Format;
use relay_simulator::wire::Wire;
use std::path::PathBuf;

/// Conformance tests and a simulator for Human+ relays, clients and surfaces.
#[derive(Debug, Parser)]
#[command(
    name = "relay-testbed",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true
)]
pub struct Cli {
    /// What to do; without it, `run`.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The arguments of `run`, so that the bare command runs the embedded suite.
    #[command(flatten)]
    pub run: RunArgs,
}

/// What can be asked for.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run scenarios and judge a client by them.
    #[command(after_help = EXIT_CODES)]
    Run(RunArgs),
    /// List the cases that would run.
    List(ListArgs),
    /// Check scenario files and show every mistake in them.
    Validate {
        /// Files or folders; the embedded suite when there is none.
        targets: Vec<String>,
    },
    /// Print the JSON Schema of the scenario language, for editors.
    Schema {
        /// Print the reference page for people instead, as Markdown.
        #[arg(long)]
        markdown: bool,
    },
    /// Keep a list of known failures.
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Help with an adapter to a client of your own.
    #[command(subcommand)]
    Adapter(AdapterCommand),
}

const EXIT_CODES: &str = "Exit codes:
  0  everything passed, or failed as the baseline says
  1  something failed
  2  the command or a scenario is wrong
  3  nothing ran, or nothing was proved
  4  the adapter or the testbed broke";

/// Which cases.
#[derive(Debug, Clone, Args)]
pub struct SelectArgs {
    /// Scenario files, folders, or names of embedded suites such as `revision`; every embedded
    /// scenario when there is none.
    pub targets: Vec<String>,
    /// Only cases whose id holds this text; all of them, when given several times.
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Only scenarios with this tag; any of them, when given several times.
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,
    /// Only cases over this transport.
    #[arg(long, value_name = "TRANSPORT")]
    pub transport: Option<TransportArg>,
    /// Only part K of N, counted from 1, for runs that are spread over machines.
    #[arg(long, value_name = "K/N")]
    pub shard: Option<Shard>,
}

impl SelectArgs {
    /// The same as a selection.
    pub fn selection(&self) -> Selection {
        Selection {
            targets: self.targets.clone(),
            filters: self.filter.clone(),
            tags: self.tag.clone(),
            transport: self.transport.map(Into::into),
            shard: self.shard,
        }
    }
}

/// A transport, as the command line spells it.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum TransportArg {
    /// POST, then a stream of events.
    Sse,
    /// POST, then short polls.
    LongPoll,
}

impl From<TransportArg> for Transport {
    fn from(arg: TransportArg) -> Self {
        match arg {
            TransportArg::Sse => Self::Sse,
            TransportArg::LongPoll => Self::LongPoll,
        }
    }
}

/// How the cases are played.
#[derive(Debug, Clone, Args)]
pub struct PlayArgs {
    /// The client under test: `builtin`, or a command that speaks the adapter protocol.
    #[arg(long, value_name = "CLIENT", default_value = "builtin")]
    pub client: String,
    /// Where every random choice comes from. One seed, one record.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// What carries the bytes: `unix`, `tcp` or `tls`. Adapters need `tcp` or `tls`.
    #[arg(long, value_name = "WIRE")]
    pub wire: Option<Wire>,
    /// Which clock. Adapters need the real one.
    #[arg(long, value_name = "CLOCK")]
    pub clock: Option<ClockArg>,
    /// On the real clock: how long a second of the scenario lasts, in seconds.
    #[arg(long, value_name = "FACTOR", default_value_t = 0.02)]
    pub time_scale: f64,
    /// How many cases are played at once.
    #[arg(long, short, value_name = "N")]
    pub jobs: Option<usize>,
}

/// A clock, as the command line spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClockArg {
    /// Stands still while there is work, and jumps when there is none.
    Virtual,
    /// The machine's.
    Real,
}

/// The arguments of `run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Which cases.
    #[command(flatten)]
    pub select: SelectArgs,
    /// How they are played.
    #[command(flatten)]
    pub play: PlayArgs,
    /// Stop after the first failure.
    #[arg(long)]
    pub fail_fast: bool,
    /// Failures that are known, each with a reason.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write the record of every case into this folder, as JSON Lines.
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Write a report: `junit=FILE`, `json=FILE`, … ; several times for several.
    #[arg(long, value_name = "KIND=FILE", value_parser = parse_report)]
    pub report: Vec<(Format, PathBuf)>,
    /// Show every case, not only those that are not fine.
    #[arg(long, short)]
    pub verbose: bool,
    /// Draw each shown case as a sequence of what happened.
    #[arg(long)]
    pub timeline: bool,
}

fn parse_report(text: &str) -> Result<(Format, PathBuf), String> {
    let Some((kind, file)) = text.split_once('=') else {
        return Err("write it as `KIND=FILE`, such as `junit=report.xml`".to_owned());
    };
    if file.is_empty() {
        return Err(format!("`{kind}=` needs a file to write to"));
    }
    Ok((
        kind.parse().map_err(|error: relay_reports::UnknownFormat| error.to_string())?,
        file.into(),
    ))
}

/// The arguments of `list`.
#[derive(Debug, Clone, Args)]
pub struct ListArgs {
    /// Which cases.
    #[command(flatten)]
    pub select: SelectArgs,
    /// As JSON: id, file, line, name, parameters, proves, tags, needs.
    #[arg(long)]
    pub json: bool,
}

/// What can be done with a baseline.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Run, and write what failed to the file. Reasons that stand there are kept.
    Update {
        /// The file.
        file: PathBuf,
        /// Which cases.
        #[command(flatten)]
        select: SelectArgs,
        /// How they are played.
        #[command(flatten)]
        play: PlayArgs,
    },
}

/// What can be done with an adapter.
#[derive(Debug, Subcommand)]
pub enum AdapterCommand {
    /// Drive an adapter alone, without a relay, and say what is wrong with it.
    Check {
        /// The command that starts it.
        command: String,
    },
}
