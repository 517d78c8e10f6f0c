//! The runner: workers that play cases, one results list in the plan's order.

use super::case::play;
use super::conditions::{Clock, Conditions};
use super::seat::{Seating, Session};
use crate::judge::{Timing, judge};
use crate::language::scenario::Scenario;
use crate::language::step::{AgentAct, PlainAct, Step};
use crate::plan::PlannedCase;
use crate::subject::adapter::{Adapter, AdapterFault, Limits};
use crate::subject::builtin::{self, Builtin};
use crate::subject::protocol::{Capability, Hello};
use crate::subject::{Subject, SubjectFault};
use relay_reports::record::{ClientName, Record};
use relay_reports::verdict::{Case, Verdict};
use relay_simulator::clock;
use relay_simulator::duration::Span;
use relay_simulator::wire::{Endpoint, Wire};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Which client is under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// Ours, in this process.
    Builtin,
    /// Somebody else's, behind this command.
    Command(String),
}

/// How a run goes.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// What all cases have in common.
    pub conditions: Conditions,
    /// Which client.
    pub which: Which,
    /// How many cases are played at once.
    pub jobs: usize,
    /// Whether the first failure ends the run.
    pub fail_fast: bool,
    /// Whether the records of passing cases are kept too.
    pub keep_records: bool,
}

/// What a run tells while it goes.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A case is over.
    Finished {
        /// The case.
        case: &'a Case,
        /// How many are over.
        done: usize,
        /// How many there are.
        of: usize,
    },
}

/// Plays cases.
pub struct Runner {
    options: RunOptions,
    hello: Hello,
}

/// Real time that a loaded machine may add to a step before a length of time says nothing.
const ALLOWANCE: Duration = Duration::from_millis(400);

impl Runner {
    /// A runner for these options. An adapter is started once, to hear who it is.
    ///
    /// # Errors
    /// When the adapter cannot be started, or does not introduce itself.
    pub fn new(options: RunOptions) -> Result<Self, SubjectFault> {
        let hello = match &options.which {
            Which::Builtin => builtin::hello(),
            Which::Command(command) => real_runtime()?.block_on(async {
                let adapter = Adapter::start(command, Limits::default()).await?;
                let hello = adapter.hello().clone();
                adapter.stop().await?;
                Ok::<_, AdapterFault>(hello)
            })?,
        };
        Ok(Self { options, hello })
    }

    /// The client under test, `name version`.
    pub fn client(&self) -> String {
        format!("{} {}", self.hello.name, self.hello.version)
    }

    /// Plays the cases, and judges each. The results stand in the order of `cases`; with
    /// `fail_fast` those after the first failure may be missing.
    pub fn run(&self, cases: &[PlannedCase], progress: &mut dyn FnMut(Progress<'_>)) -> Vec<Case> {
        let mut all: Vec<Option<Case>> = cases.iter().map(|_| None).collect();
        let mut done = 0;
        let mut goes_on = |index: usize, case: Case| {
            done += 1;
            progress(Progress::Finished { case: &case, done, of: cases.len() });
            let failed =
                matches!(case.verdict, Verdict::Failed { .. } | Verdict::TestbedFault { .. });
            all[index] = Some(case);
            !(failed && self.options.fail_fast)
        };
        match self.options.jobs.min(cases.len()) {
            0 | 1 => self.play_in_turn(cases, &mut goes_on),
            workers => self.play_side_by_side(cases, workers, &mut goes_on),
        }
        all.into_iter().flatten().collect()
    }

    /// One worker, on the caller's own thread.
    fn play_in_turn(&self, cases: &[PlannedCase], goes_on: &mut dyn FnMut(usize, Case) -> bool) {
        let mut worker = Worker::new(self);
        for (index, case) in cases.iter().enumerate() {
            if !goes_on(index, worker.play(case)) {
                break;
            }
        }
        worker.end();
    }

    /// Several workers, each on a thread of its own, that take the next case when they are free.
    fn play_side_by_side(
        &self,
        cases: &[PlannedCase],
        workers: usize,
        goes_on: &mut dyn FnMut(usize, Case) -> bool,
    ) {
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let (results, finished) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let results = results.clone();
                let (next, stop) = (&next, &stop);
                scope.spawn(move || {
                    let mut worker = Worker::new(self);
                    while !stop.load(Ordering::Relaxed) {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(case) = cases.get(index) else { break };
                        // The receiver lives until every sender is gone.
                        if results.send((index, worker.play(case))).is_err() {
                            break;
                        }
                    }
                    worker.end();
                });
            }
            drop(results);
            for (index, case) in finished {
                if !goes_on(index, case) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
    }

    fn client_name(&self) -> ClientName {
        ClientName { name: self.hello.name.clone(), version: self.hello.version.clone() }
    }
}

fn real_runtime() -> Result<tokio::runtime::Runtime, SubjectFault> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// One thread's worth of running. With an adapter it keeps one process across its cases.
struct Worker<'a> {
    runner: &'a Runner,
    /// The real clock's runtime; the virtual one is made anew for each case.
    real: Option<tokio::runtime::Runtime>,
    adapter: Option<Rc<Adapter>>,
}

impl<'a> Worker<'a> {
    fn new(runner: &'a Runner) -> Self {
        Self { runner, real: None, adapter: None }
    }

    fn play(&mut self, case: &PlannedCase) -> Case {
        let began = wall();
        let conditions = &self.runner.options.conditions;
        let lacks = lacks(&self.runner.hello, &case.scenario, conditions);
        let mut report = blank(case);
        if !lacks.is_empty() {
            report.verdict = Verdict::NotRun { reason: lacks.join("; ") };
            return report;
        }
        let record = match &self.runner.options.which {
            Which::Builtin => self.play_builtin(case),
            Which::Command(command) => self.play_adapter(case, command),
        };
        match record {
            Ok(record) => self.judge(case, record, &mut report),
            Err(fault) => report.verdict = Verdict::TestbedFault { reason: fault.to_string() },
        }
        report.wall_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        report
    }

    fn judge(&self, case: &PlannedCase, mut record: Record, report: &mut Case) {
        let timing = match self.runner.options.conditions.clock {
            Clock::Virtual => Timing::Exact,
            Clock::Real { scale } => Timing::Real {
                scale,
                allowance_us: u64::try_from(ALLOWANCE.as_micros()).unwrap_or(u64::MAX),
            },
        };
        let judgement = judge(case, &record, timing);
        report.simulated_us = record.entries.last().map_or(0, |entry| entry.at);
        report.verdict = judgement.verdict;
        report.expectations = judgement.expectations;
        report.anomalies = judgement.anomalies;
        report.remarks = judgement.remarks;
        let is_told = report.verdict != Verdict::Passed || !report.anomalies.is_empty();
        if is_told || self.runner.options.keep_records {
            // The plan goes into the record only where the record is kept: it is larger than
            // most records.
            record.header.plan = serde_json::to_value(case).unwrap_or_default();
            report.record = Some(record);
        }
    }

    fn play_builtin(&mut self, case: &PlannedCase) -> Result<Record, SubjectFault> {
        let conditions = &self.runner.options.conditions;
        let client = self.runner.client_name();
        let played = play(case, conditions, client, async |world, recorder, seed| {
            Ok(Subject::Builtin(Builtin::new(world.endpoint(), recorder, seed)))
        });
        Ok(match conditions.clock {
            Clock::Virtual => clock::run_virtual(played)?,
            Clock::Real { .. } => clock::run_real(played)?,
        })
    }

    fn play_adapter(&mut self, case: &PlannedCase, command: &str) -> Result<Record, SubjectFault> {
        let runtime = match self.real.take() {
            Some(runtime) => runtime,
            None => real_runtime()?,
        };
        let record = runtime.block_on(self.play_with(case, command));
        self.real = Some(runtime);
        record
    }

    async fn play_with(
        &mut self,
        case: &PlannedCase,
        command: &str,
    ) -> Result<Record, SubjectFault> {
        let adapter = match self.adapter.take() {
            Some(adapter) if adapter.is_alive() => adapter,
            _ => Rc::new(Adapter::start(command, Limits::default()).await?),
        };
        let conditions = &self.runner.options.conditions;
        let client = self.runner.client_name();
        let deadline = deadline(case, conditions.clock);
        let record = play(case, conditions, client, async |_, _, _| {
            Subject::adapter(Rc::clone(&adapter), deadline).await
        })
        .await;
        self.adapter = Some(adapter);
        Ok(record)
    }

    fn end(mut self) {
        if let (Some(runtime), Some(adapter)) = (&self.real, self.adapter.take())
            && let Some(adapter) = Rc::into_inner(adapter)
        {
            // How an adapter leaves is `adapter check`'s business; the cases are over.
            let _left: Result<(), AdapterFault> = runtime.block_on(adapter.stop());
        }
    }
}

/// How long an adapter may think about one operation. The slowest honest operation is a
/// handshake, a discovery and a call, each running into its own deadline; ten times that, and a
/// fixed part for a machine that is busy with something else.
fn deadline(case: &PlannedCase, clock: Clock) -> Duration {
    let timeout = case.scenario.client.timeout.map_or(Duration::from_secs(30), Span::get);
    Duration::from_secs(10) + clock.scaled(timeout) * 10
}

/// What the client lacks of what a scenario needs.
fn lacks(hello: &Hello, scenario: &Scenario, conditions: &Conditions) -> Vec<String> {
    if hello.cannot_honour.is_empty() && Capability::ALL.iter().all(|one| hello.can(*one)) {
        return Vec::new();
    }
    let endpoint = Endpoint {
        wire: conditions.wire,
        base_url: "http://127.0.0.1".to_owned(),
        unix_socket: None,
        tls_root_der: (conditions.wire == Wire::Tls).then(Vec::new),
    };
    let session = Session { id: String::new(), token: String::new() };
    let seating = Seating {
        scenario,
        endpoint: &endpoint,
        session: &session,
        clock: Clock::Virtual,
        timeout_step_ms: 1,
    };
    let mut needed = scenario.needs.clone();
    needed.extend(implied(&scenario.script));
    if scenario.agents.len() > 1 {
        needed.push(Capability::SeveralAgents);
    }
    let mut lacks: Vec<String> = needed
        .into_iter()
        .filter(|capability| !hello.can(*capability))
        .map(|capability| format!("`{}` lacks the capability `{capability}`", hello.name))
        .collect();
    for agent in scenario.agent_names() {
        let mut config = seating.config(agent);
        // Where the relay stands is the testbed's choice, not the scenario's.
        config.egress.allow_unverified = false;
        config.egress.allowed_hosts.clear();
        config.egress.allowed_ports = vec![443];
        lacks.extend(hello.obstacles(&config));
    }
    let mut seen = std::collections::BTreeSet::new();
    lacks.retain(|reason| seen.insert(reason.clone()));
    lacks
}

/// Capabilities that the steps of a script need by what they do and what they ask about.
fn implied(steps: &[Step]) -> Vec<Capability> {
    let mut needed = Vec::new();
    for step in steps {
        let does = match &step.agent {
            Some(AgentAct::Plain(plain)) => Some(*plain),
            Some(AgentAct::With(with)) => {
                if with.announce.is_some() {
                    needed.push(Capability::Announce);
                }
                if with.owner.is_some() {
                    needed.push(Capability::Owner);
                }
                with.does
            }
            None => None,
        };
        match does {
            Some(PlainAct::ChangesSince) => needed.push(Capability::ChangeFeed),
            Some(PlainAct::ConflictDetection) => needed.push(Capability::ConflictDetection),
            _ => {}
        }
        if let Some(expect) = &step.expect {
            if expect.happened.is_some() {
                needed.push(Capability::Happened);
            }
            if expect.tools.as_ref().is_some_and(|tools| !tools.set_aside.is_empty()) {
                needed.push(Capability::SetAside);
            }
        }
        if let Some(together) = &step.together {
            if together.iter().filter(|step| step.agent.is_some()).count() > 1 {
                needed.push(Capability::ConcurrentAgents);
            }
            needed.extend(implied(together));
        }
    }
    needed
}

fn blank(case: &PlannedCase) -> Case {
    Case {
        id: case.id.clone(),
        name: case.scenario.name.clone(),
        file: case.file.clone(),
        line: case.line,
        parameters: case.parameters.clone(),
        proves: case.scenario.proves.clone(),
        tags: case.scenario.tags.clone(),
        verdict: Verdict::Passed,
        expectations: Vec::new(),
        anomalies: Vec::new(),
        remarks: Vec::new(),
        simulated_us: 0,
        wall_us: 0,
        record: None,
    }
}

/// The wall's clock: what a case cost the user. It goes into reports, never into a record.
#[expect(clippy::disallowed_methods, reason = "this measures the run, not the case")]
fn wall() -> std::time::Instant {
    std::time::Instant::now()
}
