//! Which tool is the change feed (FEED-1).

/// The names, without their underscores.
const NAMES: [&str; 4] = ["changessince", "surfacechanges", "whatchanged", "changes"];

/// The same as a surface would spell them. Only the underscore between the words may be left out:
/// `c_hanges` merely looks like a feed, and what merely looks like one is not called.
const SPELLINGS: [&str; 3] = ["changes_since", "surface_changes", "what_changed"];

/// Whether a trusted tool of this name is the feed. Case does not matter.
pub(crate) fn is_feed(name: &str) -> bool {
    NAMES.iter().chain(&SPELLINGS).any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::is_feed;

    #[test]
    fn the_feed_is_known_by_its_documented_names_only() {
        for name in [
            "changes_since",
            "surface_changes",
            "what_changed",
            "changes",
            "changessince",
            "surfaceChanges",
            "WHAT_CHANGED",
            "ChangesSince",
            "Changes",
        ] {
            assert!(is_feed(name), "{name}");
        }
        for name in [
            "",
            "change",
            "changes_",
            "_changes",
            "changes-since",
            "changes_since_2",
            "c_hanges",
            "list_changes",
            "changes since",
            "whatchanged?",
            "changesSince ",
            "changes__since",
        ] {
            assert!(!is_feed(name), "{name}");
        }
    }
}
