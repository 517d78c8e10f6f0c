//! `relay-testbed baseline`.

use super::run::{Played, play};
use super::{Exit, refuse};
use crate::baseline::{Baseline, updated};
use crate::cli::BaselineCommand;
use anstream::println;

pub(super) fn baseline(command: &BaselineCommand) -> Exit {
    let BaselineCommand::Update { file, select, play: how } = command;
    let before = if file.exists() {
        match Baseline::read(file) {
            Ok(before) => before,
            Err(error) => return refuse(Exit::Usage, error),
        }
    } else {
        Baseline::default()
    };
    let Played { run, .. } = match play(select, how, false, true, None) {
        Ok(played) => played,
        Err(exit) => return exit,
    };
    let after = updated(&before, &run.client, &run.cases);
    let new = after.known.iter().filter(|known| known.reason == UNKNOWN_REASON).count();
    let text = match serde_yaml::to_string(&after) {
        Ok(text) => text,
        Err(error) => return refuse(Exit::Broken, error),
    };
    if let Err(error) = std::fs::write(file, text) {
        return refuse(Exit::Usage, format!("cannot write `{}`: {error}", file.display()));
    }
    println!(
        "{}: {} known failures, {new} of them without a reason",
        file.display(),
        after.known.len()
    );
    Exit::Passed
}

/// What stands where nobody has written a reason yet.
const UNKNOWN_REASON: &str = crate::baseline::NOT_LOOKED_AT;
