#!/usr/bin/env python3
"""An adapter for the public package `prism-ai-human-plus`, version 0.2.0.

Needs Python 3.10 or later:

    pip install -r requirements.txt
    relay-testbed run --client "python3 prism_ai_human_plus.py"

The package brings the protocol; its host brings the HTTP client, behind the package's `RelayHttp`.
Two things here are therefore the host's half and not the package's, and `hello` claims neither:

* the deadline of an exchange. The package has none, and without one a lost answer would park the
  adapter for ever. `Host.exchange` gives both legs of an exchange one deadline, `timeout_ms`;
* the way through a proxy. The package asks that one be declared; routing is `RelayHttp`'s.

What the client raises is told by its class. Only the package's base class needs its words read,
because 0.2.0 raises it for a dozen unlike failures; `BY_WORDS` lists them. What is raised below
`RelayHttp`, by the HTTP engine, is a failure of the wire and never a "foreign exception": the host
half raised it. A foreign exception is anything else that leaves the package and is none of its
errors.
"""

from __future__ import annotations

import codecs
import json
import logging
import platform
import queue
import ssl
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any, TypeAlias

import httpcore
import prism_human_plus as package

PROTOCOL = 1

HELLO = {
    "protocol": PROTOCOL,
    "name": "prism-ai-human-plus",
    "version": version("prism-ai-human-plus"),
    "language": f"Python {platform.python_version()}",
    # Not claimed: transport-long-poll, poll-*, subscribe-first, timeout, egress-proxy,
    # durable-store (the package has none); set-aside, happened (it does not tell); virtual-clock.
    "capabilities": [
        "transport-sse",
        "auth-query",
        "auth-bearer",
        "trust-allow",
        "trust-every-tool",
        "trust-undeclared",
        "trust-pins",
        "conflict-detection",
        "require-revision",
        "change-feed",
        "announce",
        "max-result-bytes",
        "max-frame-bytes",
        "egress-policy",
        "tls-roots",
        "owner",
        "several-agents",
        "concurrent-agents",
        "shared-store",
        "log-capture",
    ],
    "cannot_honour": [],
    "timeout_step_ms": 1,
}


# -- the host's half: HTTP ---------------------------------------------------------------------

#: No answer to a POST means anything past this many bytes.
POST_BODY_BYTES = 1 << 20


class WireFailed(Exception):
    """The HTTP engine failed below `RelayHttp`. `code` is the testbed's word for how."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause) or type(cause).__name__)
        timed_out = isinstance(cause, httpcore.TimeoutException)
        self.code = "timeout" if timed_out else "transport_error"
        self.native = f"{type(cause).__module__.split('.')[0]}.{type(cause).__name__}"


class Deadline:
    """When the running exchange must be over. One an agent; agents run one thing at a time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = 0.0

    def begin(self) -> None:
        self._end = time.monotonic() + self._seconds

    def left(self, expired: type[httpcore.TimeoutException]) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise expired("the exchange's deadline has passed")
        return left


class TimedStream(httpcore.NetworkStream):
    """A connection whose every read and write ends with the exchange, however slowly bytes drip."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.left(httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._deadline.left(httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = self._deadline.left(httpcore.ConnectTimeout)
        secured = self._inner.start_tls(ssl_context, server_hostname, left)
        return TimedStream(secured, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class TimedNetwork(httpcore.SyncBackend):
    """Connects within the deadline, and hands out connections that know it."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.NetworkStream:
        left = self._deadline.left(httpcore.ConnectTimeout)
        plain = super().connect_tcp(host, port, left, local_address, socket_options)
        return TimedStream(plain, self._deadline)


class Http:
    """The package's `RelayHttp`, on httpcore: it follows no redirect and reads no environment.

    Connections are reused from one request to the next, an event stream excepted: the package
    leaves a stream when it has its answer, and then the connection ends with it.
    """

    def __init__(self, deadline: Deadline, proxy: str | None, roots_pem: str | None) -> None:
        # Without roots of its own a context is made when the first TLS connection is: it costs
        # tens of milliseconds, and most cases speak plain HTTP.
        context = None if roots_pem is None else ssl.create_default_context(cadata=roots_pem)
        self._pool = httpcore.ConnectionPool(
            ssl_context=context,
            proxy=None if proxy is None else httpcore.Proxy(proxy),
            network_backend=TimedNetwork(deadline),
            keepalive_expiry=60.0,
        )
        self._open: httpcore.Response | None = None

    def post(self, url: str, headers: Mapping[str, str], body: str) -> package.RelayResponse:
        response = self._request("POST", url, headers, body.encode("utf-8", "surrogatepass"))
        try:
            received = bytearray()
            for chunk in self._chunks(response):
                received += chunk
                if len(received) > POST_BODY_BYTES:
                    break
        finally:
            response.close()
        return package.RelayResponse(response.status, received.decode("utf-8", "replace"))

    def stream(self, url: str, headers: Mapping[str, str]) -> package.RelayStream:
        response = self._request("GET", url, headers, b"")
        self._open = response
        return package.RelayStream(response.status, self._text(response))

    def leave_stream(self) -> None:
        """Closes the event stream, whether or not somebody read it to its end."""
        response, self._open = self._open, None
        if response is not None:
            response.close()

    def close(self) -> None:
        self._pool.close()

    def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> httpcore.Response:
        named = [(name.encode("ascii"), value.encode("utf-8")) for name, value in headers.items()]
        host = httpcore.URL(url)
        named.insert(0, (b"Host", host.host + (b":%d" % host.port if host.port else b"")))
        if method == "POST":
            named.append((b"Content-Length", b"%d" % len(body)))
        try:
            return self._pool.handle_request(
                httpcore.Request(method, url, headers=named, content=body)
            )
        except ENGINE_FAILURES as failure:
            raise WireFailed(failure) from failure

    def _chunks(self, response: httpcore.Response) -> Iterator[bytes]:
        try:
            yield from response.iter_stream()
        except ENGINE_FAILURES as failure:
            raise WireFailed(failure) from failure

    def _text(self, response: httpcore.Response) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for chunk in self._chunks(response):
            text = decoder.decode(chunk)
            if text:
                yield text
        rest = decoder.decode(b"", final=True)
        if rest:
            yield rest


#: Everything that httpcore raises for what happens on the wire.
ENGINE_FAILURES = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)


class Host:
    """The package's transport with the host's half around it: one deadline an exchange."""

    def __init__(self, inner: package.RelayTransport, http: Http, deadline: Deadline) -> None:
        self._inner = inner
        self._http = http
        self._deadline = deadline

    def exchange(self, attachment: package.SurfaceAttachment, frame: dict[str, Any]) -> Any:
        self._deadline.begin()
        try:
            return self._inner.exchange(attachment, frame)
        finally:
            self._http.leave_stream()

    def notify(self, attachment: package.SurfaceAttachment, frame: dict[str, Any]) -> None:
        self._deadline.begin()
        self._inner.notify(attachment, frame)

    def detach(self, attachment: package.SurfaceAttachment) -> None:
        self._deadline.begin()
        self._inner.detach(attachment)


# -- agents ------------------------------------------------------------------------------------


class NotSupported(Exception):
    """The testbed asked for what `hello` does not offer."""


class Agent:
    """One attached agent: a manager of its own over a store that may be shared."""

    def __init__(self, config: dict[str, Any], store: package.AttachmentStore) -> None:
        if config["transport"] != "sse" or config["subscribe_first"]:
            raise NotSupported("the package has one transport, which posts before it subscribes")
        egress = config["egress"]
        deadline = Deadline(config["timeout_ms"] / 1000)
        self._http = Http(deadline, egress["proxy"], config["tls_roots_pem"])
        transport = package.SsePostRelayTransport(
            self._http,
            allowed_relay_hosts=egress["allowed_hosts"],
            allowed_relay_ports=egress["allowed_ports"],
            max_frame_bytes=config["max_frame_bytes"],
            egress_proxy=egress["proxy"],
            allow_unverified_egress=egress["allow_unverified"],
            auth_mode=config["auth"],
        )
        self._insecure_loopback = egress["allow_unverified"]
        self._manager = package.HumanPlusManager(
            Host(transport, self._http, deadline),
            store,
            trust_from(config["trust"]),
            package.ResultGuard(config["max_result_bytes"]),
            require_revision=config["require_revision"],
        )
        self._id = ""

    def attach(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["resume"] is not None:
            attachment = self._manager.status(request["owner"], request["resume"])
        else:
            attachment = self._manager.attach(
                request["owner"],
                package.SurfaceInvitation(
                    **request["invitation"], allow_insecure_loopback=self._insecure_loopback
                ),
                package.Participant(**request["participant"]),
            )
        self._id = attachment.id
        return {"attachment": attachment.id, "client": attachment.client_id}

    def tools(self, request: dict[str, Any]) -> dict[str, Any]:
        tools = self._manager.tools(request["owner"], self._id)
        return {
            "tools": [
                {"name": tool.name, "description": tool.description, "digest": tool.digest()}
                for tool in tools
            ]
        }

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        arguments = request["arguments"]
        return {"text": self._manager.call(request["owner"], self._id, request["tool"], arguments)}

    def changes_since(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = self._manager.changes_since(request["owner"], self._id)
        return {
            "feed": answer.feed.value,
            "complete": answer.complete,
            "answered": answer.answered(),
            "nothing_changed": answer.nothing_changed(),
            "changes": [
                {
                    "handle": change.handle,
                    "kind": change.kind.value,
                    "actor": change.actor.value,
                    "label": change.label or None,
                }
                for change in answer.changes
            ],
            "defer_to": [change.handle for change in answer.defer_to()],
            "handles": answer.handles(),
            "revision": None if answer.revision is None else answer.revision.token,
        }

    def conflict_detection(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"state": self._manager.conflict_detection(request["owner"], self._id).value}

    def announce(self, request: dict[str, Any]) -> dict[str, Any]:
        activity = package.Activity(
            request["action"],
            request["target"],
            package.Priority(request["priority"]),
            request["correlation_id"],
        )
        self._manager.announce(request["owner"], self._id, activity)
        return {}

    def status(self, request: dict[str, Any]) -> dict[str, Any]:
        attachment = self._manager.status(request["owner"], self._id)
        return {
            "state": attachment.state.value,
            "revision": None if attachment.revision is None else attachment.revision.token,
            "conflict_detection": attachment.conflict_detection.value,
            "change_feed": attachment.change_feed.value,
            "client": attachment.client_id,
        }

    def detach(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"state": self._manager.detach(request["owner"], self._id).state.value}

    def close(self) -> None:
        self._http.close()


def trust_from(trust: dict[str, Any]) -> package.TrustPolicy:
    if trust["undeclared"]:
        return package.TrustPolicy.undeclared()
    if trust["every_tool"]:
        return package.TrustPolicy.every_tool(trust["pins"])
    return package.TrustPolicy.allowing(trust["allow"], trust["pins"])


# -- errors ------------------------------------------------------------------------------------

#: By class, where the class says which failure it is. `AttachmentUnauthorized` is also what the
#: package raises when its own egress or owner policy refuses; its users cannot tell the two apart
#: by class either, so the adapter does not.
BY_CLASS: list[tuple[type[Exception], str]] = [
    (package.AttachmentUnauthorized, "unauthorized"),
    (package.SurfaceUnavailable, "gone"),
    (package.SurfaceChangedUnderYou, "surface_changed_under_you"),
    # Internal by its documentation, yet it escapes when a surface calls a listing stale.
    (package.SurfaceRevisionRejected, "surface_changed_under_you"),
    (package.ConflictDetectionUnavailable, "conflict_detection_unavailable"),
    (package.ToolRefused, "tool_refused"),
]

#: By its first words, where the package raises its base class and offers nothing else.
BY_WORDS: list[tuple[str, str]] = [
    ("Fancy relay failed with HTTP", "transport_error"),
    ("Fancy relay stream ended", "transport_error"),
    ("Fancy surface returned a JSON-RPC error", "tool_error"),
    # The framed text of a result with `isError`.
    ("<untrusted-tool-output", "tool_error"),
    ("Human+ attachment is [", "not_attached"),
    ("Human+ attachment does not exist", "not_attached"),
    ("Human+ owner must be", "policy_refused"),
    ("A Human+ invitation requires", "policy_refused"),
    ("Human+ relay session id", "policy_refused"),
    ("Human+ relay token", "policy_refused"),
]


def error_of(failure: Exception) -> dict[str, Any]:
    """A failure of an operation, in the testbed's words and the package's own."""
    message = str(failure)
    if isinstance(failure, WireFailed):
        return {"code": failure.code, "native": failure.native, "message": message}
    native = type(failure).__name__
    if isinstance(failure, package.HumanPlusError):
        by_class = (code for kind, code in BY_CLASS if isinstance(failure, kind))
        by_words = (code for words, code in BY_WORDS if message.startswith(words))
        # What remains is the package's word for "I cannot use this answer".
        code = next(by_class, None) or next(by_words, None) or "protocol_error"
        error = {"code": code, "native": native, "message": message}
        if isinstance(failure, package.SurfaceChangedUnderYou):
            error["happened"] = "no"
        return error
    code = "foreign_exception" if left_the_package(failure) else "adapter_error"
    if code == "adapter_error" and not isinstance(failure, NotSupported):
        traceback.print_exception(failure)
    return {"code": code, "native": native, "message": message}


def left_the_package(failure: Exception) -> bool:
    """Whether the package let it out: the package was on the stack, and this file did not raise."""
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(failure.__traceback__)]
    return package.__file__ in files and files[-1] != __file__


# -- the protocol ------------------------------------------------------------------------------

#: What one agent's thread is to do; none ends the thread.
Work: TypeAlias = "queue.SimpleQueue[Callable[[], None] | None]"


class Adapter:
    """Answers requests. Each agent has a thread, in which it does one thing at a time."""

    def __init__(self) -> None:
        self._agents: dict[str, Agent] = {}
        self._threads: dict[str, Work] = {}
        self._stores: dict[str, package.AttachmentStore] = {}
        self._output = threading.Lock()

    def serve(self) -> None:
        for line in sys.stdin.buffer:
            request = json.loads(line)
            operation = request["op"]
            if operation in AGENT_OPERATIONS:
                self._thread(request["agent"]).put(partial(self._answer, request))
            else:
                self._answer(request)
            if operation == "shutdown":
                return

    def _answer(self, request: dict[str, Any]) -> None:
        try:
            outcome = {"ok": self._do(request)}
        except Exception as failure:  # noqa: BLE001 - telling failures apart is error_of's work
            outcome = {"error": error_of(failure)}
        line = json.dumps(sayable({"id": request["id"], **outcome}), allow_nan=False)
        with self._output:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    def _do(self, request: dict[str, Any]) -> dict[str, Any]:
        match request["op"]:
            case "hello":
                return HELLO
            case "digest":
                definition = package.ToolDefinition.from_dict(request["definition"])
                return {"digest": definition.digest()}
            case "reset":
                return self._reset()
            case "shutdown":
                return {}
            case "attach":
                return self._attach(request)
            case operation if operation in AGENT_OPERATIONS:
                agent = self._agents.get(request["agent"])
                if agent is None:
                    raise NotSupported(f"agent {request['agent']!r} was never attached")
                answer: dict[str, Any] = getattr(agent, operation)(request)
                return answer
            case operation:
                raise NotSupported(f"unknown operation {operation!r}")

    def _attach(self, request: dict[str, Any]) -> dict[str, Any]:
        previous = self._agents.pop(request["agent"], None)
        if previous is not None:
            previous.close()
        agent = Agent(request["config"], self._store(request["config"]["store"]))
        answer = agent.attach(request)
        self._agents[request["agent"]] = agent
        return answer

    def _store(self, store: dict[str, Any]) -> package.AttachmentStore:
        if store["kind"] != "memory":
            raise NotSupported("the package has a store in memory only")
        if store["path"] is None:
            return package.InMemoryAttachmentStore()
        return self._stores.setdefault(store["path"], package.InMemoryAttachmentStore())

    def _reset(self) -> dict[str, Any]:
        agents, self._agents = self._agents, {}
        threads, self._threads = self._threads, {}
        self._stores = {}
        for thread in threads.values():
            thread.put(None)
        for agent in agents.values():
            agent.close()
        return {}

    def _thread(self, agent: str) -> Work:
        work = self._threads.get(agent)
        if work is None:
            work = self._threads[agent] = queue.SimpleQueue()
            threading.Thread(target=run, args=(work,), daemon=True).start()
        return work


AGENT_OPERATIONS = frozenset(
    {
        "attach",
        "tools",
        "call",
        "changes_since",
        "conflict_detection",
        "announce",
        "status",
        "detach",
    }
)


def run(work: Work) -> None:
    """Does what it is given until it is given nothing."""
    while (task := work.get()) is not None:
        task()


def sayable(value: Any) -> Any:
    """`value` with every lone surrogate replaced: JSON can spell one, and few can read it."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [sayable(item) for item in value]
    if isinstance(value, dict):
        return {key: sayable(item) for key, item in value.items()}
    return value


def main() -> None:
    # Whatever the package logs is evidence (AUTH-2). The engine's own lines are not the package's.
    logging.basicConfig(stream=sys.stderr, level=logging.DEBUG)
    logging.getLogger("httpcore").setLevel(logging.WARNING)
    Adapter().serve()


if __name__ == "__main__":
    main()
