//! What somebody may have meant.

use laggard_numeric::levenshtein_within;

/// The name with the fewest edits from what was written, if a third of its characters are not more.
pub fn nearest<'a>(written: &str, names: &[&'a str]) -> Option<&'a str> {
    let written = written.to_ascii_lowercase().replace('_', "-");
    let limit = (written.len() / 3).max(1);
    let near = names.iter().filter_map(|name| {
        let edits = levenshtein_within(written.as_bytes(), name.to_ascii_lowercase().as_bytes(), limit)?;
        Some((edits, *name))
    });
    near.min_by_key(|(edits, _)| *edits).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let names = ["cv-min", "tail-mad", "share-min"];
        assert_eq!(nearest("cv_min", &names), Some("cv-min"));
        assert_eq!(nearest("cvmin", &names), Some("cv-min"));
        assert_eq!(nearest("shares-min", &names), Some("share-min"));
        assert_eq!(nearest("window", &names), None);
    }
}
