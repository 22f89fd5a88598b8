//! The first line of an input, by which formats of lines are recognized.

use crate::format::Sniff;

/// The first line that is not blank, for formats of lines.
pub(crate) enum FirstText<'a> {
    /// Without its line break.
    Line(&'a str),
    NeedMore,
    /// It is not the text of a table.
    NotText,
}

/// Finds the first line of a table in the first bytes of an input.
pub(crate) fn first_line(prefix: &[u8]) -> FirstText<'_> {
    let bytes = prefix.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(prefix).trim_ascii_start();
    if bytes.first().is_some_and(|byte| matches!(byte, b'{' | b'[' | b'<')) {
        return FirstText::NotText;
    }
    let end = memchr::memchr(b'\n', bytes);
    let line = &bytes[..end.unwrap_or(bytes.len())];
    if line.iter().any(|&byte| byte < b' ' && !matches!(byte, b'\t' | b'\r')) {
        return FirstText::NotText;
    }
    match (end, std::str::from_utf8(line)) {
        (None, _) => FirstText::NeedMore,
        (Some(_), Ok(line)) => FirstText::Line(line.trim_end()),
        (Some(_), Err(_)) => FirstText::NotText,
    }
}

/// Whether an input is of a format, by its first line.
pub(crate) fn sniff_line(prefix: &[u8], is_ours: impl FnOnce(&str) -> bool) -> Sniff {
    match first_line(prefix) {
        FirstText::NeedMore => Sniff::NeedMore,
        FirstText::Line(line) if is_ours(line) => Sniff::Yes,
        FirstText::Line(_) | FirstText::NotText => Sniff::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_first_line_needs_more_bytes() {
        assert!(matches!(first_line(b""), FirstText::NeedMore));
        assert!(matches!(first_line(b"\xEF\xBB\xBF\n\na,b"), FirstText::NeedMore));
        assert!(matches!(first_line(b"\xEF\xBB\xBF\r\n\na,b\r\n1"), FirstText::Line("a,b")));
        assert!(matches!(first_line(b"{\"a\":1}\n"), FirstText::NotText));
        assert!(matches!(first_line(b"a\0b"), FirstText::NotText));
        assert!(matches!(first_line(b"\xFF\xFEa\n"), FirstText::NotText));
    }
}
