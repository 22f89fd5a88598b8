//! What is known of a file that is collected, from round to round.

use serde::{Deserialize, Serialize};

/// Bytes before the place where reading stopped that must still be there for it to be the same file.
pub(crate) const TAIL_BYTES: usize = 256;

/// How far a file has been taken.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Known {
    /// Where the file is; another address is another file.
    pub(crate) url: String,
    /// Files of this name before this one, which were rotated away.
    pub(crate) generation: u32,
    /// Bytes of the file that were taken.
    pub(crate) offset: u64,
    /// What the last of these bytes are.
    pub(crate) tail: Tail,
    /// The host's mark for the file as it was when nothing was left to take.
    pub(crate) etag: Option<String>,
    /// Its first line, where that names columns.
    pub(crate) header: Option<String>,
    /// Whether a line that is too long is being passed over.
    pub(crate) in_long_line: bool,
    /// What the file is as a whole, where it cannot be taken line by line.
    pub(crate) whole: Option<Tail>,
    /// Length of the local file.
    pub(crate) written: u64,
    /// Whether a piece is on its way to a server that has not answered.
    pub(crate) in_doubt: bool,
}

/// Some bytes, without keeping them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Tail {
    /// How many.
    pub(crate) bytes: u64,
    /// Their FNV-1a hash of 64 bits (Fowler, Noll, Vo).
    pub(crate) hash: u64,
}

impl Default for Tail {
    /// Of no bytes.
    fn default() -> Tail {
        Tail::of(&[])
    }
}

impl Tail {
    /// Of all these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Tail {
        let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Tail { bytes: bytes.len() as u64, hash: bytes.iter().fold(0xcbf2_9ce4_8422_2325, step) }
    }

    /// Of the last of these bytes.
    pub(crate) fn from_end(bytes: &[u8]) -> Tail {
        Tail::of(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..])
    }
}

impl Known {
    /// Nothing is known of a file.
    pub(crate) fn of(url: &str) -> Known {
        Known { url: url.to_owned(), ..Known::default() }
    }

    /// The next file at the same place.
    pub(crate) fn rotated(&self) -> Known {
        Known { generation: self.generation + 1, ..Known::of(&self.url) }
    }

    /// Where to read from: so far back that what was taken can be recognized.
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
            assert_eq!(Tail::of(text.as_bytes()), Tail { bytes: text.len() as u64, hash });
        }
        assert_eq!(Tail::from_end(&[7; 1000]), Tail::of(&[7; TAIL_BYTES]));
    }
}
