//! Findings of several categories, pooled by operation (CloudDiag §4.3, algorithms §3.5 and 3.6).

use super::replicas::ReplicaObservations;
use super::settings::CloudDiagSettings;
use crate::category::{Call, CategoryCalls};
use laggard_model::ReplicaId;
use laggard_numeric::{Weights, weighted_mad, weighted_median};

/// Scale of the times of single calls at one position; a loop's calls are judged individually.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct CallScale {
    pub(crate) median_ns: f64,
    pub(crate) mad_ns: f64,
    pub(crate) limit_ns: f64,
}

/// The scale of each position of a category; calls have the weight of their request.
pub(crate) fn call_scales(category: &CategoryCalls, settings: &CloudDiagSettings) -> Vec<CallScale> {
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); category.positions.len()];
    let each = category.weights();
    let is_weighted = Weights::from_slice(&each) != Weights::Equal;
    let mut weights: Vec<Vec<f64>> = vec![Vec::new(); category.positions.len()];
    for call in &category.calls {
        times[call.position as usize].push(call.time_ns as f64);
        if is_weighted {
            weights[call.position as usize].push(each[call.request as usize]);
        }
    }
    times
        .iter()
        .zip(&weights)
        .map(|(times, weights)| {
            let weights = Weights::from_slice(weights);
            let median_ns = weighted_median(times, weights);
            let mad_ns = weighted_mad(times, weights, median_ns);
            let limit_ns = (settings.exceed_mad * mad_ns).max(settings.exceed_median * median_ns);
            CallScale { median_ns, mad_ns, limit_ns }
        })
        .collect()
}

/// A call whose deviation counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct CountedCall {
    pub(crate) category: usize,
    pub(crate) request: u32,
    pub(crate) position: u32,
    pub(crate) replica: ReplicaId,
    /// Time over the usual time; 1 where no usual time is known.
    pub(crate) factor: f64,
    pub(crate) excess_ns: f64,
    /// Weight of its request, in units of the smallest weight, extrapolated to requests that were left out.
    pub(crate) weight: f64,
}

impl CountedCall {
    pub(crate) fn new(category: usize, call: &Call, scale: &CallScale, weight: f64) -> CountedCall {
        CountedCall {
            category,
            request: call.request,
            position: call.position,
            replica: call.replica,
            factor: scale.ratio(call),
            excess_ns: call.time_ns as f64 - scale.median_ns,
            weight,
        }
    }
}

impl CallScale {
    fn ratio(&self, call: &Call) -> f64 {
        if self.median_ns > 0.0 { call.time_ns as f64 / self.median_ns } else { 1.0 }
    }

    /// Whether a call by itself exceeds the limit.
    pub(crate) fn is_exceeded_by(&self, call: &Call) -> bool {
        call.time_ns as f64 - self.median_ns > self.limit_ns
    }
}

/// One operation with all its calls in several categories.
#[derive(Clone, Debug, Default)]
pub(crate) struct PooledOperation {
    pub(crate) observed: ReplicaObservations,
    pub(crate) counted: Vec<CountedCall>,
    /// Category and request of the last observation.
    last: Option<(usize, u32)>,
    /// Index of that request's first observation.
    last_from: usize,
}

impl PooledOperation {
    /// Adds one call, with its weight if its deviation counts. Calls of one request are consecutive; those on one
    /// replica form one observation, because a cause that slows one of them slows its neighbors, and a test that
    /// treats them as independent finds culprits by chance. The observation is the slowest of them.
    pub(crate) fn add(
        &mut self,
        category: usize,
        call: &Call,
        scale: &CallScale,
        weight: f64,
        counted: Option<f64>,
    ) {
        if let Some(stands_for) = counted {
            self.counted.push(CountedCall::new(category, call, scale, stands_for));
        }
        let mad_ns = if scale.mad_ns > 0.0 { scale.mad_ns } else { 1.0 };
        let standardized = (call.time_ns as f64 - scale.median_ns) / mad_ns;
        if self.last != Some((category, call.request)) {
            self.last = Some((category, call.request));
            self.last_from = self.observed.replicas.len();
        }
        let observed = &mut self.observed;
        let of_request = &observed.replicas[self.last_from..];
        let Some(index) = of_request.iter().position(|&replica| replica == call.replica) else {
            observed.replicas.push(call.replica);
            observed.standardized.push(standardized);
            observed.ratios.push(scale.ratio(call));
            observed.exceeds.push(counted.is_some());
            observed.weights.push(weight);
            return;
        };
        let index = self.last_from + index;
        observed.standardized[index] = observed.standardized[index].max(standardized);
        observed.ratios[index] = observed.ratios[index].max(scale.ratio(call));
        observed.exceeds[index] |= counted.is_some();
    }
}
