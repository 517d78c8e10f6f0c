use std::sync::Arc;
use std::task::Waker;

use tokio::time::Instant;

use super::hub::Hub;
use super::mailbox::{LegId, Taken};
use super::session::{Parcel, Party};

/// An open stream or a parked poll of one party. It closes with its handle.
pub(crate) struct Leg {
    pub(crate) hub: Arc<Hub>,
    pub(crate) session: String,
    pub(crate) party: Party,
    id: LegId,
}

impl Leg {
    /// Opens a leg on a session that was entered a moment ago; the surface is told of a client
    /// that subscribes with it.
    pub(crate) fn open(hub: &Arc<Hub>, session: &str, party: Party) -> Self {
        let (id, joined) = {
            let mut state = hub.state();
            let id = state.registry.next_leg();
            let joined = state.registry.get(session).is_some_and(|open| open.open_leg(&party, id));
            (id, joined)
        };
        if let (true, Party::Client(name)) = (joined, &party) {
            hub.presence(session, name, true);
        }
        Self { hub: Arc::clone(hub), session: session.to_owned(), party, id }
    }

    pub(crate) fn take(&self) -> Taken<Parcel> {
        let now = Instant::now();
        let mut state = self.hub.state();
        match state.registry.get(&self.session) {
            Some(open) => open.mailbox(&self.party).take(self.id, now),
            None => Taken::NoSuchLeg,
        }
    }

    pub(crate) fn wait(&self, waker: &Waker) {
        if let Some(open) = self.hub.state().registry.get(&self.session) {
            open.mailbox(&self.party).wait(self.id, waker);
        }
    }

    pub(crate) fn put_back(&self, parcels: Vec<Parcel>) {
        if let Some(open) = self.hub.state().registry.get(&self.session) {
            open.mailbox(&self.party).put_back(parcels);
        }
    }

    pub(crate) fn acknowledge(&self, cursor: Option<u64>) {
        if let Some(open) = self.hub.state().registry.get(&self.session) {
            open.mailbox(&self.party).acknowledge(cursor);
        }
    }

    /// Numbers frames that a poll took: see [`super::mailbox::Mailbox::number`].
    pub(crate) fn number(&self, count: usize) -> u64 {
        let mut state = self.hub.state();
        state.registry.get(&self.session).map_or(0, |open| open.mailbox(&self.party).number(count))
    }

    pub(crate) fn handed_over(&self, parcels: Vec<Parcel>, cursor: u64) {
        if let Some(open) = self.hub.state().registry.get(&self.session) {
            open.mailbox(&self.party).handed_over(parcels, cursor);
        }
    }

    /// When the session ends if nobody uses it.
    pub(crate) fn session_expires_at(&self) -> Option<Instant> {
        self.hub.state().registry.expires_at(&self.session)
    }

    /// The client of the leg, as records show it.
    pub(crate) fn client(&self) -> Option<&str> {
        match &self.party {
            Party::Client(name) => Hub::named(name),
            Party::Surface => None,
        }
    }
}

impl Drop for Leg {
    fn drop(&mut self) {
        if let Some(open) = self.hub.state().registry.get(&self.session) {
            open.close_leg(&self.party, self.id);
        }
    }
}
