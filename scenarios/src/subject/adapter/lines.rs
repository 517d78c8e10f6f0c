//! Lines of a pipe, each within a bound.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// What came next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without its end. The last one may have had none.
    Whole(Vec<u8>),
    /// The beginning of a line over the bound, told as soon as it is known: the line may never
    /// end. The rest of it is dropped.
    Cut(Vec<u8>),
}

/// Reads lines of at most `bound` bytes; holds no more than that of a longer one.
#[derive(Debug)]
pub(super) struct Lines<R> {
    pipe: BufReader<R>,
    bound: usize,
    line: Vec<u8>,
    /// The line was cut and told; what is left of it is to be dropped.
    dropping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(pipe: R, bound: usize) -> Self {
        Self { pipe: BufReader::new(pipe), bound, line: Vec::new(), dropping: false }
    }

    /// The next line; none at the end. Cancel safe: a line half read is kept.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let bytes = self.pipe.fill_buf().await?;
            if bytes.is_empty() {
                let last = self.take();
                return Ok((!last.is_empty()).then_some(Line::Whole(last)));
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            let used = part.len() + usize::from(end.is_some());
            let room = self.bound - self.line.len();
            let over = !self.dropping && part.len() > room;
            if !self.dropping {
                self.line.extend_from_slice(&part[..part.len().min(room)]);
            }
            self.pipe.consume(used);
            let dropped = self.dropping;
            self.dropping = (dropped || over) && end.is_none();
            if over {
                return Ok(Some(Line::Cut(self.take())));
            }
            if end.is_some() && !dropped {
                return Ok(Some(Line::Whole(self.take())));
            }
        }
    }

    fn take(&mut self) -> Vec<u8> {
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        line
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    async fn check(input: &str, bound: usize, expect: &[Line]) {
        let mut lines = Lines::new(input.as_bytes(), bound);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            seen.push(line);
        }
        assert_eq!(seen, expect, "{input:?}");
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.into())
    }

    #[tokio::test]
    async fn lines_end_with_lf_crlf_or_the_pipe() {
        check("", 8, &[]).await;
        check("a\nb\r\n\nc", 8, &[whole("a"), whole("b"), whole(""), whole("c")]).await;
    }

    #[tokio::test]
    async fn a_long_line_is_cut_and_the_next_one_is_whole() {
        check("12345678\n", 8, &[whole("12345678")]).await;
        let cut = Line::Cut("12345678".into());
        check("123456789\nok\n", 8, &[cut, whole("ok")]).await;
        check("123456789", 8, &[Line::Cut("12345678".into())]).await;
        let far = "x".repeat(50_000) + "\nok";
        check(&far, 8, &[Line::Cut("xxxxxxxx".into()), whole("ok")]).await;
    }
}
