//! JSON Schemas of reports, derived from their types.

use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// The JSON Schema (draft 2020-12) of a report, with all types it refers to.
///
/// ```
/// let schema = laggard_report::schema::<laggard_report::Report>("diagnose");
/// assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
/// assert!(schema["properties"]["suspects"].is_object());
/// ```
pub fn schema<R: ToSchema>(title: &str) -> Value {
    let mut referenced = Vec::new();
    R::schemas(&mut referenced);
    let definitions: Map<String, Value> =
        referenced.into_iter().map(|(name, schema)| (name, local(json!(schema)))).collect();
    let mut schema = local(json!(R::schema()));
    if let Value::Object(fields) = &mut schema {
        fields.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        fields.insert("title".to_owned(), json!(title));
        fields.insert("$defs".to_owned(), Value::Object(definitions));
    }
    schema
}

/// References to the components of an OpenAPI document as references to definitions of the same schema.
fn local(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let field = |(name, value): (String, Value)| match (&*name, &value) {
                ("$ref", Value::String(target)) => {
                    let target = target.replacen("#/components/schemas/", "#/$defs/", 1);
                    (name, Value::String(target))
                }
                _ => (name, local(value)),
            };
            Value::Object(fields.into_iter().map(field).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(local).collect()),
        other => other,
    }
}
