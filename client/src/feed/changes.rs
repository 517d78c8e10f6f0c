//! The answer to "what changed since my last turn".

use serde_json::Value;

use super::answer::Answer;
use super::row::{Change, ChangeActor};
use super::state::ChangeFeed;
use crate::revision::{Revision, UnusableRevision};

/// What changed on a surface since a marker, and first whether the surface could say.
///
/// An empty list is the dangerous value: "nothing changed" and "I cannot say" look alike on the
/// wire. So there is no list to look at without the rest, and [`Changes::nothing_changed`] is the
/// one method that means what an empty list looks like it means (FEED-3).
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    feed: ChangeFeed,
    rows: Vec<Change>,
    complete: bool,
    doubts: Vec<Doubt>,
    revision: Option<Revision>,
}

/// Why an answer with no rows is not evidence of calm (FEED-12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Doubt {
    /// The surface offers no trusted feed.
    #[error("the surface offers no trusted feed")]
    NoFeed,
    /// The tool answered with an error.
    #[error("the feed answered with an error")]
    ErrorResult,
    /// A row named no handle.
    #[error("a row named no handle and was dropped")]
    DroppedRow,
    /// The rows are not a list.
    #[error("the feed's rows are not a list")]
    NotAList,
    /// The flag that says whether the answer is complete is no flag.
    #[error("the feed's completeness flag is neither true nor false")]
    UnreadableFlag,
    /// One flag says that the answer is complete, and another that it is not.
    #[error("the feed's completeness flags contradict each other")]
    Contradiction,
    /// There is more than was read.
    #[error("the feed has more pages than were read")]
    MorePages,
    /// The answer holds no list of rows anywhere that is looked at.
    #[error("the feed's answer holds no rows where rows are looked for")]
    NoRows,
    /// There are rows beside the list that was read, or where rows are not looked for.
    #[error("the feed's answer holds rows beside those that were read")]
    RowsElsewhere,
}

impl Changes {
    /// The answer of a surface that has no feed: it cannot say (FEED-2).
    #[must_use]
    pub(crate) fn cannot_say(feed: ChangeFeed) -> Self {
        let doubts = vec![Doubt::NoFeed];
        Self { feed, rows: Vec::new(), complete: false, doubts, revision: None }
    }

    /// Reads a feed's result (FEED-4, FEED-5, FEED-12). `tool` is the feed's name, for the
    /// revision.
    ///
    /// # Errors
    /// When the result carries a revision that cannot be used (REV-2).
    pub(crate) fn read(
        result: &Value,
        feed: ChangeFeed,
        tool: &str,
    ) -> Result<Self, UnusableRevision> {
        let answer = Answer::of(result);
        let mut doubts = Vec::new();
        if answer.is_error() {
            doubts.push(Doubt::ErrorResult);
        }
        let rows = answer.rows(&mut doubts);
        let complete = answer.is_complete(&mut doubts);
        if answer.has_more() {
            doubts.push(Doubt::MorePages);
        }
        let names_another =
            rows.iter().any(|row| matches!(row.actor, ChangeActor::Human | ChangeActor::Other));
        let proves = names_another && !answer.is_error();
        let feed = if proves { feed.attributed() } else { feed };
        Ok(Self { feed, rows, complete, doubts, revision: Revision::read_from(result, tool)? })
    }

    /// What is known of the feed.
    #[must_use]
    pub fn feed(&self) -> ChangeFeed {
        self.feed
    }

    /// Whether the surface could say anything. Ask this before looking at rows.
    #[must_use]
    pub fn answered(&self) -> bool {
        self.feed.can_answer()
            && !self.doubts.iter().any(|doubt| matches!(doubt, Doubt::NoFeed | Doubt::ErrorResult))
    }

    /// Whether the surface claims that the answer holds every change (FEED-4).
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether it is safe to conclude that nothing changed: the feed answered, cleanly, claims to
    /// be complete, and lists nothing (FEED-3, FEED-12).
    #[must_use]
    pub fn nothing_changed(&self) -> bool {
        self.answered() && self.complete && self.rows.is_empty() && self.doubts.is_empty()
    }

    /// Why calm may not be concluded from this answer, whatever it lists.
    #[must_use]
    pub fn doubts(&self) -> &[Doubt] {
        &self.doubts
    }

    /// The rows, in the surface's order.
    #[must_use]
    pub fn rows(&self) -> &[Change] {
        &self.rows
    }

    /// The changes to leave alone: all but those that the surface positively said this agent made
    /// (FEED-9).
    #[must_use]
    pub fn defer_to(&self) -> Vec<&Change> {
        self.rows.iter().filter(|change| change.actor.deserves_deference()).collect()
    }

    /// Every handle that changed, each once, first seen first (FEED-11).
    #[must_use]
    pub fn handles(&self) -> Vec<&str> {
        let mut handles: Vec<&str> = Vec::new();
        for change in &self.rows {
            if !handles.contains(&change.handle.as_str()) {
                handles.push(&change.handle);
            }
        }
        handles
    }

    /// The marker that came with the answer: what these changes are current as of.
    #[must_use]
    pub fn revision(&self) -> Option<&Revision> {
        self.revision.as_ref()
    }

    /// The same with every label passed through `frame`, the first failure ending it.
    pub(crate) fn with_labels<E>(
        mut self,
        mut frame: impl FnMut(&str) -> Result<String, E>,
    ) -> Result<Self, E> {
        for change in &mut self.rows {
            if let Some(label) = &mut change.label {
                *label = frame(label)?;
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn read(result: &Value) -> Changes {
        Changes::read(result, ChangeFeed::Offered, "changes_since").unwrap()
    }

    #[track_caller]
    fn calm(result: Value, expect: bool) {
        assert_eq!(read(&result).nothing_changed(), expect, "{result}");
    }

    #[test]
    fn calm_needs_a_clean_and_complete_answer() {
        calm(json!({ "_meta": { "changes": [] } }), true);
        calm(json!({ "changes": [] }), true);
        calm(json!({ "structuredContent": { "changes": [] } }), true);
        calm(json!({ "changes": [], "complete": true }), true);
        calm(json!({ "changes": [], "isError": false }), true);
        calm(json!({ "changes": [], "nextCursor": null }), true);

        calm(json!({ "changes": [{ "id": "x" }] }), false);
        calm(json!({ "changes": [{}] }), false);
        calm(json!({ "changes": "none" }), false);
        calm(json!({ "changes": null }), false);
        calm(json!({}), false);
        calm(json!({ "content": [{ "type": "text", "text": "nothing changed" }] }), false);
        calm(json!({ "rows": [] }), false);
        calm(json!({ "changes": [], "isError": true }), false);
        calm(json!({ "changes": [], "complete": false }), false);
        calm(json!({ "changes": [], "complete": "true" }), false);
        calm(json!({ "changes": [], "partial": true }), false);
        calm(json!({ "changes": [], "truncated": 0 }), false);
        calm(json!({ "changes": [], "nextCursor": "2" }), false);
        calm(json!({ "changes": [], "has_more": true }), false);
        calm(json!({ "changes": [], "_meta": { "next_page_token": "2" } }), false);
        calm(json!({ "changes": [], "complete": true, "partial": true }), false);
        calm(json!({ "changes": [], "complete": null }), false);
        calm(json!({ "_meta": { "changes": [] }, "changes": {} }), false);
    }

    #[test]
    fn calm_needs_that_there_are_no_rows_anywhere() {
        let row = json!({ "id": "screen_1", "change": "moved" });
        let text = |text: Value| json!([{ "type": "text", "text": text.to_string() }]);
        calm(json!({ "_meta": { "changes": [] }, "changes": [row] }), false);
        calm(json!({ "_meta": { "changes": [], "change_log": [row] } }), false);
        calm(json!({ "changes": [], "items": [row] }), false);
        calm(json!({ "changes": [], "structuredContent": { "changeLog": ["screen_1"] } }), false);
        calm(json!({ "changes": [], "data": { "changes": [row] } }), false);
        calm(json!({ "changes": [], "data": [[row]] }), false);
        calm(json!({ "changes": [], "content": text(json!({ "changes": [row] })) }), false);
        calm(json!({ "changes": [], "content": text(json!([row])) }), false);

        // The same answer in two places, and what the surface shows beside its changes.
        calm(json!({ "changes": [], "content": text(json!({ "changes": [] })) }), true);
        calm(json!({ "changes": [], "screens": [{ "id": "screen_1", "title": "Budget" }] }), true);
        calm(json!({ "changes": [], "items": 3 }), true);
        calm(json!({ "changes": [], "content": [{ "type": "text", "text": "{ no JSON" }] }), true);
    }

    #[test]
    fn an_answer_that_is_told_twice_raises_no_doubt_and_another_one_does() {
        let (a, b) =
            (json!([{ "id": "a", "change": "moved" }]), json!([{ "id": "b", "op": "add" }]));
        let twice = |second: &Value| json!({ "_meta": { "changes": a }, "structuredContent": { "changes": second } });
        assert_eq!(read(&twice(&a)).doubts(), []);
        assert_eq!(read(&twice(&b)).doubts(), [Doubt::RowsElsewhere]);
        assert_eq!(read(&twice(&b)).handles(), ["a"]);
    }

    #[test]
    fn an_error_is_no_answer_and_proves_nothing() {
        let rows = json!([{ "id": "a", "actor": "human" }]);
        let answer = read(&json!({ "isError": true, "changes": rows }));
        assert!(!answer.answered());
        assert_eq!(answer.feed(), ChangeFeed::Offered);
        assert_eq!(answer.defer_to().len(), 1, "what it lists is deferred to all the same");
    }

    #[test]
    fn a_surface_without_a_feed_cannot_say() {
        // Attribution that was proven once stays, and still there is nobody to ask now.
        let withdrawn = Changes::cannot_say(ChangeFeed::Attributed);
        assert!(!withdrawn.answered() && !withdrawn.nothing_changed());
        for feed in [ChangeFeed::NotObserved, ChangeFeed::Unavailable] {
            let answer = Changes::cannot_say(feed);
            assert!(!answer.answered() && !answer.nothing_changed() && !answer.is_complete());
            let listed = Changes::read(&json!({ "changes": [] }), feed, "t").unwrap();
            assert!(!listed.answered() && !listed.nothing_changed());
        }
    }

    #[test]
    fn rows_are_read_from_every_documented_place_in_order() {
        for key in ["changes", "change_log", "changeLog", "events", "screens", "items"] {
            let list = json!({ key: [{ "id": "x" }] });
            assert_eq!(read(&list).handles(), ["x"]);
            assert_eq!(read(&json!({ "_meta": list })).handles(), ["x"]);
            assert_eq!(read(&json!({ "structuredContent": list })).handles(), ["x"]);
        }
        let both =
            json!({ "_meta": { "changes": [{ "id": "in" }] }, "changes": [{ "id": "out" }] });
        assert_eq!(read(&both).handles(), ["in"]);
        let empty = json!({ "_meta": { "changes": [] }, "changes": [{ "id": "full" }] });
        assert_eq!(read(&empty).handles(), ["full"]);
        let board = json!({ "_meta": { "screens": [{ "id": "s" }] }, "changes": [{ "id": "c" }] });
        assert_eq!(read(&board).handles(), ["c"], "what a surface shows is no change");
        let mangled = json!({ "_meta": { "changes": 7 }, "changes": [] });
        assert!(!read(&mangled).nothing_changed());
    }

    #[test]
    fn completeness_is_assumed_unless_the_surface_says_otherwise() {
        for (result, expect) in [
            (json!({ "changes": [] }), true),
            (json!({ "changes": [], "is_complete": false }), false),
            (json!({ "changes": [], "isPartial": true }), false),
            (json!({ "changes": [], "is_partial": false }), true),
            (json!({ "changes": [], "complete": true, "partial": true }), true),
            (json!({ "_meta": { "complete": false }, "complete": true, "changes": [] }), false),
            (json!({ "changes": [], "complete": 1 }), false),
        ] {
            assert_eq!(read(&result).is_complete(), expect, "{result}");
        }
    }

    #[test]
    fn a_dropped_row_leaves_its_neighbours() {
        let answer =
            read(&json!({ "changes": [{ "id": "a" }, { "title": "?" }, 7, { "id": "b" }] }));
        assert_eq!(answer.handles(), ["a", "b"]);
        assert_eq!(answer.doubts(), [Doubt::DroppedRow]);
    }

    #[test]
    fn handles_are_told_once_and_deference_goes_to_all_but_the_agents_own() {
        let answer = read(&json!({ "changes": [
            { "id": "a", "actor": "human" },
            { "id": "b", "actor": "agent" },
            { "id": "a", "actor": "operator" },
            { "id": "c" },
        ] }));
        assert_eq!(answer.handles(), ["a", "b", "c"]);
        let deferred: Vec<&str> = answer.defer_to().iter().map(|c| c.handle.as_str()).collect();
        assert_eq!(deferred, ["a", "a", "c"]);
    }

    #[test]
    fn attribution_is_proven_by_another_hand_only() {
        for (actor, expect) in [
            ("human", ChangeFeed::Attributed),
            ("system", ChangeFeed::Attributed),
            ("agent", ChangeFeed::Offered),
            ("operator", ChangeFeed::Offered),
        ] {
            let result = json!({ "changes": [{ "id": "a", "actor": actor }] });
            assert_eq!(read(&result).feed(), expect, "{actor}");
        }
    }

    #[test]
    fn the_marker_comes_with_the_answer() {
        let answer = read(&json!({ "_meta": { "changes": [], "revision": "r9" } }));
        assert_eq!(answer.revision().map(Revision::token), Some("r9"));
        let payload = json!({ "changes": [], "revision": "x".repeat(600) });
        assert!(Changes::read(&payload, ChangeFeed::Offered, "t").is_err());
    }

    #[test]
    fn labels_are_framed_or_the_answer_is_refused() {
        let answer = read(&json!({ "changes": [{ "id": "a", "title": "T" }, { "id": "b" }] }));
        let framed = answer.clone().with_labels(|label| Ok::<_, ()>(format!("<{label}>"))).unwrap();
        assert_eq!(framed.rows()[0].label.as_deref(), Some("<T>"));
        assert_eq!(framed.rows()[1].label, None);
        assert!(answer.with_labels(|_| Err(())).is_err());
    }
}
