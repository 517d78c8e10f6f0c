//! A world: one relay, one surface, the people around it, and the faults between, on one endpoint.
//!
//! - `people`: the edits that people make by themselves, when a frame passes or at a time.

mod people;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use indexmap::IndexMap;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until};

use crate::fault::{BadRule, FaultRule};
use crate::journal::{Event, Journal};
use crate::person::{Edit, Trigger, When};
use crate::relay::{Hub, RelaySpec, lock, router};
use crate::surface::{EditRefused, SpecError, Surface, SurfaceSpec};
use crate::surface_host::{Emission, SurfaceHost};
use crate::wire::{Endpoint, Server, Wire, serve, serve_at};

/// What a world is made of.
#[derive(Debug, Clone)]
pub struct WorldSpec {
    /// The stock surface; see [`Beside::surface_elsewhere`] for worlds that do without.
    pub surface: SurfaceSpec,
    /// The relay and its faults.
    pub relay: RelaySpec,
    /// The session that is open from the start.
    pub session_id: String,
    /// Its token, 16 to 128 characters.
    pub token: String,
    /// The edits that people make by themselves.
    pub people: Vec<Trigger>,
}

impl WorldSpec {
    /// Changes every duration in it, for a run on the real clock that should not take as long.
    pub fn scale(&mut self, scale: &impl Fn(Duration) -> Duration) {
        if let Some(idle) = &mut self.relay.idle_timeout {
            idle.scale(scale);
        }
        self.relay.faults.iter_mut().for_each(|fault| fault.scale(scale));
        for trigger in &mut self.people {
            match &mut trigger.when {
                When::Time(at) => at.scale(scale),
                When::Frame { on, .. } => on.scale(scale),
            }
        }
    }
}

/// What a world may have beside what its specification says.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    /// More routes on the endpoint. They are no part of the relay: no fault strikes them, and the
    /// journal does not show them.
    pub routes: Router,
    /// No stock surface: the session waits for a surface that comes over HTTP.
    pub surface_elsewhere: bool,
    /// Where to listen on TCP and TLS, in place of a free port of the loopback interface.
    pub address: Option<SocketAddr>,
}

/// Why a world could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The surface's specification contradicts itself.
    #[error("the surface cannot be built: {0}")]
    Surface(#[from] SpecError),
    /// A fault makes no sense.
    #[error("fault {} of the relay: {why}", .number + 1)]
    Fault {
        /// Its place in the list, from 0.
        number: usize,
        /// What is wrong with it.
        why: BadRule,
    },
    /// The session id or the token does not have its shape.
    #[error(
        "the relay refuses the session `{session}`: {code} (an id is 4 to 64 of `A-Za-z0-9_-`, a token 16 to 128 characters)"
    )]
    Session {
        /// The session id.
        session: String,
        /// The relay's code.
        code: &'static str,
    },
    /// The socket could not be bound.
    #[error("cannot listen for clients: {0}")]
    Listen(#[from] io::Error),
}

/// Why a person's edit was not made.
#[derive(Debug, thiserror::Error)]
pub enum WorldEditError {
    /// The world has no surface of its own.
    #[error("this world has no surface of its own to edit (its surface is elsewhere)")]
    NoSurface,
    /// The surface refused.
    #[error(transparent)]
    Refused(#[from] EditRefused),
}

/// A relay with everything around it, served on one endpoint of the current runtime.
///
/// Everything that a world started ends with it: its connections, its timers, its people.
pub struct World {
    hub: Arc<Hub>,
    surface: Option<Arc<Mutex<Surface>>>,
    surface_spec: SurfaceSpec,
    session_id: String,
    token: String,
    server: Server,
    timed: JoinSet<()>,
}

impl World {
    /// Starts a world. Every random choice in it comes from `seed`.
    ///
    /// # Errors
    ///
    /// A [`StartError`] when the specification makes no sense, or nothing can be bound.
    pub async fn start(
        spec: WorldSpec,
        wire: Wire,
        seed: u64,
        journal: Journal,
    ) -> Result<Self, StartError> {
        Self::start_beside(spec, wire, seed, journal, Beside::default()).await
    }

    /// Starts a world that has more around it.
    ///
    /// # Errors
    ///
    /// As [`World::start`].
    #[expect(clippy::unused_async, reason = "a world belongs to the runtime that starts it")]
    pub async fn start_beside(
        spec: WorldSpec,
        wire: Wire,
        seed: u64,
        journal: Journal,
        beside: Beside,
    ) -> Result<Self, StartError> {
        check(&spec.relay.faults)?;
        let surface = match beside.surface_elsewhere {
            true => None,
            false => Some(Arc::new(Mutex::new(Surface::new(&spec.surface, journal.clone())?))),
        };
        let hub = Hub::new(&spec.relay, chance(seed, FAULTS), journal);
        let mut timed = JoinSet::new();
        if let Some(surface) = &surface {
            let rng = chance(seed, PEOPLE);
            let people = people::People::new(&hub, surface, &spec.people, rng);
            hub.set_bystanders(Box::new(people));
            for trigger in spec.people {
                if let When::Time(at) = trigger.when {
                    let (hub, surface) = (Arc::clone(&hub), Arc::clone(surface));
                    let moment = Instant::now() + at.get();
                    timed.spawn(async move {
                        sleep_until(moment).await;
                        people::edit(&hub, &surface, &trigger.person, &trigger.edit);
                    });
                }
            }
        }
        let routes = router(Arc::clone(&hub)).merge(beside.routes);
        let server = match beside.address {
            Some(address) => serve_at(wire, address, routes)?,
            None => serve(wire, routes)?,
        };
        let world = Self {
            hub,
            surface,
            surface_spec: spec.surface,
            session_id: spec.session_id,
            token: spec.token,
            server,
            timed,
        };
        world.open_session()?;
        Ok(world)
    }

    fn open_session(&self) -> Result<(), StartError> {
        let opened =
            self.hub.state().registry.register(&self.session_id, &self.token, Instant::now());
        opened.map_err(|why| StartError::Session {
            session: self.session_id.clone(),
            code: why.code(),
        })?;
        if let Some(surface) = &self.surface {
            self.hub.attach(&self.session_id, Arc::clone(surface) as _);
        }
        self.hub.note_session("opened", None);
        Ok(())
    }

    /// Where clients find the relay.
    pub fn endpoint(&self) -> &Endpoint {
        self.server.endpoint()
    }

    /// A person edits the surface, and the number of the write in its history.
    ///
    /// # Errors
    ///
    /// [`WorldEditError`] when there is no such thing to edit.
    pub fn edit(&self, person: &str, edit: &Edit) -> Result<u64, WorldEditError> {
        let surface = self.surface.as_ref().ok_or(WorldEditError::NoSurface)?;
        Ok(lock(surface).edit(person, edit)?)
    }

    /// The surface's whole state: handle to fields. Empty when the surface is elsewhere.
    pub fn board(&self) -> IndexMap<String, Value> {
        self.surface.as_ref().map(|surface| lock(surface).board()).unwrap_or_default()
    }

    /// The stock surface, for what [`World::edit`] and [`World::board`] do not tell.
    pub fn surface(&self) -> Option<&Arc<Mutex<Surface>>> {
        self.surface.as_ref()
    }

    /// Ends the session: streams close, polls are released, everything after is 410.
    pub fn end_session(&self) {
        self.hub.end(&self.session_id, "ended");
    }

    /// Lets the session expire, as if nobody had used it for too long.
    pub fn expire_session(&self) {
        self.hub.end(&self.session_id, "expired");
    }

    /// Restarts the relay: every connection breaks, and everything it held in memory is gone. The
    /// surface's host registers the session again at once, under the same token.
    pub fn restart_relay(&self) {
        self.hub.forget_everything();
        self.server.cut_all();
        // The same session and token were accepted when the world began.
        if self.open_session().is_err() {
            self.hub.note(Event::Note { says: "the session could not be opened again".to_owned() });
        }
    }

    /// Takes the session's token out of use: the session lives, and nobody can enter it.
    pub fn revoke_token(&self) {
        if let Some(session) = self.hub.state().registry.get(&self.session_id) {
            session.revoke_token();
        }
        self.hub.note_session("token_revoked", None);
    }

    /// Replaces the relay's faults while it runs; their counts begin anew. Rules that come from
    /// somebody's hand are held against [`FaultRule::check`] before.
    pub fn set_faults(&self, faults: Vec<FaultRule>) {
        self.hub.set_faults(faults);
    }

    /// Tells which client an agent of a scenario is, once that is known: faults, and people who
    /// edit when a frame passes, may speak of the agent by its name.
    pub fn introduce(&self, agent: &str, client: &str) {
        self.hub.introduce(agent, client);
    }

    /// The definition of a tool as the stock surface offers it in the beginning, whether the
    /// surface has changed it meanwhile or not. Asking leaves no trace.
    pub fn tool_definition(&self, name: &str) -> Option<Value> {
        let mut asked = Surface::new(&self.surface_spec, Journal::forgetful()).ok()?;
        let mut cursor = None;
        for page in 0..TOOL_PAGES_MAX {
            let mut list = json!({"jsonrpc": "2.0", "id": page, "method": "tools/list"});
            if let Some(cursor) = &cursor {
                list["params"] = json!({ "cursor": cursor });
            }
            let emissions = asked.receive("testbed", &list);
            let result = emissions.into_iter().find_map(|emission| match emission {
                Emission::Frame { mut frame, .. } => Some(frame["result"].take()),
                Emission::HttpStatus { .. } => None,
            })?;
            let found = result["tools"].as_array()?.iter().find(|tool| tool["name"] == name);
            if let Some(tool) = found {
                return Some(tool.clone());
            }
            cursor = Some(result["nextCursor"].as_str()?.to_owned());
        }
        None
    }

    /// Ends the world. Nothing of it is left on the runtime when this returns, and nothing is
    /// journaled any more: what ends with the world was not hung up on.
    pub async fn shutdown(mut self) {
        self.hub.seal();
        self.timed.shutdown().await;
        self.hub.stop_late().await;
        self.server.shutdown().await;
    }
}

fn check(faults: &[FaultRule]) -> Result<(), StartError> {
    for (number, rule) in faults.iter().enumerate() {
        rule.check().map_err(|why| StartError::Fault { number, why })?;
    }
    Ok(())
}

/// A surface may be told to have pages without an end.
const TOOL_PAGES_MAX: usize = 100;

/// Chance for faults and for people comes from two streams of one seed, so that a scenario that
/// gains a fault keeps its people's choices.
const FAULTS: u64 = 1;
const PEOPLE: u64 = 2;

fn chance(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}
