//! The state that two writers share: screens, their cells, and the total order of writes.
//!
//! Every write has a number. What the session opened with is write 1, by nobody; the first write
//! after that is 2. A write that changes no cell is no write and gets no number (SURF-4 read both
//! ways: a revision moves on every change, and on nothing else).

use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value, json};

use super::spec::ScreenSpec;
use crate::journal::{Author, CellChange};

/// The write that the session opened with.
pub(crate) const FIRST_WRITE: u64 = 1;

/// The field whose value says whether the screen is there.
pub(crate) const EXISTS: &str = "exists";

/// A field of a screen, in the order in which everything lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Field {
    Title,
    Kind,
    X,
    Y,
    Content,
}

impl Field {
    pub(crate) const ALL: [Self; 5] = [Self::Title, Self::Kind, Self::X, Self::Y, Self::Content];

    /// Its name in cells, arguments and results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Kind => "kind",
            Self::X => "x",
            Self::Y => "y",
            Self::Content => "content",
        }
    }

    /// What a screen has there when nobody said otherwise.
    fn default_value(self) -> Value {
        let screen = ScreenSpec::default();
        match self {
            Self::Title => json!(screen.title),
            Self::Kind => json!(screen.kind),
            Self::X => json!(screen.x),
            Self::Y => json!(screen.y),
            Self::Content => json!(screen.content),
        }
    }
}

/// One cell: a handle and a field of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Cell {
    pub(crate) handle: String,
    pub(crate) field: &'static str,
}

impl Cell {
    pub(crate) fn new(handle: &str, field: &'static str) -> Self {
        Self { handle: handle.to_owned(), field }
    }

    /// Every cell of one handle, its existence first.
    pub(crate) fn all_of(handle: &str) -> Vec<Self> {
        let fields = Field::ALL.into_iter().map(Field::name);
        std::iter::once(EXISTS).chain(fields).map(|field| Self::new(handle, field)).collect()
    }

    /// As the journal names it: `handle.field`.
    pub(crate) fn text(&self) -> String {
        format!("{}.{}", self.handle, self.field)
    }
}

/// The values of one screen's fields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Screen([Value; Field::ALL.len()]);

impl Screen {
    pub(crate) fn get(&self, field: Field) -> &Value {
        &self.0[field as usize]
    }

    /// Its fields as a JSON object.
    pub(crate) fn fields(&self) -> Map<String, Value> {
        Field::ALL.into_iter().map(|f| (f.name().to_owned(), self.get(f).clone())).collect()
    }

    fn of(fields: &[(Field, Value)]) -> Self {
        let mut screen = Self(Field::ALL.map(Field::default_value));
        for (field, value) in fields {
            screen.0[*field as usize] = value.clone();
        }
        screen
    }
}

/// What somebody wants to do to the board.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    /// A screen that is not there.
    Create { handle: String, fields: Vec<(Field, Value)> },
    /// Fields of a screen that is there.
    Set { handle: String, fields: Vec<(Field, Value)> },
    /// A screen that is there, away.
    Delete { handle: String },
}

impl Change {
    pub(crate) fn handle(&self) -> &str {
        match self {
            Self::Create { handle, .. } | Self::Set { handle, .. } | Self::Delete { handle } => {
                handle
            }
        }
    }

    /// The cells that it writes, whatever values they hold now.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        match self {
            Self::Create { handle, .. } | Self::Delete { handle } => Cell::all_of(handle),
            Self::Set { handle, fields } => {
                fields.iter().map(|(field, _)| Cell::new(handle, field.name())).collect()
            }
        }
    }
}

/// Why a change cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Impossible {
    #[error("there is no screen `{0}`")]
    Missing(String),
    #[error("there is a screen `{0}` already")]
    Exists(String),
}

/// Who makes a change, and by which name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Signature {
    pub(crate) author: Author,
    pub(crate) action: String,
    /// The JSON-RPC id of an agent's call.
    pub(crate) request: Option<Value>,
}

/// One write, as it happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Write {
    pub(crate) number: u64,
    pub(crate) by: Signature,
    pub(crate) cells: Vec<CellChange>,
    /// Whether revisions and the feed know of it. A deletion without a tombstone is unknown to
    /// both.
    pub(crate) noticed: bool,
}

impl Write {
    /// The one handle that it changed.
    pub(crate) fn handle(&self) -> &str {
        self.cells.first().map_or("", |cell| cell.handle.as_str())
    }

    /// The value that it gave to the screen's existence, when it changed that.
    pub(crate) fn existence(&self) -> Option<bool> {
        self.cells.iter().find(|cell| cell.field == EXISTS).and_then(|cell| cell.new.as_bool())
    }

    /// Whether that client made it.
    pub(crate) fn is_by(&self, client: &str) -> bool {
        matches!(&self.by.author, Author::Agent { client: author } if author == client)
    }
}

/// The screens and the writes that made them what they are.
#[derive(Debug)]
pub(crate) struct Board {
    screens: IndexMap<String, Screen>,
    /// Every handle that ever was.
    known: IndexSet<String>,
    writes: Vec<Write>,
    /// Numbers of the writes that can still be undone, oldest first.
    undoable: Vec<u64>,
    deletions_are_noticed: bool,
}

impl Board {
    pub(crate) fn new(screens: &IndexMap<String, ScreenSpec>, deletions_are_noticed: bool) -> Self {
        let screens: IndexMap<_, _> = screens
            .iter()
            .map(|(handle, s)| {
                let values =
                    [json!(s.title), json!(s.kind), json!(s.x), json!(s.y), json!(s.content)];
                (handle.clone(), Screen(values))
            })
            .collect();
        Self {
            known: screens.keys().cloned().collect(),
            screens,
            writes: Vec::new(),
            undoable: Vec::new(),
            deletions_are_noticed,
        }
    }

    pub(crate) fn screens(&self) -> &IndexMap<String, Screen> {
        &self.screens
    }

    /// Every handle that ever was on the board.
    pub(crate) fn known(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(String::as_str)
    }

    /// The writes since the session opened, in order, those that nobody noticed included.
    pub(crate) fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// The number of the newest write.
    pub(crate) fn newest(&self) -> u64 {
        self.writes.last().map_or(FIRST_WRITE, |write| write.number)
    }

    /// A handle for a new screen that was never used, `screen_<n>`.
    pub(crate) fn fresh_handle(&self) -> String {
        let free = |n: &usize| !self.known.contains(&format!("screen_{n}"));
        let number = (self.known.len() + 1..).find(free).unwrap_or(self.known.len() + 1);
        format!("screen_{number}")
    }

    /// The write of that number.
    pub(crate) fn write(&self, number: u64) -> Option<&Write> {
        // Numbers are dense: the first entry is write 2.
        let index = number.checked_sub(FIRST_WRITE + 1)?;
        self.writes.get(usize::try_from(index).ok()?)
    }

    /// Makes a change and answers the number of its write. `None`: every cell had its value
    /// already, so that nothing was written.
    pub(crate) fn apply(
        &mut self,
        change: &Change,
        by: Signature,
    ) -> Result<Option<u64>, Impossible> {
        let cells = self.effect_of(change)?;
        let written = self.commit(cells, by);
        self.undoable.extend(written);
        Ok(written)
    }

    /// Takes back the newest write that was not taken back yet, whoever made it. `None`: there is
    /// nothing left to undo.
    pub(crate) fn undo(&mut self, by: Signature) -> Option<u64> {
        let number = self.undoable.pop()?;
        let undone = self.write(number)?;
        let cells = undone
            .cells
            .iter()
            .map(|cell| CellChange {
                handle: cell.handle.clone(),
                field: cell.field.clone(),
                old: cell.new.clone(),
                new: cell.old.clone(),
            })
            .collect();
        self.commit(cells, by)
    }

    /// The cells as a change would find and leave them.
    fn effect_of(&self, change: &Change) -> Result<Vec<CellChange>, Impossible> {
        let there = self.screens.get(change.handle());
        let handle = change.handle();
        let cell = |field: &str, old: Value, new: Value| CellChange {
            handle: handle.to_owned(),
            field: field.to_owned(),
            old,
            new,
        };
        match (change, there) {
            (Change::Create { .. }, Some(_)) => Err(Impossible::Exists(handle.to_owned())),
            (Change::Create { fields, .. }, None) => {
                let made = Screen::of(fields);
                let fields = Field::ALL.map(|f| cell(f.name(), Value::Null, made.get(f).clone()));
                Ok([cell(EXISTS, json!(false), json!(true))].into_iter().chain(fields).collect())
            }
            (_, None) => Err(Impossible::Missing(handle.to_owned())),
            (Change::Set { fields, .. }, Some(screen)) => Ok(fields
                .iter()
                .map(|(f, value)| cell(f.name(), screen.get(*f).clone(), value.clone()))
                .collect()),
            (Change::Delete { .. }, Some(screen)) => {
                let fields = Field::ALL.map(|f| cell(f.name(), screen.get(f).clone(), Value::Null));
                Ok([cell(EXISTS, json!(true), json!(false))].into_iter().chain(fields).collect())
            }
        }
    }

    fn commit(&mut self, mut cells: Vec<CellChange>, by: Signature) -> Option<u64> {
        cells.retain(|cell| cell.old != cell.new);
        let handle = cells.first()?.handle.clone();
        let mut write = Write { number: self.newest() + 1, by, cells, noticed: true };
        write.noticed = self.deletions_are_noticed || write.existence() != Some(false);
        if write.existence() == Some(false) {
            self.screens.shift_remove(&handle);
        } else {
            let screen = self.screens.entry(handle.clone()).or_insert_with(|| Screen::of(&[]));
            for field in Field::ALL {
                if let Some(cell) = write.cells.iter().find(|cell| cell.field == field.name()) {
                    screen.0[field as usize] = cell.new.clone();
                }
            }
        }
        self.known.insert(handle);
        let number = write.number;
        self.writes.push(write);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn board() -> Board {
        let screen = ScreenSpec { title: "Budget".to_owned(), ..ScreenSpec::default() };
        Board::new(&IndexMap::from([("screen_7".to_owned(), screen)]), true)
    }

    fn ada(action: &str) -> Signature {
        let author = Author::Person { name: "Ada".to_owned() };
        Signature { author, action: action.to_owned(), request: None }
    }

    fn set(handle: &str, field: Field, value: Value) -> Change {
        Change::Set { handle: handle.to_owned(), fields: vec![(field, value)] }
    }

    #[test]
    fn writes_are_numbered_from_two_and_only_changes_are_writes() {
        let mut board = board();
        assert_eq!(board.newest(), 1);
        assert_eq!(board.apply(&set("screen_7", Field::X, json!(40)), ada("move")), Ok(Some(2)));
        assert_eq!(board.apply(&set("screen_7", Field::X, json!(40)), ada("move")), Ok(None));
        assert_eq!(board.newest(), 2);
        let cell = &board.write(2).unwrap().cells[0];
        assert_eq!((cell.field.as_str(), &cell.old, &cell.new), ("x", &json!(0), &json!(40)));
        assert_eq!(board.write(1), None);
        assert_eq!(board.write(3), None);
    }

    #[test]
    fn existence_is_a_cell_and_a_handle_is_never_handed_out_twice() {
        let mut board = board();
        let away = Change::Delete { handle: "screen_7".to_owned() };
        board.apply(&away, ada("delete")).unwrap();
        let write = board.write(2).unwrap();
        assert_eq!(write.existence(), Some(false));
        assert_eq!(write.cells.len(), 6);
        assert_eq!(write.cells[1].new, Value::Null);
        assert_eq!(board.apply(&away, ada("delete")), Err(Impossible::Missing("screen_7".into())));
        let made = board.fresh_handle();
        assert_eq!(made, "screen_2");
        let create = Change::Create { handle: made.clone(), fields: Vec::new() };
        board.apply(&create, ada("create")).unwrap();
        assert_eq!(board.apply(&create, ada("create")), Err(Impossible::Exists(made)));
        assert_eq!(board.fresh_handle(), "screen_3");
    }

    #[test]
    fn undo_walks_back_to_the_beginning_and_stops_there() {
        let mut board = board();
        let before = board.screens().clone();
        board.apply(&set("screen_7", Field::Title, json!("Plan")), ada("rename")).unwrap();
        board.apply(&Change::Delete { handle: "screen_7".to_owned() }, ada("delete")).unwrap();
        assert_eq!(board.undo(ada("undo")), Some(4));
        assert_eq!(board.screens()["screen_7"].get(Field::Title), "Plan");
        assert_eq!(board.undo(ada("undo")), Some(5));
        assert_eq!(*board.screens(), before);
        assert_eq!(board.undo(ada("undo")), None);
        assert_eq!(board.newest(), 5);
    }

    #[test]
    fn a_deletion_without_a_tombstone_is_a_write_that_nobody_notices() {
        let mut board = Board::new(&super::super::spec::SurfaceSpec::default().screens, false);
        board.apply(&Change::Delete { handle: "screen_1".to_owned() }, ada("delete")).unwrap();
        board.apply(&set("screen_2", Field::Y, json!(9)), ada("move")).unwrap();
        let noticed: Vec<_> = board.writes().iter().map(|write| write.noticed).collect();
        assert_eq!(noticed, [false, true]);
    }
}
