//! `relay-testbed validate`.

use super::{Exit, refuse, refuse_selection, show};
use crate::select::{SelectError, plan_all, sources};
use anstream::println;

pub(super) fn validate(targets: &[String]) -> Exit {
    let sources = match sources(targets) {
        Ok(sources) => sources,
        Err(error) => return refuse_selection(&error),
    };
    match plan_all(&sources) {
        Ok(cases) => {
            let scenarios: std::collections::BTreeSet<_> =
                cases.iter().map(|case| (&case.file, case.line)).collect();
            println!(
                "{} files, {} scenarios, {} cases: nothing is wrong",
                sources.len(),
                scenarios.len(),
                cases.len()
            );
            Exit::Passed
        }
        Err(diagnostics) => {
            show(&diagnostics);
            refuse(Exit::Usage, SelectError::Wrong(diagnostics))
        }
    }
}
