//! What was seen of a surface's change feed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is known of a surface's change feed (FEED-2). It says what was seen, and never promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeFeed {
    /// The surface has not listed its tools.
    #[default]
    NotObserved,
    /// It listed no trusted feed: what changed cannot be known.
    Unavailable,
    /// It has one. Whether it tells one hand from another was not seen.
    Offered,
    /// It named a hand that is not this agent's. That happened, so it stays (FEED-10).
    Attributed,
}

impl ChangeFeed {
    /// Whether the feed can answer at all.
    #[must_use]
    pub fn can_answer(self) -> bool {
        matches!(self, Self::Offered | Self::Attributed)
    }

    /// After the tools were listed, with a trusted feed among them or without.
    pub(crate) fn listed(self, offered: bool) -> Self {
        match (self, offered) {
            (Self::Attributed, _) => Self::Attributed,
            (_, true) => Self::Offered,
            (_, false) => Self::Unavailable,
        }
    }

    /// After a row of an answer named a human or another hand.
    pub(crate) fn attributed(self) -> Self {
        if self.can_answer() { Self::Attributed } else { self }
    }
}

impl fmt::Display for ChangeFeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotObserved => "not_observed",
            Self::Unavailable => "unavailable",
            Self::Offered => "offered",
            Self::Attributed => "attributed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ChangeFeed as F;

    #[test]
    fn attribution_stays_and_everything_else_follows_what_is_listed() {
        for state in [F::NotObserved, F::Unavailable, F::Offered] {
            assert_eq!(state.listed(true), F::Offered);
            assert_eq!(state.listed(false), F::Unavailable);
        }
        assert_eq!(F::Attributed.listed(false), F::Attributed);
        assert_eq!(F::Attributed.listed(true), F::Attributed);
        assert_eq!(F::Offered.attributed(), F::Attributed);
        assert_eq!(F::Unavailable.attributed(), F::Unavailable);
        assert_eq!(F::NotObserved.attributed(), F::NotObserved);
    }
}
