use std::sync::{Arc, Mutex, Weak};

use rand_chacha::ChaCha8Rng;
use tokio::time::Duration;

use crate::fault::{Matcher, Message};
use crate::journal::Event;
use crate::person::{Edit, Moment, Trigger, When};
use crate::relay::{Bystanders, Hub, lock};
use crate::surface::Surface;

/// The people who edit when a frame passes.
pub(super) struct People {
    /// The hub owns its people.
    hub: Weak<Hub>,
    surface: Arc<Mutex<Surface>>,
    waiting: Vec<Waiting>,
    rng: ChaCha8Rng,
}

struct Waiting {
    matcher: Matcher,
    moment: Moment,
    person: String,
    edit: Edit,
}

impl People {
    pub(super) fn new(
        hub: &Arc<Hub>,
        surface: &Arc<Mutex<Surface>>,
        triggers: &[Trigger],
        rng: ChaCha8Rng,
    ) -> Self {
        let waiting = triggers.iter().filter_map(|trigger| match &trigger.when {
            When::Time(_) => None,
            When::Frame { on, moment } => Some(Waiting {
                matcher: Matcher::new((**on).clone()),
                moment: *moment,
                person: trigger.person.clone(),
                edit: trigger.edit.clone(),
            }),
        });
        Self {
            hub: Arc::downgrade(hub),
            surface: Arc::clone(surface),
            waiting: waiting.collect(),
            rng,
        }
    }

    fn see(&mut self, moment: Moment, messages: &[Message<'_>], at: Duration) {
        let Some(hub) = self.hub.upgrade() else { return };
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.moment == moment) {
            for message in messages {
                if waiting.matcher.sees(message, at, &mut self.rng) {
                    edit(&hub, &self.surface, &waiting.person, &waiting.edit);
                }
            }
        }
    }
}

impl Bystanders for People {
    fn before(&mut self, messages: &[Message<'_>], at: Duration) {
        self.see(Moment::Before, messages, at);
    }

    fn after(&mut self, messages: &[Message<'_>], at: Duration) {
        self.see(Moment::After, messages, at);
    }

    fn introduce(&mut self, agent: &str, client: &str) {
        self.waiting.iter_mut().for_each(|waiting| waiting.matcher.introduce(agent, client));
    }
}

/// Makes an edit that nobody waits for. One that the surface refuses is told in the journal: the
/// scenario meant it to happen.
pub(super) fn edit(hub: &Hub, surface: &Mutex<Surface>, person: &str, edit: &Edit) {
    if let Err(why) = lock(surface).edit(person, edit) {
        hub.note(Event::Note { says: format!("{person} could not {}: {why}", edit.verb()) });
    }
}
