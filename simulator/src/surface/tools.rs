//! The catalogue: which tools are on offer at which moment of the session, page by page.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use super::spec::{Definition, Redefinition, SpecError, ToolsSpec};

/// A tool of the stock board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stock {
    List,
    Read,
    Create,
    Rename,
    Move,
    Update,
    Delete,
    Propose,
    Confirm,
    Feed,
}

impl Stock {
    /// Whether it writes, or stages a write.
    pub(crate) fn writes(self) -> bool {
        !matches!(self, Self::List | Self::Read | Self::Confirm | Self::Feed)
    }
}

/// What answers a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    /// The board.
    Stock(Stock),
    /// The script of the extra tool at this place in the list.
    Extra(usize),
}

#[derive(Debug, Clone)]
struct Entry {
    name: String,
    /// Shared: a catalogue is asked several times a call, and a definition is a tree of values.
    definition: Arc<Map<String, Value>>,
    behind: Behind,
}

/// Every tool of the surface and every redefinition to come.
#[derive(Debug)]
pub(crate) struct Catalogue {
    entries: Vec<Entry>,
    redefinitions: Vec<Redefinition>,
    page_size: usize,
    endless: bool,
}

/// A cursor that no page of this list ever carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnknownCursor;

impl Catalogue {
    pub(crate) fn new(spec: &ToolsSpec, feed: Option<&str>) -> Result<Self, SpecError> {
        let mut entries = stock(feed);
        let names = |entries: &[Entry]| entries.iter().map(|e| e.name.clone()).collect::<Vec<_>>();
        for tool in &spec.hide {
            let Some(index) = entries.iter().position(|entry| entry.name == *tool) else {
                let (tool, tools) = (tool.clone(), names(&entries));
                return Err(SpecError::NoSuchTool { tool, verb: "hide", tools });
            };
            entries.remove(index);
        }
        for (index, tool) in spec.extra.iter().enumerate() {
            let mut definition = Map::new();
            definition.insert("name".to_owned(), json!(tool.name));
            definition.insert("description".to_owned(), json!(tool.description));
            definition.insert("inputSchema".to_owned(), tool.input_schema.clone());
            if let Some(annotations) = &tool.annotations {
                definition.insert("annotations".to_owned(), annotations.clone());
            }
            let (name, definition) = (tool.name.clone(), Arc::new(definition));
            let entry = Entry { name, definition, behind: Behind::Extra(index) };
            match entries.iter_mut().find(|entry| entry.name == tool.name) {
                Some(Entry { behind: Behind::Extra(_), .. }) => {
                    return Err(SpecError::ExtraTwice(tool.name.clone()));
                }
                Some(stock) => *stock = entry,
                None => entries.push(entry),
            }
        }
        for redefinition in &spec.redefine {
            let tool = redefinition.tool.clone();
            if !entries.iter().any(|entry| entry.name == tool) {
                let tools = names(&entries);
                return Err(SpecError::NoSuchTool { tool, verb: "redefine", tools });
            }
            let after = redefinition.after;
            if let Some(until) = redefinition.until.filter(|until| *until <= after) {
                return Err(SpecError::EndsBeforeItBegins { tool, after, until });
            }
        }
        Ok(Self {
            entries,
            redefinitions: spec.redefine.clone(),
            page_size: spec.page_size.map_or(usize::MAX, std::num::NonZeroUsize::get),
            endless: spec.endless,
        })
    }

    /// What answers the tool of that name once `calls` calls were answered.
    pub(crate) fn find(&self, name: &str, calls: u64) -> Option<Behind> {
        if self.redefinitions.is_empty() {
            return self.entries.iter().find(|entry| entry.name == name).map(|entry| entry.behind);
        }
        self.at(calls).into_iter().find(|entry| entry.name == name).map(|entry| entry.behind)
    }

    /// One page of `tools/list`, as the JSON-RPC result.
    pub(crate) fn page(&self, cursor: Option<&str>, calls: u64) -> Result<Value, UnknownCursor> {
        let entries = self.at(calls);
        let size = self.page_size.min(entries.len().max(1));
        let pages = entries.len().div_ceil(size);
        let page = match cursor {
            None => 1,
            Some(cursor) => (2..=pages.max(2))
                .find(|page| cursor == cursor_to(*page))
                .filter(|page| *page <= pages || self.endless)
                .ok_or(UnknownCursor)?,
        };
        // An endless list shows its last page again and again.
        let shown = entries.into_iter().skip((page.min(pages.max(1)) - 1) * size).take(size);
        let tools = shown.map(Entry::into_value).collect();
        let mut result = Map::from_iter([("tools".to_owned(), Value::Array(tools))]);
        let next = if page < pages { Some(page + 1) } else { self.endless.then_some(page.max(2)) };
        if let Some(next) = next {
            result.insert("nextCursor".to_owned(), json!(cursor_to(next)));
        }
        Ok(Value::Object(result))
    }

    /// Whether `notifications/tools/list_changed` is due when the call of that number was
    /// answered.
    pub(crate) fn announces(&self, calls: u64) -> bool {
        self.redefinitions
            .iter()
            .any(|r| r.announce && (r.after == calls || r.until == Some(calls)))
    }

    /// Every definition on offer once `calls` calls were answered, whatever page it is on.
    pub(crate) fn definitions(&self, calls: u64) -> Vec<Value> {
        self.at(calls).into_iter().map(Entry::into_value).collect()
    }

    /// The tools as they stand once `calls` calls were answered.
    fn at(&self, calls: u64) -> Vec<Entry> {
        let mut entries = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            let mut entry = Some(entry.clone());
            for redefinition in &self.redefinitions {
                let due = redefinition.after <= calls
                    && redefinition.until.is_none_or(|until| calls < until);
                entry = entry.and_then(|now| {
                    let named = self.original_name(&now) == redefinition.tool;
                    if named && due { redefined(now, &redefinition.to) } else { Some(now) }
                });
            }
            entries.extend(entry);
        }
        entries
    }

    fn original_name(&self, entry: &Entry) -> &str {
        self.entries
            .iter()
            .find(|original| original.behind == entry.behind)
            .map_or("", |original| original.name.as_str())
    }
}

fn redefined(mut entry: Entry, to: &Definition) -> Option<Entry> {
    if to.gone {
        return None;
    }
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            Arc::make_mut(&mut entry.definition).insert(key.to_owned(), value);
        }
    };
    put("name", to.name.as_ref().map(|name| json!(name)));
    put("description", to.description.as_ref().map(|text| json!(text)));
    put("inputSchema", to.input_schema.as_ref().map(|schema| json!(schema)));
    put("annotations", to.annotations.as_ref().map(|annotations| json!(annotations)));
    if let Some(name) = &to.name {
        entry.name.clone_from(name);
    }
    Some(entry)
}

/// Cursors are words, so that nobody is tempted to count.
fn cursor_to(page: usize) -> String {
    format!("page-{page}")
}

impl Entry {
    fn into_value(self) -> Value {
        Value::Object(Arc::unwrap_or_clone(self.definition))
    }
}

/// The stock board's tools, its feed under the name that it has here.
fn stock(feed: Option<&str>) -> Vec<Entry> {
    static BOARD: OnceLock<Vec<Entry>> = OnceLock::new();
    let mut tools = BOARD.get_or_init(board).clone();
    if let Some(feed) = feed {
        let since = json!({ "since": { "type": ["string", "number"] } });
        let says = "What changed since a revision, and who changed it.";
        tools.push(tool(feed, Stock::Feed, says, since, &[]));
    }
    tools
}

fn board() -> Vec<Entry> {
    let fields = || {
        json!({
            "title": { "type": "string" },
            "kind": { "type": "string" },
            "x": { "type": "integer" },
            "y": { "type": "integer" },
            "content": { "type": "string" },
        })
    };
    let pick = |names: &[&str]| {
        let all = fields();
        let id = std::iter::once(("id".to_owned(), json!({ "type": "string" })));
        let picked = names.iter().map(|name| ((*name).to_owned(), all[*name].clone()));
        Value::Object(id.chain(picked).collect())
    };
    let every = ["title", "kind", "x", "y", "content"];
    vec![
        tool("screen_list", Stock::List, "Every screen on the board.", json!({}), &[]),
        tool("screen_read", Stock::Read, "One screen.", pick(&[]), &["id"]),
        tool(
            "screen_create",
            Stock::Create,
            "Adds a screen. Without an id the board chooses one.",
            pick(&every),
            &[],
        ),
        tool(
            "screen_rename",
            Stock::Rename,
            "Gives a screen another title.",
            pick(&["title"]),
            &["id", "title"],
        ),
        tool(
            "screen_move",
            Stock::Move,
            "Moves a screen, in one direction or both.",
            pick(&["x", "y"]),
            &["id"],
        ),
        tool("screen_update", Stock::Update, "Sets any fields of a screen.", pick(&every), &["id"]),
        tool("screen_delete", Stock::Delete, "Takes a screen away.", pick(&[]), &["id"]),
        tool(
            "screen_propose",
            Stock::Propose,
            "Stages fields of a screen, or without an id a new screen. Nothing changes until a \
             person confirms it.",
            pick(&every),
            &[],
        ),
        tool(
            "screen_confirm",
            Stock::Confirm,
            "Confirms a proposal. Belongs to the person at the board.",
            json!({ "proposal": { "type": "string" } }),
            &["proposal"],
        ),
    ]
}

fn tool(name: &str, stock: Stock, description: &str, arguments: Value, needs: &[&str]) -> Entry {
    let mut schema = json!({ "type": "object", "properties": arguments });
    if !needs.is_empty() {
        schema["required"] = json!(needs);
    }
    schema["additionalProperties"] = json!(false);
    let definition = json!({
        "name": name,
        "description": description,
        "inputSchema": schema,
        "annotations": { "readOnlyHint": !stock.writes() && stock != Stock::Confirm },
    });
    let Value::Object(definition) = definition else { unreachable!("an object was written") };
    Entry { name: name.to_owned(), definition: Arc::new(definition), behind: Behind::Stock(stock) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn catalogue(tools: Value) -> Result<Catalogue, SpecError> {
        Catalogue::new(&serde_json::from_value(tools).unwrap(), Some("changes_since"))
    }

    fn names(page: &Value) -> Vec<&str> {
        page["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect()
    }

    #[test]
    fn the_stock_board_lists_its_tools_and_its_feed() {
        let page = catalogue(json!({})).unwrap().page(None, 0).unwrap();
        assert_eq!(
            names(&page),
            [
                "screen_list",
                "screen_read",
                "screen_create",
                "screen_rename",
                "screen_move",
                "screen_update",
                "screen_delete",
                "screen_propose",
                "screen_confirm",
                "changes_since"
            ]
        );
        assert_eq!(page.get("nextCursor"), None);
        assert_eq!(page["tools"][4]["inputSchema"]["properties"]["x"]["type"], "integer");
    }

    #[test]
    fn pages_end_unless_they_are_told_not_to() {
        let tools = catalogue(json!({ "page_size": 4 })).unwrap();
        let mut seen = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let page = tools.page(cursor.as_deref(), 0).unwrap();
            seen.extend(names(&page).into_iter().map(str::to_owned));
            cursor = page.get("nextCursor").map(|c| c.as_str().unwrap().to_owned());
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen.len(), 10);
        for cursor in ["page-1", "page-4", "2", ""] {
            assert_eq!(tools.page(Some(cursor), 0), Err(UnknownCursor), "{cursor}");
        }
        for size in [4, 100] {
            let tools = catalogue(json!({ "page_size": size, "endless": true })).unwrap();
            let mut page = tools.page(None, 0).unwrap();
            for _ in 0..5 {
                page = tools.page(Some(page["nextCursor"].as_str().unwrap()), 0).unwrap();
            }
            assert_eq!(names(&page).last(), Some(&"changes_since"));
        }
    }

    #[test]
    fn a_definition_changes_and_comes_back() {
        let tools = catalogue(json!({ "redefine": [
            { "tool": "screen_move", "after": 1, "until": 2, "to": { "description": "Run." } },
            { "tool": "screen_read", "after": 1, "to": { "name": "screen_peek" }, "announce": true },
            { "tool": "screen_list", "after": 2, "to": { "gone": true } },
        ] }))
        .unwrap();
        let described = |calls| {
            let page = tools.page(None, calls).unwrap();
            let tools = page["tools"].as_array().unwrap().clone();
            tools.into_iter().find(|t| t["name"] == "screen_move").unwrap()["description"].clone()
        };
        assert_ne!(described(0), "Run.");
        assert_eq!(described(1), "Run.");
        assert_eq!(described(2), described(0));
        assert_eq!(tools.find("screen_peek", 0), None);
        assert_eq!(tools.find("screen_peek", 1), Some(Behind::Stock(Stock::Read)));
        assert_eq!(tools.find("screen_read", 1), None);
        assert_eq!(tools.find("screen_list", 2), None);
        assert_eq!([0, 1, 2].map(|calls| tools.announces(calls)), [false, true, false]);
    }

    #[test]
    fn an_extra_tool_stands_in_for_a_stock_one() {
        let tools = catalogue(json!({
            "hide": ["screen_confirm"],
            "extra": [{ "name": "screen_read" }, { "name": "se\u{441}ret", "description": "d" }],
        }))
        .unwrap();
        assert_eq!(tools.find("screen_read", 0), Some(Behind::Extra(0)));
        assert_eq!(tools.find("screen_confirm", 0), None);
        let page = tools.page(None, 0).unwrap();
        assert_eq!(names(&page)[1], "screen_read");
        assert_eq!(*names(&page).last().unwrap(), "se\u{441}ret");
    }

    #[test]
    fn a_catalogue_that_cannot_be_is_refused_in_words() {
        for (spec, words) in [
            (
                json!({ "hide": ["screen_burn"] }),
                "no tool `screen_burn` to hide (tools: `screen_li",
            ),
            (
                json!({ "redefine": [{ "tool": "x", "after": 1, "to": {} }] }),
                "no tool `x` to redefine",
            ),
            (json!({ "extra": [{ "name": "a" }, { "name": "a" }] }), "two extra tools"),
            (
                json!({ "redefine": [{ "tool": "screen_read", "after": 3, "until": 3, "to": {} }] }),
                "`until` must be the larger",
            ),
        ] {
            let refusal = catalogue(spec).unwrap_err().to_string();
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
