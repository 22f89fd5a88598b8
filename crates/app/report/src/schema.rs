//! The trait behind a row of `reports!`: the JSON Schema of a report, and its verdict.

use crate::Present;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// A report of a question. Declared by a row of `reports!` in `lib.rs`.
pub trait DeclaredReport: Present + ToSchema {
    /// The verdict in one word, as in the JSON: `insufficient-data` if there is none.
    fn verdict(&self) -> String;
}

/// The schema of one report.
pub struct ReportSchema {
    /// The name of the question, as on the command line.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Makes it.
    pub schema: fn() -> Value,
}

/// Declares reports: name, title, type, and verdict of each.
macro_rules! reports {
    ($($name:literal, $title:literal, $type:ty, |$report:ident| $verdict:expr;)*) => {
        /// Every schema, in the order of the manual.
        pub const SCHEMAS: &[ReportSchema] = &[
            $(ReportSchema { name: $name, title: $title, schema: || schema::<$type>($name) },)*
            ReportSchema {
                name: "document",
                title: "What every report shows, as blocks",
                schema: || schema::<Document>("document"),
            },
        ];

        $(impl DeclaredReport for $type {
            fn verdict(&self) -> String {
                let $report = self;
                $crate::schema::word(&$verdict)
            }
        })*
    };
}
pub(crate) use reports;

/// A verdict of any kind as its JSON has it.
pub(crate) fn word(verdict: &impl Serialize) -> String {
    match serde_json::to_value(verdict) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

/// The verdict of a report that only describes: whether there was anything to describe.
pub(crate) fn described(anything: bool) -> &'static str {
    if anything { "done" } else { "insufficient-data" }
}

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
    let mut schema = flat(local(json!(R::schema())), &definitions);
    if let Value::Object(fields) = &mut schema {
        fields.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        fields.insert("title".to_owned(), json!(title));
        let flattened =
            definitions.iter().map(|(name, schema)| (name.clone(), flat(schema.clone(), &definitions)));
        fields.insert("$defs".to_owned(), Value::Object(flattened.collect()));
    }
    schema
}

/// An object of which some fields are declared by another, as one object with all fields.
fn flat(mut schema: Value, definitions: &Map<String, Value>) -> Value {
    let Some(Value::Array(parts)) = schema.as_object_mut().and_then(|fields| fields.remove("allOf")) else {
        return schema;
    };
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for mut part in parts {
        let name = part["$ref"].as_str().and_then(|target| target.strip_prefix("#/$defs/"));
        if let Some(definition) = name.and_then(|name| definitions.get(name)) {
            part = flat(definition.clone(), definitions);
        }
        properties.extend(part["properties"].as_object().cloned().unwrap_or_default());
        required.extend(part["required"].as_array().cloned().unwrap_or_default());
    }
    schema["type"] = json!("object");
    schema["properties"] = Value::Object(properties);
    schema["required"] = Value::Array(required);
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
