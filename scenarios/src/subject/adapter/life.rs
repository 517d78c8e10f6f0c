//! One life of an adapter: from the spawn to the last kill of its process group.

use std::collections::{BTreeMap, VecDeque};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::Limits;
use super::fault::{AdapterFault, Tail};
use super::lines::{Line, Lines};
use super::reply::{self, Outcome};

/// How long a process that closed its stdout has to end by itself, and how long pipes are read
/// after it ended: a grandchild may hold them open for ever.
const GRACE: Duration = Duration::from_millis(300);
/// How long stderr must be quiet before its lines are taken, and how often that is looked at.
const QUIET: Duration = Duration::from_millis(5);
/// How many times stderr is looked at before its lines are taken although it is not quiet.
const QUIET_LOOKS: usize = 40;
/// How many lines of stderr a fault shows.
const TAIL_LINES: usize = 12;

/// A running adapter, and what is left of it.
#[derive(Debug)]
pub(super) struct Life {
    shared: Arc<Shared>,
    to_stdin: mpsc::UnboundedSender<Vec<u8>>,
    ended: watch::Receiver<bool>,
    ids: AtomicU64,
    minder: AbortHandle,
}

/// What the tasks of one life share. The lock is never held over an await.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Somebody wants the process to be killed.
    kill: Notify,
    log_lines: usize,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeMap<u64, Waiting>,
    asked: u64,
    /// Why the life is over. What is set first stands.
    fault: Option<AdapterFault>,
    /// How the process ended, once it was seen to.
    status: Option<ExitStatus>,
    log: VecDeque<String>,
    /// Lines written to stderr so far, the dropped ones included.
    logged: u64,
    tail: VecDeque<String>,
    secrets: Vec<String>,
}

#[derive(Debug)]
struct Waiting {
    operation: &'static str,
    answer: oneshot::Sender<Result<Outcome, AdapterFault>>,
}

impl Life {
    /// Spawns `command` in a process group of its own.
    pub(super) fn begin(command: &[String], limits: &Limits) -> Result<Self, AdapterFault> {
        // Splitting a command line never gives an empty list; the caller refuses that one.
        let (program, args) =
            command.split_first().map_or((String::new(), &[][..]), |(p, a)| (p.clone(), a));
        let mut child = CommandWrap::with_new(&program, |command| {
            command.args(args);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        })
        .wrap(ProcessGroup::leader())
        .wrap(KillOnDrop)
        .spawn()
        .map_err(|error| AdapterFault::Spawn { program, why: error.to_string() })?;

        let pipes = (child.stdin().take(), child.stdout().take(), child.stderr().take());
        let group = Group { child, reaped: false };
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            unreachable!("all three were asked to be pipes above");
        };
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            kill: Notify::new(),
            log_lines: limits.log_lines,
        });
        let (to_stdin, lines) = mpsc::unbounded_channel();
        let (end, ended) = watch::channel(false);
        let stdout = Lines::new(stdout, limits.line_bytes);
        let stderr = Lines::new(stderr, limits.log_line_bytes);
        let minder = tokio::spawn(mind(group, shared.clone(), lines, stdin, stdout, stderr, end));
        Ok(Self { shared, to_stdin, ended, ids: AtomicU64::new(1), minder: minder.abort_handle() })
    }

    pub(super) fn is_alive(&self) -> bool {
        self.shared.state().fault.is_none() && !*self.ended.borrow()
    }

    pub(super) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Hides `secret` from every fault from now on.
    pub(super) fn keep_secret(&self, secret: &str) {
        let mut state = self.shared.state();
        if !secret.is_empty() && !state.secrets.iter().any(|known| known == secret) {
            state.secrets.push(secret.into());
        }
    }

    /// Writes a request and waits for its answer.
    pub(super) async fn exchange(
        &self,
        id: u64,
        operation: &'static str,
        agent: Option<&str>,
        line: Vec<u8>,
        deadline: Duration,
    ) -> Result<Outcome, AdapterFault> {
        let (answer, answered) = oneshot::channel();
        {
            let mut state = self.shared.state();
            if let Some(fault) = &state.fault {
                // The first word of a fault is its reason; the rest was told before.
                let why = fault.to_string().lines().next().unwrap_or_default().to_owned();
                return Err(AdapterFault::NotRunning { why });
            }
            state.asked = state.asked.max(id);
            state.waiting.insert(id, Waiting { operation, answer });
        }
        // A failed send means that the life has just ended, and its minder answers everyone.
        let _ = self.to_stdin.send(line);
        match timeout(deadline, answered).await {
            Ok(Ok(outcome)) => outcome,
            // The minder was aborted, which only the end of the whole host does.
            Ok(Err(_)) => Err(AdapterFault::NotRunning { why: "it was put away".into() }),
            Err(_) => {
                let fault = AdapterFault::Hung {
                    operation,
                    agent: agent.map(str::to_owned),
                    waited: deadline,
                    stderr: self.shared.tail(),
                };
                self.shared.fail(fault.clone());
                self.end().await;
                Err(fault)
            }
        }
    }

    /// See [`super::Adapter::take_log`].
    pub(super) async fn take_log(&self) -> Vec<String> {
        let mut before = self.shared.state().logged;
        for _ in 0..QUIET_LOOKS {
            sleep(QUIET).await;
            let now = self.shared.state().logged;
            if now == before {
                break;
            }
            before = now;
        }
        self.shared.state().log.drain(..).collect()
    }

    /// Kills whatever is left, and waits until it is gone.
    pub(super) async fn end(&self) {
        self.shared.kill.notify_one();
        let mut ended = self.ended.clone();
        // The minder's sender is dropped at the latest when the minder is, which ends the wait.
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// Lets go of the adapter's stdin. Nothing can be asked any more.
    pub(super) fn close_stdin(&mut self) {
        // The writer ends when the last sender is gone, and the pipe with it.
        (self.to_stdin, _) = mpsc::unbounded_channel();
    }

    /// Waits for the process to leave by itself after it was asked to.
    pub(super) async fn leave(&self, grace: Duration) -> Result<(), AdapterFault> {
        let mut ended = self.ended.clone();
        let left = timeout(grace, ended.wait_for(|ended| *ended)).await.is_ok();
        if !left {
            self.end().await;
            let how = format!("it still ran after {} ms and was killed", grace.as_millis());
            return Err(AdapterFault::LeftBadly { how });
        }
        match self.shared.state().status {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(AdapterFault::LeftBadly { how: status.to_string() }),
            None => Err(AdapterFault::LeftBadly {
                how: "it closed its stdout and went on running".into(),
            }),
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        // Drops the group with it, which kills the group.
        self.minder.abort();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics under this lock; a poisoned one would still hold whole values.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the life for this reason, unless it ended already, and tells everyone who waits.
    fn fail(&self, fault: AdapterFault) {
        let mut state = self.state();
        let fault = state.fault.get_or_insert(fault).clone();
        for (_, waiting) in std::mem::take(&mut state.waiting) {
            // Whoever gave up waiting has no use for it.
            let _ = waiting.answer.send(Err(fault.clone()));
        }
    }

    /// Hands an answer to whoever asked.
    fn deliver(&self, line: &[u8]) -> Result<(), AdapterFault> {
        let (id, outcome) = reply::read(line).map_err(|fault| self.hide(fault))?;
        let mut state = self.state();
        match state.waiting.remove(&id) {
            Some(waiting) => {
                let _ = waiting.answer.send(Ok(outcome));
                Ok(())
            }
            None => Err(AdapterFault::Unasked { id, last: state.asked }),
        }
    }

    fn note(&self, line: &[u8]) {
        let line = String::from_utf8_lossy(line).into_owned();
        let mut state = self.state();
        state.logged += 1;
        state.tail.push_back(line.clone());
        if state.tail.len() > TAIL_LINES {
            state.tail.pop_front();
        }
        state.log.push_back(line);
        if state.log.len() > self.log_lines {
            state.log.pop_front();
        }
    }

    fn tail(&self) -> Tail {
        let state = self.state();
        Tail(state.tail.iter().map(|line| redact(&state.secrets, line)).collect())
    }

    /// What was being asked, the oldest first.
    fn operation(&self) -> Option<&'static str> {
        self.state().waiting.values().next().map(|waiting| waiting.operation)
    }

    /// A line may repeat an invitation, token and all; a fault is read by people (AUTH-2).
    fn hide(&self, fault: AdapterFault) -> AdapterFault {
        let state = self.state();
        let hidden = |text: &str| redact(&state.secrets, text);
        match fault {
            AdapterFault::NotJson { line, why, hint } => {
                AdapterFault::NotJson { line: hidden(&line), why, hint }
            }
            AdapterFault::NotAnAnswer { line, why } => {
                AdapterFault::NotAnAnswer { line: hidden(&line), why: hidden(&why) }
            }
            AdapterFault::TooLong { bound, line } => {
                AdapterFault::TooLong { bound, line: hidden(&line) }
            }
            other => other,
        }
    }
}

fn redact(secrets: &[String], text: &str) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "[token]"))
}

/// Reads, writes and waits until the life is over, then kills what is left of it.
async fn mind(
    mut group: Group,
    shared: Arc<Shared>,
    lines: mpsc::UnboundedReceiver<Vec<u8>>,
    stdin: ChildStdin,
    stdout: Lines<ChildStdout>,
    stderr: Lines<ChildStderr>,
    end: watch::Sender<bool>,
) {
    let mut helpers = JoinSet::new();
    helpers.spawn(write(lines, stdin));
    let scribe = shared.clone();
    let scribe = helpers.spawn(async move { transcribe(stderr, &scribe).await });

    let fault = tokio::select! {
        biased;
        fault = read(stdout, &shared, &mut group) => fault,
        () = shared.kill.notified() => AdapterFault::NotRunning { why: "it was killed".into() },
    };
    group.kill().await;
    // Its last words may still be in the pipe.
    for _ in 0..10 {
        if scribe.is_finished() {
            break;
        }
        sleep(GRACE / 10).await;
    }
    let fault = match fault {
        AdapterFault::Exited { status, operation, .. } => {
            AdapterFault::Exited { status, operation, stderr: shared.tail() }
        }
        AdapterFault::ClosedStdout { operation, .. } => {
            AdapterFault::ClosedStdout { operation, stderr: shared.tail() }
        }
        other => other,
    };
    shared.fail(fault);
    helpers.abort_all();
    // Nobody listens when the whole host is being dropped.
    let _ = end.send(true);
}

/// Hands lines to the adapter. Ends when its stdin does: why it did, the reader finds out.
async fn write(mut lines: mpsc::UnboundedReceiver<Vec<u8>>, mut stdin: ChildStdin) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(&line).await.is_err() {
            return;
        }
    }
}

async fn transcribe(mut stderr: Lines<ChildStderr>, shared: &Shared) {
    while let Ok(Some(Line::Whole(line) | Line::Cut(line))) = stderr.next().await {
        shared.note(&line);
    }
}

/// Delivers answers until there cannot be another one, and says why.
async fn read(mut stdout: Lines<ChildStdout>, shared: &Shared, group: &mut Group) -> AdapterFault {
    loop {
        tokio::select! {
            biased;
            line = stdout.next() => match deliver(line, shared) {
                Next::Line => {}
                Next::Fault(fault) => return fault,
                Next::End => break,
            },
            status = group.wait() => {
                // What it wrote before it ended is still to be read; what a grandchild that
                // holds the pipe may write one day is not waited for.
                let rest = async {
                    loop {
                        match deliver(stdout.next().await, shared) {
                            Next::Line => {}
                            Next::Fault(fault) => return Some(fault),
                            Next::End => return None,
                        }
                    }
                };
                if let Ok(Some(fault)) = timeout(GRACE, rest).await {
                    return fault;
                }
                return exited(status, shared);
            }
        }
    }
    match timeout(GRACE, group.wait()).await {
        Ok(status) => exited(status, shared),
        Err(_) => {
            AdapterFault::ClosedStdout { operation: shared.operation(), stderr: Tail::default() }
        }
    }
}

enum Next {
    Line,
    End,
    Fault(AdapterFault),
}

fn deliver(line: std::io::Result<Option<Line>>, shared: &Shared) -> Next {
    match line {
        // Blank lines carry nothing, and some languages like to end with one.
        Ok(Some(Line::Whole(line))) if line.trim_ascii().is_empty() => Next::Line,
        Ok(Some(Line::Whole(line))) => match shared.deliver(&line) {
            Ok(()) => Next::Line,
            Err(fault) => Next::Fault(fault),
        },
        Ok(Some(Line::Cut(line))) => Next::Fault(
            shared.hide(AdapterFault::TooLong { bound: line.len(), line: reply::shown(&line) }),
        ),
        Ok(None) | Err(_) => Next::End,
    }
}

fn exited(status: std::io::Result<ExitStatus>, shared: &Shared) -> AdapterFault {
    let operation = shared.operation();
    let status = match status {
        Ok(status) => {
            shared.state().status = Some(status);
            status.to_string()
        }
        Err(error) => format!("how is not known: {error}"),
    };
    AdapterFault::Exited { status, operation, stderr: Tail::default() }
}

/// A process and all that it started. Whatever happens to the host, they do not outlive it.
struct Group {
    child: Box<dyn ChildWrapper>,
    reaped: bool,
}

impl Group {
    /// How the process ended. Cancel safe.
    async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        let status = self.child.wait().await;
        // At once, while the number of a group that still has members cannot be given away.
        let _ = self.child.start_kill();
        self.reaped = true;
        status
    }

    /// Kills every member and waits for the process itself.
    async fn kill(&mut self) {
        if self.reaped {
            return;
        }
        // Fails when there is nobody left to kill, which is what is wanted.
        let _ = self.child.start_kill();
        // A process in an uninterruptible wait is the system's, not ours, to end.
        let _ = timeout(Duration::from_secs(2), self.wait()).await;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.child.start_kill();
        }
    }
}
