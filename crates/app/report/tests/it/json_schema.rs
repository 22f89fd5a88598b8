//! The published schema against what is actually written.

use crate::{PLAIN, fixtures, rendered};
use laggard_model::Loss;
use laggard_report::{Output, Report, SCHEMA_VERSION};
use serde_json::Value;
use std::collections::BTreeMap;
use std::{env, fs, path::PathBuf};

fn manual() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../docs/manual/report-json.md")
}

/// Fields of the manual's tables, with their types: rows that start with a path in backticks.
fn documented() -> BTreeMap<String, String> {
    let text = fs::read_to_string(manual()).unwrap();
    let mut fields = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("| `")) {
        let mut cells = line.split('|').map(str::trim);
        let path = cells.next().unwrap().trim_end_matches('`').to_owned();
        let kind = cells.next().unwrap().to_owned();
        assert!(fields.insert(path.clone(), kind).is_none(), "{path} is documented twice");
    }
    fields
}

/// Calls `visit` with the path of every field; the causes of losses all count as `*`.
fn walk(value: &Value, path: &str, visit: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = if path == "input.losses" { "*" } else { name };
                let field = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                visit(&field, value);
                walk(value, &field, visit);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, &format!("{path}[]"), visit)),
        _ => {}
    }
}

/// Whether a value is of a type as the manual words it.
fn is(value: &Value, kind: &str) -> bool {
    if let Some(kind) = kind.strip_suffix(" or null") {
        return value.is_null() || is(value, kind);
    }
    match kind {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        _ => match kind.strip_prefix("list of ") {
            Some(item) => {
                value.as_array().is_some_and(|items| items.iter().all(|each| is(each, singular(item))))
            }
            None => panic!("the manual knows a type called {kind:?}"),
        },
    }
}

fn singular(plural: &str) -> &str {
    match plural {
        "objects or nulls" => "object or null",
        other => other.strip_suffix('s').unwrap_or(other),
    }
}

#[test]
fn the_manual_lists_exactly_the_fields_that_are_written() {
    let documented = documented();
    let mut seen = BTreeMap::new();
    for fixture in fixtures::all() {
        let json: Value = serde_json::from_str(&rendered(Output::Json, &fixture.report, &PLAIN)).unwrap();
        walk(&json, "", &mut |path, value| {
            let kind = documented.get(path).unwrap_or_else(|| panic!("{path} is not in the manual"));
            assert!(is(value, kind), "{path} is documented as {kind}, and is {value}");
            seen.insert(path.to_owned(), ());
        });
    }
    let unseen: Vec<_> = documented.keys().filter(|path| !seen.contains_key(*path)).collect();
    assert!(unseen.is_empty(), "the manual lists {unseen:?}, which no fixture has");
}

#[test]
fn the_manual_lists_every_loss() {
    let text = fs::read_to_string(manual()).unwrap();
    for loss in Loss::ALL {
        assert!(text.contains(&format!("- `{}`", loss.name())), "{} is not in the manual", loss.name());
    }
    assert!(text.contains(&format!("schema version {SCHEMA_VERSION}")));
}

/// The three-replica report with one of everything.
fn example() -> Report {
    let mut report = fixtures::three_replicas();
    report.categories.drain(..1);
    report.categories.truncate(1);
    report.categories[0].tree.drain(1..4);
    report.categories[0].tree.truncate(2);
    report.suspects[0].trace_ids.truncate(1);
    report.suspects[0].positions[0].position = 1;
    report.replicas.truncate(1);
    report.settings.truncate(3);
    report.cautions.truncate(1);
    report.ruled_out.truncate(1);
    let map = report.heat_map.as_mut().unwrap();
    map.operations.truncate(1);
    map.replicas = vec!["node006".to_owned(), "node007".to_owned()];
    (map.cells, map.replicas_omitted) = (map.cells[5..7].to_vec(), 98);
    let latency = report.latency.as_mut().unwrap();
    (latency.edges_ns, latency.hit, latency.unhit) = (vec![1e6, 3e7, 9e8], vec![12, 1_222], vec![22_766, 0]);
    report
}

/// `LAGGARD_BLESS=1` writes the example into the manual.
#[test]
fn the_example_of_the_manual_is_real() {
    let text = fs::read_to_string(manual()).unwrap();
    let start = text.find("```json\n").unwrap() + "```json\n".len();
    let end = start + text[start..].find("```").unwrap();
    let json = rendered(Output::Json, &example(), &PLAIN);
    if env::var_os("LAGGARD_BLESS").is_some() {
        fs::write(manual(), [&text[..start], &json, &text[end..]].concat()).unwrap();
        return;
    }
    assert_eq!(&text[start..end], json, "LAGGARD_BLESS=1 rewrites it");
}

#[test]
fn numbers_that_are_not_finite_become_null() {
    let mut report = fixtures::three_replicas();
    (report.suspects[0].factor, report.suspects[0].share) = (f64::NAN, f64::NEG_INFINITY);
    let json: Value = serde_json::from_str(&rendered(Output::Json, &report, &PLAIN)).unwrap();
    assert!(json["suspects"][0]["factor"].is_null() && json["suspects"][0]["share"].is_null());
    assert_eq!(json["suspects"][0]["replicas_seen"], 100);
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    let [first, second] = [(); 2].map(|()| rendered(Output::Json, &fixtures::hostile(), &PLAIN));
    assert_eq!(first, second);
    assert!(first.ends_with("}\n"));
}
