//! Queries while they are typed, which limit the values that are suggested.

use super::lexer::{LocatedToken, Token, tokens};
use super::parser::parse_query;
use crate::api::dashboards::call_filter::CallFilter;
use laggard_formats::SelectedAttributes;

/// The spans that the complete comparisons of a query select. Those without a value, or with an empty text, are still being
/// typed: they limit nothing, nor does a query with such parts that has more than one selection, `||`, `!`, or brackets.
///
/// Source: `ExtractMatchers` in `pkg/traceql/extractmatchers.go` of `grafana/tempo`.
pub(in crate::api::dashboards::tempo) fn parse_typed(
    query: &str,
    selected: &SelectedAttributes,
) -> CallFilter {
    // A text without an end is the last part.
    let ended = || Some(&query[..query.rfind(['"', '`'])?]);
    let read = tokens(query).map(|tokens| (query, tokens));
    let read = read.ok().or_else(|| ended().and_then(|cut| Some((cut, tokens(cut).ok()?))));
    let Some((query, tokens)) = read else { return CallFilter::constant(true) };
    if !tokens.iter().any(is_empty_text)
        && let Ok(filter) = parse_query(query, selected)
    {
        return filter;
    }
    let comparisons = comparisons(&tokens).unwrap_or_default();
    let complete = comparisons.into_iter().filter(|part| !part.iter().any(is_empty_text));
    let filters = complete.filter_map(|part| {
        let text = &query[part.first()?.start..part.last()?.end];
        parse_query(&format!("{{{text}}}"), selected).ok()
    });
    CallFilter::All(filters.collect())
}

fn is_empty_text(located: &LocatedToken) -> bool {
    matches!(&located.token, Token::Text(text) if text.is_empty())
}

/// The parts of one selection between `&&`; `None` if it is not that simple.
fn comparisons(tokens: &[LocatedToken]) -> Option<Vec<&[LocatedToken]>> {
    let is =
        |located: &LocatedToken, symbol: &str| matches!(located.token, Token::Symbol(is) if is == symbol);
    let (_, inner) = tokens.split_first().filter(|(first, _)| is(first, "{"))?;
    let inner = match inner.split_last() {
        Some((last, before)) if is(last, "}") => before,
        _ => inner,
    };
    let others = ["{", "}", "(", ")", "||", "|", "!"];
    if inner.iter().any(|located| others.iter().any(|symbol| is(located, symbol))) {
        return None;
    }
    Some(inner.split(|located| is(located, "&&")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether what is typed selects the same as a complete query.
    fn same(typed: &str, complete: &str) {
        let selected = SelectedAttributes::default();
        let (typed_filter, complete_filter) =
            (parse_typed(typed, &selected), parse_query(complete, &selected).unwrap());
        let text = |filter: &CallFilter| match filter {
            CallFilter::All(parts) if parts.len() == 1 => format!("{:?}", parts[0]),
            filter => format!("{filter:?}"),
        };
        assert_eq!(text(&typed_filter), text(&complete_filter), "{typed}");
    }

    #[test]
    fn only_complete_comparisons_count() {
        for (typed, complete) in [
            ("", "{}"),
            ("{}", "{}"),
            ("{", "{}"),
            ("{ name = }", "{}"),
            (r#"{ name="" }"#, "{}"),
            (r#"{ name=""#, "{}"),
            (r#"{ name="bu"#, "{}"),
            (r#"{ name="" && status=error }"#, "{ status=error }"),
            (r#"{ resource.service.name="web" && name= }"#, r#"{ resource.service.name="web" }"#),
            (r#"{ resource.service.name="web" && name="bu"#, r#"{ resource.service.name="web" }"#),
            (r#"{ resource.service.name="web" && "#, r#"{ resource.service.name="web" }"#),
            (r#"{ status=error && resource.service.name"#, "{ status=error }"),
            (r#"{ name="a && b" && kind= }"#, r#"{ name="a && b" }"#),
            // What is complete counts as it is.
            (r#"{ name="a" || name="b" }"#, r#"{ name="a" || name="b" }"#),
            (r#"{ !(name="a") }"#, r#"{ !(name="a") }"#),
            // Alternatives of something unknown exclude nothing.
            (r#"{ name="a" || name= }"#, "{}"),
            (r#"{ (name="a" || name="") && status=error }"#, "{}"),
            (r#"{ name="a" } >> { name= }"#, "{}"),
            ("{ span.unknown=5 && status=ok }", "{ status=ok }"),
            ("{ ; }", "{}"),
        ] {
            same(typed, complete);
        }
    }
}
