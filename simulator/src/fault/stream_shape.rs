use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When the withheld bytes of an event stream are let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Buffer {
    /// In one lump, when the relay ends the stream. A client that leaves first never sees them.
    UntilClose,
    /// When the next event is written: the stream runs one event late.
    UntilNextEvent,
    /// In lumps of this many bytes; keepalive comments count.
    Bytes(u32),
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UntilClose => f.write_str("until its close"),
            Self::UntilNextEvent => f.write_str("until the next event"),
            Self::Bytes(bytes) => write!(f, "in lumps of {bytes} bytes"),
        }
    }
}

/// How the lines of an event stream end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LineEnds {
    /// `\n`, as the relay writes them without a fault.
    #[default]
    Lf,
    /// `\r`
    Cr,
    /// `\r\n`
    Crlf,
    /// All three in turn.
    Mixed,
}

impl fmt::Display for LineEnds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lf => "LF",
            Self::Cr => "CR",
            Self::Crlf => "CRLF",
            Self::Mixed => "LF, CR and CRLF in turn",
        })
    }
}

/// Where the bytes of an event stream are cut.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// Into pieces of this many bytes.
    Every(#[schemars(range(min = 1))] u32),
    /// At these places, counted in bytes from the stream's beginning.
    At(Vec<u32>),
    /// Into pieces of a random length up to this many bytes, drawn from the case's seed.
    Random(#[schemars(range(min = 1))] u32),
}

/// Something that is put into an event stream and means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Junk {
    /// A comment line.
    Comment,
    /// An event of a type that nobody knows, with JSON in it.
    UnknownEvent,
    /// A field of a name that nobody knows.
    UnknownField,
    /// An `mcp` event whose data is not JSON.
    NotJson,
    /// An `mcp` event whose data is JSON and no frame.
    NotAFrame,
    /// An `mcp` event with empty data and an id, as resumable streams begin.
    EmptyData,
    /// A `retry` field.
    Retry,
    /// An `mcp` event with a frame of this many bytes that answers nothing.
    Oversized(u32),
    /// An `mcp` event whose JSON is nested this deep.
    Deep(u32),
    /// An `mcp` event that is not UTF-8.
    NotUtf8,
}

impl Junk {
    /// Its bytes, with LF line ends.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let event = |data: &str| format!("event: mcp\ndata: {data}\n\n").into_bytes();
        match self {
            Self::Comment => b": nothing to see\n\n".to_vec(),
            Self::UnknownEvent => b"event: weather\ndata: {\"sun\":true}\n\n".to_vec(),
            Self::UnknownField => b"colour: blue\n".to_vec(),
            Self::NotJson => event("this is {not} JSON"),
            Self::NotAFrame => event("[5,\"x\",{\"jsonrpc\":\"1.0\"}]"),
            Self::EmptyData => b"event: mcp\nid: 1\ndata:\n\n".to_vec(),
            Self::Retry => b"retry: 250\n\n".to_vec(),
            Self::Oversized(bytes) => {
                let head = r#"{"jsonrpc":"2.0","method":"notifications/large","params":{"x":""#;
                let tail = r#""}}"#;
                let fill = (bytes as usize).saturating_sub(head.len() + tail.len());
                event(&format!("{head}{}{tail}", "x".repeat(fill)))
            }
            Self::Deep(depth) => {
                let depth = depth as usize;
                event(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)))
            }
            Self::NotUtf8 => b"event: mcp\ndata: \xff\xfe\n\n".to_vec(),
        }
    }
}

impl fmt::Display for Junk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Comment => f.write_str("a comment"),
            Self::UnknownEvent => f.write_str("an event of an unknown type"),
            Self::UnknownField => f.write_str("an unknown field"),
            Self::NotJson => f.write_str("an event that is not JSON"),
            Self::NotAFrame => f.write_str("an event that is no frame"),
            Self::EmptyData => f.write_str("an event with empty data"),
            Self::Retry => f.write_str("a retry field"),
            Self::Oversized(bytes) => write!(f, "a frame of {bytes} bytes"),
            Self::Deep(depth) => write!(f, "JSON nested {depth} deep"),
            Self::NotUtf8 => f.write_str("an event that is not UTF-8"),
        }
    }
}
