//! A difference as SARIF 2.1.0: one result for each transaction or operation that fails.
//!
//! Reference: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0. A code host shows a result at
//! a file; transactions have none, so it is what was compared, and the transaction is a logical location.

use super::json;
use super::test_cases::{Rule, TestCase, TestCases, TestOutcome};
use crate::names::label;
use serde_json::{Value, json as value};
use std::fmt::Write as _;
use std::io;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Longest name in a message, in columns.
const NAME_ROOM: usize = 200;

/// Writes the log.
///
/// # Errors
/// Those of `out`.
pub(super) fn write(report: &TestCases<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let results: Vec<Value> = report.cases.iter().filter_map(|case| result(report, case)).collect();
    let log = value!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "Laggard",
                "version": report.version,
                "rules": report.rules.iter().map(rule).collect::<Vec<Value>>(),
            }},
            "automationDetails": { "id": format!("laggard/{}/", report.name) },
            "columnKind": "unicodeCodePoints",
            "results": results,
            "properties": report.properties,
        }],
    });
    json::write(&log, out)
}

fn rule(rule: &Rule) -> Value {
    value!({
        "id": rule.id,
        "name": rule.name,
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": rule.description },
        "help": { "text": rule.help },
        "defaultConfiguration": { "level": "error" },
        "properties": { "tags": ["performance"] },
    })
}

/// The result of a case that fails; `None` for any other.
fn result(report: &TestCases<'_>, case: &TestCase) -> Option<Value> {
    let TestOutcome::Failed(rule) = case.outcome else { return None };
    let (location, name) = (label(&case.location, NAME_ROOM), label(&case.name, NAME_ROOM));
    let (scheme, fingerprint) = &case.fingerprint;
    Some(value!({
        "ruleId": report.rules[rule].id,
        "ruleIndex": rule,
        "level": "error",
        "message": { "text": format!("{name} on {location} {}", case.clause) },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": uri(report.file) },
                "region": { "startLine": 1 },
            },
            "logicalLocations": [{
                "name": case.name,
                "fullyQualifiedName": format!("{}::{}", case.location, case.name),
                "kind": "function",
            }],
        }],
        "partialFingerprints": { *scheme: fingerprint },
        "properties": case.properties,
    }))
}

/// A relative reference to a file: everything that a URI does not take as it is becomes `%xx`.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte))
            }
            b'\\' => out.push('/'),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("a b/ü.json"), "a%20b/%C3%BC.json");
        assert_eq!(uri("C:\\x"), "C%3A/x");
    }
}
