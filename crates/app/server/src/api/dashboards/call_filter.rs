//! Conditions on the calls of requests, as the searches of Jaeger and Tempo state them.

use laggard_model::{Nanos, OperationKey, SpanKind, Status, attributes_in};
use regex::Regex;
use std::sync::Arc;

/// Selects calls.
#[derive(Clone, Debug)]
pub(super) enum CallFilter {
    /// Calls that all of these select; every call if there is none.
    All(Vec<CallFilter>),
    /// Calls that at least one of these selects; no call if there is none.
    Any(Vec<CallFilter>),
    /// Calls that this one does not select.
    Not(Box<CallFilter>),
    /// Calls for which this holds.
    If(Arc<Condition>),
}

/// A condition on a call.
#[derive(Debug)]
pub(super) enum Condition {
    /// A name of the call or of its request.
    Text(TextField, TextTest),
    /// A value of an attribute; if there are several, any of them.
    Attribute(AttributeField, TextTest),
    Kind(SpanKind),
    Status(Status),
    Duration(DurationField, DurationTest, Nanos),
    /// It is the entry of its request.
    IsEntry,
}

/// A name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TextField {
    Service,
    Operation,
    Replica,
    /// The service of the request's entry.
    EntryService,
    /// The operation of the request's entry.
    EntryOperation,
}

/// An attribute, by the short name that it is stored with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AttributeField {
    pub(super) key: String,
    pub(super) scope: AttributeScope,
}

/// What an attribute describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AttributeScope {
    /// The service of the call.
    Service,
    /// The request.
    Request,
    Either,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DurationField {
    Call,
    Request,
}

/// A test of a text. What has no text never passes.
#[derive(Clone, Debug)]
pub(super) enum TextTest {
    Equals(String),
    Differs(String),
    /// All of it matches.
    Matches(Regex),
    MatchesNot(Regex),
    /// It has this text, in any case; in lower case here.
    Contains(String),
    /// There is one.
    IsPresent,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DurationTest {
    Less,
    AtMost,
    Equal,
    Different,
    AtLeast,
    Greater,
}

/// A call.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallFacts<'a> {
    pub(super) operation: OperationKey<'a>,
    pub(super) status: Status,
    pub(super) duration: Nanos,
    /// Empty if unknown.
    pub(super) replica: &'a str,
    pub(super) is_entry: bool,
    pub(super) request: RequestFacts<'a>,
}

/// The request of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestFacts<'a> {
    pub(super) entry: OperationKey<'a>,
    pub(super) duration: Nanos,
    /// A text of [`AttributeText`](laggard_model::AttributeText).
    pub(super) attributes: &'a str,
}

impl CallFilter {
    pub(super) fn condition(condition: Condition) -> CallFilter {
        CallFilter::If(Arc::new(condition))
    }

    /// Selects every call, or none.
    pub(super) fn constant(selects: bool) -> CallFilter {
        if selects { CallFilter::All(Vec::new()) } else { CallFilter::Any(Vec::new()) }
    }

    pub(super) fn not(self) -> CallFilter {
        CallFilter::Not(Box::new(self))
    }

    /// Whether it selects every call or none; `None` if that depends on the call.
    pub(super) fn decided(&self) -> Option<bool> {
        match self {
            CallFilter::All(parts) if parts.is_empty() => Some(true),
            CallFilter::Any(parts) if parts.is_empty() => Some(false),
            _ => None,
        }
    }

    /// The attributes that it is about, each name once.
    pub(super) fn attributes(&self) -> Vec<&AttributeField> {
        let mut attributes: Vec<&AttributeField> = Vec::new();
        match self {
            CallFilter::All(parts) | CallFilter::Any(parts) => {
                for attribute in parts.iter().flat_map(CallFilter::attributes) {
                    if attributes.iter().all(|known| known.key != attribute.key) {
                        attributes.push(attribute);
                    }
                }
            }
            CallFilter::Not(inner) => attributes = inner.attributes(),
            CallFilter::If(condition) => {
                if let Condition::Attribute(attribute, _) = &**condition {
                    attributes.push(attribute);
                }
            }
        }
        attributes
    }

    /// What is left of it for calls of an operation.
    pub(super) fn of_operation(&self, operation: OperationKey<'_>) -> CallFilter {
        match self {
            CallFilter::If(condition) => {
                condition.of_operation(operation).map_or_else(|| self.clone(), CallFilter::constant)
            }
            CallFilter::Not(inner) => {
                let inner = inner.of_operation(operation);
                inner.decided().map_or_else(|| inner.not(), |selects| CallFilter::constant(!selects))
            }
            CallFilter::All(parts) => reduce(parts, operation, true),
            CallFilter::Any(parts) => reduce(parts, operation, false),
        }
    }

    pub(super) fn selects(&self, call: &CallFacts<'_>) -> bool {
        match self {
            CallFilter::All(parts) => parts.iter().all(|part| part.selects(call)),
            CallFilter::Any(parts) => parts.iter().any(|part| part.selects(call)),
            CallFilter::Not(inner) => !inner.selects(call),
            CallFilter::If(condition) => condition.holds(call),
        }
    }
}

/// The conjunction (`all`) or disjunction of what is left of the parts.
fn reduce(parts: &[CallFilter], operation: OperationKey<'_>, all: bool) -> CallFilter {
    let mut undecided = Vec::new();
    for part in parts {
        let part = part.of_operation(operation);
        match part.decided() {
            Some(selects) if selects != all => return CallFilter::constant(selects),
            Some(_) => {}
            None => undecided.push(part),
        }
    }
    if all { CallFilter::All(undecided) } else { CallFilter::Any(undecided) }
}

impl Condition {
    /// Whether it holds for all calls of an operation, or for none; `None` if that depends on the call.
    fn of_operation(&self, operation: OperationKey<'_>) -> Option<bool> {
        match self {
            Condition::Text(TextField::Service, test) => Some(test.passes(operation.service)),
            Condition::Text(TextField::Operation, test) => Some(test.passes(operation.operation)),
            Condition::Kind(kind) => Some(*kind == operation.kind),
            _ => None,
        }
    }

    fn holds(&self, call: &CallFacts<'_>) -> bool {
        match self {
            Condition::Text(field, test) => {
                let text = field.of(call);
                !text.is_empty() && test.passes(text)
            }
            Condition::Attribute(field, test) => {
                let service = call.operation.service;
                attributes_in(call.request.attributes).any(|attribute| {
                    attribute.key == field.key
                        && field.scope.has(attribute.service, service)
                        && test.passes(attribute.value)
                })
            }
            Condition::Kind(kind) => *kind == call.operation.kind,
            Condition::Status(status) => *status == call.status,
            Condition::Duration(DurationField::Call, comparison, limit) => {
                comparison.holds(call.duration, *limit)
            }
            Condition::Duration(DurationField::Request, comparison, limit) => {
                comparison.holds(call.request.duration, *limit)
            }
            Condition::IsEntry => call.is_entry,
        }
    }
}

impl TextField {
    pub(super) fn of<'a>(self, call: &CallFacts<'a>) -> &'a str {
        match self {
            TextField::Service => call.operation.service,
            TextField::Operation => call.operation.operation,
            TextField::Replica => call.replica,
            TextField::EntryService => call.request.entry.service,
            TextField::EntryOperation => call.request.entry.operation,
        }
    }
}

impl AttributeScope {
    /// Whether it has an attribute of `described` (empty for the request's own) for a call of a service.
    pub(super) fn has(self, described: &str, service: &str) -> bool {
        match self {
            AttributeScope::Service => described == service,
            AttributeScope::Request => described.is_empty(),
            AttributeScope::Either => described.is_empty() || described == service,
        }
    }
}

impl TextTest {
    fn passes(&self, text: &str) -> bool {
        match self {
            TextTest::Equals(expected) => text == expected,
            TextTest::Differs(other) => text != other,
            TextTest::Matches(pattern) => pattern.is_match(text),
            TextTest::MatchesNot(pattern) => !pattern.is_match(text),
            TextTest::Contains(part) => text.to_lowercase().contains(part.as_str()),
            TextTest::IsPresent => true,
        }
    }
}

impl DurationTest {
    fn holds(self, duration: Nanos, limit: Nanos) -> bool {
        match self {
            DurationTest::Less => duration < limit,
            DurationTest::AtMost => duration <= limit,
            DurationTest::Equal => duration == limit,
            DurationTest::Different => duration != limit,
            DurationTest::AtLeast => duration >= limit,
            DurationTest::Greater => duration > limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::{Attribute, AttributeText};

    fn key<'a>(service: &'a str, operation: &'a str) -> OperationKey<'a> {
        OperationKey { service, operation, kind: SpanKind::Server }
    }

    fn text(field: TextField, expected: &str) -> CallFilter {
        CallFilter::condition(Condition::Text(field, TextTest::Equals(expected.to_owned())))
    }

    fn longer(ms: u64) -> CallFilter {
        let limit = Nanos::from_ns(ms * 1_000_000);
        CallFilter::condition(Condition::Duration(DurationField::Call, DurationTest::Greater, limit))
    }

    #[test]
    fn names_decide_before_calls_are_compared() {
        let filter = CallFilter::All(vec![text(TextField::Service, "web"), longer(5)]);
        assert_eq!(filter.of_operation(key("db", "read")).decided(), Some(false));
        assert_eq!(filter.of_operation(key("web", "buy")).decided(), None);
        let either = CallFilter::Any(vec![text(TextField::Service, "web"), longer(5)]);
        assert_eq!(either.of_operation(key("web", "buy")).decided(), Some(true));
        assert_eq!(text(TextField::Service, "web").not().of_operation(key("db", "")).decided(), Some(true));
        assert_eq!(CallFilter::constant(true).of_operation(key("a", "b")).decided(), Some(true));
    }

    #[test]
    fn reduced_filters_select_the_same_calls() {
        let mut attributes = AttributeText::default();
        attributes.add(Attribute { key: "version", service: "web", value: "2" });
        attributes.add(Attribute { key: "tenant", service: "", value: "acme" });
        let attribute = |key: &str, scope, test| {
            CallFilter::condition(Condition::Attribute(AttributeField { key: key.to_owned(), scope }, test))
        };
        let filters = [
            CallFilter::All(vec![text(TextField::Service, "web"), longer(5)]),
            CallFilter::Any(vec![text(TextField::Operation, "read"), longer(5).not()]),
            attribute("version", AttributeScope::Service, TextTest::Equals("2".to_owned())),
            attribute("tenant", AttributeScope::Request, TextTest::Differs("acme".to_owned())),
            attribute("tenant", AttributeScope::Service, TextTest::IsPresent),
            CallFilter::condition(Condition::Text(TextField::Replica, TextTest::Differs("x".to_owned()))),
        ];
        let calls = [("web", "buy", 6, "web-1"), ("web", "buy", 5, ""), ("db", "read", 6, "db-1")];
        let selected = |filter: &CallFilter, reduced: bool| {
            calls.map(|(service, operation, ms, replica)| {
                let operation = key(service, operation);
                let request = RequestFacts {
                    entry: key("web", "buy"),
                    duration: Nanos::from_ns(9),
                    attributes: attributes.as_str(),
                };
                let duration = Nanos::from_ns(ms * 1_000_000);
                let facts =
                    CallFacts { operation, status: Status::Ok, duration, replica, is_entry: false, request };
                if reduced { filter.of_operation(operation).selects(&facts) } else { filter.selects(&facts) }
            })
        };
        let expected = [
            [true, false, false],
            [false, true, true],
            [true, true, false],
            [false; 3],
            [false; 3],
            [true, false, true],
        ];
        for (filter, expected) in filters.iter().zip(expected) {
            assert_eq!(selected(filter, false), expected, "{filter:?}");
            assert_eq!(selected(filter, true), expected, "{filter:?}");
        }
    }
}
