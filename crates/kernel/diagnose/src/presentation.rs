//! Converts sets, kinds, executions and states of a diagnosis to report types.

use crate::names::label;
use crate::names::worker_name;
use crate::sequences::{KernelSet, Member, Sequenced, Sequencer};
use laggard_align::{
    Diagnosis, ExecutionVerdict, Kind, KindOrigin, Resemblance, StateSequence, TimeComparison,
};
use laggard_report::{
    DurationRow, EvaluatedExecution, ExecutionCluster, ExecutionSet, ProjectedExecution, Projection,
    SetOfExecutions, StateAverage,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of values of a distribution, and of points, in a report.
const VALUES_MAX: usize = 500;
const POINTS_MAX: usize = 5_000;

/// Minimum share of a state in the total time for its distribution to be shown.
const STATE_SHARE: f64 = 0.005;

const US: f64 = 1e3;

pub(crate) fn set(set: &KernelSet, sequenced: &Sequenced) -> SetOfExecutions {
    let mut elapsed: Vec<u64> = sequenced.members.iter().map(|member| member.elapsed_ns).collect();
    elapsed.sort_unstable();
    let index = |share: f64| {
        let last = elapsed.len().saturating_sub(1);
        elapsed.get((share * last as f64).round() as usize).copied().unwrap_or(0)
    };
    let total_ns: u64 = elapsed.iter().sum();
    let unresolved: u64 = sequenced.members.iter().map(|member| member.unresolved_ns).sum();
    SetOfExecutions {
        source: set.source.clone(),
        executions: elapsed.len() as u64,
        left_out: sequenced.left_out,
        elapsed_p50_ns: index(0.5),
        elapsed_p95_ns: index(0.95),
        elapsed_min_ns: index(0.0),
        elapsed_max_ns: index(1.0),
        total_ns,
        unresolved_share: unresolved as f64 / total_ns.max(1) as f64,
    }
}

pub(crate) fn state_averages(diagnosis: &Diagnosis) -> Vec<StateAverage> {
    let mut rows = Vec::new();
    if !diagnosis.states.is_empty() {
        rows.push(time_row(None, &diagnosis.total));
    }
    rows.extend(diagnosis.states.iter().map(|row| time_row(Some(u32::from(row.state)), &row.time)));
    rows.extend(diagnosis.states.iter().map(|row| StateAverage {
        symbol: Some(u32::from(row.state)),
        measure: "count",
        normal_mean: row.normal_mean_count,
        normal_deviation: f64::NAN,
        sample_mean: row.sample_mean_count,
        normal_share_above: None,
        sample_share_above: None,
        p_value: None,
        fired: false,
    }));
    rows
}

fn time_row(symbol: Option<u32>, time: &TimeComparison) -> StateAverage {
    StateAverage {
        symbol,
        measure: "time",
        normal_mean: time.normal_mean_us * US,
        normal_deviation: time.normal_std_us * US,
        sample_mean: time.sample_mean_us * US,
        normal_share_above: Some(time.normal_share_above),
        sample_share_above: Some(time.sample_share_above),
        p_value: time.p_value,
        fired: time.is_raised,
    }
}

pub(crate) fn clusters(
    diagnosis: &Diagnosis,
    normal: &Sequenced,
    sample: &Sequenced,
) -> Vec<ExecutionCluster> {
    let mut out: Vec<ExecutionCluster> = (diagnosis.normal_kinds.iter().enumerate())
        .map(|(index, kind)| cluster(ExecutionSet::Normal, index, kind, normal))
        .collect();
    for (index, kind) in diagnosis.sample_kinds.iter().enumerate() {
        let mut row = cluster(ExecutionSet::Sample, index, kind, sample);
        row.anomalous = kind.members.iter().filter(|&&index| stands_out(diagnosis, index)).count() as u64;
        if let Some(pair) = diagnosis.pairs.iter().find(|pair| pair.sample_kind == index) {
            row.paired_with = pair.normal_kind.map(|kind| kind as u32);
            row.silhouette = pair.score;
            if pair.resemblance == Resemblance::NewOrStronglyChanged {
                let more = if row.remark.is_empty() { "" } else { "; " };
                row.remark = format!("{}{more}a new or strongly changed kind", row.remark);
            }
        }
        out.push(row);
    }
    out
}

fn cluster(set: ExecutionSet, index: usize, kind: &Kind, sequenced: &Sequenced) -> ExecutionCluster {
    let mut labels: BTreeMap<&str, usize> = BTreeMap::new();
    for member in kind.members.iter().filter_map(|&index| sequenced.members.get(index)) {
        *labels.entry(&member.execution.label).or_default() += 1;
    }
    let mut ranked: Vec<(&str, usize)> = labels.into_iter().collect();
    ranked.sort_by_key(|&(_, count)| Reverse(count));
    let remark = match kind.origin {
        KindOrigin::Dense => "",
        KindOrigin::Rare => "fewer executions than a cluster needs",
        KindOrigin::Paired => "the executions that one normal kind fits",
        KindOrigin::Whole => "all executions of the set as one kind",
    };
    ExecutionCluster {
        set,
        cluster: index as u32,
        executions: kind.members.len() as u64,
        labels: ranked.into_iter().take(20).map(|(label, _)| label.to_owned()).collect(),
        elapsed_p50_ns: (kind.median_total_us.max(0.0) * US) as u64,
        paired_with: None,
        silhouette: None,
        anomalous: 0,
        remark: remark.to_owned(),
    }
}

pub(crate) fn stands_out(diagnosis: &Diagnosis, index: usize) -> bool {
    diagnosis.sample.get(index).is_some_and(laggard_align::SampleExecution::stands_out)
}

/// Executions of the sample that stand out, the largest excess first.
pub(crate) fn executions(
    diagnosis: &Diagnosis,
    sequencer: &Sequencer<'_>,
    sample: &Sequenced,
    largest: &BTreeMap<usize, String>,
) -> Vec<EvaluatedExecution> {
    let mut order: Vec<usize> =
        (0..diagnosis.sample.len()).filter(|&index| stands_out(diagnosis, index)).collect();
    order.sort_by(|&a, &b| {
        diagnosis.sample[b].excess_us.total_cmp(&diagnosis.sample[a].excess_us).then(a.cmp(&b))
    });
    let known = order.into_iter().filter_map(|index| Some((index, sample.members.get(index)?)));
    known.map(|(index, member)| execution(diagnosis, sequencer, index, member, largest.get(&index))).collect()
}

fn execution(
    diagnosis: &Diagnosis,
    sequencer: &Sequencer<'_>,
    index: usize,
    member: &Member,
    words: Option<&String>,
) -> EvaluatedExecution {
    let evaluated = &diagnosis.sample[index];
    let run = &sequencer.runs[member.run];
    let worker = run.graph.as_ref().and_then(|graph| {
        let row = &member.execution;
        Some(worker_name(graph, graph.worker_of(row.host, row.end_tid, row.window.to)?))
    });
    let thread = worker.map_or_else(String::new, |worker| worker.name);
    let excess_ns = (evaluated.excess_us.max(0.0) * US) as u64;
    EvaluatedExecution {
        number: index as u64 + 1,
        label: label(&member.execution, &thread),
        verdict: match evaluated.verdict {
            ExecutionVerdict::NewKind => laggard_report::ExecutionVerdict::NewKind,
            _ => laggard_report::ExecutionVerdict::Slower,
        },
        trace: member.run as u32,
        thread,
        tid: member.execution.end_tid.0,
        host: String::new(),
        since_ns: member.execution.window.from.ns(),
        since: run.calendar_time(member.execution.window.from),
        elapsed_ns: member.elapsed_ns,
        expected_ns: ((evaluated.summary.total_us - evaluated.excess_us).max(0.0) * US) as u64,
        cluster: evaluated.normal_kind.map(|kind| kind as u32),
        slow_symbols: evaluated.states.iter().map(|row| u32::from(row.state)).collect(),
        description: words.cloned().unwrap_or_default(),
        excess_ns,
    }
}

/// Time by state of each set: the total first, then the states in order of total time.
pub(crate) fn durations(diagnosis: &Diagnosis, normal: &Sequenced, sample: &Sequenced) -> Vec<DurationRow> {
    let all: f64 = [normal, sample].iter().flat_map(|set| &set.sequences).map(StateSequence::total_us).sum();
    let row = |symbol: Option<u8>| DurationRow {
        symbol: symbol.map(u32::from),
        normal_ns: values(&normal.sequences, symbol),
        sample_ns: values(&sample.sequences, symbol),
    };
    let total = |state: u8| -> f64 {
        [normal, sample].iter().flat_map(|set| &set.sequences).map(|sequence| time_us(sequence, state)).sum()
    };
    let mut states: Vec<(u8, f64)> =
        diagnosis.states.iter().map(|row| (row.state, total(row.state))).collect();
    states.retain(|&(_, us)| us >= STATE_SHARE * all);
    states.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut rows = Vec::new();
    if !states.is_empty() {
        rows.push(row(None));
    }
    rows.extend(states.into_iter().map(|(state, _)| row(Some(state))));
    rows
}

fn time_us(sequence: &StateSequence, state: u8) -> f64 {
    let steps = sequence.states().iter().zip(sequence.times_us());
    steps.filter(|(row, _)| **row == state).map(|(_, us)| us).sum()
}

/// Sorted and evenly thinned values, including minimum and maximum.
fn values(sequences: &[StateSequence], symbol: Option<u8>) -> Vec<u64> {
    let us = |sequence: &StateSequence| match symbol {
        Some(state) => time_us(sequence, state),
        None => sequence.total_us(),
    };
    let mut all: Vec<u64> = sequences.iter().map(|sequence| (us(sequence) * US) as u64).collect();
    all.sort_unstable();
    if all.len() <= VALUES_MAX {
        return all;
    }
    (0..VALUES_MAX).map(|index| all[index * (all.len() - 1) / (VALUES_MAX - 1)]).collect()
}

pub(crate) fn projection(diagnosis: &Diagnosis) -> Option<Projection> {
    let normal = diagnosis.normal.iter().enumerate().map(|(index, summary)| ProjectedExecution {
        set: ExecutionSet::Normal,
        number: index as u64 + 1,
        x: summary.projection[0],
        y: summary.projection[1],
        cluster: summary.kind.map(|kind| kind as u32),
        anomalous: false,
    });
    // Sample kinds have the number of the normal kind they are compared with, so that both have one color.
    let sample = diagnosis.sample.iter().enumerate().map(|(index, row)| ProjectedExecution {
        set: ExecutionSet::Sample,
        number: index as u64 + 1,
        x: row.summary.projection[0],
        y: row.summary.projection[1],
        cluster: row.normal_kind.map(|kind| kind as u32),
        anomalous: stands_out(diagnosis, index),
    });
    let all = diagnosis.normal.len() + diagnosis.sample.len();
    let step = all.div_ceil(POINTS_MAX).max(1);
    let points: Vec<ProjectedExecution> = normal.chain(sample).step_by(step).collect();
    let left_out = (all - points.len()) as u64;
    (all >= 3).then(|| Projection { features: "counts of states".to_owned(), points, left_out })
}
