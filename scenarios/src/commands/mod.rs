//! What each command does. Every one returns its exit code; none ends the process itself, so
//! that reports are written first.

mod adapter;
mod baseline;
mod list;
mod run;
mod validate;

use crate::cli::{Cli, Command};
use crate::language::{Diagnostics, reference, schema};
use crate::select::SelectError;
use anstream::{eprintln, print, println};
use std::fmt::Display;

/// How a command ended, for whoever started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything passed, or failed as the baseline says.
    Passed = 0,
    /// Something failed.
    Failed = 1,
    /// The command or a scenario is wrong.
    Usage = 2,
    /// Nothing ran, or nothing was proved.
    Nothing = 3,
    /// The adapter or the testbed broke.
    Broken = 4,
}

/// Does what the command line asks for.
pub fn perform(cli: Cli) -> Exit {
    match cli.command {
        None => run::run(&cli.run),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::List(args)) => list::list(&args),
        Some(Command::Validate { targets }) => validate::validate(&targets),
        Some(Command::Schema { markdown: false }) => {
            println!("{:#}", schema());
            Exit::Passed
        }
        Some(Command::Schema { markdown: true }) => {
            print!("{}", reference::page());
            Exit::Passed
        }
        Some(Command::Baseline(command)) => baseline::baseline(&command),
        Some(Command::Adapter(command)) => adapter::adapter(&command),
    }
}

/// Says on stderr why a command cannot be done.
fn refuse(exit: Exit, why: impl Display) -> Exit {
    let red = anstyle::AnsiColor::Red.on_default().bold();
    eprintln!("{red}error{red:#}: {why}");
    exit
}

/// Says on stderr what is wrong with the selection, every mistake at its place.
fn refuse_selection(error: &SelectError) -> Exit {
    if let SelectError::Wrong(diagnostics) = error {
        show(diagnostics);
    }
    refuse(Exit::Usage, error)
}

fn show(diagnostics: &Diagnostics) {
    let colour = has_colour();
    for diagnostic in diagnostics.iter() {
        eprintln!("{}\n", diagnostic.render(colour));
    }
}

/// Whether stderr, where mistakes and progress go, shows colours.
fn has_colour() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}
