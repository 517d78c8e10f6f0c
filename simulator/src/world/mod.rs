//! A world: one relay, one surface, the people around it, and the faults between, on one endpoint.
//!
//! - [`people`]: the edits that people make by themselves, when a frame passes or at a time.

mod people;

use std::io;
use std::sync::{Arc, Mutex};

use axum::Router;
use indexmap::IndexMap;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::fault::{BadRule, FaultRule};
use crate::journal::{Event, Journal};
use crate::person::{Edit, Trigger, When};
use crate::relay::{Hub, RelaySpec, lock, router};
use crate::surface::{EditRefused, SpecError, Surface, SurfaceSpec};
use crate::wire::{Endpoint, Server, Wire, serve};

/// What a world is made of.
#[derive(Debug, Clone)]
pub struct WorldSpec {
    /// The stock surface. Without one, the session waits for a surface to come over HTTP.
    pub surface: Option<SurfaceSpec>,
    /// The relay and its faults.
    pub relay: RelaySpec,
    /// The session that is open from the start.
    pub session_id: String,
    /// Its token, 16 to 128 characters.
    pub token: String,
    /// The edits that people make by themselves.
    pub people: Vec<Trigger>,
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
    #[expect(clippy::unused_async, reason = "a world belongs to the runtime that starts it")]
    pub async fn start(
        spec: WorldSpec,
        wire: Wire,
        seed: u64,
        journal: Journal,
    ) -> Result<Self, StartError> {
        Self::start_beside(spec, wire, seed, journal, Router::new())
    }

    /// The same, with more routes on the endpoint. They are no part of the relay: no fault strikes
    /// them, and the journal does not show them.
    ///
    /// # Errors
    ///
    /// As [`World::start`].
    pub fn start_beside(
        spec: WorldSpec,
        wire: Wire,
        seed: u64,
        journal: Journal,
        beside: Router,
    ) -> Result<Self, StartError> {
        check(&spec.relay.faults)?;
        let surface = match &spec.surface {
            Some(surface) => Some(Arc::new(Mutex::new(Surface::new(surface, journal.clone())?))),
            None => None,
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
        let server = serve(wire, router(Arc::clone(&hub)).merge(beside))?;
        let world =
            Self { hub, surface, session_id: spec.session_id, token: spec.token, server, timed };
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

    /// Replaces the relay's faults while it runs; their counts begin anew.
    ///
    /// # Errors
    ///
    /// [`StartError::Fault`] when one of them makes no sense; the old ones then stay.
    pub fn set_faults(&self, faults: Vec<FaultRule>) -> Result<(), StartError> {
        check(&faults)?;
        self.hub.set_faults(faults);
        Ok(())
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

/// Chance for faults and for people comes from two streams of one seed, so that a scenario that
/// gains a fault keeps its people's choices.
const FAULTS: u64 = 1;
const PEOPLE: u64 = 2;

fn chance(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}
