//! Trace and span ids: binary inside, text only at the edges.

use crate::Fingerprint;
use std::fmt;
use std::num::NonZeroU64;

/// The 128-bit id of a trace. Shorter ids (Zipkin, older Jaeger) are zero-extended on the left.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TraceId(u128);

/// The 64-bit id of a span inside its trace; never zero, so `Option<SpanId>` costs nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SpanId(NonZeroU64);

/// A trace id read from text, and whether [`fmt::Display`] reproduces that text, save for the zeros before an id of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParsedTraceId {
    /// The id.
    pub id: TraceId,
    /// False when the original text must be stored as well, because it differs from the id's display text.
    pub is_canonical: bool,
}

impl TraceId {
    /// An id from its 16 bytes, most significant first, as OpenTelemetry sends it.
    pub const fn from_bytes(bytes: [u8; 16]) -> TraceId {
        TraceId(u128::from_be_bytes(bytes))
    }

    /// An id from its integer value.
    pub const fn from_value(value: u128) -> TraceId {
        TraceId(value)
    }

    /// The value as an integer.
    pub const fn value(self) -> u128 {
        self.0
    }

    /// Reads any text as a trace id. Up to 32 hexadecimal digits (dashes of a UUID skipped) are read by
    /// value; anything else is hashed, so every text names some trace and different texts, for all
    /// practical purposes, different ones. `None` for empty text.
    ///
    /// ```
    /// use laggard_model::TraceId;
    /// let id = TraceId::parse_text("1e223ff1f80f1c69").unwrap();
    /// assert_eq!(id.id.to_string(), "1e223ff1f80f1c69");
    /// assert!(id.is_canonical);
    /// assert!(!TraceId::parse_text("order-4711").unwrap().is_canonical);
    /// ```
    pub fn parse_text(text: &str) -> Option<ParsedTraceId> {
        if text.is_empty() {
            return None;
        }
        let Some(value) = parse_hex(text.as_bytes()) else {
            let id = TraceId(Fingerprint::from_bytes(text.as_bytes()).value());
            return Some(ParsedTraceId { id, is_canonical: false });
        };
        let canonical = match text.len() {
            16 => value >> 64 == 0,
            // Of an id of 64 bits, zeros come first.
            32 => true,
            _ => false,
        };
        let plain = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        Some(ParsedTraceId { id: TraceId(value), is_canonical: canonical && plain })
    }
}

impl fmt::Display for TraceId {
    /// 32 lower-case hexadecimal digits, or 16 when the upper half is zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >> 64 == 0 { write!(f, "{:016x}", self.0) } else { write!(f, "{:032x}", self.0) }
    }
}

impl SpanId {
    /// Represents the id `0` in formats whose ids are free text, where zero is an ordinary id.
    /// If no span has this id, a parent with this id means "no parent".
    pub const ZERO_TEXT: SpanId = match NonZeroU64::new(0x5A45_524F_5F49_4421) {
        Some(id) => SpanId(id),
        None => unreachable!(),
    };

    /// An id from its value; `None` for zero, which OpenTelemetry reserves for "no span".
    pub const fn new(value: u64) -> Option<SpanId> {
        match NonZeroU64::new(value) {
            Some(id) => Some(SpanId(id)),
            None => None,
        }
    }

    /// An id from its 8 bytes, most significant first.
    pub const fn from_bytes(bytes: [u8; 8]) -> Option<SpanId> {
        SpanId::new(u64::from_be_bytes(bytes))
    }

    /// The value as an integer.
    pub const fn value(self) -> u64 {
        self.0.get()
    }

    /// Reads any text as a span id: up to 16 hexadecimal digits by value, anything else hashed. Text that
    /// is zero as a number gives [`SpanId::ZERO_TEXT`]. `None` for empty text.
    pub fn parse_text(text: &str) -> Option<SpanId> {
        if text.is_empty() {
            return None;
        }
        let value = match parse_hex(text.as_bytes()).map(u64::try_from) {
            Some(Ok(value)) => value,
            _ => Fingerprint::from_bytes(text.as_bytes()).value() as u64,
        };
        Some(SpanId::new(value).unwrap_or(SpanId::ZERO_TEXT))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The value of 1 to 32 hexadecimal digits; the dashes of a UUID (36 characters) are skipped.
#[inline]
fn parse_hex(text: &[u8]) -> Option<u128> {
    match text.len() {
        0..=16 => parse_hex_word(text).map(u128::from),
        17..=32 => {
            let (high, low) = text.split_at(text.len() - 16);
            Some(u128::from(parse_hex_word(high)?) << 64 | u128::from(parse_hex_word(low)?))
        }
        36 => parse_uuid(text),
        _ => None,
    }
}

fn parse_uuid(text: &[u8]) -> Option<u128> {
    let mut groups = text.split(|&byte| byte == b'-');
    let mut value = 0_u128;
    for length in [8, 4, 4, 4, 12] {
        let group = groups.next().filter(|group| group.len() == length)?;
        value = value << (4 * length) | u128::from(parse_hex_word(group)?);
    }
    Some(value)
}

/// At most 16 digits. Ids are the most frequent thing a reader parses, so eight digits are parsed at once.
#[inline]
fn parse_hex_word(text: &[u8]) -> Option<u64> {
    let (eights, rest) = text.as_chunks::<8>();
    let mut value = 0_u64;
    for eight in eights {
        value = value << 32 | eight_hex_digits(*eight)?;
    }
    for &byte in rest {
        value = value << 4 | u64::from(char::from(byte).to_digit(16)?);
    }
    Some(value)
}

/// The value of eight hexadecimal digits: all bytes are checked and converted in one register, then neighbors are joined to pairs,
/// pairs to fours, fours to eight.
#[inline]
fn eight_hex_digits(text: [u8; 8]) -> Option<u64> {
    const fn in_each_byte(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    const TOP: u64 = in_each_byte(0x80);
    // The top bit of each byte that is at least `least`. No byte carries into the next, since all are below 0x80.
    let at_least = |bytes: u64, least: u8| (bytes + in_each_byte(0x80 - least)) & TOP;
    let bytes = u64::from_le_bytes(text);
    if bytes & TOP != 0 {
        return None;
    }
    let lower = bytes | in_each_byte(0x20);
    let decimal = at_least(bytes, b'0') & !at_least(bytes, b'9' + 1);
    let letter = at_least(lower, b'a') & !at_least(lower, b'f' + 1);
    if decimal | letter != TOP {
        return None;
    }
    let digits = (bytes & in_each_byte(0x0F)) + (letter >> 7) * 9;
    let pairs = (digits << 4 | digits >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs << 8 | pairs >> 16) & 0x0000_FFFF_0000_FFFF;
    Some((fours << 16 | fours >> 32) & 0xFFFF_FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ids_keep_their_value() {
        let short = TraceId::parse_text("A").unwrap();
        assert_eq!((short.id.value(), short.is_canonical), (10, false));
        let long = TraceId::parse_text("0087f677c0a2cf3f80a551987167911b").unwrap();
        assert_eq!(long.id.to_string(), "0087f677c0a2cf3f80a551987167911b");
        assert!(long.is_canonical);
        let padded = TraceId::parse_text("00000000000000001e223ff1f80f1c69").unwrap();
        assert_eq!((padded.id.to_string(), padded.is_canonical), ("1e223ff1f80f1c69".to_owned(), true));
        let uuid = TraceId::parse_text("0087f677-c0a2-cf3f-80a5-51987167911b").unwrap();
        assert_eq!(uuid.id, long.id);
        assert!(!uuid.is_canonical);
        assert!(!TraceId::parse_text("CE70DFF6C9393836").unwrap().is_canonical);
        let odd_length = TraceId::parse_text("7f677c0a2cf3f80a551987167911b").unwrap();
        assert_eq!(odd_length.id.value(), 0x7_f677_c0a2_cf3f_80a5_5198_7167_911b);
    }

    #[test]
    fn zero_is_an_id_in_free_text() {
        assert_eq!(SpanId::parse_text("0"), Some(SpanId::ZERO_TEXT));
        assert_eq!(SpanId::parse_text("0000000000000000"), Some(SpanId::ZERO_TEXT));
        assert_eq!(SpanId::parse_text(""), None);
        assert_eq!(SpanId::parse_text("a0").unwrap().value(), 0xa0);
        assert_ne!(SpanId::parse_text("step 1"), SpanId::parse_text("step 2"));
    }

    #[test]
    fn only_digits_are_digits() {
        for byte in 0..=255_u8 {
            let digit = char::from(byte).to_digit(16).filter(|_| byte.is_ascii());
            assert_eq!(parse_hex(&[byte]), digit.map(u128::from), "byte {byte}");
            for position in 0..21 {
                let mut long = *b"123456789abcdef012345";
                long[position] = byte;
                let text = std::str::from_utf8(&long).ok().filter(|_| digit.is_some());
                let value = text.map(|text| u128::from_str_radix(text, 16).expect("digits"));
                assert_eq!(parse_hex(&long), value, "byte {byte} in a long id, at {position}");
            }
        }
        for text in
            ["0087f677-c0a2-cf3f-80a5-51987167911", "0087f677-c0a2-cf3f-80a55-1987167911b", "-087f677"]
        {
            assert_eq!(parse_hex(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn ids_longer_than_their_field_are_hashed_not_cut() {
        let a = SpanId::parse_text("00000000000000010000000000000001").unwrap();
        assert_ne!(a.value(), 1);
        assert!(TraceId::parse_text(&"f".repeat(33)).is_some());
    }
}
