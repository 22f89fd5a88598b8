//! Suggestions for misspelled names.

use laggard_numeric::levenshtein_within;

/// The name with the fewest edits from what was written, if a third of its characters are not more. The table of a name
/// may be missing: `keep_for` is nearest to `store.keep_for`.
pub fn nearest<'a>(written: &str, names: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| text.to_ascii_lowercase().replace('_', "-");
    let written = plain(written);
    let limit = (written.len() / 3).max(1);
    let near = names.iter().filter_map(|name| {
        let known = plain(name);
        let is_last_part = known.rsplit_once('.').is_some_and(|(_, last)| last == written);
        let edits = levenshtein_within(written.as_bytes(), known.as_bytes(), limit);
        Some((if is_last_part { 0 } else { edits? }, *name))
    });
    near.min_by_key(|(edits, _)| *edits).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        let names = ["cv-min", "tail-mad", "share-min"];
        assert_eq!(nearest("cv_min", &names), Some("cv-min"));
        assert_eq!(nearest("cvmin", &names), Some("cv-min"));
        assert_eq!(nearest("shares-min", &names), Some("share-min"));
        assert_eq!(nearest("window", &names), None);
        let names = ["store.keep_for", "store.keep_bytes"];
        assert_eq!(nearest("keep_for", &names), Some("store.keep_for"));
        assert_eq!(nearest("store.keepfor", &names), Some("store.keep_for"));
    }
}
