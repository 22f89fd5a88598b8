//! How soon a fault could be detected at best: with the operation, its replicas, and the onset given, by comparing the mean logarithm of
//! its calls with that of the two hours before. Calls with two modes are compared better by ranks, as the server does.

use crate::simulated::{History, SlowCalls};
use laggard_diagnose::{Population, Subject, SubjectCall, subject_calls};
use laggard_engine::LocalEngine;
use laggard_model::{Nanos, Timestamp};
use std::collections::BTreeMap;

/// Standard errors that count as detection, as many as confirm a finding of the server.
const ERRORS_MIN: f64 = 4.0;
const USUAL: Nanos = Nanos::from_secs(7_200);

/// The first minute by which the calls since the start of the fault differ by [`ERRORS_MIN`] standard errors, by the noise of
/// calls alone, without drift; and how many calls that takes.
pub(crate) fn known_after(history: &History) -> Option<(i64, usize)> {
    let slow = history.slow.as_ref()?;
    let since = history.fault.since;
    let before = calls(history, slow, since.minus(USUAL), since.minus(Nanos::from_ns(1)));
    let after = calls(history, slow, since, history.fault.until.min(history.end));
    let mut by_category: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for call in &before {
        let sum = by_category.entry(call.category).or_default();
        *sum = (sum.0 + log(call), sum.1 + 1.0);
    }
    let usual = |call: &SubjectCall| by_category.get(&call.category).map(|(sum, count)| sum / count);
    let residuals = |calls: &[SubjectCall]| -> Vec<f64> {
        calls.iter().filter_map(|call| Some(log(call) - usual(call)?)).collect()
    };
    let earlier = residuals(&before);
    let count = earlier.len() as f64;
    let variance =
        earlier.iter().map(|own| own * own).sum::<f64>() / (count - by_category.len() as f64).max(1.0);
    let errors = |calls: &[SubjectCall]| {
        let now = residuals(calls);
        let mean = now.iter().sum::<f64>() / now.len() as f64;
        mean / (variance * (1.0 / now.len() as f64 + 1.0 / count)).sqrt()
    };
    let minutes = 1..=history.fault.until.min(history.end).since(since).non_negative()?.ns() / MINUTE_NS;
    let parts: Vec<(u64, usize)> = minutes
        .map(|minute| {
            let until = since.plus(Nanos::from_ns(minute * MINUTE_NS));
            (minute, after.partition_point(|call| call.start < until))
        })
        .collect();
    let (minute, calls) =
        parts.into_iter().find(|&(_, calls)| calls > 0 && errors(&after[..calls]) >= ERRORS_MIN)?;
    Some((minute as i64, calls))
}

const MINUTE_NS: u64 = 60_000_000_000;

fn log(call: &SubjectCall) -> f64 {
    call.time_ns.max(1.0).ln()
}

fn calls(history: &History, slow: &SlowCalls, since: Timestamp, until: Timestamp) -> Vec<SubjectCall> {
    let subject = Subject {
        operation: (&slow.operation.0, &slow.operation.1),
        caller: slow.caller.as_ref().map(|(service, operation)| (service.as_str(), operation.as_str())),
        replicas: &slow.replicas,
        is_inclusive: false,
    };
    let population = Population { since, until, ..Population::all(&history.requests) };
    subject_calls(&population, &subject, LocalEngine::new(laggard_system::available_threads()))
}
