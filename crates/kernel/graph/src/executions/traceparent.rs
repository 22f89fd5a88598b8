//! Parses `traceparent` (W3C Trace Context).

use super::execution::TraceContext;
use laggard_model::{SpanId, TraceId};

/// The context of `00-TRACE-SPAN-FLAGS`: 2, 32, 16 and 2 hexadecimal digits; all-zero ids are invalid.
pub(crate) fn parse(text: &str) -> Option<TraceContext> {
    let mut parts = text.split('-');
    let mut hex = |digits: usize| {
        let part = parts.next()?;
        let is_valid = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_valid.then(|| u128::from_str_radix(part, 16).ok()).flatten()
    };
    let (_version, trace, span, _flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
    if trace == 0 {
        return None;
    }
    Some(TraceContext { trace: TraceId::from_value(trace), span: SpanId::new(u64::try_from(span).ok()?)? })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_of_the_recommendation() {
        let context = super::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
        assert_eq!(context.trace.value(), 0x0af7651916cd43dd8448eb211c80319c);
        assert_eq!(context.span.value(), 0xb7ad6b7169203331);
    }

    #[test]
    fn zeros_and_other_lengths_are_none() {
        for text in [
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "",
        ] {
            assert_eq!(super::parse(text), None, "{text}");
        }
    }
}
