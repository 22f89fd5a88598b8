//! A comparison of traces as a gate: one case for all requests, one for each entry, and one for each operation.

use super::phrases::{calls, interval, shift_interval, some_parts};
use crate::numbers::{factor, signed_time, time_float};
use crate::render::{HasTestCases, Rule, TestCase, TestCases, TestOutcome};
use crate::{Change, Comparison, ComparisonVerdict, EntryChange, MeasuredShift, OperationChange};
use serde_json::json;

/// The place of cases about requests as a whole.
const REQUESTS: &str = "requests";

/// Positions in [`RULES`].
const SLOWER: TestOutcome = TestOutcome::Failed(0);
const CHANGED: TestOutcome = TestOutcome::Failed(1);

const RULES: &[Rule] = &[
    Rule {
        id: "slower",
        name: "Slower",
        title: "Requests or calls of an operation take longer than before",
        description: "Compared with requests of the same kind, they take longer beyond chance and by more than the threshold.",
        help: "`laggard diagnose` on the same traces, with those before as baseline, says on which replicas and for which \
               requests; the flame graph of `laggard compare --output html` shows where the time is spent.",
        word: "slower",
    },
    Rule {
        id: "changed",
        name: "Changed",
        title: "Requests make other calls than before",
        description: "An operation is new, is gone, or is called more or less often by a request, beyond chance.",
        help: "If the change is intended, compare the next ones with traces of this version.",
        word: "changed",
    },
];

impl HasTestCases for Comparison {
    fn test_cases(&self) -> TestCases<'_> {
        // Only what fails the comparison fails in it: when all that changed is faster, so is this.
        let fails = matches!(self.verdict, ComparisonVerdict::Slower | ComparisonVerdict::Changed);
        let all = std::iter::once(all_requests(self));
        let entries = self.entries.iter().map(entry_case);
        let operations = self.operations.iter().map(|operation| operation_case(operation, fails));
        TestCases {
            name: "compare",
            version: env!("CARGO_PKG_VERSION"),
            file: &self.after.label,
            rules: RULES,
            cases: all.chain(entries).chain(operations).collect(),
            properties: json!({ "verdict": self.verdict, "headline": self.headline }),
        }
    }
}

/// The verdict, so that what fails the command has a case that fails.
fn all_requests(comparison: &Comparison) -> TestCase {
    let outcome = match comparison.verdict {
        ComparisonVerdict::Slower => SLOWER,
        ComparisonVerdict::Changed => CHANGED,
        ComparisonVerdict::Faster | ComparisonVerdict::Unchanged => TestOutcome::Passed,
        ComparisonVerdict::InsufficientData => TestOutcome::Skipped,
    };
    let [before_ns, after_ns] =
        comparison.latency.map_or([None; 2], |latency| [latency.before_ns, latency.after_ns].map(Some));
    TestCase {
        location: REQUESTS.to_owned(),
        name: "all requests".to_owned(),
        seconds: after_ns.map(|ns| ns / 1e9),
        outcome,
        clause: format!("are {}: {}", outcome_word(comparison.verdict), comparison.headline),
        fingerprint: ("requests/v1", "all".to_owned()),
        properties: json!({ "beforeNanoseconds": before_ns, "afterNanoseconds": after_ns }),
    }
}

const fn outcome_word(verdict: ComparisonVerdict) -> &'static str {
    match verdict {
        ComparisonVerdict::Slower => "slower",
        ComparisonVerdict::Faster => "faster",
        ComparisonVerdict::Changed => "changed",
        ComparisonVerdict::Unchanged => "as before",
        ComparisonVerdict::InsufficientData => "too few to compare",
    }
}

fn entry_case(entry: &EntryChange) -> TestCase {
    let EntryChange { service, operation, .. } = entry;
    let (outcome, clause) = match (&entry.latency, entry.change) {
        (None, _) if entry.requests_before == 0 => (TestOutcome::Skipped, "only came after".to_owned()),
        (None, _) => (TestOutcome::Skipped, "only came before".to_owned()),
        (Some(latency), change) => {
            let clause = format!(
                "take {} on average instead of {}; the same requests {} {}",
                time_float(latency.after_ns),
                time_float(latency.before_ns),
                signed_time(latency.same_requests.change_ns),
                interval(&latency.same_requests)
            );
            (if change == Change::Slower { SLOWER } else { TestOutcome::Passed }, clause)
        }
    };
    TestCase {
        location: REQUESTS.to_owned(),
        name: format!("{service} {operation}"),
        seconds: entry.latency.map(|latency| latency.after_ns / 1e9),
        outcome,
        clause,
        fingerprint: ("requests/v1", format!("{service}/{operation}")),
        properties: json!({
            "requestsBefore": entry.requests_before,
            "requestsAfter": entry.requests_after,
            "differenceNanoseconds": entry.latency.map(|latency| latency.same_requests.change_ns),
        }),
    }
}

fn operation_case(operation: &OperationChange, fails: bool) -> TestCase {
    let OperationChange { service, operation: name, kind, .. } = operation;
    let outcome = match operation.change {
        Change::Slower => SLOWER,
        Change::New | Change::Vanished | Change::MoreCalls | Change::FewerCalls if fails => CHANGED,
        _ => TestOutcome::Passed,
    };
    TestCase {
        location: service.clone(),
        name: if kind.is_empty() { name.clone() } else { format!("{name} ({kind})") },
        seconds: Some(operation.after.self_per_call_ns / 1e9),
        outcome,
        clause: operation_clause(operation),
        fingerprint: ("operation/v1", format!("{service}/{name}/{kind}")),
        properties: json!({
            "selfPerCallNanosecondsBefore": operation.before.self_per_call_ns,
            "selfPerCallNanosecondsAfter": operation.after.self_per_call_ns,
            "callsPerRequestBefore": operation.before.calls_per_request,
            "callsPerRequestAfter": operation.after.calls_per_request,
        }),
    }
}

fn operation_clause(operation: &OperationChange) -> String {
    let mut clause = match (operation.change, &operation.time, &operation.calls) {
        (Change::Slower | Change::Faster, Some(time), _) => format!(
            "takes {} a call instead of {} ({}{}{})",
            time_float(time.median_after),
            time_float(time.median_before),
            signed_time(time.shift),
            spaced(&shift_interval(time)),
            ratio(time)
        ),
        (Change::MoreCalls | Change::FewerCalls, _, Some(made)) => format!(
            "is called {} times by a request instead of {}",
            calls(made.median_after),
            calls(made.median_before)
        ),
        (Change::New, ..) => "is new".to_owned(),
        (Change::Vanished, ..) => "is gone".to_owned(),
        _ => "has no difference beyond chance".to_owned(),
    };
    if let Some(parts) = some_parts(operation) {
        clause.push_str(", ");
        clause.push_str(&parts);
    }
    clause
}

fn spaced(interval: &str) -> String {
    if interval.is_empty() { String::new() } else { format!(" {interval}") }
}

fn ratio(shift: &MeasuredShift) -> String {
    shift.ratio.map_or_else(String::new, |ratio| format!(", {}", factor(ratio)))
}
