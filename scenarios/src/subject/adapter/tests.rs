#![allow(clippy::unwrap_used)]
//! Adapters that misbehave in every way, as small Python programs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use tokio::time::Instant;

use super::*;
use crate::subject::protocol::{
    Attach, Config, Done, ErrorCode, Invitation, Named, Participant, Secret,
};

const SOON: Duration = Duration::from_millis(400);
const LATE: Duration = Duration::from_secs(20);

/// What every program starts with: `hello` answered, then `act(request)` for each request.
const PRELUDE: &str = r#"
import json, os, signal, subprocess, sys, time
HELLO = {"protocol": 1, "name": "odd", "version": "0", "language": "Python", "capabilities": []}
def put(value):
    sys.stdout.write(json.dumps(value) + "\n"); sys.stdout.flush()
def ok(request, value=None):
    put({"id": request["id"], "ok": {} if value is None else value})
def log(text):
    sys.stderr.write(text + "\n"); sys.stderr.flush()
def serve(act, hello=HELLO):
    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == "hello": ok(request, hello)
        elif request["op"] == "shutdown": ok(request); sys.exit(0)
        else: act(request)
"#;

/// A program in a directory of its own, which goes with it.
struct Program {
    directory: TempDir,
    command: String,
}

fn program(body: &str) -> Program {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("odd adapter.py");
    std::fs::write(&path, format!("{PRELUDE}\n{body}\n")).unwrap();
    let command = format!("python3 '{}' '{}'", path.display(), directory.path().display());
    Program { directory, command }
}

impl Program {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    async fn start(&self) -> Result<Adapter, AdapterFault> {
        Adapter::start(&self.command, Limits::default()).await
    }
}

fn tools() -> Operation {
    Operation::Tools(Named { agent: "ada".into(), owner: "o".into() })
}

/// Asks a program that answers `hello` something, and gives back what came of it.
async fn fault_of(body: &str, operation: Operation) -> AdapterFault {
    let program = program(body);
    let adapter = program.start().await.unwrap();
    adapter.ask(operation, LATE).await.unwrap_err()
}

#[track_caller]
fn says(fault: &AdapterFault, words: &[&str]) {
    let text = fault.to_string();
    for word in words {
        assert!(text.contains(word), "{text}\n  does not say: {word}");
    }
}

/// Waits until a process is gone, a second at the most.
async fn is_gone(pid: &str) -> bool {
    for _ in 0..100 {
        // A zombie that nobody reaps yet is gone, too: it runs nothing and holds nothing.
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if status.is_empty() || status.contains(") Z ") {
            return true;
        }
        sleep_ms(10).await;
    }
    false
}

async fn sleep_ms(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

async fn read_soon(path: &Path) -> String {
    for _ in 0..200 {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => sleep_ms(10).await,
        }
    }
    panic!("{} was never written", path.display());
}

#[tokio::test]
async fn a_good_adapter_is_asked_and_leaves() {
    let program = program("serve(ok)");
    let adapter = program.start().await.unwrap();
    assert_eq!(adapter.hello().name, "odd");
    let answer = adapter.ask(Operation::Reset, LATE).await.unwrap().unwrap();
    assert_eq!(answer, Answer::Done(Done {}));
    adapter.stop().await.unwrap();
}

#[tokio::test]
async fn a_request_is_ascii_whatever_it_holds() {
    let program = program(
        r#"
line = sys.stdin.buffer.readline(); put({"id": 1, "ok": HELLO})
line = sys.stdin.buffer.readline()
put({"id": 2, "ok": {"digest": "ascii" if line.isascii() else "not ascii"}})
sys.stdin.readline()
"#,
    );
    let adapter = program.start().await.unwrap();
    let digest = Operation::Digest { definition: json!({ "name": "größe \u{1f600}" }) };
    let answer = adapter.ask(digest, LATE).await.unwrap().unwrap();
    assert_eq!(serde_json::to_value(answer).unwrap(), json!({ "digest": "ascii" }));
}

#[tokio::test]
async fn a_client_error_is_not_a_fault_and_an_adapter_error_is_nothing_else() {
    let program = program(
        r#"
codes = iter(["gone", "adapter_error"])
serve(lambda r: put({"id": r["id"], "error": {"code": next(codes), "native": "N", "message": "m"}}))
"#,
    );
    let adapter = program.start().await.unwrap();
    let error = adapter.ask(tools(), LATE).await.unwrap().unwrap_err();
    assert_eq!((error.code, error.happened), (ErrorCode::Gone, None));
    let fault = adapter.ask(tools(), LATE).await.unwrap_err();
    says(&fault, &["failed at `tools`: N: m"]);
    assert!(!fault.ends_the_life() && adapter.is_alive());
}

#[tokio::test]
async fn a_command_that_is_no_adapter_is_told_apart() {
    let start = |command: &'static str| Adapter::start(command, Limits::default());
    says(&start("").await.unwrap_err(), &["it is empty"]);
    says(&start("a 'b").await.unwrap_err(), &["`a 'b`"]);
    says(&start("/no/such/program x").await.unwrap_err(), &["`/no/such/program`", "PATH"]);
    says(
        &start("/bin/true").await.unwrap_err(),
        &["exit status: 0", "without answering `hello`", "hint: an adapter reads lines"],
    );
    says(
        &start("sh -c 'echo oh dear >&2; exit 3'").await.unwrap_err(),
        &["exit status: 3", "stderr: oh dear"],
    );
    says(&start("echo hello there").await.unwrap_err(), &["not JSON", "line: hello there"]);
    says(&start("/bin/cat").await.unwrap_err(), &["`op` is neither `id`"]);
}

#[tokio::test]
async fn another_protocol_and_a_bad_hello_are_refused() {
    let hello = |hello: &str| program(&format!("serve(ok, {{**HELLO, {hello}}})"));
    let fault = hello(r#""protocol": 2"#).start().await.unwrap_err();
    assert_eq!(fault, AdapterFault::WrongProtocol { theirs: 2, ours: PROTOCOL });
    let fault = hello(r#""protocol": "1""#).start().await.unwrap_err();
    says(&fault, &["`hello`", "`protocol` is missing or not a whole number"]);
    let fault = hello(r#""capabilities": ["transport-see"]"#).start().await.unwrap_err();
    says(&fault, &["did you mean `transport-sse`?"]);
    let fault = hello(r#""capability": []"#).start().await.unwrap_err();
    says(&fault, &["unknown field `capability`"]);
}

#[tokio::test]
async fn a_hanging_adapter_is_killed_with_all_that_it_started() {
    let program = program(
        r#"
def act(request):
    child = subprocess.Popen(["sleep", "1000"])
    for name, pid in (("child", child.pid), ("self", os.getpid())):
        with open(sys.argv[1] + "/" + name, "w") as f: f.write(f"{pid}\n")
    log("stuck in the mud")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1000)
serve(act)
"#,
    );
    let mut adapter = program.start().await.unwrap();
    let began = Instant::now();
    let fault = adapter.ask(tools(), SOON).await.unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    says(&fault, &["did not answer `tools` within 400 ms", "stderr: stuck in the mud"]);
    let AdapterFault::Hung { agent, .. } = &fault else { panic!("{fault:?}") };
    assert_eq!(agent.as_deref(), Some("ada"));
    assert!(is_gone(&read_soon(&program.path("self")).await).await);
    assert!(is_gone(&read_soon(&program.path("child")).await).await);

    let fault = adapter.ask(tools(), LATE).await.unwrap_err();
    says(&fault, &["not running any more: the adapter did not answer `tools`"]);
    adapter.restart().await.unwrap();
    assert!(adapter.is_alive());
}

#[tokio::test]
async fn an_adapter_that_never_reads_does_not_block_the_host() {
    let program = program(
        r#"
sys.stdin.readline(); put({"id": 1, "ok": HELLO}); time.sleep(1000)
"#,
    );
    let adapter = program.start().await.unwrap();
    let large = Operation::Digest { definition: json!("x".repeat(1 << 20)) };
    let fault = adapter.ask(large, SOON).await.unwrap_err();
    says(&fault, &["did not answer `digest`"]);
}

#[tokio::test]
async fn a_crash_tells_its_status_and_its_last_words() {
    let exit = r#"serve(lambda r: (log("\n".join(f"line {n}" for n in range(50))), os._exit(7)))"#;
    let fault = fault_of(exit, tools()).await;
    says(&fault, &["exit status: 7", "without answering `tools`", "stderr: line 49"]);
    let AdapterFault::Exited { stderr, .. } = &fault else { panic!("{fault:?}") };
    assert_eq!(stderr.0.len(), 12, "the tail is bounded");

    let signal = "serve(lambda r: os.kill(os.getpid(), signal.SIGSEGV))";
    says(&fault_of(signal, tools()).await, &["SIGSEGV"]);
}

#[tokio::test]
async fn a_crash_between_two_requests_is_told_to_the_next() {
    let program = program("serve(lambda r: (ok(r), log('bye'), os._exit(9)))");
    let adapter = program.start().await.unwrap();
    adapter.ask(Operation::Reset, LATE).await.unwrap().unwrap();
    for _ in 0..100 {
        if !adapter.is_alive() {
            break;
        }
        sleep_ms(10).await;
    }
    let fault = adapter.ask(Operation::Reset, LATE).await.unwrap_err();
    says(&fault, &["not running any more: the adapter ended (exit status: 9)"]);
}

#[tokio::test]
async fn an_answer_written_with_the_last_breath_is_an_answer() {
    let program = program("serve(lambda r: (ok(r), os._exit(9)))");
    let adapter = program.start().await.unwrap();
    assert!(adapter.ask(Operation::Reset, LATE).await.unwrap().is_ok());
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipes_does_not_hide_a_death() {
    let program = program(
        r#"
def act(request):
    child = subprocess.Popen(["sleep", "1000"])
    with open(sys.argv[1] + "/child", "w") as f: f.write(f"{child.pid}\n")
    os._exit(5)
serve(act)
"#,
    );
    let adapter = program.start().await.unwrap();
    let began = Instant::now();
    let fault = adapter.ask(tools(), LATE).await.unwrap_err();
    says(&fault, &["exit status: 5"]);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(is_gone(&read_soon(&program.path("child")).await).await);
}

#[tokio::test]
async fn a_closed_stdout_is_the_end() {
    let fault = fault_of("serve(lambda r: (os.close(1), time.sleep(1000)))", tools()).await;
    says(&fault, &["closed its stdout without answering `tools`", "killed"]);
}

#[tokio::test]
async fn garbage_is_met_with_helpful_words() {
    let fault = fault_of("serve(lambda r: print('debug: here', flush=True))", tools()).await;
    says(&fault, &["not JSON", "line: debug: here", "to stderr"]);
    assert!(fault.ends_the_life());
    let fault = fault_of("serve(lambda r: put({'id': r['id']}))", tools()).await;
    says(&fault, &["neither `ok` nor `error`"]);
    let fault = fault_of("serve(lambda r: ok(r, {'tolls': []}))", tools()).await;
    says(&fault, &["answer to `tools` has the wrong shape", "tolls"]);
}

#[tokio::test]
async fn ids_that_nobody_asked_are_refused() {
    let fault = fault_of("serve(lambda r: put({'id': 999, 'ok': {}}))", tools()).await;
    assert_eq!(fault, AdapterFault::Unasked { id: 999, last: 2 });
    let twice = program("serve(lambda r: (ok(r), ok(r)))");
    let adapter = twice.start().await.unwrap();
    adapter.ask(Operation::Reset, LATE).await.unwrap().unwrap();
    let fault = adapter.ask(Operation::Reset, LATE).await.unwrap_err();
    says(&fault, &["answered request 2"]);
}

#[tokio::test]
async fn an_endless_line_is_cut_off() {
    let endless = "serve(lambda r: [sys.stdout.write('x' * 65536) for _ in range(1 << 20)])";
    let fault = fault_of(endless, tools()).await;
    says(&fault, &["more than 4194304 bytes"]);
    assert!(fault.to_string().len() < 500);
}

#[tokio::test]
async fn answers_may_cross_when_the_client_says_that_they_do() {
    let program = program(
        r#"
held = []
def act(request):
    held.append(request)
    if len(held) == 2:
        for request in reversed(held): ok(request, {"digest": request["definition"]})
serve(act, {**HELLO, "capabilities": ["concurrent-agents"]})
"#,
    );
    let adapter = program.start().await.unwrap();
    let ask = |n: &str| adapter.ask(Operation::Digest { definition: json!(n) }, LATE);
    let (one, two) = tokio::join!(ask("one"), ask("two"));
    let text = |answer: Answer| serde_json::to_value(answer).unwrap()["digest"].clone();
    assert_eq!(text(one.unwrap().unwrap()), "one");
    assert_eq!(text(two.unwrap().unwrap()), "two");
}

#[tokio::test]
async fn a_client_that_does_one_thing_at_a_time_is_asked_one_thing_at_a_time() {
    let program = program(
        r#"
import select
def act(request):
    time.sleep(0.1)
    more = select.select([sys.stdin], [], [], 0)[0]
    ok(request, {"digest": "crowded" if more else "alone"})
for line in iter(sys.stdin.readline, ""):
    request = json.loads(line)
    ok(request, HELLO) if request["op"] == "hello" else act(request)
"#,
    );
    let adapter = program.start().await.unwrap();
    let ask = || adapter.ask(Operation::Digest { definition: json!(1) }, LATE);
    let (one, two) = tokio::join!(ask(), ask());
    for answer in [one, two] {
        let answer = serde_json::to_value(answer.unwrap().unwrap()).unwrap();
        assert_eq!(answer, json!({ "digest": "alone" }));
    }
}

#[tokio::test]
async fn the_log_is_raw_and_a_fault_hides_the_token() {
    let token = "a-token-that-nobody-may-see";
    let program = program(
        r#"
def act(request):
    if request["op"] == "reset": log("calm"); ok(request); return
    log("GET /events?token=" + request["invitation"]["token"])
    if request["resume"]: os._exit(1)
    print(request["invitation"], flush=True)
serve(act)
"#,
    );
    let attach = |resume: Option<String>| {
        Operation::Attach(Box::new(Attach {
            agent: "ada".into(),
            owner: "o".into(),
            config: Config::default(),
            invitation: Invitation {
                relay_base_url: "http://127.0.0.1:9".into(),
                session_id: "board".into(),
                token: Secret::new(token),
                surface_id: "board".into(),
                application: "planner".into(),
            },
            participant: Participant { id: "a".into(), name: "Ada".into(), color: "red".into() },
            resume,
        }))
    };
    let mut adapter = program.start().await.unwrap();
    adapter.ask(Operation::Reset, LATE).await.unwrap().unwrap();
    assert_eq!(adapter.take_log().await, ["calm"]);
    assert!(adapter.take_log().await.is_empty(), "taken is taken");

    let fault = adapter.ask(attach(None), LATE).await.unwrap_err();
    assert!(!format!("{fault} {fault:?}").contains(token), "{fault}");
    says(&fault, &["'token': '[token]'"]);
    assert_eq!(adapter.take_log().await, [format!("GET /events?token={token}")]);

    adapter.restart().await.unwrap();
    let fault = adapter.ask(attach(Some("x".into())), LATE).await.unwrap_err();
    assert!(!format!("{fault} {fault:?}").contains(token), "{fault}");
    says(&fault, &["stderr: GET /events?token=[token]"]);
}

#[tokio::test]
async fn leaving_badly_is_told() {
    let stays = "for line in sys.stdin:\n  ok(json.loads(line), HELLO if 'hello' in line else {})\ntime.sleep(1000)";
    let program = program(stays);
    let limits = Limits { shutdown: SOON, ..Limits::default() };
    let adapter = Adapter::start(&program.command, limits).await.unwrap();
    says(&adapter.stop().await.unwrap_err(), &["still ran after 400 ms"]);

    let grumpy = super::tests::program(
        "for line in sys.stdin:\n  ok(json.loads(line), HELLO if 'hello' in line else {})\n  if 'shutdown' in line: os._exit(4)",
    );
    let adapter = grumpy.start().await.unwrap();
    says(&adapter.stop().await.unwrap_err(), &["exit status: 4"]);
}

#[tokio::test]
async fn a_dropped_host_leaves_nobody_behind() {
    let program = program(
        r#"
def act(request):
    child = subprocess.Popen(["sleep", "1000"])
    with open(sys.argv[1] + "/child", "w") as f: f.write(f"{child.pid}\n")
    ok(request)
serve(act)
"#,
    );
    let adapter = program.start().await.unwrap();
    adapter.ask(Operation::Reset, LATE).await.unwrap().unwrap();
    let child = read_soon(&program.path("child")).await;
    drop(adapter);
    assert!(is_gone(&child).await);
}
