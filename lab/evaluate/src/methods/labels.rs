//! MicroRank's anomaly detector: which requests took longer than their operations explain.

use super::figures::{Spread, quantile};
use crate::calls::RequestCalls;
use std::collections::HashMap;
use std::sync::Arc;

/// A request is abnormal when it takes longer than the sum over its calls of mean plus this many standard
/// deviations of self time (MicroRank, section 4.1).
const DEVIATIONS: f64 = 1.5;

/// Which requests count as abnormal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Labels {
    /// By the rule of the paper.
    Published,
    /// Those whose latency, over the sum of their operations' means, exceeds that of 95 % of the normal requests.
    /// The authors advise to replace their detector where it does not suit: deviations added up over a hundred
    /// calls are never exceeded.
    SlowestTwentieth,
}

/// Expected mean and deviation of every operation's latency.
pub(super) struct Expectation {
    spreads: HashMap<u32, Spread>,
    /// Factors of the mean, and of the deviation, that a request may take.
    means: f64,
    deviations: f64,
}

impl Expectation {
    /// Learns from requests of a normal time.
    pub(super) fn learn(requests: &[Arc<RequestCalls>], labels: Labels) -> Expectation {
        let mut spreads: HashMap<u32, Spread> = HashMap::new();
        for call in requests.iter().flat_map(|request| &request.calls) {
            spreads.entry(call.operation).or_default().add(call.self_ns as f64);
        }
        let mut out = Expectation { spreads, means: 1.0, deviations: DEVIATIONS };
        if labels == Labels::SlowestTwentieth {
            out.deviations = 0.0;
            let mut factors: Vec<f64> = (requests.iter())
                .map(|request| request.latency_ns() as f64 / out.limit_ns(request).max(1.0))
                .collect();
            out.means = quantile(&mut factors, 0.95).unwrap_or(1.0);
        }
        out
    }

    /// The longest latency that counts as normal. Operations never seen before are expected to take no time.
    fn limit_ns(&self, request: &RequestCalls) -> f64 {
        let spreads = request.calls.iter().filter_map(|call| self.spreads.get(&call.operation));
        spreads.map(|spread| self.means * spread.mean + self.deviations * spread.deviation()).sum()
    }

    /// Whether a request took longer than expected.
    pub(super) fn is_exceeded(&self, request: &RequestCalls) -> bool {
        request.latency_ns() as f64 > self.limit_ns(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::Call;

    fn request(self_ns: [u64; 2]) -> Arc<RequestCalls> {
        let call = |operation, parent, self_ns, inclusive_ns| Call {
            operation,
            replica: 0,
            parent,
            self_ns,
            inclusive_ns,
        };
        let calls = vec![
            call(0, None, self_ns[0], self_ns[0] + self_ns[1]),
            call(1, Some(0), self_ns[1], self_ns[1]),
        ];
        Arc::new(RequestCalls { start_ns: 0, calls })
    }

    #[test]
    fn longer_than_the_sum_of_its_operations_is_abnormal() {
        // Operation 0: 10 always. Operation 1: 10 and 30, mean 20, deviation 10. Expected 10 + 20 + 1.5 · 10 = 45.
        let expectation = Expectation::learn(&[request([10, 10]), request([10, 30])], Labels::Published);
        assert!(!expectation.is_exceeded(&request([10, 35])));
        assert!(expectation.is_exceeded(&request([10, 36])));
    }

    #[test]
    fn the_slowest_twentieth_is_selected_by_its_factor() {
        // Operation 0: 10. Operation 1: 1 to 40, mean 20.5. The 95 % factor is that of 38: 48 / 30.5.
        let normal: Vec<_> = (1..=40).map(|ns| request([10, ns])).collect();
        let expectation = Expectation::learn(&normal, Labels::SlowestTwentieth);
        let abnormal = normal.iter().filter(|request| expectation.is_exceeded(request)).count();
        assert_eq!(abnormal, 2);
    }
}
