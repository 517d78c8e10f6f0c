//! Revisions: what a marker covers, when a pin is stale, and what the next marker says.
//!
//! A marker is a logical position in the order of writes, and what its reader was shown later
//! than that: `r5` covers every write up to 5; `r3+screen_7.5` covers every write up to 3, and
//! those to `screen_7` up to 5. The second form is what keeps a pin honest: an agent that read one
//! screen while a person edited another has not been told of the edit, so the marker that it is
//! given must not cover it, or its next write over the edit would be taken for an informed one.
//!
//! Clients treat all of it as opaque (REV-2). A marker that would pass the 512 bytes that a client
//! takes forgets its oldest extras: it covers less than it could, which can cost a refusal and
//! never an edit.

use std::collections::BTreeMap;
use std::fmt;

use super::board::{Cell, FIRST_WRITE, Write};
use super::spec::Per;

/// The most bytes that a marker has: a client refuses one of more than 512.
const MARKER_BYTES_MAX: usize = 512;

/// What a marker covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker {
    base: u64,
    /// By handle, or by `handle/field`: the newest write to it that is covered beyond `base`.
    later: BTreeMap<String, u64>,
}

/// What a call depends on, as far as its pin matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Touch {
    /// Nothing of the board: a call that neither reads nor writes it.
    Nothing,
    /// Every screen.
    Everything,
    /// These cells.
    Cells(Vec<Cell>),
}

/// What an answer shows, and so what the marker on it may cover.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shown<'a> {
    /// Nothing of the board.
    Nothing,
    /// All of it, or every change since the marker that was sent.
    Everything,
    /// One screen, whole.
    Screen(&'a str),
    /// What the client itself just wrote.
    OwnWrite(&'a Write),
}

/// The writes that revisions know of, and how fine they look at them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Revisions<'a> {
    pub(crate) per: Per,
    /// All writes in order; those that were not noticed are passed over.
    pub(crate) writes: &'a [Write],
}

impl<'a> Revisions<'a> {
    fn noticed(self) -> impl DoubleEndedIterator<Item = &'a Write> {
        self.writes.iter().filter(|write| write.noticed)
    }

    /// The newest write that a marker can name.
    pub(crate) fn newest(self) -> u64 {
        self.noticed().next_back().map_or(FIRST_WRITE, |write| write.number)
    }

    /// The marker that covers everything up to now.
    pub(crate) fn now(self) -> Marker {
        Marker::at(self.newest())
    }

    /// Reads a marker that this surface minted. `None`: it never did, or it names writes that are
    /// yet to come.
    pub(crate) fn read(self, text: &str) -> Option<Marker> {
        let marker = Marker::parse(text)?;
        let newest = marker.later.values().copied().max().unwrap_or(0).max(marker.base);
        (newest <= self.newest()).then_some(marker)
    }

    /// The noticed writes that a marker does not cover, oldest first.
    pub(crate) fn since(self, marker: &Marker) -> Vec<&'a Write> {
        self.noticed().filter(|write| !marker.covers(write)).collect()
    }

    /// Whether a call that touches this may not go by that marker.
    pub(crate) fn is_stale(self, marker: &Marker, touch: &Touch) -> bool {
        let touches = |cell: &str, handle: &str| match (touch, self.per) {
            // A counter for the whole board knows no parts of it.
            (_, Per::Surface) | (Touch::Everything, _) => true,
            (Touch::Nothing, _) => false,
            (Touch::Cells(cells), Per::Screen) => cells.iter().any(|c| c.handle == handle),
            (Touch::Cells(cells), Per::Field) => {
                cells.iter().any(|c| c.handle == handle && c.field == cell)
            }
        };
        self.noticed().any(|write| {
            write.cells.iter().any(|cell| {
                touches(&cell.field, &cell.handle)
                    && !marker.covers_cell(write.number, &cell.handle, &cell.field)
            })
        })
    }

    /// The marker for an answer to `client` that shows this, on a call that was pinned to `pin`.
    ///
    /// An unpinned call mints from now. A pinned one covers what its pin covered and what the
    /// answer shows; the client's own write is covered too, so that it never makes the client's
    /// next pin stale, but only when no unseen write of somebody else lies under it.
    pub(crate) fn mint(self, client: &str, pin: Option<&Marker>, shown: Shown<'_>) -> Marker {
        let Some(pin) = pin.filter(|_| self.per != Per::Surface) else { return self.now() };
        let mut marker = pin.clone();
        match shown {
            Shown::Nothing => {}
            Shown::Everything => return self.now(),
            Shown::Screen(handle) => {
                let to_it = |write: &&Write| write.handle() == handle;
                if let Some(newest) = self.noticed().rev().find(to_it) {
                    marker.extend(key(handle, None), newest.number);
                }
            }
            Shown::OwnWrite(own) => {
                for cell in &own.cells {
                    let field = (self.per == Per::Field).then_some(cell.field.as_str());
                    let unseen = self.noticed().any(|write| {
                        !write.is_by(client)
                            && write.cells.iter().any(|other| {
                                other.handle == cell.handle
                                    && field.is_none_or(|field| other.field == field)
                                    && !pin.covers_cell(write.number, &other.handle, &other.field)
                            })
                    });
                    if own.noticed && !unseen {
                        marker.extend(key(&cell.handle, field), own.number);
                    }
                }
            }
        }
        self.settle(marker)
    }

    /// The shortest marker that covers the same writes.
    fn settle(self, mut marker: Marker) -> Marker {
        for write in self.noticed() {
            if !marker.covers(write) {
                break;
            }
            marker.base = marker.base.max(write.number);
        }
        marker.later.retain(|_, number| *number > marker.base);
        while marker.to_string().len() > MARKER_BYTES_MAX {
            let oldest = marker.later.iter().min_by_key(|(_, number)| **number);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { break };
            marker.later.remove(&key);
        }
        marker
    }
}

impl Marker {
    /// The marker that covers everything up to one write.
    pub(crate) fn at(base: u64) -> Self {
        Self { base, later: BTreeMap::new() }
    }

    /// The newest write that it covers everywhere.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    fn extend(&mut self, key: String, number: u64) {
        let covered = self.later.entry(key).or_default();
        *covered = number.max(*covered);
    }

    fn covers(&self, write: &Write) -> bool {
        write.cells.iter().all(|cell| self.covers_cell(write.number, &cell.handle, &cell.field))
    }

    fn covers_cell(&self, write: u64, handle: &str, field: &str) -> bool {
        let until = |key: String| self.later.get(&key).copied().unwrap_or(0);
        write <= self.base
            || write <= until(key(handle, None))
            || write <= until(key(handle, Some(field)))
    }

    /// Reads a marker's text; padding at its end is passed over.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim_end_matches('~').strip_prefix('r')?.split('+');
        let mut marker = Self::at(number(parts.next()?)?);
        for part in parts {
            let (key, until) = part.rsplit_once('.')?;
            marker.extend(key.to_owned(), number(until)?);
        }
        Some(marker)
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.base)?;
        self.later.iter().try_for_each(|(key, until)| write!(f, "+{key}.{until}"))
    }
}

/// Reads a write number as this surface prints them: no sign, no leading zero.
fn number(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    plain.then(|| text.parse().ok()).flatten()
}

/// The key of a handle, or of one field of it, with every byte escaped that means something in a
/// marker or that a log could trip over.
fn key(handle: &str, field: Option<&str>) -> String {
    let mut key = String::with_capacity(handle.len());
    for byte in handle.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' {
            key.push(char::from(byte));
        } else {
            key.push_str(&format!("%{byte:02X}"));
        }
    }
    if let Some(field) = field {
        key.push('/');
        key.push_str(field);
    }
    key
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::board::Signature;
    use super::*;
    use crate::journal::{Author, CellChange};
    use serde_json::json;

    /// Writes numbered from 2: who (a lower-case name is an agent), handle, field.
    fn writes(list: &[(&str, &str, &'static str)]) -> Vec<Write> {
        list.iter()
            .zip(2..)
            .map(|((who, handle, field), number)| {
                let author = if who.starts_with(char::is_lowercase) {
                    Author::Agent { client: (*who).to_owned() }
                } else {
                    Author::Person { name: (*who).to_owned() }
                };
                let by = Signature { author, action: "move".to_owned(), request: None };
                let cells = vec![CellChange {
                    handle: (*handle).to_owned(),
                    field: (*field).to_owned(),
                    old: json!(0),
                    new: json!(number),
                }];
                Write { number, by, cells, noticed: true }
            })
            .collect()
    }

    fn at(per: Per, writes: &[Write]) -> Revisions<'_> {
        Revisions { per, writes }
    }

    fn cells(handle: &str, fields: &[&'static str]) -> Touch {
        Touch::Cells(fields.iter().map(|field| Cell::new(handle, field)).collect())
    }

    #[test]
    fn a_read_of_one_screen_does_not_cover_an_edit_of_another() {
        let list = writes(&[("Ada", "screen_1", "x"), ("Ada", "screen_7", "x")]);
        let revisions = at(Per::Screen, &list);
        let marker = revisions.mint("a", Some(&Marker::at(1)), Shown::Screen("screen_7"));
        assert_eq!(marker.to_string(), "r1+screen_7.3");
        assert!(revisions.is_stale(&marker, &cells("screen_1", &["x"])));
        assert!(!revisions.is_stale(&marker, &cells("screen_7", &["x"])));
        assert_eq!(revisions.since(&marker).len(), 1);
    }

    #[test]
    fn a_marker_is_as_plain_as_what_it_covers() {
        let list = writes(&[("Ada", "screen_7", "x"), ("Ada", "screen_7", "y")]);
        let marker =
            at(Per::Screen, &list).mint("a", Some(&Marker::at(1)), Shown::Screen("screen_7"));
        assert_eq!(marker.to_string(), "r3");
    }

    #[test]
    fn an_own_write_does_not_make_its_author_stale() {
        let list = writes(&[("Ada", "screen_1", "x"), ("a", "screen_7", "x")]);
        for (per, text) in
            [(Per::Screen, "r1+screen_7.3"), (Per::Field, "r1+screen_7/x.3"), (Per::Surface, "r3")]
        {
            let revisions = at(per, &list);
            let marker = revisions.mint("a", Some(&Marker::at(1)), Shown::OwnWrite(&list[1]));
            assert_eq!(marker.to_string(), text);
            assert!(!revisions.is_stale(&marker, &cells("screen_7", &["x"])), "{per:?}");
        }
    }

    #[test]
    fn an_own_write_over_an_unseen_edit_does_not_cover_the_edit() {
        let list = writes(&[("Ada", "screen_7", "title"), ("a", "screen_7", "x")]);
        let revisions = at(Per::Screen, &list);
        let marker = revisions.mint("a", Some(&Marker::at(1)), Shown::OwnWrite(&list[1]));
        assert_eq!(marker.to_string(), "r1");
        assert_eq!(revisions.since(&marker).len(), 2);
    }

    #[test]
    fn granularity_decides_what_makes_a_pin_stale() {
        let list = writes(&[("Ada", "screen_7", "title")]);
        let pin = Marker::at(1);
        for (per, same_field, same_screen, elsewhere, nothing) in [
            (Per::Field, true, false, false, false),
            (Per::Screen, true, true, false, false),
            (Per::Surface, true, true, true, true),
        ] {
            let revisions = at(per, &list);
            let stale = |touch: &Touch| revisions.is_stale(&pin, touch);
            assert_eq!(stale(&cells("screen_7", &["title"])), same_field, "{per:?}");
            assert_eq!(stale(&cells("screen_7", &["x"])), same_screen, "{per:?}");
            assert_eq!(stale(&cells("screen_1", &["x"])), elsewhere, "{per:?}");
            assert_eq!(stale(&Touch::Nothing), nothing, "{per:?}");
            assert!(stale(&Touch::Everything), "{per:?}");
        }
    }

    #[test]
    fn an_unnoticed_write_moves_no_revision() {
        let mut list = writes(&[("Ada", "screen_1", "exists"), ("Ada", "screen_7", "x")]);
        list[0].noticed = false;
        let revisions = at(Per::Screen, &list[..1]);
        assert_eq!(revisions.now().to_string(), "r1");
        assert!(!revisions.is_stale(&Marker::at(1), &cells("screen_1", &["x"])));
        assert_eq!(at(Per::Screen, &list).now().to_string(), "r3");
    }

    #[test]
    fn only_our_own_markers_are_read() {
        let list = writes(&[("Ada", "screen_7", "x"), ("Ada", "a b.c", "y")]);
        let revisions = at(Per::Screen, &list);
        for text in ["r1", "r3", "r2+a%20b%2Ec.3", "r1+screen_7/x.2~~~~"] {
            let marker = revisions.read(text).unwrap();
            assert_eq!(marker.to_string(), text.trim_end_matches('~'));
        }
        for text in ["", "r", "r4", "r2+screen_7.9", "7", "r-1", "r01", "r1+", "r1+x", "R1", "r1 "]
        {
            assert_eq!(revisions.read(text), None, "{text}");
        }
        let minted = revisions.mint("a", Some(&Marker::at(1)), Shown::Screen("a b.c"));
        assert_eq!(minted.to_string(), "r1+a%20b%2Ec.3");
    }

    #[test]
    fn a_marker_stays_under_512_bytes_and_forgets_its_oldest_part_first() {
        let handles: Vec<String> = (0..60).map(|n| format!("a_rather_long_handle_{n}")).collect();
        // A person's edit that the agent is never shown keeps the base where it is.
        let mut list = vec![("Ada", "screen_1", "x")];
        list.extend(handles.iter().map(|handle| ("Ada", handle.as_str(), "x")));
        let list = writes(&list);
        let revisions = at(Per::Screen, &list);
        let mut marker = Marker::at(1);
        for handle in &handles {
            marker = revisions.mint("a", Some(&marker), Shown::Screen(handle));
            assert!(marker.to_string().len() <= MARKER_BYTES_MAX);
        }
        assert!(revisions.is_stale(&marker, &cells(&handles[0], &["x"])));
        assert!(!revisions.is_stale(&marker, &cells(&handles[59], &["x"])));
    }
}
