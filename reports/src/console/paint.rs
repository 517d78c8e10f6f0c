//! Colours, when there are any.

use crate::telling::moment::Kind;
use anstyle::{AnsiColor, Style};

/// Paints text, or leaves it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    colour: bool,
}

impl Paint {
    pub(super) fn new(colour: bool) -> Self {
        Self { colour }
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.with(AnsiColor::BrightRed.on_default().bold(), text)
    }

    pub(super) fn good(self, text: &str) -> String {
        self.with(AnsiColor::BrightGreen.on_default().bold(), text)
    }

    pub(super) fn doubtful(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default().bold(), text)
    }

    pub(super) fn strong(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    pub(super) fn quiet(self, text: &str) -> String {
        self.with(Style::new().dimmed(), text)
    }

    /// Pins and revisions, which a reader follows through a record.
    pub(super) fn marker(self, text: &str) -> String {
        self.with(AnsiColor::Cyan.on_default(), text)
    }

    /// What happened, in the colour of its kind.
    pub(super) fn moment(self, kind: Kind, text: &str) -> String {
        let style = match kind {
            Kind::Fault | Kind::Refusal | Kind::FrameError | Kind::Warning => {
                AnsiColor::Yellow.on_default()
            }
            Kind::Edit => AnsiColor::Magenta.on_default(),
            Kind::AnswerError => AnsiColor::BrightRed.on_default(),
            Kind::Write | Kind::Answer | Kind::Frame | Kind::State | Kind::Session => Style::new(),
            Kind::Note => Style::new().bold(),
            Kind::Step | Kind::Http | Kind::Delivery | Kind::Log | Kind::Board => {
                Style::new().dimmed()
            }
        };
        self.with(style, text)
    }

    fn with(self, style: Style, text: &str) -> String {
        if self.colour && !style.is_plain() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}
