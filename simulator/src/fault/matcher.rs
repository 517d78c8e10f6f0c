use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::message::{Kind, Message};
use super::selector::{Fields, Selector};

/// A selector with the count of what it has chosen so far.
#[derive(Debug, Clone)]
pub struct Matcher {
    selector: Selector,
    seen: u32,
}

impl Matcher {
    /// A matcher that has seen nothing yet.
    pub fn new(selector: Selector) -> Self {
        Self { selector, seen: 0 }
    }

    /// What it looks for.
    pub fn selector(&self) -> &Selector {
        &self.selector
    }

    /// Where a scenario names an agent, looks for the client that it turned out to be.
    pub(crate) fn introduce(&mut self, agent: &str, client: &str) {
        if self.selector.client_name() == Some(agent) {
            let selector = std::mem::take(&mut self.selector);
            self.selector = selector.with_client(Some(client.to_owned()));
        }
    }

    /// Takes a message that passes `at` this time of the case, counts it when it is of the kind
    /// that the selector is about, and says whether it is chosen.
    ///
    /// The time and the chance come after the count: `nth: 2, after: 5s` is the second message of
    /// all, when it passes after five seconds.
    pub fn sees(&mut self, message: &Message<'_>, at: Duration, rng: &mut ChaCha8Rng) -> bool {
        let fields = self.selector.fields();
        if !is_about(fields, message) {
            return false;
        }
        self.seen = self.seen.saturating_add(1);
        fields.nth.as_ref().is_none_or(|nth| nth.includes(self.seen))
            && fields.after.is_none_or(|after| at >= after.get())
            && fields.before.is_none_or(|before| at < before.get())
            && fields.chance.is_none_or(|chance| rng.random_bool(chance))
    }
}

fn is_about(fields: &Fields, message: &Message<'_>) -> bool {
    let by_kind = match message.kind {
        Kind::Exchange { .. } => {
            fields.route.is_some_and(|route| message.kind.is_on(route))
                && fields.method.as_deref().is_none_or(|method| names(method, message.method))
        }
        Kind::Request => fields.request.as_deref().is_some_and(|m| names(m, message.method)),
        Kind::Answer => fields.answer.as_deref().is_some_and(|m| names(m, message.method)),
        Kind::Notification => {
            fields.notification.as_deref().is_some_and(|m| names(m, message.method))
        }
    };
    by_kind
        && fields.tool.as_deref().is_none_or(|tool| message.tool == Some(tool))
        && fields.client.as_deref().is_none_or(|client| message.client == Some(client))
}

fn names(pattern: &str, method: Option<&str>) -> bool {
    pattern == "*" || method == Some(pattern)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rand::SeedableRng;
    use serde_json::json;

    use super::*;
    use crate::fault::Route;

    fn matcher(on: serde_json::Value) -> Matcher {
        Matcher::new(serde_json::from_value(on).unwrap())
    }

    fn answer<'a>(client: &'a str, tool: &'a str) -> Message<'a> {
        Message {
            kind: Kind::Answer,
            client: Some(client),
            method: Some("tools/call"),
            tool: Some(tool),
        }
    }

    fn seen(matcher: &mut Matcher, messages: &[Message<'_>]) -> Vec<bool> {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        (1..)
            .zip(messages)
            .map(|(second, message)| matcher.sees(message, Duration::from_secs(second), &mut rng))
            .collect()
    }

    #[test]
    fn nth_counts_only_what_the_rest_chooses() {
        let messages = [answer("a", "x"), answer("b", "x"), answer("a", "y"), answer("a", "x")];
        for (on, expect) in [
            (json!({"answer": "tools/call"}), [true, true, true, true]),
            (json!({"answer": "*", "nth": 2}), [false, true, false, false]),
            (json!({"answer": "tools/call", "client": "a", "nth": 2}), [false, false, true, false]),
            (
                json!({"answer": "tools/call", "tool": "x", "nth": [1, 3]}),
                [true, false, false, true],
            ),
            (
                json!({"answer": "tools/call", "after": "2s", "before": "4s"}),
                [false, true, true, false],
            ),
            (json!({"answer": "tools/call", "nth": 1, "after": "2s"}), [false; 4]),
            (json!({"answer": "tools/list"}), [false; 4]),
            (json!({"request": "tools/call"}), [false; 4]),
            (json!({"answer": "tools/call", "chance": 0.0}), [false; 4]),
            (json!({"answer": "tools/call", "chance": 1.0}), [true; 4]),
        ] {
            assert_eq!(seen(&mut matcher(on.clone()), &messages), expect, "{on}");
        }
    }

    #[test]
    fn a_chance_is_drawn_from_the_seed() {
        let messages = [answer("a", "x"); 64];
        let draw = || seen(&mut matcher(json!({"answer": "*", "chance": 0.5})), &messages);
        assert_eq!(draw(), draw());
        assert!(draw().contains(&true) && draw().contains(&false));
    }

    #[test]
    fn routes_cover_both_poll_dialects() {
        let exchange = |route, receives| Message {
            kind: Kind::Exchange { route, receives },
            client: None,
            method: None,
            tool: None,
        };
        let messages = [
            exchange(Route::Events, true),
            exchange(Route::Outbox, true),
            exchange(Route::Poll, true),
            exchange(Route::Inbox, false),
        ];
        for (on, expect) in [
            (json!("events"), [true, false, false, false]),
            (json!("outbox"), [false, true, false, false]),
            (json!("poll"), [false, true, true, false]),
            (json!("receive"), [true, true, true, false]),
            (json!({"route": "inbox"}), [false, false, false, true]),
        ] {
            assert_eq!(seen(&mut matcher(on.clone()), &messages), expect, "{on}");
        }
    }

    #[test]
    fn selectors_that_choose_nothing_are_refused() {
        for (on, words) in [
            (json!({}), "names none of them"),
            (json!({"route": "inbox", "answer": "x"}), "names more than one of them"),
            (json!({"answer": "x", "method": "x"}), "`method` narrows a `route`"),
            (json!({"answer": "x", "nth": 0}), "counts from 1"),
            (json!({"answer": "x", "nth": []}), "chooses nothing"),
            (json!({"answer": "x", "chance": 1.5}), "from 0 to 1"),
            (json!({"answer": "x", "sometimes": true}), "unknown field `sometimes`"),
            (json!("mailbox"), "unknown variant `mailbox`"),
        ] {
            let refusal = serde_json::from_value::<Selector>(on.clone()).unwrap_err().to_string();
            assert!(refusal.contains(words), "{on}: {refusal}");
        }
    }
}
