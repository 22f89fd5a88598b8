//! Tokens of TraceQL.

use super::TraceQlError;
use crate::api::dashboards::go_duration;
use laggard_model::Nanos;

/// Longest query in bytes.
const QUERY_BYTES_MAX: usize = 16 << 10;

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// A field, a keyword, or the name of an attribute with its scope.
    Word(String),
    Text(String),
    Number(f64),
    Duration(Nanos),
    /// Operators and brackets.
    Symbol(&'static str),
}

/// A token, and where it is in the query.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct LocatedToken {
    pub(super) token: Token,
    /// Bytes.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Longer ones first. Those of structure are only read to be quoted.
const SYMBOLS: [&str; 30] = [
    "!>>", "!<<", "&>>", "&<<", "!>", "!<", "&>", "&<", "&~", "&&", "||", "!=", "=~", "!~", ">=", "<=", ">>",
    "<<", "=", "<", ">", "!", "(", ")", "{", "}", "|", ",", "+", "*",
];

pub(super) fn tokens(query: &str) -> Result<Vec<LocatedToken>, TraceQlError> {
    if query.len() > QUERY_BYTES_MAX {
        return Err(TraceQlError::invalid(format_args!("longer than {QUERY_BYTES_MAX} bytes")));
    }
    let mut tokens = Vec::new();
    let mut position = 0;
    while position < query.len() {
        let rest = &query[position..];
        let space = rest.len() - rest.trim_start().len();
        if space > 0 {
            position += space;
            continue;
        }
        let (token, length) = next(rest).map_err(|reason| located(query, position, &reason))?;
        tokens.push(LocatedToken { token, start: position, end: position + length });
        position += length;
    }
    Ok(tokens)
}

pub(super) fn located(query: &str, position: usize, reason: &str) -> TraceQlError {
    let column = query[..position].chars().count() + 1;
    TraceQlError::invalid(format_args!("column {column}: {reason}"))
}

/// The token at the start of a text that has no space there, and its length.
fn next(rest: &str) -> Result<(Token, usize), String> {
    let first = rest.chars().next().expect("something is left");
    if first == '"' || first == '`' {
        return quoted(rest, first).map(|(text, length)| (Token::Text(text), length));
    }
    let is_negative = first == '-' && rest[1..].starts_with(|c: char| c.is_ascii_digit());
    if first.is_ascii_digit() || is_negative {
        return number(rest);
    }
    if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        return Ok((Token::Symbol(symbol), symbol.len()));
    }
    if first.is_alphabetic() || first == '.' || first == '_' {
        return word(rest);
    }
    Err(format!("unexpected {first:?}"))
}

/// A word ends where an operator, a bracket, or space begins; parts of names may be in quotation marks.
fn word(rest: &str) -> Result<(Token, usize), String> {
    let (mut word, mut length) = (String::new(), 0);
    while let Some(next) = rest[length..].chars().next() {
        if next == '"' {
            let (text, quoted) = quoted(&rest[length..], '"')?;
            word.push_str(&text);
            length += quoted;
        } else if next.is_whitespace() || "{}()=~!<>&|^,+*`".contains(next) {
            break;
        } else {
            word.push(next);
            length += next.len_utf8();
        }
    }
    Ok((Token::Word(word), length))
}

fn number(rest: &str) -> Result<(Token, usize), String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '.' || c == 'µ' || c == 'μ';
    let sign = usize::from(rest.starts_with('-'));
    let length = sign + rest[sign..].find(|c| !is_part(c)).unwrap_or(rest.len() - sign);
    let text = &rest[..length];
    if let Ok(number) = text.parse() {
        return Ok((Token::Number(number), length));
    }
    let duration =
        go_duration::parse(text).ok_or_else(|| format!("{text:?} is neither a number nor a duration"))?;
    Ok((Token::Duration(duration), length))
}

/// A text in quotation marks, in which a backslash escapes, or in backquotes, in which nothing does.
fn quoted(rest: &str, mark: char) -> Result<(String, usize), String> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((position, next)) = chars.next() {
        if next == mark {
            return Ok((text, position + 1));
        }
        if next != '\\' || mark == '`' {
            text.push(next);
            continue;
        }
        match chars.next() {
            Some((_, 'n')) => text.push('\n'),
            Some((_, 't')) => text.push('\t'),
            Some((_, 'r')) => text.push('\r'),
            Some((_, escaped @ ('"' | '\\' | '\''))) => text.push(escaped),
            Some((_, other)) => return Err(format!("unknown escape \\{other}")),
            None => break,
        }
    }
    Err("a text has no end".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Vec<Token> {
        tokens(query).unwrap().into_iter().map(|located| located.token).collect()
    }

    #[test]
    fn queries_are_cut_into_tokens() {
        let word = |text: &str| Token::Word(text.to_owned());
        let text = |text: &str| Token::Text(text.to_owned());
        let duration = Token::Duration(Nanos::from_ns(1_500_000));
        assert_eq!(
            read(r#"{resource.service.name="a\"b"&&duration>=1.5ms}"#),
            [
                Token::Symbol("{"),
                word("resource.service.name"),
                Token::Symbol("="),
                text("a\"b"),
                Token::Symbol("&&"),
                word("duration"),
                Token::Symbol(">="),
                duration,
                Token::Symbol("}")
            ]
        );
        assert_eq!(read(r#"span."a b".c =~ `x\d`"#), [word("span.a b.c"), Token::Symbol("=~"), text(r"x\d")]);
        assert_eq!(
            read("nestedSetParent<-1"),
            [word("nestedSetParent"), Token::Symbol("<"), Token::Number(-1.0)]
        );
        assert_eq!(read("{ } >> { }")[2], Token::Symbol(">>"));
    }

    #[test]
    fn errors_have_a_column() {
        let message = |query: &str| tokens(query).unwrap_err().to_string();
        assert_eq!(message(r#"{ name = "x }"#), "invalid TraceQL query: column 10: a text has no end");
        assert_eq!(
            message("{ duration > 5parsec }"),
            "invalid TraceQL query: column 14: \"5parsec\" is neither a number nor a duration"
        );
        assert_eq!(message("{ ; }"), "invalid TraceQL query: column 3: unexpected ';'");
        assert!(message(&"é".repeat(9_000)).contains("longer than"));
    }
}
