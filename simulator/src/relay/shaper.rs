use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::session::Parcel;
use crate::fault::{Buffer, FaultRule, LineEnds, Split};

/// Turns the events of one stream into the bytes that leave, as the faults on it will have them.
pub(super) struct Shaper {
    rule: Option<Arc<FaultRule>>,
    /// A source of chance for random pieces.
    rng: ChaCha8Rng,
    lines: usize,
    /// Bytes written so far, and bytes let go so far; what is between is withheld.
    written: u64,
    released: u64,
    withheld: Vec<u8>,
    /// Frames in bytes that are withheld, each with the place of its end.
    waiting: VecDeque<(u64, Parcel)>,
    ready: VecDeque<Bytes>,
    told: Vec<Parcel>,
}

/// What an event's bytes are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Event,
    /// A comment, or the field the stream begins with.
    Other,
}

impl Shaper {
    pub(super) fn new(rule: Option<Arc<FaultRule>>, rng: ChaCha8Rng) -> Self {
        let mut shaper = Self {
            rule,
            rng,
            lines: 0,
            written: 0,
            released: 0,
            withheld: Vec::new(),
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            told: Vec::new(),
        };
        if shaper.rule.as_ref().is_some_and(|rule| rule.bom) {
            shaper.push("\u{feff}".as_bytes(), Piece::Other);
        }
        shaper
    }

    /// Writes bytes with LF line ends that carry no frame.
    pub(super) fn write(&mut self, bytes: &[u8], piece: Piece) {
        let bytes = self.with_line_ends(bytes);
        self.push(&bytes, piece);
    }

    /// Writes a frame's event.
    pub(super) fn event(&mut self, bytes: &[u8], parcel: Parcel) {
        if let Some(rule) = self.rule.clone() {
            for junk in &rule.junk {
                self.write(&junk.bytes(), Piece::Other);
            }
        }
        let bytes = self.with_line_ends(bytes);
        self.waiting.push_back((self.written + bytes.len() as u64, parcel));
        self.push(&bytes, Piece::Event);
    }

    /// The stream ends: nothing is withheld any longer.
    pub(super) fn finish(&mut self) {
        let all = std::mem::take(&mut self.withheld);
        self.release(&all);
    }

    /// The next chunk that leaves.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        self.ready.pop_front()
    }

    /// Frames whose last byte was let go since this was last asked.
    pub(super) fn told(&mut self) -> Vec<Parcel> {
        std::mem::take(&mut self.told)
    }

    fn with_line_ends(&mut self, bytes: &[u8]) -> Vec<u8> {
        let ends = self.rule.as_ref().and_then(|rule| rule.line_ends).unwrap_or_default();
        if ends == LineEnds::Lf {
            return bytes.to_vec();
        }
        let mut converted = Vec::with_capacity(bytes.len() + 8);
        for byte in bytes {
            if *byte != b'\n' {
                converted.push(*byte);
                continue;
            }
            let end = match ends {
                LineEnds::Lf => "\n",
                LineEnds::Cr => "\r",
                LineEnds::Crlf => "\r\n",
                LineEnds::Mixed => ["\n", "\r", "\r\n"][self.lines % 3],
            };
            self.lines += 1;
            converted.extend_from_slice(end.as_bytes());
        }
        converted
    }

    fn push(&mut self, bytes: &[u8], piece: Piece) {
        self.written += bytes.len() as u64;
        match self.rule.as_ref().and_then(|rule| rule.buffer) {
            None => self.release(bytes),
            Some(Buffer::UntilClose) => self.withheld.extend_from_slice(bytes),
            Some(Buffer::UntilNextEvent) => {
                if piece == Piece::Event {
                    self.finish();
                    self.withheld.extend_from_slice(bytes);
                } else if self.withheld.is_empty() {
                    self.release(bytes);
                } else {
                    self.withheld.extend_from_slice(bytes);
                }
            }
            Some(Buffer::Bytes(lump)) => {
                self.withheld.extend_from_slice(bytes);
                let full = self.withheld.len() - self.withheld.len() % lump.max(1) as usize;
                let lumps: Vec<u8> = self.withheld.drain(..full).collect();
                self.release(&lumps);
            }
        }
    }

    fn release(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let mut rest = Bytes::copy_from_slice(bytes);
        let split = self.rule.as_ref().and_then(|rule| rule.split.clone());
        while !rest.is_empty() {
            let piece = match &split {
                None => rest.len() as u64,
                Some(Split::Every(every)) => {
                    let every = u64::from(*every).max(1);
                    every - self.released % every
                }
                Some(Split::At(places)) => {
                    let next = places.iter().map(|place| u64::from(*place));
                    let next = next.filter(|place| *place > self.released).min();
                    next.map_or(u64::MAX, |place| place - self.released)
                }
                Some(Split::Random(most)) => u64::from(self.rng.random_range(1..=(*most).max(1))),
            };
            let piece = piece.min(rest.len() as u64);
            self.released += piece;
            // A piece is at most as long as the slice it is cut from, which has a usize length.
            self.ready.push_back(rest.split_to(piece as usize));
        }
        while self.waiting.front().is_some_and(|(end, _)| *end <= self.released) {
            self.told.extend(self.waiting.pop_front().map(|(_, parcel)| parcel));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rand::SeedableRng;
    use serde_json::{Value, json};

    use super::super::frame::Frame;
    use super::*;

    fn shaper(rule: Value) -> Shaper {
        let mut members = json!({"on": "events"});
        members.as_object_mut().unwrap().extend(rule.as_object().unwrap().clone());
        let rule: FaultRule = serde_json::from_value(members).unwrap();
        Shaper::new(Some(Arc::new(rule)), ChaCha8Rng::seed_from_u64(1))
    }

    fn parcel() -> Parcel {
        Parcel::of(Frame::of(json!({"jsonrpc": "2.0", "method": "n"})).unwrap())
    }

    fn drain(shaper: &mut Shaper) -> (Vec<String>, usize) {
        let mut chunks = Vec::new();
        while let Some(chunk) = shaper.next() {
            chunks.push(String::from_utf8_lossy(&chunk).into_owned());
        }
        (chunks, shaper.told().len())
    }

    #[test]
    fn a_buffer_withholds_until_the_close() {
        let mut shaper = shaper(json!({"buffer": "until-close"}));
        shaper.write(b"retry: 1\n\n", Piece::Other);
        shaper.event(b"data: a\n\n", parcel());
        assert_eq!(drain(&mut shaper), (vec![], 0));
        shaper.finish();
        assert_eq!(drain(&mut shaper), (vec!["retry: 1\n\ndata: a\n\n".to_owned()], 1));
    }

    #[test]
    fn a_buffer_runs_one_event_late() {
        let mut shaper = shaper(json!({"buffer": "until-next-event"}));
        shaper.write(b"retry: 1\n\n", Piece::Other);
        assert_eq!(drain(&mut shaper), (vec!["retry: 1\n\n".to_owned()], 0));
        shaper.event(b"data: a\n\n", parcel());
        shaper.write(b": c\n\n", Piece::Other);
        assert_eq!(drain(&mut shaper), (vec![], 0));
        shaper.event(b"data: b\n\n", parcel());
        assert_eq!(drain(&mut shaper), (vec!["data: a\n\n: c\n\n".to_owned()], 1));
    }

    #[test]
    fn a_buffer_lets_go_of_full_lumps_only() {
        let mut shaper = shaper(json!({"buffer": {"bytes": 8}}));
        shaper.event(b"data: a\n\n", parcel());
        assert_eq!(drain(&mut shaper), (vec!["data: a\n".to_owned()], 0));
        shaper.write(b": more\n", Piece::Other);
        assert_eq!(drain(&mut shaper), (vec!["\n: more\n".to_owned()], 1));
    }

    #[test]
    fn pieces_are_cut_at_places_of_the_stream() {
        let chunks = |rule| {
            let mut shaper = shaper(rule);
            shaper.write(b"abcd", Piece::Other);
            shaper.write(b"efg", Piece::Other);
            drain(&mut shaper).0
        };
        assert_eq!(chunks(json!({"split": {"every": 3}})), ["abc", "d", "ef", "g"]);
        assert_eq!(chunks(json!({"split": {"at": [1, 6]}})), ["a", "bcd", "ef", "g"]);
        let random = chunks(json!({"split": {"random": 2}}));
        assert_eq!(random.concat(), "abcdefg");
        assert!(random.iter().all(|piece| piece.len() <= 2), "{random:?}");
    }

    #[test]
    fn lines_end_as_the_rule_says() {
        let bytes = |ends: &str| {
            let mut shaper = shaper(json!({"line_ends": ends, "bom": true}));
            shaper.write(b"a\nb\n\n", Piece::Other);
            drain(&mut shaper).0.concat()
        };
        assert_eq!(bytes("crlf"), "\u{feff}a\r\nb\r\n\r\n");
        assert_eq!(bytes("cr"), "\u{feff}a\rb\r\r");
        assert_eq!(bytes("mixed"), "\u{feff}a\nb\r\r\n");
    }
}
