//! Pages of the manual about JSON reports, written from the schemas that `laggard schema` prints.

use serde_json::{Map, Value};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::io;

/// The folder of the pages, from the root.
const FOLDER: &str = "docs/manual/json";

const NOTICE: &str = "<!-- Written by `cargo xtask docs` from the types of the reports; do not edit. -->";

const CONVENTIONS: &str = "Fields may be added within a `schema_version`; none is removed or changes its meaning. \
Times that end in `_ns` are nanoseconds, those that end in `_s` seconds; instants count from the Unix epoch. Shares are \
0 to 1. A number that could not be computed is `null`. Names come from your data and may hold any character. The same \
report gives the same bytes.";

/// Every page by its path.
///
/// # Errors
/// When the program cannot be run, or prints something else than schemas.
pub(crate) fn pages(query: &dyn Fn(&[&str]) -> io::Result<String>) -> io::Result<BTreeMap<String, String>> {
    let mut pages = BTreeMap::new();
    let mut index = format!(
        "{NOTICE}\n\n# Reports as JSON\n\n{CONVENTIONS}\n\n| schema | what it describes |\n|---|---|\n"
    );
    for row in query(&["schema"])?.lines() {
        let (name, title) = row.split_once(' ').unwrap_or((row, ""));
        let schema: Value = serde_json::from_str(&query(&["schema", name])?)?;
        let _ = writeln!(index, "| [`laggard schema {name}`]({name}.md) | {} |", title.trim());
        pages.insert(format!("{FOLDER}/{name}.md"), page(title.trim(), &schema));
    }
    pages.insert(format!("{FOLDER}/README.md"), index);
    Ok(pages)
}

fn page(title: &str, schema: &Value) -> String {
    let empty = Map::new();
    let definitions = schema["$defs"].as_object().unwrap_or(&empty);
    let mut out = format!("{NOTICE}\n\n# {title} as JSON\n\n{}\n\n[Conventions](README.md)\n", text(schema));
    out.push_str(&table(schema));
    let mut order: Vec<&str> = Vec::new();
    let mut queue: VecDeque<&Value> = VecDeque::from([schema]);
    while let Some(next) = queue.pop_front() {
        let mut found = Vec::new();
        // The definitions are visited when something refers to them.
        for (key, value) in next.as_object().into_iter().flatten().filter(|(key, _)| *key != "$defs") {
            references(key, value, &mut found);
        }
        for name in found {
            if let Some(definition) = definitions.get(name).filter(|_| !order.contains(&name)) {
                order.push(name);
                queue.push_back(definition);
            }
        }
    }
    for name in order {
        let definition = &definitions[name];
        let _ = write!(out, "\n## {name}\n\n{}\n", text(definition));
        out.push_str(&table(definition));
    }
    out
}

fn references<'a>(key: &str, value: &'a Value, into: &mut Vec<&'a str>) {
    match value {
        Value::String(target) if key == "$ref" => into.extend(definition_name(target)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| references(key, value, into)),
        Value::Array(items) => items.iter().for_each(|item| references("", item, into)),
        _ => {}
    }
}

fn definition_name(target: &str) -> Option<&str> {
    target.strip_prefix("#/$defs/")
}

/// The description as Markdown; links between Rust items mean nothing here.
fn text(schema: &Value) -> String {
    // An optional object has its description beside the reference.
    let choices = schema["oneOf"].as_array().into_iter().flatten();
    let text = std::iter::once(schema).chain(choices).find_map(|schema| schema["description"].as_str());
    let text = text.unwrap_or_default();
    text.replace("[`", "`").replace("`]", "`").replace('\n', " ")
}

fn table(schema: &Value) -> String {
    let mut rows = String::new();
    for part in std::iter::once(schema).chain(schema["allOf"].as_array().into_iter().flatten()) {
        for (name, field) in part["properties"].as_object().into_iter().flatten() {
            let (kind, meaning) = (kind(field), text(field).replace('|', "\\|"));
            let _ = writeln!(rows, "| `{name}` | {kind} | {meaning} |");
        }
    }
    if rows.is_empty() {
        return match kind(schema) {
            kind if kind.is_empty() || kind == "object" => String::new(),
            kind => format!("\nOne of: {kind}.\n"),
        };
    }
    format!("\n| field | type | meaning |\n|---|---|---|\n{rows}")
}

fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(definition_name) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(choices) = ["oneOf", "anyOf"].iter().find_map(|choice| schema[choice].as_array()) {
        return joined(choices.iter().map(kind));
    }
    if let Some(all) = schema["allOf"].as_array() {
        return joined(all.iter().map(kind));
    }
    if let Some(values) = schema["enum"].as_array() {
        return joined(values.iter().map(|value| format!("`{}`", value.as_str().unwrap_or_default())));
    }
    let described = |name: &str| match name {
        "array" => format!("list of {}", kind(&schema["items"])),
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => described(name),
        Value::Array(names) => joined(names.iter().filter_map(Value::as_str).map(described)),
        _ => String::new(),
    }
}

/// `a or b`, without repetitions; `null` stands last.
fn joined(kinds: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for kind in kinds.filter(|kind| !kind.is_empty()) {
        if !all.contains(&kind) {
            all.push(kind);
        }
    }
    all.sort_by_key(|kind| kind == "null");
    all.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(arguments: &[&str]) -> io::Result<String> {
        Ok(match arguments {
            ["schema"] => "shop   The report of a shop\n".to_owned(),
            _ => serde_json::json!({
                "type": "object", "description": "What [`Shop`] sells.",
                "properties": {
                    "price": {"type": ["number", "null"], "description": "In euros."},
                    "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
                    "best": {"oneOf": [{"$ref": "#/$defs/Item", "description": "If any."}, {"type": "null"}]},
                },
                "$defs": {"Item": {"type": "string", "enum": ["a", "b"]}, "Unused": {"type": "object"}},
            })
            .to_string(),
        })
    }

    #[test]
    fn a_page_has_a_row_for_each_field_and_a_section_for_each_type() {
        let pages = pages(&program).unwrap();
        let page = &pages["docs/manual/json/shop.md"];
        assert!(page.contains("# The report of a shop as JSON\n\nWhat `Shop` sells."), "{page}");
        assert!(page.contains("| `price` | number or null | In euros. |"), "{page}");
        assert!(page.contains("| `items` | list of [Item](#item) |"), "{page}");
        assert!(page.contains("| `best` | [Item](#item) or null | If any. |"), "{page}");
        assert!(page.contains("## Item\n\n\n\nOne of: `a` or `b`."), "{page}");
        assert!(!page.contains("Unused"));
        assert!(pages["docs/manual/json/README.md"].contains("[`laggard schema shop`](shop.md)"));
    }
}
