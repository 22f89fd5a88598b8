//! Numbers and ids as text, without a formatter: most of the time of writing is spent here.

use laggard_model::TraceId;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends a number in decimal.
pub(crate) fn push_decimal(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut index = digits.len();
    loop {
        index -= 1;
        digits[index] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[index..]);
}

/// Appends a time; every generated one is positive.
pub(crate) fn push_time(out: &mut Vec<u8>, time: i64) {
    push_decimal(out, time.max(0) as u64);
}

/// Appends 16 hexadecimal digits.
pub(crate) fn push_hex(out: &mut Vec<u8>, value: u64) {
    let digits: [u8; 16] = std::array::from_fn(|index| HEX[(value >> (60 - 4 * index)) as usize & 15]);
    out.extend_from_slice(&digits);
}

/// Appends 32 hexadecimal digits.
pub(crate) fn push_trace_id(out: &mut Vec<u8>, id: TraceId) {
    push_hex(out, (id.value() >> 64) as u64);
    push_hex(out, id.value() as u64);
}

/// Appends text.
pub(crate) fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_like_the_standard_formatter_does() {
        for value in [0, 7, 10, 1_234_567_890, u64::MAX] {
            let mut out = Vec::new();
            push_decimal(&mut out, value);
            out.push(b' ');
            push_hex(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), format!("{value} {value:016x}"));
        }
        let mut out = Vec::new();
        push_trace_id(&mut out, TraceId::from_value(0xAB << 64 | 1));
        assert_eq!(out, b"00000000000000ab0000000000000001");
    }
}
