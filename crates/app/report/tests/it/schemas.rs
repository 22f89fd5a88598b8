//! Schemas of reports are complete and match the JSON output.

use crate::{PLAIN, fixtures, rendered};
use laggard_report::{ChangeReport, Document, Output, Present, Report, schema};
use serde_json::{Value, json};

/// Checks a value against a schema: objects, lists, references, alternatives, and types; returns what does not fit.
fn misfit(value: &Value, schema: &Value, root: &Value, path: &str) -> Option<String> {
    if let Some(target) = schema["$ref"].as_str() {
        let name = target.strip_prefix("#/$defs/")?;
        let definition = &root["$defs"][name];
        return match definition.is_null() {
            true => Some(format!("{path}: no definition of {name}")),
            false => misfit(value, definition, root, path),
        };
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(choices) = schema[choice].as_array() {
            let fits = choices.iter().any(|choice| misfit(value, choice, root, path).is_none());
            return (!fits).then(|| format!("{path}: {value} is none of the choices"));
        }
    }
    if let Some(all) = schema["allOf"].as_array() {
        return misfit(value, &merged(all, root), root, path);
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let own = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    // A number that is not finite is written as null.
    let fits = types.contains(&own) || (types.contains(&"number") && matches!(own, "integer" | "null"));
    if !fits {
        return Some(format!("{path}: {own} where {types:?} are allowed"));
    }
    match value {
        Value::Object(fields) => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            if let Some(missing) = required.into_iter().find(|name| !fields.contains_key(*name)) {
                return Some(format!("{path}: {missing} is missing"));
            }
            let known = schema["properties"].as_object();
            fields.iter().find_map(|(name, value)| match known.and_then(|known| known.get(name)) {
                Some(schema) => misfit(value, schema, root, &format!("{path}.{name}")),
                None if schema["additionalProperties"].is_object() => {
                    misfit(value, &schema["additionalProperties"], root, &format!("{path}.{name}"))
                }
                None => Some(format!("{path}: {name} is not in the schema")),
            })
        }
        Value::Array(items) => items.iter().find_map(|item| misfit(item, &schema["items"], root, path)),
        _ => None,
    }
}

/// Merges the properties of combined schemas.
fn merged(parts: &[Value], root: &Value) -> Value {
    let mut whole = json!({ "type": "object", "properties": {}, "required": [] });
    for part in parts {
        let name = part["$ref"].as_str().and_then(|target| target.strip_prefix("#/$defs/"));
        let part = name.map_or(part, |name| &root["$defs"][name]);
        for (name, schema) in part["properties"].as_object().into_iter().flatten() {
            whole["properties"][name] = schema.clone();
        }
        whole["required"]
            .as_array_mut()
            .unwrap()
            .extend(part["required"].as_array().into_iter().flatten().cloned());
    }
    whole
}

pub(crate) fn check(value: &Value, schema: &Value) {
    if let Some(misfit) = misfit(value, schema, schema, "report") {
        panic!("{misfit}");
    }
}

#[test]
fn reports_and_documents_fit_their_schemas() {
    let (reports, documents) = (schema::<Report>("diagnose"), schema::<Document>("document"));
    for fixture in fixtures::all() {
        let json = rendered(Output::Json, &fixture.report, &PLAIN);
        check(&serde_json::from_str(&json).unwrap(), &reports);
        check(&serde_json::to_value(fixture.report.present()).unwrap(), &documents);
    }
    let report = fixtures::changes::three_servers(60);
    check(&serde_json::to_value(&report).unwrap(), &schema::<ChangeReport>("changes"));
    check(&serde_json::to_value(report.present()).unwrap(), &documents);
}
