//! `surface.revisions`: where a revision is minted, how fine it is, and which pins are refused.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which revisions the surface mints, and which pins it refuses.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RevisionsSpec {
    /// Where a result carries its revision. Default `_meta.revision`.
    pub mint: Mint,
    /// How fine a revision is. Default `screen`.
    pub per: Per,
    /// Which calls are refused when their pin is stale. Default `writes`.
    pub enforce: Enforce,
    /// How a refusal is spelled. Default `code-409`.
    pub reject: Rejection,
    /// What a marker looks like. Default `text`.
    pub marker: MarkerShape,
    /// What becomes of a write that carries no pin. Default `allow`.
    pub unpinned: Unpinned,
}

/// Where a result carries its revision (REV-1, SURF-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Mint {
    /// No result carries one.
    #[serde(rename = "none")]
    None,
    /// Under `_meta.revision`, where MCP puts it.
    #[default]
    #[serde(rename = "_meta.revision")]
    MetaRevision,
    /// Under `_meta.surfaceRevision`.
    #[serde(rename = "_meta.surfaceRevision")]
    MetaSurfaceRevisionCamel,
    /// Under `_meta.surface_revision`.
    #[serde(rename = "_meta.surface_revision")]
    MetaSurfaceRevision,
    /// Under `_meta.version`.
    #[serde(rename = "_meta.version")]
    MetaVersion,
    /// Under `_meta.etag`.
    #[serde(rename = "_meta.etag")]
    MetaEtag,
    /// At the top of the result, as `revision`.
    #[serde(rename = "revision")]
    Revision,
    /// At the top of the result, as `surfaceRevision`.
    #[serde(rename = "surfaceRevision")]
    SurfaceRevisionCamel,
    /// At the top of the result, as `surface_revision`.
    #[serde(rename = "surface_revision")]
    SurfaceRevision,
    /// At the top of the result, as `version`.
    #[serde(rename = "version")]
    Version,
    /// At the top of the result, as `etag`.
    #[serde(rename = "etag")]
    Etag,
}

/// The two places of a result that can carry a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MintPlace {
    /// A key of `_meta`.
    Meta(&'static str),
    /// A key of the result itself.
    Top(&'static str),
}

impl Mint {
    /// The place and the key, when there is one.
    pub(crate) fn place(self) -> Option<MintPlace> {
        use MintPlace::{Meta, Top};
        match self {
            Self::None => None,
            Self::MetaRevision => Some(Meta("revision")),
            Self::MetaSurfaceRevisionCamel => Some(Meta("surfaceRevision")),
            Self::MetaSurfaceRevision => Some(Meta("surface_revision")),
            Self::MetaVersion => Some(Meta("version")),
            Self::MetaEtag => Some(Meta("etag")),
            Self::Revision => Some(Top("revision")),
            Self::SurfaceRevisionCamel => Some(Top("surfaceRevision")),
            Self::SurfaceRevision => Some(Top("surface_revision")),
            Self::Version => Some(Top("version")),
            Self::Etag => Some(Top("etag")),
        }
    }
}

/// How fine a revision is (SURF-5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// A pin is stale when a screen that the call touches was written after what the pin covers.
    /// A marker says which screens its reader was shown later than the rest.
    #[default]
    Screen,
    /// One counter for the whole board: any write anywhere makes a pin stale, and any answer,
    /// whatever little it shows, carries the newest count. Legal, and costly: calls are refused
    /// over edits of other screens, and a reader of one screen is given a pin that covers edits
    /// of others that it was never shown.
    Surface,
    /// A pin is stale when a field that the call would write was written after what the pin
    /// covers; another field of the same screen does not matter.
    Field,
}

/// Which calls are refused when their pin is stale (SURF-3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Enforce {
    /// None: the pin is read and nothing is refused. Such a surface mints and protects nothing.
    Never,
    /// Calls of the tools that write, `screen_propose` included.
    #[default]
    Writes,
    /// Every call, reads included; the change feed only with `changes.enforce`.
    EveryCall,
}

/// What becomes of a write that carries no pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unpinned {
    /// It is applied: there is nothing to compare it with.
    #[default]
    Allow,
    /// It is refused with an error whose `data.code` is `precondition_required`, which is no
    /// stale rejection: whoever wants to write reads first.
    Refuse,
}

/// What a marker looks like (REV-1, REV-2). A reader must take all of them as they come.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkerShape {
    /// A text: `r5` reflects everything up to write 5; `r3+screen_7.5` everything up to write 3,
    /// and `screen_7` up to write 5. Under 512 bytes, always.
    #[default]
    Text,
    /// A whole number, the newest write that the marker covers everywhere. It cannot say what
    /// was shown later, so that a client's own write can make its next pin stale.
    Number,
    /// The text, padded with `~` to this many bytes.
    Bytes(usize),
    /// This very JSON value, on every result. A pin made of it says nothing and is never stale.
    Value(Value),
}

/// How a stale pin is refused (REV-4): `http-409`, `code-409`, `code=<word>`,
/// `data.code=<word or number>`, `data.reason=<word>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// With this HTTP status, in answer to the POST itself. In a batch, which has one status for
    /// all its members, the refused member is answered as [`Rejection::Code`] would.
    Http(u16),
    /// With a JSON-RPC error of this `code`.
    Code(CodeWord),
    /// With a JSON-RPC error of this `data.code`.
    DataCode(CodeWord),
    /// With a JSON-RPC error of this `data.reason`.
    DataReason(String),
}

/// A code: a number, or a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodeWord {
    /// `409`
    Number(i64),
    /// `conflict`, or a number in double quotes, which is a text that looks like one.
    Word(String),
}

/// A text that spells no rejection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a way to reject (ways: `http-409`, `code-409`, `code=<word>`, `data.code=<word or number>`, `data.reason=<word>`)"
)]
pub struct UnknownRejection(String);

impl Default for Rejection {
    fn default() -> Self {
        Self::Code(CodeWord::Number(409))
    }
}

impl FromStr for Rejection {
    type Err = UnknownRejection;

    fn from_str(text: &str) -> Result<Self, UnknownRejection> {
        let unknown = || UnknownRejection(text.to_owned());
        if let Some(status) = text.strip_prefix("http-") {
            let status = status.parse().map_err(|_| unknown())?;
            return if (400..600).contains(&status) {
                Ok(Self::Http(status))
            } else {
                Err(unknown())
            };
        }
        if let Some(number) = text.strip_prefix("code-") {
            return number.parse().map(|n| Self::Code(CodeWord::Number(n))).map_err(|_| unknown());
        }
        match text.split_once('=') {
            Some((_, "")) | None => Err(unknown()),
            Some(("code", word)) => Ok(Self::Code(CodeWord::of(word))),
            Some(("data.code", word)) => Ok(Self::DataCode(CodeWord::of(word))),
            Some(("data.reason", word)) => Ok(Self::DataReason(word.to_owned())),
            Some(_) => Err(unknown()),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(status) => write!(f, "http-{status}"),
            Self::Code(CodeWord::Number(number)) => write!(f, "code-{number}"),
            Self::Code(word) => write!(f, "code={word}"),
            Self::DataCode(word) => write!(f, "data.code={word}"),
            Self::DataReason(word) => write!(f, "data.reason={word}"),
        }
    }
}

impl CodeWord {
    fn of(text: &str) -> Self {
        let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        match (quoted, text.parse()) {
            (Some(word), _) => Self::Word(word.to_owned()),
            (None, Ok(number)) => Self::Number(number),
            (None, Err(_)) => Self::Word(text.to_owned()),
        }
    }

    /// The JSON value that goes on the wire.
    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Number(number) => (*number).into(),
            Self::Word(word) => word.as_str().into(),
        }
    }
}

impl fmt::Display for CodeWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) if word.parse::<i64>().is_ok() => write!(f, "\"{word}\""),
            Self::Word(word) => f.write_str(word),
        }
    }
}

impl Serialize for Rejection {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rejection {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Rejection {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Rejection".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "How a stale pin is refused: `http-409` answers the POST itself with that status; `code-409` and `code=<word>` are a JSON-RPC error of that code; `data.code=<word or number>` and `data.reason=<word>` stand in the error's `data`. A number in double quotes is sent as a text.",
            "pattern": r"^(http-[45][0-9]{2}|code-[0-9]+|(code|data\.code|data\.reason)=.+)$",
            "examples": ["http-409", "code-409", "code=conflict", "data.code=409",
                         "data.code=conflict", "data.reason=revision_stale"],
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn rejections_read_and_print_back() {
        for (text, expect) in [
            ("http-409", Rejection::Http(409)),
            ("http-412", Rejection::Http(412)),
            ("code-409", Rejection::Code(CodeWord::Number(409))),
            ("code=conflict", Rejection::Code(CodeWord::Word("conflict".into()))),
            ("code=\"409\"", Rejection::Code(CodeWord::Word("409".into()))),
            ("data.code=409", Rejection::DataCode(CodeWord::Number(409))),
            ("data.code=\"409\"", Rejection::DataCode(CodeWord::Word("409".into()))),
            ("data.code=conflict", Rejection::DataCode(CodeWord::Word("conflict".into()))),
            ("data.reason=STALE_REVISION", Rejection::DataReason("STALE_REVISION".into())),
        ] {
            assert_eq!(text.parse::<Rejection>().unwrap(), expect, "{text}");
            assert_eq!(expect.to_string(), text);
        }
        assert_eq!("code=409".parse::<Rejection>().unwrap(), Rejection::default());
    }

    #[test]
    fn other_texts_are_no_rejections() {
        for text in ["", "409", "http-", "http-200", "code-x", "code=", "data.code=", "data.x=y"] {
            let refusal = text.parse::<Rejection>().unwrap_err().to_string();
            assert!(refusal.contains("not a way to reject"), "{text}: {refusal}");
        }
    }
}
