//! How an agent of a scenario is seated at the surface: its configuration and its invitation.

use super::conditions::Clock;
use crate::language::scenario::{
    AS_OFFERED, AgentSpec, ClientSpec, EgressSpec, InvitationSpec, Scenario, TrustSpec,
};
use crate::subject::protocol::{
    Attach, Config, Egress, Invitation, Participant, Poll, PollDialect, Secret, Store, StoreKind,
    Trust,
};
use relay_simulator::journal::Journal;
use relay_simulator::surface::{Surface, SurfaceSpec};
use relay_simulator::wire::Endpoint;
use std::sync::OnceLock;

/// The owner of agents that name none.
const OWNER: &str = "owner";

/// The session that a case is played in.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// Its id.
    pub(crate) id: String,
    /// Its token.
    pub(crate) token: String,
}

/// Everything that seating an agent needs to know.
pub(crate) struct Seating<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) session: &'a Session,
    pub(crate) clock: Clock,
    /// The smallest step of the client's timeout, in milliseconds.
    pub(crate) timeout_step_ms: u64,
}

impl Seating<'_> {
    /// The owner that an agent's operations are done for.
    pub(crate) fn owner(&self, agent: &str) -> String {
        self.spec(agent).and_then(|spec| spec.owner.clone()).unwrap_or_else(|| OWNER.to_owned())
    }

    /// The agent whose attachment this one works on.
    pub(crate) fn works_on(&self, agent: &str) -> Option<&str> {
        self.spec(agent)?.works_on.as_deref()
    }

    /// The `attach` of an agent. Pins to [`AS_OFFERED`] are still words; see
    /// [`Seating::as_offered`].
    pub(crate) fn attach(&self, agent: &str, resume: Option<String>) -> Attach {
        let spec = self.spec(agent).cloned().unwrap_or_default();
        Attach {
            agent: agent.to_owned(),
            owner: self.owner(agent),
            config: self.config(agent),
            invitation: self.invitation(agent),
            participant: Participant {
                id: agent.to_owned(),
                name: spec.name.unwrap_or_else(|| agent.to_owned()),
                color: spec.color.unwrap_or_else(|| "#7c3aed".to_owned()),
            },
            resume,
        }
    }

    /// The invitation that an agent is given: the truth, and what the scenario says otherwise.
    fn invitation(&self, agent: &str) -> Invitation {
        let own = self.spec(agent).and_then(|spec| spec.client.as_ref());
        let said = pick(own, &self.scenario.client, |client| client.invitation.as_ref());
        let InvitationSpec { relay, session, token } = said.cloned().unwrap_or_default();
        let base_url = &self.endpoint.base_url;
        let (_, authority) = base_url.split_once("://").unwrap_or(("http", base_url));
        Invitation {
            relay_base_url: relay
                .map_or_else(|| base_url.clone(), |url| url.replace("$authority", authority)),
            session_id: session.unwrap_or_else(|| self.session.id.clone()),
            token: Secret::new(token.as_ref().unwrap_or(&self.session.token)),
            surface_id: self.scenario.surface.id.clone(),
            application: self.scenario.surface.application.clone(),
        }
    }

    /// The tools whose pins must still be asked from the client.
    pub(crate) fn as_offered(config: &Config) -> Vec<String> {
        let pins = config.trust.pins.iter();
        pins.filter(|(_, pin)| *pin == AS_OFFERED).map(|(tool, _)| tool.clone()).collect()
    }

    /// How an agent's client is built: the agent's own words over the scenario's, over what suits
    /// a relay on loopback.
    pub(crate) fn config(&self, agent: &str) -> Config {
        let common = &self.scenario.client;
        let own = self.spec(agent).and_then(|spec| spec.client.as_ref());
        let mut config = Config {
            trust: self.trust(pick(own, common, |client| client.trust.as_ref())),
            egress: self.egress(pick(own, common, |client| client.egress.as_ref())),
            store: self.store(agent),
            tls_roots_pem: self.endpoint.tls_root_der.as_deref().map(pem),
            ..Config::default()
        };
        let chosen = |choose: fn(&ClientSpec) -> Option<bool>| {
            own.and_then(choose).or_else(|| choose(common)).unwrap_or_default()
        };
        config.require_revision = chosen(|client| client.require_revision);
        config.subscribe_first = chosen(|client| client.subscribe_first);
        if let Some(transport) = pick(own, common, |client| client.transport.as_ref()) {
            config.transport = *transport;
        }
        if let Some(auth) = pick(own, common, |client| client.auth.as_ref()) {
            config.auth = *auth;
        }
        if let Some(bytes) = pick(own, common, |client| client.max_result_bytes.as_ref()) {
            config.max_result_bytes = *bytes;
        }
        if let Some(bytes) = pick(own, common, |client| client.max_frame_bytes.as_ref()) {
            config.max_frame_bytes = *bytes;
        }
        if let Some(timeout) = pick(own, common, |client| client.timeout.as_ref()) {
            config.timeout_ms = millis(timeout.get());
        }
        if let Some(poll) = pick(own, common, |client| client.poll.as_ref()) {
            let path = match poll.dialect {
                PollDialect::Readme => "outbox",
                PollDialect::Public => "poll",
            };
            config.poll = Poll {
                path: poll.path.clone().unwrap_or_else(|| path.to_owned()),
                dialect: poll.dialect,
                wait_ms: poll.wait.map_or(Poll::default().wait_ms, |wait| millis(wait.get())),
            };
        }
        self.scale(&mut config);
        config
    }

    /// The client's own durations run on the case's clock, like everything else in it.
    fn scale(&self, config: &mut Config) {
        if self.clock == Clock::Virtual {
            return;
        }
        let scaled = |ms: u64| millis(self.clock.scaled(std::time::Duration::from_millis(ms)));
        let step = self.timeout_step_ms.max(1);
        config.timeout_ms = scaled(config.timeout_ms).div_ceil(step) * step;
        config.poll.wait_ms = scaled(config.poll.wait_ms);
    }

    fn trust(&self, spec: Option<&TrustSpec>) -> Trust {
        match spec {
            Some(TrustSpec::Undeclared) => Trust { undeclared: true, ..Trust::default() },
            Some(TrustSpec::EveryTool) => Trust { every_tool: true, ..Trust::default() },
            Some(TrustSpec::Allow(list)) => {
                Trust { allow: list.allow.clone(), pins: list.pins.clone(), ..Trust::default() }
            }
            None => Trust { allow: stock_tools(&self.scenario.surface), ..Trust::default() },
        }
    }

    fn egress(&self, spec: Option<&EgressSpec>) -> Egress {
        let spec = spec.cloned().unwrap_or_default();
        let (host, port) = host_and_port(&self.endpoint.base_url);
        Egress {
            proxy: None,
            allow_unverified: spec.allow_unverified.unwrap_or(true),
            allowed_hosts: spec.allowed_hosts.unwrap_or_else(|| vec![host]),
            allowed_ports: spec.allowed_ports.unwrap_or_else(|| vec![port]),
        }
    }

    /// Agents that work on one attachment share a store; the others have one of their own.
    fn store(&self, agent: &str) -> Store {
        let host = self.works_on(agent).unwrap_or(agent);
        let is_shared =
            self.scenario.agents.values().any(|other| other.works_on.as_deref() == Some(host));
        Store { kind: StoreKind::Memory, path: is_shared.then(|| format!("of-{host}")) }
    }

    fn spec(&self, agent: &str) -> Option<&AgentSpec> {
        self.scenario.agents.get(agent)
    }
}

/// The tools of the board that an agent may have by default: all of them but the one that belongs
/// to people, and none of the scenario's own.
fn stock_tools(spec: &SurfaceSpec) -> Vec<String> {
    static BOARD: OnceLock<Vec<String>> = OnceLock::new();
    let board = BOARD.get_or_init(|| {
        let spec = SurfaceSpec::default();
        let feed = spec.changes.tool.name();
        let surface = Surface::new(&spec, Journal::forgetful());
        let definitions = surface.map(|surface| surface.definitions()).unwrap_or_default();
        let names = definitions.iter().filter_map(|tool| tool["name"].as_str());
        names
            .filter(|name| *name != "screen_confirm" && Some(*name) != feed)
            .map(str::to_owned)
            .collect()
    });
    let is_own = |name: &str| spec.tools.extra.iter().any(|extra| extra.name == name);
    let is_hidden = |name: &str| spec.tools.hide.iter().any(|hidden| hidden == name);
    let names = board.iter().map(String::as_str).chain(spec.changes.tool.name());
    names.filter(|name| !is_own(name) && !is_hidden(name)).map(str::to_owned).collect()
}

fn pick<'a, T>(
    own: Option<&'a ClientSpec>,
    common: &'a ClientSpec,
    choose: impl Fn(&'a ClientSpec) -> Option<&'a T>,
) -> Option<&'a T> {
    own.and_then(&choose).or_else(|| choose(common))
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Host and port of a base URL that the simulator made.
fn host_and_port(url: &str) -> (String, u16) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let authority = rest.split('/').next().unwrap_or_default();
    let default = if scheme == "https" { 443 } else { 80 };
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            (host.to_owned(), port.parse().unwrap_or(default))
        }
        _ => (authority.to_owned(), default),
    }
}

fn pem(der: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_tells_its_host_and_port() {
        for (url, host, port) in [
            ("http://127.0.0.1", "127.0.0.1", 80),
            ("http://127.0.0.1:8080", "127.0.0.1", 8080),
            ("https://localhost:4433/relay", "localhost", 4433),
            ("https://localhost", "localhost", 443),
        ] {
            assert_eq!(host_and_port(url), (host.to_owned(), port), "{url}");
        }
    }
}
