//! From observations to tiers with demands.

use super::loads::{Load, ServerGroup, cell};
use super::model::Model;
use crate::sample_summary::seconds;
use laggard_capacity::{BACKGROUND_MAX, Service, System, Tier, busy_demand, open_solution};
use laggard_changes::{FittedModel, ModelSettings, Observations, fit_model};
use laggard_numeric::Matrix;
use laggard_report::{TierKind, TierModel};
use laggard_samples::WindowTable;

/// Name of the part of the response time that nothing else explains.
pub(super) const OTHER: &str = "other";

/// Utilization of the busiest tier up to which a stretch tells what is no queueing.
const CALM: f64 = 0.7;

/// Part of the response time below which what is unexplained counts as noise.
const OTHER_MIN: f64 = 0.05;

/// Stretches that must tell of unexplained time.
const OTHER_STRETCHES_MIN: usize = 5;

/// A tier from the utilization of its servers.
pub(super) fn cpu_tier(table: &WindowTable, group: &ServerGroup, windows: &[usize]) -> (Tier, TierModel) {
    let types = table.transactions.len();
    let rows: Vec<usize> =
        windows.iter().copied().filter(|window| group.utilization(table, *window).is_finite()).collect();
    let observations = observations(table, group, &rows);
    let fitted = fit_model(&observations, &[0..rows.len()], &ModelSettings::default()).ok();
    let usable = fitted.filter(|fit| fit.model.demand_s.iter().any(|demand_s| *demand_s > 0.0));
    let (demands_s, background, low_s, high_s, source) = match usable {
        Some(fit) => from_fit(&fit),
        None => from_law(&observations, types),
    };
    let service = Service::Queue { cores: group.cores };
    let replicas = group.servers.len() as u32;
    let tier = Tier { demands_s: demands_s.clone(), replicas, service, background };
    let shown = TierModel {
        tier: group.name.clone(),
        kind: TierKind::Cpu,
        servers: replicas,
        cores: Some(group.cores),
        demands_s,
        low_s,
        high_s,
        mean_s: f64::NAN,
        background,
        source,
    };
    (tier, shown)
}

fn observations(table: &WindowTable, group: &ServerGroup, rows: &[usize]) -> Observations {
    let types = table.transactions.len();
    let mut counts = Matrix::zeros(rows.len(), types);
    for (at, &window) in rows.iter().enumerate() {
        for column in 0..types {
            let count = cell(&table.system.counts, window, column);
            counts.set(at, column, if count.is_finite() { count.max(0.0) } else { 0.0 });
        }
    }
    Observations {
        window_s: seconds(table.length),
        windows: rows.to_vec(),
        counts,
        utilization: rows.iter().map(|window| group.utilization(table, *window).max(0.0)).collect(),
        response_s: Matrix::zeros(0, 0),
        cores: group.capacity(),
    }
}

type Demands = (Vec<f64>, f64, Vec<f64>, Vec<f64>, String);

fn from_fit(fit: &FittedModel) -> Demands {
    let percent = fit.model.constant_percent;
    let source = format!(
        "Transaction model by {} over {} windows, error {:.1} %.",
        fit.report.estimator.name(),
        fit.report.windows,
        100.0 * fit.model.error
    );
    (
        fit.model.demand_s.clone(),
        (percent / 100.0).clamp(0.0, BACKGROUND_MAX),
        fit.report.demand.iter().map(|interval| interval.low).collect(),
        fit.report.demand.iter().map(|interval| interval.high).collect(),
        source,
    )
}

/// Too few windows for a model by type: `D = U·c/X`, the same for all.
fn from_law(observations: &Observations, types: usize) -> Demands {
    let busy_s: f64 =
        observations.utilization.iter().map(|used| used * observations.window_s * observations.cores).sum();
    let transactions: f64 = observations.counts.data().iter().sum();
    let demand_s = busy_demand(busy_s, transactions);
    let demand_s = if demand_s.is_finite() { demand_s } else { 0.0 };
    let source = "Utilization law, the same for every transaction: the windows do not tell types apart.";
    (vec![demand_s; types], 0.0, Vec::new(), Vec::new(), source.to_owned())
}

/// Outbound calls whose callee's processors are not known: time as it was measured, at every load the same.
pub(super) fn call_tiers(
    table: &WindowTable,
    groups: &[ServerGroup],
    windows: &[usize],
) -> Vec<(Tier, TierModel)> {
    let types = table.transactions.len();
    let mut tiers = Vec::new();
    for outbound in &table.system.outbound {
        if groups.iter().any(|group| group.name == outbound.callee) {
            continue;
        }
        let demands_s: Vec<f64> = (0..types)
            .map(|column| {
                let (mut time_s, mut transactions) = (0.0, 0.0);
                for &window in windows {
                    let count = cell(&table.system.counts, window, column);
                    let calls = cell(&outbound.counts, window, column);
                    let each_s = cell(&outbound.time_s, window, column);
                    if count > 0.0 && calls.is_finite() && (calls == 0.0 || each_s.is_finite()) {
                        transactions += count;
                        time_s += if calls > 0.0 { calls * each_s } else { 0.0 };
                    }
                }
                if transactions > 0.0 { (time_s / transactions).max(0.0) } else { 0.0 }
            })
            .collect();
        if demands_s.iter().any(|demand_s| *demand_s > 0.0) {
            tiers.push(delay_tier(&outbound.callee, TierKind::Calls, demands_s, CALLS_SOURCE));
        }
    }
    tiers
}

const CALLS_SOURCE: &str = "Calls times their mean time, as measured; the same at every load.";

const OTHER_SOURCE: &str =
    "Response time at calm load that processors and calls do not explain; the same at every load.";

fn delay_tier(name: &str, kind: TierKind, demands_s: Vec<f64>, source: &str) -> (Tier, TierModel) {
    let tier = Tier { demands_s: demands_s.clone(), replicas: 1, service: Service::Delay, background: 0.0 };
    let shown = TierModel {
        tier: name.to_owned(),
        kind,
        servers: 1,
        cores: None,
        demands_s,
        low_s: Vec::new(),
        high_s: Vec::new(),
        mean_s: f64::NAN,
        background: 0.0,
        source: source.to_owned(),
    };
    (tier, shown)
}

/// What of the response times nothing in the model explains, as a delay by type; `None` when it is next to
/// nothing, or unknown.
pub(super) fn other_tier(table: &WindowTable, model: &Model, loads: &[Load]) -> Option<(Tier, TierModel)> {
    let calm: Vec<&Load> = loads.iter().filter(|load| is_calm(&model.system, load)).collect();
    if calm.len() < OTHER_STRETCHES_MIN {
        return None;
    }
    let (mut all_s, mut left_s) = (0.0, 0.0);
    let types = table.transactions.len();
    let (mut sums, mut weights) = (vec![0.0; types], vec![0.0; types]);
    for load in calm {
        let network = model.system.network(&load.counts).ok()?;
        let Some(solution) = open_solution(&network, load.throughput()) else { continue };
        for column in 0..types {
            let explained_s = model.system.response_s(column, &load.counts, &solution);
            for window in load.first..=load.last {
                let count = cell(&table.system.counts, window, column);
                let response_s = cell(&table.system.response_s, window, column);
                if count > 0.0 && response_s.is_finite() {
                    sums[column] += count * (response_s - explained_s);
                    weights[column] += count;
                    all_s += count * response_s;
                }
            }
        }
    }
    let mean = |column: usize| if weights[column] > 0.0 { sums[column] / weights[column] } else { 0.0 };
    let demands_s: Vec<f64> = (0..types).map(|column| mean(column).max(0.0)).collect();
    demands_s.iter().zip(&weights).for_each(|(demand_s, weight)| left_s += demand_s * weight);
    (left_s > OTHER_MIN * all_s).then(|| delay_tier(OTHER, TierKind::Other, demands_s, OTHER_SOURCE))
}

fn is_calm(system: &System, load: &Load) -> bool {
    load.response_s.is_finite()
        && system.tiers.iter().all(|tier| tier.utilization(&load.counts, load.throughput()) < CALM)
}
