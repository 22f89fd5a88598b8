//! The position in a collected file, from round to round.

use serde::{Deserialize, Serialize};

/// Bytes before the offset that identify the file: if they differ, it is another one.
pub(crate) const TAIL_BYTES: usize = 256;

/// How far a file has been collected; stored in the state file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FilePosition {
    /// Another URL is another file.
    pub(crate) url: String,
    /// How many earlier files of this name were rotated away.
    pub(crate) generation: u32,
    /// Bytes of the file that were collected.
    pub(crate) offset: u64,
    /// The last of these bytes.
    pub(crate) tail: Tail,
    /// The host's entity tag of the file when everything was collected.
    pub(crate) etag: Option<String>,
    /// Its first line, if that has the column names.
    pub(crate) header: Option<String>,
    /// Whether the offset is inside a line that is too long and skipped.
    pub(crate) in_long_line: bool,
    /// The content of a file that cannot be collected line by line.
    pub(crate) whole: Option<Tail>,
    /// Valid length of the local file.
    pub(crate) written: u64,
    /// Whether a chunk was sent to a server that has not responded.
    pub(crate) in_doubt: bool,
}

/// Length and hash of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Tail {
    /// Their number.
    pub(crate) bytes: u64,
    /// FNV-1a, 64 bits (Fowler, Noll, Vo).
    pub(crate) hash: u64,
}

impl Default for Tail {
    /// No bytes.
    fn default() -> Tail {
        Tail::from_bytes(&[])
    }
}

impl Tail {
    pub(crate) fn from_bytes(bytes: &[u8]) -> Tail {
        let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Tail { bytes: bytes.len() as u64, hash: bytes.iter().fold(0xcbf2_9ce4_8422_2325, step) }
    }

    /// The last [`TAIL_BYTES`] of these bytes.
    pub(crate) fn from_end(bytes: &[u8]) -> Tail {
        Tail::from_bytes(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..])
    }
}

impl FilePosition {
    /// A file of which nothing was collected.
    pub(crate) fn new(url: &str) -> FilePosition {
        FilePosition { url: url.to_owned(), ..FilePosition::default() }
    }

    /// The next file at the same URL.
    pub(crate) fn rotated(&self) -> FilePosition {
        FilePosition { generation: self.generation + 1, ..FilePosition::new(&self.url) }
    }

    /// The offset to read from: the beginning of the tail, so that it can be compared.
    pub(crate) fn start(&self) -> u64 {
        self.offset - self.tail.bytes.min(self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors of the hash's authors.
    #[test]
    fn the_hash_is_fnv_1a() {
        for (text, hash) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            assert_eq!(Tail::from_bytes(text.as_bytes()), Tail { bytes: text.len() as u64, hash });
        }
        assert_eq!(Tail::from_end(&[7; 1000]), Tail::from_bytes(&[7; TAIL_BYTES]));
    }
}
