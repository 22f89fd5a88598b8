//! Compares the model with the observations.

use super::loads::Load;
use super::model::{Model, work_per_solution};
use crate::sample_summary::window_start;
use laggard_capacity::Solution;
use laggard_report::{ClientsBasis, ModelAccuracy, ObservedLoad, TierError, Trust};
use laggard_samples::WindowTable;

/// Maximum errors for good and for fair trust.
const GOOD: f64 = 0.1;
const FAIR: f64 = 0.2;

/// An observed load and the model's solution for it.
pub(super) struct Compared<'a> {
    load: &'a Load,
    model: Option<Solution>,
}

pub(super) fn compare<'a>(model: &Model, loads: &'a [Load]) -> Vec<Compared<'a>> {
    let work_max = work_per_solution(loads.len());
    loads.iter().map(|load| Compared { load, model: model.solve(load, work_max) }).collect()
}

/// Weighted sums of deviations and of observed values.
#[derive(Clone, Copy, Default)]
struct Deviation {
    absolute: f64,
    signed: f64,
    observed: f64,
}

impl Deviation {
    fn add(&mut self, model: f64, observed: f64, weight: f64) {
        if model.is_finite() && observed.is_finite() && weight > 0.0 {
            self.absolute += weight * (model - observed).abs();
            self.signed += weight * (model - observed);
            self.observed += weight * observed;
        }
    }

    fn error(&self) -> Option<f64> {
        (self.observed > 0.0).then(|| self.absolute / self.observed)
    }

    fn bias(&self) -> Option<f64> {
        (self.observed > 0.0).then(|| self.signed / self.observed)
    }
}

pub(super) fn accuracy(model: &Model, compared: &[Compared<'_>]) -> ModelAccuracy {
    let (mut throughput, mut response) = (Deviation::default(), Deviation::default());
    let mut used = vec![Deviation::default(); model.tiers.len()];
    for Compared { load, model: solution } in compared {
        let Some(solution) = solution else { continue };
        if model.is_closed() {
            throughput.add(solution.throughput, load.throughput(), load.seconds);
        }
        response.add(solution.response_s, load.response_s, load.transactions());
        let model_used = model.utilization(&load.counts, solution.throughput);
        for (tier, sum) in used.iter_mut().enumerate() {
            let observed = load.utilization.get(tier).copied().unwrap_or(f64::NAN);
            sum.add(model_used[tier].unwrap_or(f64::NAN), observed, load.seconds);
        }
    }
    let tiers = model.tiers.iter().zip(&used);
    let utilization: Vec<TierError> = tiers
        .filter_map(|(tier, sum)| Some(TierError { tier: tier.tier.clone(), error: sum.error()? }))
        .collect();
    let errors = [throughput.error(), response.error()].into_iter().flatten();
    let worst = errors.chain(utilization.iter().map(|tier| tier.error)).fold(0.0, f64::max);
    let trust = match response.error() {
        // Without response times it is unknown whether the model includes all of the time.
        None => Trust::Poor,
        Some(_) if worst <= GOOD => Trust::Good,
        Some(_) if worst <= FAIR => Trust::Fair,
        Some(_) => Trust::Poor,
    };
    ModelAccuracy {
        intervals: compared.iter().filter(|row| row.model.is_some()).count() as u64,
        throughput: throughput.error(),
        response: response.error(),
        response_bias: response.bias(),
        utilization,
        trust,
    }
}

/// The observed loads, for charts.
pub(super) fn observed(table: &WindowTable, model: &Model, compared: &[Compared<'_>]) -> Vec<ObservedLoad> {
    let known = |value: f64| value.is_finite().then_some(value);
    let row = |Compared { load, model: solution }: &Compared<'_>| ObservedLoad {
        since: window_start(table, load.first),
        until: window_start(table, load.last + 1),
        clients: known(load.clients),
        throughput: load.throughput(),
        response_s: known(load.response_s),
        utilization: (0..model.tiers.len())
            .map(|tier| load.utilization.get(tier).copied().and_then(known))
            .collect(),
        model_throughput: solution.as_ref().filter(|_| model.is_closed()).map(|solution| solution.throughput),
        model_response_s: solution.as_ref().map(|solution| solution.response_s),
    };
    compared.iter().map(row).collect()
}

/// Limitations of the model, as sentences.
pub(super) fn cautions(model: &Model, accuracy: &ModelAccuracy) -> Vec<String> {
    let mut cautions = Vec::new();
    let errors =
        [("throughput".to_owned(), accuracy.throughput), ("the response time".to_owned(), accuracy.response)];
    let tiers = accuracy
        .utilization
        .iter()
        .map(|tier| (format!("the utilization of `{}`", tier.tier), Some(tier.error)));
    for (what, error) in errors.into_iter().chain(tiers) {
        match error {
            Some(error) if error > FAIR => cautions.push(format!(
                "The model misses {what} by {:.0} %: its answer is a rough guess.",
                100.0 * error
            )),
            Some(error) if error > GOOD => cautions.push(format!(
                "The model misses {what} by {:.0} %: leave a margin at least as large.",
                100.0 * error
            )),
            _ => {}
        }
    }
    if accuracy.response.is_none() {
        cautions.push(
            "No response times were measured, so the model's response times cannot be checked: it includes only waits \
             for these processors."
                .to_owned(),
        );
    }
    if model.clients == ClientsBasis::FromThinkTime {
        cautions.push(
            "The number of clients is not measured but computed from throughput, response time and the specified think \
             time."
                .to_owned(),
        );
    }
    cautions
}
