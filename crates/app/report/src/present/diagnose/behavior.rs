//! Section on changes of a suspect's behavior apart from latency: errors, missing and new calls.

use super::evidence::compared_with;
use super::headline::{NAME_ROOM, quoted};
use crate::{BehaviorChange, Report, Suspect, numbers};

/// Only some replicas perform the operation.
pub(super) const SOME_REPLICAS: &str = "some-replicas";

/// `fails in 12 % of its calls, 0.3 % in the baseline`; what it is compared with, unless it is other replicas, as in
/// `the baseline`.
pub fn behavior_phrase(change: &BehaviorChange, compared_with: &str) -> String {
    let against = if change.is_against_peers {
        "on the other replicas".to_owned()
    } else {
        format!("in {compared_with}")
    };
    let (now, before) = (numbers::share(change.rate), numbers::share(change.usual_rate));
    let callees = callees(change);
    match change.kind.as_str() {
        "errors" => format!("fails in {now} of its calls, {before} {against}"),
        "missing-calls" if change.rate <= 0.0 => {
            format!("no longer calls {callees}, {before} of its calls did before")
        }
        "missing-calls" => format!("calls {callees} in {now} of its calls, {before} {against}"),
        "unprocessed-messages" => {
            format!("processed {now} of the messages of {callees} in this time, {before} {against}")
        }
        SOME_REPLICAS => format!("is performed on these replicas only, in {now} of its callers' calls"),
        "new-calls" => format!("calls {callees} in {now} of its calls, never in {compared_with}"),
        _ => format!(
            "calls {callees} {} times per call, {} {against}",
            numbers::ratio(change.rate),
            numbers::ratio(change.usual_rate)
        ),
    }
}

/// All of a suspect's changes.
pub(super) fn phrases(report: &Report, suspect: &Suspect) -> String {
    let phrases: Vec<String> =
        suspect.behavior.iter().map(|change| behavior_phrase(change, compared_with(report))).collect();
    phrases.join("; ")
}

/// The first callee, and how many others there are.
fn callees(change: &BehaviorChange) -> String {
    let Some(first) = change.callees.first() else { return "other operations".to_owned() };
    let name = match first.service.is_empty() {
        true => first.operation.clone(),
        false => format!("{} {}", first.service, first.operation),
    };
    let first = quoted(&crate::names::label(&name, NAME_ROOM));
    match change.callees.len() {
        1 => first,
        2 => format!("{first} and 1 other operation"),
        all => format!("{first} and {} other operations", all - 1),
    }
}
