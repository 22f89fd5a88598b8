//! TypeScript written from the OpenAPI document: the types of what the pages send and receive, and the forms of questions.

use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::io;

/// The file, from the root.
pub(crate) const PATH: &str = "web/src/api/generated.ts";

/// The schemas that the pages use; those they refer to follow.
const ROOTS: &[&str] = &[
    "Alerts",
    "AttributeList",
    "CategoryList",
    "CategoryTree",
    "Document",
    "EventList",
    "Imported",
    "Incidents",
    "JobCreated",
    "JobList",
    "LatencyMap",
    "Objectives",
    "Operations",
    "Overview",
    "ProblemDocument",
    "ReplicaLatencies",
    "RequestMatrix",
    "SearchResult",
    "SelectionComparison",
    "ServiceMap",
    "Services",
    "SettingsListing",
    "Status",
    "TraceDocument",
    "UsualCalls",
];

/// Columns of a line.
const WIDTH: usize = 120;

/// The types of an OpenAPI document.
///
/// # Errors
/// When a schema that the pages use is missing.
pub(crate) fn types(openapi: &Value) -> io::Result<String> {
    let empty = Map::new();
    let schemas = openapi["components"]["schemas"].as_object().unwrap_or(&empty);
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = ROOTS.to_vec();
    while let Some(name) = open.pop() {
        let schema =
            schemas.get(name).ok_or_else(|| io::Error::other(format!("the API has no schema {name}")))?;
        if names.insert(name) {
            references(schema, &mut open);
        }
    }
    let mut out = "// Written by `cargo xtask docs` from the OpenAPI document; do not edit.\n".to_owned();
    names.iter().for_each(|name| declaration(name, &schemas[*name], &mut out));
    Ok(out)
}

/// The forms of the pages of questions, from the root.
pub(crate) const FORMS_PATH: &str = "web/src/questions/generated.ts";

/// The forms that the questions of an OpenAPI document declare.
///
/// # Errors
/// When there are none.
pub(crate) fn forms(openapi: &Value) -> io::Result<String> {
    let families = openapi["x-forms"]
        .as_object()
        .ok_or_else(|| io::Error::other("the API has no forms of questions"))?;
    let mut out = "// Written by `cargo xtask docs` from the declarations of the questions; do not edit.\n\n\
                   import type { QuestionForm } from \"./settings.ts\";\n"
        .to_owned();
    for (family, forms) in families {
        let name = family.to_uppercase();
        let _ = write!(out, "\nexport const {name}_FORMS: [QuestionForm, ...QuestionForm[]] = {forms:#};\n");
    }
    Ok(out)
}

fn references<'a>(schema: &'a Value, into: &mut Vec<&'a str>) {
    match schema {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| match value.as_str() {
            Some(target) if key == "$ref" => into.extend(name_of(target)),
            _ => references(value, into),
        }),
        Value::Array(items) => items.iter().for_each(|item| references(item, into)),
        _ => {}
    }
}

fn name_of(target: &str) -> Option<&str> {
    target.strip_prefix("#/components/schemas/")
}

fn declaration(name: &str, schema: &Value, out: &mut String) {
    let text = schema["description"].as_str().unwrap_or_default();
    let text = text.lines().next().unwrap_or_default().replace("[`", "`").replace("`]", "`");
    let comment = if text.is_empty() { String::new() } else { format!("/** {text} */\n") };
    let _ = match schema["properties"].as_object() {
        Some(_) => write!(out, "\n{comment}export interface {name} {{\n{}}}\n", filled(&fields(schema))),
        None => write!(out, "\n{comment}export type {name} = {};\n", kind(schema)),
    };
}

fn fields(schema: &Value) -> Vec<String> {
    let required =
        |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let fields = schema["properties"].as_object().into_iter().flatten().map(|(name, field)| {
        let mark = if required(name) { "" } else { "?" };
        format!("{name}{mark}: {};", kind(field))
    });
    fields.collect()
}

/// As many fields in a line as fit.
fn filled(fields: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for field in fields {
        match lines.last_mut().filter(|line| line.len() + field.len() < WIDTH) {
            Some(line) => *line += &format!(" {field}"),
            None => lines.push(format!("  {field}")),
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(name_of) {
        return name.to_owned();
    }
    if let Some(choices) = ["oneOf", "anyOf"].iter().find_map(|choice| schema[choice].as_array()) {
        return union(choices.iter().map(kind));
    }
    if let Some(all) = schema["allOf"].as_array() {
        return all.iter().map(kind).collect::<Vec<String>>().join(" & ");
    }
    if let Some(values) = schema["enum"].as_array() {
        return union(values.iter().map(Value::to_string));
    }
    match &schema["type"] {
        Value::String(name) => named(name, schema),
        Value::Array(names) => union(names.iter().filter_map(Value::as_str).map(|name| named(name, schema))),
        _ => "unknown".to_owned(),
    }
}

fn named(name: &str, schema: &Value) -> String {
    match name {
        "integer" | "number" => "number".to_owned(),
        "array" => {
            let items = kind(&schema["items"]);
            if items.contains(' ') { format!("({items})[]") } else { format!("{items}[]") }
        }
        "object" if schema["properties"].is_object() => format!("{{ {} }}", fields(schema).join(" ")),
        "object" => format!("Record<string, {}>", kind(&schema["additionalProperties"])),
        other => other.to_owned(),
    }
}

/// `a | b`, without repetitions; `null` stands last.
fn union(kinds: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for kind in kinds {
        if !all.contains(&kind) {
            all.push(kind);
        }
    }
    all.sort_by_key(|kind| kind == "null");
    all.join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_become_types() {
        let schema = serde_json::json!({
            "type": "object", "required": ["items", "state"], "description": "What [`Shop`] sells.",
            "properties": {
                "price": {"type": ["number", "null"]},
                "items": {"type": "array", "items": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Item"}]}},
                "state": {"type": "string", "enum": ["open", "closed"]},
                "stock": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
        });
        let mut out = String::new();
        declaration("Shop", &schema, &mut out);
        let fields = "  items: (Item | null)[]; price?: number | null; state: \"open\" | \"closed\"; stock?: Record<string, number>;";
        assert_eq!(out, format!("\n/** What `Shop` sells. */\nexport interface Shop {{\n{fields}\n}}\n"));
        let tagged = serde_json::json!({"allOf": [{"$ref": "#/components/schemas/Table"},
            {"type": "object", "required": ["type"], "properties": {"type": {"type": "string", "enum": ["table"]}}}]});
        assert_eq!(kind(&tagged), "Table & { type: \"table\"; }");
        let mut found = Vec::new();
        references(&schema, &mut found);
        assert_eq!(found, ["Item"]);
    }

    #[test]
    fn forms_become_constants() {
        let forms = forms(&serde_json::json!({"x-forms": {"sample": [{"name": "stock"}]}})).unwrap();
        let row = "[QuestionForm, ...QuestionForm[]] = [\n  {\n    \"name\": \"stock\"\n  }\n];\n";
        assert!(forms.ends_with(&format!("\nexport const SAMPLE_FORMS: {row}")), "{forms}");
    }

    #[test]
    fn a_missing_schema_fails() {
        assert!(forms(&serde_json::json!({})).is_err());
        assert!(types(&serde_json::json!({"components": {"schemas": {}}})).is_err());
    }
}
