//! Categories, clocks, heat map and latency histogram as the report shows them.

use crate::findings::JudgedCategory;
use crate::operations::operation_text;
use crate::report::Context;
use crate::sampling::estimated;
use crate::survey::SurveyedCategory;
use laggard_localize::CategoryCalls;
use laggard_model::Fingerprint;
use laggard_numeric::{Weights, weighted_coefficient_of_variation, weighted_quantiles};
use laggard_report::{Category, Clocks, HeatCell, HeatMap, LatencySplit, Suspect, TreeNode};
use std::collections::{BTreeMap, BTreeSet};

/// All categories, the most requests first.
pub(crate) fn categories(context: &Context<'_>, suspects: &[Suspect]) -> Vec<Category> {
    let judged: BTreeMap<_, usize> =
        context.categories.iter().enumerate().map(|(at, category)| (category.id, at)).collect();
    let all: Vec<(&Fingerprint, &SurveyedCategory)> = context.survey.categories.iter().collect();
    let mut out = context.engine.map(&all, |&(id, surveyed)| {
        let at = judged.get(id).copied();
        let tree = at.map_or_else(Vec::new, |at| tree_if_suspect(context, at, suspects));
        Category { tree, ..category(context, id, surveyed, at) }
    });
    out.sort_by(|a, b| b.requests.cmp(&a.requests).then(a.id.cmp(&b.id)));
    out
}

fn category(
    context: &Context<'_>,
    id: &Fingerprint,
    surveyed: &SurveyedCategory,
    judged: Option<usize>,
) -> Category {
    let finding = judged.map(|at| &context.found.categories[at]);
    let entry = context.requests.names().operation_key(surveyed.positions[0].operation);
    let latencies: Vec<f64> = surveyed.requests.iter().map(|row| row.latency_ns as f64).collect();
    let each: Vec<f64> = surveyed.requests.iter().map(|row| f64::from(row.weight)).collect();
    let weights = Weights::of(&each);
    let [p50, p99] = weighted_quantiles(&latencies, weights, [0.5, 0.99]);
    let spread = |found: &JudgedCategory| found.gate.cv;
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
        tree: Vec::new(),
    }
}

/// The call tree of a category that holds a shown suspect, else nothing.
fn tree_if_suspect(context: &Context<'_>, at: usize, suspects: &[Suspect]) -> Vec<TreeNode> {
    let shown = &context.found.suspects[..suspects.len()];
    if !shown.iter().any(|suspect| suspect.categories.contains(&at)) {
        return Vec::new();
    }
    let category = &context.categories[at];
    let finding = &context.found.categories[at];
    let times = times_by_position(category);
    (0..category.positions.len())
        .map(|position| {
            let rank = shown.iter().position(|suspect| suspect.positions.contains(&(at, position as u32)));
            tree_node(context, category, finding, position, &times[position], rank)
        })
        .collect()
}

fn tree_node(
    context: &Context<'_>,
    category: &CategoryCalls,
    finding: &JudgedCategory,
    position: usize,
    times: &CallTimes,
    rank: Option<usize>,
) -> TreeNode {
    let place = category.positions[position];
    let key = context.requests.names().operation_key(place.operation);
    let decomposed = finding.positions.as_ref().map(|positions| positions[position]);
    let [p50, p99] = weighted_quantiles(&times.times_ns, Weights::of(&times.weights), [0.5, 0.99]);
    TreeNode {
        parent: place.parent,
        service: key.service.to_owned(),
        operation: key.operation.to_owned(),
        self_p50_ns: p50 as u64,
        self_p99_ns: p99 as u64,
        calls_mean: times.weights.iter().sum::<f64>() / estimated(&category.requests),
        suspect: rank.map(|rank| rank as u32 + 1),
        slow_requests: decomposed.map_or(0, |found| found.slow_requests),
        cosine: decomposed.and_then(|found| found.cosine),
        share: decomposed.map(|found| found.share),
    }
}

/// Times of single calls at one position, and what their requests stand for.
#[derive(Clone, Default)]
struct CallTimes {
    times_ns: Vec<f64>,
    weights: Vec<f64>,
}

fn times_by_position(category: &CategoryCalls) -> Vec<CallTimes> {
    let mut times = vec![CallTimes::default(); category.positions.len()];
    for call in &category.calls {
        let at = &mut times[call.position as usize];
        at.times_ns.push(call.time_ns as f64);
        at.weights.push(f64::from(category.requests[call.request as usize].weight));
    }
    times
}

/// What is known of the clocks.
pub(crate) fn clocks(context: &Context<'_>) -> Clocks {
    let names = context.requests.names();
    let pairs = context.requests.clocks().pairs();
    let agreeing = || pairs.iter().filter(|(_, bounds)| bounds.agree());
    let worst = pairs
        .iter()
        .filter(|(_, bounds)| !bounds.agree())
        .max_by_key(|(pair, bounds)| (bounds.proven_skew(), std::cmp::Reverse(*pair)));
    Clocks {
        pairs: pairs.len() as u64,
        agreeing_pairs: agreeing().count() as u64,
        max_proven_skew_ns: worst.map_or(0, |(_, bounds)| bounds.proven_skew().ns()),
        worst_pair: worst.map(|((caller, callee), _)| {
            [names.replica_name(*caller).to_owned(), names.replica_name(*callee).to_owned()]
        }),
        max_possible_skew_ns: agreeing().map(|(_, bounds)| bounds.possible_skew().ns()).max().unwrap_or(0),
    }
}

/// Rows and columns a heat map has room for.
const HEAT_ROWS: usize = 12;
const HEAT_COLUMNS: usize = 120;

/// Operation x replica over the first suspects: culprits first, then the slowest.
pub(crate) fn heat_map(context: &Context<'_>) -> Option<HeatMap> {
    let rows: Vec<_> = context.found.suspects.iter().take(HEAT_ROWS).collect();
    if rows.is_empty() {
        return None;
    }
    let mut columns: BTreeMap<_, (bool, f64)> = BTreeMap::new();
    for cell in rows.iter().flat_map(|row| &row.cells) {
        let column = columns.entry(cell.test.replica).or_insert((false, 0.0));
        column.0 |= cell.culprit;
        column.1 = column.1.max(cell.factor_mean);
    }
    let mut order: Vec<_> = columns.into_iter().collect();
    order.sort_by(|(a, (a_culprit, a_factor)), (b, (b_culprit, b_factor))| {
        b_culprit.cmp(a_culprit).then(b_factor.total_cmp(a_factor)).then(a.cmp(b))
    });
    let omitted = order.len().saturating_sub(HEAT_COLUMNS);
    order.truncate(HEAT_COLUMNS);
    let names = context.requests.names();
    let cell_of = |row: &laggard_localize::SuspectOperation, replica| {
        row.cells.iter().find(|cell| cell.test.replica == replica).map(|cell| HeatCell {
            calls: cell.test.calls,
            slow: cell.test.exceeding,
            factor: cell.factor_mean,
            flagged: cell.culprit && !row.replicas.is_empty(),
        })
    };
    Some(HeatMap {
        operations: rows.iter().map(|row| operation_text(context, row.operation)).collect(),
        replicas: order.iter().map(|(replica, _)| names.replica_name(*replica).to_owned()).collect(),
        replicas_omitted: omitted as u64,
        cells: rows.iter().flat_map(|row| order.iter().map(|&(replica, _)| cell_of(row, replica))).collect(),
    })
}

const HISTOGRAM_BINS: usize = 40;

/// Latencies of requests in the suspects' categories, by whether a suspect hit them.
pub(crate) fn latency_split(context: &Context<'_>) -> Option<LatencySplit> {
    let hit: BTreeSet<_> =
        context.found.suspects.iter().flat_map(|suspect| suspect.hit.iter().copied()).collect();
    let mut paying: BTreeSet<_> = hit.iter().map(|&(category, _)| category).collect();
    paying.extend(context.found.suspects.iter().flat_map(|suspect| &suspect.categories));
    let requests = || {
        paying.iter().flat_map(|&category| {
            let rows = context.categories[category].requests.iter().enumerate();
            rows.map(move |(row, request)| ((category, row as u32), (request.latency_ns as f64).max(1.0)))
        })
    };
    let low = requests().map(|(_, latency)| latency).reduce(f64::min)?;
    let high = requests().map(|(_, latency)| latency).fold(low * 1.01, f64::max);
    let step = (high / low).ln() / HISTOGRAM_BINS as f64;
    let mut out = LatencySplit {
        edges_ns: (0..=HISTOGRAM_BINS).map(|edge| low * (step * edge as f64).exp()).collect(),
        hit: vec![0; HISTOGRAM_BINS],
        unhit: vec![0; HISTOGRAM_BINS],
    };
    for (at, latency) in requests() {
        let bin = (((latency / low).ln() / step) as usize).min(HISTOGRAM_BINS - 1);
        let counts = if hit.contains(&at) { &mut out.hit } else { &mut out.unhit };
        counts[bin] += 1;
    }
    Some(out)
}
