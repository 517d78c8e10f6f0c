use super::rule::FaultRule;
use super::selector::RouteName;
use super::stream_shape::{Buffer, Split};

/// A rule that is well-formed and makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
    /// It strikes and then does nothing.
    #[error("a fault on {on} has no power (give it one of: {powers})")]
    Powerless {
        /// What it strikes.
        on: String,
        /// The powers there are for it.
        powers: String,
    },
    /// It has a power that the message it strikes cannot suffer.
    #[error("`{power}` cannot strike {on} (powers there: {powers})")]
    Misplaced {
        /// The power.
        power: &'static str,
        /// What it strikes.
        on: String,
        /// The powers there are for it.
        powers: String,
    },
    /// A number is outside of what the power can do.
    #[error("`{power}` cannot be {value} ({why})")]
    OutOfRange {
        /// The power.
        power: &'static str,
        /// The value.
        value: String,
        /// What it may be.
        why: &'static str,
    },
}

const ON_EXCHANGES: &[&str] = &["status", "redirect", "close", "hoard", "delay"];
const ON_REQUESTS: &[&str] =
    &["status", "redirect", "close", "hoard", "delay", "drop", "duplicate", "applied"];
const ON_STREAMS: &[&str] = &[
    "status",
    "redirect",
    "close",
    "hoard",
    "delay",
    "buffer",
    "split",
    "line_ends",
    "bom",
    "junk",
];
const ON_POLLS: &[&str] =
    &["status", "redirect", "close", "hoard", "delay", "ignore_wait", "over_hold"];
const ON_RECEIVE_LEGS: &[&str] = &[
    "status",
    "redirect",
    "close",
    "hoard",
    "delay",
    "buffer",
    "split",
    "line_ends",
    "bom",
    "junk",
    "ignore_wait",
    "over_hold",
];
const ON_ANSWERS: &[&str] =
    &["hoard", "delay", "drop", "duplicate", "close", "mutate", "retarget", "inject"];
/// A notification can be a client's, which is handed on, or the surface's, which is delivered.
const ON_NOTIFICATIONS: &[&str] = &[
    "status",
    "redirect",
    "close",
    "hoard",
    "delay",
    "drop",
    "duplicate",
    "applied",
    "mutate",
    "retarget",
    "inject",
];

impl FaultRule {
    /// Says whether the rule makes sense.
    ///
    /// # Errors
    ///
    /// A [`BadRule`] that names the power and lists those that would do.
    pub fn check(&self) -> Result<(), BadRule> {
        let allowed = self.powers_allowed();
        let used = self.powers_used();
        let on = || self.on.to_string();
        let powers = || format!("`{}`", allowed.join("`, `"));
        if used.iter().all(|power| *power == "applied") {
            return Err(BadRule::Powerless { on: on(), powers: powers() });
        }
        if let Some(power) = used.iter().find(|power| !allowed.contains(power)) {
            return Err(BadRule::Misplaced { power, on: on(), powers: powers() });
        }
        self.check_ranges()
    }

    fn powers_allowed(&self) -> &'static [&'static str] {
        let fields = self.on.fields();
        match fields.route {
            Some(RouteName::Inbox) => ON_REQUESTS,
            Some(RouteName::Events) => ON_STREAMS,
            Some(RouteName::Poll | RouteName::Outbox) => ON_POLLS,
            Some(RouteName::Receive) => ON_RECEIVE_LEGS,
            Some(RouteName::Unregister | RouteName::Register | RouteName::Health) => ON_EXCHANGES,
            None if fields.request.is_some() => ON_REQUESTS,
            None if fields.answer.is_some() => ON_ANSWERS,
            None => ON_NOTIFICATIONS,
        }
    }

    fn powers_used(&self) -> Vec<&'static str> {
        [
            ("hoard", self.hoard.is_some()),
            ("buffer", self.buffer.is_some()),
            ("delay", self.delay.is_some()),
            ("drop", self.drop),
            ("duplicate", self.duplicate.is_some()),
            ("status", self.status.is_some()),
            ("redirect", self.redirect.is_some()),
            ("close", self.close.is_some()),
            ("applied", self.applied),
            ("mutate", self.mutate.is_some()),
            ("retarget", self.retarget.is_some()),
            ("inject", !self.inject.is_empty()),
            ("split", self.split.is_some()),
            ("line_ends", self.line_ends.is_some()),
            ("bom", self.bom),
            ("junk", !self.junk.is_empty()),
            ("ignore_wait", self.ignore_wait),
            ("over_hold", self.over_hold.is_some()),
        ]
        .into_iter()
        .filter_map(|(power, used)| used.then_some(power))
        .collect()
    }

    fn check_ranges(&self) -> Result<(), BadRule> {
        let refuse = |power, value: String, why| Err(BadRule::OutOfRange { power, value, why });
        if let Some(times) = self.duplicate
            && !(1..=100).contains(&times)
        {
            return refuse("duplicate", times.to_string(), "it is from 1 to 100");
        }
        if let Some(status) = &self.status
            && !(200..=599).contains(&status.number())
        {
            return refuse("status", status.number().to_string(), "it is from 200 to 599");
        }
        if let Some(redirect) = &self.redirect
            && ![301, 302, 303, 307, 308].contains(&redirect.code)
        {
            let code = redirect.code.to_string();
            return refuse("redirect", code, "it is 301, 302, 303, 307 or 308");
        }
        if let Some(Split::Every(0) | Split::Random(0)) = self.split {
            return refuse("split", "0".to_owned(), "a piece has at least one byte");
        }
        if self.buffer == Some(Buffer::Bytes(0)) {
            return refuse("buffer", "0 bytes".to_owned(), "a lump has at least one byte");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn check(rule: &serde_json::Value) -> Result<(), String> {
        let read: FaultRule =
            serde_json::from_value(rule.clone()).map_err(|why| format!("unread: {why}"))?;
        read.check().map_err(|why| why.to_string())
    }

    #[test]
    fn powers_go_with_what_they_can_strike() {
        for rule in [
            json!({"on": {"answer": "tools/call", "nth": 2}, "hoard": "12s"}),
            json!({"on": {"answer": "tools/call"}, "hoard": "until-next-request"}),
            json!({"on": "events", "buffer": "until-close"}),
            json!({"on": "events", "buffer": {"bytes": 4096}}),
            json!({"on": {"route": "inbox", "method": "tools/call"}, "status": 410}),
            json!({"on": {"request": "tools/call"}, "status": {"code": 502, "body": "<html>"}, "applied": true}),
            json!({"on": "poll", "ignore_wait": true}),
            json!({"on": "events", "split": {"every": 1}, "line_ends": "crlf", "bom": true}),
            json!({"on": "events", "junk": ["comment", {"oversized": 300000}]}),
            json!({"on": {"answer": "*"}, "retarget": {"client": "b"}}),
            json!({"on": "inbox", "redirect": {"to": "http://127.0.0.1:1/"}}),
        ] {
            assert_eq!(check(&rule), Ok(()), "{rule}");
        }
    }

    #[test]
    fn powers_that_cannot_strike_are_refused_with_those_that_can() {
        for (rule, words) in [
            (json!({"on": "events"}), "a fault on events has no power (give it one of: `status`"),
            (json!({"on": "inbox", "buffer": "until-close"}), "`buffer` cannot strike inbox"),
            (
                json!({"on": {"answer": "x"}, "status": 410}),
                "`status` cannot strike the answer to x",
            ),
            (json!({"on": {"request": "x"}, "applied": true}), "has no power"),
            (json!({"on": "inbox", "duplicate": 0}), "`duplicate` cannot be 0"),
            (json!({"on": "inbox", "status": 99}), "`status` cannot be 99"),
            (
                json!({"on": "inbox", "redirect": {"to": "x", "code": 304}}),
                "`redirect` cannot be 304",
            ),
            (json!({"on": "events", "split": {"every": 0}}), "`split` cannot be 0"),
            (json!({"on": "events", "bufer": 1}), "unread: unknown field `bufer`"),
            (json!({"on": "events", "hoard": "soon"}), "`until-next-request` or `for-ever`"),
        ] {
            let refusal = check(&rule).unwrap_err();
            assert!(refusal.contains(words), "{rule}: {refusal}");
        }
    }

    #[test]
    fn rules_print_back_as_they_were_read() {
        let rule = json!({"on": {"route": "inbox", "nth": [1, 2]}, "hoard": "12s", "status": {"code": 410}});
        let read: FaultRule = serde_json::from_value(rule.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), rule);
    }
}
