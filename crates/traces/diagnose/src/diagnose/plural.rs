//! Numbers with their nouns.

/// `1 category`, `3 categories`.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
