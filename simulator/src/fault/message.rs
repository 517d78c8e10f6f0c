use std::fmt;

use super::selector::RouteName;

/// A route of the relay, as records name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Route {
    /// `POST {session}/inbox`
    Inbox,
    /// `GET {session}/events`
    Events,
    /// `GET` or `POST {session}/outbox`
    Outbox,
    /// `GET {session}/poll`
    Poll,
    /// `POST {session}/unregister`
    Unregister,
    /// `POST register`
    Register,
    /// `GET` of the base
    Health,
    /// Anything else.
    Other,
}

impl Route {
    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inbox => "inbox",
            Self::Events => "events",
            Self::Outbox => "outbox",
            Self::Poll => "poll",
            Self::Unregister => "unregister",
            Self::Register => "register",
            Self::Health => "health",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something that passes a relay, as a [`Selector`](super::Selector) sees it.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// What passes.
    pub kind: Kind,
    /// The client that it comes from or goes to; none when that is not said.
    pub client: Option<&'a str>,
    /// The JSON-RPC method: of the request or notification itself, or of the request that an
    /// answer answers, or of the frame that an exchange carries.
    pub method: Option<&'a str>,
    /// The tool of a `tools/call`, or of the call that an answer answers.
    pub tool: Option<&'a str>,
}

/// What kind of thing passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole HTTP exchange, from the client's side of the relay.
    Exchange {
        /// Its route.
        route: Route,
        /// Whether it receives frames: a stream or a long poll, in either dialect.
        receives: bool,
    },
    /// A JSON-RPC request of a client.
    Request,
    /// The surface's answer to one.
    Answer,
    /// A notification, of a client or of the surface.
    Notification,
}

impl Kind {
    /// Whether a selector's route covers this exchange; false for frames.
    pub(super) fn is_on(self, name: RouteName) -> bool {
        let Self::Exchange { route, receives } = self else { return false };
        match name {
            RouteName::Inbox => route == Route::Inbox,
            RouteName::Events => route == Route::Events,
            RouteName::Outbox => route == Route::Outbox,
            RouteName::Poll => receives && matches!(route, Route::Poll | Route::Outbox),
            RouteName::Receive => receives,
            RouteName::Unregister => route == Route::Unregister,
            RouteName::Register => route == Route::Register,
            RouteName::Health => route == Route::Health,
        }
    }
}
