//! How well [`laggard_align::diagnose`] does on drawn executions: `execution_accuracy [SEEDS] [FIRST SEED] [MODE] [SCENARIO…]`.

#![expect(clippy::print_stdout, reason = "an example prints what it measured")]

use laggard_align::{
    AlignMode, AlignSettings, Diagnosis, ExecutionVerdict, StateSequence, Verdict, diagnose,
};
use laggard_simulate_kernel::{
    ALPHABET_LEN, ExecutionScenario, ExecutionSettings, SimulatedExecution, SimulatedExecutions,
    draw_executions,
};
use std::collections::BTreeSet;

#[derive(Default)]
struct Tally {
    runs: usize,
    alarms: usize,
    kinds_right: usize,
    kinds_of: usize,
    pairs_right: usize,
    pairs_of: usize,
    hit: usize,
    faulty: usize,
    flagged: usize,
    found: usize,
    injected: usize,
    reported_us: f64,
    unrelated_us: f64,
}

fn sequences(set: &[SimulatedExecution]) -> Vec<StateSequence> {
    let execution = |drawn: &SimulatedExecution| {
        let mut sequence = StateSequence::new();
        drawn.states.iter().zip(&drawn.times_us).for_each(|(&state, &time)| sequence.push(state, time));
        sequence
    };
    set.iter().map(execution).collect()
}

/// The most frequent true kind of each found one.
fn true_kinds(diagnosis: &Diagnosis, drawn: &SimulatedExecutions) -> Vec<usize> {
    let label_of = |kind: &laggard_align::Kind| {
        let mut counts = vec![0; 64];
        kind.members.iter().for_each(|&index| counts[drawn.normal[index].kind] += 1);
        (0..counts.len()).max_by_key(|&index| counts[index]).unwrap_or(0)
    };
    diagnosis.normal_kinds.iter().map(label_of).collect()
}

fn add(tally: &mut Tally, diagnosis: &Diagnosis, drawn: &SimulatedExecutions) {
    tally.runs += 1;
    tally.alarms += usize::from(!matches!(diagnosis.verdict, Verdict::NothingFound | Verdict::FewStandOut));
    let truth = true_kinds(diagnosis, drawn);
    for (place, execution) in diagnosis.normal.iter().zip(&drawn.normal) {
        tally.kinds_of += 1;
        tally.kinds_right += usize::from(place.kind.is_some_and(|kind| truth[kind] == execution.kind));
    }
    for (index, (judged, execution)) in diagnosis.sample.iter().zip(&drawn.sample).enumerate() {
        let is_faulty = execution.is_new_kind || !execution.injected.is_empty();
        let is_flagged = matches!(judged.verdict, ExecutionVerdict::Anomalous | ExecutionVerdict::NewKind);
        if !execution.is_new_kind {
            tally.pairs_of += 1;
            tally.pairs_right +=
                usize::from(judged.normal_kind.is_some_and(|kind| truth[kind] == execution.kind));
        }
        tally.faulty += usize::from(is_faulty);
        tally.flagged += usize::from(is_flagged);
        tally.hit += usize::from(is_faulty && is_flagged);
        let mut steps = BTreeSet::new();
        for group in &diagnosis.findings {
            for occurrence in group.occurrences.iter().filter(|occurrence| occurrence.execution == index) {
                tally.reported_us += occurrence.excess_us;
                let is_related =
                    execution.injected.iter().any(|injected| occurrence.steps.contains(&injected.step));
                tally.unrelated_us += if is_related { 0.0 } else { occurrence.excess_us };
                steps.extend(occurrence.steps.clone());
            }
        }
        tally.injected += execution.injected.len();
        tally.found += execution.injected.iter().filter(|injected| steps.contains(&injected.step)).count();
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { f64::NAN } else { part as f64 / whole as f64 }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (seeds, first) = (number(10), number(1));
    let mode = arguments.next().unwrap_or_default();
    let mode = AlignMode::ALL.into_iter().find(|one| one.name() == mode).unwrap_or_default();
    let only: Vec<String> = arguments.collect();
    println!("scenario            alarms kinds pairs precision recall positions unrelated");
    for scenario in ExecutionScenario::ALL {
        if !only.is_empty() && !only.iter().any(|one| one == scenario.name()) {
            continue;
        }
        let mut tally = Tally::default();
        for seed in first..first + seeds {
            let drawn = draw_executions(&ExecutionSettings::scenario(scenario, seed));
            let settings = AlignSettings { mode, ..AlignSettings::default() };
            let diagnosis =
                diagnose(&sequences(&drawn.normal), &sequences(&drawn.sample), ALPHABET_LEN, &settings);
            add(&mut tally, &diagnosis, &drawn);
        }
        println!(
            "{:<18} {:>3}/{:<3} {:>5.3} {:>5.3} {:>9.3} {:>6.3} {:>9.3} {:>9.3}",
            scenario.name(),
            tally.alarms,
            tally.runs,
            share(tally.kinds_right, tally.kinds_of),
            share(tally.pairs_right, tally.pairs_of),
            share(tally.hit, tally.flagged),
            share(tally.hit, tally.faulty),
            share(tally.found, tally.injected),
            tally.unrelated_us / tally.reported_us,
        );
    }
}
