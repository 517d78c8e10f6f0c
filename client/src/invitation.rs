//! Invitations: the ticket that a surface issued, checked when it is built (INVITE-1).

use crate::egress::{RelayUrl, RelayUrlError};
use crate::token::{SessionId, SessionIdError, Token, TokenError};
use serde::{Deserialize, Serialize};

/// A surface's invitation to one relay session.
///
/// That its URL, its session id and its token have their shape is certain once it exists. Whether
/// the relay may be reached is the [`EgressPolicy`](crate::EgressPolicy)'s business, at every use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    relay_base_url: RelayUrl,
    session_id: SessionId,
    token: Token,
    surface_id: String,
    application: String,
}

impl Invitation {
    /// Puts an invitation together, field by field.
    #[must_use]
    pub fn builder() -> InvitationBuilder {
        InvitationBuilder::default()
    }

    /// Where the relay is.
    #[must_use]
    pub fn relay_base_url(&self) -> &RelayUrl {
        &self.relay_base_url
    }

    /// The session.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        &self.session_id
    }

    /// What opens it.
    #[must_use]
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// The surface, as it calls itself.
    #[must_use]
    pub fn surface_id(&self) -> &str {
        &self.surface_id
    }

    /// The application that owns the surface, as it calls itself.
    #[must_use]
    pub fn application(&self) -> &str {
        &self.application
    }
}

/// An invitation in the making.
#[derive(Debug, Clone, Default)]
pub struct InvitationBuilder {
    relay_base_url: Secret,
    session_id: Secret,
    token: Secret,
    surface_id: String,
    application: String,
}

/// Keeps what was not checked yet out of the builder's `Debug`: a URL may hold a password, and the
/// token may stand where the session id belongs.
#[derive(Clone, Default)]
struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

impl InvitationBuilder {
    /// Where the relay is: an absolute `https` URL, or `http` for a relay on loopback.
    #[must_use]
    pub fn relay_base_url(mut self, url: impl Into<String>) -> Self {
        self.relay_base_url = Secret(url.into());
        self
    }

    /// The session, `^[A-Za-z0-9_-]{4,64}$`.
    #[must_use]
    pub fn session_id(mut self, id: impl Into<String>) -> Self {
        self.session_id = Secret(id.into());
        self
    }

    /// What opens it, 16 to 128 characters.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Secret(token.into());
        self
    }

    /// The surface, as it calls itself.
    #[must_use]
    pub fn surface_id(mut self, id: impl Into<String>) -> Self {
        self.surface_id = id.into();
        self
    }

    /// The application that owns the surface, as it calls itself.
    #[must_use]
    pub fn application(mut self, application: impl Into<String>) -> Self {
        self.application = application.into();
        self
    }

    /// The invitation, when every field has its shape.
    ///
    /// # Errors
    /// [`InvitationError`] names the field. No message repeats the URL or the token.
    pub fn build(self) -> Result<Invitation, InvitationError> {
        if self.surface_id.trim().is_empty() {
            return Err(InvitationError::NoSurface);
        }
        Ok(Invitation {
            relay_base_url: RelayUrl::parse(&self.relay_base_url.0)?,
            session_id: SessionId::new(self.session_id.0)?,
            token: Token::new(self.token.0)?,
            surface_id: self.surface_id,
            application: self.application,
        })
    }
}

/// Why a text is no invitation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvitationError {
    /// The relay's URL is none that can be used.
    #[error(transparent)]
    RelayUrl(#[from] RelayUrlError),
    /// The session id has another shape.
    #[error(transparent)]
    SessionId(#[from] SessionIdError),
    /// The token has another length.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// No surface is named.
    #[error("the invitation names no surface")]
    NoSurface,
}

/// Who takes part, as people on the surface see it (PRES-1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Participant {
    id: String,
    name: String,
    color: String,
}

impl Participant {
    /// A participant with an id, a name and a colour as CSS writes it.
    pub fn new(id: impl Into<String>, name: impl Into<String>, color: impl Into<String>) -> Self {
        Self { id: id.into(), name: name.into(), color: color.into() }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its colour.
    #[must_use]
    pub fn color(&self) -> &str {
        &self.color
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn good() -> InvitationBuilder {
        Invitation::builder()
            .relay_base_url("https://relay.example/base")
            .session_id("board-1")
            .token("sesame-open-please")
            .surface_id("board")
            .application("planner")
    }

    #[test]
    fn a_good_invitation_is_taken_as_it_is() {
        let invitation = good().build().unwrap();
        assert_eq!(invitation.relay_base_url().as_str(), "https://relay.example/base");
        assert_eq!(invitation.token().expose(), "sesame-open-please");
    }

    #[test]
    fn each_field_is_checked_when_it_is_built() {
        use InvitationError as E;
        let check = |builder: InvitationBuilder, expect: fn(&E) -> bool| {
            let error = builder.build().unwrap_err();
            assert!(expect(&error), "{error:?}");
            assert!(!format!("{error} {error:?}").contains("sesame"), "{error:?}");
        };
        use RelayUrlError as U;
        for url in ["relay.example", "", " https://relay.example", "https:\\\\relay.example"] {
            check(good().relay_base_url(url), |e| matches!(e, E::RelayUrl(U::Spelling { .. })));
        }
        check(good().relay_base_url("ftp://sesame.example"), |e| *e == E::RelayUrl(U::Scheme));
        check(good().relay_base_url("https://u:sesame@a.example"), |e| {
            *e == E::RelayUrl(U::Userinfo)
        });
        check(good().relay_base_url("https://a.example?sesame"), |e| *e == E::RelayUrl(U::Query));
        check(good().relay_base_url("https://a.example#sesame"), |e| {
            *e == E::RelayUrl(U::Fragment)
        });
        check(good().session_id("a b"), |e| matches!(e, E::SessionId(_)));
        check(good().token("sesame"), |e| matches!(e, E::Token(_)));
        check(
            Invitation::builder()
                .relay_base_url("https://r.example")
                .session_id("abcd")
                .surface_id("s"),
            |e| matches!(e, E::Token(_)),
        );
        check(good().surface_id(" "), |e| *e == E::NoSurface);
    }

    #[test]
    fn the_token_is_in_no_debug_print() {
        assert!(!format!("{:?}", good()).contains("sesame"));
        let swapped = good().session_id("sesame-open-please").relay_base_url("https://u:sesame@r");
        assert!(!format!("{swapped:?}").contains("sesame"));
        let invitation = good().relay_base_url("https://relay.example/sesame").build().unwrap();
        assert!(!format!("{invitation:?}").contains("sesame"), "{invitation:?}");
        assert!(!format!("{:?}", good().build().unwrap()).contains("sesame"));
    }
}
