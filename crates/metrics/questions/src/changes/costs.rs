//! The cost of transactions in each model, with intervals.

use super::observed::ObservedServer;
use crate::demands::{FittedDemands, call_cost};
use laggard_changes::{Group, IndistinguishableGroup, Interval, ServiceTime, signature};
use laggard_report::{CostModel, TiedTransactions, TransactionCost};
use std::ops::Range;

/// Two-sided 95 % of the normal distribution.
const Z_95: f64 = 1.96;

/// A model for the report, and why its estimator was selected.
pub(super) struct FittedCosts {
    pub(super) model: CostModel,
    pub(super) reason: String,
    pub(super) cautions: Vec<String>,
}

/// Fits a model to the rows of a group by the estimator that predicts best; uses the method's own fit if there are too few
/// windows.
pub(super) fn fitted_costs(observed: &ObservedServer, group: &Group, ranges: &[Range<usize>]) -> FittedCosts {
    let fitted = FittedDemands::fit(observed, ranges);
    let times = signature(&observed.observations, ranges);
    let model = fitted.as_ref().map_or(&group.model, |fitted| &fitted.fitted.model);
    let report = fitted.as_ref().map(|fitted| &fitted.fitted.report);
    let tied = report.map_or(&[][..], |report| &report.indistinguishable);
    let cost = |(index, name): (usize, &String)| {
        let interval = interval(fitted.as_ref(), group, index);
        let demand_s = model.demand_s.get(index).copied().unwrap_or(f64::NAN);
        let is_wide = || interval.high - interval.low >= demand_s;
        let distinguishable = match &fitted {
            Some(fitted) => fitted.is_distinguishable(index),
            None => !is_wide(),
        };
        let service: Option<ServiceTime> = times.get(index).copied().flatten();
        TransactionCost {
            transaction: name.clone(),
            demand_s,
            demand_low_s: interval.low,
            demand_high_s: interval.high,
            distinguishable,
            service_time_s: service.map(|time| time.seconds),
            service_time_error_s: service.map(|time| time.standard_error_s),
        }
    };
    FittedCosts {
        model: CostModel {
            segments: group.segments.iter().map(|&segment| segment as u32).collect(),
            windows: ranges.iter().map(|rows| rows.len() as u64).sum(),
            constant_percent: model.constant_percent,
            error: model.error,
            estimator: report.map_or_else(String::new, |report| report.estimator.name().to_owned()),
            condition: Some(model.condition).filter(|condition| condition.is_finite()),
            current: false,
            transactions: observed.transactions.iter().enumerate().map(cost).collect(),
            call: fitted
                .as_ref()
                .and_then(|fitted| fitted.call.as_ref())
                .map(|cost| call_cost(cost, cost.calls.clone())),
            indistinguishable: tied.iter().map(|group| tied_transactions(observed, group)).collect(),
        },
        reason: report.map_or_else(String::new, |report| sentence(&report.reason)),
        cautions: report.map_or_else(Vec::new, |report| report.cautions.clone()),
    }
}

fn interval(fitted: Option<&FittedDemands>, group: &Group, index: usize) -> Interval {
    if let Some(known) = fitted.and_then(|fitted| fitted.fitted.report.demand.get(index)) {
        return *known;
    }
    let value = |values: &[f64]| values.get(index).copied().unwrap_or(f64::NAN);
    let (demand, error) = (value(&group.model.demand_s), value(&group.model.standard_error_s));
    if !error.is_finite() {
        return Interval { low: 0.0, high: f64::INFINITY };
    }
    Interval { low: (demand - Z_95 * error).max(0.0), high: demand + Z_95 * error }
}

fn tied_transactions(observed: &ObservedServer, group: &IndistinguishableGroup) -> TiedTransactions {
    let names = group.transactions.iter().filter_map(|&index| observed.transactions.get(index).cloned());
    TiedTransactions {
        transactions: names.collect(),
        mean_demand_s: group.mean_demand_s,
        standard_error_s: group.standard_error_s,
    }
}

/// A text as a sentence: with a capital at the start and a period at the end.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return String::new() };
    let stop = if text.ends_with('.') { "" } else { "." };
    format!("{}{}{stop}", first.to_uppercase(), characters.as_str())
}
