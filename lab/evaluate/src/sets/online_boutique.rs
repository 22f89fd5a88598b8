//! A shop on Kubernetes with faults at known times: `faults.json` beside `spans.…`.

use super::lingering::{minute_title, note_alarms, quarter_title};
use super::minutes::{
    Alarm, Fault, NS_PER_S, QUARTER_S, SLICE_S, detection, is_fault_free, read_faults, slices_to_detect,
};
use super::shop::Shop;
use super::slow_periods::{IN_FREE_DATA, ON_FAULTS, one_run};
use super::{Group, SetKind, entries, file_name, read_traces};
use crate::arm::Outcome;
use crate::case::{Case, Question, Truth};
use crate::judge::{Judgment, Miss};
use crate::measure::Cost;
use crate::results::LocalizerScore;
use crate::run::{Answered, Runner};
use std::collections::BTreeMap;
use std::path::Path;

const REST: &str = "known window, all other minutes as baseline";
const NORMAL: &str = "known window, fault-free minutes as baseline";
const SCAN: &str = "unknown window, minute by minute: faults";
const FREE: &str = "unknown window, minute by minute: fault-free minutes";
const QUARTERS: &str = "fault-free minutes of each quarter hour";
const QUARTERS_COMPARED: &str = "fault-free minutes of each quarter hour, those of the others as baseline";

pub(super) fn visit(folder: &Path, runner: &mut Runner<'_>) -> Result<(), String> {
    let groups = [REST, NORMAL, SCAN, FREE].map(|name| Group::new(SetKind::OnlineBoutique, name));
    let quarters = [QUARTERS, QUARTERS_COMPARED].map(|name| Group::new(SetKind::OnlineBoutique, name));
    let periods = [ON_FAULTS, IN_FREE_DATA].map(|name| Group::new(SetKind::OnlineBoutique, name));
    let faults = folder.join("faults.json");
    let is_spans = |path: &&std::path::PathBuf| file_name(path).starts_with("spans.");
    let files = entries(folder)?;
    let Some(spans) = files.iter().find(is_spans).filter(|_| faults.exists()) else { return Ok(()) };
    if !groups.iter().chain(&quarters).chain(&periods).any(|group| runner.wants(group)) {
        return Ok(());
    }
    let faults = read_faults(&faults)?;
    let shop = Shop::new(read_traces(std::slice::from_ref(spans), runner.threads())?, runner.threads());
    for fault in faults.iter().filter(|fault| fault.performance) {
        window(&shop, fault, &faults, &groups, runner);
    }
    scan(&shop, &faults, &groups, runner);
    fault_free_quarters(&shop, &faults, &quarters, runner);
    note_alarms(&shop, &faults, &groups[3], &quarters, runner);
    one_run(&shop, &faults, &periods, runner);
    Ok(())
}

fn window(shop: &Shop, fault: &Fault, faults: &[Fault], groups: &[Group; 4], runner: &mut Runner<'_>) {
    let window_ns = fault.inject_epoch_s * NS_PER_S..fault.end_s() * NS_PER_S;
    let now = |ns: i64| window_ns.contains(&ns);
    if !shop.requests.iter().any(|request| now(request.start_ns)) {
        runner.add_note(format!("online-boutique: no data for {}; left out.", fault.title()));
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

/// Every quarter of an hour, without the minutes of faults and their aftermath: no quarter is free of both.
fn fault_free_quarters(shop: &Shop, faults: &[Fault], groups: &[Group; 2], runner: &mut Runner<'_>) {
    let [alone, compared] = groups;
    let mut quarters: BTreeMap<i64, usize> = BTreeMap::new();
    for &slice in shop.slices.keys().filter(|slice| is_fault_free(**slice, faults)) {
        *quarters.entry(shop.quarter_of(slice)).or_default() += 1;
    }
    for (quarter, minutes) in quarters {
        let is_free = |ns: i64| is_fault_free(shop.slice_of(ns), faults);
        let is_inside = |ns: i64| (quarter..quarter + QUARTER_S).contains(&shop.slice_of(ns));
        let case = shop.case(
            quarter_title(quarter, minutes),
            Truth::Quiet,
            |ns| is_free(ns) && is_inside(ns),
            |ns| is_free(ns) && !is_inside(ns),
        );
        let case = Case { question: Question::Detect, ..case };
        let hours = (minutes as i64 * SLICE_S) as f64 / 3_600.0;
        runner.run(alone, hours, case.without_baseline());
        runner.run_compared(alone, compared, hours, case);
    }
}

/// By method: what a slice's answer means for one fault.
struct FaultAnswers {
    alarms: Vec<Alarm>,
    got: Vec<String>,
    cost: Cost,
}

fn scan(shop: &Shop, faults: &[Fault], groups: &[Group; 4], runner: &mut Runner<'_>) {
    let [_, _, on_faults, free] = groups;
    let performance: Vec<&Fault> = faults.iter().filter(|fault| fault.performance).collect();
    let due: Vec<Vec<i64>> =
        performance.iter().map(|fault| slices_to_detect(fault, shop.slices.keys())).collect();
    let mut answers: BTreeMap<(usize, usize), FaultAnswers> = BTreeMap::new();
    for &slice in shop.slices.keys() {
        let concerned: Vec<usize> = (0..due.len()).filter(|&index| due[index].contains(&slice)).collect();
        let is_free = is_fault_free(slice, faults);
        if (concerned.is_empty() || !runner.wants(on_faults)) && !(is_free && runner.wants(free)) {
            continue;
        }
        let truth = match concerned.first() {
            Some(&index) => Truth::Replica(performance[index].pod.clone()),
            None => Truth::Quiet,
        };
        let now = |ns: i64| shop.slice_of(ns) == slice;
        let case = shop.case(minute_title(slice), truth, now, |ns| !now(ns));
        let case = Case { question: Question::Detect, ..case };
        if is_free {
            runner.run(free, SLICE_S as f64 / 3_600.0, case);
            continue;
        }
        for answered in runner.answers(&case) {
            for &index in &concerned {
                listen(&mut answers, (index, answered.method), &answered);
            }
        }
    }
    for ((index, method), answers) in answers {
        let fault = performance[index];
        runner.push(outcome(on_faults, fault, method, &answers));
    }
}

fn listen(answers: &mut BTreeMap<(usize, usize), FaultAnswers>, key: (usize, usize), answered: &Answered) {
    let entry = answers.entry(key).or_insert_with(|| FaultAnswers {
        alarms: vec![],
        got: vec![],
        cost: Cost::default(),
    });
    let rank = answered.judgment.rank.flatten();
    entry.alarms.push(Alarm { raised: !answered.is_empty, rank });
    entry.got.extend(answered.judgment.miss.as_ref().map(|miss| miss.got.clone()));
    entry.cost = entry.cost.plus(answered.cost);
}

fn outcome(group: &Group, fault: &Fault, method: usize, answers: &FaultAnswers) -> Outcome<LocalizerScore> {
    let found = detection(&answers.alarms);
    let right = found.rank == Some(1);
    let miss = (!right).then(|| Miss { expected: fault.pod.clone(), got: answers.got.join("; then ") });
    Outcome {
        group: group.clone(),
        case: fault.title(),
        method,
        score: LocalizerScore {
            hours: 0.0,
            detected: Some(found.raised),
            false_alarms: 0,
            judgment: Judgment { rank: Some(found.rank), right, miss, ..Judgment::default() },
        },
        error: None,
        cost: answers.cost,
    }
}
