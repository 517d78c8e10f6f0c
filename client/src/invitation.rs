//! Invitations: the ticket that a surface issued, checked when it is built (INVITE-1).

use serde::{Deserialize, Serialize};
use url::Url;

use crate::token::{SessionId, SessionIdError, Token, TokenError};

/// A surface's invitation to one relay session.
///
/// That its URL, its session id and its token have their shape is certain once it exists. Whether
/// the relay may be reached is the [`EgressPolicy`](crate::EgressPolicy)'s business, at every use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    relay_base_url: Url,
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
    pub fn relay_base_url(&self) -> &Url {
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
    relay_base_url: String,
    session_id: String,
    token: Option<Secret>,
    surface_id: String,
    application: String,
}

/// Keeps an unchecked token out of the builder's `Debug`.
#[derive(Clone)]
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
        self.relay_base_url = url.into();
        self
    }

    /// The session, `^[A-Za-z0-9_-]{4,64}$`.
    #[must_use]
    pub fn session_id(mut self, id: impl Into<String>) -> Self {
        self.session_id = id.into();
        self
    }

    /// What opens it, 16 to 128 characters.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(Secret(token.into()));
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
        if is_ambiguous(&self.relay_base_url) {
            return Err(InvitationError::Ambiguous);
        }
        let relay_base_url =
            Url::parse(&self.relay_base_url).map_err(|error| InvitationError::Url { error })?;
        if !matches!(relay_base_url.scheme(), "https" | "http") {
            return Err(InvitationError::Scheme);
        }
        if relay_base_url.host_str().is_none_or(str::is_empty) {
            return Err(InvitationError::NoHost);
        }
        if self.surface_id.trim().is_empty() {
            return Err(InvitationError::NoSurface);
        }
        Ok(Invitation {
            relay_base_url,
            session_id: SessionId::new(self.session_id)?,
            token: Token::new(self.token.map(|token| token.0).unwrap_or_default())?,
            surface_id: self.surface_id,
            application: self.application,
        })
    }
}

/// Whether two URL readers may see two hosts in this text. A lenient one mends it, a strict one
/// does not, and what was checked is then not what is connected to; it is refused, not mended.
fn is_ambiguous(url: &str) -> bool {
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    let authority = url.split_once("://").map(|(_, rest)| rest);
    url.contains(is_odd)
        || authority.is_some_and(|rest| rest.starts_with('/'))
        || (authority.is_none() && url.contains(':'))
}

/// Why a text is no invitation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvitationError {
    /// The URL cannot be read.
    #[error("the invitation's relay URL is not a URL: {error}")]
    Url {
        /// What the URL parser said; it does not repeat the URL.
        error: url::ParseError,
    },
    /// The URL is written so that readers of URLs disagree about its host.
    #[error(
        "the invitation's relay URL holds a backslash, white space or a control character, or \
         lacks its `//`: readers of URLs would disagree about its host"
    )]
    Ambiguous,
    /// The URL is not one that HTTP can reach.
    #[error("the invitation's relay URL is neither `https` nor, on loopback, `http`")]
    Scheme,
    /// The URL names no host.
    #[error("the invitation's relay URL names no host")]
    NoHost,
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
        check(good().relay_base_url("relay.example"), |e| matches!(e, E::Url { .. }));
        check(good().relay_base_url(""), |e| matches!(e, E::Url { .. }));
        check(good().relay_base_url("ftp://relay.example"), |e| *e == E::Scheme);
        check(good().relay_base_url("file:///sesame"), |e| *e == E::Scheme);
        for url in [
            "https:\\\\relay.example",
            "https://relay.example\t",
            "https:relay.example",
            "https:///relay.example",
            " https://relay.example",
            "https://a\\@b.example",
        ] {
            check(good().relay_base_url(url), |e| *e == E::Ambiguous);
        }
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
        assert!(!format!("{:?}", good().build().unwrap()).contains("sesame"));
    }
}
