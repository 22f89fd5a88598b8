//! Categories, and the call trees of those that suspects make slow.

use super::context::Context;
use super::sampling::estimated;
use crate::diagnose::answer::CategoryAnalysis;
use crate::survey::SurveyedCategory;
use laggard_localize::CategoryCalls;
use laggard_model::Fingerprint;
use laggard_numeric::{Weights, weighted_coefficient_of_variation, weighted_quantiles};
use laggard_report::{Category, Suspect, TreeNode};
use std::collections::BTreeMap;

// Limit: categories that a report lists, beside those that were tested | the rest is counted (`categories_omitted`)
const LISTED_MAX: usize = 2_000;

/// Categories, the most requests first, and the number of those that are not listed, if any: the smallest of many.
pub(crate) fn categories(context: &Context<'_>, suspects: &[Suspect]) -> (Vec<Category>, Option<u64>) {
    let analyzed: BTreeMap<_, usize> =
        context.categories().iter().enumerate().map(|(index, category)| (category.id, index)).collect();
    let all: Vec<(&Fingerprint, &SurveyedCategory)> = context.survey().categories.iter().collect();
    let mut out = context.engine.map(&all, |&(id, surveyed)| {
        let index = analyzed.get(id).copied();
        let tree = index.map_or_else(Vec::new, |index| tree_if_suspect(context, index, suspects));
        Category { tree, ..category(context, id, surveyed, index) }
    });
    out.sort_by(|a, b| b.requests.cmp(&a.requests).then(a.id.cmp(&b.id)));
    let found = out.len();
    let mut number = 0;
    out.retain(|category| {
        number += 1;
        number <= LISTED_MAX || category.analyzed
    });
    let omitted = (found - out.len()) as u64;
    (out, (omitted > 0).then_some(omitted))
}

fn category(
    context: &Context<'_>,
    id: &Fingerprint,
    surveyed: &SurveyedCategory,
    index: Option<usize>,
) -> Category {
    let finding = index.map(|index| &context.answer.categories[index]);
    let entry = context.requests.names().operation_key(surveyed.positions[0].operation);
    let latencies: Vec<f64> = surveyed.requests.iter().map(|row| row.latency_ns as f64).collect();
    let each: Vec<f64> = surveyed.requests.iter().map(|row| f64::from(row.weight)).collect();
    let weights = Weights::from_slice(&each);
    let [p50, p99] = weighted_quantiles(&latencies, weights, [0.5, 0.99]);
    let spread = |analysis: &CategoryAnalysis| analysis.gate.cv;
    Category {
        id: id.short(),
        service: entry.service.to_owned(),
        operation: entry.operation.to_owned(),
        requests: surveyed.requests.len() as u64,
        requests_estimated: estimated(&surveyed.requests),
        cv: finding.map_or_else(|| weighted_coefficient_of_variation(&latencies, weights), spread),
        anomalous: finding.is_some_and(|finding| finding.gate.anomalous),
        analyzed: finding.is_some_and(|finding| finding.gate.judged),
        latency_p50_ns: p50 as u64,
        latency_p99_ns: p99 as u64,
        tail_requests: finding.map_or(0, |finding| finding.gate.tail_requests),
        tail_excess_share: finding.map_or(0.0, |finding| finding.gate.tail_excess_share),
        ranks: finding.and_then(|finding| finding.ranks),
        tree: Vec::new(),
    }
}

/// The call tree of a category with a shown suspect; empty for others, and for those with too few requests for figures.
fn tree_if_suspect(context: &Context<'_>, index: usize, suspects: &[Suspect]) -> Vec<TreeNode> {
    let shown = &context.answer.suspects[..suspects.len()];
    if !shown.iter().any(|suspect| suspect.categories.contains(&index)) {
        return Vec::new();
    }
    let category = &context.categories()[index];
    let finding = &context.answer.categories[index];
    let fewest = context.settings.clouddiag.requests_min;
    if finding.positions.is_none() && (category.requests.len() as u64) < fewest {
        return Vec::new();
    }
    let times = times_by_position(category);
    (0..category.positions.len())
        .map(|position| {
            let rank = shown.iter().position(|suspect| suspect.positions.contains(&(index, position as u32)));
            tree_node(context, category, finding, position, &times[position], rank)
        })
        .collect()
}

fn tree_node(
    context: &Context<'_>,
    category: &CategoryCalls,
    finding: &CategoryAnalysis,
    position: usize,
    times: &CallTimes,
    rank: Option<usize>,
) -> TreeNode {
    let node_position = category.positions[position];
    let key = context.requests.names().operation_key(node_position.operation);
    let decomposed = finding.positions.as_ref().map(|positions| positions[position]);
    let [p50, p99] = weighted_quantiles(&times.times_ns, Weights::from_slice(&times.weights), [0.5, 0.99]);
    TreeNode {
        parent: node_position.parent,
        service: key.service.to_owned(),
        operation: key.operation.to_owned(),
        self_p50_ns: p50 as u64,
        self_p99_ns: p99 as u64,
        calls_mean: times.weights.iter().sum::<f64>() / estimated(&category.requests),
        suspect: rank.map(|rank| rank as u32 + 1),
        slow_requests: decomposed.map_or(0, |analysis| analysis.slow_requests),
        cosine: decomposed.and_then(|analysis| analysis.cosine),
        share: decomposed.map(|analysis| analysis.share),
    }
}

/// Times of single calls at one position, and the weights of their requests.
#[derive(Clone, Default)]
struct CallTimes {
    times_ns: Vec<f64>,
    weights: Vec<f64>,
}

fn times_by_position(category: &CategoryCalls) -> Vec<CallTimes> {
    let mut times = vec![CallTimes::default(); category.positions.len()];
    for call in &category.calls {
        let entry = &mut times[call.position as usize];
        entry.times_ns.push(call.time_ns as f64);
        entry.weights.push(f64::from(category.requests[call.request as usize].weight));
    }
    times
}
