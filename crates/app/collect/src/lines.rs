//! Splits received bytes into complete lines.

/// Which of some bytes are complete lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cut {
    /// Bytes skipped in front: the rest of a line that is too long.
    pub(crate) skipped: usize,
    /// End of the complete lines.
    pub(crate) end: usize,
    /// Whether the bytes end inside a line that is too long.
    pub(crate) in_long_line: bool,
}

/// Cuts at the last end of a line. A line of at least `bytes_max` bytes is skipped.
pub(crate) fn cut(bytes: &[u8], in_long_line: bool, bytes_max: usize) -> Cut {
    let skipped = match (in_long_line, bytes.iter().position(|&byte| byte == b'\n')) {
        (false, _) => 0,
        (true, Some(line_end)) => line_end + 1,
        (true, None) => return Cut { skipped: bytes.len(), end: bytes.len(), in_long_line: true },
    };
    match bytes[skipped..].iter().rposition(|&byte| byte == b'\n') {
        Some(line_end) => Cut { skipped, end: skipped + line_end + 1, in_long_line: false },
        None if skipped == 0 && bytes.len() >= bytes_max => {
            Cut { skipped: bytes.len(), end: bytes.len(), in_long_line: true }
        }
        None => Cut { skipped, end: skipped, in_long_line: false },
    }
}

/// Longest header that is repeated.
const HEADER_BYTES_MAX: usize = 64 << 10;

/// The first line, if it has column names: text without a digit that is not JSON. Lines of data have times.
pub(crate) fn header(first: &[u8]) -> Option<String> {
    let end = first.iter().position(|&byte| byte == b'\n')?;
    let line = std::str::from_utf8(&first[..end]).ok()?.trim_end_matches('\r');
    let plain = line.trim_start_matches('\u{feff}').trim_start();
    let is_data =
        plain.is_empty() || plain.starts_with(['{', '[']) || plain.contains(|c: char| c.is_ascii_digit());
    (!is_data && line.len() <= HEADER_BYTES_MAX).then(|| line.to_owned())
}

/// Whether a file begins like gzip, zstd, or a tar archive, which are read completely.
pub(crate) fn is_packed(first: &[u8]) -> bool {
    let magic: [&[u8]; 2] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd]];
    magic.iter().any(|magic| first.starts_with(magic)) || first.get(257..262) == Some(b"ustar")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_at(text: &str, in_long_line: bool) -> (usize, usize, bool) {
        let cut = cut(text.as_bytes(), in_long_line, 10);
        (cut.skipped, cut.end, cut.in_long_line)
    }

    #[test]
    fn only_complete_lines_are_collected() {
        assert_eq!(cut_at("", false), (0, 0, false));
        assert_eq!(cut_at("ab", false), (0, 0, false));
        assert_eq!(cut_at("ab\ncd\ne", false), (0, 6, false));
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        assert_eq!(cut_at("0123456789", false), (10, 10, true));
        assert_eq!(cut_at("0123456789", true), (10, 10, true));
        assert_eq!(cut_at("89\nab\nc", true), (3, 6, false));
        assert_eq!(cut_at("89\nab", true), (3, 3, false));
        assert_eq!(cut_at("ab\n3456789", false), (0, 3, false));
    }

    #[test]
    fn headers_have_column_names() {
        assert_eq!(header(b"host,time_us,flag\r\nh1,7,E\n").as_deref(), Some("host,time_us,flag"));
        for text in ["h1,7,E\n", "{\n", "[\n", "\n", "host,time_us"] {
            assert_eq!(header(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn compressed_files_are_recognized_by_their_first_bytes() {
        assert!(is_packed(&[0x1f, 0x8b, 8]) && is_packed(&[0x28, 0xb5, 0x2f, 0xfd, 0]));
        assert!(!is_packed(b"host,time_us\n") && !is_packed(b""));
        let mut archive = vec![0; 512];
        archive[257..262].copy_from_slice(b"ustar");
        assert!(is_packed(&archive));
    }
}
