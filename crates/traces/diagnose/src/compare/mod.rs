//! Differences between two sets of requests.
//!
//! ```text
//! Population before ─ PopulationFold ─► categories, call paths, samples ─┐
//! Population after  ─ PopulationFold ─► categories, call paths, samples ─┴─ localize::compare ─► Comparison
//! ```
//!
//! Describes the difference; names no culprit replica.

mod attributes;
mod fold;
mod latency;
mod operations;
mod path_trie;
mod paths;
mod remarks;
mod replicas;
mod settings;
mod shapes;

pub use fold::{
    CategorySummary, OperationSummary, PopulationFold, PopulationSummary, ReplicaSummary, Sample,
};
pub use path_trie::{PathNode, PathTimes, PathTrie};
pub use settings::CompareSettings;

use crate::population::{Population, UnionNames};
use laggard_engine::LocalEngine;
use laggard_report::{
    COMPARISON_SCHEMA_VERSION, Change, ComparedSet, Comparison, ComparisonVerdict, Input, InputFacts,
    LatencyChange, NamedCount, OperationChange, Window, comparison_headline,
};
use laggard_settings::{SettingError, Settings};
use paths::complete;

/// One of the two sets.
#[derive(Clone, Debug)]
pub struct ComparedPopulation<'a> {
    /// Its requests.
    pub population: Population<'a>,
    /// Facts that only the reader of the input knows.
    pub facts: InputFacts,
    /// The name shown to the user: a path or a window.
    pub label: String,
}

/// Compares two sets, before and after.
///
/// # Errors
/// When a setting is out of its range, or the selection names what does not exist.
pub fn compare(
    sets: [&ComparedPopulation<'_>; 2],
    settings: &CompareSettings,
    engine: LocalEngine,
) -> Result<Comparison, SettingError> {
    settings.check()?;
    let populations = sets.map(|set| set.population);
    let requests = populations.map(|population| population.requests);
    populations[1].selection.check(&requests, settings.rule, engine.threads())?;
    let union = UnionNames::from_populations(&populations);
    let summary = |index: usize| {
        let selected = union.select(&populations[index], index);
        let fold = PopulationFold::new(selected.clone(), settings, engine);
        engine.fold(selected.range(), &fold)
    };
    let (before, after) = (summary(0), summary(1));
    let pairs = latency::category_pairs(&before, &after);
    let latency = latency::latency_change(&pairs);
    let operations = operations::operation_changes(&before, &after, &union, settings);
    let summaries = [&before, &after];
    let shapes = shapes::shape_changes(summaries, [&populations[0], &populations[1]], &union, settings);
    let mut comparison = Comparison {
        schema_version: COMPARISON_SCHEMA_VERSION,
        kind: "comparison",
        verdict: ComparisonVerdict::Unchanged,
        headline: String::new(),
        before: compared_set(sets[0], &before),
        after: compared_set(sets[1], &after),
        latency,
        entries: latency::entry_changes(&pairs, &union, settings),
        operations,
        shapes,
        shapes_seen: shapes::shapes_seen(summaries),
        paths: paths::path_changes(&before, &after, &union, settings),
        ruled_out: vec![],
        cautions: vec![],
        settings: settings.rows(populations[1].selection),
    };
    paths::inherit(&mut comparison.paths, &comparison.operations, settings.change_min);
    comparison.verdict = verdict(&comparison, summaries, settings);
    comparison.ruled_out = remarks::ruled_out(&comparison);
    comparison.cautions = remarks::cautions(summaries, sets, &comparison);
    comparison.headline = comparison_headline(&comparison);
    Ok(comparison)
}

fn compared_set(set: &ComparedPopulation<'_>, summary: &PopulationSummary) -> ComparedSet {
    let requests = set.population.requests;
    let names = requests.names();
    let read = requests.counts_within(set.population.since, set.population.until);
    ComparedSet {
        label: set.label.clone(),
        window: summary.extent.map(|(first, last)| Window { since: first, until: last }),
        input: Input {
            files: set.facts.files,
            bytes: set.facts.bytes,
            spilled_bytes: set.facts.spilled_bytes,
            spans: read.spans,
            call_records: requests.call_records(),
            traces: read.traces,
            requests: complete(summary),
            services: names.services() as u64,
            operations: names.operations() as u64,
            replicas: names.replicas() as u64,
            formats: set.facts.formats.clone(),
            replica_identity: requests
                .identities()
                .map(|(source, count)| NamedCount { name: source.name().to_owned(), count })
                .collect(),
            losses: requests.losses(),
            ..Input::default()
        },
    }
}

fn verdict(
    comparison: &Comparison,
    sets: [&PopulationSummary; 2],
    settings: &CompareSettings,
) -> ComparisonVerdict {
    if sets.iter().any(|set| complete(set) < settings.requests_min) {
        return ComparisonVerdict::InsufficientData;
    }
    let moved = comparison.latency.as_ref().and_then(|latency| moved(latency, settings));
    let is = |change: Change| {
        comparison.operations.iter().any(|operation| operation.change == change)
            || comparison.entries.iter().any(|entry| entry.change == change)
    };
    match (moved, is(Change::Slower), is(Change::Faster)) {
        (Some(verdict), ..) => verdict,
        (None, true, false) => ComparisonVerdict::Slower,
        (None, false, true) => ComparisonVerdict::Faster,
        (None, true, true) => ComparisonVerdict::Changed,
        (None, false, false) if changed(comparison, &comparison.operations) => ComparisonVerdict::Changed,
        (None, false, false) => ComparisonVerdict::Unchanged,
    }
}

/// Whether the mean latency moved, significantly and far enough.
fn moved(latency: &LatencyChange, settings: &CompareSettings) -> Option<ComparisonVerdict> {
    let large = latency.total.change_ns.abs() >= settings.change_min * latency.before_ns;
    if latency.total.p_value > settings.level || !large {
        return None;
    }
    Some(if latency.total.change_ns > 0.0 { ComparisonVerdict::Slower } else { ComparisonVerdict::Faster })
}

fn changed(comparison: &Comparison, operations: &[OperationChange]) -> bool {
    operations.iter().any(|operation| operation.change != Change::None)
        || comparison.shapes.iter().any(|shape| shape.significant)
}
