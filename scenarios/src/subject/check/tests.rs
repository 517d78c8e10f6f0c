#![allow(clippy::unwrap_used)]
//! A small adapter that is right, and one small thing wrong with it at a time.

use tempfile::TempDir;

use super::*;

/// An adapter without a client: it acts like one that keeps the contract as far as a check sees.
const RIGHT: &str = r#"
import json, socket, sys, threading, urllib.parse
CAPABILITIES = ["transport-sse", "auth-query", "trust-allow", "trust-undeclared", "trust-pins",
    "announce", "change-feed", "conflict-detection", "several-agents", "concurrent-agents"]
HELLO = {"protocol": 1, "name": "example", "version": "1.0", "language": "Python",
    "capabilities": CAPABILITIES}
AGENTS, LOCK = {}, threading.Lock()
class Failed(Exception): pass
def knock(agent):
    a = AGENTS[agent]
    if a["state"] != "attached": raise Failed("not_attached")
    if a["config"]["trust"]["undeclared"]: raise Failed("tool_refused")
    url = urllib.parse.urlsplit(a["invitation"]["relay_base_url"])
    try:
        with socket.create_connection((url.hostname, url.port), TIMEOUT(a)) as s:
            s.settimeout(TIMEOUT(a)); s.sendall(b"POST / HTTP/1.1\r\n\r\n")
            status = s.recv(4096).split()[1]
    except socket.timeout: raise Failed("timeout")
    except OSError: raise Failed("transport_error")
    code = {b"410": "gone", b"401": "unauthorized"}[status]
    a["state"] = {"gone": "surface_unavailable"}.get(code, "attachment_unauthorized")
    raise Failed(code)
def TIMEOUT(a): return a["config"]["timeout_ms"] / 1000
def do(r):
    op = r["op"]
    if op == "hello": return HELLO
    if op == "digest": return {"digest": json.dumps(r["definition"])}
    if op == "reset": AGENTS.clear(); return {}
    if op == "shutdown": return {}
    if op == "attach":
        AGENTS[r["agent"]] = {"config": r["config"], "invitation": r["invitation"], "state": "attached"}
        return {"attachment": "a-" + str(len(AGENTS))}
    if op not in ("tools", "call", "changes_since", "conflict_detection", "announce", "status", "detach"):
        raise Failed("adapter_error")
    if r["agent"] not in AGENTS: raise Failed("adapter_error")
    if op == "status":
        return {"state": AGENTS[r["agent"]]["state"], "conflict_detection": "not_observed",
                "change_feed": "not_observed"}
    if op == "conflict_detection": return {"state": "not_observed"}
    if op == "detach": return {"state": "detached"}
    return knock(r["agent"])
def put(v):
    with LOCK: sys.stdout.write(json.dumps(v) + "\n"); sys.stdout.flush()
def answer(r):
    try: put({"id": r["id"], "ok": do(r)})
    except Failed as e: put({"id": r["id"], "error": {"code": str(e), "native": "Failed", "message": ""}})
def spawn(r): threading.Thread(target=answer, args=(r,), daemon=True).start()
"#;

const SERVE: &str = r#"
for line in sys.stdin:
    r = json.loads(line)
    spawn(r) if r["op"] in ("tools", "call") else answer(r)
    if r["op"] == "shutdown": break
"#;

/// Checks the right adapter with `twist` in it.
async fn checkup(twist: &str) -> Checkup {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("adapter.py");
    std::fs::write(&path, format!("{RIGHT}\n{twist}\n{SERVE}")).unwrap();
    let limits = Limits { shutdown: Duration::from_millis(800), ..Limits::default() };
    drive(&format!("python3 {}", path.display()), limits).await
}

/// What is found is one thing, at that level, and says so.
async fn finds(twist: &str, level: Level, words: &[&str]) {
    let checkup = checkup(twist).await;
    let all: Vec<_> = checkup.findings.iter().map(ToString::to_string).collect();
    let all = all.join("\n");
    assert!(!checkup.findings.is_empty(), "nothing was found about: {twist}");
    assert!(checkup.findings.iter().all(|finding| finding.level == level), "{all}");
    assert_eq!(checkup.is_clean(), level == Level::Look, "{all}");
    for word in words {
        assert!(all.contains(word), "{all}\n  does not say: {word}");
    }
}

#[tokio::test]
async fn a_right_adapter_is_fit_and_nothing_is_found() {
    let checkup = checkup("").await;
    assert_eq!(checkup.findings, []);
    let text = checkup.to_string();
    assert!(text.starts_with("example 1.0 (Python)\nlacks: transport-long-poll, "), "{text}");
    assert!(text.ends_with("operations asked, 0 wrong, 0 to look at"), "{text}");
    assert!(checkup.is_clean());
    assert!(checkup.asked > 30, "{}", checkup.asked);
    assert_eq!(checkup.hello.unwrap().name, "example");
}

#[tokio::test]
async fn no_adapter_at_all_is_one_finding() {
    let checkup = drive("/bin/true", Limits::default()).await;
    assert!(checkup.hello.is_none() && !checkup.is_clean());
    assert_eq!(checkup.findings.len(), 1);
    assert!(checkup.findings[0].what.contains("without answering `hello`"));
}

#[tokio::test]
async fn contradictions_in_hello_are_found() {
    let claim = |capability: &str| format!("CAPABILITIES.append('{capability}')");
    finds(&claim("virtual-clock"), Level::Wrong, &["clock of its own"]).await;
    finds(&claim("announce"), Level::Wrong, &["listed twice"]).await;
    finds(&claim("poll-path"), Level::Wrong, &["without `transport-long-poll`"]).await;
    finds("HELLO['version'] = ''", Level::Wrong, &["`version` is empty"]).await;
    finds("HELLO['timeout_step_ms'] = 0", Level::Wrong, &["`timeout_step_ms` is 0"]).await;
    let deaf = "HELLO['cannot_honour'] = ['timeout']";
    finds(deaf, Level::Wrong, &["no key of `config`", "timeout_ms"]).await;
}

#[tokio::test]
async fn an_unknown_operation_and_an_unknown_agent_are_refused() {
    let ok = "right = do\ndef do(r): return {} if r['op'] == 'dance' else right(r)";
    finds(ok, Level::Wrong, &["`dance` was answered with `ok`"]).await;
    let known = "right = do\ndef do(r):\n  if r['op'] == 'status' and r['agent'] == 'nobody': \
                 return {'state': 'attached', 'conflict_detection': 'minted', 'change_feed': 'offered'}\n  \
                 return right(r)";
    finds(known, Level::Wrong, &["never attached"]).await;
}

#[tokio::test]
async fn digests_that_do_not_tell_definitions_apart_are_found() {
    let same = "right = do\ndef do(r): return {'digest': 'd'} if r['op'] == 'digest' else right(r)";
    finds(same, Level::Wrong, &["do not tell definitions apart"]).await;
    let none = "right = do\ndef do(r):\n  if r['op'] == 'digest': raise Failed('adapter_error')\n  return right(r)";
    finds(none, Level::Wrong, &["failed at `digest`", "do not claim"]).await;
}

#[tokio::test]
async fn codes_that_hide_a_verdict_ask_for_a_look() {
    let swapped = "class Failed(Exception):\n  def __init__(self, code): super().__init__('transport_error' if code == 'gone' else code)";
    finds(swapped, Level::Look, &["a relay that answers 410", "not in `gone`"]).await;
    let patient = "def TIMEOUT(a): return 3.5";
    let twist = format!("CAPABILITIES.remove('concurrent-agents')\n{patient}");
    finds(&twist, Level::Look, &["`timeout_ms` was 600"]).await;
}

#[tokio::test]
async fn a_claim_that_is_not_kept_is_found() {
    finds("def spawn(r): answer(r)", Level::Wrong, &["one after the other"]).await;
    let leftover = "class Kept(dict):\n  def clear(self): pass\nAGENTS = Kept()";
    finds(leftover, Level::Wrong, &["still attached after `reset`"]).await;
    let announce = "right = do\ndef do(r):\n  if r['op'] == 'announce': raise Failed('adapter_error')\n  return right(r)";
    finds(announce, Level::Wrong, &["failed at `announce`"]).await;
}

#[tokio::test]
async fn a_crash_is_found_and_the_check_goes_on() {
    let crash = "import os\nright = do\ndef do(r):\n  if r['op'] == 'announce': os._exit(3)\n  return right(r)";
    let checkup = checkup(crash).await;
    let crashes = checkup.findings.iter().filter(|one| one.what.contains("exit status: 3"));
    assert_eq!(crashes.count(), 1, "told once: {:?}", checkup.findings);
    assert!(checkup.asked > 20, "{}", checkup.asked);
}

#[tokio::test]
async fn a_token_on_stderr_asks_for_a_look() {
    let leak = "right = do\ndef do(r):\n  if r['op'] == 'attach': print(r['invitation'], file=sys.stderr, flush=True)\n  return right(r)";
    finds(leak, Level::Look, &["token was written to stderr"]).await;
}

#[tokio::test]
async fn an_adapter_that_does_not_leave_is_found() {
    let stays = "import atexit, time\natexit.register(lambda: time.sleep(5))";
    finds(stays, Level::Wrong, &["still ran after", "at the end of its stdin"]).await;
}
