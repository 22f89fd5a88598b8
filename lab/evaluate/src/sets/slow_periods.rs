//! One run over all data, which reports when requests were slow.

use super::Group;
use super::minutes::{
    AFTERMATH_S, Alarm, Fault, NS_PER_S, OVERLAP_S_MIN, SLICE_S, detection, is_fault_free, slices_to_detect,
};
use super::shop::Shop;
use crate::arm::Outcome;
use crate::case::SlowPeriod;
use crate::judge::{Judgment, Miss};
use crate::measure::Cost;
use crate::results::LocalizerScore;
use crate::run::{ReportedPeriods, Runner};
use std::collections::BTreeSet;

pub(super) const ON_FAULTS: &str = "unknown window, one run: slow periods";
pub(super) const IN_FREE_DATA: &str = "unknown window, one run: fault-free data";

/// A slow period that begins at most this long before a fault is attributed to it: periods consist of whole minutes.
const LEAD_S: i64 = 60;

/// Runs every method that reports slow periods once.
pub(super) fn one_run(shop: &Shop, faults: &[Fault], groups: &[Group; 2], runner: &mut Runner<'_>) {
    if !groups.iter().any(|group| runner.wants(group)) {
        return;
    }
    let slices: Vec<i64> = shop.slices.keys().copied().collect();
    for reported in runner.slow_periods(&shop.traces) {
        let (periods, error) = match &reported.periods {
            Ok(periods) => (&periods[..], None),
            Err(error) => (&[][..], Some(error)),
        };
        for fault in faults.iter().filter(|fault| fault.performance) {
            let slices_in_time = slices_to_detect(fault, slices.iter());
            if slices_in_time.is_empty() {
                continue;
            }
            let mut outcome =
                on_fault(&groups[0], fault, &reported, periods, &slices_in_time, &services(shop, &fault.pod));
            if let (Some(error), Some(miss)) = (error, &mut outcome.score.judgment.miss) {
                miss.got.clone_from(error);
            }
            runner.push(outcome);
        }
        runner.push(free_data(&groups[1], faults, &reported, periods, &slices));
    }
}

/// Services whose calls a pod runs.
fn services<'a>(shop: &'a Shop, pod: &str) -> BTreeSet<&'a str> {
    let names = &shop.names;
    let calls = shop.requests.iter().flat_map(|request| &request.calls);
    let own = calls.filter(|call| names.replicas[call.replica as usize] == pod);
    own.map(|call| names.operations[call.operation as usize].service.as_str()).collect()
}

fn on_fault(
    group: &Group,
    fault: &Fault,
    reported: &ReportedPeriods,
    periods: &[SlowPeriod],
    slices_in_time: &[i64],
    services: &BTreeSet<&str>,
) -> Outcome<LocalizerScore> {
    let in_time: Vec<&SlowPeriod> = periods
        .iter()
        .filter(|period| slices_in_time.iter().any(|&slice| shows(period, fault, slice)))
        .collect();
    let rank = |period: &SlowPeriod| {
        period.services.iter().position(|name| services.contains(name.as_str())).map(|index| index + 1)
    };
    let alarms: Vec<Alarm> =
        in_time.iter().map(|period| Alarm { raised: true, rank: rank(period) }).collect();
    let found = detection(&alarms);
    let right = found.rank == Some(1);
    let got = || in_time.iter().map(|period| described(period)).collect::<Vec<_>>().join("; ");
    Outcome {
        group: group.clone(),
        case: fault.title(),
        method: reported.method,
        score: LocalizerScore {
            hours: 0.0,
            detected: Some(found.raised),
            false_alarms: 0,
            judgment: Judgment {
                rank: Some(found.rank),
                right,
                miss: (!right).then(|| Miss { expected: fault.pod.clone(), got: got() }),
                ..Judgment::default()
            },
        },
        error: None,
        // There is one run for all faults.
        cost: Cost::default(),
    }
}

/// Whether a period covers some of what a slice shows of a fault.
fn shows(period: &SlowPeriod, fault: &Fault, slice_s: i64) -> bool {
    let since_s = slice_s.max(fault.inject_epoch_s);
    let until_s = (slice_s + SLICE_S).min(fault.end_s());
    period.since_ns < until_s * NS_PER_S && period.until_ns > since_s * NS_PER_S
}

fn free_data(
    group: &Group,
    faults: &[Fault],
    reported: &ReportedPeriods,
    periods: &[SlowPeriod],
    slices: &[i64],
) -> Outcome<LocalizerScore> {
    let wrong = false_alarms(periods, faults, slices);
    let free = slices.iter().filter(|&&slice| is_fault_free(slice, faults)).count();
    let got: Vec<String> = wrong.iter().map(|period| described(period)).collect();
    Outcome {
        group: group.clone(),
        case: "all data".to_owned(),
        method: reported.method,
        score: LocalizerScore {
            hours: free as f64 * SLICE_S as f64 / 3_600.0,
            detected: None,
            false_alarms: wrong.len(),
            judgment: Judgment {
                false_findings: Some(wrong.iter().map(|period| period.services.len().max(1)).sum()),
                right: wrong.is_empty(),
                miss: (!wrong.is_empty())
                    .then(|| Miss { expected: "nothing".to_owned(), got: got.join("; ") }),
                ..Judgment::default()
            },
        },
        error: None,
        cost: reported.cost,
    }
}

/// Periods that no fault explains: they touch none, of whatever kind, nor the minute before or after one, and do
/// not go on with a period that does. The periods are in order of time.
fn false_alarms<'a>(periods: &'a [SlowPeriod], faults: &[Fault], slices: &[i64]) -> Vec<&'a SlowPeriod> {
    let mut explained_until_ns: Option<i64> = None;
    let mut wrong = Vec::new();
    for period in periods {
        let touches = |fault: &Fault| {
            period.since_ns < (fault.end_s() + AFTERMATH_S) * NS_PER_S
                && period.until_ns > (fault.inject_epoch_s - LEAD_S) * NS_PER_S
        };
        let goes_on = explained_until_ns.is_some_and(|until_ns| !has_data(until_ns, period.since_ns, slices));
        if goes_on || faults.iter().any(touches) {
            explained_until_ns = Some(period.until_ns);
        } else {
            wrong.push(period);
        }
    }
    wrong
}

/// Whether at least half a minute of data lies in a time. Data that are missing end no slow period.
fn has_data(since_ns: i64, until_ns: i64, slices: &[i64]) -> bool {
    slices.iter().any(|&slice_s| {
        let (start_ns, end_ns) = (slice_s * NS_PER_S, (slice_s + SLICE_S) * NS_PER_S);
        end_ns.min(until_ns) - start_ns.max(since_ns) >= OVERLAP_S_MIN * NS_PER_S
    })
}

fn described(period: &SlowPeriod) -> String {
    let [since_s, until_s] = [period.since_ns, period.until_ns].map(|ns| ns / NS_PER_S);
    format!("{since_s} to {until_s}: {}", period.services.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(since_s: i64, until_s: i64, services: &[&str]) -> SlowPeriod {
        SlowPeriod {
            since_ns: since_s * NS_PER_S,
            until_ns: until_s * NS_PER_S,
            services: services.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    /// From 1000 to 1180.
    fn fault() -> Fault {
        Fault { inject_epoch_s: 1_000, pod: "p".to_owned(), fault: "f".to_owned(), performance: true }
    }

    fn judged(period: SlowPeriod) -> Outcome<LocalizerScore> {
        let reported = ReportedPeriods { method: 0, periods: Ok(vec![]), cost: Cost::default() };
        let group = Group::new(super::super::SetKind::OnlineBoutique, ON_FAULTS);
        on_fault(&group, &fault(), &reported, &[period], &[960, 1_020], &BTreeSet::from(["cart"]))
    }

    #[test]
    fn a_fault_is_detected_by_a_period_in_its_first_two_slices() {
        let outcome = judged(period(1_060, 1_240, &["cart", "shop"]));
        assert_eq!((outcome.score.detected, outcome.score.judgment.right), (Some(true), true));
        let second = judged(period(1_020, 1_080, &["shop", "cart"]));
        assert_eq!((second.score.detected, second.score.judgment.rank), (Some(true), Some(Some(2))));
        for too_early_or_late in [period(940, 1_000, &["cart"]), period(1_080, 1_240, &["cart"])] {
            let outcome = judged(too_early_or_late);
            assert_eq!((outcome.score.detected, outcome.score.judgment.right), (Some(false), false));
        }
    }

    #[test]
    fn findings_without_a_fault_are_false_alarms() {
        let slices: Vec<i64> = (600..2_000).step_by(60).collect();
        let count = |periods: &[SlowPeriod], slices: &[i64]| false_alarms(periods, &[fault()], slices).len();
        assert_eq!(count(&[period(780, 840, &[])], &slices), 1);
        assert_eq!(count(&[period(900, 960, &[])], &slices), 0);
        assert_eq!(count(&[period(1_200, 1_260, &[])], &slices), 0);
        assert_eq!(count(&[period(1_240, 1_300, &[])], &slices), 1);
        // One period that lasts beyond the fault; a second one after a usual minute; the same without data between.
        assert_eq!(count(&[period(1_140, 1_500, &[])], &slices), 0);
        let two = [period(1_140, 1_260, &[]), period(1_320, 1_380, &[])];
        assert_eq!(count(&two, &slices), 1);
        assert_eq!(count(&two, &[1_140, 1_200, 1_320]), 0);
    }
}
