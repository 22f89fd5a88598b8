//! The schema of a tool's arguments, from that of a question's parameters.

use serde_json::{Map, Value, json};

/// Types within types that are written out; none of ours has so many.
const DEPTH_MAX: usize = 8;

/// The parameter with a question's thresholds. They are dozens: the tool `settings` lists them.
const SETTINGS: &str = "set";

/// The schema of arguments, from a JSON Schema with definitions: written out, since not every client follows references, and
/// without `null`, since what is absent has its default.
pub fn input_schema(mut schema: Value) -> Value {
    let definitions = match schema["$defs"].take() {
        Value::Object(definitions) => definitions,
        _ => Map::new(),
    };
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let written = properties.into_iter().map(|(name, property)| {
        let property = match name.as_str() {
            SETTINGS => settings(),
            _ => simplified(property, &definitions, DEPTH_MAX),
        };
        (name, property)
    });
    json!({
        "type": "object",
        "properties": Map::from_iter(written),
        "additionalProperties": false
    })
}

/// Adds properties to a schema of arguments, in front of those of these names.
pub fn with_properties(mut schema: Value, properties: &[(&str, Value)], required: &[&str]) -> Value {
    for (name, property) in properties {
        schema["properties"][*name] = property.clone();
    }
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn settings() -> Value {
    json!({
        "type": "object",
        "description": "Thresholds by name, like {\"NAME\": 1.5}; rarely needed. The tool settings lists them",
        "additionalProperties": {"type": ["number", "string"]}
    })
}

/// A schema without references and without null.
fn simplified(schema: Value, definitions: &Map<String, Value>, depth: usize) -> Value {
    let Value::Object(mut fields) = schema else { return schema };
    if depth == 0 {
        return json!({});
    }
    let description = fields.get("description").and_then(Value::as_str).map(|text| text.replace('\n', " "));
    let inner = referenced(&fields, definitions).or_else(|| only_alternative(&mut fields));
    if let Some(inner) = inner {
        let mut inner = simplified(inner, definitions, depth - 1);
        if let Some(description) = description {
            inner["description"] = json!(description);
        }
        return inner;
    }
    // Absent is what null and an empty list mean.
    fields.retain(|name, value| {
        name != "format" && !(name == "default" && (value.is_null() || *value == json!([])))
    });
    if let Some(Value::String(text)) = fields.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    let is_number = matches!(fields.get("type").and_then(Value::as_str), Some("integer" | "number"));
    if let Some(default) = fields.get_mut("default").filter(|_| is_number)
        && let Some(number) = default.as_str().and_then(|text| text.parse::<serde_json::Number>().ok())
    {
        *default = Value::Number(number);
    }
    let within = |(name, value): (String, Value)| match (name.as_str(), value) {
        ("properties", Value::Object(properties)) => {
            let simple = properties
                .into_iter()
                .map(|(name, property)| (name, simplified(property, definitions, depth - 1)));
            (name, Value::Object(simple.collect()))
        }
        ("oneOf" | "anyOf" | "allOf", Value::Array(parts)) => {
            let simple = parts.into_iter().map(|part| simplified(part, definitions, depth - 1));
            (name, Value::Array(simple.collect()))
        }
        ("items" | "additionalProperties", value) => (name, simplified(value, definitions, depth - 1)),
        (_, value) => (name, value),
    };
    Value::Object(fields.into_iter().map(within).collect())
}

/// What a reference refers to.
fn referenced(fields: &Map<String, Value>, definitions: &Map<String, Value>) -> Option<Value> {
    let name = fields.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
    Some(definitions.get(name).cloned().unwrap_or_else(|| json!({})))
}

/// The other one of two alternatives of which one is null.
fn only_alternative(fields: &mut Map<String, Value>) -> Option<Value> {
    let parts = fields.get_mut("oneOf")?.as_array_mut()?;
    parts.retain(|part| part["type"] != "null");
    match parts.as_mut_slice() {
        [only] => Some(only.take()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_written_out_and_null_is_left_out() {
        let schema = json!({
            "title": "x", "required": ["since"], "type": "object",
            "properties": {
                "since": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/Moment", "description": "From when"}]},
                "until": {"$ref": "#/$defs/Moment"},
                "service": {"type": ["string", "null"], "description": "Only this"},
                "cores": {"type": "array", "items": {"$ref": "#/$defs/Moment"}},
                "set": {"type": "object", "properties": {"a": {"type": "number"}}}
            },
            "$defs": {"Moment": {"type": ["string", "integer"], "description": "A time"}}
        });
        let written = input_schema(schema);
        assert_eq!(
            written["properties"]["since"],
            json!({"type": ["string", "integer"], "description": "From when"})
        );
        assert_eq!(
            written["properties"]["until"],
            json!({"type": ["string", "integer"], "description": "A time"})
        );
        assert_eq!(written["properties"]["service"], json!({"type": "string", "description": "Only this"}));
        assert_eq!(written["properties"]["cores"]["items"]["description"], "A time");
        assert_eq!(written["properties"]["set"]["additionalProperties"]["type"], json!(["number", "string"]));
        assert_eq!((&written["required"], &written["additionalProperties"]), (&Value::Null, &json!(false)));
        let more = with_properties(written, &[("paths", json!({"type": "array"}))], &["paths"]);
        assert_eq!(
            (&more["properties"]["paths"]["type"], &more["required"]),
            (&json!("array"), &json!(["paths"]))
        );
    }

    #[test]
    fn types_that_contain_themselves_end() {
        let tree = json!({"type": "object", "properties": {"inner": {"$ref": "#/$defs/Tree"}}});
        let schema = json!({"properties": {"tree": {"$ref": "#/$defs/Tree"}}, "$defs": {"Tree": tree}});
        assert!(input_schema(schema).to_string().len() < 1_000);
    }
}
