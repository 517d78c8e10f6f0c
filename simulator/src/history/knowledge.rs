//! What an agent had been told at a moment: `seen(A, c)` of the contract, and its relatives.

use super::facts::{Delivery, Write, name};
use super::timeline::History;

impl History {
    /// `seen(A, c)`: the newest write to a cell whose value was delivered to a client before an
    /// entry. 1 for the value that the session opened with, 0 when no value ever reached it.
    pub(super) fn seen(&self, client: &str, cell: &str, before: u64) -> u64 {
        self.last_telling(client, cell, before).map_or(0, |delivery| {
            self.newest_write_to(cell, delivery.as_of).map_or(1, |write| write.number)
        })
    }

    /// The delivery that told a client the newest value it knew of a cell.
    pub(super) fn last_telling(&self, client: &str, cell: &str, before: u64) -> Option<&Delivery> {
        let tells = |delivery: &&Delivery| {
            delivery.client == client
                && delivery.seq < before
                && delivery.cells.iter().any(|told| told == cell)
        };
        self.deliveries.iter().filter(tells).max_by_key(|delivery| (delivery.as_of, delivery.seq))
    }

    /// What was delivered to a client before an entry, oldest first.
    pub(super) fn deliveries_to<'a>(
        &'a self,
        client: &'a str,
        before: u64,
    ) -> impl DoubleEndedIterator<Item = &'a Delivery> {
        self.deliveries.iter().filter(move |d| d.client == client && d.seq < before)
    }

    /// The newest write to a cell, up to the write of a number.
    pub(super) fn newest_write_to(&self, cell: &str, until: u64) -> Option<&Write> {
        self.writes
            .iter()
            .filter(|write| write.number <= until && write.changes(cell))
            .max_by_key(|write| write.number)
    }

    /// Whether a client had been told of a write before an entry: by a row that names its handle
    /// and stands for it or for something newer, or by values at least as new of every cell that
    /// it changed. Of a write that made a screen or took it away, its existence is enough.
    pub(super) fn was_told(&self, client: &str, write: &Write, before: u64) -> bool {
        let by_row = self.deliveries_to(client, before).flat_map(|d| &d.rows).any(|row| {
            row.write >= write.number && write.cells.iter().any(|cell| cell.handle == row.handle)
        });
        let existence: Vec<_> = write.cells.iter().filter(|c| c.field == "exists").collect();
        let decisive = if existence.is_empty() { write.cells.iter().collect() } else { existence };
        by_row || decisive.iter().all(|cell| self.seen(client, &name(cell), before) >= write.number)
    }
}
