//! Requests hit and effects against the injected times.

use super::{HitSuspect, HitTruth};
use laggard_model::TraceId;
use laggard_numeric::median_of;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Precision and recall from which requests hit are right.
const SHARE_MIN: f64 = 0.95;
/// Effects are right within this share of the injected ones.
const EFFECT_ERROR_MAX: f64 = 0.10;

/// How right the requests and effects of a report are.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct HitScore {
    /// Of the first suspect that the fault concerns.
    pub first: Option<FirstHits>,
    /// Share of the requests hit by any suspect that any fault hit, 0..1.
    pub precision_any: f64,
    /// Share of the requests that any fault hit that are hit by any suspect, 0..1.
    pub recall_any: f64,
    /// Suspects.
    pub suspects: usize,
}

/// The first suspect that the fault concerns.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FirstHits {
    /// Its place among the suspects, from 1.
    pub rank: usize,
    /// Share of its requests with a delayed call of the operation, 0..1.
    pub precision: f64,
    /// Share of the requests with a delayed call of the operation that it hit, 0..1.
    pub recall: f64,
    /// Its excess per call over the median injected one.
    pub call_effect: f64,
    /// Its excess per request over the median injected one.
    pub request_effect: f64,
}

impl HitScore {
    /// Whether precision and recall are at least 0.95 and effects within 10 %.
    pub fn is_right(&self) -> bool {
        let near = |ratio: f64| (ratio - 1.0).abs() <= EFFECT_ERROR_MAX;
        self.first.is_some_and(|first| {
            first.precision >= SHARE_MIN
                && first.recall >= SHARE_MIN
                && near(first.call_effect)
                && near(first.request_effect)
        })
    }
}

/// Scores the suspects of a report, in their order.
pub fn score_hits(truth: &HitTruth, suspects: &[HitSuspect]) -> HitScore {
    let any: BTreeSet<TraceId> = suspects.iter().flat_map(|suspect| &suspect.requests).copied().collect();
    let injected: BTreeSet<TraceId> =
        truth.values().flat_map(|operation| operation.requests_ns.keys()).copied().collect();
    let [precision_any, recall_any] = shares(&any, &injected);
    let first = suspects.iter().enumerate().find_map(|(index, suspect)| {
        let own = truth.get(&suspect.name)?;
        let [precision, recall] = shares(&suspect.requests, &own.requests_ns.keys().copied().collect());
        let requests_ns: Vec<f64> = own.requests_ns.values().copied().collect();
        Some(FirstHits {
            rank: index + 1,
            precision,
            recall,
            call_effect: suspect.call_effect_ns / median_of(&own.calls_ns),
            request_effect: suspect.request_effect_ns / median_of(&requests_ns),
        })
    });
    HitScore { first, precision_any, recall_any, suspects: suspects.len() }
}

/// Precision and recall.
fn shares(named: &BTreeSet<TraceId>, truth: &BTreeSet<TraceId>) -> [f64; 2] {
    let right = named.intersection(truth).count() as f64;
    [right / named.len().max(1) as f64, right / truth.len().max(1) as f64]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::OperationName;
    use crate::hits::InjectedTimes;
    use std::collections::BTreeMap;

    #[test]
    fn precision_recall_and_effects_by_hand() {
        let name = OperationName::new("db", "read");
        let trace = TraceId::from_value;
        // Requests 1 to 4 are hit: 10, 10, 10 and twice 10.
        let requests_ns: BTreeMap<TraceId, f64> =
            [(1, 10.0), (2, 10.0), (3, 10.0), (4, 20.0)].map(|(id, ns)| (trace(id), ns)).into();
        let truth = BTreeMap::from([(name.clone(), InjectedTimes { calls_ns: vec![10.0; 5], requests_ns })]);

        let suspect = HitSuspect {
            name,
            requests: [1, 2, 3, 9].map(trace).into(),
            call_effect_ns: 11.0,
            request_effect_ns: 9.0,
        };
        let other = HitSuspect {
            name: OperationName::new("db", "write"),
            requests: BTreeSet::new(),
            ..suspect.clone()
        };
        let score = score_hits(&truth, &[other, suspect.clone()]);
        let first =
            FirstHits { rank: 2, precision: 0.75, recall: 0.75, call_effect: 1.1, request_effect: 0.9 };
        assert_eq!(score.first, Some(first));
        assert_eq!((score.precision_any, score.recall_any, score.is_right()), (0.75, 0.75, false));
        let exact = HitSuspect { requests: [1, 2, 3, 4].map(trace).into(), call_effect_ns: 10.5, ..suspect };
        assert!(score_hits(&truth, &[exact]).is_right());
        assert_eq!(score_hits(&truth, &[]).first, None);
    }
}
