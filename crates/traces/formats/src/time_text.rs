//! Times as people write them in tables: decimal numbers of a stated unit, or RFC 3339 text.

use laggard_model::Timestamp;

/// The unit of a decimal number of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimeUnit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

/// How a column writes its times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimeFormat {
    /// A decimal number, with fraction and exponent if need be.
    Decimal(TimeUnit),
    /// RFC 3339, `2022-08-22T03:53:00.123Z`; without an offset the text is treated as UTC.
    Rfc3339,
}

impl TimeUnit {
    /// All units, finest first, with the suffix that names each in a header.
    pub(crate) const SUFFIXES: [(TimeUnit, &'static str); 4] = [
        (TimeUnit::Nanoseconds, "ns"),
        (TimeUnit::Microseconds, "us"),
        (TimeUnit::Milliseconds, "ms"),
        (TimeUnit::Seconds, "s"),
    ];

    /// Power of ten that turns the unit into nanoseconds.
    const fn exponent(self) -> u32 {
        match self {
            TimeUnit::Nanoseconds => 0,
            TimeUnit::Microseconds => 3,
            TimeUnit::Milliseconds => 6,
            TimeUnit::Seconds => 9,
        }
    }
}

impl TimeFormat {
    /// Nanoseconds; `None` when the text is no time of this format or lies outside ±292 years.
    #[inline]
    pub(crate) fn parse_ns(self, text: &str) -> Option<i64> {
        match self {
            TimeFormat::Decimal(unit) => decimal_ns(text.as_bytes(), unit),
            TimeFormat::Rfc3339 => rfc3339_ns(text),
        }
    }

    /// The expected form, for the example of a malformed record.
    pub(crate) const fn expectation(self) -> &'static str {
        match self {
            TimeFormat::Decimal(_) => "not a number in range",
            TimeFormat::Rfc3339 => {
                "not an RFC 3339 time (a number needs a column name with a unit, start_us)"
            }
        }
    }
}

/// Parses plain digits at once and leaves everything else to [`exact_decimal_ns`].
#[inline]
fn decimal_ns(text: &[u8], unit: TimeUnit) -> Option<i64> {
    // 19 digits stay below 2^64, so the sum below cannot wrap.
    if text.is_empty() || text.len() > 19 {
        return exact_decimal_ns(text, unit);
    }
    let mut value = 0_u64;
    let mut rest = text;
    while let Some((eight, later)) = rest.split_first_chunk() {
        let Some(number) = eight_digits(*eight) else { return exact_decimal_ns(text, unit) };
        value = value * 100_000_000 + number;
        rest = later;
    }
    for &byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return exact_decimal_ns(text, unit);
        }
        value = value * 10 + u64::from(digit);
    }
    i64::try_from(value).ok()?.checked_mul(10_i64.pow(unit.exponent()))
}

/// The value of eight decimal digits: neighbors are joined to pairs, pairs to fours, fours to eight, all of them at once.
#[inline]
fn eight_digits(text: [u8; 8]) -> Option<u64> {
    let digits = u64::from_le_bytes(text) ^ 0x3030_3030_3030_3030;
    // Adding 6 carries into the upper half of a byte above 9.
    let carried = digits.wrapping_add(0x0606_0606_0606_0606);
    if (digits | carried) & 0xF0F0_F0F0_F0F0_F0F0 != 0 {
        return None;
    }
    let pairs = (digits * 10 + (digits >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    Some((fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF)
}

/// A decimal number: digits without the point, and the power of ten they are multiplied by.
#[derive(Default)]
struct Decimal {
    negative: bool,
    digits: u128,
    exponent: i64,
}

/// Digits that fit a u128 with one to spare; further ones are below a nanosecond or out of range.
const DIGITS_MAX: u128 = 10_u128.pow(36);

fn exact_decimal_ns(text: &[u8], unit: TimeUnit) -> Option<i64> {
    let decimal = parse_decimal(text)?;
    let shift = decimal.exponent + i64::from(unit.exponent());
    let magnitude = shift_decimal(decimal.digits, shift)?;
    let value = i64::try_from(magnitude).ok()?;
    Some(if decimal.negative { -value } else { value })
}

/// `digits · 10^shift`, rounded half up; `None` when it does not fit.
fn shift_decimal(digits: u128, shift: i64) -> Option<u128> {
    if digits == 0 {
        return Some(0);
    }
    let power = u32::try_from(shift.unsigned_abs()).ok().and_then(|places| 10_u128.checked_pow(places));
    match (shift < 0, power) {
        (false, power) => digits.checked_mul(power?),
        (true, None) => Some(0),
        (true, Some(power)) => Some(digits / power + u128::from(digits % power >= power.div_ceil(2))),
    }
}

fn parse_decimal(text: &[u8]) -> Option<Decimal> {
    let (negative, unsigned) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (mantissa, exponent) = match unsigned.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(position) => (&unsigned[..position], parse_exponent(&unsigned[position + 1..])?),
        None => (unsigned, 0),
    };
    let mut decimal = Decimal { negative, digits: 0, exponent };
    let mut after_point = false;
    let mut any_digit = false;
    for &byte in mantissa {
        match byte {
            b'.' if !after_point => after_point = true,
            b'0'..=b'9' => {
                any_digit = true;
                decimal.append(byte - b'0', after_point);
            }
            _ => return None,
        }
    }
    any_digit.then_some(decimal)
}

impl Decimal {
    fn append(&mut self, digit: u8, after_point: bool) {
        let fits = self.digits < DIGITS_MAX;
        if fits {
            self.digits = self.digits * 10 + u128::from(digit);
        }
        self.exponent += i64::from(!fits) - i64::from(after_point);
    }
}

fn parse_exponent(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let value: i64 = text.parse().ok()?;
    (value.abs() <= 1_000).then_some(value)
}

fn rfc3339_ns(text: &str) -> Option<i64> {
    let instant = match text.parse::<jiff::Timestamp>() {
        Ok(instant) => instant,
        // The parser takes a date alone as midnight; a table with only dates has no usable times.
        Err(_) if text.len() < "2022-08-22T03:53".len() => return None,
        Err(_) => text
            .parse::<jiff::civil::DateTime>()
            .ok()?
            .to_zoned_datetime(jiff::tz::TimeZone::UTC)
            .ok()?
            .timestamp(),
    };
    i64::try_from(instant.as_nanosecond()).ok()
}

/// An instant from a column's text.
#[inline]
pub(crate) fn parse_instant(format: TimeFormat, text: &str) -> Option<Timestamp> {
    format.parse_ns(text).map(Timestamp::from_unix_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ns(text: &str, unit: TimeUnit) -> Option<i64> {
        TimeFormat::Decimal(unit).parse_ns(text)
    }

    #[test]
    fn numbers_are_read_exactly_in_their_unit() {
        for (text, unit, expected) in [
            ("1661140374351773094", TimeUnit::Nanoseconds, 1_661_140_374_351_773_094),
            ("9223372036854775807", TimeUnit::Nanoseconds, i64::MAX),
            ("-9223372036854775807", TimeUnit::Nanoseconds, -i64::MAX),
            ("1661140374351773.094", TimeUnit::Microseconds, 1_661_140_374_351_773_094),
            ("1.661140374351773094e9", TimeUnit::Seconds, 1_661_140_374_351_773_094),
            ("1661140374.3517730945", TimeUnit::Seconds, 1_661_140_374_351_773_095),
            ("0.0004", TimeUnit::Microseconds, 0),
            ("0.0005", TimeUnit::Microseconds, 1),
            (".5", TimeUnit::Milliseconds, 500_000),
            ("12.", TimeUnit::Milliseconds, 12_000_000),
            ("+3E-3", TimeUnit::Seconds, 3_000_000),
            ("-1.5", TimeUnit::Microseconds, -1_500),
            ("0e900", TimeUnit::Seconds, 0),
            ("1e-900", TimeUnit::Seconds, 0),
            ("00000000000000000000000000000000000000000000000007", TimeUnit::Nanoseconds, 7),
        ] {
            assert_eq!(ns(text, unit), Some(expected), "{text}");
        }
    }

    #[test]
    fn text_that_is_no_number_or_out_of_range_is_rejected() {
        let too_big = "1".repeat(400);
        for text in
            ["", "-", ".", "e5", "1e", "1.2.3", "0x10", "1 000", "nan", "inf", "1e99999999999", "1e300", "٣"]
        {
            assert_eq!(ns(text, TimeUnit::Microseconds), None, "{text}");
        }
        assert_eq!(ns(&too_big, TimeUnit::Nanoseconds), None);
        assert_eq!(ns("9223372036854775808", TimeUnit::Nanoseconds), None);
        assert_eq!(ns("9223372036854775807", TimeUnit::Microseconds), None);
    }

    #[test]
    fn rfc3339_text_is_read_with_and_without_offset() {
        let parsed = |text| TimeFormat::Rfc3339.parse_ns(text);
        assert_eq!(parsed("1970-01-01T00:00:01.5Z"), Some(1_500_000_000));
        assert_eq!(parsed("2022-08-22T03:52:54.351773094Z"), Some(1_661_140_374_351_773_094));
        assert_eq!(parsed("2022-08-22T05:52:54.351773094+02:00"), Some(1_661_140_374_351_773_094));
        assert_eq!(parsed("2022-08-22 03:52:54.351773094"), Some(1_661_140_374_351_773_094));
        for text in ["1661140374", "2022-08-22", "yesterday", "", "9999-01-01T00:00:00Z"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn digits_agree_with_the_standard_library(value: i64) {
            prop_assert_eq!(ns(&value.to_string(), TimeUnit::Nanoseconds), (value > i64::MIN).then_some(value));
        }

        #[test]
        fn fractions_of_microseconds_are_nanoseconds(us in 0_u32.., rest in 0_i64..1000) {
            let text = format!("{us}.{rest:03}");
            prop_assert_eq!(ns(&text, TimeUnit::Microseconds), Some(i64::from(us) * 1000 + rest));
        }

        #[test]
        fn no_text_panics(text in "[-+0-9.eE]{0,50}") {
            for (unit, _) in TimeUnit::SUFFIXES {
                let _ = ns(&text, unit);
            }
        }
    }
}
