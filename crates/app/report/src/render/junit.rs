//! A difference as JUnit XML: one test case for each transaction or operation, by server or service.
//!
//! Reference: the schema that Jenkins' xUnit plug-in publishes (`junit-10.xsd`); GitLab and others read the same.

use super::test_cases::{TestCase, TestCases, TestOutcome};
use crate::names::visible;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

/// Writes the test suites.
///
/// # Errors
/// Those of `out`.
pub(super) fn write(report: &TestCases<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let mut locations: BTreeMap<&str, Vec<&TestCase>> = BTreeMap::new();
    for case in &report.cases {
        locations.entry(&case.location).or_default().push(case);
    }
    let all: Vec<&TestCase> = report.cases.iter().collect();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites name=\"laggard {}\" {}>", report.name, counts(&all));
    for (location, cases) in locations {
        let _ = writeln!(xml, "  <testsuite name=\"{}\" {}>", escaped(location), counts(&cases));
        cases.into_iter().for_each(|case| test_case(&mut xml, report, case));
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    out.write_all(xml.as_bytes())
}

fn counts(cases: &[&TestCase]) -> String {
    let failures = cases.iter().filter(|case| matches!(case.outcome, TestOutcome::Failed(_))).count();
    let skipped = cases.iter().filter(|case| case.outcome == TestOutcome::Skipped).count();
    let time: f64 = cases.iter().filter_map(|case| case.seconds).sum();
    format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{time:.6}\"",
        cases.len()
    )
}

fn test_case(xml: &mut String, report: &TestCases<'_>, case: &TestCase) {
    let _ = write!(
        xml,
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.6}\"",
        escaped(&case.location),
        escaped(&case.name),
        case.seconds.unwrap_or(0.0)
    );
    let clause = escaped(&case.clause);
    let result = match case.outcome {
        TestOutcome::Failed(rule) => {
            let word = report.rules[rule].word;
            format!("<failure type=\"{word}\" message=\"{clause}\">{clause}</failure>")
        }
        TestOutcome::Skipped => format!("<skipped message=\"{clause}\"/>"),
        TestOutcome::Passed => format!("<system-out>{clause}</system-out>"),
    };
    let _ = writeln!(xml, ">{result}</testcase>");
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
