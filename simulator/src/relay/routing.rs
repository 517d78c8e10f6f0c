use std::collections::BTreeMap;

use serde_json::Value;

use super::frame::{Frame, IdKey};

/// Who asked what, and with which id (RELAY-2).
///
/// Two clients may ask with the same id. A surface in this process is asked on behalf of one
/// client at a time, so that its answer is that client's. A surface elsewhere sees only ids: the
/// second client's request reaches it under an alias, which the relay takes back on the way home.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    open: BTreeMap<IdKey, Vec<Ask>>,
    aliases: BTreeMap<IdKey, IdKey>,
    aliases_made: u64,
}

/// A request that waits for its answer.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    /// The client that asked.
    pub(crate) client: String,
    /// The id it asked with.
    pub(crate) id: Value,
    /// The method it asked for.
    pub(crate) method: String,
    /// The tool it called, when it did.
    pub(crate) tool: Option<String>,
    alias: Option<IdKey>,
}

impl Ask {
    pub(crate) fn new(client: &str, request: &Frame) -> Self {
        Self {
            client: client.to_owned(),
            id: request.id(),
            method: request.method().unwrap_or_default().to_owned(),
            tool: request.tool().map(str::to_owned),
            alias: None,
        }
    }
}

impl Asked {
    /// Remembers a request and returns the alias that a surface elsewhere should see, when the id
    /// is taken by another client.
    pub(crate) fn ask(&mut self, client: &str, request: &Frame, key: &IdKey) -> Option<Value> {
        let asks = self.open.entry(key.clone()).or_default();
        let taken = asks.iter().any(|ask| ask.client != client && ask.alias.is_none());
        let alias = taken.then(|| {
            self.aliases_made += 1;
            Value::from(format!("relay-{}", self.aliases_made))
        });
        let alias_key = alias.as_ref().map(IdKey::of);
        if let Some(alias) = &alias_key {
            self.aliases.insert(alias.clone(), key.clone());
        }
        asks.push(Ask { alias: alias_key, ..Ask::new(client, request) });
        alias
    }

    /// Finds and forgets the request that an answer answers; none when nobody asked. `asker` is
    /// the client on whose behalf the surface spoke, when that is known.
    pub(crate) fn answered(&mut self, key: &IdKey, asker: Option<&str>) -> Option<Ask> {
        if let Some(asker) = asker
            && let Some(ask) = self.forget(key, |ask| ask.client == asker)
        {
            return Some(ask);
        }
        if let Some(home) = self.aliases.get(key).cloned() {
            return self.forget(&home, |ask| ask.alias.as_ref() == Some(key));
        }
        self.forget(key, |ask| ask.alias.is_none())
    }

    fn forget(&mut self, key: &IdKey, is_it: impl Fn(&Ask) -> bool) -> Option<Ask> {
        let asks = self.open.get_mut(key)?;
        let ask = asks.remove(asks.iter().position(is_it)?);
        if asks.is_empty() {
            self.open.remove(key);
        }
        if let Some(alias) = &ask.alias {
            self.aliases.remove(alias);
        }
        Some(ask)
    }

    /// Forgets everything that a client asked.
    pub(crate) fn client_left(&mut self, client: &str) {
        let aliases = &mut self.aliases;
        self.open.retain(|_, asks| {
            asks.retain(|ask| {
                let stays = ask.client != client;
                if let (false, Some(alias)) = (stays, &ask.alias) {
                    aliases.remove(alias);
                }
                stays
            });
            !asks.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn request(id: &Value) -> (Frame, IdKey) {
        let frame = Frame::of(json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})).unwrap();
        (frame, IdKey::of(id))
    }

    fn ask(asked: &mut Asked, client: &str, id: Value) -> Option<Value> {
        let (frame, key) = request(&id);
        asked.ask(client, &frame, &key)
    }

    fn home(asked: &mut Asked, id: Value, asker: Option<&str>) -> Option<(String, Value)> {
        asked.answered(&IdKey::of(&id), asker).map(|ask| (ask.client, ask.id))
    }

    #[test]
    fn an_answer_goes_to_the_one_that_asked_and_once() {
        let mut asked = Asked::default();
        assert_eq!(ask(&mut asked, "a", json!(1)), None);
        assert_eq!(ask(&mut asked, "b", json!(2)), None);
        assert_eq!(home(&mut asked, json!(2), None), Some(("b".to_owned(), json!(2))));
        assert_eq!(home(&mut asked, json!(2), None), None);
        assert_eq!(home(&mut asked, json!("1"), None), None);
        assert_eq!(home(&mut asked, json!(1), None), Some(("a".to_owned(), json!(1))));
    }

    #[test]
    fn equal_ids_of_two_clients_are_kept_apart_by_an_alias() {
        let mut asked = Asked::default();
        assert_eq!(ask(&mut asked, "a", json!(1)), None);
        let alias = ask(&mut asked, "b", json!(1)).unwrap();
        assert_eq!(home(&mut asked, alias, None), Some(("b".to_owned(), json!(1))));
        assert_eq!(home(&mut asked, json!(1), None), Some(("a".to_owned(), json!(1))));
        assert_eq!(home(&mut asked, json!(1), None), None);
    }

    #[test]
    fn equal_ids_are_kept_apart_by_the_asker_when_it_is_known() {
        let mut asked = Asked::default();
        ask(&mut asked, "a", json!(1));
        ask(&mut asked, "b", json!(1));
        assert_eq!(home(&mut asked, json!(1), Some("b")), Some(("b".to_owned(), json!(1))));
        assert_eq!(home(&mut asked, json!(1), Some("a")), Some(("a".to_owned(), json!(1))));
    }

    #[test]
    fn what_a_client_asked_goes_with_it() {
        let mut asked = Asked::default();
        ask(&mut asked, "a", json!(1));
        let alias = ask(&mut asked, "b", json!(1)).unwrap();
        asked.client_left("b");
        assert_eq!(home(&mut asked, alias, None), None);
        assert_eq!(home(&mut asked, json!(1), None), Some(("a".to_owned(), json!(1))));
    }
}
