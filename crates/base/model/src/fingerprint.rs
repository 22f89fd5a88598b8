//! A stable 128-bit hash: what two machines agree on.

use std::fmt;

/// A stable 128-bit hash of names or shapes. The same input gives the same value on every machine and
/// in every version that writes the same schema; it is not a defense against an adversary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Fingerprint(u128);

impl Fingerprint {
    /// The value as an integer.
    pub const fn value(self) -> u128 {
        self.0
    }

    /// A fingerprint from its integer value.
    pub const fn from_value(value: u128) -> Fingerprint {
        Fingerprint(value)
    }

    /// The fingerprint of some bytes.
    pub fn from_bytes(bytes: &[u8]) -> Fingerprint {
        let mut builder = FingerprintBuilder::new();
        builder.bytes(bytes);
        builder.finish()
    }

    /// The first twelve hexadecimal digits: enough to name a category in a report.
    pub fn short(self) -> String {
        format!("{:012x}", self.0 >> 80)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Builds a [`Fingerprint`] from words and byte strings; the order matters, and every byte string is
/// framed by its length so that `("ab", "c")` differs from `("a", "bc")`.
#[derive(Clone, Debug)]
pub struct FingerprintBuilder {
    low: u64,
    high: u64,
}

/// The finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): a bijection in which every input bit reaches every
/// output bit.
pub const fn mix64(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl FingerprintBuilder {
    /// An empty builder.
    pub const fn new() -> FingerprintBuilder {
        FingerprintBuilder { low: 0x9E37_79B9_7F4A_7C15, high: 0xC2B2_AE3D_27D4_EB4F }
    }

    /// Adds a 64-bit word.
    pub const fn word(&mut self, word: u64) {
        self.low = mix64(self.low.rotate_left(5) ^ word);
        self.high = mix64(self.high.wrapping_add(word).wrapping_mul(0x1656_67B1_9E37_79F9) ^ self.low);
    }

    /// Adds another fingerprint.
    pub const fn fingerprint(&mut self, fingerprint: Fingerprint) {
        self.word(fingerprint.0 as u64);
        self.word((fingerprint.0 >> 64) as u64);
    }

    /// Adds a byte string with its length.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut last = [0_u8; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.word(u64::from_le_bytes(last));
        }
    }

    /// The fingerprint of everything added.
    pub const fn finish(&self) -> Fingerprint {
        let low = mix64(self.low ^ self.high.rotate_left(32));
        let high = mix64(self.high.wrapping_add(low));
        Fingerprint(((high as u128) << 64) | low as u128)
    }
}

impl Default for FingerprintBuilder {
    fn default() -> FingerprintBuilder {
        FingerprintBuilder::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_separates_neighbors() {
        let fingerprint = |parts: &[&str]| {
            let mut builder = FingerprintBuilder::new();
            parts.iter().for_each(|part| builder.bytes(part.as_bytes()));
            builder.finish()
        };
        assert_ne!(fingerprint(&["ab", "c"]), fingerprint(&["a", "bc"]));
        assert_ne!(fingerprint(&["a", ""]), fingerprint(&["a"]));
        assert_ne!(Fingerprint::from_bytes(b"a"), Fingerprint::from_bytes(b"a\0"));
    }

    #[test]
    fn the_value_is_stable_across_versions() {
        // Stored category ids depend on this value: if it must change, so must the schema version.
        assert_eq!(Fingerprint::from_bytes(b"laggard").to_string(), STABLE);
    }

    const STABLE: &str = "5f643b00b0e76a17b21c9a5684ad7a58";

    #[test]
    fn short_sequences_do_not_collide() {
        let mut seen = std::collections::HashSet::new();
        for a in 0..300_u64 {
            for b in 0..300_u64 {
                let mut builder = FingerprintBuilder::new();
                builder.word(a);
                builder.word(b);
                assert!(seen.insert(builder.finish()));
            }
        }
    }
}
