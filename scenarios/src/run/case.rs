//! Plays one case: seats the agents, runs the script, writes the record.

use super::conditions::{Clock, Conditions, case_seed};
use super::recorder::Recorder;
use super::seat::{Seating, Session};
use crate::judge::FAULT;
use crate::language::step::{ActWith, AgentAct, PlainAct, RelayAct, Step};
use crate::plan::PlannedCase;
use crate::subject::protocol::{Announce, Answer, Call, Named, Operation, OperationError};
use crate::subject::{Subject, SubjectFault};
use futures_util::future::{LocalBoxFuture, join_all};
use rand::RngExt;
use rand::SeedableRng;
use relay_reports::record::{AnswerError, ClientName, Event, FORMAT, Header, Record};
use relay_simulator::journal::Journal;
use relay_simulator::world::{World, WorldSpec};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The person who makes edits that name nobody.
const A_PERSON: &str = "person";

/// Plays a case to its end on the current runtime, and returns what happened. Whatever broke on
/// our side, or in an adapter, stands in the record as a note.
pub(crate) async fn play<F>(
    case: &PlannedCase,
    conditions: &Conditions,
    client: ClientName,
    subject: F,
) -> Record
where
    F: AsyncFnOnce(&World, &Arc<Recorder>, u64) -> Result<Subject, SubjectFault>,
{
    let seed = case_seed(conditions.seed, &case.id);
    let session = session(conditions.seed, seed);
    let recorder = Recorder::start(&session.token);
    let spec = world_spec(case, conditions.clock, &session);
    let journal = Journal::new(Arc::clone(&recorder) as _);
    match World::start(spec, conditions.wire, seed, journal).await {
        Ok(world) => {
            match subject(&world, &recorder, seed).await {
                Ok(subject) => {
                    let stage = Stage::new(case, conditions, &session, &recorder, &world, &subject);
                    if let Err(fault) = stage.perform().await {
                        recorder.write(Event::Note { says: format!("{FAULT}{fault}") });
                    }
                    subject.leave().await;
                }
                Err(fault) => {
                    recorder.write(Event::Note { says: format!("{FAULT}{fault}") });
                }
            }
            recorder.write(Event::Board { screens: world.board() });
            world.shutdown().await;
        }
        Err(error) => {
            recorder.write(Event::Note { says: format!("{FAULT}{error}") });
        }
    }
    let header = Header {
        format: FORMAT,
        testbed: env!("CARGO_PKG_VERSION").to_owned(),
        case: case.id.clone(),
        seed: conditions.seed,
        clock: conditions.clock.word().to_owned(),
        wire: conditions.wire.name().to_owned(),
        client,
        plan: Value::Null,
    };
    Record { header, entries: recorder.take() }
}

/// The token of every session of a run. One for all of them: no two sessions ever meet, and
/// whoever reports on the run has one secret to look for.
pub fn token(run_seed: u64) -> String {
    hex::<16>(&mut rand_chacha::ChaCha12Rng::seed_from_u64(run_seed))
}

fn session(run_seed: u64, case_seed: u64) -> Session {
    let mut random = rand_chacha::ChaCha12Rng::seed_from_u64(case_seed);
    Session { id: format!("session-{}", hex::<4>(&mut random)), token: token(run_seed) }
}

fn hex<const BYTES: usize>(random: &mut rand_chacha::ChaCha12Rng) -> String {
    (0..BYTES).map(|_| format!("{:02x}", random.random::<u8>())).collect()
}

fn world_spec(case: &PlannedCase, clock: Clock, session: &Session) -> WorldSpec {
    let scale = |time: std::time::Duration| clock.scaled(time);
    let mut spec = WorldSpec {
        surface: case.scenario.surface.clone(),
        relay: case.scenario.relay.clone(),
        people: case.scenario.people.clone(),
        session_id: session.id.clone(),
        token: session.token.clone(),
    };
    spec.scale(&scale);
    spec
}

/// What is known of an agent while the case is played.
#[derive(Debug, Clone, Default)]
struct Seat {
    attachment: Option<String>,
    client: Option<String>,
    state: Option<String>,
}

struct Stage<'a> {
    case: &'a PlannedCase,
    clock: Clock,
    recorder: &'a Arc<Recorder>,
    world: &'a World,
    subject: &'a Subject,
    seating: Seating<'a>,
    seats: RefCell<BTreeMap<String, Seat>>,
}

impl<'a> Stage<'a> {
    fn new(
        case: &'a PlannedCase,
        conditions: &Conditions,
        session: &'a Session,
        recorder: &'a Arc<Recorder>,
        world: &'a World,
        subject: &'a Subject,
    ) -> Self {
        let seating = Seating {
            scenario: &case.scenario,
            endpoint: world.endpoint(),
            session,
            clock: conditions.clock,
            timeout_step_ms: subject.hello().timeout_step_ms,
        };
        let seats = RefCell::default();
        Self { case, clock: conditions.clock, recorder, world, subject, seating, seats }
    }

    async fn perform(&self) -> Result<(), SubjectFault> {
        let mut index = 0;
        for step in &self.case.scenario.script {
            self.step(index, step).await?;
            index += width(step);
        }
        self.final_states(index).await
    }

    fn step<'b>(
        &'b self,
        index: usize,
        step: &'b Step,
    ) -> LocalBoxFuture<'b, Result<(), SubjectFault>> {
        Box::pin(async move {
            if let Some(after) = step.after {
                tokio::time::sleep(self.clock.scaled(after.get())).await;
            }
            let says = says(step, self.case.scenario.sole_agent());
            self.recorder.write(Event::StepStarted { step: index, says });
            if let Some(act) = &step.agent {
                self.agent(index, act).await?;
            }
            if let Some(person) = &step.person {
                let name = person.by.as_deref().unwrap_or(A_PERSON);
                if let Err(refused) = self.world.edit(name, &person.edit) {
                    let says = format!("{FAULT}the edit of `{name}` was refused: {refused}");
                    self.recorder.write(Event::Note { says });
                }
            }
            match step.relay {
                Some(RelayAct::EndSession) => self.world.end_session(),
                Some(RelayAct::ExpireSession) => self.world.expire_session(),
                Some(RelayAct::Restart) => self.world.restart_relay(),
                Some(RelayAct::RevokeToken) => self.world.revoke_token(),
                None => {}
            }
            if let Some(faults) = &step.faults {
                let mut faults = faults.clone();
                let scale = |time: std::time::Duration| self.clock.scaled(time);
                faults.iter_mut().for_each(|fault| fault.scale(&scale));
                self.world.set_faults(faults);
            }
            if let Some(time) = step.wait {
                tokio::time::sleep(self.clock.scaled(time.get())).await;
            }
            if let Some(together) = &step.together {
                let mut next = index + 1;
                let mut parts = Vec::new();
                for part in together {
                    parts.push(self.step(next, part));
                    next += width(part);
                }
                for done in join_all(parts).await {
                    done?;
                }
            }
            self.recorder.write(Event::StepEnded { step: index });
            Ok(())
        })
    }

    async fn agent(&self, index: usize, act: &AgentAct) -> Result<(), SubjectFault> {
        let with = match act {
            AgentAct::Plain(plain) => ActWith { does: Some(*plain), ..ActWith::default() },
            AgentAct::With(with) => (**with).clone(),
        };
        let agent = with
            .by
            .clone()
            .or_else(|| self.case.scenario.sole_agent().map(str::to_owned))
            .unwrap_or_default();
        let is_attach = with.does == Some(PlainAct::Attach);
        let is_seated = self.seats.borrow().contains_key(&agent);
        if (is_attach || !is_seated) && !self.attach(index, &agent).await? {
            return Ok(());
        }
        if is_attach {
            return Ok(());
        }
        let owner = with.owner.clone().unwrap_or_else(|| self.seating.owner(&agent));
        let operation = operation(&agent, owner, with);
        // What the client answered is in the record; judging looks at it, the script does not.
        let _recorded = self.ask(index, &agent, operation).await?;
        Ok(())
    }

    /// Attaches an agent, its host first when it works on another's attachment. Tells whether it
    /// is attached now.
    async fn attach(&self, index: usize, agent: &str) -> Result<bool, SubjectFault> {
        let mut resume = None;
        if let Some(host) = self.seating.works_on(agent) {
            if !self.seats.borrow().contains_key(host) {
                Box::pin(self.attach(index, host)).await?;
            }
            resume = self.seats.borrow().get(host).and_then(|seat| seat.attachment.clone());
        }
        let mut attach = self.seating.attach(agent, resume);
        for tool in Seating::as_offered(&attach.config) {
            if let Some(definition) = self.world.tool_definition(&tool) {
                let digest = self.subject.perform(Operation::Digest { definition }).await?;
                if let Ok(Answer::Digest(digest)) = digest {
                    attach.config.trust.pins.insert(tool, digest.digest);
                }
            }
        }
        let answer = self.ask(index, agent, Operation::Attach(Box::new(attach))).await?;
        let Ok(Answer::Attached(attached)) = answer else { return Ok(false) };
        if let Some(client) = &attached.client {
            self.world.introduce(agent, client);
        }
        let seat =
            Seat { attachment: Some(attached.attachment), client: attached.client, state: None };
        self.seats.borrow_mut().insert(agent.to_owned(), seat);
        self.told_state(agent, "attached");
        Ok(true)
    }

    /// Asks the client, and writes down what it gave its caller.
    async fn ask(
        &self,
        index: usize,
        agent: &str,
        operation: Operation,
    ) -> Result<Result<Answer, OperationError>, SubjectFault> {
        let name = operation.name();
        let answer = self.subject.perform(operation).await;
        for (level, target, line) in self.subject.take_log().await {
            self.recorder.log(&level, &target, line);
        }
        let answer = answer?;
        let told = match &answer {
            Ok(ok) => Ok(serde_json::to_value(ok).unwrap_or(Value::Null)),
            Err(error) => Err(AnswerError {
                code: error.code.to_string(),
                native: error.native.clone(),
                message: error.message.clone(),
                happened: error.happened.map(|happened| match happened {
                    crate::subject::protocol::Happened::No => "no".to_owned(),
                    crate::subject::protocol::Happened::Yes => "yes".to_owned(),
                    crate::subject::protocol::Happened::Unknown => "unknown".to_owned(),
                }),
            }),
        };
        self.recorder.answer(agent, index, name, told);
        Ok(answer)
    }

    /// Asks every seated agent for its state, so that the record ends with it.
    async fn final_states(&self, index: usize) -> Result<(), SubjectFault> {
        let agents: Vec<String> = self.seats.borrow().keys().cloned().collect();
        for agent in agents {
            let owner = self.seating.owner(&agent);
            let status = Operation::Status(Named { agent: agent.clone(), owner });
            if let Ok(Answer::Status(status)) = self.ask(index, &agent, status).await? {
                if let (Some(client), Some(seat)) =
                    (status.client.clone(), self.seats.borrow_mut().get_mut(&agent))
                {
                    seat.client.get_or_insert(client);
                }
                let state = serde_json::to_value(status.state).unwrap_or(Value::Null);
                self.told_state(&agent, state.as_str().unwrap_or_default());
            }
        }
        Ok(())
    }

    fn told_state(&self, agent: &str, state: &str) {
        let mut seats = self.seats.borrow_mut();
        let seat = seats.entry(agent.to_owned()).or_default();
        if seat.state.as_deref() != Some(state) {
            seat.state = Some(state.to_owned());
            let (client, state) = (seat.client.clone(), state.to_owned());
            self.recorder.write(Event::Attachment { agent: agent.to_owned(), client, state });
        }
    }
}

/// How many indices a step takes: its own, and those of the steps within it.
fn width(step: &Step) -> usize {
    1 + step.together.iter().flatten().map(width).sum::<usize>()
}

fn operation(agent: &str, owner: String, with: ActWith) -> Operation {
    let named = Named { agent: agent.to_owned(), owner: owner.clone() };
    if let Some(tool) = with.call {
        let arguments = with.with.unwrap_or_default();
        return Operation::Call(Call { agent: agent.to_owned(), owner, tool, arguments });
    }
    if let Some(announce) = with.announce {
        return Operation::Announce(Announce {
            agent: agent.to_owned(),
            owner,
            action: announce.action,
            target: announce.target,
            priority: announce.priority.unwrap_or_default(),
            correlation_id: announce.correlation,
        });
    }
    match with.does {
        Some(PlainAct::Tools) => Operation::Tools(named),
        Some(PlainAct::ChangesSince) => Operation::ChangesSince(named),
        Some(PlainAct::ConflictDetection) => Operation::ConflictDetection(named),
        Some(PlainAct::Detach) => Operation::Detach(named),
        Some(PlainAct::Status | PlainAct::Attach) | None => Operation::Status(named),
    }
}

/// A step in a few words, for people.
fn says(step: &Step, sole: Option<&str>) -> String {
    if let Some(act) = &step.agent {
        let (by, what) = match act {
            AgentAct::Plain(plain) => (None, plain.word().to_owned()),
            AgentAct::With(with) => {
                let what = match (&with.call, &with.announce, with.does) {
                    (Some(tool), ..) => format!("calls {tool}"),
                    (None, Some(announce), _) => format!("announces {}", announce.action),
                    (None, None, does) => does.map_or("does nothing", PlainAct::word).to_owned(),
                };
                (with.by.as_deref(), what)
            }
        };
        return format!("{} {what}", by.or(sole).unwrap_or("an agent"));
    }
    if let Some(person) = &step.person {
        return format!("{}: {}", person.by.as_deref().unwrap_or(A_PERSON), person.edit);
    }
    if let Some(relay) = step.relay {
        return match relay {
            RelayAct::EndSession => "the session ends",
            RelayAct::ExpireSession => "the session expires",
            RelayAct::Restart => "the relay restarts",
            RelayAct::RevokeToken => "the token is revoked",
        }
        .to_owned();
    }
    match (&step.wait, &step.faults, &step.together) {
        (Some(time), ..) => format!("{time} pass"),
        (None, Some(faults), _) if faults.is_empty() => "the faults are lifted".to_owned(),
        (None, Some(_), _) => "other faults are set".to_owned(),
        (None, None, Some(_)) => "several things at once".to_owned(),
        (None, None, None) => "nothing".to_owned(),
    }
}
