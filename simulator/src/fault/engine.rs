use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::matcher::Matcher;
use super::message::Message;
use super::rule::FaultRule;
use crate::journal::Event;

/// The rules of a relay while it runs.
#[derive(Debug)]
pub(crate) struct Engine {
    rules: Vec<(Matcher, Arc<FaultRule>)>,
    rng: ChaCha8Rng,
}

/// What a rule decided about one message.
#[derive(Debug, Clone)]
pub(crate) struct Fate {
    /// What is done to it.
    pub(crate) rule: Arc<FaultRule>,
    number: usize,
    says: String,
    breaks: Option<String>,
}

impl Engine {
    pub(crate) fn new(rules: Vec<FaultRule>, rng: ChaCha8Rng) -> Self {
        let mut engine = Self { rules: Vec::new(), rng };
        engine.replace(rules);
        engine
    }

    /// Takes new rules; their counts begin at nothing.
    pub(crate) fn replace(&mut self, rules: Vec<FaultRule>) {
        self.rules =
            rules.into_iter().map(|rule| (Matcher::new(rule.on.clone()), Arc::new(rule))).collect();
    }

    /// Shows messages that travel together (an exchange and the frames in it) to every rule and
    /// returns what the first rule that chooses one of them decides.
    pub(crate) fn decide(&mut self, messages: &[Message<'_>], at: Duration) -> Option<Fate> {
        let mut fate = None;
        for (number, (matcher, rule)) in self.rules.iter_mut().enumerate() {
            for message in messages {
                // Every rule counts every message, so that `nth` does not depend on other rules.
                if matcher.sees(message, at, &mut self.rng) && fate.is_none() {
                    fate = Some(Fate {
                        rule: Arc::clone(rule),
                        number,
                        says: rule.says(message),
                        breaks: rule.line_broken(message),
                    });
                }
            }
        }
        fate
    }

    /// A source of chance of its own, for a fault that needs one while it strikes.
    pub(crate) fn fork(&mut self) -> ChaCha8Rng {
        ChaCha8Rng::from_rng(&mut self.rng)
    }
}

impl Fate {
    /// The line of the journal that says that it struck.
    pub(crate) fn event(&self, exchange: Option<u64>) -> Event {
        Event::Fault {
            rule: self.number,
            says: self.says.clone(),
            breaks: self.breaks.clone(),
            exchange,
        }
    }
}
