use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::matcher::Matcher;
use super::message::Message;
use super::mutation::Retarget;
use super::rule::FaultRule;
use crate::journal::Event;

/// The rules of a relay while it runs.
#[derive(Debug)]
pub(crate) struct Engine {
    rules: Vec<(Matcher, Arc<FaultRule>)>,
    /// Agents that were introduced, with the ids they have on the wire.
    clients: BTreeMap<String, String>,
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
        let mut engine = Self { rules: Vec::new(), clients: BTreeMap::new(), rng };
        engine.replace(rules);
        engine
    }

    /// Takes new rules; their counts begin at nothing.
    pub(crate) fn replace(&mut self, rules: Vec<FaultRule>) {
        self.rules =
            rules.into_iter().map(|rule| (Matcher::new(rule.on.clone()), Arc::new(rule))).collect();
        for (agent, client) in self.clients.clone() {
            self.name(&agent, &client);
        }
    }

    /// Rules that name `agent` strike the client of this id from now on, rules that come later too.
    pub(crate) fn introduce(&mut self, agent: &str, client: &str) {
        self.clients.insert(agent.to_owned(), client.to_owned());
        self.name(agent, client);
    }

    fn name(&mut self, agent: &str, client: &str) {
        for (matcher, rule) in &mut self.rules {
            matcher.introduce(agent, client);
            if let Some(Retarget::Client(other)) = &rule.retarget
                && other == agent
            {
                let retarget = Some(Retarget::Client(client.to_owned()));
                *rule = Arc::new(FaultRule { retarget, ..(**rule).clone() });
            }
        }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;
    use crate::fault::Kind;

    #[test]
    fn an_agent_that_was_introduced_is_struck_under_its_name_by_old_rules_and_new_ones() {
        let rule = |client: &str| -> FaultRule {
            let on = json!({"answer": "*", "client": client});
            serde_json::from_value(json!({"on": on, "retarget": {"client": "bob"}})).unwrap()
        };
        let mut engine = Engine::new(vec![rule("ada")], ChaCha8Rng::seed_from_u64(1));
        let answer = Message {
            kind: Kind::Answer,
            client: Some("rc_1"),
            method: Some("tools/call"),
            tool: None,
        };
        assert!(engine.decide(&[answer], Duration::ZERO).is_none(), "nobody knows who ada is");
        engine.introduce("ada", "rc_1");
        engine.introduce("bob", "rc_2");
        let fate = engine.decide(&[answer], Duration::ZERO).unwrap();
        assert_eq!(fate.rule.retarget, Some(Retarget::Client("rc_2".to_owned())));
        engine.replace(vec![rule("ada")]);
        let fate = engine.decide(&[answer], Duration::ZERO).unwrap();
        assert_eq!(fate.rule.retarget, Some(Retarget::Client("rc_2".to_owned())));
        engine.replace(vec![rule("bob")]);
        assert!(engine.decide(&[answer], Duration::ZERO).is_none(), "bob is somebody else");
    }
}
