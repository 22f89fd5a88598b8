//! A difference as JUnit XML: one test case for each transaction, by server.
//!
//! Reference: the schema that Jenkins' xUnit plug-in publishes (`junit-10.xsd`); GitLab and others read the same.

use crate::names::visible;
use crate::present::signature::phrases::difference_clause;
use crate::{SignatureDiff, TransactionDiff, TransactionOutcome};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

/// Writes the test suites.
///
/// # Errors
/// Those of `out`.
pub(super) fn write(diff: &SignatureDiff, out: &mut dyn io::Write) -> io::Result<()> {
    let mut locations: BTreeMap<&str, Vec<&TransactionDiff>> = BTreeMap::new();
    for transaction in &diff.transactions {
        locations.entry(transaction.location()).or_default().push(transaction);
    }
    let all: Vec<&TransactionDiff> = diff.transactions.iter().collect();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites name=\"laggard signature\" {}>", counts(&all));
    for (location, cases) in locations {
        let _ = writeln!(xml, "  <testsuite name=\"{}\" {}>", escaped(location), counts(&cases));
        cases.into_iter().for_each(|case| test_case(&mut xml, case));
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    out.write_all(xml.as_bytes())
}

fn counts(cases: &[&TransactionDiff]) -> String {
    let failures = cases.iter().filter(|case| case.outcome == TransactionOutcome::Slower).count();
    let skipped = cases.iter().filter(|case| is_skipped(case.outcome)).count();
    let time: f64 = cases.iter().filter_map(|case| case.after_s).sum();
    format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{time:.6}\"",
        cases.len()
    )
}

/// Inconclusive transactions are neither passed nor failed.
const fn is_skipped(outcome: TransactionOutcome) -> bool {
    matches!(
        outcome,
        TransactionOutcome::New | TransactionOutcome::Removed | TransactionOutcome::Inconclusive
    )
}

fn test_case(xml: &mut String, case: &TransactionDiff) {
    let _ = write!(
        xml,
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.6}\"",
        escaped(case.location()),
        escaped(&case.transaction),
        case.after_s.unwrap_or(0.0)
    );
    let message = escaped(&difference_clause(case));
    match case.outcome {
        TransactionOutcome::Slower => {
            let _ =
                write!(xml, "><failure type=\"slower\" message=\"{message}\">{message}</failure></testcase>");
        }
        outcome if is_skipped(outcome) => {
            let reason = match outcome {
                TransactionOutcome::New => "only the new signature has it".to_owned(),
                TransactionOutcome::Removed => "only the old signature has it".to_owned(),
                _ => message,
            };
            let _ = write!(xml, "><skipped message=\"{reason}\"/></testcase>");
        }
        _ => {
            let _ = write!(xml, "><system-out>{message}</system-out></testcase>");
        }
    }
    xml.push('\n');
}

/// Text for XML 1.0: markup escaped, characters that XML does not have as what they look like.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
