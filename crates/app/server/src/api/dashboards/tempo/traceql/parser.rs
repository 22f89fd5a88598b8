//! From tokens to a filter of calls.

use super::TraceQlError;
use super::comparison::{Field, compare, is_word};
use super::lexer::{LocatedToken, Token, located, tokens};
use crate::api::dashboards::call_filter::CallFilter;
use laggard_formats::SelectedAttributes;

/// Deepest nesting of brackets and negations.
const DEPTH_MAX: usize = 32;

const OPERATORS: [&str; 8] = ["=", "!=", "=~", "!~", "<", "<=", ">", ">="];

/// The spans that a query selects.
///
/// # Errors
/// When it is invalid, or has a part that is not answered, which the error quotes.
pub(crate) fn parse_query(query: &str, selected: &SelectedAttributes) -> Result<CallFilter, TraceQlError> {
    let mut parser = Parser { query, tokens: tokens(query)?, position: 0, depth: 0, selected };
    parser.expect("{")?;
    let filter = if parser.accept("}") {
        CallFilter::constant(true)
    } else {
        let filter = parser.any()?;
        parser.expect("}")?;
        filter
    };
    parser.hints()?;
    match parser.tokens.get(parser.position) {
        None => Ok(filter),
        Some(next) => Err(TraceQlError::unsupported(
            &query[next.start..],
            "one selection of spans, { … }, is answered, without what can follow it",
        )),
    }
}

/// A field as it is written in a query.
///
/// # Errors
/// When it is not stored.
pub(in crate::api::dashboards::tempo) fn parse_field(
    name: &str,
    selected: &SelectedAttributes,
) -> Result<Field, TraceQlError> {
    match &tokens(name)?[..] {
        [LocatedToken { token: Token::Word(word), .. }] => Field::from_name(word, selected),
        _ => Err(TraceQlError::invalid(format_args!("{name:?} is not a field"))),
    }
}

struct Parser<'a> {
    query: &'a str,
    tokens: Vec<LocatedToken>,
    position: usize,
    depth: usize,
    selected: &'a SelectedAttributes,
}

impl Parser<'_> {
    fn accept(&mut self, symbol: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Symbol(next)) if *next == symbol);
        self.position += usize::from(is_next);
        is_next
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.position).map(|located| &located.token)
    }

    fn expect(&mut self, symbol: &str) -> Result<(), TraceQlError> {
        if self.accept(symbol) { Ok(()) } else { Err(self.unexpected(&format!("{symbol} is expected"))) }
    }

    fn unexpected(&self, reason: &str) -> TraceQlError {
        let position = self.tokens.get(self.position).map_or(self.query.len(), |token| token.start);
        located(self.query, position, reason)
    }

    fn any(&mut self) -> Result<CallFilter, TraceQlError> {
        let mut parts = vec![self.all()?];
        while self.accept("||") {
            parts.push(self.all()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { CallFilter::Any(parts) })
    }

    fn all(&mut self) -> Result<CallFilter, TraceQlError> {
        let mut parts = vec![self.one()?];
        while self.accept("&&") {
            parts.push(self.one()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { CallFilter::All(parts) })
    }

    fn one(&mut self) -> Result<CallFilter, TraceQlError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.unexpected("too many brackets"));
        }
        let filter = if self.accept("!") {
            self.one()?.not()
        } else if self.accept("(") {
            let inner = self.any()?;
            self.expect(")")?;
            inner
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(filter)
    }

    fn comparison(&mut self) -> Result<CallFilter, TraceQlError> {
        let Some(LocatedToken { token: Token::Word(name), start, .. }) =
            self.tokens.get(self.position).cloned()
        else {
            return Err(self.unexpected("a field is expected"));
        };
        self.position += 1;
        if name == "true" || name == "false" {
            return Ok(CallFilter::constant(name == "true"));
        }
        let operator = match self.peek() {
            Some(Token::Symbol(symbol)) => OPERATORS.into_iter().find(|operator| operator == symbol),
            _ => None,
        };
        let Some(operator) = operator else {
            return Err(TraceQlError::unsupported(
                &name,
                "a field is compared with a value: =, !=, =~, !~, <, <=, >, >=",
            ));
        };
        self.position += 1;
        let value = self.tokens.get(self.position).cloned();
        let value = value.filter(|value| !matches!(value.token, Token::Symbol(_)));
        let Some(value) = value else { return Err(self.unexpected("a value is expected")) };
        self.position += 1;
        let field = Field::from_name(&name, self.selected)?;
        compare(&field, operator, &value.token, &self.query[start..value.end])
    }

    /// Answers always have the latest traces, which is all that is known as a hint.
    fn hints(&mut self) -> Result<(), TraceQlError> {
        let Some(with) = self.tokens.get(self.position).filter(|with| is_word(&with.token, "with")) else {
            return Ok(());
        };
        let start = with.start;
        let hint: Vec<&Token> =
            self.tokens[self.position + 1..].iter().map(|located| &located.token).collect();
        match hint[..] {
            [Token::Symbol("("), name, Token::Symbol("="), value, Token::Symbol(")")]
                if is_word(name, "most_recent") && (is_word(value, "true") || is_word(value, "false")) =>
            {
                self.position = self.tokens.len();
                Ok(())
            }
            _ => Err(TraceQlError::unsupported(&self.query[start..], "this hint is not known")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::dashboards::call_filter::{CallFacts, RequestFacts};
    use laggard_model::{Attribute, AttributeText, Nanos, OperationKey, SpanKind, Status};

    fn attributes() -> AttributeText {
        let mut attributes = AttributeText::default();
        attributes.add(Attribute { key: "version", service: "web", value: "1.4" });
        attributes.add(Attribute { key: "route", service: "", value: "/cart" });
        attributes
    }

    /// Whether a query selects a failed entry `GET /cart (x)` of `web` that took 20 ms on `web-1`.
    fn selects(query: &str) -> bool {
        let operation = OperationKey { service: "web", operation: "GET /cart (x)", kind: SpanKind::Server };
        let attributes = attributes();
        let duration = Nanos::from_ns(20_000_000);
        let request = RequestFacts { entry: operation, duration, attributes: attributes.as_str() };
        let (status, replica) = (Status::Error, "web-1");
        let call = CallFacts { operation, status, duration, replica, is_entry: true, request };
        parse_query(query, &SelectedAttributes::default())
            .unwrap_or_else(|error| panic!("{query}: {error}"))
            .selects(&call)
    }

    fn error(query: &str) -> String {
        parse_query(query, &SelectedAttributes::default()).unwrap_err().to_string()
    }

    #[test]
    fn the_queries_of_grafanas_search_form() {
        for query in [
            "{}",
            "{ }",
            r#"{resource.service.name="web"}"#,
            r#"{resource.service.name="web" && name="GET /cart (x)"}"#,
            r#"{resource.service.name=~"web|db"}"#,
            r#"{(resource.service.name="db" || resource.service.name="web") && status=error}"#,
            r#"{name=~"GET /cart \\(x\\)"}"#,
            "{duration>19ms && duration<=1m}",
            "{traceDuration>=20ms}",
            "{kind=server}",
            r#"{.service.version="1.4" && resource.service.version!="2"}"#,
            r#"{span.http.route=~"/.*"}"#,
            r#"{resource.service.instance.id="web-1"}"#,
            r#"{nestedSetParent<0 && true && rootServiceName="web"} with (most_recent=true)"#,
            r#"{!(name="x") && .http.route != nil}"#,
            "{span:duration=20ms && trace:rootName=\"GET /cart (x)\"}",
        ] {
            assert!(selects(query), "{query}");
        }
        for query in [
            "{false}",
            r#"{resource.service.name="we"}"#,
            r#"{name=~"GET"}"#,
            "{status!=error}",
            "{duration<20ms}",
            "{kind=client || status=ok}",
            r#"{span.service.version="1.4"}"#,
            r#"{resource.http.route="/cart"}"#,
            r#"{span.tenant!="acme"}"#,
            "{span.tenant!=nil}",
            "{nestedSetParent>=0}",
        ] {
            assert!(!selects(query), "{query}");
        }
    }

    #[test]
    fn what_is_not_answered_is_quoted() {
        for (query, part) in [
            ("{ status = error } | rate()", "| rate()"),
            ("{ } >> { }", ">> { }"),
            (r#"{ name="a" } && { name="b" }"#, r#"&& { name="b" }"#),
            ("{ span.http.status_code >= 500 }", "span.http.status_code"),
            ("{ event:name = \"x\" }", "event:name"),
            ("{ parent.service.name = \"x\" }", "parent.service.name"),
            ("{ statusMessage = \"x\" }", "statusMessage"),
            ("{ span.http.route = 5 }", "span.http.route = 5"),
            ("{ name > \"x\" }", "name > \"x\""),
            ("{ status = \"error\" }", "status = \"error\""),
            ("{ duration > 5 }", "duration > 5"),
            ("{ name =~ \"(\" }", "name =~ \"(\""),
            ("{ nestedSetParent = 5 }", "nestedSetParent = 5"),
            ("{ } with (sample=true)", "with (sample=true)"),
            ("{ .http.route }", ".http.route"),
        ] {
            let message = error(query);
            assert!(message.starts_with(&format!("unsupported TraceQL query: `{part}`")), "{message}");
        }
    }

    #[test]
    fn invalid_queries_have_a_column() {
        assert_eq!(error(""), "invalid TraceQL query: column 1: { is expected");
        assert_eq!(error("{ name = "), "invalid TraceQL query: column 10: a value is expected");
        assert_eq!(error("{ name = \"x\" "), "invalid TraceQL query: column 14: } is expected");
        assert_eq!(error("{ 5 = name }"), "invalid TraceQL query: column 3: a field is expected");
        assert_eq!(error("abc"), "invalid TraceQL query: column 1: { is expected");
        assert!(error(&format!("{{{}", "(".repeat(1_000))).contains("too many brackets"));
        assert!(error(&format!("{{{}true}}", "!".repeat(1_000))).contains("too many brackets"));
    }
}
