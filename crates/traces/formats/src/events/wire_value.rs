//! Values and attributes of protobuf messages as JSON.

use super::TEXT_BYTES_MAX;
use laggard_wire::{Fields, Value};
use serde_json::{Map, Value as Json};

/// Lists in lists deeper than this are left out.
const DEPTH_MAX: usize = 16;

/// An `AnyValue`; null if it is empty or damaged.
pub(crate) fn read_value(value: &[u8]) -> Json {
    read_nested(value, 0)
}

/// The attributes in a field of a message.
pub(crate) fn read_attributes(message: &[u8], number: u32) -> Map<String, Json> {
    let fields = Fields::new(message).map_while(Result::ok);
    let pairs = fields.filter_map(|field| match field {
        (field, Value::Bytes(pair)) if field == number => Some(read_pair(pair, 0)),
        _ => None,
    });
    pairs.collect()
}

fn read_pair(pair: &[u8], depth: usize) -> (String, Json) {
    let (mut key, mut value) = (String::new(), Json::Null);
    for field in Fields::new(pair).map_while(Result::ok) {
        match field {
            (1, Value::Bytes(bytes)) => key = text(bytes),
            (2, Value::Bytes(bytes)) => value = read_nested(bytes, depth),
            _ => {}
        }
    }
    (key, value)
}

/// A text, cut where it is certainly too long to be stored: that it is cut is counted later.
fn text(bytes: &[u8]) -> String {
    let end = bytes.len().min(TEXT_BYTES_MAX);
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().take(TEXT_BYTES_MAX / 2).map(|byte| format!("{byte:02x}")).collect()
}

fn read_nested(value: &[u8], depth: usize) -> Json {
    let items = |list| {
        let fields = Fields::new(list).map_while(Result::ok);
        fields.filter_map(|field| match field {
            (1, Value::Bytes(item)) if depth < DEPTH_MAX => Some(item),
            _ => None,
        })
    };
    match Fields::new(value).map_while(Result::ok).last() {
        Some((1, Value::Bytes(bytes))) => Json::String(text(bytes)),
        Some((2, Value::Varint(number))) => Json::Bool(number != 0),
        Some((3, Value::Varint(number))) => Json::from(number as i64),
        Some((4, Value::Fixed64(bits))) => Json::from(f64::from_bits(bits)),
        Some((5, Value::Bytes(list))) => items(list).map(|item| read_nested(item, depth + 1)).collect(),
        Some((6, Value::Bytes(list))) => {
            Json::Object(items(list).map(|pair| read_pair(pair, depth + 1)).collect())
        }
        Some((7, Value::Bytes(bytes))) => Json::String(hexadecimal(bytes)),
        _ => Json::Null,
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
    fn values_keep_their_types() {
        let word = field(1, b"slow");
        assert_eq!(read_value(&word), json!("slow"));
        let pair = [field(1, b"why"), field(2, &word)].concat();
        assert_eq!(read_value(&field(6, &field(1, &pair))), json!({"why": "slow"}));
        let list = field(5, &[field(1, &word), field(1, &[0x10, 1])].concat());
        assert_eq!(read_value(&list), json!(["slow", true]));
        assert_eq!(read_value(&field(7, &[0xAB, 1])), json!("ab01"));
        assert_eq!(read_value(&[]), Json::Null);
        let message = [field(6, &pair), field(5, &word)].concat();
        assert_eq!(Json::Object(read_attributes(&message, 6)), json!({"why": "slow"}));
    }

    #[test]
    fn a_value_nested_without_end_is_cut_off() {
        let nested = (0..1_000).fold(field(1, b"x"), |inner, _| field(5, &field(1, &inner)));
        assert!(read_value(&nested).to_string().len() < 100);
    }
}
