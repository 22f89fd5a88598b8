//! Estimates the demands of tiers from observations.

use super::loads::ServerGroup;
use crate::changes::ObservedServer;
use crate::demands::{FittedDemands, call_cost};
use crate::sample_summary::cell;
use laggard_capacity::{BACKGROUND_MAX, Service, Tier, busy_demand};
use laggard_changes::{FittedModel, Observations};
use laggard_report::{CallCost, TierKind, TierModel};
use laggard_samples::WindowTable;

/// Name of the tier for the part of the response time that no other tier explains.
pub(super) const OTHER: &str = "other";

/// A tier from the utilization of its servers: demands as `changes` reports them, from the same observations.
pub(super) fn cpu_tier(table: &WindowTable, group: &ServerGroup, windows: &[usize]) -> (Tier, TierModel) {
    let used = |window: usize| group.utilization(table, window);
    let observed = ObservedServer::from_tier(table, &group.servers, windows, used, group.capacity());
    let rows = 0..observed.observations.utilization.len();
    let fitted = FittedDemands::fit(&observed, std::slice::from_ref(&rows));
    let usable = fitted.filter(|fit| fit.fitted.model.demand_s.iter().any(|demand_s| *demand_s > 0.0));
    let types = table.transactions.len();
    let demands = match usable {
        Some(fit) => TierDemands::fitted(&fit, &observed, types),
        None => TierDemands::from_law(&observed.observations, types),
    };
    let service = Service::Queue { cores: group.cores };
    let replicas = group.servers.len() as u32;
    let answered = vec![1.0; types];
    let tier = Tier {
        demands_s: demands.demands_s.clone(),
        answered: answered.clone(),
        replicas,
        service,
        background: demands.background,
    };
    let shown = TierModel {
        tier: group.name.clone(),
        kind: TierKind::Cpu,
        servers: replicas,
        cores: Some(group.cores),
        demands_s: demands.demands_s,
        low_s: demands.low_s,
        high_s: demands.high_s,
        distinguishable: demands.distinguishable,
        call: demands.call,
        answered,
        mean_s: f64::NAN,
        background: demands.background,
        source: demands.source,
    };
    (tier, shown)
}

/// The demands of a tier by type of the table.
struct TierDemands {
    demands_s: Vec<f64>,
    low_s: Vec<f64>,
    high_s: Vec<f64>,
    distinguishable: Vec<bool>,
    call: Option<CallCost>,
    background: f64,
    source: String,
}

impl TierDemands {
    /// Pooled types have the demand of their column; types without transactions have none.
    fn fitted(fit: &FittedDemands, observed: &ObservedServer, types: usize) -> TierDemands {
        let FittedModel { model, report } = &fit.fitted;
        let column = |index: usize| observed.types.iter().position(|column| column.contains(&index));
        let columns: Vec<Option<usize>> = (0..types).map(column).collect();
        let spread = |values: &dyn Fn(usize) -> f64, unseen: f64| -> Vec<f64> {
            columns.iter().map(|column| column.map_or(unseen, values)).collect()
        };
        let is_known = |column: usize| observed.types[column].len() == 1 && fit.is_distinguishable(column);
        let source = format!(
            "Transaction model by {} over {} windows, error {:.1} %.",
            report.estimator.name(),
            report.windows,
            100.0 * model.error
        );
        TierDemands {
            demands_s: spread(&|column| model.demand_s[column], 0.0),
            low_s: spread(&|column| report.demand[column].low, 0.0),
            high_s: spread(&|column| report.demand[column].high, f64::INFINITY),
            distinguishable: columns.iter().map(|column| column.is_some_and(is_known)).collect(),
            call: fit.call.as_ref().map(|cost| call_cost(cost, spread(&|column| cost.calls[column], 0.0))),
            background: (model.constant_percent / 100.0).clamp(0.0, BACKGROUND_MAX),
            source,
        }
    }

    /// The demands with too few windows for a model by type: `D = U·c/X`, the same for all types.
    fn from_law(observations: &Observations, types: usize) -> TierDemands {
        let busy_s: f64 = observations
            .utilization
            .iter()
            .map(|used| used * observations.window_s * observations.cores)
            .sum();
        let transactions: f64 = observations.counts.data().iter().sum();
        let demand_s = busy_demand(busy_s, transactions);
        let demand_s = if demand_s.is_finite() { demand_s } else { 0.0 };
        let source = "Utilization law, the same for every transaction: the windows do not distinguish types."
            .to_owned();
        TierDemands {
            demands_s: vec![demand_s; types],
            low_s: Vec::new(),
            high_s: Vec::new(),
            distinguishable: vec![types == 1; types],
            call: None,
            background: 0.0,
            source,
        }
    }
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
        distinguishable: vec![true; answered.len()],
        call: None,
        answered,
        mean_s: f64::NAN,
        background: 0.0,
        source: source.to_owned(),
    };
    (tier, shown)
}
