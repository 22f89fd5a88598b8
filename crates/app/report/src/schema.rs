//! JSON Schemas of reports, derived from their types.

use crate::{
    CapacityReport, ChangeReport, Comparison, Document, KernelDiagnosis, KernelPathReport, KernelStatsReport,
    Report, Signature, SignatureDiff,
};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// The schema of one report.
pub struct ReportSchema {
    /// What it is called: the question, as on the command line.
    pub name: &'static str,
    /// What it describes.
    pub title: &'static str,
    /// Makes it.
    pub schema: fn() -> Value,
}

macro_rules! report_schemas {
    ($($name:literal, $title:literal, $report:ty;)*) => {
        /// Every schema, in the order of the manual.
        pub const SCHEMAS: &[ReportSchema] =
            &[$(ReportSchema { name: $name, title: $title, schema: || schema::<$report>($name) }),*];
    };
}

report_schemas! {
    "diagnose", "The report of laggard diagnose", Report;
    "compare", "The comparison of laggard compare", Comparison;
    "changes", "The report of laggard changes", ChangeReport;
    "signature", "The file that laggard signature writes", Signature;
    "signature-diff", "The report of laggard signature diff", SignatureDiff;
    "capacity", "The report of laggard capacity", CapacityReport;
    "kernel-path", "The report of laggard kernel path", KernelPathReport;
    "kernel-diagnose", "The report of laggard kernel diagnose", KernelDiagnosis;
    "kernel-stats", "The report of laggard kernel stats", KernelStatsReport;
    "document", "What every report shows, as blocks", Document;
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
