//! What is wrong with a scenario file, and where.

use super::node::Span;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A scenario file as it was read.
#[derive(Debug, Clone)]
pub struct Source {
    /// The path as the user named it.
    pub path: PathBuf,
    /// The text.
    pub text: Arc<str>,
}

impl Source {
    /// A source from memory.
    pub fn new(path: impl AsRef<Path>, text: impl Into<Arc<str>>) -> Self {
        Self { path: path.as_ref().to_owned(), text: text.into() }
    }

    /// The path in the spelling of messages.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// One mistake in one place.
#[derive(Debug, Clone)]
pub struct Diagnostic {
    /// The file.
    pub source: Source,
    /// The place.
    pub span: Span,
    /// What is wrong, in one line without a full stop.
    pub message: String,
    /// What would be right, in one line.
    pub help: Option<String>,
}

impl Diagnostic {
    /// `file:line:column: message (help)`, for machines and for one-line contexts.
    pub fn one_line(&self) -> String {
        let help = self.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        let Span { line, column, .. } = self.span;
        format!("{}:{line}:{column}: {}{help}", self.source.name(), self.message)
    }

    /// The mistake with its source line, a caret under the place, and the help.
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let text = &*self.source.text;
        let (start, end) = self.bytes();
        let name = self.source.name();
        let mut report = Level::ERROR.primary_title(&self.message).element(
            Snippet::source(text).path(&name).annotation(AnnotationKind::Primary.span(start..end)),
        );
        if let Some(help) = &self.help {
            report = report.element(Level::HELP.message(help));
        }
        renderer.render(&[report])
    }

    /// The bytes to underline: within the text, on character borders, on one line, never empty
    /// unless the line is.
    fn bytes(&self) -> (usize, usize) {
        let text = &*self.source.text;
        let start = if self.span.start < text.len() && text.is_char_boundary(self.span.start) {
            self.span.start
        } else {
            start_of(text, self.span)
        };
        let line_end = text[start..].find('\n').map_or(text.len(), |offset| start + offset);
        let mut end = (start + self.span.len.max(1)).min(line_end);
        while end < text.len() && !text.is_char_boundary(end) {
            end += 1;
        }
        (start, end.max(start))
    }
}

/// The byte where a line and column stand, for places that the YAML reader gave no byte for.
fn start_of(text: &str, span: Span) -> usize {
    let line = usize::try_from(span.line.max(1) - 1).unwrap_or(0);
    let column = usize::try_from(span.column.max(1) - 1).unwrap_or(0);
    let line_start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = &text[line_start.min(text.len())..];
    let in_line = rest.split('\n').next().unwrap_or("");
    let offset = in_line.char_indices().nth(column).map_or(in_line.len(), |(byte, _)| byte);
    (line_start + offset).min(text.len())
}

/// Every mistake that was found.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds a mistake, unless the same one was found in the same place before, as happens when
    /// every case of a matrix repeats it.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let known = self.list.iter().any(|other| {
            other.span == diagnostic.span
                && other.message == diagnostic.message
                && other.source.path == diagnostic.source.path
        });
        if !known {
            self.list.push(diagnostic);
        }
    }

    /// Takes over what another list holds.
    pub fn extend(&mut self, other: Self) {
        other.list.into_iter().for_each(|diagnostic| self.push(diagnostic));
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The mistakes, in the order of the files.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        let mut sorted: Vec<_> = self.list.iter().collect();
        sorted.sort_by(|a, b| {
            (&a.source.path, a.span.line, a.span.column).cmp(&(
                &b.source.path,
                b.span.line,
                b.span.column,
            ))
        });
        sorted.into_iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_place_past_the_text_is_shown_at_its_end_and_never_panics() {
        for span in [
            Span { line: 9, column: 9, start: 999, len: 4 },
            Span { line: 1, column: 3, start: usize::MAX, len: 0 },
            Span { line: 1, column: 2, start: 2, len: 1 },
        ] {
            let diagnostic = Diagnostic {
                source: Source::new("x.yaml", "é: ü\n"),
                span,
                message: "wrong".into(),
                help: None,
            };
            assert!(diagnostic.render(false).contains("wrong"));
        }
    }
}
