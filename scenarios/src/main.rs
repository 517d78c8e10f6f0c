//! `relay-testbed`: conformance tests and a simulator for Human+ relays.

use clap::Parser;
use relay_scenarios::cli::Cli;
use relay_scenarios::commands::perform;
use std::process::ExitCode;

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(perform(Cli::parse()) as u8)
}
