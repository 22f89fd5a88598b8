//! Distinguishes JSON trace formats by the first member name that only one of them has.

use crate::format::Sniff;

/// An input in which none of the names occurs within this many bytes has none of the formats.
const PREFIX_BYTES_MAX: usize = 256 << 10;

/// Whether an input that starts with `prefix` has the format whose member names are `own`, and not one of which
/// `is_foreign` is a member name.
pub(crate) fn sniff(prefix: &[u8], own: &[&str], is_foreign: impl Fn(&[u8]) -> bool) -> Sniff {
    let text = prefix.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(prefix).trim_ascii_start();
    let Some(first) = text.strip_prefix(b"\x1E").unwrap_or(text).first() else {
        return Sniff::NeedMore;
    };
    if !matches!(first, b'{' | b'[') && !b"\xEF\xBB".starts_with(text) {
        return Sniff::No;
    }
    for name in names(text) {
        if own.iter().any(|own| own.as_bytes() == name) {
            return Sniff::Yes;
        }
        if is_foreign(name) {
            return Sniff::No;
        }
    }
    if text.len() > PREFIX_BYTES_MAX { Sniff::No } else { Sniff::NeedMore }
}

/// The complete strings in `text` that a colon follows.
fn names(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut position = 0;
    std::iter::from_fn(move || {
        loop {
            let start = position + memchr::memchr(b'"', text.get(position..)?)? + 1;
            let end = start + string_length(text.get(start..)?)?;
            position = end + 1;
            let after = text.get(position..)?.trim_ascii_start();
            if after.first() == Some(&b':') {
                return Some(&text[start..end]);
            }
        }
    })
}

/// Number of bytes before the quotation mark that ends a string.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut position = 0;
    loop {
        position += memchr::memchr2(b'"', b'\\', text.get(position..)?)?;
        if text[position] == b'"' {
            return Some(position);
        }
        position += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: [(&str, &[&str]); 3] = [
        ("otlp", &["resourceSpans", "batches"]),
        ("jaeger", &["traceID", "processes"]),
        ("zipkin", &["traceId"]),
    ];

    #[track_caller]
    fn check(input: &str, expected: Option<&str>) {
        for (format, own) in FORMATS {
            let others = FORMATS.iter().filter(|(other, _)| *other != format).flat_map(|(_, names)| *names);
            let others: Vec<&[u8]> = others.map(|name| name.as_bytes()).collect();
            let sniff = |text: &[u8]| sniff(text, own, |name| others.contains(&name));
            let answer = sniff(input.as_bytes());
            assert_eq!(answer == Sniff::Yes, expected == Some(format), "{format}: {answer:?}");
            for cut in 0..input.len() {
                let early = sniff(&input.as_bytes()[..cut]);
                assert!(early == Sniff::NeedMore || early == answer, "{format} at {cut}: {early:?}");
            }
        }
    }

    #[test]
    fn the_first_known_member_name_decides() {
        check(r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":""#, Some("otlp"));
        check("\u{feff} {\"result\" : {\"resourceSpans\":", Some("otlp"));
        check(r#"{"batches":[]}"#, Some("otlp"));
        check(r#"{"data":[{"traceID":"a","spans":[]"#, Some("jaeger"));
        check(r#"{"x":"traceId","tr\"aceId":1,"data":[{"processes":{"#, Some("jaeger"));
        check(r#"[[{"traceId":"a","id":"b""#, Some("zipkin"));
        check("trace_id,span_id", None);
        check("[{\"a\":1}]", None);
    }
}
