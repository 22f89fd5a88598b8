//! A shop on Kubernetes with faults at known times: `faults.json` beside `spans.…`.

use super::minutes::{Alarm, Fault, SLICE_S, detection, is_fault_free, read_faults, slices_to_detect};
use super::{Group, SetKind, entries, file_name, read_traces};
use crate::calls::{CaseCalls, NameTable, RequestCalls, requests};
use crate::case::{Case, Question, Truth};
use crate::judge::{Judgement, Miss};
use crate::measure::{Cost, measured};
use crate::run::{Answered, Outcome, Runner};
use crate::select::{each_trace, select};
use laggard_engine::Traces;
use laggard_model::SpanRow;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

const REST: &str = "window given, all other minutes as baseline";
const NORMAL: &str = "window given, fault-free minutes as baseline";
const SCAN: &str = "no window given, minute by minute: faults";
const FREE: &str = "no window given, minute by minute: fault-free minutes";

/// A slice with fewer traces is the ragged end of the data.
const SLICE_TRACES_MIN: usize = 20;
const NS_PER_S: i64 = 1_000_000_000;

pub(super) fn visit(folder: &Path, runner: &mut Runner<'_>) -> Result<(), String> {
    let groups = [REST, NORMAL, SCAN, FREE].map(|name| Group::new(SetKind::OnlineBoutique, name));
    let faults = folder.join("faults.json");
    let is_spans = |path: &&std::path::PathBuf| file_name(path).starts_with("spans.");
    let files = entries(folder)?;
    let Some(spans) = files.iter().find(is_spans).filter(|_| faults.exists()) else { return Ok(()) };
    if !groups.iter().any(|group| runner.wants(group)) {
        return Ok(());
    }
    let faults = read_faults(&faults)?;
    let shop = Shop::new(read_traces(spans, runner.threads())?, runner.threads());
    for fault in faults.iter().filter(|fault| fault.performance) {
        window(&shop, fault, &faults, &groups, runner);
    }
    scan(&shop, &faults, &groups, runner);
    Ok(())
}

/// The whole data set, cut at will.
struct Shop {
    traces: Traces,
    names: Arc<NameTable>,
    requests: Vec<Arc<RequestCalls>>,
    cost: Cost,
    threads: NonZeroUsize,
    /// Start of the earliest trace, nanoseconds.
    first_ns: i64,
    /// Traces by the start of their slice, seconds.
    slices: BTreeMap<i64, usize>,
}

impl Shop {
    fn new(traces: Traces, threads: NonZeroUsize) -> Shop {
        let mut names = NameTable::default();
        let (requests, cost) = measured(|| requests(&traces, &mut names));
        let first_ns = each_trace(&traces).map(start_ns).min().unwrap_or(0);
        let mut slices: BTreeMap<i64, usize> = BTreeMap::new();
        for rows in each_trace(&traces) {
            *slices.entry(slice_of(start_ns(rows), first_ns)).or_default() += 1;
        }
        slices.retain(|_, traces| *traces >= SLICE_TRACES_MIN);
        Shop { traces, names: Arc::new(names), requests, cost, threads, first_ns, slices }
    }

    fn slice_of(&self, ns: i64) -> i64 {
        slice_of(ns, self.first_ns)
    }

    fn traces_at(&self, wants: impl Fn(i64) -> bool) -> Arc<Traces> {
        Arc::new(select(&self.traces, self.threads, |rows| wants(start_ns(rows))))
    }

    fn requests_at(&self, wants: impl Fn(i64) -> bool) -> Vec<Arc<RequestCalls>> {
        self.requests.iter().filter(|request| wants(request.start_ns)).cloned().collect()
    }

    /// A case of some times against others.
    fn case(
        &self,
        name: String,
        truth: Truth,
        now: impl Fn(i64) -> bool,
        usual: impl Fn(i64) -> bool,
    ) -> Case {
        let (target, baseline) = (self.requests_at(&now), self.requests_at(&usual));
        // Assembled once for all cases; each pays for what it uses.
        let part = (target.len() + baseline.len()) as f64 / self.requests.len().max(1) as f64;
        let cost = Cost { wall_s: self.cost.wall_s * part, processor_s: self.cost.processor_s * part };
        let calls = CaseCalls { names: Arc::clone(&self.names), target, baseline: Some(baseline), cost };
        Case {
            name,
            target: self.traces_at(now),
            baseline: Some(self.traces_at(usual)),
            calls,
            truth,
            question: Question::Explain,
        }
    }
}

fn start_ns(rows: &[SpanRow]) -> i64 {
    rows[0].start.unix_ns()
}

/// Start of the slice, in seconds. Slices are counted from the earliest trace.
fn slice_of(ns: i64, first_ns: i64) -> i64 {
    let first_s = first_ns.div_euclid(NS_PER_S);
    first_s + (ns - first_s * NS_PER_S).div_euclid(SLICE_S * NS_PER_S) * SLICE_S
}

fn window(shop: &Shop, fault: &Fault, faults: &[Fault], groups: &[Group; 4], runner: &mut Runner<'_>) {
    let window_ns = fault.inject_epoch_s * NS_PER_S..fault.end_s() * NS_PER_S;
    let now = |ns: i64| window_ns.contains(&ns);
    if !shop.requests.iter().any(|request| now(request.start_ns)) {
        runner.note(format!("online-boutique: no data for {}; left out.", fault.title()));
        return;
    }
    let truth = || Truth::Replica(fault.pod.clone());
    if runner.wants(&groups[0]) {
        runner.run(&groups[0], 0.0, shop.case(fault.title(), truth(), now, |ns| !now(ns)));
    }
    if runner.wants(&groups[1]) {
        let normal = |ns: i64| is_fault_free(shop.slice_of(ns), faults);
        runner.run(&groups[1], 0.0, shop.case(fault.title(), truth(), now, normal));
    }
}

/// By method: what a slice's answer means for one fault.
struct Heard {
    alarms: Vec<Alarm>,
    got: Vec<String>,
    cost: Cost,
}

fn scan(shop: &Shop, faults: &[Fault], groups: &[Group; 4], runner: &mut Runner<'_>) {
    let [_, _, on_faults, free] = groups;
    let performance: Vec<&Fault> = faults.iter().filter(|fault| fault.performance).collect();
    let due: Vec<Vec<i64>> =
        performance.iter().map(|fault| slices_to_detect(fault, shop.slices.keys())).collect();
    let mut heard: BTreeMap<(usize, usize), Heard> = BTreeMap::new();
    for &slice in shop.slices.keys() {
        let concerned: Vec<usize> = (0..due.len()).filter(|&at| due[at].contains(&slice)).collect();
        let is_free = is_fault_free(slice, faults);
        if (concerned.is_empty() || !runner.wants(on_faults)) && !(is_free && runner.wants(free)) {
            continue;
        }
        let truth = match concerned.first() {
            Some(&at) => Truth::Replica(performance[at].pod.clone()),
            None => Truth::Quiet,
        };
        let now = |ns: i64| shop.slice_of(ns) == slice;
        let case = shop.case(format!("minute from {slice}"), truth, now, |ns| !now(ns));
        let case = Case { question: Question::Detect, ..case };
        if is_free {
            runner.run(free, SLICE_S as f64 / 3_600.0, case);
            continue;
        }
        for answered in runner.answers(&case) {
            for &at in &concerned {
                listen(&mut heard, (at, answered.method), &answered);
            }
        }
    }
    for ((at, method), heard) in heard {
        let fault = performance[at];
        runner.push(outcome(on_faults, fault, method, &heard));
    }
}

fn listen(heard: &mut BTreeMap<(usize, usize), Heard>, key: (usize, usize), answered: &Answered) {
    let entry =
        heard.entry(key).or_insert_with(|| Heard { alarms: vec![], got: vec![], cost: Cost::default() });
    let rank = answered.judgement.rank.flatten();
    entry.alarms.push(Alarm { raised: !answered.is_empty, rank });
    entry.got.extend(answered.judgement.miss.as_ref().map(|miss| miss.got.clone()));
    entry.cost = entry.cost.plus(answered.cost);
}

fn outcome(group: &Group, fault: &Fault, method: usize, heard: &Heard) -> Outcome {
    let found = detection(&heard.alarms);
    let right = found.rank == Some(1);
    let miss = (!right).then(|| Miss { expected: fault.pod.clone(), got: heard.got.join("; then ") });
    Outcome {
        group: group.clone(),
        case: fault.title(),
        method,
        hours: 0.0,
        detected: Some(found.raised),
        judgement: Judgement { rank: Some(found.rank), right, miss, ..Judgement::default() },
        cost: heard.cost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_counted_from_the_second_of_the_earliest_trace() {
        let first = 100 * NS_PER_S + 700;
        assert_eq!(slice_of(first, first), 100);
        assert_eq!(slice_of(160 * NS_PER_S - 1, first), 100);
        assert_eq!(slice_of(160 * NS_PER_S, first), 160);
    }
}
