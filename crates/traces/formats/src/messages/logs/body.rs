//! The body of a log record as text: text as it is, everything else as JSON.

use laggard_model::EVENT_TEXT_BYTES_MAX;
use laggard_wire::{Fields, Value};
use serde_json::Value as Json;

/// Lists in lists deeper than this are left out.
const DEPTH_MAX: usize = 16;

/// What is rendered is longer than any text that is stored, so that the cut is counted, but not by much.
const RENDERED_BYTES_MAX: usize = EVENT_TEXT_BYTES_MAX + 256;

/// Attributes of an exception, by OpenTelemetry's conventions: its type and its message.
const EXCEPTION: [&str; 2] = ["exception.type", "exception.message"];

/// An `AnyValue` of protobuf as text.
pub(super) fn read_wire_body(value: &[u8]) -> String {
    as_text(from_wire(value, 0))
}

/// The exception among the attributes in a field of a message; empty without one.
pub(super) fn read_wire_exception(message: &[u8], number: u32) -> String {
    let mut found = [String::new(), String::new()];
    for (field, value) in Fields::new(message).map_while(Result::ok) {
        if let Value::Bytes(pair) = value
            && field == number
        {
            let (key, value) = wire_pair(pair);
            if let Some(index) = EXCEPTION.iter().position(|name| name.as_bytes() == key) {
                found[index] = read_wire_body(value);
            }
        }
    }
    exception(found)
}

/// An `AnyValue` of JSON as text.
pub(super) fn read_json_body(value: &Json) -> String {
    as_text(from_json(value, 0))
}

/// The exception among attributes; empty without one.
pub(super) fn read_json_exception(attributes: &Json) -> String {
    let mut found = [String::new(), String::new()];
    for pair in attributes.as_array().into_iter().flatten() {
        if let Some(index) = EXCEPTION.iter().position(|name| pair["key"] == *name) {
            found[index] = read_json_body(&pair["value"]);
        }
    }
    exception(found)
}

fn exception([kind, message]: [String; 2]) -> String {
    match (kind.is_empty(), message.is_empty()) {
        (false, false) => format!("{kind}: {message}"),
        _ => kind + &message,
    }
}

fn as_text(value: Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text,
        value => value.to_string(),
    }
}

fn text(bytes: &[u8]) -> Json {
    let end = bytes.len().min(RENDERED_BYTES_MAX);
    Json::String(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

fn hexadecimal(bytes: &[u8]) -> Json {
    let digits = bytes.iter().take(RENDERED_BYTES_MAX / 2).map(|byte| format!("{byte:02x}"));
    Json::String(digits.collect())
}

fn wire_pair(pair: &[u8]) -> (&[u8], &[u8]) {
    let (mut key, mut value) = (&[][..], &[][..]);
    for field in Fields::new(pair).map_while(Result::ok) {
        match field {
            (1, Value::Bytes(bytes)) => key = bytes,
            (2, Value::Bytes(bytes)) => value = bytes,
            _ => {}
        }
    }
    (key, value)
}

fn from_wire(value: &[u8], depth: usize) -> Json {
    let items = |list| {
        let fields = Fields::new(list).map_while(Result::ok);
        fields.filter_map(|field| match field {
            (1, Value::Bytes(item)) if depth < DEPTH_MAX => Some(item),
            _ => None,
        })
    };
    match Fields::new(value).map_while(Result::ok).last() {
        Some((1, Value::Bytes(bytes))) => text(bytes),
        Some((2, Value::Varint(number))) => Json::Bool(number != 0),
        Some((3, Value::Varint(number))) => Json::from(number as i64),
        Some((4, Value::Fixed64(bits))) => Json::from(f64::from_bits(bits)),
        Some((5, Value::Bytes(list))) => items(list).map(|item| from_wire(item, depth + 1)).collect(),
        Some((6, Value::Bytes(list))) => {
            let pairs = items(list).map(wire_pair);
            let named = |(key, value): (&[u8], &[u8])| {
                (String::from_utf8_lossy(key).into_owned(), from_wire(value, depth + 1))
            };
            Json::Object(pairs.map(named).collect())
        }
        Some((7, Value::Bytes(bytes))) => hexadecimal(bytes),
        _ => Json::Null,
    }
}

/// Values by the names of `AnyValue`; what has none of them is shown as it was written.
fn from_json(value: &Json, depth: usize) -> Json {
    let Some((name, inner)) =
        value.as_object().filter(|object| object.len() == 1).and_then(|it| it.iter().next())
    else {
        return value.clone();
    };
    let items = |lists: &[&str]| {
        let list = lists.iter().find_map(|name| inner[*name].as_array());
        list.into_iter().flatten().filter(|_| depth < DEPTH_MAX)
    };
    match name.as_str() {
        "stringValue" | "string_value" | "boolValue" | "bool_value" | "doubleValue" | "double_value"
        | "bytesValue" | "bytes_value" => inner.clone(),
        // 64-bit integers are texts in protobuf's JSON.
        "intValue" | "int_value" => inner
            .as_str()
            .and_then(|digits| digits.parse::<i64>().ok())
            .map_or_else(|| inner.clone(), Json::from),
        "arrayValue" | "array_value" => items(&["values"]).map(|item| from_json(item, depth + 1)).collect(),
        "kvlistValue" | "kvlist_value" => {
            let named =
                |pair: &Json| Some((pair["key"].as_str()?.to_owned(), from_json(&pair["value"], depth + 1)));
            Json::Object(items(&["values"]).filter_map(named).collect())
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_wire::put_bytes;
    use serde_json::json;

    fn field(number: u64, contents: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_bytes(&mut out, number, contents);
        out
    }

    #[test]
    fn text_stays_text_and_lists_become_json() {
        let word = field(1, b"slow");
        assert_eq!(read_wire_body(&word), "slow");
        let pair = [field(1, b"why"), field(2, &word)].concat();
        assert_eq!(read_wire_body(&field(6, &field(1, &pair))), r#"{"why":"slow"}"#);
        assert_eq!(
            read_wire_body(&field(5, &[field(1, &word), field(1, &[0x10, 1])].concat())),
            r#"["slow",true]"#
        );
        assert_eq!(read_wire_body(&[]), "");
        let body = json!({"kvlistValue": {"values": [{"key": "n", "value": {"intValue": "7"}}]}});
        assert_eq!(read_json_body(&body), r#"{"n":7}"#);
        assert_eq!(read_json_body(&json!({"stringValue": "slow"})), "slow");
        assert_eq!(read_json_body(&Json::Null), "");
    }

    #[test]
    fn a_body_nested_without_end_is_cut_off() {
        let nested = (0..1_000).fold(field(1, b"x"), |inner, _| field(5, &field(1, &inner)));
        assert!(read_wire_body(&nested).len() < 100);
    }

    #[test]
    fn an_exception_stands_in_for_a_body() {
        let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let all = json!([attribute("exception.message", "no stock"), attribute("exception.type", "E")]);
        assert_eq!(read_json_exception(&all), "E: no stock");
        assert_eq!(read_json_exception(&Json::Null), "");
    }
}
