#!/usr/bin/env node
/**
 * A template of an adapter in TypeScript, without dependencies.
 *
 * It speaks the protocol and holds no client: it claims no capability, so nothing is run against
 * it, and every operation is answered with `adapter_error`. To make it yours, put a client into
 * `Agent`, claim what that client can do in `HELLO`, and sort its errors in `errorOf`.
 *
 *     node template.ts                 Node 22.18 or later, which strips types by itself
 *     npx tsx template.ts              Node 20
 *     relay-testbed adapter check "node template.ts"
 */

import { createInterface } from "node:readline";

const PROTOCOL = 1;

/** What the client is and can do. Ask the installed package for its name and version. */
const HELLO = {
  protocol: PROTOCOL,
  name: "template",
  version: "0.0.0",
  language: `TypeScript (Node ${process.versions.node})`,
  capabilities: [] as string[],
  cannot_honour: [] as string[],
  timeout_step_ms: 1,
};

type Code =
  | "unauthorized"
  | "gone"
  | "surface_changed_under_you"
  | "conflict_detection_unavailable"
  | "tool_refused"
  | "policy_refused"
  | "tool_error"
  | "protocol_error"
  | "transport_error"
  | "timeout"
  | "not_attached"
  | "foreign_exception"
  | "adapter_error";

type Failure = { code: Code; native: string; message: string; happened?: "no" | "yes" | "unknown" };

type Config = {
  transport: "sse" | "long-poll";
  trust: { undeclared: boolean; every_tool: boolean; allow: string[]; pins: Record<string, string> };
  auth: "query" | "bearer";
  timeout_ms: number;
  max_result_bytes: number;
  max_frame_bytes: number;
  require_revision: boolean;
  subscribe_first: boolean;
  poll: { path: string; dialect: "readme" | "public"; wait_ms: number };
  egress: {
    proxy: string | null;
    allow_unverified: boolean;
    allowed_hosts: string[];
    allowed_ports: number[];
  };
  store: { kind: "memory" | "durable"; path: string | null };
  tls_roots_pem: string | null;
};

type Attach = {
  agent: string;
  owner: string;
  config: Config;
  invitation: {
    relay_base_url: string;
    session_id: string;
    token: string;
    surface_id: string;
    application: string;
  };
  participant: { id: string; name: string; color: string };
  resume: string | null;
};

type Named = { agent: string; owner: string };
type Call = Named & { tool: string; arguments: Record<string, unknown> };
type Announce = Named & {
  action: string;
  target: string | null;
  priority: "background" | "normal" | "attention" | "blocking";
  correlation_id: string | null;
};

type Request = { id: number } & (
  | { op: "hello"; protocol: number }
  | ({ op: "attach" } & Attach)
  | ({ op: "call" } & Call)
  | ({ op: "announce" } & Announce)
  | ({ op: "tools" | "changes_since" | "conflict_detection" | "status" | "detach" } & Named)
  | { op: "digest"; definition: unknown }
  | { op: "reset" | "shutdown" }
);

/** The adapter's own failure. Never counted for or against the client. */
class NotImplemented extends Error {
  constructor(operation: string) {
    super(`not implemented: ${operation}`);
    this.name = "NotImplemented";
  }
}

/** One attached agent. Keep its client here; each method answers with the shape named above it. */
class Agent {
  /** Builds a client from the configuration and attaches it, without any network. */
  static async attach(_request: Attach): Promise<{ agent: Agent; ok: object }> {
    // ok: { attachment, client? }
    throw new NotImplemented("attach");
  }

  /** { tools: [{ name, description, digest? }], set_aside?: [{ name, why }] } */
  async tools(_request: Named): Promise<object> {
    throw new NotImplemented("tools");
  }

  /** { text, revision? } */
  async call(_request: Call): Promise<object> {
    throw new NotImplemented("call");
  }

  /** { feed, complete, answered, nothing_changed, changes, defer_to, handles, revision? } */
  async changes_since(_request: Named): Promise<object> {
    throw new NotImplemented("changes_since");
  }

  /** { state } */
  async conflict_detection(_request: Named): Promise<object> {
    throw new NotImplemented("conflict_detection");
  }

  /** {} */
  async announce(_request: Announce): Promise<object> {
    throw new NotImplemented("announce");
  }

  /** { state, revision?, conflict_detection, change_feed, client? } */
  async status(_request: Named): Promise<object> {
    throw new NotImplemented("status");
  }

  /** { state } */
  async detach(_request: Named): Promise<object> {
    throw new NotImplemented("detach");
  }
}

/** The client's own digest of a tool definition: { digest } */
function digest(_definition: unknown): object {
  throw new NotImplemented("digest");
}

/** Sorts what was thrown. Decide by class; what is none of the client's is a foreign exception. */
function errorOf(thrown: unknown): Failure {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const code: Code = error instanceof NotImplemented ? "adapter_error" : "foreign_exception";
  return { code, native: error.name, message: error.message };
}

// -- the protocol: nothing below needs to change --

const agents = new Map<string, Agent>();

async function perform(request: Request): Promise<object> {
  switch (request.op) {
    case "hello":
      return HELLO;
    case "digest":
      return digest(request.definition);
    case "reset":
      agents.clear();
      return {};
    case "shutdown":
      return {};
    case "attach": {
      agents.delete(request.agent);
      const { agent, ok } = await Agent.attach(request);
      agents.set(request.agent, agent);
      return ok;
    }
    case "call":
      return attached(request).call(request);
    case "announce":
      return attached(request).announce(request);
    case "tools":
    case "changes_since":
    case "conflict_detection":
    case "status":
    case "detach":
      return attached(request)[request.op](request);
    default:
      // A newer testbed may ask for more.
      throw new NotImplemented((request as { op: string }).op);
  }
}

function attached(request: Named & { op: string }): Agent {
  const agent = agents.get(request.agent);
  if (agent === undefined) throw new NotImplemented(`${request.op} without attach`);
  return agent;
}

/** One line of ASCII. A lone surrogate cannot be read back, so it becomes U+FFFD. */
function line(answer: object): string {
  const json = JSON.stringify(answer, (_key, value) =>
    typeof value === "string" ? value.replace(LONE_SURROGATE, "\ufffd") : value,
  );
  const ascii = json.replace(
    /[^\x00-\x7f]/g,
    (unit) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0"),
  );
  return ascii + "\n";
}

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

async function answer(request: Request): Promise<void> {
  const outcome = await perform(request).then(
    (ok) => ({ ok }),
    (thrown: unknown) => ({ error: errorOf(thrown) }),
  );
  process.stdout.write(line({ id: request.id, ...outcome }));
}

// stdout carries answers only: whatever a client prints goes to stderr.
console.log = console.info = console.debug = console.error;

// What one agent is asked is done in order; different agents need not wait for each other.
const turns = new Map<string, Promise<void>>();
const input = createInterface({ input: process.stdin, crlfDelay: Infinity });

input.on("line", (text) => {
  const request = JSON.parse(text) as Request;
  const agent = "agent" in request ? request.agent : "";
  const turn = (turns.get(agent) ?? Promise.resolve()).then(() => answer(request));
  turns.set(agent, turn);
  if (request.op === "shutdown") void turn.then(() => input.close());
});

// The end of stdin ends the adapter too, whatever a client still waits for.
input.on("close", () => {
  void Promise.resolve(turns.get("")).then(() => process.exit(0));
});
