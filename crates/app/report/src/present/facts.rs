//! Facts of a diagnosis as phrases and sentences.

use crate::model::spilled;
use crate::present::diagnose::headline::{all_replicas, some_replicas, undecided};
use crate::{Category, Clocks, Input, Report, Sampling, Scope, Suspect, names, numbers};
use std::collections::{HashMap, HashSet};

/// Where a suspect is slow: `3 of 100 replicas`, `all 40 replicas`.
pub(crate) fn location(suspect: &Suspect) -> String {
    if suspect.scope == Scope::Replicas && !suspect.replicas.is_empty() {
        return some_replicas(suspect.replicas.len() as u64, suspect.replicas_seen);
    }
    if suspect.scope_undecided && suspect.replicas_seen > 1 {
        return undecided(suspect.replicas_seen);
    }
    all_replicas(suspect.replicas_seen)
}

/// A category in which a suspect made requests slow.
pub(crate) struct Paying<'a> {
    pub(crate) category: &'a Category,
    /// Requests hit by one suspect, at most, and the time lost to all; `None` for methods that do not determine them.
    pub(crate) hit: Option<(u64, u64)>,
}

/// The categories that pay for the suspects, the most lost time, then the most requests first; when there is no suspect,
/// those a gate selected.
pub(crate) fn paying(report: &Report) -> Vec<Paying<'_>> {
    let mut hit: HashMap<&str, (u64, u64)> = HashMap::new();
    for affected in report.suspects.iter().flat_map(|suspect| &suspect.affected) {
        let sums = hit.entry(&affected.category).or_default();
        *sums = (sums.0.max(affected.requests_hit), sums.1.saturating_add(affected.lost_ns));
    }
    let ids: HashSet<&String> = report.suspects.iter().flat_map(|suspect| &suspect.categories).collect();
    let pays = |category: &&Category| match (hit.is_empty(), ids.is_empty()) {
        (false, _) => hit.contains_key(category.id.as_str()),
        (true, false) => ids.contains(&category.id),
        (true, true) => category.anomalous,
    };
    let paying = |category| Paying { category, hit: hit.get(category.id.as_str()).copied() };
    let mut out: Vec<Paying<'_>> = report.categories.iter().filter(pays).map(paying).collect();
    // Stable: categories are ordered by requests.
    out.sort_by_key(|paying| std::cmp::Reverse(paying.hit.map_or(0, |(_, lost_ns)| lost_ns)));
    out
}

/// Facts about the clocks, as whole sentences; `None` when no host called another.
pub(crate) fn clocks(clocks: &Clocks) -> Option<String> {
    if clocks.pairs == 0 {
        return None;
    }
    let pairs = numbers::counted(clocks.pairs, "pair");
    let possible = numbers::time(clocks.max_possible_skew_ns);
    if clocks.agreeing_pairs >= clocks.pairs {
        return Some(format!(
            "Clocks: the calls of all {pairs} of hosts are consistent with equal clocks (possible skew up to {possible})."
        ));
    }
    let agreeing = numbers::count(clocks.agreeing_pairs);
    let skew = numbers::time(clocks.max_proven_skew_ns);
    let worst = clocks.worst_pair.as_ref().map_or(String::new(), |[caller, callee]| {
        format!(", between {} and {}", names::label(caller, 40), names::label(callee, 40))
    });
    Some(format!(
        "Clocks: {agreeing} of {pairs} of hosts agree; the largest proven disagreement is {skew}{worst}. \
         No result compares times of two clocks."
    ))
}

/// How many requests the sample represents, as a sentence; `None` without any sign of sampling.
pub(crate) fn sampling(sampling: &Sampling) -> Option<String> {
    if sampling.weight_max <= 1.0 && sampling.sources.is_empty() {
        return None;
    }
    let read = numbers::counted(sampling.requests, "complete request");
    let estimated = numbers::count(sampling.requests_estimated.round() as u64);
    let (low, high) = (numbers::ratio(sampling.weight_min), numbers::ratio(sampling.weight_max));
    let each = if low == high { low } else { format!("{low} to {high}") };
    let rows = sampling.sources.iter().take(4);
    let sources: Vec<String> = rows.map(|row| names::label(&row.name, 40)).collect();
    let source = match sources.is_empty() {
        true => String::new(),
        false => format!(", from {}", sources.join(", ")),
    };
    let unequal = sampling.requests_effective < 0.995 * sampling.requests as f64;
    let effective = match unequal {
        true => format!("; effective sample size {}", numbers::count(sampling.requests_effective as u64)),
        false => String::new(),
    };
    let known = numbers::share(sampling.known_share);
    Some(format!(
        "Sampling: {read} represent {estimated} (weight {each}{source}{effective}); {known} carry a weight."
    ))
}

/// The input in whole sentences.
pub(crate) fn read(input: &Input) -> String {
    let mut sentence = format!("Read {} from {}", records(input), origin(input));
    sentence.push_str(&format!(
        ": {}, {} of {} on {}",
        numbers::counted(input.requests, "complete request"),
        numbers::counted(input.operations, "operation"),
        numbers::counted(input.services, "service"),
        numbers::counted(input.replicas, "replica"),
    ));
    sentence.push_str(&identity(input));
    sentence.push('.');
    sentence.push_str(&spilled(input.spilled_bytes));
    sentence
}

/// `2 inputs (25.5 MB, otlp-json)`; what is stored already has no size.
fn origin(input: &Input) -> String {
    if input.bytes == 0 && matches!(input.formats.as_slice(), [only] if only.name == "store") {
        return "the store".to_owned();
    }
    let files = numbers::counted(input.files, "input");
    format!("{files} ({}{})", numbers::bytes(input.bytes), formats(input))
}

fn records(input: &Input) -> String {
    let traces = numbers::counted(input.traces, "trace");
    let spans = numbers::counted(input.spans, "span");
    if input.call_records == 0 {
        return format!("{spans} in {traces}");
    }
    format!("{}, {spans} in {traces}", numbers::counted(input.call_records, "call-log record"))
}

fn formats(input: &Input) -> String {
    let single = input.formats.len() == 1;
    let rows = input.formats.iter().take(6).map(|row| {
        let name = names::label(&row.name, 30);
        if single { name } else { format!("{name} {}", numbers::count(row.count)) }
    });
    rows.map(|row| format!(", {row}")).collect()
}

fn identity(input: &Input) -> String {
    let rows = input.replica_identity.iter().take(4);
    let sources: Vec<String> = rows.map(|row| names::label(&row.name, 30)).collect();
    if sources.is_empty() { String::new() } else { format!(" (identified by {})", sources.join(", ")) }
}

/// The method, its mode and the time covered: `robust-pca (robust), 2026-01-05T10:00:00Z to ...`.
pub(crate) fn method(report: &Report) -> String {
    let method = names::label(&report.method, 40);
    let mode =
        if report.mode.is_empty() { String::new() } else { format!(" ({})", names::label(&report.mode, 20)) };
    format!("{method}{mode}")
}

/// The time covered: `2026-01-05T10:00:00Z to 2026-01-05T11:00:00Z`.
pub(crate) fn window(report: &Report) -> Option<String> {
    report.window.map(|window| window.to_string())
}
