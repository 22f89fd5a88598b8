//! Fields of spans, and what they can be compared with.

use super::TraceQlError;
use super::lexer::Token;
use crate::api::dashboards::attributes::attribute;
use crate::api::dashboards::call_filter::{
    AttributeField, AttributeScope, CallFilter, Condition, DurationField, DurationTest, TextField, TextTest,
};
use laggard_formats::SelectedAttributes;
use laggard_model::{SpanKind, Status};
use regex::{Regex, RegexBuilder};

/// Most bytes of a compiled pattern.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// A field of a span.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::api::dashboards::tempo) enum Field {
    Text(TextField),
    Attribute(AttributeField),
    Status,
    Kind,
    Duration(DurationField),
    /// Below 0 for the entry of a request.
    NestedSetParent,
}

/// Fields without a scope, each with its names.
const INTRINSIC: [(&[&str], Field); 8] = [
    (&["name", "span:name"], Field::Text(TextField::Operation)),
    (&["status", "span:status"], Field::Status),
    (&["kind", "span:kind"], Field::Kind),
    (&["duration", "span:duration"], Field::Duration(DurationField::Call)),
    (&["traceDuration", "trace:duration"], Field::Duration(DurationField::Request)),
    (&["rootName", "trace:rootName"], Field::Text(TextField::EntryOperation)),
    (&["rootServiceName", "trace:rootService"], Field::Text(TextField::EntryService)),
    (&["nestedSetParent", "span:nestedSetParent"], Field::NestedSetParent),
];

/// The names of all fields without a scope, in Tempo's order.
pub(in crate::api::dashboards::tempo) fn intrinsic_fields() -> Vec<&'static str> {
    let listed = INTRINSIC.iter().filter(|(_, field)| *field != Field::NestedSetParent);
    let mut names: Vec<&str> = listed.flat_map(|(names, _)| names.iter().copied()).collect();
    names.sort_unstable();
    names
}

impl Field {
    /// The field of a name.
    pub(super) fn from_name(name: &str, selected: &SelectedAttributes) -> Result<Field, TraceQlError> {
        if let Some((_, field)) = INTRINSIC.iter().find(|(names, _)| names.contains(&name)) {
            return Ok(field.clone());
        }
        let scopes = [
            ("resource.", AttributeScope::Service),
            ("span.", AttributeScope::Request),
            (".", AttributeScope::Either),
        ];
        let scoped = scopes.iter().find_map(|(prefix, scope)| Some((name.strip_prefix(prefix)?, *scope)));
        let Some((bare, scope)) = scoped.filter(|(bare, _)| !bare.is_empty()) else {
            let reason = match name {
                "trace:id" | "span:id" | "span:parentID" => {
                    "ids are not searched for; a trace is opened by its id"
                }
                _ => "this field is not stored",
            };
            return Err(TraceQlError::unsupported(name, reason));
        };
        match (bare, scope) {
            ("service.name", AttributeScope::Service | AttributeScope::Either) => {
                Ok(Field::Text(TextField::Service))
            }
            ("service.instance.id", AttributeScope::Service | AttributeScope::Either) => {
                Ok(Field::Text(TextField::Replica))
            }
            _ => match attribute(bare, selected) {
                Some(field) => Ok(Field::Attribute(AttributeField { scope, ..field })),
                None => Err(TraceQlError::unsupported(
                    name,
                    "this attribute is not stored; the setting `attributes` names those that are",
                )),
            },
        }
    }
}

/// `field operator value` as a filter; `quoted` is all three as written.
pub(super) fn compare(
    field: &Field,
    operator: &'static str,
    value: &Token,
    quoted: &str,
) -> Result<CallFilter, TraceQlError> {
    if is_word(value, "nil") {
        return presence(field, operator, quoted);
    }
    match field {
        Field::Text(field) => {
            Ok(CallFilter::condition(Condition::Text(*field, text_test(operator, value, quoted)?)))
        }
        Field::Attribute(field) => Ok(CallFilter::condition(Condition::Attribute(
            field.clone(),
            text_test(operator, value, quoted)?,
        ))),
        Field::Status => {
            equality(operator, quoted, status(value).map(Condition::Status), "error, ok, or unset")
        }
        Field::Kind => {
            let kind = if let Token::Word(word) = value { SpanKind::parse(word) } else { None };
            equality(
                operator,
                quoted,
                kind.map(Condition::Kind),
                "server, client, producer, consumer, internal, or unspecified",
            )
        }
        Field::Duration(field) => {
            let Token::Duration(limit) = value else {
                return Err(TraceQlError::unsupported(quoted, "a duration such as 100ms is expected"));
            };
            let comparison = comparison(operator)
                .ok_or_else(|| TraceQlError::unsupported(quoted, "a duration has no pattern"))?;
            Ok(CallFilter::condition(Condition::Duration(*field, comparison, *limit)))
        }
        Field::NestedSetParent => match (operator, value) {
            ("<", Token::Number(0.0)) | ("=", Token::Number(-1.0)) => {
                Ok(CallFilter::condition(Condition::IsEntry))
            }
            (">=", Token::Number(0.0)) | ("!=", Token::Number(-1.0)) => {
                Ok(CallFilter::condition(Condition::IsEntry).not())
            }
            _ => Err(TraceQlError::unsupported(quoted, "only whether it is below 0 is known: of entries")),
        },
    }
}

/// Whether a field has a value.
fn presence(field: &Field, operator: &str, quoted: &str) -> Result<CallFilter, TraceQlError> {
    let present = CallFilter::condition(match field {
        Field::Text(field) => Condition::Text(*field, TextTest::IsPresent),
        Field::Attribute(field) => Condition::Attribute(field.clone(), TextTest::IsPresent),
        _ => return Err(TraceQlError::unsupported(quoted, "every span has this field")),
    });
    match operator {
        "!=" => Ok(present),
        "=" => Ok(present.not()),
        _ => Err(TraceQlError::unsupported(quoted, "nil is compared with = or !=")),
    }
}

fn equality(
    operator: &str,
    quoted: &str,
    condition: Option<Condition>,
    allowed: &str,
) -> Result<CallFilter, TraceQlError> {
    let condition =
        condition.ok_or_else(|| TraceQlError::unsupported(quoted, format_args!("{allowed} is expected")))?;
    match operator {
        "=" => Ok(CallFilter::condition(condition)),
        "!=" => Ok(CallFilter::condition(condition).not()),
        _ => Err(TraceQlError::unsupported(quoted, "it is compared with = or !=")),
    }
}

fn status(value: &Token) -> Option<Status> {
    let Token::Word(word) = value else { return None };
    match word.as_str() {
        "error" => Some(Status::Error),
        "ok" => Some(Status::Ok),
        "unset" => Some(Status::Unset),
        _ => None,
    }
}

fn text_test(operator: &str, value: &Token, quoted: &str) -> Result<TextTest, TraceQlError> {
    let Token::Text(text) = value else {
        return Err(TraceQlError::unsupported(
            quoted,
            "a text in quotation marks is expected: values are stored as texts",
        ));
    };
    match operator {
        "=" => Ok(TextTest::Equals(text.clone())),
        "!=" => Ok(TextTest::Differs(text.clone())),
        "=~" => pattern(text, quoted).map(TextTest::Matches),
        "!~" => pattern(text, quoted).map(TextTest::MatchesNot),
        _ => Err(TraceQlError::unsupported(quoted, "texts have no order")),
    }
}

/// A pattern that matches all of a text, as Tempo's do.
fn pattern(text: &str, quoted: &str) -> Result<Regex, TraceQlError> {
    let anchored = format!("^(?:{text})$");
    let pattern = RegexBuilder::new(&anchored).size_limit(PATTERN_BYTES_MAX).build();
    pattern.map_err(|_| {
        TraceQlError::unsupported(quoted, "the pattern is invalid, too large, or uses Unicode classes")
    })
}

fn comparison(operator: &str) -> Option<DurationTest> {
    Some(match operator {
        "=" => DurationTest::Equal,
        "!=" => DurationTest::Different,
        "<" => DurationTest::Less,
        "<=" => DurationTest::AtMost,
        ">" => DurationTest::Greater,
        ">=" => DurationTest::AtLeast,
        _ => return None,
    })
}

pub(super) fn is_word(token: &Token, expected: &str) -> bool {
    matches!(token, Token::Word(word) if word == expected)
}
