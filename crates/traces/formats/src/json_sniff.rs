//! Distinguishes JSON trace formats by the first member name that only one of them has.

use crate::Sniff;

/// When no telling name has come within this many bytes, the input is none of ours.
const PREFIX_BYTES_MAX: usize = 256 << 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JsonFormat {
    Otlp,
    Jaeger,
    Zipkin,
}

impl JsonFormat {
    /// The format that has a member of this name where the others have none.
    fn from_name(name: &[u8]) -> Option<JsonFormat> {
        Some(match name {
            b"resourceSpans"
            | b"resource_spans"
            | b"batches"
            | b"scopeSpans"
            | b"scope_spans"
            | b"instrumentationLibrarySpans"
            | b"instrumentation_library_spans"
            | b"resourceMetrics"
            | b"resource_metrics"
            | b"resourceLogs"
            | b"resource_logs"
            | b"resourceProfiles" => JsonFormat::Otlp,
            b"traceID" | b"spanID" | b"processes" | b"operationName" | b"processID" => JsonFormat::Jaeger,
            b"traceId" | b"parentId" | b"localEndpoint" | b"binaryAnnotations" => JsonFormat::Zipkin,
            _ => return None,
        })
    }
}

/// Whether an input that starts with `prefix` is of the format.
pub(crate) fn sniff(prefix: &[u8], format: JsonFormat) -> Sniff {
    let text = prefix.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(prefix).trim_ascii_start();
    let Some(first) = text.strip_prefix(b"\x1E").unwrap_or(text).first() else {
        return Sniff::NeedMore;
    };
    if !matches!(first, b'{' | b'[') && !b"\xEF\xBB".starts_with(text) {
        return Sniff::No;
    }
    match names(text).find_map(JsonFormat::from_name) {
        Some(found) if found == format => Sniff::Yes,
        Some(_) => Sniff::No,
        None if text.len() > PREFIX_BYTES_MAX => Sniff::No,
        None => Sniff::NeedMore,
    }
}

/// The complete strings in `text` that a colon follows.
fn names(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + memchr::memchr(b'"', text.get(at..)?)? + 1;
            let end = start + string_length(text.get(start..)?)?;
            at = end + 1;
            let after = text.get(at..)?.trim_ascii_start();
            if after.first() == Some(&b':') {
                return Some(&text[start..end]);
            }
        }
    })
}

/// How many bytes come before the quotation mark that ends a string.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: Option<JsonFormat>) {
        for format in [JsonFormat::Otlp, JsonFormat::Jaeger, JsonFormat::Zipkin] {
            let found = sniff(input.as_bytes(), format);
            assert_eq!(found == Sniff::Yes, expected == Some(format), "{format:?}: {found:?}");
            for cut in 0..input.len() {
                let early = sniff(&input.as_bytes()[..cut], format);
                assert!(early == Sniff::NeedMore || early == found, "{format:?} at {cut}: {early:?}");
            }
        }
    }

    #[test]
    fn the_first_telling_name_decides() {
        check(r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":""#, Some(JsonFormat::Otlp));
        check("\u{feff} {\"result\" : {\"resourceSpans\":", Some(JsonFormat::Otlp));
        check(r#"{"batches":[]}"#, Some(JsonFormat::Otlp));
        check(r#"{"data":[{"traceID":"a","spans":[]"#, Some(JsonFormat::Jaeger));
        check(r#"{"x":"traceId","tr\"aceId":1,"data":[{"processes":{"#, Some(JsonFormat::Jaeger));
        check(r#"[[{"traceId":"a","id":"b""#, Some(JsonFormat::Zipkin));
        check("trace_id,span_id", None);
        check("[{\"a\":1}]", None);
    }
}
