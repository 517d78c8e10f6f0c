//! `relay-testbed adapter`.

use super::{Exit, refuse};
use crate::cli::AdapterCommand;
use crate::subject::check;
use anstream::println;

pub(super) fn adapter(command: &AdapterCommand) -> Exit {
    let AdapterCommand::Check { command } = command;
    let report = match check::check(command) {
        Ok(report) => report,
        Err(fault) => return refuse(Exit::Broken, fault),
    };
    println!("{report}");
    if report.is_clean() { Exit::Passed } else { Exit::Broken }
}
