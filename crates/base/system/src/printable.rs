//! Text of other programs, made safe to print: no control characters, bounded length.

/// At most `chars_max` characters of a text, without control characters, which a terminal would obey.
pub fn printable(text: &str, chars_max: usize) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(chars_max).collect()
}
