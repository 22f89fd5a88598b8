//! Texts that are cut.

/// The last boundary between characters up to an index, or the end: `str::floor_char_boundary`, which is newer than our oldest Rust.
pub(crate) fn char_boundary(text: &str, index: usize) -> usize {
    (0..=index.min(text.len())).rev().find(|&index| text.is_char_boundary(index)).unwrap_or(0)
}
