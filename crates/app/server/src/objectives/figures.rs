//! The figures of an objective: its share of good requests, its error budget, burn rates, and how they were over time.

use super::block::{BLOCK, Block, BlockCounts, Count, blocks_of, sum};
use super::burn::{BurnRate, burn_rate, burn_rates, window_count};
use crate::settings::ObjectiveSettings;
use laggard_model::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// Maximum number of burn rates over time.
const STEPS: i64 = 168;

/// The figures of an objective over its period.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct ObjectiveFigures {
    /// Complete requests.
    pub(crate) requests: u64,
    /// Bad ones among them.
    pub(crate) bad: u64,
    /// Requests whose trace is not complete: neither good nor bad.
    pub(crate) incomplete: u64,
    /// How many requests the complete ones represent, where the traces are sampled; otherwise as many.
    pub(crate) represented: f64,
    /// Share of good requests, those represented included; absent without complete requests.
    pub(crate) good_share: Option<f64>,
    /// Requests that may be bad, of those so far.
    pub(crate) budget: f64,
    /// Part of the budget that is left, 1 for all; below 0 if more is used up. Absent without complete requests.
    pub(crate) budget_left: Option<f64>,
    /// Start of the first five minutes with requests.
    pub(crate) since_ns: Option<i64>,
    /// Length of all five minutes with complete requests together: of the other time nothing is known.
    pub(crate) covered_ns: u64,
    /// Five minutes whose stored requests are still to be counted.
    pub(crate) uncounted: u64,
    /// Over windows that end now, the shortest first.
    pub(crate) burn_rates: Vec<BurnRate>,
    /// Over the period.
    pub(crate) history: BurnHistory,
}

/// Burn rates over time.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct BurnHistory {
    /// Start of the first step.
    pub(crate) since_ns: i64,
    /// Length of a step.
    pub(crate) step_ns: u64,
    /// By step; null without complete requests.
    pub(crate) burn_rate: Vec<Option<f64>>,
}

/// Part of the error budget of these requests that is left.
pub(super) fn budget_left(count: &Count, allowed: f64) -> Option<f64> {
    burn_rate(count, allowed).map(|rate| 1.0 - rate)
}

/// The figures of an objective at a time.
pub(super) fn figures(
    objective: &ObjectiveSettings,
    counts: &BlockCounts,
    now: Timestamp,
) -> ObjectiveFigures {
    let allowed = objective.allowed_share();
    let count = window_count(counts, objective.period(), now);
    let last = Block::at(now);
    let blocks = || counts.range(last.plus(-blocks_of(objective.period()))..=last);
    let covered = blocks().filter(|(_, count)| count.requests > 0).count();
    ObjectiveFigures {
        requests: count.requests,
        bad: count.bad,
        incomplete: count.incomplete,
        represented: count.weight,
        good_share: count.bad_share().map(|bad| 1.0 - bad),
        budget: allowed * count.weight,
        budget_left: budget_left(&count, allowed),
        since_ns: blocks().next().map(|(block, _)| block.since().unix_ns()),
        covered_ns: covered as u64 * BLOCK.ns(),
        uncounted: 0,
        burn_rates: burn_rates(counts, allowed, now),
        history: history(objective, counts, now),
    }
}

/// Burn rates over steps of whole blocks, the last of which ends with the current block.
fn history(objective: &ObjectiveSettings, counts: &BlockCounts, now: Timestamp) -> BurnHistory {
    let blocks = blocks_of(objective.period());
    let step = (blocks as u64).div_ceil(STEPS as u64) as i64;
    let steps = blocks / step;
    let first = Block::at(now).next().plus(-steps * step);
    let rate = |index: i64| {
        let since = first.plus(index * step);
        burn_rate(&sum(counts, since..=since.plus(step - 1)), objective.allowed_share())
    };
    BurnHistory {
        since_ns: first.since().unix_ns(),
        step_ns: step as u64 * BLOCK.ns(),
        burn_rate: (0..steps).map(rate).collect(),
    }
}
