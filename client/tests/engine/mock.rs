//! A relay and a surface in one, scripted. It is no model of a relay: it does what a test tells it
//! to, and remembers what it was asked and when.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::future::pending;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Query, Request, State};
use axum::response::Response;
use futures_util::{StreamExt, stream};
use relay_client::{
    Attachment, Client, ClientBuilder, EgressPolicy, Entropy, Invitation, LongPoll, Owner,
    Participant, Transport, TrustPolicy,
};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

pub(crate) const TOKEN: &str = "token-canary-0123456789abcdef";
pub(crate) const SESSION: &str = "sess-1";

/// What a relay does with one request instead of serving it.
#[derive(Clone)]
pub(crate) enum Act {
    /// Answers with this status, media type and body.
    Answer(u16, &'static str, Vec<u8>),
    /// Answers with these parts, then ends the body, or holds it open for ever.
    Stream { parts: Vec<Part>, then_hold: bool },
    /// Never answers.
    Hang,
    /// Serves the request this much later.
    Late(Duration),
}

#[derive(Clone)]
pub(crate) enum Part {
    Bytes(Vec<u8>),
    Wait(Duration),
    /// The same text again and again, for ever, as fast as it is read.
    Flood(String),
    /// The answer to the last request, as JSON, wherever it is needed.
    LastAnswer,
}

pub(crate) fn json_error(status: u16, code: &str) -> Act {
    Act::Answer(status, "application/json", json!({ "error": code }).to_string().into_bytes())
}

pub(crate) fn sse(parts: Vec<Part>) -> Act {
    Act::Stream { parts, then_hold: true }
}

pub(crate) fn text(text: &str) -> Part {
    Part::Bytes(text.as_bytes().to_vec())
}

/// One request as the relay saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Milliseconds since the relay started.
    pub(crate) at_ms: u64,
    pub(crate) route: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) authorization: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) frame: Option<Value>,
}

impl Seen {
    /// `inbox tools/call`, `events`, …
    pub(crate) fn name(&self) -> String {
        match self.method() {
            Some(method) => format!("{} {method}", self.route),
            None => self.route.clone(),
        }
    }

    pub(crate) fn method(&self) -> Option<&str> {
        self.frame.as_ref()?["method"].as_str()
    }
}

/// Which request an [`Act`] is for: `inbox tools/call` or `events`, and which one of them, from 1.
struct Rule {
    name: String,
    nth: Option<usize>,
    act: Act,
}

type Calls = Box<dyn FnMut(&str, &Map<String, Value>, Option<&Value>) -> Value + Send>;

struct Inner {
    started: Instant,
    rules: Vec<Rule>,
    seen: Vec<Seen>,
    tools: Value,
    calls: Calls,
    /// Answers that are given once each instead of the surface's own, by method.
    replaced: BTreeMap<String, VecDeque<Value>>,
    mailboxes: BTreeMap<String, VecDeque<Value>>,
    last_answer: Value,
    cursor: u64,
    subscribers: u64,
}

/// Counts a stream while it is open.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Clone)]
pub(crate) struct Relay {
    open_streams: Arc<AtomicUsize>,
    inner: Arc<Mutex<Inner>>,
    mail: Arc<Notify>,
    pub(crate) socket: PathBuf,
    _dir: Arc<tempfile::TempDir>,
}

/// A tool's definition with a plain schema.
pub(crate) fn tool(name: &str) -> Value {
    json!({ "name": name, "description": format!("{name} of the board."), "inputSchema": { "type": "object" } })
}

/// A result with one text.
pub(crate) fn result(text: &str) -> Value {
    json!({ "result": { "content": [{ "type": "text", "text": text }] } })
}

/// A result with one text and a revision.
pub(crate) fn minted(text: &str, revision: &str) -> Value {
    json!({ "result": {
        "content": [{ "type": "text", "text": text }],
        "_meta": { "revision": revision },
    } })
}

impl Relay {
    pub(crate) async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("relay.sock");
        let listener = tokio::net::UnixListener::bind(&socket).unwrap();
        let relay = Self {
            open_streams: Arc::default(),
            inner: Arc::new(Mutex::new(Inner {
                started: Instant::now(),
                rules: Vec::new(),
                seen: Vec::new(),
                tools: json!([tool("screen_read"), tool("screen_move"), tool("changes_since")]),
                calls: Box::new(|tool, _, _| result(tool)),
                replaced: BTreeMap::new(),
                mailboxes: BTreeMap::new(),
                last_answer: Value::Null,
                cursor: 0,
                subscribers: 0,
            })),
            mail: Arc::new(Notify::new()),
            socket,
            _dir: Arc::new(dir),
        };
        let app = Router::new().fallback(serve).with_state(relay.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        relay
    }

    /// What `tools/call` answers: an object with `result` or `error`, or null for silence.
    pub(crate) fn calls(
        self,
        calls: impl FnMut(&str, &Map<String, Value>, Option<&Value>) -> Value + Send + 'static,
    ) -> Self {
        self.inner.lock().unwrap().calls = Box::new(calls);
        self
    }

    pub(crate) fn tools(self, tools: Value) -> Self {
        self.inner.lock().unwrap().tools = tools;
        self
    }

    /// Does `act` on every request with this name.
    pub(crate) fn on(&self, name: &str, act: Act) -> &Self {
        self.rule(name, None, act)
    }

    /// Does `act` on the `nth` request with this name, counted from now.
    pub(crate) fn on_nth(&self, name: &str, nth: usize, act: Act) -> &Self {
        let before = self.seen().iter().filter(|seen| seen.name() == name).count();
        self.rule(name, Some(before + nth), act)
    }

    fn rule(&self, name: &str, nth: Option<usize>, act: Act) -> &Self {
        self.inner.lock().unwrap().rules.push(Rule { name: name.to_owned(), nth, act });
        self
    }

    /// Answers the next requests with this method so: objects with `result` or `error`.
    pub(crate) fn replace_answers(&self, method: &str, answers: Vec<Value>) {
        self.inner.lock().unwrap().replaced.insert(method.to_owned(), answers.into());
    }

    pub(crate) fn open_streams(&self) -> usize {
        self.open_streams.load(Ordering::SeqCst)
    }

    pub(crate) fn be_well(&self) {
        self.inner.lock().unwrap().rules.clear();
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.inner.lock().unwrap().seen.clone()
    }

    pub(crate) fn forget(&self) {
        self.inner.lock().unwrap().seen.clear();
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.seen().iter().map(Seen::name).collect()
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.names().iter().filter(|seen| *seen == name).count()
    }

    /// The pins of every call so far.
    pub(crate) fn pins(&self) -> Vec<Value> {
        let calls = self.seen();
        let calls = calls.iter().filter(|seen| seen.method() == Some("tools/call"));
        calls
            .map(|seen| seen.frame.as_ref().unwrap()["params"]["_meta"]["revision"].clone())
            .collect()
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        Client::builder()
            .trust(TrustPolicy::allowing(["screen_read", "screen_move", "changes_since"]))
            .egress(
                EgressPolicy::builder()
                    .allow_unverified(true)
                    .allowed_hosts(["localhost"])
                    .allowed_ports([80])
                    .build()
                    .unwrap(),
            )
            .unix_socket(&self.socket)
    }
}

async fn serve(
    State(relay): State<Relay>,
    Query(query): Query<BTreeMap<String, String>>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let path = head.uri.path().to_owned();
    let route = path.rsplit('/').next().unwrap_or_default().to_owned();
    let header =
        |name: &str| head.headers.get(name).map(|value| value.to_str().unwrap_or("?").to_owned());
    let frame = serde_json::from_slice::<Value>(&body).ok();
    let seen = Seen {
        at_ms: u64::try_from(relay.inner.lock().unwrap().started.elapsed().as_millis()).unwrap(),
        route: route.clone(),
        path,
        authorization: header("authorization"),
        headers: head
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or("?").to_owned()))
            .collect(),
        frame: frame.clone(),
        query: query.clone(),
    };
    let act = {
        let mut inner = relay.inner.lock().unwrap();
        let name = seen.name();
        inner.seen.push(seen);
        let nth = inner.seen.iter().filter(|seen| seen.name() == name).count();
        let rule = inner
            .rules
            .iter()
            .find(|rule| rule.name == name && rule.nth.is_none_or(|wanted| wanted == nth));
        rule.map(|rule| rule.act.clone())
    };
    match act {
        // A hot loop on a paused clock has no end of its own.
        _ if relay.inner.lock().unwrap().seen.len() > 2000 => answer(500, "", Body::empty()),
        Some(Act::Answer(status, media_type, body)) => answer(status, media_type, body.into()),
        Some(Act::Stream { parts, then_hold }) => relay.stream(parts, then_hold),
        Some(Act::Hang) => pending().await,
        Some(Act::Late(by)) => {
            sleep(by).await;
            relay.serve(&route, &query, frame).await
        }
        None => relay.serve(&route, &query, frame).await,
    }
}

fn answer(status: u16, media_type: &str, body: Body) -> Response {
    let mut response = Response::builder().status(status);
    if !media_type.is_empty() {
        response = response.header("content-type", media_type);
    }
    response.body(body).unwrap()
}

impl Relay {
    async fn serve(
        &self,
        route: &str,
        query: &BTreeMap<String, String>,
        frame: Option<Value>,
    ) -> Response {
        let client = query.get("client").cloned().unwrap_or_default();
        let wait = query.get("wait").and_then(|wait| wait.parse().ok()).unwrap_or(0);
        match route {
            "inbox" => {
                if let Some(frame) = frame {
                    self.ask_surface(&client, &frame);
                }
                answer(202, "application/json", "{\"ok\":true}".into())
            }
            "events" => self.events(client),
            "outbox" => {
                let frames = self.mail_within(&client, Duration::from_secs(wait)).await;
                let cursor = {
                    let mut inner = self.inner.lock().unwrap();
                    inner.cursor += frames.len() as u64;
                    inner.cursor
                };
                let body = json!({ "frames": frames, "cursor": cursor.to_string() });
                answer(200, "application/json", body.to_string().into())
            }
            "poll" => {
                let subscriber = match query.get("subscriber") {
                    Some(subscriber) => subscriber.clone(),
                    None => {
                        let mut inner = self.inner.lock().unwrap();
                        inner.subscribers += 1;
                        format!("{:016x}", inner.subscribers)
                    }
                };
                let frames = self.mail_within(&client, Duration::from_millis(wait)).await;
                let frames: Vec<String> = frames.iter().map(Value::to_string).collect();
                let body = json!({ "subscriber": subscriber, "frames": frames });
                answer(200, "application/json", body.to_string().into())
            }
            "unregister" => answer(200, "application/json", "{\"ok\":true}".into()),
            _ => answer(404, "application/json", "{\"error\":\"not_found\"}".into()),
        }
    }

    fn ask_surface(&self, client: &str, frame: &Value) {
        let mut inner = self.inner.lock().unwrap();
        let Some(id) = frame.get("id") else { return };
        let params = &frame["params"];
        let method = frame["method"].as_str().unwrap();
        let replaced = inner.replaced.get_mut(method).and_then(VecDeque::pop_front);
        let mut reply = match method {
            _ if replaced.is_some() => replaced.unwrap(),
            "initialize" => json!({ "result": {
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": "board", "version": "1" },
            } }),
            "tools/list" => json!({ "result": { "tools": inner.tools.clone() } }),
            "tools/call" => {
                let tool = params["name"].as_str().unwrap();
                let arguments = params["arguments"].as_object().unwrap();
                (inner.calls)(tool, arguments, params["_meta"].get("revision"))
            }
            _ => json!({ "error": { "code": -32601, "message": "no such method" } }),
        };
        if reply.is_null() {
            return;
        }
        reply["jsonrpc"] = json!("2.0");
        if reply.get("id").is_none() {
            reply["id"] = id.clone();
        }
        inner.last_answer = reply.clone();
        inner.mailboxes.entry(client.to_owned()).or_default().push_back(reply);
        self.mail.notify_waiters();
    }

    fn take_mail(&self, client: &str) -> Vec<Value> {
        let mut inner = self.inner.lock().unwrap();
        inner.mailboxes.get_mut(client).map(|mail| mail.drain(..).collect()).unwrap_or_default()
    }

    async fn mail_within(&self, client: &str, wait: Duration) -> Vec<Value> {
        let some = async {
            loop {
                let notified = self.mail.notified();
                let mail = self.take_mail(client);
                if !mail.is_empty() {
                    return mail;
                }
                notified.await;
            }
        };
        let found = self.take_mail(client);
        if !found.is_empty() || wait.is_zero() {
            return found;
        }
        timeout(wait, some).await.unwrap_or_default()
    }

    fn events(&self, client: String) -> Response {
        self.open_streams.fetch_add(1, Ordering::SeqCst);
        let relay = (self.clone(), Open(Arc::clone(&self.open_streams)));
        let first = stream::iter([Bytes::from("retry: 2000\n\n")]);
        let frames = stream::unfold(relay, move |(relay, open)| {
            let client = client.clone();
            async move {
                let mail = relay.mail_within(&client, Duration::from_secs(100_000)).await;
                let text: String =
                    mail.iter().map(|frame| format!("event: mcp\ndata: {frame}\n\n")).collect();
                Some((Bytes::from(text), (relay, open)))
            }
        });
        let body = Body::from_stream(first.chain(frames).map(Ok::<_, Infallible>));
        answer(200, "text/event-stream", body)
    }

    fn stream(&self, parts: Vec<Part>, then_hold: bool) -> Response {
        let relay = self.clone();
        let parts = VecDeque::from(parts);
        let body = stream::unfold((relay, parts), move |(relay, mut parts)| async move {
            loop {
                match parts.pop_front() {
                    Some(Part::Wait(time)) => sleep(time).await,
                    Some(Part::Bytes(bytes)) => {
                        return Some((Ok::<_, Infallible>(Bytes::from(bytes)), (relay, parts)));
                    }
                    Some(Part::Flood(text)) => {
                        let bytes = Bytes::from(text.clone());
                        parts.push_front(Part::Flood(text));
                        return Some((Ok(bytes), (relay, parts)));
                    }
                    Some(Part::LastAnswer) => {
                        let answer = relay.inner.lock().unwrap().last_answer.to_string();
                        return Some((Ok(Bytes::from(answer)), (relay, parts)));
                    }
                    None if then_hold => pending::<()>().await,
                    None => return None,
                }
            }
        });
        answer(200, "text/event-stream", Body::from_stream(body))
    }
}

/// A client, attached.
pub(crate) struct Seat {
    pub(crate) client: Client,
    pub(crate) owner: Owner,
    pub(crate) attachment: Attachment,
}

impl Seat {
    pub(crate) async fn take(builder: ClientBuilder) -> Self {
        let client = builder.build().unwrap();
        let owner = Owner::new("owner-1");
        let attachment = client.attach(&owner, invitation(), participant()).await.unwrap();
        Self { client, owner, attachment }
    }

    pub(crate) async fn call(
        &self,
        tool: &str,
    ) -> Result<relay_client::CallResult, relay_client::Error> {
        self.client.call(&self.owner, &self.attachment.id, tool, &Map::new()).await
    }

    pub(crate) async fn status(&self) -> Attachment {
        self.client.status(&self.owner, &self.attachment.id).await.unwrap()
    }
}

pub(crate) fn invitation() -> Invitation {
    Invitation::builder()
        .relay_base_url("http://localhost/relay")
        .session_id(SESSION)
        .token(TOKEN)
        .surface_id("board")
        .application("planner")
        .build()
        .unwrap()
}

pub(crate) fn participant() -> Participant {
    Participant::new("agent-1", "Ada", "#336699")
}

/// Both transports, for tests that hold on either.
pub(crate) fn transports() -> [Transport; 3] {
    [
        Transport::sse(),
        Transport::long_poll(LongPoll::readme()),
        Transport::long_poll(LongPoll::public()),
    ]
}

/// Runs a case on a paused clock, with an end to it.
pub(crate) fn run<T>(case: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async { timeout(Duration::from_secs(3600), case).await.unwrap() })
}

/// Runs a case on the real clock: a paused one runs ahead of another process.
pub(crate) fn run_real<T>(case: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(case)
}

pub(crate) fn seeded(seed: u64) -> Entropy {
    use rand_chacha::rand_core::SeedableRng;
    Entropy::from_rng(rand_chacha::ChaCha8Rng::seed_from_u64(seed))
}
