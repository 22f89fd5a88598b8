//! An upper limit of every method: which faults a test detects that knows the operation, the group, and the time of a fault.

use super::sampled::{JUDGED_FROM, MINUTE_S};
use laggard_model::{Nanos, SpanId, SpanKind, SpanRecord};
use laggard_simulate::{Day, DaySettings, DayTruth};
use std::collections::{BTreeMap, HashMap};

const SECOND: i64 = 1_000_000_000;
/// Logarithms are clipped at this many standard deviations (by quartiles) from their median.
const CLIP: f64 = 3.0;
/// Fewest calls of a category in the baseline with a level of its own.
const OWN_LEVEL_MIN: usize = 20;

/// The calls of one group in one period.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    fn mean(&self) -> f64 {
        self.sum / self.count.max(1.0)
    }

    /// Variance of the mean.
    fn error2(&self) -> f64 {
        if self.count < 2.0 {
            return f64::INFINITY;
        }
        let variance = (self.squares - self.sum * self.sum / self.count) / (self.count - 1.0);
        variance.max(0.0) / self.count
    }
}

/// A call of the target.
struct Call {
    /// Entry and callees.
    key: u64,
    log: f64,
    affected: bool,
    /// 0 before the window, 1 while the fault lasts.
    period: usize,
}

/// Difference of the affected calls between the fault and the hour before, less the same of the other calls.
pub(super) struct Oracle {
    /// Affected calls while the fault lasts.
    pub(super) calls: usize,
    /// All calls of the target while the fault lasts.
    pub(super) all_calls: usize,
    /// Factor that the affected calls take.
    pub(super) factor: f64,
    /// Standard errors.
    pub(super) z: f64,
}

/// `None` on a day without a fault.
pub(super) fn oracle(day: &Day, settings: &DaySettings, truth: &DayTruth) -> Option<Oracle> {
    let fault = settings.fault?;
    let unix_ns = |second: u32| settings.start_unix_ns + i64::from(second) * SECOND;
    let mut calls = Vec::new();
    for request in day.requests() {
        let start = request.start.unix_ns();
        let period = match start {
            start if (unix_ns(fault.since_s)..unix_ns(fault.until_s)).contains(&start) => 1,
            start if start < unix_ns(JUDGED_FROM * MINUTE_S) => 0,
            _ => continue,
        };
        let spans: Vec<SpanRecord<'_>> = request.spans.iter().map(|span| request.record(span, day)).collect();
        add_calls(&spans, truth, period, &mut calls);
    }
    let mut by_key: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.period == 0) {
        by_key.entry(call.key).or_default().push(call.log);
    }
    let mut every: Vec<f64> = calls.iter().filter(|call| call.period == 0).map(|call| call.log).collect();
    let overall = spread(&mut every);
    let levels: HashMap<u64, (f64, f64)> = (by_key.into_iter())
        .filter(|(_, logs)| logs.len() >= OWN_LEVEL_MIN)
        .map(|(key, mut logs)| (key, spread(&mut logs)))
        .collect();
    let mut moments = [[Moments::default(); 2]; 2];
    for call in &calls {
        let (median, deviation) = levels.get(&call.key).copied().unwrap_or(overall);
        let value = (call.log - median).clamp(-CLIP * deviation, CLIP * deviation);
        moments[usize::from(call.affected)][call.period].add(value);
    }
    let [others, own] = moments;
    let has_others = others.iter().all(|period| period.count >= 20.0);
    let (mut change, mut variance) = (own[1].mean() - own[0].mean(), own[0].error2() + own[1].error2());
    // The standard deviation of what levels change by without a fault.
    let drift: f64 = if has_others || truth.caller.is_some() { 0.02 } else { 0.05 };
    if has_others {
        change -= others[1].mean() - others[0].mean();
        variance += others[0].error2() + others[1].error2();
    }
    Some(Oracle {
        calls: own[1].count as usize,
        all_calls: (own[1].count + others[1].count) as usize,
        factor: change.exp(),
        z: change / (variance + drift * drift).sqrt(),
    })
}

/// Median and standard deviation by quartiles.
fn spread(logs: &mut [f64]) -> (f64, f64) {
    if logs.is_empty() {
        return (0.0, 1.0);
    }
    logs.sort_unstable_by(f64::total_cmp);
    let quantile = |share: f64| logs[((logs.len() - 1) as f64 * share) as usize];
    (quantile(0.5), ((quantile(0.75) - quantile(0.25)) / 1.35).max(0.02))
}

fn add_calls(spans: &[SpanRecord<'_>], truth: &DayTruth, period: usize, calls: &mut Vec<Call>) {
    let mut children: HashMap<SpanId, Vec<&SpanRecord<'_>>> = HashMap::new();
    for span in spans {
        if let Some(parent) = span.parent {
            children.entry(parent).or_default().push(span);
        }
    }
    let none = Vec::new();
    let has_tenant = truth.tenant.as_ref().is_none_or(|tenant| {
        spans.first().is_some_and(|root| root.attributes.span.contains(tenant.as_str()))
    });
    for span in spans {
        let below = children.get(&span.span_id).unwrap_or(&none);
        let is_target = match &truth.caller {
            None => {
                *truth.operation.0 == *span.service
                    && *truth.operation.1 == *span.operation
                    && (span.kind != SpanKind::Client || below.is_empty())
            }
            Some(caller) => {
                *caller.0 == *span.service && below.iter().any(|child| *child.service == *truth.operation.0)
            }
        };
        if !is_target {
            continue;
        }
        let time_ns = (span.inclusive.ns() as f64 - covered(below)).max(1.0);
        let is_replica =
            truth.replicas.is_empty() || truth.replicas.iter().any(|name| *name == *span.replica);
        let key =
            below.iter().fold(hash(span.operation), |key, child| key.wrapping_add(hash(child.operation)));
        calls.push(Call { key, log: time_ns.ln(), affected: has_tenant && is_replica, period });
    }
}

fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Time in which any of the children runs, nanoseconds; children on other clocks are taken as they are.
fn covered(children: &[&SpanRecord<'_>]) -> f64 {
    let mut periods: Vec<(i64, i64)> = (children.iter())
        .map(|child| {
            let start = child.start.unix_ns();
            (start, start + Nanos::ns(child.inclusive) as i64)
        })
        .collect();
    periods.sort_unstable();
    let (mut total, mut end) = (0, i64::MIN);
    for (from, until) in periods {
        total += (until - from.max(end)).max(0);
        end = end.max(until);
    }
    total as f64
}
