//! Events of spans: log records, and the events that spans bring with them.

pub(crate) mod json_value;
pub(crate) mod wire_value;

use crate::text::char_boundary;
use laggard_model::{EVENT_TEXT_BYTES_MAX, Loss, Severity, Sink, SpanEvent, SpanId, Timestamp, TraceId};
use serde_json::{Map, Value};

// Limit: bytes of a log record, or of an event of a span | left out, counted (`oversized_record`)
/// A record may have this many bytes: its values take many times as many while it is read.
pub(crate) const RECORD_BYTES_MAX: usize = 1 << 20;

/// What is read of a text is longer than any text that is stored, so that the cut is counted, but not by much.
const TEXT_BYTES_MAX: usize = EVENT_TEXT_BYTES_MAX + 256;

/// Most bytes of the text of one attribute: a long one, such as a stack trace, leaves room for others.
const ATTRIBUTE_BYTES_MAX: usize = EVENT_TEXT_BYTES_MAX * 3 / 4;

/// The span of an event, and when the event was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventRef {
    pub(crate) trace: TraceId,
    pub(crate) span: SpanId,
    pub(crate) time: Timestamp,
}

/// An event as it was written, in either encoding.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventFields {
    pub(crate) severity: u64,
    pub(crate) name: String,
    pub(crate) body: Value,
    pub(crate) attributes: Map<String, Value>,
}

impl EventFields {
    /// The body as text; of an exception without one, its type and message.
    pub(crate) fn take_body(&mut self) -> String {
        let body = as_text(self.body.take());
        if !body.is_empty() {
            return body;
        }
        // Names of OpenTelemetry's conventions.
        let [kind, message] = ["exception.type", "exception.message"]
            .map(|name| self.attributes.get(name).cloned().map_or_else(String::new, as_text));
        match (kind.is_empty(), message.is_empty()) {
            (false, false) => format!("{kind}: {message}"),
            _ => kind + &message,
        }
    }

    /// Passes the event on, with its texts within their limits.
    pub(crate) fn emit(mut self, event_ref: EventRef, sink: &mut dyn Sink) {
        let EventRef { trace, span, time } = event_ref;
        let severity = Severity::from_number(self.severity);
        let body = self.take_body();
        let (mut name, mut body) = (self.name, body);
        let longest = if name.len() > body.len() { excerpt(&name) } else { excerpt(&body) }.to_owned();
        let mut is_cut = cut(&mut name, EVENT_TEXT_BYTES_MAX) | cut(&mut body, EVENT_TEXT_BYTES_MAX);
        let attributes = attribute_text(self.attributes, &mut is_cut);
        if is_cut {
            sink.lose(Loss::LongLog, &|| format!("span {span}: {longest}"));
        }
        let [name, body, attributes] = [name, body, attributes].map(String::into_boxed_str);
        sink.event(SpanEvent { trace, span, time, severity, name, body, attributes });
    }
}

/// The start of a text, as an example.
pub(crate) fn excerpt(text: &str) -> &str {
    &text[..char_boundary(text, 80)]
}

/// Cuts a text between characters; whether it was longer.
fn cut(text: &mut String, bytes_max: usize) -> bool {
    let is_longer = text.len() > bytes_max;
    if is_longer {
        text.truncate(char_boundary(text, bytes_max));
    }
    is_longer
}

/// Text as it is, anything else as JSON.
fn as_text(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        value => value.to_string(),
    }
}

/// Attributes as a JSON object, without those that do not fit; empty without any.
fn attribute_text(attributes: Map<String, Value>, is_cut: &mut bool) -> String {
    let mut text = String::new();
    for (key, mut value) in attributes {
        if let Value::String(value) = &mut value {
            *is_cut |= cut(value, ATTRIBUTE_BYTES_MAX);
        }
        let pair = format!("{}:{value}", Value::String(key));
        // The comma or brace before it, and the brace behind it.
        if text.len() + pair.len() + 2 > EVENT_TEXT_BYTES_MAX {
            *is_cut = true;
            continue;
        }
        text.push(if text.is_empty() { '{' } else { ',' });
        text.push_str(&pair);
    }
    if !text.is_empty() {
        text.push('}');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::Collect;
    use serde_json::json;

    fn emitted(fields: EventFields) -> (SpanEvent, u64) {
        let mut found = Collect::default();
        let (trace, span) = (TraceId::from_value(1), SpanId::new(2).unwrap());
        fields.emit(EventRef { trace, span, time: Timestamp::from_unix_ns(3) }, &mut found);
        (found.events.remove(0), found.losses.count(Loss::LongLog))
    }

    fn attributes(value: Value) -> Map<String, Value> {
        json_value::read_attributes(value)
    }

    #[test]
    fn an_exception_stands_in_for_a_body() {
        let named = json!({"exception.message": "no stock", "exception.type": "E", "n": 1});
        let fields = EventFields { attributes: attributes(named), ..EventFields::default() };
        let (event, cut) = emitted(fields.clone());
        assert_eq!((&*event.body, cut), ("E: no stock", 0));
        assert_eq!(&*event.attributes, r#"{"exception.message":"no stock","exception.type":"E","n":1}"#);
        let (event, _) = emitted(EventFields { body: json!([1, "a"]), ..fields });
        assert_eq!(&*event.body, r#"[1,"a"]"#);
        let (event, _) = emitted(EventFields::default());
        assert_eq!((&*event.body, &*event.attributes), ("", ""));
    }

    #[test]
    fn long_texts_are_cut_and_attributes_that_do_not_fit_are_left_out() {
        let long = "é".repeat(EVENT_TEXT_BYTES_MAX);
        let named = json!({"a": long, "b": "\n".repeat(600), "c": true});
        let fields =
            EventFields { body: json!(long), attributes: attributes(named), ..EventFields::default() };
        let (event, cut) = emitted(fields);
        assert_eq!((event.body.len(), cut), (EVENT_TEXT_BYTES_MAX, 1));
        let retained: Value = serde_json::from_str(&event.attributes).unwrap();
        assert_eq!(retained["a"].as_str().map(str::len), Some(ATTRIBUTE_BYTES_MAX));
        assert_eq!((retained.get("b"), &retained["c"]), (None, &json!(true)));
    }
}
