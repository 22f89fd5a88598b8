//! The sampling fields of W3C trace state that OpenTelemetry defines: `ot=th:fd70a4;rv:…`, and the older
//! `ot=p:8;r:62`.
//!
//! Specification: OpenTelemetry, *TraceState: Probability Sampling* and *TraceState Handling*.

use laggard_model::{AdjustedCount, WeightSource};

/// The sampling of a trace state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum StateWeight {
    /// Nothing.
    Unknown,
    Declared(AdjustedCount, WeightSource),
    /// Something that makes no sense.
    Invalid,
}

/// Digits of a 56-bit number.
const DIGITS: usize = 14;
/// `2^56`, the number of thresholds.
const THRESHOLDS: u64 = 1 << 56;
/// The largest power `p`; 63 means an adjusted count of zero.
const POWER_MAX: u8 = 62;

/// Reads the `ot` member of a `tracestate` header's value.
pub(super) fn read(trace_state: &str) -> StateWeight {
    let members = trace_state.split(',').filter_map(|member| member.trim().split_once('='));
    let Some((_, fields)) = members.into_iter().find(|&(key, _)| key == "ot") else {
        return StateWeight::Unknown;
    };
    let (mut threshold, mut randomness, mut power, mut power_of_randomness) = (None, None, None, None);
    for (key, value) in fields.split(';').filter_map(|field| field.split_once(':')) {
        match key.trim() {
            "th" => threshold = Some(value.trim()),
            "rv" => randomness = Some(value.trim()),
            "p" => power = Some(value.trim()),
            "r" => power_of_randomness = Some(value.trim()),
            _ => {}
        }
    }
    match (threshold, power) {
        (Some(threshold), _) => by_threshold(threshold, randomness),
        (None, Some(power)) => by_power(power, power_of_randomness),
        (None, None) => StateWeight::Unknown,
    }
}

/// `AdjustedCount = 2^56 / (2^56 - threshold)`. A span whose explicit randomness is below its threshold should
/// not have been sampled: such a threshold is ignored.
fn by_threshold(threshold: &str, randomness: Option<&str>) -> StateWeight {
    let Some(threshold) = hexadecimal(threshold, 1) else {
        return StateWeight::Invalid;
    };
    if let Some(randomness) = randomness
        && hexadecimal(randomness, DIGITS).is_none_or(|randomness| randomness < threshold)
    {
        return StateWeight::Invalid;
    }
    let count = AdjustedCount::new(THRESHOLDS as f64 / (THRESHOLDS - threshold) as f64);
    count.map_or(StateWeight::Invalid, |count| StateWeight::Declared(count, WeightSource::Threshold))
}

/// A 56-bit number with a minimum number of digits; trailing zeros are omitted.
fn hexadecimal(text: &str, digits_min: usize) -> Option<u64> {
    let is_number =
        (digits_min..=DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = is_number.then(|| u64::from_str_radix(text, 16).ok())??;
    Some(number << (4 * (DIGITS - text.len())))
}

/// `AdjustedCount = 2^p`, for a span sampled because `p <= r`.
fn by_power(power: &str, power_of_randomness: Option<&str>) -> StateWeight {
    let in_range = |text: &str| text.parse::<u8>().ok().filter(|&power| power <= POWER_MAX);
    let Some(power) = in_range(power) else {
        return StateWeight::Invalid;
    };
    if power_of_randomness.is_some_and(|text| in_range(text).is_none_or(|r| power > r)) {
        return StateWeight::Invalid;
    }
    let count = AdjustedCount::new((1_u64 << power) as f64);
    count.map_or(StateWeight::Invalid, |count| StateWeight::Declared(count, WeightSource::PowerOfTwo))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(trace_state: &str, count: f64) {
        let StateWeight::Declared(declared, _) = read(trace_state) else {
            panic!("{trace_state}: {:?}", read(trace_state))
        };
        assert!((f64::from(declared.get()) / count - 1.0).abs() < 1e-7, "{trace_state}: {}", declared.get());
    }

    /// The counts are those of the table in the specification.
    #[test]
    fn thresholds_of_the_specification() {
        check("ot=th:0", 1.0);
        check("ot=th:8", 2.0);
        check("ot=th:aab", 3.000_732_600_732_600_7);
        check("ot=th:c", 4.0);
        check("ot=th:ccd", 5.001_221_001_221_001);
        check("ot=th:fd70a4", 100.000_095_367_522_59);
        check("ot=th:ffffef391", 1.000_006_937_469_970_5e6);
        check("ot=th:ffffffffffffff", 2_f64.powi(56));
        check("rojo=00f067aa0ba902b7, ot=a:b;th:FD70A4;rv:fd70a400000000 ,congo=t61rcWkgMzE", 100.000_095);
    }

    #[test]
    fn powers_of_two() {
        check("ot=p:8;r:62", 256.0);
        check("ot=p:0", 1.0);
        check("ot=p:62;r:62", 2_f64.powi(62));
        check("ot=p:3;th:c", 4.0);
    }

    #[test]
    fn no_information() {
        for none in ["", "ot=", "ot=rv:6e6d1a75832a2f", "vendor@ot=th:8", "other=th:8", "th:8", ",=;:,"] {
            assert_eq!(read(none), StateWeight::Unknown, "{none}");
        }
    }

    #[test]
    fn invalid_trace_states() {
        let invalid = [
            "ot=th:",
            "ot=th:xyz",
            "ot=th:-8",
            "ot=th:+8",
            "ot=th:123456789abcdef",
            "ot=th:8;rv:7fffffffffffff",
            "ot=th:8;rv:8",
            "ot=p:63",
            "ot=p:-1",
            "ot=p:x",
            "ot=p:3;r:2",
            "ot=p:3;r:63",
        ];
        for text in invalid {
            assert_eq!(read(text), StateWeight::Invalid, "{text}");
        }
        assert!(matches!(read("ot=th:8;rv:80000000000000"), StateWeight::Declared(..)));
    }
}
