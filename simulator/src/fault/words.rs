//! What a fault says when it strikes, and which line of the contract it breaks.

use super::message::{Kind, Message};
use super::rule::FaultRule;

impl FaultRule {
    /// What the rule does to a message, in words.
    pub(super) fn says(&self, message: &Message<'_>) -> String {
        let what = name_of(message);
        let mut said = Vec::new();
        if let Some(close) = self.close {
            said.push(format!("{close} on {what}"));
        }
        if let Some(status) = &self.status {
            said.push(format!("answered {what} with {}", status.number()));
        }
        if let Some(redirect) = &self.redirect {
            said.push(format!("redirected {what} with {} to {}", redirect.code, redirect.to));
        }
        if let Some(hoard) = self.hoard {
            said.push(format!("held {what} {hoard}"));
        }
        if let Some(delay) = self.delay {
            said.push(format!("delayed {what} by {delay}"));
        }
        if let Some(buffer) = self.buffer {
            said.push(format!("buffered {what} {buffer}"));
        }
        if self.drop {
            said.push(format!("lost {what}"));
        }
        if let Some(times) = self.duplicate {
            said.push(format!("passed {what} on {} times", times.saturating_add(1)));
        }
        if self.mutate.is_some() {
            said.push(format!("changed {what}"));
        }
        if self.retarget.is_some() {
            said.push(format!("delivered {what} to somebody else"));
        }
        if !self.inject.is_empty() {
            said.push(format!("slipped in {} frames before {what}", self.inject.len()));
        }
        if self.split.is_some() {
            said.push(format!("cut {what} into pieces"));
        }
        if let Some(ends) = self.line_ends {
            said.push(format!("ended the lines of {what} with {ends}"));
        }
        if self.bom {
            said.push(format!("began {what} with a byte-order mark"));
        }
        if !self.junk.is_empty() {
            let junk: Vec<String> = self.junk.iter().map(ToString::to_string).collect();
            said.push(format!("put {} into {what}", junk.join(" and ")));
        }
        if self.ignore_wait {
            said.push(format!("answered {what} without waiting"));
        }
        if let Some(more) = self.over_hold {
            said.push(format!("held {what} {more} longer than it asked"));
        }
        if self.applied {
            said.push("and handed the frame on".to_owned());
        }
        said.join(", ")
    }

    /// The contract line that the rule breaks, when it breaks one: a form that the contract allows
    /// (line ends, pieces, comments) breaks none.
    pub(super) fn line_broken(&self, message: &Message<'_>) -> Option<String> {
        if self.breaks.is_some() {
            return self.breaks.clone();
        }
        let receives = matches!(message.kind, Kind::Exchange { receives: true, .. });
        let on_exchange = matches!(message.kind, Kind::Exchange { .. });
        let line = if let Some(status) = &self.status {
            match status.number() {
                400 => "RELAY-12",
                401 | 410 => "RELAY-1",
                413 => "RELAY-8",
                _ => return None,
            }
        } else if self.redirect.is_some() {
            "EGRESS-5"
        } else if self.buffer.is_some() {
            "RELAY-9"
        } else if self.retarget.is_some() || self.mutate.is_some() || self.duplicate.is_some() {
            "RELAY-2"
        } else if self.ignore_wait || self.over_hold.is_some() {
            "RELAY-4"
        } else if self.drop {
            "RELAY-3"
        } else if self.close.is_some() || self.hoard.is_some() || self.delay.is_some() {
            if receives || !on_exchange { "RELAY-9" } else { return None }
        } else if !self.inject.is_empty() || self.junk.iter().any(|junk| !junk.is_legal()) {
            "RELAY-6"
        } else {
            return None;
        };
        Some(line.to_owned())
    }
}

impl super::stream_shape::Junk {
    fn is_legal(self) -> bool {
        matches!(
            self,
            Self::Comment | Self::UnknownEvent | Self::UnknownField | Self::EmptyData | Self::Retry
        )
    }
}

fn name_of(message: &Message<'_>) -> String {
    let method = message.method.unwrap_or("nothing");
    match (message.kind, message.tool) {
        (Kind::Exchange { route, .. }, _) => route.name().to_owned(),
        (Kind::Request, Some(tool)) => format!("the request {method} of {tool}"),
        (Kind::Request, None) => format!("the request {method}"),
        (Kind::Answer, Some(tool)) => format!("the answer to {method} of {tool}"),
        (Kind::Answer, None) => format!("the answer to {method}"),
        (Kind::Notification, _) => format!("the notification {method}"),
    }
}
