use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::task::Waker;

use tokio::time::Instant;

/// What waits for one party: its frames in order, and the legs that may take them.
///
/// A leg is an open stream or a parked poll. An answer goes to one leg, the newest; a broadcast
/// goes to every leg. Both wait here while there is no leg at all (RELAY-3), which is also how
/// frames between two polls are kept (RELAY-4).
#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    legs: BTreeMap<LegId, Option<Waker>>,
    waiting: VecDeque<Entry<T>>,
    /// Frames that a poll handed over, for a caller that comes back with an older cursor.
    handed: BTreeMap<u64, T>,
    last_number: u64,
}

/// Names a leg, once in the life of a relay. Later legs compare greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LegId(pub(crate) u64);

/// When a frame may be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ready {
    Now,
    At(Instant),
    /// When the party makes its next request.
    AtNextRequest,
}

#[derive(Debug)]
struct Entry<T> {
    item: T,
    ready: Ready,
    audience: Audience,
}

#[derive(Debug)]
enum Audience {
    /// One leg, the newest there is.
    One,
    /// These legs, each of them once.
    Each(BTreeSet<LegId>),
}

/// What a leg finds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken<T> {
    Item(T),
    /// Nothing; the earliest time at which that may change by itself.
    Nothing(Option<Instant>),
    /// The leg is not of this mailbox (any more).
    NoSuchLeg,
}

/// How many handed-over frames are kept for callers with an old cursor. A client that polls at
/// all acknowledges with its next poll, so that a handful would do.
const HANDED_MAX: usize = 1_024;

impl<T: Clone> Mailbox<T> {
    pub(crate) fn new() -> Self {
        Self {
            legs: BTreeMap::new(),
            waiting: VecDeque::new(),
            handed: BTreeMap::new(),
            last_number: 0,
        }
    }

    /// Opens a leg. It takes over from older ones what is for one leg only.
    pub(crate) fn open(&mut self, leg: LegId) {
        self.legs.insert(leg, None);
    }

    /// Closes a leg. What it alone had not taken yet waits for the next one.
    pub(crate) fn close(&mut self, leg: LegId) {
        if self.legs.remove(&leg).is_none() {
            return;
        }
        self.waiting.retain_mut(|entry| {
            let Audience::Each(legs) = &mut entry.audience else { return true };
            if !legs.remove(&leg) || !legs.is_empty() {
                return true;
            }
            entry.audience = Audience::One;
            true
        });
        self.wake();
    }

    pub(crate) fn has_legs(&self) -> bool {
        !self.legs.is_empty()
    }

    /// Adds a frame for one leg.
    pub(crate) fn post(&mut self, item: T, ready: Ready) {
        self.waiting.push_back(Entry { item, ready, audience: Audience::One });
        self.wake();
    }

    /// Adds a frame for every leg that is open, or for the next one that opens.
    pub(crate) fn broadcast(&mut self, item: T, ready: Ready) {
        let audience = match self.legs.len() {
            0 => Audience::One,
            _ => Audience::Each(self.legs.keys().copied().collect()),
        };
        self.waiting.push_back(Entry { item, ready, audience });
        self.wake();
    }

    /// Lets go what was held until the next request.
    pub(crate) fn request_made(&mut self) {
        for entry in &mut self.waiting {
            if entry.ready == Ready::AtNextRequest {
                entry.ready = Ready::Now;
            }
        }
        self.wake();
    }

    /// Takes the next frame that a leg may have.
    pub(crate) fn take(&mut self, leg: LegId, now: Instant) -> Taken<T> {
        if !self.legs.contains_key(&leg) {
            return Taken::NoSuchLeg;
        }
        let is_newest = self.legs.last_key_value().is_some_and(|(newest, _)| *newest == leg);
        let mut next = None;
        for place in 0..self.waiting.len() {
            let entry = &mut self.waiting[place];
            let may = match &entry.audience {
                Audience::One => is_newest,
                Audience::Each(legs) => legs.contains(&leg),
            };
            if !may {
                continue;
            }
            match entry.ready {
                Ready::At(at) if at > now => {
                    next = Some(next.map_or(at, |next: Instant| next.min(at)));
                    continue;
                }
                Ready::AtNextRequest => continue,
                Ready::Now | Ready::At(_) => {}
            }
            let others_wait = match &mut entry.audience {
                Audience::One => false,
                Audience::Each(legs) => {
                    legs.remove(&leg);
                    !legs.is_empty()
                }
            };
            let item = if others_wait {
                entry.item.clone()
            } else {
                let Some(entry) = self.waiting.remove(place) else { break };
                entry.item
            };
            return Taken::Item(item);
        }
        Taken::Nothing(next)
    }

    /// Puts frames back that a leg took and could not hand over, in front of everything else.
    pub(crate) fn put_back(&mut self, items: Vec<T>) {
        for item in items.into_iter().rev() {
            let entry = Entry { item, ready: Ready::Now, audience: Audience::One };
            self.waiting.push_front(entry);
        }
        self.wake();
    }

    /// Numbers the next `count` frames that a poll takes, and returns the cursor behind them.
    pub(crate) fn number(&mut self, count: usize) -> u64 {
        self.last_number += count as u64;
        self.last_number
    }

    /// Remembers frames that a poll handed over, with the cursor behind the last of them.
    pub(crate) fn handed_over(&mut self, items: Vec<T>, cursor: u64) {
        let first = cursor + 1 - items.len() as u64;
        self.handed.extend((first..).zip(items));
        while self.handed.len() > HANDED_MAX {
            self.handed.pop_first();
        }
    }

    /// A poll acknowledges everything up to its cursor; what was handed over behind it is waiting
    /// again (RELAY-5). Without a cursor, what was handed over once is done with.
    pub(crate) fn acknowledge(&mut self, cursor: Option<u64>) {
        let handed = std::mem::take(&mut self.handed);
        if let Some(cursor) = cursor {
            let again = handed.into_iter().filter(|(number, _)| *number > cursor);
            self.put_back(again.map(|(_, item)| item).collect());
        }
    }

    /// Leaves word for whom to wake when something changes for a leg.
    pub(crate) fn wait(&mut self, leg: LegId, waker: &Waker) {
        if let Some(waiting) = self.legs.get_mut(&leg) {
            match waiting {
                Some(known) => known.clone_from(waker),
                None => *waiting = Some(waker.clone()),
            }
        }
    }

    /// Wakes every leg, the oldest first.
    pub(crate) fn wake(&mut self) {
        for waker in self.legs.values_mut() {
            if let Some(waker) = waker.take() {
                waker.wake();
            }
        }
    }

    /// Ends every leg: each finds that it is no leg of this mailbox any more.
    pub(crate) fn end(&mut self) {
        self.wake();
        self.legs.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const A: LegId = LegId(1);
    const B: LegId = LegId(2);

    fn all(mailbox: &mut Mailbox<u32>, leg: LegId, now: Instant) -> Vec<u32> {
        let mut taken = Vec::new();
        while let Taken::Item(item) = mailbox.take(leg, now) {
            taken.push(item);
        }
        taken
    }

    #[test]
    fn frames_wait_for_the_first_leg() {
        let now = Instant::now();
        let mut mailbox = Mailbox::new();
        mailbox.post(1, Ready::Now);
        mailbox.broadcast(2, Ready::Now);
        assert_eq!(mailbox.take(A, now), Taken::NoSuchLeg);
        mailbox.open(A);
        assert_eq!(all(&mut mailbox, A, now), [1, 2]);
        assert_eq!(mailbox.take(A, now), Taken::Nothing(None));
    }

    #[test]
    fn an_answer_goes_to_the_newest_leg_and_a_broadcast_to_every_one() {
        let now = Instant::now();
        let mut mailbox = Mailbox::new();
        mailbox.open(A);
        mailbox.open(B);
        mailbox.post(1, Ready::Now);
        mailbox.broadcast(2, Ready::Now);
        assert_eq!(all(&mut mailbox, A, now), [2]);
        assert_eq!(all(&mut mailbox, B, now), [1, 2]);
    }

    #[test]
    fn a_leg_that_closes_leaves_its_frames_to_the_next() {
        let now = Instant::now();
        let mut mailbox = Mailbox::new();
        mailbox.open(A);
        mailbox.broadcast(1, Ready::Now);
        mailbox.post(2, Ready::Now);
        mailbox.close(A);
        mailbox.open(B);
        assert_eq!(all(&mut mailbox, B, now), [1, 2]);
    }

    #[test]
    fn held_frames_are_let_go_in_time_or_by_the_next_request() {
        let now = Instant::now();
        let later = now + Duration::from_secs(12);
        let mut mailbox = Mailbox::new();
        mailbox.open(A);
        mailbox.post(1, Ready::At(later));
        mailbox.post(2, Ready::AtNextRequest);
        mailbox.post(3, Ready::Now);
        assert_eq!(all(&mut mailbox, A, now), [3]);
        assert_eq!(mailbox.take(A, now), Taken::Nothing(Some(later)));
        mailbox.request_made();
        assert_eq!(all(&mut mailbox, A, now), [2]);
        assert_eq!(all(&mut mailbox, A, later), [1]);
    }

    #[test]
    fn a_cursor_resumes_without_loss_or_duplication() {
        let now = Instant::now();
        let mut mailbox = Mailbox::new();
        mailbox.open(A);
        for item in [1, 2, 3] {
            mailbox.post(item, Ready::Now);
        }
        let first = all(&mut mailbox, A, now);
        let cursor = mailbox.number(3);
        assert_eq!(cursor, 3);
        mailbox.handed_over(first, cursor);
        mailbox.post(4, Ready::Now);
        // The answer with 2 and 3 in it was lost on the way: the caller still has cursor 1.
        mailbox.acknowledge(Some(1));
        let again = all(&mut mailbox, A, now);
        assert_eq!(again, [2, 3, 4]);
        let cursor = mailbox.number(3);
        mailbox.handed_over(again, cursor);
        mailbox.acknowledge(Some(cursor));
        assert_eq!(all(&mut mailbox, A, now), [] as [u32; 0]);
    }

    #[test]
    fn frames_that_could_not_be_handed_over_are_put_back_in_front() {
        let now = Instant::now();
        let mut mailbox = Mailbox::new();
        mailbox.open(A);
        mailbox.post(1, Ready::Now);
        mailbox.post(2, Ready::Now);
        let taken = all(&mut mailbox, A, now);
        mailbox.post(3, Ready::Now);
        mailbox.put_back(taken);
        assert_eq!(all(&mut mailbox, A, now), [1, 2, 3]);
    }
}
