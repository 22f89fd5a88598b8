//! Ids in OTLP JSON. The specification requires hexadecimal digits; what follows protobuf's own JSON mapping
//! (Tempo, early SDKs) writes base64. Their lengths differ: 32 and 16 digits against 24 and 12 characters,
//! 22 and 11 without padding.

use crate::pending::{parse_span_id, parse_trace_id};
use laggard_model::{ParsedTraceId, SpanId, TraceId};

/// Reads a trace id; `None` for one that is empty or zero.
///
/// Base64 is an encoding of the same 16 bytes that every tool shows as digits, so such an id is canonical.
pub(crate) fn trace(text: &str) -> Option<ParsedTraceId> {
    if let Some((high, low)) = text.as_bytes().split_first_chunk().filter(|_| text.len() == 32)
        && let Some(high) = lower_hex(high)
        && let Some(low) = low.first_chunk().and_then(lower_hex)
    {
        let id = TraceId::from_value(u128::from(high) << 64 | u128::from(low));
        return (id.value() != 0).then_some(ParsedTraceId { id, is_canonical: true });
    }
    match decode(text) {
        Some(bytes) => {
            let id = TraceId::from_bytes(bytes);
            (id.value() != 0).then_some(ParsedTraceId { id, is_canonical: true })
        }
        None => parse_trace_id(text),
    }
}

/// Reads a span id; `None` for one that is empty or zero.
pub(crate) fn span(text: &str) -> Option<SpanId> {
    if let Ok(digits) = text.as_bytes().try_into()
        && let Some(value) = lower_hex(digits)
    {
        return SpanId::new(value);
    }
    match decode(text) {
        Some(bytes) => SpanId::from_bytes(bytes),
        None => parse_span_id(text),
    }
}

/// The value of hexadecimal digits as the specification requires them: in lower case. This is the hot path; other
/// forms use the parser of the model.
fn lower_hex(digits: &[u8; 16]) -> Option<u64> {
    const NONE: u8 = 0xFF;
    const DIGITS: [u8; 256] = {
        let mut table = [NONE; 256];
        let mut value = 0;
        while value < 16 {
            table[b"0123456789abcdef"[value as usize] as usize] = value;
            value += 1;
        }
        table
    };
    let mut value = 0;
    let mut seen = 0;
    for &digit in digits {
        let digit = DIGITS[usize::from(digit)];
        seen |= digit;
        value = value << 4 | u64::from(digit & 0xF);
    }
    (seen != NONE).then_some(value)
}

/// The bytes when `text` is base64 of exactly `N` bytes and not a number in hexadecimal.
fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.trim_end_matches('=');
    let is_padded = text.len() == N.div_ceil(3) * 4;
    let is_hex = || text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if digits.len() != (N * 4).div_ceil(3) || !(is_padded || text.len() == digits.len()) || is_hex() {
        return None;
    }
    let mut bytes = [0; N];
    let mut filled = 0;
    let mut bits = 0_u32;
    let mut bit_count = 0;
    for digit in digits.bytes() {
        bits = bits << 6 | u32::from(base64_digit(digit)?);
        bit_count += 6;
        if bit_count >= 8 && filled < N {
            bit_count -= 8;
            bytes[filled] = (bits >> bit_count) as u8;
            filled += 1;
        }
    }
    Some(bytes)
}

/// Value of a digit of base64, in the standard or the URL alphabet.
fn base64_digit(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_and_base64_give_the_same_ids() {
        // printf '0af7651916cd43dd8448eb211c80319c' | xxd -r -p | base64
        for text in ["0af7651916cd43dd8448eb211c80319c", "CvdlGRbNQ92ESOshHIAxnA==", "CvdlGRbNQ92ESOshHIAxnA"]
        {
            let parsed = trace(text).unwrap();
            assert_eq!(parsed.id.to_string(), "0af7651916cd43dd8448eb211c80319c", "{text}");
            assert!(parsed.is_canonical);
        }
        for text in ["b7ad6b7169203331", "t61rcWkgMzE=", "t61rcWkgMzE", "B7AD6B7169203331"] {
            assert_eq!(span(text).unwrap().to_string(), "b7ad6b7169203331", "{text}");
        }
    }

    #[test]
    fn the_fast_path_parses_ids_like_the_model() {
        for text in [
            "0af7651916cd43dd8448eb211c80319c",
            "0000000000000000f448eb211c80319c",
            "0AF7651916CD43DD8448EB211C80319C",
        ] {
            assert_eq!(trace(text), TraceId::parse_text(text), "{text}");
        }
        for text in [
            "b7ad6b7169203331",
            "ffffffffffffffff",
            "B7AD6B7169203331",
            "g7ad6b7169203331",
            "b7ad6b716920333\u{7f}",
        ] {
            assert_eq!(span(text), SpanId::parse_text(text), "{text}");
        }
    }

    #[test]
    fn zero_and_empty_ids_are_none() {
        for text in ["", "0", "00000000000000000000000000000000", "AAAAAAAAAAAAAAAAAAAAAA=="] {
            assert_eq!(trace(text), None, "{text}");
        }
        for text in ["", "0000000000000000", "AAAAAAAAAAA="] {
            assert_eq!(span(text), None, "{text}");
        }
    }

    #[test]
    fn other_text_is_a_valid_id() {
        assert_eq!(span("abcdefabcde").unwrap().value(), 0xabc_defa_bcde);
        assert!(!trace("CvdlGRbNQ92ESOshHIAx=A==").unwrap().is_canonical);
        assert!(!trace("order 4711").unwrap().is_canonical);
    }
}
