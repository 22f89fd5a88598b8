//! What response times at calm load tell beside processors and calls: time that nothing explains, and work that
//! goes on after the answer.

use super::fit::{OTHER, delay_tier};
use super::loads::{Load, cell};
use super::model::Model;
use laggard_capacity::{Solution, System, open_solution};
use laggard_report::TierKind;
use laggard_samples::WindowTable;

/// Utilization of the busiest tier up to which a stretch tells what is no queueing.
const CALM: f64 = 0.7;

/// Part of the response time below which a difference counts as noise.
const NOISE: f64 = 0.02;

/// Stretches that must tell.
const STRETCHES_MIN: usize = 5;

/// Least share of a demand before the answer.
const ANSWERED_MIN: f64 = 0.02;

const OTHER_SOURCE: &str =
    "Response time at calm load that processors and calls do not explain; the same at every load.";

/// Time of one transaction type over calm stretches.
#[derive(Clone, Copy, Default)]
struct Time {
    transactions: f64,
    /// Measured.
    response_s: f64,
    /// At the front tier, by the model.
    front_s: f64,
    /// Elsewhere, by the model.
    elsewhere_s: f64,
}

impl Time {
    /// Measured less modeled.
    fn left_s(&self) -> f64 {
        self.response_s - self.front_s - self.elsewhere_s
    }
}

/// Fits the model to the response times at calm load, by type. Where they are longer than it says, the rest is a
/// delay of its own; where they are shorter, a part of the work at the front tier comes after the answer.
/// Differences of next to nothing are left alone. Returns a sentence about work after the answer.
pub(super) fn fit_calm(table: &WindowTable, model: &mut Model, loads: &[Load]) -> Option<String> {
    let calm: Vec<&Load> = loads.iter().filter(|load| is_calm(&model.system, load)).collect();
    if calm.len() < STRETCHES_MIN {
        return None;
    }
    let mut times = vec![Time::default(); table.transactions.len()];
    for load in calm {
        let solution = model.network(&load.counts).and_then(|it| open_solution(&it, load.throughput()));
        if let Some(solution) = solution {
            add(table, model, load, &solution, &mut times);
        }
    }
    let all_s: f64 = times.iter().map(|time| time.response_s).sum();
    let longer_s: f64 = times.iter().map(|time| time.left_s().max(0.0)).sum();
    let shorter_s: f64 = times.iter().map(|time| (-time.left_s()).max(0.0)).sum();
    if longer_s > NOISE * all_s {
        let mean = |time: &Time| match time.transactions > 0.0 {
            true => (time.left_s() / time.transactions).max(0.0),
            false => 0.0,
        };
        let demands_s = times.iter().map(mean).collect();
        model.add(delay_tier(OTHER, TierKind::Other, demands_s, OTHER_SOURCE));
    }
    (shorter_s > NOISE * all_s).then(|| after_the_answer(model, &times, shorter_s / all_s))
}

fn is_calm(system: &System, load: &Load) -> bool {
    load.response_s.is_finite()
        && system.tiers.iter().all(|tier| tier.utilization(&load.counts, load.throughput()) < CALM)
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

fn after_the_answer(model: &mut Model, times: &[Time], share: f64) -> String {
    let front = model.front();
    for (at, time) in times.iter().enumerate() {
        if time.left_s() < 0.0 && time.front_s > 0.0 {
            let answered = (time.response_s - time.elsewhere_s) / time.front_s;
            model.system.tiers[front].answered[at] = answered.clamp(ANSWERED_MIN, 1.0);
        }
    }
    model.tiers[front].answered.clone_from(&model.system.tiers[front].answered);
    format!(
        "Response times at calm load are shorter than the CPU time transactions take, by {:.0} %: that part is taken \
         as work after the answer, like objects that a page embeds. It competes, but is not in the response time.",
        100.0 * share
    )
}
