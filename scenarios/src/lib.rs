//! The testbed itself: the scenario language, the plan, the run, the judging, and the
//! `relay-testbed` program.
//!
//! ```text
//! scenario.yaml -> language -> plan -> run (client | relay | surface | person, one clock)
//!               -> record -> judge -> verdict -> reports
//! ```

pub mod baseline;
pub mod cli;
pub mod commands;
pub mod judge;
pub mod language;
pub mod plan;
pub mod requirements;
pub mod run;
pub mod select;
pub mod subject;
pub mod suites;
