//! Values and attributes of OTLP JSON without their `AnyValue` objects.

use serde_json::{Map, Value as Json};

/// The value in an `AnyValue`; what is none is shown as it was written. The parser limits the depth.
pub(crate) fn read_value(value: Json) -> Json {
    let Json::Object(object) = value else { return value };
    if object.len() != 1 {
        return Json::Object(object);
    }
    let (name, inner) = object.into_iter().next().expect("it has one member");
    match name.as_str() {
        "stringValue" | "string_value" | "boolValue" | "bool_value" | "doubleValue" | "double_value"
        | "bytesValue" | "bytes_value" => inner,
        // 64-bit integers are texts in protobuf's JSON.
        "intValue" | "int_value" => {
            let number = inner.as_str().and_then(|digits| digits.parse::<i64>().ok());
            number.map_or(inner, Json::from)
        }
        "arrayValue" | "array_value" => values(inner).into_iter().map(read_value).collect(),
        "kvlistValue" | "kvlist_value" => Json::Object(read_attributes(Json::Array(values(inner)))),
        _ => Json::Object(Map::from_iter([(name, inner)])),
    }
}

/// Attributes as a list of keys and values, or as an object; none of anything else.
pub(crate) fn read_attributes(attributes: Json) -> Map<String, Json> {
    let pair = |pair: Json| {
        let Json::Object(mut pair) = pair else { return None };
        let Some(Json::String(key)) = pair.remove("key") else { return None };
        Some((key, read_value(pair.remove("value").unwrap_or_default())))
    };
    match attributes {
        Json::Array(pairs) => pairs.into_iter().filter_map(pair).collect(),
        Json::Object(pairs) => pairs.into_iter().map(|(key, value)| (key, read_value(value))).collect(),
        _ => Map::new(),
    }
}

/// The elements of a list in its object.
fn values(mut list: Json) -> Vec<Json> {
    match list.get_mut("values").map(Json::take) {
        Some(Json::Array(values)) => values,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_lose_the_objects_around_them() {
        let list =
            json!({"kvlistValue": {"values": [{"key": "n", "value": {"intValue": "7"}}, 3, {"key": 1}]}});
        assert_eq!(read_value(list), json!({"n": 7}));
        assert_eq!(read_value(json!({"arrayValue": {"values": [{"boolValue": true}]}})), json!([true]));
        assert_eq!(read_value(json!({"arrayValue": 5})), json!([]));
        for shown in [json!({"stringValue": "slow"}), json!("slow")] {
            assert_eq!(read_value(shown), json!("slow"));
        }
        for other in [json!({"a": {"b": 1}}), json!({"a": 1, "b": 2}), Json::Null] {
            assert_eq!(read_value(other.clone()), other);
        }
        let pairs = json!([{"key": "why", "value": {"stringValue": "slow"}}]);
        for written in [pairs, json!({"why": "slow"})] {
            assert_eq!(Json::Object(read_attributes(written)), json!({"why": "slow"}));
        }
    }
}
