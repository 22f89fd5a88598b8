//! What a suspect does differently, apart from the time it takes.

use super::evidence::compared_with;
use super::headline::{NAME_ROOM, quoted};
use crate::{BehaviorChange, Report, Suspect, numbers};

/// Whether nothing but its behavior speaks against the suspect: it fails, or makes other calls than before, and is not slow
/// itself.
pub(super) fn is_all(suspect: &Suspect) -> bool {
    let is_behavior = |kind: &String| {
        suspect
            .behavior
            .iter()
            .any(|change| change.kind == *kind || (kind == "peers" && change.is_against_peers))
    };
    !suspect.behavior.is_empty() && suspect.evidence.iter().all(is_behavior)
}

/// Whether the suspect fails or returns early: its requests take no longer.
pub(super) fn is_failing(suspect: &Suspect) -> bool {
    is_all(suspect) && suspect.effect_ns == 0
}

/// `fails in 12 % of its calls, 0.3 % in the baseline`
pub(super) fn phrase(report: &Report, change: &BehaviorChange) -> String {
    let against = if change.is_against_peers { "on the other replicas" } else { "in the baseline" };
    let (now, before) = (numbers::share(change.rate), numbers::share(change.usual_rate));
    let callees = callees(change);
    match change.kind.as_str() {
        "errors" => format!("fails in {now} of its calls, {before} {against}"),
        "missing-calls" if change.rate <= 0.0 => {
            format!("no longer calls {callees}, {before} of its calls did before")
        }
        "missing-calls" => format!("calls {callees} in {now} of its calls, {before} {against}"),
        "new-calls" => format!("calls {callees} in {now} of its calls, never in {}", compared_with(report)),
        _ => format!(
            "calls {callees} {} times per call, {} {against}",
            numbers::ratio(change.rate),
            numbers::ratio(change.usual_rate)
        ),
    }
}

/// All of a suspect's changes.
pub(super) fn phrases(report: &Report, suspect: &Suspect) -> String {
    let phrases: Vec<String> = suspect.behavior.iter().map(|change| phrase(report, change)).collect();
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
