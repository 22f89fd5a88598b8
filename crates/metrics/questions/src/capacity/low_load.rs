//! Fits the model to response times at low load: time that neither processors nor calls explain, and work that
//! continues after the response.

use super::fit::{OTHER, delay_tier};
use super::loads::Load;
use super::model::Model;
use crate::sample_summary::cell;
use laggard_capacity::{Solution, System, open_solution};
use laggard_report::TierKind;
use laggard_samples::WindowTable;

/// Maximum utilization of the busiest tier for a load to count as low.
const LOW_LOAD_MAX: f64 = 0.7;

/// Share of the response time below which a difference counts as noise.
const NOISE: f64 = 0.02;

/// Minimum number of low loads.
const LOADS_MIN: usize = 5;

/// Minimum share of a demand before the response.
const ANSWERED_MIN: f64 = 0.02;

const OTHER_SOURCE: &str =
    "Response time at low load that processors and calls do not explain; the same at every load.";

/// Sums of the times of one transaction type over low loads.
#[derive(Clone, Copy, Default)]
struct Time {
    transactions: f64,
    /// Measured response time.
    response_s: f64,
    /// Time at the front tier, by the model.
    front_s: f64,
    /// Time at other tiers, by the model.
    elsewhere_s: f64,
}

impl Time {
    /// Measured minus modeled time.
    fn residual_s(&self) -> f64 {
        self.response_s - self.front_s - self.elsewhere_s
    }
}

/// Fits the model to the response times at low load, by type. If they are longer than modeled, the difference becomes a
/// delay; if they are shorter, part of the work at the front tier is done after the response. Differences within the noise
/// are ignored. Returns a sentence about work after the response.
pub(super) fn fit_low_load(table: &WindowTable, model: &mut Model, loads: &[Load]) -> Option<String> {
    let low_loads: Vec<&Load> = loads.iter().filter(|load| is_low_load(&model.system, load)).collect();
    if low_loads.len() < LOADS_MIN {
        return None;
    }
    let mut times = vec![Time::default(); table.transactions.len()];
    for load in low_loads {
        let solution =
            model.network(&load.counts).and_then(|network| open_solution(&network, load.throughput()));
        if let Some(solution) = solution {
            add(table, model, load, &solution, &mut times);
        }
    }
    let all_s: f64 = times.iter().map(|time| time.response_s).sum();
    let longer_s: f64 = times.iter().map(|time| time.residual_s().max(0.0)).sum();
    let shorter_s: f64 = times.iter().map(|time| (-time.residual_s()).max(0.0)).sum();
    if longer_s > NOISE * all_s {
        let mean = |time: &Time| match time.transactions > 0.0 {
            true => (time.residual_s() / time.transactions).max(0.0),
            false => 0.0,
        };
        let demands_s = times.iter().map(mean).collect();
        model.add(delay_tier(OTHER, TierKind::Other, demands_s, OTHER_SOURCE));
    }
    (shorter_s > NOISE * all_s).then(|| after_the_response(model, &times, shorter_s / all_s))
}

fn is_low_load(system: &System, load: &Load) -> bool {
    load.response_s.is_finite()
        && system.tiers.iter().all(|tier| tier.utilization(&load.counts, load.throughput()) < LOW_LOAD_MAX)
}

fn add(table: &WindowTable, model: &Model, load: &Load, solution: &Solution, times: &mut [Time]) {
    let front = &model.system.tiers[model.front()];
    let stretch = front.stretch(&load.counts, solution.stations[model.front()].residence_s);
    for (column, time) in times.iter_mut().enumerate() {
        let front_s = front.demands_s[column] * stretch;
        let elsewhere_s = model.system.response_s(column, &load.counts, solution) - front_s;
        for window in load.first..=load.last {
            let count = cell(&table.system.counts, window, column);
            let response_s = cell(&table.system.response_s, window, column);
            if count > 0.0 && response_s.is_finite() {
                time.transactions += count;
                time.response_s += count * response_s;
                time.front_s += count * front_s;
                time.elsewhere_s += count * elsewhere_s;
            }
        }
    }
}

fn after_the_response(model: &mut Model, times: &[Time], share: f64) -> String {
    let front = model.front();
    for (column, time) in times.iter().enumerate() {
        if time.residual_s() < 0.0 && time.front_s > 0.0 {
            let answered = (time.response_s - time.elsewhere_s) / time.front_s;
            model.system.tiers[front].answered[column] = answered.clamp(ANSWERED_MIN, 1.0);
        }
    }
    model.tiers[front].answered.clone_from(&model.system.tiers[front].answered);
    format!(
        "Response times at low load are {:.0} % shorter than the CPU time of transactions: the difference is treated as \
         work after the response, such as objects that a page embeds. It uses the CPU, but is not in the response time.",
        100.0 * share
    )
}
