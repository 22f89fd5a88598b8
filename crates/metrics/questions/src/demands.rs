//! The CPU time of transactions at a server: the one fit that `changes` and `capacity` report.

use crate::changes::ObservedServer;
use laggard_changes::{FittedModel, ModelSettings, fit_model, fit_model_of_calls};
use laggard_report::CallCost;
use std::ops::Range;

/// The demands of a server's columns, and the cost of a call to it.
#[derive(Clone, Debug)]
pub(crate) struct FittedDemands {
    pub(crate) fitted: FittedModel,
    /// `None` if transactions do not reach the server by calls, or the cost of a call is not known.
    pub(crate) call: Option<laggard_changes::CallCost>,
}

/// The cost of a call for the report; `calls` are the calls of a transaction of each reported type.
pub(crate) fn call_cost(cost: &laggard_changes::CallCost, calls: Vec<f64>) -> CallCost {
    CallCost {
        demand_s: cost.seconds,
        low_s: cost.interval.low,
        high_s: cost.interval.high,
        common: cost.is_common,
        calls,
    }
}

impl FittedDemands {
    /// Fits the rows of `ranges`; `None` if there are too few.
    pub(crate) fn fit(observed: &ObservedServer, ranges: &[Range<usize>]) -> Option<FittedDemands> {
        let settings = ModelSettings::default();
        let observations = &observed.observations;
        match &observed.calls {
            Some(calls) => {
                let (fitted, call) = fit_model_of_calls(observations, calls, ranges, &settings).ok()?;
                Some(FittedDemands { fitted, call })
            }
            None => {
                Some(FittedDemands { fitted: fit_model(observations, ranges, &settings).ok()?, call: None })
            }
        }
    }

    /// Whether the data distinguish the demand of a column from the others: it is in no group that moves together, and its
    /// interval is narrower than the demand itself.
    pub(crate) fn is_distinguishable(&self, column: usize) -> bool {
        let report = &self.fitted.report;
        let is_tied = report.indistinguishable.iter().any(|group| group.transactions.contains(&column));
        let width = report.demand.get(column).map_or(f64::INFINITY, |interval| interval.high - interval.low);
        let demand_s = self.fitted.model.demand_s.get(column).copied().unwrap_or(f64::NAN);
        !is_tied && (width < demand_s || (width == 0.0 && demand_s == 0.0))
    }
}
