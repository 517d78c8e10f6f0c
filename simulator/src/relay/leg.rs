use std::sync::Arc;
use std::task::Waker;

use tokio::time::Instant;

use super::exchange::Exchange;
use super::hub::Hub;
use super::mailbox::{LegId, Mailbox, Taken};
use super::session::{Parcel, Party};
use crate::journal::Direction;

/// An open stream or a parked poll of one party. It closes with its handle.
pub(crate) struct Leg {
    pub(crate) hub: Arc<Hub>,
    pub(crate) session: String,
    party: Party,
    /// The client of the leg, as records show it; empty when it gave no name.
    pub(crate) client: String,
    id: LegId,
}

impl Leg {
    /// Opens a leg on a session that was entered a moment ago; the surface is told of a client
    /// that subscribes with it.
    pub(crate) fn open(hub: &Arc<Hub>, session: &str, client: &str, party: Party) -> Self {
        let (id, joined) = {
            let mut state = hub.state();
            let id = state.registry.next_leg();
            let joined = state.registry.get(session).is_some_and(|open| open.open_leg(&party, id));
            (id, joined)
        };
        if let (true, Party::Client(name)) = (joined, &party) {
            hub.presence(session, name, true);
        }
        let client = client.to_owned();
        Self { hub: Arc::clone(hub), session: session.to_owned(), party, client, id }
    }

    pub(crate) fn take(&self) -> Taken<Parcel> {
        let now = Instant::now();
        let mut state = self.hub.state();
        match state.registry.get(&self.session) {
            Some(open) => open
                .mailbox(&self.party)
                .map_or(Taken::NoSuchLeg, |mailbox| mailbox.take(self.id, now)),
            None => Taken::NoSuchLeg,
        }
    }

    fn with_mailbox<T>(&self, work: impl FnOnce(&mut Mailbox<Parcel>) -> T) -> Option<T> {
        let mut state = self.hub.state();
        state.registry.get(&self.session)?.mailbox(&self.party).map(work)
    }

    pub(crate) fn wait(&self, waker: &Waker) {
        self.with_mailbox(|mailbox| mailbox.wait(self.id, waker));
    }

    pub(crate) fn put_back(&self, parcels: Vec<Parcel>) {
        self.with_mailbox(|mailbox| mailbox.put_back(parcels));
    }

    pub(crate) fn acknowledge(&self, cursor: Option<u64>) {
        self.with_mailbox(|mailbox| mailbox.acknowledge(cursor));
    }

    /// Numbers frames that a poll took: see [`Mailbox::number`].
    pub(crate) fn number(&self, count: usize) -> u64 {
        self.with_mailbox(|mailbox| mailbox.number(count)).unwrap_or(0)
    }

    pub(crate) fn handed_over(&self, parcels: Vec<Parcel>, cursor: u64) {
        self.with_mailbox(|mailbox| mailbox.handed_over(parcels, cursor));
    }

    /// Journals that a frame left on this leg.
    pub(crate) fn note_handed_over(&self, exchange: &Exchange, parcel: &Parcel) {
        if exchange.inbound {
            let frame = &parcel.frame.value;
            self.hub.note_frame(Some(exchange.number), Direction::ToSurface, None, frame);
        } else {
            self.hub.note_handed_over(exchange.number, &self.client, parcel);
        }
    }

    /// When the session ends if nobody uses it.
    pub(crate) fn session_expires_at(&self) -> Option<Instant> {
        self.hub.state().registry.expires_at(&self.session)
    }
}

impl Drop for Leg {
    fn drop(&mut self) {
        let departed = {
            let mut state = self.hub.state();
            let Some(open) = state.registry.get(&self.session) else { return };
            open.close_leg(&self.party, self.id);
            match &self.party {
                Party::Subscriber(id) => open.subscribers.depart(id).then_some(id),
                Party::Client(_) | Party::Surface => None,
            }
        };
        if let Some(id) = departed {
            self.hub.presence(&self.session, id, false);
        }
    }
}
