//! Estimates the demands of tiers from observations.

use super::loads::ServerGroup;
use crate::sample_summary::{cell, seconds};
use laggard_capacity::{BACKGROUND_MAX, Service, Tier, busy_demand};
use laggard_changes::{FittedModel, ModelSettings, Observations, fit_model};
use laggard_numeric::Matrix;
use laggard_report::{TierKind, TierModel};
use laggard_samples::WindowTable;

/// Name of the tier for the part of the response time that no other tier explains.
pub(super) const OTHER: &str = "other";

/// A tier from the utilization of its servers.
pub(super) fn cpu_tier(table: &WindowTable, group: &ServerGroup, windows: &[usize]) -> (Tier, TierModel) {
    let types = table.transactions.len();
    let rows: Vec<usize> =
        windows.iter().copied().filter(|window| group.utilization(table, *window).is_finite()).collect();
    let observations = observations(table, group, &rows);
    let fitted =
        fit_model(&observations, std::slice::from_ref(&(0..rows.len())), &ModelSettings::default()).ok();
    let usable = fitted.filter(|fit| fit.model.demand_s.iter().any(|demand_s| *demand_s > 0.0));
    let (demands_s, background, low_s, high_s, source) = match usable {
        Some(fit) => from_fit(&fit),
        None => from_law(&observations, types),
    };
    let service = Service::Queue { cores: group.cores };
    let replicas = group.servers.len() as u32;
    let answered = vec![1.0; types];
    let tier =
        Tier { demands_s: demands_s.clone(), answered: answered.clone(), replicas, service, background };
    let shown = TierModel {
        tier: group.name.clone(),
        kind: TierKind::Cpu,
        servers: replicas,
        cores: Some(group.cores),
        demands_s,
        low_s,
        high_s,
        answered,
        mean_s: f64::NAN,
        background,
        source,
    };
    (tier, shown)
}

fn observations(table: &WindowTable, group: &ServerGroup, rows: &[usize]) -> Observations {
    let types = table.transactions.len();
    let mut counts = Matrix::zeros(rows.len(), types);
    for (row, &window) in rows.iter().enumerate() {
        for column in 0..types {
            let count = cell(&table.system.counts, window, column);
            counts.set(row, column, if count.is_finite() { count.max(0.0) } else { 0.0 });
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

/// The demands with too few windows for a model by type: `D = U·c/X`, the same for all types.
fn from_law(observations: &Observations, types: usize) -> Demands {
    let busy_s: f64 =
        observations.utilization.iter().map(|used| used * observations.window_s * observations.cores).sum();
    let transactions: f64 = observations.counts.data().iter().sum();
    let demand_s = busy_demand(busy_s, transactions);
    let demand_s = if demand_s.is_finite() { demand_s } else { 0.0 };
    let source = "Utilization law, the same for every transaction: the windows do not distinguish types.";
    (vec![demand_s; types], 0.0, Vec::new(), Vec::new(), source.to_owned())
}

/// Outbound calls to callees without known processors: delays with the measured time, the same at every load.
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

pub(super) fn delay_tier(name: &str, kind: TierKind, demands_s: Vec<f64>, source: &str) -> (Tier, TierModel) {
    let answered = vec![1.0; demands_s.len()];
    let tier = Tier {
        demands_s: demands_s.clone(),
        answered: answered.clone(),
        replicas: 1,
        service: Service::Delay,
        background: 0.0,
    };
    let shown = TierModel {
        tier: name.to_owned(),
        kind,
        servers: 1,
        cores: None,
        demands_s,
        low_s: Vec::new(),
        high_s: Vec::new(),
        answered,
        mean_s: f64::NAN,
        background: 0.0,
        source: source.to_owned(),
    };
    (tier, shown)
}
