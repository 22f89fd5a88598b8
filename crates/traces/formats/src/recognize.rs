//! Recognizes the format of an input by its first bytes, and describes unknown bytes.

use crate::FORMATS;
use crate::columns::shorten;
use crate::format::{Format, Recognizer, Sniff};
use crate::json_sniff;

// Limit: bytes read to detect a format | not recognized
/// Maximum number of bytes examined.
pub(crate) const PREFIX_MAX: usize = 64 << 10;

impl Format {
    /// Whether an input that starts with `prefix` has this format.
    pub fn sniff(&self, prefix: &[u8]) -> Sniff {
        match self.recognizer {
            Recognizer::Start(sniff) => sniff(prefix),
            Recognizer::JsonMembers(own) => json_sniff::sniff(prefix, own, is_json_member),
        }
    }
}

/// Whether some JSON format has a member of this name.
fn is_json_member(name: &[u8]) -> bool {
    FORMATS.iter().any(|format| match format.recognizer {
        Recognizer::JsonMembers(names) => names.iter().any(|known| known.as_bytes() == name),
        Recognizer::Start(_) => false,
    })
}

/// The format of this name.
pub fn find_format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The verdict on the first bytes.
pub(crate) enum Recognition {
    /// The input is of this format.
    Known(&'static Format),
    /// More bytes are needed.
    NeedMore,
    /// No format starts like this.
    Unknown,
}

/// Tries every format in order. A format is selected only when those before it have declined, so the answer
/// does not depend on how many bytes happen to be there.
pub(crate) fn recognize(prefix: &[u8]) -> Recognition {
    let mut answers = FORMATS.iter().map(|format| (format, format.sniff(prefix)));
    match answers.find(|(_, answer)| *answer != Sniff::No) {
        Some((format, Sniff::Yes)) => Recognition::Known(format),
        Some(_) => Recognition::NeedMore,
        None => Recognition::Unknown,
    }
}

/// [`recognize`] for all bytes of an input, or as many as are examined: nothing more will come, so a
/// format that cannot decide has declined. A single line may lack its line break.
pub(crate) fn recognize_all(bytes: &[u8]) -> Option<&'static Format> {
    let is_yes = |bytes: &[u8]| FORMATS.iter().find(|format| format.sniff(bytes) == Sniff::Yes);
    is_yes(bytes).or_else(|| is_yes(&[bytes, b"\n"].concat()))
}

/// Describes in a few words what some first bytes look like.
pub(crate) fn looks_like(bytes: &[u8]) -> String {
    const SIGNATURES: [(&[u8], &str); 9] = [
        (b"\xFF\xFE", "UTF-16 text; convert it to UTF-8"),
        (b"\xFE\xFF", "UTF-16 text; convert it to UTF-8"),
        (b"PK\x03\x04", "a zip archive; unpack it first"),
        (b"PAR1", "a Parquet file"),
        (b"\x1F\x8B", "gzip inside another compression; unpack one of them"),
        (b"\x28\xB5\x2F\xFD", "zstd inside another compression; unpack one of them"),
        (b"BZh", "bzip2; only gzip and zstd are unpacked"),
        (b"\xFD7zXZ", "xz; only gzip and zstd are unpacked"),
        (b"\x7FELF", "a program"),
    ];
    if bytes.trim_ascii().is_empty() {
        return "it is empty".to_owned();
    }
    if let Some((_, words)) = SIGNATURES.iter().find(|(signature, _)| bytes.starts_with(signature)) {
        return format!("it starts like {words}");
    }
    let shown = &bytes[..bytes.len().min(320)];
    let is_binary = shown.iter().any(|&byte| byte < b' ' && !byte.is_ascii_whitespace());
    if is_binary {
        let hex: Vec<String> = shown.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        return format!("it starts with the bytes {}", hex.join(" "));
    }
    let text = String::from_utf8_lossy(shown);
    let line = text.trim_start().lines().next().unwrap_or_default();
    format!("it starts with {:?}", shorten(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unrecognized_inputs_are_described() {
        assert_eq!(looks_like(b" \n"), "it is empty");
        assert_eq!(looks_like(b"\x01\x02"), "it starts with the bytes 01 02");
        assert_eq!(looks_like(b"\nhello \"you\"\nthere"), r#"it starts with "hello \"you\"""#);
        assert!(looks_like("\u{fc}".repeat(400).as_bytes()).contains('\u{fc}'));
        assert!(looks_like(b"PK\x03\x04").contains("zip"));
    }
}
