//! MicroRank's anomaly detector: which requests took longer than their operations explain.

use super::figures::Spread;
use crate::calls::RequestCalls;
use std::collections::HashMap;
use std::sync::Arc;

/// A request is abnormal when it takes longer than the sum over its calls of mean plus this many standard
/// deviations of self time (MicroRank, section 4.1).
const DEVIATIONS: f64 = 1.5;

/// What is expected of every operation.
pub(super) struct Expectation {
    limit_ns: HashMap<u32, f64>,
}

impl Expectation {
    /// Learns from requests of a normal time.
    pub(super) fn learn(requests: &[Arc<RequestCalls>]) -> Expectation {
        let mut spreads: HashMap<u32, Spread> = HashMap::new();
        for call in requests.iter().flat_map(|request| &request.calls) {
            spreads.entry(call.operation).or_default().add(call.self_ns as f64);
        }
        let limit = |spread: Spread| spread.mean + DEVIATIONS * spread.deviation();
        Expectation { limit_ns: spreads.into_iter().map(|(at, spread)| (at, limit(spread))).collect() }
    }

    /// Whether a request took longer than expected. Operations never seen before are expected to take no time.
    pub(super) fn is_exceeded(&self, request: &RequestCalls) -> bool {
        let expected = request.calls.iter().map(|call| self.limit_ns.get(&call.operation).unwrap_or(&0.0));
        request.latency_ns() as f64 > expected.sum()
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
        let expectation = Expectation::learn(&[request([10, 10]), request([10, 30])]);
        assert!(!expectation.is_exceeded(&request([10, 35])));
        assert!(expectation.is_exceeded(&request([10, 36])));
    }
}
