use std::collections::BTreeMap;

use tokio::time::{Duration, Instant};

use super::mailbox::LegId;
use super::refusal::Refusal;
use super::session::Session;
use super::token::{Token, is_session_id};

/// The sessions of a relay.
#[derive(Debug)]
pub(crate) struct Registry {
    sessions: BTreeMap<String, Session>,
    idle: Duration,
    legs: u64,
}

impl Registry {
    pub(crate) fn new(idle: Duration) -> Self {
        Self { sessions: BTreeMap::new(), idle, legs: 0 }
    }

    /// Opens a session, or confirms one that is open under the same token. True when it is new.
    pub(crate) fn register(
        &mut self,
        session: &str,
        token: &str,
        now: Instant,
    ) -> Result<bool, Refusal> {
        if !is_session_id(session) {
            return Err(Refusal::InvalidSessionId);
        }
        let shaped = Token::new(token).ok_or(Refusal::InvalidToken)?;
        match self.sessions.get_mut(session) {
            Some(open) if open.is_opened_by(token) => {
                open.touch(now);
                Ok(false)
            }
            Some(_) => Err(Refusal::SessionTaken),
            None => {
                self.sessions.insert(session.to_owned(), Session::new(shaped, now));
                Ok(true)
            }
        }
    }

    /// The session that a request may use (RELAY-1): no token at all is 401 even where nothing
    /// lives; any token is 410 there; a wrong one on a live session is 401.
    pub(crate) fn enter(
        &mut self,
        session: &str,
        token: Option<&str>,
        now: Instant,
    ) -> Result<&mut Session, Refusal> {
        let token = token.ok_or(Refusal::InvalidToken)?;
        let open = self.sessions.get_mut(session).ok_or(Refusal::SessionGone)?;
        if !open.is_opened_by(token) {
            return Err(Refusal::InvalidToken);
        }
        open.touch(now);
        Ok(open)
    }

    /// A session by its id, for the relay's own work.
    pub(crate) fn get(&mut self, session: &str) -> Option<&mut Session> {
        self.sessions.get_mut(session)
    }

    /// Ends a session. True when there was one.
    pub(crate) fn end(&mut self, session: &str) -> bool {
        match self.sessions.remove(session) {
            Some(mut ended) => {
                ended.end();
                true
            }
            None => false,
        }
    }

    /// Ends every session, and names them.
    pub(crate) fn end_all(&mut self) -> Vec<String> {
        let names: Vec<String> = self.sessions.keys().cloned().collect();
        for name in &names {
            self.end(name);
        }
        names
    }

    /// Ends the sessions that nobody has used for too long, and names them (RELAY-7).
    pub(crate) fn sweep(&mut self, now: Instant) -> Vec<String> {
        let idle = self.idle;
        let expired: Vec<String> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.expires_at(idle) <= now)
            .map(|(name, _)| name.clone())
            .collect();
        for name in &expired {
            self.end(name);
        }
        expired
    }

    /// Lets pollers go that stayed away, and names each with its session.
    pub(crate) fn reap(&mut self, now: Instant) -> Vec<(String, String)> {
        let mut reaped = Vec::new();
        for (name, session) in &mut self.sessions {
            let gone = session.subscribers.reap(now).into_iter();
            reaped.extend(gone.map(|subscriber| (name.clone(), subscriber)));
        }
        reaped
    }

    /// When a session will have been idle for too long, if nobody uses it.
    pub(crate) fn expires_at(&self, session: &str) -> Option<Instant> {
        self.sessions.get(session).map(|session| session.expires_at(self.idle))
    }

    /// The id of a new leg.
    pub(crate) fn next_leg(&mut self) -> LegId {
        self.legs += 1;
        LegId(self.legs)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const TOKEN: &str = "0123456789abcdef";
    const HOUR: Duration = Duration::from_secs(3600);

    fn verdict(
        registry: &mut Registry,
        session: &str,
        token: Option<&str>,
        at: Instant,
    ) -> Result<(), Refusal> {
        registry.enter(session, token, at).map(|_| ())
    }

    #[test]
    fn unauthorized_and_gone_are_told_apart() {
        let now = Instant::now();
        let mut registry = Registry::new(HOUR);
        registry.register("live", TOKEN, now).unwrap();
        registry.register("ended", TOKEN, now).unwrap();
        assert!(registry.end("ended"));
        for (session, token, expect) in [
            ("live", Some(TOKEN), Ok(())),
            ("live", Some("fedcba9876543210"), Err(Refusal::InvalidToken)),
            ("live", Some(""), Err(Refusal::InvalidToken)),
            ("live", None, Err(Refusal::InvalidToken)),
            ("ended", Some(TOKEN), Err(Refusal::SessionGone)),
            ("ended", Some("x"), Err(Refusal::SessionGone)),
            ("ended", None, Err(Refusal::InvalidToken)),
            ("never", Some(TOKEN), Err(Refusal::SessionGone)),
            ("never", None, Err(Refusal::InvalidToken)),
        ] {
            assert_eq!(verdict(&mut registry, session, token, now), expect, "{session} {token:?}");
        }
    }

    #[test]
    fn registering_again_needs_the_same_token() {
        let now = Instant::now();
        let mut registry = Registry::new(HOUR);
        for (session, token, expect) in [
            ("live", TOKEN, Ok(true)),
            ("live", TOKEN, Ok(false)),
            ("live", "fedcba9876543210", Err(Refusal::SessionTaken)),
            ("live", "x", Err(Refusal::InvalidToken)),
            ("ab", TOKEN, Err(Refusal::InvalidSessionId)),
        ] {
            assert_eq!(registry.register(session, token, now), expect, "{session} {token}");
        }
    }

    #[test]
    fn a_session_expires_when_nobody_uses_it_and_not_before() {
        let now = Instant::now();
        let mut registry = Registry::new(HOUR);
        registry.register("live", TOKEN, now).unwrap();
        assert_eq!(verdict(&mut registry, "live", Some(TOKEN), now + HOUR / 2), Ok(()));
        assert_eq!(registry.sweep(now + HOUR), [] as [&str; 0]);
        assert_eq!(registry.sweep(now + HOUR + HOUR / 2), ["live"]);
        assert_eq!(verdict(&mut registry, "live", Some(TOKEN), now), Err(Refusal::SessionGone));
    }
}
