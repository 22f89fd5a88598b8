//! A difference as SARIF 2.1.0: one result for each transaction that got slower.
//!
//! Reference: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0. A code host shows a result at
//! a file; transactions have none, so it is the signature that was compared, and the transaction is a logical
//! location.

use super::json;
use crate::names::label;
use crate::present::signature::phrases::difference_clause;
use crate::{SignatureDiff, TransactionDiff, TransactionOutcome};
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
pub(super) fn write(diff: &SignatureDiff, out: &mut dyn io::Write) -> io::Result<()> {
    let slower =
        diff.transactions.iter().filter(|transaction| transaction.outcome == TransactionOutcome::Slower);
    let results: Vec<Value> = slower.map(|transaction| result(diff, transaction)).collect();
    let log = value!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "Laggard",
                "version": diff.laggard_version,
                "rules": [rule()],
            }},
            "automationDetails": { "id": "laggard/signature/" },
            "columnKind": "unicodeCodePoints",
            "results": results,
            "properties": {
                "verdict": diff.verdict,
                "headline": diff.headline,
                "inconclusive": diff.counts.inconclusive,
            },
        }],
    });
    json::write(&log, out)
}

fn rule() -> Value {
    value!({
        "id": "transaction-slower",
        "name": "TransactionSlower",
        "shortDescription": { "text": "A transaction takes longer than before" },
        "fullDescription": { "text":
            "The time a transaction takes at a server without queueing has grown by more than the threshold and by \
             more than its standard errors allow for." },
        "help": { "text":
            "Compare the two versions of the code that serves this transaction. `laggard compare` on traces of both \
             shows which operation takes the time." },
        "defaultConfiguration": { "level": "error" },
        "properties": { "tags": ["performance"] },
    })
}

fn result(diff: &SignatureDiff, transaction: &TransactionDiff) -> Value {
    let (location, name) =
        (label(transaction.location(), NAME_ROOM), label(&transaction.transaction, NAME_ROOM));
    value!({
        "ruleId": "transaction-slower",
        "ruleIndex": 0,
        "level": "error",
        "message": { "text": format!("{name} on {location} {}", difference_clause(transaction)) },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": uri(&diff.new.file) },
                "region": { "startLine": 1 },
            },
            "logicalLocations": [{
                "name": transaction.transaction,
                "fullyQualifiedName": format!("{}::{}", transaction.location(), transaction.transaction),
                "kind": "function",
            }],
        }],
        "partialFingerprints": { "transaction/v1": format!("{}/{}/{}", transaction.tier, transaction.server, transaction.transaction) },
        "properties": {
            "beforeSeconds": transaction.before_s,
            "afterSeconds": transaction.after_s,
            "differenceSeconds": transaction.difference_s,
            "standardErrorSeconds": transaction.standard_error_s,
        },
    })
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
