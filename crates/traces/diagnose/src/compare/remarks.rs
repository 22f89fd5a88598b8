//! Remarks of a comparison: what was tested and did not change, and what limits trust in the answer.

use super::ComparedPopulation;
use super::fold::PopulationSummary;
use super::paths::complete;
use laggard_engine::Thinning;
use laggard_report::{Change, Comparison};

/// Below this share of requests with a call tree of both sets, a caution is added.
const COMMON_LEAST: f64 = 0.5;

/// Above this share of incomplete requests, a caution is added.
const PARTIAL_MOST: f64 = 0.05;

pub(super) fn ruled_out(comparison: &Comparison) -> Vec<String> {
    let mut out = vec![];
    let unchanged = comparison.operations.iter().filter(|operation| operation.change == Change::None).count();
    if unchanged > 0 {
        out.push(format!(
            "No difference beyond chance and the usual variation in {unchanged} of {} operations.",
            comparison.operations.len()
        ));
    }
    let by_chance = comparison.shapes.iter().filter(|shape| !shape.significant).count();
    if by_chance > 0 {
        let shapes = if by_chance == 1 { "shape is" } else { "shapes are" };
        out.push(format!(
            "{by_chance} call-tree {shapes} in one of the sets only, but so rare there that this can be chance."
        ));
    }
    out
}

pub(super) fn cautions(
    sets: [&PopulationSummary; 2],
    populations: [&ComparedPopulation<'_>; 2],
    comparison: &Comparison,
) -> Vec<String> {
    let mut out = vec![];
    for ((name, set), populations) in ["before", "after"].into_iter().zip(sets).zip(populations) {
        if complete(set) == 0 {
            out.push(format!(
                "The set {name} (`{}`) has no complete request.",
                populations.label.replace('`', "'")
            ));
            continue;
        }
        if set.partial as f64 > PARTIAL_MOST * set.requests as f64 {
            out.push(format!(
                "{} of {} requests {name} are incomplete and were left out.",
                set.partial, set.requests
            ));
        }
        if populations.population.requests.thinning_factor() > 1 {
            out.push(format!(
                "Only one trace in {} was retained {name}, to stay within the memory limit; counts are of retained traces.",
                populations.population.requests.thinning_factor()
            ));
        }
        if let Some(depth) = set.paths.pooled_below() {
            out.push(format!(
                "There were too many call paths {name}: calls deeper than {} are pooled as (other).",
                depth + 1
            ));
        }
    }
    // Both windows are of requests that were selected together.
    out.extend(populations[1].population.requests.thinning().map(thinned));
    out.extend(few_in_common(sets));
    let overlapping = windows_overlap(populations);
    if overlapping && !comparison.operations.is_empty() {
        out.push("The two windows overlap: requests in both make the sets more similar.".to_owned());
    }
    out
}

/// How requests were selected from more than fit in memory.
fn thinned(thinning: &Thinning) -> String {
    let Thinning { all, selected, one_in_most, .. } = thinning;
    format!(
        "Only {} of {} requests, with {} of {} calls, were compared, to stay within the limit of calls: one in {one_in_most}, selected by \
         a hash of each. Counts are of those that were compared.",
        selected.requests, all.requests, selected.calls, all.calls
    )
}

fn few_in_common(sets: [&PopulationSummary; 2]) -> Option<String> {
    let [before, after] = sets;
    if complete(before) == 0 || complete(after) == 0 {
        return None;
    }
    let common: u64 = (after.categories.iter())
        .filter(|(id, _)| before.categories.contains_key(id))
        .map(|(_, category)| category.latency.count())
        .sum();
    let share = common as f64 / complete(after) as f64;
    (share < COMMON_LEAST).then(|| {
        format!(
            "Only {:.0} % of the requests after have a call tree that was there before: \"same requests slower\" refers to those.",
            100.0 * share
        )
    })
}

/// Whether more than one instant is in both: windows that follow each other have that one in common.
fn windows_overlap(populations: [&ComparedPopulation<'_>; 2]) -> bool {
    let [before, after] = populations.map(|set| set.population);
    let same = std::ptr::eq(before.requests, after.requests);
    same && before.since < after.until && after.since < before.until
}
