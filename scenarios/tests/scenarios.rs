//! Every case of the embedded suite, as a test of its own.

#![allow(clippy::print_stderr, reason = "a harness of its own says itself why it cannot start")]

use libtest_mimic::{Arguments, Failed, Trial};
use relay_reports::Redactor;
use relay_reports::console::{Options, Printer};
use relay_reports::verdict::{Case, Verdict};
use relay_scenarios::plan::PlannedCase;
use relay_scenarios::run::{Clock, Conditions, RunOptions, Runner, Which, token};
use relay_scenarios::select::{Selection, select};
use relay_simulator::wire::Wire;
use std::process::ExitCode;
use std::sync::Arc;

const SEED: u64 = 1;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let cases = match select(&Selection::default()) {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("{error}: `relay-testbed validate` shows them");
            return ExitCode::FAILURE;
        }
    };
    let options = RunOptions {
        conditions: Conditions { seed: SEED, wire: Wire::Unix, clock: Clock::Virtual },
        which: Which::Builtin,
        jobs: 1,
        fail_fast: false,
        keep_records: false,
    };
    let runner = match Runner::new(options) {
        Ok(runner) => Arc::new(runner),
        Err(fault) => {
            eprintln!("{fault}");
            return ExitCode::FAILURE;
        }
    };
    let trials = cases.into_iter().map(|case| trial(&runner, case)).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(runner: &Arc<Runner>, case: PlannedCase) -> Trial {
    let runner = Arc::clone(runner);
    Trial::test(case.id.clone(), move || {
        let cases = [case];
        for judged in runner.run(&cases, &mut |_| ()) {
            if judged.verdict != Verdict::Passed {
                return Err(Failed::from(told(&judged)));
            }
        }
        Ok(())
    })
}

fn told(judged: &Case) -> String {
    match Redactor::new([token(SEED)]) {
        Ok(redactor) => Printer::new(Options::default(), &redactor).case(judged),
        Err(error) => error.to_string(),
    }
}
