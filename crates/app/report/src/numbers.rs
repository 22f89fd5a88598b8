//! Numbers as people read them: three digits, thousands separated, units spelled out.

use laggard_model::Nanos;

/// Shown for a value that is not a number.
const NOT_A_NUMBER: &str = "–";

/// `1,234,567`
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 file`, `1,234 files`: the plural is the singular with an `s`.
pub fn counted(value: u64, singular: &str) -> String {
    let plural = if value == 1 { "" } else { "s" };
    format!("{} {singular}{plural}", count(value))
}

/// `1 category`, `7 categories`.
pub(crate) fn counted_categories(value: u64) -> String {
    if value == 1 { "1 category".to_owned() } else { format!("{} categories", count(value)) }
}

/// A length of time given in nanoseconds: `48.2 ms`.
pub(crate) fn time(ns: u64) -> String {
    Nanos::from_ns(ns).to_string()
}

/// A length of time that arithmetic produced; nothing sensible gives a dash.
pub(crate) fn time_float(ns: f64) -> String {
    if !ns.is_finite() || ns < 0.0 {
        return NOT_A_NUMBER.to_owned();
    }
    time(ns.round() as u64)
}

/// A length of time given in seconds: `4.00 ms`.
pub(crate) fn seconds(seconds: f64) -> String {
    time_float(seconds * 1e9)
}

/// A signed length of time given in seconds: `+5.00 ms`.
pub(crate) fn signed_seconds(seconds: f64) -> String {
    signed_time(seconds * 1e9)
}

/// A round length of time on an axis: `20 ms`, not `20.0 ms`.
pub(crate) fn round_time(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    match units.iter().find(|(unit, _)| ns >= *unit * 0.999) {
        Some((unit, name)) => format!("{} {name}", count((ns / unit).round() as u64)),
        None => format!("{ns:.0} ns"),
    }
}

/// An excess: `+48.2 ms`.
pub(crate) fn effect(ns: u64) -> String {
    format!("+{}", Nanos::from_ns(ns))
}

/// A factor: `1.34×`, `16×`, `1,200×`.
pub(crate) fn factor(value: f64) -> String {
    match value {
        v if !v.is_finite() || v < 0.0 => NOT_A_NUMBER.to_owned(),
        v if v < 9.995 => format!("{v:.2}×"),
        v if v < 1e6 => format!("{}×", count(v.round() as u64)),
        _ => ">1,000,000×".to_owned(),
    }
}

/// A share of 0..1 as percent. What is neither nothing nor everything never reads as if it were.
pub(crate) fn share(value: f64) -> String {
    match value * 100.0 {
        p if !p.is_finite() || p < 0.0 => NOT_A_NUMBER.to_owned(),
        0.0 => "0 %".to_owned(),
        p if p < 0.1 => "<0.1 %".to_owned(),
        p if p < 0.95 => format!("{p:.1} %"),
        p if p < 99.5 => format!("{p:.0} %"),
        p if p < 100.0 => ">99 %".to_owned(),
        p if p < 1000.0 => format!("{p:.0} %"),
        _ => ">999 %".to_owned(),
    }
}

/// A p-value: three decimals, or a power of ten when smaller.
pub(crate) fn p_value(value: f64) -> String {
    match value {
        v if !v.is_finite() || v < 0.0 => NOT_A_NUMBER.to_owned(),
        v if v >= 0.001 => format!("{v:.3}"),
        v if v < 1e-300 => "<1e-300".to_owned(),
        v => format!("{v:.0e}"),
    }
}

/// A plain ratio such as a coefficient of variation: two decimals.
pub(crate) fn ratio(value: f64) -> String {
    match value {
        v if !v.is_finite() => NOT_A_NUMBER.to_owned(),
        v if v.abs() < 1e4 => format!("{v:.2}"),
        v => format!("{v:.1e}"),
    }
}

/// A size in bytes, decimal units: `12.4 MB`.
pub fn bytes(value: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let size = value as f64;
    match units.iter().find(|(unit, _)| size >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", size / unit),
        None => format!("{value} B"),
    }
}

/// A signed length of time: `+4.10 ms`, `−310 µs`, `±0 ns`.
pub(crate) fn signed_time(ns: f64) -> String {
    let size = time_float(ns.abs());
    match ns {
        ns if !ns.is_finite() => "–".to_owned(),
        ns if ns.abs() < 0.5 => "±0 ns".to_owned(),
        ns if ns < 0.0 => format!("−{size}"),
        _ => format!("+{size}"),
    }
}

/// A signed relative change: `+12 %`, `−3.0 %`.
pub(crate) fn signed_share(share: f64) -> String {
    let percent = 100.0 * share;
    match percent.abs() {
        size if !size.is_finite() => "–".to_owned(),
        size if size < 0.05 => "±0 %".to_owned(),
        size if size < 9.95 => format!("{}{size:.1} %", sign(percent)),
        size if size < 9_999.0 => format!("{}{size:.0} %", sign(percent)),
        _ => format!("{}>9,999 %", sign(percent)),
    }
}

const fn sign(value: f64) -> &'static str {
    if value < 0.0 { "−" } else { "+" }
}

/// `after` relative to `before`, less one; `None` without a before.
pub(crate) fn relative(before: f64, after: f64) -> Option<f64> {
    (before > 0.0).then(|| after / before - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_separators() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (24_000, "24,000"), (1_234_567, "1,234,567")];
        for (value, text) in cases {
            assert_eq!(count(value), text);
        }
        assert_eq!(counted(1, "request"), "1 request");
        assert_eq!(counted(0, "request"), "0 requests");
        assert_eq!(counted_categories(1), "1 category");
    }

    #[test]
    fn factors_keep_three_digits_at_most() {
        let cases = [(1.337, "1.34×"), (9.994, "9.99×"), (9.996, "10×"), (16.4, "16×"), (1234.4, "1,234×")];
        for (value, text) in cases {
            assert_eq!(factor(value), text);
        }
        assert_eq!(factor(f64::INFINITY), "–");
        assert_eq!(factor(1e30), ">1,000,000×");
    }

    #[test]
    fn shares_never_round_to_0_or_100_percent() {
        let cases = [
            (0.0, "0 %"),
            (0.0004, "<0.1 %"),
            (0.004, "0.4 %"),
            (0.0094, "0.9 %"),
            (0.83, "83 %"),
            (0.9949, "99 %"),
            (0.9999, ">99 %"),
            (1.0, "100 %"),
            (f64::NAN, "–"),
        ];
        for (value, text) in cases {
            assert_eq!(share(value), text, "{value}");
        }
    }

    #[test]
    fn small_p_values_are_powers_of_ten() {
        assert_eq!(p_value(0.0123), "0.012");
        assert_eq!(p_value(3.14e-12), "3e-12");
        assert_eq!(p_value(0.0), "<1e-300");
        assert_eq!(p_value(f64::NAN), "–");
    }

    #[test]
    fn sizes_are_decimal() {
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(12_400_000), "12.4 MB");
        assert_eq!(effect(48_200_000), "+48.2 ms");
        assert_eq!(time_float(-1.0), "–");
        assert_eq!(ratio(1.336), "1.34");
    }
}
