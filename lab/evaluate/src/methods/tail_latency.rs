//! A simple baseline: what a dashboard of 95th percentiles shows.

use super::figures::quantile;
use super::ranked;
use crate::arm::Arm;
use crate::calls::RequestCalls;
use crate::case::{Answer, Case, Localizer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Ranks operations by the ratio of their 95th percentile of inclusive time to the baseline's; without a
/// baseline, to their own median. Names those beyond `FACTOR` (without baseline `FACTOR_ALONE`). Names
/// replicas whose percentile is `FACTOR` times the median over the replicas of the operation.
#[derive(Clone, Copy, Debug)]
pub struct TailLatency;

const FACTOR: f64 = 1.5;
const FACTOR_ALONE: f64 = 3.0;
/// Fewer calls have no 95th percentile.
const CALLS_MIN: usize = 20;
/// Calls of one operation on one replica.
const REPLICA_CALLS_MIN: usize = 5;

type ByReplica = BTreeMap<(u32, u32), Vec<f64>>;

impl Localizer for TailLatency {}

impl Arm<Case, Answer> for TailLatency {
    fn name(&self) -> &str {
        "p95-ratio"
    }

    fn answer(&self, case: &Case) -> Result<Answer, String> {
        let names = &case.calls.names;
        let mut by_replica = inclusive_times(&case.calls.target);
        let now = by_operation(&by_replica);
        let before = case.calls.baseline.as_ref().map(|calls| by_operation(&inclusive_times(calls)));
        let mut scores = Vec::new();
        for (operation, mut times) in now {
            let usual = match &before {
                Some(before) => {
                    before.get(&operation).cloned().and_then(|mut times| p95(&mut times, CALLS_MIN))
                }
                None => quantile(&mut times, 0.5),
            };
            let factor = if before.is_some() { FACTOR } else { FACTOR_ALONE };
            let ratio =
                p95(&mut times, CALLS_MIN).zip(usual).map_or(0.0, |(now, usual)| now / usual.max(1.0));
            if ratio >= factor {
                scores.push((operation, ratio));
            }
        }
        let operations = ranked(scores)
            .into_iter()
            .map(|operation| names.operations[operation as usize].clone())
            .collect();
        let replicas = ranked(replica_scores(&mut by_replica));
        let replicas = replicas.into_iter().map(|replica| names.replicas[replica as usize].clone()).collect();
        Ok(Answer { operations, replicas, ..Answer::default() })
    }
}

fn p95(times: &mut [f64], calls_min: usize) -> Option<f64> {
    if times.len() < calls_min { None } else { quantile(times, 0.95) }
}

fn inclusive_times(requests: &[Arc<RequestCalls>]) -> ByReplica {
    let mut out = ByReplica::new();
    for call in requests.iter().flat_map(|request| &request.calls) {
        out.entry((call.operation, call.replica)).or_default().push(call.inclusive_ns as f64);
    }
    out
}

fn by_operation(times: &ByReplica) -> BTreeMap<u32, Vec<f64>> {
    let mut out: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for ((operation, _), times) in times {
        out.entry(*operation).or_default().extend(times);
    }
    out
}

/// By replica: its largest ratio to the median replica over the operations, where that is large.
fn replica_scores(times: &mut ByReplica) -> BTreeMap<u32, f64> {
    let mut tails: BTreeMap<u32, Vec<(u32, f64)>> = BTreeMap::new();
    for ((operation, replica), times) in times {
        if let Some(tail) = p95(times, REPLICA_CALLS_MIN) {
            tails.entry(*operation).or_default().push((*replica, tail));
        }
    }
    let mut out = BTreeMap::new();
    for replicas in tails.values() {
        let mut values: Vec<f64> = replicas.iter().map(|&(_, tail)| tail).collect();
        let Some(median) = quantile(&mut values, 0.5) else { continue };
        for &(replica, tail) in replicas {
            let ratio = tail / median.max(1.0);
            if ratio >= FACTOR {
                let score: &mut f64 = out.entry(replica).or_default();
                *score = score.max(ratio);
            }
        }
    }
    out
}
