//! The bound on one event, in front of the parser (SSE-3).
//!
//! An event-stream parser holds whatever a stream sends until a blank line comes. This cuts the
//! bytes into whole blocks first, each within a bound, and lets a block that outgrows it pass by
//! without being held. Comments are dropped here, so a keepalive counts for nothing.

/// What a block may hold beside its data: its `event`, `id` and `retry` lines, and fields that
/// nobody knows. No relay sends a hundredth of it.
const OTHER_BYTES_MAX: usize = 4096;

/// One event of a stream, as bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// A whole event: its lines and the blank line behind them, line ends as LF.
    Whole(Vec<u8>),
    /// An event over the bound was let pass.
    Oversized {
        /// It held the id that the exchange waits for, so it was most likely the answer.
        ours: bool,
    },
}

/// Cuts a stream of bytes into blocks.
#[derive(Debug)]
pub(super) struct Blocks {
    data_bytes_max: usize,
    /// The id that is waited for.
    id: String,
    /// The lines of the current event that are kept.
    kept: Vec<u8>,
    data_bytes: usize,
    other_bytes: usize,
    /// A data line came already, so the next one costs the line break between them too.
    has_data: bool,
    line: Line,
    /// The last byte was CR, so an LF now belongs to the same line end (B02).
    after_cr: bool,
    oversized: Option<Search>,
}

/// What the current line is so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Nothing of it has come.
    Empty,
    /// The first `n` bytes of `data:` and nothing else.
    Prefix(usize),
    /// A `data` line; `true` directly behind the colon, where one space belongs to the syntax.
    Data {
        at_start: bool,
    },
    Comment,
    Other,
}

const DATA: &[u8] = b"data:";

impl Blocks {
    /// Blocks with at most `data_bytes_max` bytes of data. `id` is the text of the id that is
    /// waited for.
    pub(super) fn new(data_bytes_max: usize, id: &str) -> Self {
        Self {
            data_bytes_max,
            id: id.to_owned(),
            kept: Vec::new(),
            data_bytes: 0,
            other_bytes: 0,
            has_data: false,
            line: Line::Empty,
            after_cr: false,
            oversized: None,
        }
    }

    /// Takes the next bytes, whole or cut anywhere, and gives the blocks that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Block> {
        let mut blocks = Vec::new();
        for &byte in bytes {
            let ends_crlf = std::mem::take(&mut self.after_cr) && byte == b'\n';
            if ends_crlf {
                continue;
            }
            match byte {
                b'\r' | b'\n' => {
                    self.after_cr = byte == b'\r';
                    blocks.extend(self.end_line());
                }
                _ => blocks.extend(self.take(byte)),
            }
        }
        blocks
    }

    /// Whether the stream would end inside an event that was never finished.
    pub(super) fn is_inside_an_event(&self) -> bool {
        self.oversized.is_some() || !self.kept.is_empty()
    }

    fn end_line(&mut self) -> Option<Block> {
        let line = std::mem::replace(&mut self.line, Line::Empty);
        match line {
            Line::Comment => return None,
            Line::Empty => return self.end_event(),
            Line::Data { .. } => {}
            Line::Prefix(_) | Line::Other => self.other_bytes += 1,
        }
        match &mut self.oversized {
            Some(search) => search.line_ended(),
            None => self.kept.push(b'\n'),
        }
        None
    }

    fn end_event(&mut self) -> Option<Block> {
        let oversized = self.oversized.take();
        let mut kept = std::mem::take(&mut self.kept);
        (self.data_bytes, self.other_bytes, self.has_data) = (0, 0, false);
        match oversized {
            // It was told the moment it was found.
            Some(search) if search.found => None,
            Some(_) => Some(Block::Oversized { ours: false }),
            // A blank line by itself ends nothing.
            None if kept.is_empty() => None,
            None => {
                kept.push(b'\n');
                Some(Block::Whole(kept))
            }
        }
    }

    fn take(&mut self, byte: u8) -> Option<Block> {
        let next = match self.line {
            Line::Comment => return None,
            Line::Empty if byte == b':' => Line::Comment,
            Line::Empty if byte == DATA[0] => Line::Prefix(1),
            Line::Prefix(n) if byte == DATA[n] && n + 1 == DATA.len() => {
                Line::Data { at_start: true }
            }
            Line::Prefix(n) if byte == DATA[n] => Line::Prefix(n + 1),
            Line::Empty | Line::Prefix(_) | Line::Other => Line::Other,
            Line::Data { .. } => Line::Data { at_start: false },
        };
        match (self.line, next) {
            (_, Line::Comment) => {}
            // What was counted as something else was the name of a data line.
            (Line::Prefix(n), Line::Data { .. }) => {
                self.other_bytes -= n;
                self.data_bytes += usize::from(std::mem::replace(&mut self.has_data, true));
            }
            (Line::Data { at_start: true }, _) if byte == b' ' => {}
            (_, Line::Data { .. }) => self.data_bytes += 1,
            _ => self.other_bytes += 1,
        }
        self.line = next;
        if next == Line::Comment { None } else { self.keep(byte) }
    }

    fn keep(&mut self, byte: u8) -> Option<Block> {
        let is_over = self.data_bytes > self.data_bytes_max || self.other_bytes > OTHER_BYTES_MAX;
        if let Some(search) = &mut self.oversized {
            return search.finds(&[byte]).then_some(Block::Oversized { ours: true });
        }
        self.kept.push(byte);
        if !is_over {
            return None;
        }
        let mut search = Search::for_id(&self.id);
        let found = search.finds(&std::mem::take(&mut self.kept));
        self.oversized = Some(search);
        found.then_some(Block::Oversized { ours: true })
    }
}

/// Looks for the id in bytes that are not kept.
#[derive(Debug)]
pub(super) struct Search {
    id: Vec<u8>,
    /// The last bytes, one more than the id has.
    tail: Vec<u8>,
    found: bool,
}

impl Search {
    pub(super) fn for_id(id: &str) -> Self {
        let id = id.as_bytes().to_vec();
        Self { tail: Vec::with_capacity(id.len() + 1), id, found: false }
    }

    /// Answers once, when the id has been seen.
    pub(super) fn finds(&mut self, bytes: &[u8]) -> bool {
        for &byte in bytes {
            if self.found {
                return false;
            }
            if self.tail.len() > self.id.len() {
                self.tail.remove(0);
            }
            self.tail.push(byte);
            // The id ends where its string does, in a frame or in a frame that was sent as text.
            let is_end = matches!(byte, b'"' | b'\\');
            self.found = is_end && self.tail[..self.tail.len() - 1] == self.id;
            if self.found {
                return true;
            }
        }
        false
    }

    /// The id never spans lines.
    fn line_ended(&mut self) {
        self.tail.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "c0ffee-1";

    fn cut(max: usize, chunks: &[&[u8]]) -> Vec<Block> {
        let mut blocks = Blocks::new(max, ID);
        chunks.iter().flat_map(|chunk| blocks.push(chunk)).collect()
    }

    fn whole(text: &str) -> Block {
        Block::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn blocks_are_the_same_however_the_bytes_are_cut() {
        let stream = "\u{feff}retry: 2000\r\n\r\n: hello\r\nevent: mcp\r\ndata: {\"a\":\rdata:\"é\u{2028}\"}\n\n\ndata:x\r\rid: 1\n\n";
        let expected = [
            whole("\u{feff}retry: 2000\n\n"),
            whole("event: mcp\ndata: {\"a\":\ndata:\"é\u{2028}\"}\n\n"),
            whole("data:x\n\n"),
            whole("id: 1\n\n"),
        ];
        let bytes = stream.as_bytes();
        for size in 1..=bytes.len() {
            let chunks: Vec<&[u8]> = bytes.chunks(size).collect();
            assert_eq!(cut(64, &chunks), expected, "cut every {size} bytes");
        }
        for at in 0..bytes.len() {
            assert_eq!(cut(64, &[&bytes[..at], &bytes[at..]]), expected, "cut at {at}");
        }
    }

    #[test]
    fn the_bound_is_on_the_data_and_exact() {
        let fits = b"event: mcp\ndata: 12345678\nid: 9\n\n";
        assert_eq!(cut(8, &[fits]), [whole("event: mcp\ndata: 12345678\nid: 9\n\n")]);
        let over = b"event: mcp\ndata: 123456789\n\ndata: 1\n\n";
        assert_eq!(cut(8, &[over]), [Block::Oversized { ours: false }, whole("data: 1\n\n")]);
        // Two lines of data are joined by a line break, which is data too.
        assert_eq!(cut(8, &[b"data: 1234\ndata:567\n\n"]).len(), 1);
        assert_eq!(cut(8, &[b"data: 1234\ndata:5678\n\n"]), [Block::Oversized { ours: false }]);
    }

    #[test]
    fn comments_and_earlier_events_count_for_nothing() {
        let noise = [b": keepalive\n\n".repeat(1000), b"data: 1234\n\n".repeat(3)].concat();
        assert_eq!(cut(4, &[&noise]).len(), 3);
        let endless_comment = [b":".to_vec(), vec![b'x'; 100_000]].concat();
        let mut blocks = Blocks::new(4, ID);
        assert!(blocks.push(&endless_comment).is_empty());
        assert!(!blocks.is_inside_an_event() && blocks.kept.capacity() == 0);
    }

    #[test]
    fn other_fields_have_a_bound_of_their_own() {
        let long_id = [b"id: ".to_vec(), vec![b'x'; OTHER_BYTES_MAX], b"\n\n".to_vec()].concat();
        assert_eq!(cut(1_000_000, &[&long_id]), [Block::Oversized { ours: false }]);
    }

    #[test]
    fn an_oversized_answer_is_known_by_its_id_at_once_wherever_it_stands() {
        let filler = "x".repeat(50);
        let early = format!("data: {{\"id\":\"{ID}\",\"r\":\"{filler}");
        let late = format!("data: {{\"r\":\"{filler}\",\"id\":\"{ID}\"");
        let other = format!("data: {{\"r\":\"{filler}\",\"id\":\"c0ffee-12\"}}\n\n");
        assert_eq!(cut(40, &[early.as_bytes()]), [Block::Oversized { ours: true }]);
        assert_eq!(cut(40, &[late.as_bytes()]), [Block::Oversized { ours: true }]);
        assert_eq!(cut(40, &[other.as_bytes()]), [Block::Oversized { ours: false }]);
    }

    #[test]
    fn nothing_of_an_oversized_event_is_held() {
        let mut blocks = Blocks::new(1000, ID);
        blocks.push(b"data: ");
        for _ in 0..1000 {
            blocks.push(&[b'x'; 100]);
            assert!(blocks.kept.capacity() <= 4096);
        }
        assert!(blocks.is_inside_an_event());
    }
}
