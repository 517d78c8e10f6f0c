//! Overwrites: an agent's write over a value that a person had put there. Whether one is a lost
//! update, a revert or an informed decision depends on what the agent had seen.

use super::facts::{Write, handle_of, name};
use super::telling::{list, value};
use super::timeline::History;
use crate::journal::CellChange;

/// One agent's write over a person's values of one screen.
pub(super) struct Overwrite<'a> {
    pub(super) client: &'a str,
    pub(super) write: &'a Write,
    pub(super) cells: Vec<OverwrittenCell<'a>>,
}

/// One of its cells.
pub(super) struct OverwrittenCell<'a> {
    pub(super) cell: String,
    pub(super) change: &'a CellChange,
    /// The person's write that had put the value there.
    pub(super) person: &'a Write,
    /// `seen(A, c)` when the agent wrote.
    pub(super) seen: u64,
}

impl History {
    /// Every overwrite whose cells pass, cells of one screen together. Over a deletion there is
    /// no value to overwrite; that is the resurrection's part.
    pub(super) fn overwrites(
        &self,
        passes: impl Fn(&OverwrittenCell<'_>, &str) -> bool,
    ) -> Vec<Overwrite<'_>> {
        let mut found: Vec<Overwrite<'_>> = Vec::new();
        for write in self.writes.iter().filter(|write| !write.has_person_behind()) {
            let Some(client) = write.client() else { continue };
            let mut of_write: Vec<Overwrite<'_>> = Vec::new();
            for change in &write.cells {
                let cell = name(change);
                let Some(person) = self.newest_write_to(&cell, write.number - 1) else { continue };
                let deleted = person.existence_of(&change.handle) == Some(false);
                if person.client().is_some() || deleted {
                    continue;
                }
                let seen = self.seen(client, &cell, write.seq);
                let cell = OverwrittenCell { cell, change, person, seen };
                if !passes(&cell, client) {
                    continue;
                }
                let handle = change.handle.as_str();
                match of_write.iter_mut().find(|o| o.handle() == handle) {
                    Some(overwrite) => overwrite.cells.push(cell),
                    None => of_write.push(Overwrite { client, write, cells: vec![cell] }),
                }
            }
            found.append(&mut of_write);
        }
        found
    }
}

impl Overwrite<'_> {
    fn handle(&self) -> &str {
        self.cells.first().map_or("", |cell| handle_of(&cell.cell))
    }

    /// What was done to which cell, and whose it had been: ``set `s.x` to 1 over 2 (Ada's)``.
    pub(super) fn says(&self, history: &History) -> String {
        let cells: Vec<_> = self
            .cells
            .iter()
            .map(|OverwrittenCell { cell, change, person, .. }| {
                let (old, new) = (value(&change.old), value(&change.new));
                format!("set `{cell}` from {}'s {old} to {new}", history.author(person))
            })
            .collect();
        list(&cells)
    }

    /// The people's writes, what the agent had last been told of the cells, and its own write.
    pub(super) fn entries(&self, history: &History) -> Vec<u64> {
        let people = self.cells.iter().map(|cell| cell.person.seq);
        let told = self.cells.iter().filter_map(|cell| {
            history.last_telling(self.client, &cell.cell, self.write.seq).map(|d| d.seq)
        });
        people.chain(told).chain([self.write.seq]).collect()
    }
}
