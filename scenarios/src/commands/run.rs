//! `relay-testbed run`.

use super::{Exit, refuse, refuse_selection};
use crate::baseline::Baseline;
use crate::cli::{ClockArg, PlayArgs, RunArgs, SelectArgs};
use crate::plan::PlannedCase;
use crate::run::{Clock, Conditions, Progress, RunOptions, Runner, Which, token};
use crate::select::select;
use anstream::{eprintln, print};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use relay_reports::console::{Options, Printer};
use relay_reports::verdict::{Case, Run, Verdict};
use relay_reports::{Format, Redactor, record_file, render};
use relay_simulator::clock::{Canary, canary};
use relay_simulator::wire::Wire;
use std::path::Path;
use std::time::Duration;

pub(super) fn run(args: &RunArgs) -> Exit {
    let baseline = match args.baseline.as_deref().map(Baseline::read).transpose() {
        Ok(baseline) => baseline,
        Err(error) => return refuse(Exit::Usage, error),
    };
    let keep = args.record.is_some() || args.timeline || !args.report.is_empty();
    let played = play(&args.select, &args.play, args.fail_fast, keep, baseline.as_ref());
    let Played { run, redactor, wall } = match played {
        Ok(played) => played,
        Err(exit) => return exit,
    };
    let options = Options {
        colour: has_stdout_colour(),
        verbose: args.verbose,
        timeline: args.timeline,
        width: width(),
    };
    let printer = Printer::new(options, &redactor);
    for case in &run.cases {
        print!("{}", printer.case(case));
    }
    if let Err(why) = write_out(args, &run, &redactor) {
        return refuse(Exit::Usage, why);
    }
    print!("{}", printer.summary(&run, wall));
    exit(&run)
}

/// What playing came to.
pub(super) struct Played {
    pub(super) run: Run,
    pub(super) redactor: Redactor,
    pub(super) wall: Duration,
}

/// Selects, plays and judges, with progress on stderr.
pub(super) fn play(
    select_args: &SelectArgs,
    args: &PlayArgs,
    fail_fast: bool,
    keep_records: bool,
    baseline: Option<&Baseline>,
) -> Result<Played, Exit> {
    let cases = select(&select_args.selection()).map_err(|error| refuse_selection(&error))?;
    if cases.is_empty() {
        return Err(refuse(Exit::Nothing, "no case matches the selection, so nothing ran"));
    }
    let which = match args.client.as_str() {
        "builtin" => Which::Builtin,
        command => Which::Command(command.to_owned()),
    };
    let conditions = conditions(args, &which)?;
    let jobs = args
        .jobs
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    let redactor =
        Redactor::new([token(conditions.seed)]).map_err(|error| refuse(Exit::Broken, error))?;
    let options =
        RunOptions { conditions: conditions.clone(), which, jobs, fail_fast, keep_records };
    let began = wall();
    let runner = Runner::new(options).map_err(|fault| refuse(Exit::Broken, fault))?;
    if let Some(baseline) = baseline {
        baseline.is_for(&runner.client()).map_err(|error| refuse(Exit::Usage, error))?;
    }
    let mut played = with_progress(&runner, &cases);
    let wall = began.elapsed();
    let stale_baseline = baseline.map_or_else(Vec::new, |baseline| {
        let stale = baseline.apply(&mut played, &today());
        // A part of a suite cannot say that an entry about another part is stale.
        let is_whole = select_args.filter.is_empty()
            && select_args.tag.is_empty()
            && select_args.transport.is_none()
            && select_args.shard.is_none()
            && !fail_fast;
        if is_whole { stale } else { Vec::new() }
    });
    let run = Run {
        format: relay_reports::json::FORMAT,
        testbed: env!("CARGO_PKG_VERSION").to_owned(),
        client: runner.client(),
        seed: conditions.seed,
        clock: conditions.clock.word().to_owned(),
        wire: conditions.wire.name().to_owned(),
        stale_baseline,
        cases: played,
    };
    Ok(Played { run, redactor, wall })
}

/// The wire and the clock: what was asked for, or what suits the client.
fn conditions(args: &PlayArgs, which: &Which) -> Result<Conditions, Exit> {
    let is_foreign = matches!(which, Which::Command(_));
    let clock = match args.clock {
        Some(ClockArg::Virtual) if is_foreign => {
            let why = "another process cannot be put on the virtual clock (hint: leave out \
                       `--clock virtual`)";
            return Err(refuse(Exit::Usage, why));
        }
        Some(ClockArg::Virtual) => Clock::Virtual,
        None if !is_foreign => Clock::Virtual,
        Some(ClockArg::Real) | None => {
            if !(args.time_scale > 0.0 && args.time_scale <= 100.0) {
                let why = format!("`--time-scale {}` is not between 0 and 100", args.time_scale);
                return Err(refuse(Exit::Usage, why));
            }
            Clock::Real { scale: args.time_scale }
        }
    };
    let mut wire = match args.wire {
        Some(Wire::Unix) if is_foreign => {
            let why = "an adapter cannot be handed a Unix socket (hint: `--wire tcp`)";
            return Err(refuse(Exit::Usage, why));
        }
        Some(wire) => wire,
        None if is_foreign => Wire::Tcp,
        None => Wire::Unix,
    };
    if clock == Clock::Virtual && wire != Wire::Unix {
        match canary(wire) {
            Ok(Canary::Sings) => {}
            Ok(Canary::Silent { moved }) => {
                eprintln!(
                    "warning: this machine delivers loopback bytes late (the clock moved {moved:?} \
                     while they were in flight), so the cases run on Unix sockets instead of `{wire}`"
                );
                wire = Wire::Unix;
            }
            Err(error) => return Err(refuse(Exit::Broken, error)),
        }
    }
    Ok(Conditions { seed: args.seed, wire, clock })
}

fn with_progress(runner: &Runner, cases: &[PlannedCase]) -> Vec<Case> {
    let bar = ProgressBar::with_draw_target(
        Some(cases.len() as u64),
        // Ten times a second: a suite that is over in less shows no flicker.
        ProgressDrawTarget::stderr_with_hz(10),
    );
    if let Ok(style) = ProgressStyle::with_template("{bar:32} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    let mut failed = 0;
    let played = runner.run(cases, &mut |Progress::Finished { case, done, .. }| {
        if matches!(case.verdict, Verdict::Failed { .. } | Verdict::TestbedFault { .. }) {
            failed += 1;
            bar.set_message(format!("{failed} not fine"));
        }
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    played
}

fn write_out(args: &RunArgs, run: &Run, redactor: &Redactor) -> Result<(), String> {
    if let Some(folder) = &args.record {
        write_records(folder, run, redactor)?;
    }
    for (format, file) in &args.report {
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|error| format!("cannot make `{}`: {error}", parent.display()))?;
        }
        let text = render(*format, &for_report(*format, run), redactor);
        std::fs::write(file, text)
            .map_err(|error| format!("cannot write `{}`: {error}", file.display()))?;
    }
    Ok(())
}

/// A report that does not show records is not given those of passing cases.
fn for_report(format: Format, run: &Run) -> Run {
    let mut run = run.clone();
    if matches!(format, Format::Junit | Format::Json) {
        for case in &mut run.cases {
            if case.verdict == Verdict::Passed {
                case.record = None;
            }
        }
    }
    run
}

fn write_records(folder: &Path, run: &Run, redactor: &Redactor) -> Result<(), String> {
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make `{}`: {error}", folder.display()))?;
    for case in &run.cases {
        if let Some(record) = &case.record {
            let file = folder.join(format!("{}.jsonl", file_name(&case.id)));
            std::fs::write(&file, record_file::write(record, redactor))
                .map_err(|error| format!("cannot write `{}`: {error}", file.display()))?;
        }
    }
    Ok(())
}

/// A case's id as a file name: what every file system takes, and still unique.
fn file_name(id: &str) -> String {
    let mut name: String = id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._=-".contains(c) { c } else { '_' })
        .collect();
    // Two ids that differ only in what was replaced, or past the cut, stay two files.
    let tail = crate::run::name_hash(id);
    name.truncate(150);
    format!("{name}-{tail:08x}")
}

fn exit(run: &Run) -> Exit {
    let any = |wanted: fn(&Verdict) -> bool| run.cases.iter().any(|case| wanted(&case.verdict));
    if any(|verdict| matches!(verdict, Verdict::TestbedFault { .. })) {
        return Exit::Broken;
    }
    let failed = |verdict: &Verdict| {
        matches!(verdict, Verdict::Failed { .. } | Verdict::UnexpectedPass { .. })
    };
    if any(failed) || !run.stale_baseline.is_empty() {
        return Exit::Failed;
    }
    let proved =
        |verdict: &Verdict| matches!(verdict, Verdict::Passed | Verdict::KnownFailure { .. });
    if !any(proved) {
        return refuse(Exit::Nothing, "every case was skipped, so nothing was proved");
    }
    Exit::Passed
}

fn has_stdout_colour() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
}

/// How wide the terminal is; a log file gets a width that reads well.
fn width() -> usize {
    terminal_size::terminal_size()
        .map_or(100, |(terminal_size::Width(columns), _)| usize::from(columns).clamp(60, 160))
}

/// The day, for baselines that expire.
fn today() -> String {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}

/// The wall's clock, for the line that says how long the user waited.
#[expect(clippy::disallowed_methods, reason = "this measures the run, not a case")]
fn wall() -> std::time::Instant {
    std::time::Instant::now()
}
