//! Whether minutes without a fault were slow all the same.

use super::Group;
use super::minutes::{Fault, is_fault_free};
use super::shop::Shop;
use crate::calls::RequestCalls;
use crate::run::Runner;
use std::collections::BTreeMap;

/// Notes, for the fault-free minutes and quarter hours in which Laggard's default named anything, how long after a fault
/// they come and how slow the requests were that the faulty pod takes part in.
pub(super) fn note_alarms(
    shop: &Shop,
    faults: &[Fault],
    minutes: &Group,
    quarters: &[Group; 2],
    runner: &mut Runner<'_>,
) {
    let alarmed = cases_with_alarms(minutes, runner);
    let free: Vec<i64> = shop.slices.keys().copied().filter(|&slice| is_fault_free(slice, faults)).collect();
    let (alarms, silent): (Vec<i64>, Vec<i64>) =
        free.iter().partition(|slice| alarmed.contains(&minute_title(**slice)));
    for slice in alarms {
        runner.add_note(format!(
            "online-boutique: Laggard's default raised an alarm in the {}, {}.",
            minute_title(slice),
            cause(shop, faults, slice, &silent).1
        ));
    }
    for group in quarters {
        for title in cases_with_alarms(group, runner) {
            let inside =
                |slice: &&i64| title.starts_with(&format!("quarter hour from {},", shop.quarter_of(**slice)));
            let causes = free.iter().filter(inside).map(|&slice| cause(shop, faults, slice, &silent));
            let Some((_, slowest)) = causes.max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
            let compared = if *group == quarters[0] { "" } else { " compared with the others" };
            runner.add_note(format!(
                "online-boutique: Laggard's default raised an alarm in the {title}{compared}; its slowest minute is \
                 one {slowest}."
            ));
        }
    }
}

fn cases_with_alarms(group: &Group, runner: &Runner<'_>) -> Vec<String> {
    let alarmed = runner.default_outcomes(group).filter(|outcome| outcome.score.false_alarms > 0);
    alarmed.map(|outcome| outcome.case.clone()).collect()
}

/// Name of a case of one minute.
pub(super) fn minute_title(slice: i64) -> String {
    format!("minute from {slice}")
}

/// Name of a case of the fault-free minutes of a quarter hour.
pub(super) fn quarter_title(quarter: i64, minutes: usize) -> String {
    format!("quarter hour from {quarter}, {minutes} minutes")
}

/// How many times as long as usual requests took in a minute that call the pod of the fault before it, and that in words.
fn cause(shop: &Shop, faults: &[Fault], slice: i64, silent: &[i64]) -> (f64, String) {
    let before = faults.iter().filter(|fault| fault.end_s() <= slice).max_by_key(|fault| fault.end_s());
    let Some(fault) = before else { return (1.0, "before any fault".to_owned()) };
    let pod = shop.names.replicas.iter().position(|name| *name == fault.pod);
    let concerned = || {
        let calls_pod =
            |request: &RequestCalls| request.calls.iter().any(|call| Some(call.replica as usize) == pod);
        shop.requests.iter().map(AsRef::as_ref).filter(move |request| calls_pod(request))
    };
    let now = concerned().filter(|request| shop.slice_of(request.start_ns) == slice);
    let usual = concerned().filter(|request| silent.contains(&shop.slice_of(request.start_ns)));
    let factor = slower(now, usual);
    let words = format!(
        "which begins {} s after the end of {}; requests that call this pod took {factor:.1} times as long as in \
         fault-free minutes without an alarm",
        slice - fault.end_s(),
        fault.title(),
    );
    (factor, words)
}

/// Requests of one kind enter at the same operation and make as many calls.
type Kind = (u32, usize);

#[derive(Clone, Copy, Default)]
struct Sum {
    requests: u32,
    latency_ns: f64,
}

/// Time of some requests over the time that as many of the same kinds usually take; kinds that are not known are
/// left out.
fn slower<'a>(
    now: impl Iterator<Item = &'a RequestCalls>,
    usual: impl Iterator<Item = &'a RequestCalls>,
) -> f64 {
    let (now, usual) = (by_kind(now), by_kind(usual));
    let (mut actual, mut expected) = (0.0, 0.0);
    for (kind, sum) in now {
        let Some(known) = usual.get(&kind) else { continue };
        actual += sum.latency_ns;
        expected += known.latency_ns / f64::from(known.requests) * f64::from(sum.requests);
    }
    if expected > 0.0 { actual / expected } else { 1.0 }
}

fn by_kind<'a>(requests: impl Iterator<Item = &'a RequestCalls>) -> BTreeMap<Kind, Sum> {
    let mut out: BTreeMap<Kind, Sum> = BTreeMap::new();
    for request in requests {
        let Some(entry) = request.calls.first() else { continue };
        let sum = out.entry((entry.operation, request.calls.len())).or_default();
        sum.requests += 1;
        sum.latency_ns += request.latency_ns() as f64;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::Call;

    fn request(operation: u32, inclusive_ns: u64) -> RequestCalls {
        let call = Call { operation, replica: 0, parent: None, self_ns: inclusive_ns, inclusive_ns };
        RequestCalls { start_ns: 0, calls: vec![call] }
    }

    #[test]
    fn requests_are_compared_within_their_category() {
        let usual = [request(0, 10), request(0, 30), request(1, 200)];
        // Expected 20 + 20 + 200; the third kind is new.
        let now = [request(0, 40), request(0, 40), request(1, 280), request(2, 9_000)];
        assert!((slower(now.iter(), usual.iter()) - 1.5).abs() < 1e-12);
        assert!((slower(now.iter(), [].iter()) - 1.0).abs() < 1e-12);
    }
}
