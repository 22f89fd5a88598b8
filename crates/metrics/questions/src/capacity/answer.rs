//! The capacity for each observed load, and the smallest of them.

use super::loads::Load;
use super::model::{Model, shares, work_per_solution};
use crate::sample_summary::window_start;
use laggard_capacity::{
    Network, Solution, WORK_MAX, bounds, curve, most_clients, most_throughput, open_solution,
};
use laggard_numeric::median_of;
use laggard_report::{CapacityAnswer, CurvePoint, TransactionResponse, Window, WindowCapacity};
use laggard_samples::WindowTable;

/// Number of points of a curve.
const POINTS: u64 = 80;

/// End of a curve as a multiple of the capacity.
const BEYOND: f64 = 1.3;

/// The latency target and the limit of the search.
#[derive(Clone, Copy, Debug)]
pub(super) struct LatencyTarget {
    /// Mean response time in seconds.
    pub(super) latency_max_s: f64,
    /// Number of clients at which the search ends.
    pub(super) clients_max: u64,
}

/// The capacity for one mix.
#[derive(Clone, Debug)]
pub(super) struct Most {
    /// Number of clients; `None` if those are unknown.
    pub(super) clients: Option<u64>,
    at_limit: bool,
    /// The load there.
    pub(super) solution: Solution,
}

impl Most {
    /// Number of clients, or the rate if those are unknown.
    fn amount(&self) -> f64 {
        self.clients.map_or(self.solution.throughput, |clients| clients as f64)
    }
}

/// The capacity of a network.
pub(super) fn most(model: &Model, network: &Network, target: LatencyTarget, work_max: f64) -> Most {
    if model.is_closed() {
        let result = most_clients(network, target.latency_max_s, target.clients_max, work_max);
        return Most { clients: Some(result.clients), at_limit: result.at_limit, solution: result.solution };
    }
    let idle = || open_solution(network, 0.0).expect("no load saturates nothing");
    let result = most_throughput(network, target.latency_max_s);
    let without_queue = result.is_none() && network.bottleneck().is_none();
    Most { clients: None, at_limit: without_queue, solution: result.unwrap_or_else(idle) }
}

/// The answer for the observed mixes, or for a requested mix. `None` if no transaction takes any time.
pub(super) fn answer(
    table: &WindowTable,
    model: &Model,
    loads: &[Load],
    requested_mix: Option<&[f64]>,
    target: LatencyTarget,
) -> Option<CapacityAnswer> {
    let observed: Vec<&Load> = loads.iter().filter(|load| model.network(&load.counts).is_some()).collect();
    let windows =
        if requested_mix.is_some() { Vec::new() } else { by_window(table, model, &observed, target) };
    let binding = least_allowing(&windows);
    let mix = match (requested_mix, binding) {
        (Some(mix), _) => shares(mix),
        (None, Some(index)) => shares(&observed[index].counts),
        (None, None) => return None,
    };
    let network = model.network(&mix)?;
    let most = most(model, &network, target, WORK_MAX);
    let limits = bounds(&network);
    let until = end_of_curve(&most, loads, limits.knee_clients);
    let all = requested_mix.is_none().then(|| model.network(&model.mix)).flatten();
    Some(CapacityAnswer {
        clients: most.clients,
        at_limit: most.at_limit,
        throughput: most.solution.throughput,
        response_s: most.solution.response_s,
        bottleneck: limits.bottleneck.map_or_else(String::new, |index| model.tiers[index].tier.clone()),
        algorithm: most.solution.algorithm.name().to_owned(),
        exact: most.solution.algorithm.is_exact(),
        limiting_window: binding.map(|index| index as u32),
        clients_median: median_over(&windows, |row| row.clients.map(|clients| clients as f64)),
        throughput_median: median_over(&windows, |row| Some(row.throughput))
            .unwrap_or(most.solution.throughput),
        windows,
        throughput_limit: limits.throughput_max.is_finite().then_some(limits.throughput_max),
        knee_clients: Some(limits.knee_clients).filter(|knee| knee.is_finite() && model.is_closed()),
        tiers: model.tier_loads(&mix, &most.solution),
        transactions: responses(model, &mix, &most.solution),
        curve: points(model, &network, &mix, until),
        curve_all: all.map_or_else(Vec::new, |network| points(model, &network, &model.mix, until)),
        mix,
    })
}

fn by_window(
    table: &WindowTable,
    model: &Model,
    loads: &[&Load],
    target: LatencyTarget,
) -> Vec<WindowCapacity> {
    let work_max = work_per_solution(loads.len());
    let mut last: Option<(Vec<f64>, Most)> = None;
    let mut rows = Vec::new();
    for load in loads {
        let mix = shares(&load.counts);
        let result = match &last {
            Some((same, result)) if *same == mix => result.clone(),
            _ => {
                let network = model.network(&mix).expect("every load has a network");
                most(model, &network, target, work_max)
            }
        };
        rows.push(row(table, load, &result));
        last = Some((mix, result));
    }
    rows
}

fn row(table: &WindowTable, load: &Load, result: &Most) -> WindowCapacity {
    WindowCapacity {
        time: Window { since: window_start(table, load.first), until: window_start(table, load.last + 1) },
        transactions: load.transactions().round() as u64,
        clients: result.clients,
        throughput: result.solution.throughput,
    }
}

/// Index of the smallest capacity, by clients or by rate; ties: the first.
fn least_allowing(windows: &[WindowCapacity]) -> Option<usize> {
    let amount = |row: &WindowCapacity| row.clients.map_or(row.throughput, |clients| clients as f64);
    let mut result: Option<usize> = None;
    for (index, row) in windows.iter().enumerate() {
        if result.is_none_or(|best| amount(row) < amount(&windows[best])) {
            result = Some(index);
        }
    }
    result
}

fn median_over(windows: &[WindowCapacity], value: impl Fn(&WindowCapacity) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<f64>> = windows.iter().map(value).collect();
    values.filter(|values| !values.is_empty()).map(|values| median_of(&values))
}

fn responses(model: &Model, mix: &[f64], solution: &Solution) -> Vec<TransactionResponse> {
    let value = |(index, name): (usize, &String)| TransactionResponse {
        transaction: name.clone(),
        share: mix[index],
        response_s: model.system.response_s(index, mix, solution),
    };
    model.transactions.iter().enumerate().map(value).collect()
}

/// Clients (or the rate) at the right end of the curves: beyond the capacity and the observed loads.
fn end_of_curve(most: &Most, loads: &[Load], knee: f64) -> f64 {
    let observed = loads.iter().map(|load| match most.clients {
        Some(_) => load.clients,
        None => load.throughput(),
    });
    let peak = observed.filter(|value| value.is_finite()).fold(0.0, f64::max);
    let least_allowing = if most.amount() <= 0.0 && peak <= 0.0 && knee.is_finite() { knee } else { 0.0 };
    (BEYOND * most.amount()).max(1.1 * peak).max(least_allowing).max(1.0)
}

fn points(model: &Model, network: &Network, mix: &[f64], until: f64) -> Vec<CurvePoint> {
    let solutions = match model.is_closed() {
        true => {
            let mut clients: Vec<u64> =
                (1..=POINTS).map(|index| (until * index as f64 / POINTS as f64).ceil() as u64).collect();
            clients.dedup();
            curve(network, &clients, WORK_MAX)
        }
        false => {
            let rates = (1..=POINTS).map(|index| until * index as f64 / POINTS as f64);
            rates.filter_map(|rate| open_solution(network, rate)).collect()
        }
    };
    let point = |solution: Solution| CurvePoint {
        clients: solution.clients,
        throughput: solution.throughput,
        response_s: solution.response_s,
        utilization: model.utilization(mix, solution.throughput),
    };
    solutions.into_iter().map(point).collect()
}
