//! The nearest right thing.

/// The candidate that a mistyped word most likely meant, when one is near enough to be worth
/// saying.
pub(super) fn nearest<'a>(
    wrong: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (score(&wrong, &candidate.to_lowercase()), candidate))
        .filter(|(score, _)| *score >= 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// Likeness from 0 to 1. Swapped and dropped letters are what people type; a shared beginning
/// counts, and `_`, `-` and spaces are one thing.
fn score(wrong: &str, candidate: &str) -> f64 {
    let plain = |text: &str| text.replace(['-', ' '], "_");
    let (wrong, candidate) = (plain(wrong), plain(candidate));
    let edits = strsim::normalized_damerau_levenshtein(&wrong, &candidate);
    edits.max(strsim::jaro_winkler(&wrong, &candidate) - 0.12)
}

/// ` (did you mean `x`?)`, or nothing.
pub(super) fn did_you_mean<'a>(
    wrong: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(wrong, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[track_caller]
    fn check(wrong: &str, expect: Option<&str>) {
        let words = ["anomalies", "surface", "pins", "requests", "screen_read", "screen_rename"];
        assert_eq!(nearest(wrong, words), expect, "{wrong}");
    }

    #[test]
    fn the_nearest_word_is_found_and_a_far_one_is_not_offered() {
        check("anomalys", Some("anomalies"));
        check("surfaec", Some("surface"));
        check("screen_raed", Some("screen_read"));
        check("pin", Some("pins"));
        check("zebra", None);
        check("", None);
    }
}
