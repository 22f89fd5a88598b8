//! Describes the findings of the alignment: the waiting thread, the reason of the wait, and the thread that ends it.

use crate::intervals::intervals;
use crate::names::{quoted, worker_name};
use crate::sequences::{Sequenced, Sequencer, StepSegments};
use crate::waits::{WaitKey, WaitSum};
use laggard_align::localize::{AlignedPosition, ClusterProfile, DeviationKind};
use laggard_align::{Diagnosis, FindingGroup, Occurrence};
use laggard_kernel_graph::{CriticalPath, ExecutionGraph};
use laggard_report::{AbnormalWait, StateName, StepDeviation, StepGroup, StepKind, WaitCause};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of examples of a finding.
const EXAMPLES: usize = 5;

/// Maximum number of findings and of abnormal waits in a report.
const LISTED_MAX: usize = 500;

/// The findings for a report.
pub(crate) struct Deviations {
    pub(crate) waits: Vec<AbnormalWait>,
    pub(crate) steps: Vec<StepGroup>,
    /// The largest deviation of each sample execution that has one.
    pub(crate) largest: BTreeMap<usize, String>,
}

#[derive(Clone, Default)]
struct Sum {
    sum: WaitSum,
    excess_ns: u64,
    executions: BTreeSet<usize>,
    /// Waits by execution and number: a wait that is part of several findings is one.
    waits: BTreeSet<(usize, usize)>,
    /// Excess by finding.
    groups: BTreeMap<usize, u64>,
}

/// An occurrence of a finding, with its reason from the critical path.
struct OccurrenceSummary {
    reason: WaitKey,
    sum: WaitSum,
    waits: BTreeSet<usize>,
    example: StepDeviation,
}

/// The occurrences of a finding.
#[derive(Default)]
struct GroupDeviations {
    reasons: BTreeMap<WaitKey, Sum>,
    /// The longest, that first.
    examples: Vec<StepDeviation>,
    /// Where each begins, from the beginning of its execution, in nanoseconds.
    offsets_ns: Vec<u64>,
}

/// Sums over all executions.
#[derive(Default)]
struct DeviationSums {
    waits: BTreeMap<WaitKey, Sum>,
    groups: BTreeMap<usize, GroupDeviations>,
    executions: BTreeMap<usize, BTreeMap<WaitKey, Sum>>,
}

pub(crate) fn deviations(
    diagnosis: &Diagnosis,
    sequencer: &Sequencer<'_>,
    sample: &Sequenced,
    symbols: &[StateName],
) -> Deviations {
    let sums = gather(diagnosis, sequencer, sample);
    let total_ns: u64 = (diagnosis.sample.iter())
        .filter(|execution| execution.verdict != laggard_align::ExecutionVerdict::Normal)
        .map(|execution| (execution.excess_us.max(0.0) * 1e3) as u64)
        .sum();
    let explained_ns: u64 = sums.waits.values().map(|sum| sum.excess_ns).sum();
    let share = |ns: u64| (ns as f64 / total_ns.max(explained_ns).max(1) as f64).min(1.0);
    let groups = diagnosis.findings.iter().enumerate().take(LISTED_MAX);
    let steps: Vec<StepGroup> = groups
        .map(|(index, group)| step(diagnosis, group, sums.groups.get(&index), symbols, &share))
        .collect();
    let mut waits: Vec<AbnormalWait> =
        sums.waits.iter().map(|(reason, sum)| wait(reason, sum, &share)).collect();
    waits.retain(|wait| wait.excess_ns > 0);
    waits.sort_by_key(|wait| Reverse(wait.excess_ns));
    waits.truncate(LISTED_MAX);
    let largest = sums.executions.iter().filter_map(|(&execution, reasons)| {
        let waits = reasons.iter().filter(|(_, sum)| sum.excess_ns > 0);
        let (reason, sum) = waits.max_by_key(|(reason, sum)| (sum.excess_ns, Reverse(*reason)))?;
        Some((execution, format!("{} {}", quoted(&reason.thread), reason.words(&sum.sum))))
    });
    let largest = largest.collect();
    Deviations { waits, steps, largest }
}

/// Summarizes every occurrence; each critical path is computed once.
fn gather(diagnosis: &Diagnosis, sequencer: &Sequencer<'_>, sample: &Sequenced) -> DeviationSums {
    let mut by_execution: BTreeMap<usize, Vec<(usize, &Occurrence)>> = BTreeMap::new();
    for (index, group) in diagnosis.findings.iter().enumerate() {
        for occurrence in &group.occurrences {
            by_execution.entry(occurrence.execution).or_default().push((index, occurrence));
        }
    }
    let mut sums = DeviationSums::default();
    for (execution, occurrences) in by_execution {
        let Some(member) = sample.members.get(execution) else { continue };
        let Some((graph, path)) = sequencer.path(member.run, &member.execution) else { continue };
        let steps = sequencer.steps(graph, &path);
        for (index, occurrence) in occurrences {
            if let Some(summary) =
                summarize_occurrence(graph, &path, &steps, &diagnosis.findings[index], occurrence)
            {
                sums.add(index, occurrence, summary);
            }
        }
    }
    sums
}

impl DeviationSums {
    fn add(&mut self, group: usize, occurrence: &Occurrence, summary: OccurrenceSummary) {
        let excess_ns = (occurrence.excess_us.max(0.0) * 1e3) as u64;
        let add = |sum: &mut Sum| {
            sum.sum.merge(&summary.sum);
            sum.excess_ns += excess_ns;
            sum.executions.insert(occurrence.execution);
            sum.waits.extend(summary.waits.iter().map(|&wait| (occurrence.execution, wait)));
            sum.sum.count = sum.waits.len() as u64;
            *sum.groups.entry(group).or_default() += excess_ns;
        };
        let GroupDeviations { reasons, examples, offsets_ns } = self.groups.entry(group).or_default();
        offsets_ns.push(summary.example.offset_ns);
        add(reasons.entry(summary.reason.clone()).or_default());
        add(self.waits.entry(summary.reason.clone()).or_default());
        add(self.executions.entry(occurrence.execution).or_default().entry(summary.reason).or_default());
        let example = summary.example;
        let position = examples.partition_point(|execution| execution.elapsed_ns >= example.elapsed_ns);
        examples.insert(position, example);
        examples.truncate(EXAMPLES);
    }
}

/// The reason that took most of an occurrence's time.
fn summarize_occurrence(
    graph: &ExecutionGraph,
    path: &CriticalPath,
    steps: &[StepSegments],
    group: &FindingGroup,
    occurrence: &Occurrence,
) -> Option<OccurrenceSummary> {
    if group.kind == DeviationKind::Missing {
        return Some(missing_step(graph, path, steps, occurrence));
    }
    let first = steps.get(occurrence.steps.start)?;
    let last = steps.get(occurrence.steps.end.saturating_sub(1))?;
    let path_intervals = intervals(graph, path, first.first..=last.last);
    let mut sums: BTreeMap<WaitKey, (WaitSum, BTreeSet<usize>)> = BTreeMap::new();
    for interval in &path_intervals {
        let (sum, waits) = sums.entry(WaitKey::new(graph, path, interval)).or_default();
        sum.add_interval(graph, interval);
        waits.insert(interval.wait);
    }
    let (reason, (sum, waits)) =
        sums.into_iter().max_by_key(|(reason, (sum, _))| (sum.ns, Reverse(reason.clone())))?;
    let since = path_intervals.first()?.from;
    let expected_us = (occurrence.time_us - occurrence.excess_us).max(0.0);
    let own = worker_name(graph, path.worker);
    let example = StepDeviation {
        execution: occurrence.execution as u64 + 1,
        tid: own.tid,
        thread: own.name,
        since_ns: since.ns(),
        offset_ns: since.since(path.window.from),
        elapsed_ns: (occurrence.time_us * 1e3) as u64,
        expected_ns: (expected_us * 1e3) as u64,
    };
    Some(OccurrenceSummary { reason, sum, waits, example })
}

/// A missing step is attributed to the execution's own thread, at the step before which it is expected.
fn missing_step(
    graph: &ExecutionGraph,
    path: &CriticalPath,
    steps: &[StepSegments],
    occurrence: &Occurrence,
) -> OccurrenceSummary {
    let own = worker_name(graph, path.worker);
    let segment = steps.get(occurrence.steps.start).and_then(|step| path.segments.get(step.first));
    let since = segment.map_or(path.window.to, |segment| segment.window.from);
    let example = StepDeviation {
        execution: occurrence.execution as u64 + 1,
        thread: own.name.clone(),
        tid: own.tid,
        since_ns: since.ns(),
        offset_ns: since.since(path.window.from),
        elapsed_ns: 0,
        expected_ns: 0,
    };
    let reason = WaitKey::missing_step(WaitCause::Unknown, own.name);
    OccurrenceSummary { reason, sum: WaitSum::default(), waits: BTreeSet::new(), example }
}

fn wait(reason: &WaitKey, sum: &Sum, share: &impl Fn(u64) -> f64) -> AbnormalWait {
    let mut steps: Vec<(usize, u64)> = sum.groups.iter().map(|(&index, &ns)| (index, ns)).collect();
    steps.sort_by_key(|&(index, ns)| (Reverse(ns), index));
    let cpu_users = sum.sum.cpu_users.listed();
    let most = cpu_users.first().filter(|user| user.total_ns.saturating_mul(2) >= sum.sum.ns);
    let most = most.map(|user| user.thread.clone());
    AbnormalWait {
        description: reason.words(&sum.sum),
        cause: reason.cause,
        thread: reason.thread.clone(),
        waker: most.or_else(|| reason.waker().map(str::to_owned)),
        other: reason.other_thread(&sum.sum),
        call: reason.call.clone(),
        cpu_users,
        stacks: sum.sum.stacks(),
        resource: reason.resource.clone(),
        executions: sum.executions.len() as u64,
        count: sum.sum.count,
        total_ns: sum.sum.ns,
        excess_ns: sum.excess_ns,
        share: share(sum.excess_ns),
        steps: steps
            .into_iter()
            .filter(|&(index, _)| index < LISTED_MAX)
            .map(|(index, _)| index as u32)
            .collect(),
    }
}

fn step(
    diagnosis: &Diagnosis,
    group: &FindingGroup,
    sums: Option<&GroupDeviations>,
    symbols: &[StateName],
    share: &impl Fn(u64) -> f64,
) -> StepGroup {
    let alignment = diagnosis.alignments.iter().find(|execution| execution.normal_kind == group.normal_kind);
    let profile = alignment.map(|execution| &execution.profile);
    let columns = profile.map_or(0, |profile| profile.columns().len());
    let symbol = symbols.get(usize::from(group.state));
    let name = symbol.map_or("", |symbol| symbol.name.as_str());
    let main = sums.and_then(|sums| {
        sums.reasons.iter().max_by_key(|(reason, sum)| (sum.excess_ns, sum.sum.ns, Reverse(*reason)))
    });
    let cause =
        symbol.map_or(WaitCause::Unknown, |execution| WaitCause::of(execution.state, execution.own, 0, 0));
    let (reason, words) = match main {
        Some((reason, sum)) if group.kind != DeviationKind::Missing => {
            (reason.clone(), reason.words(&sum.sum))
        }
        main => {
            let thread = main.map_or_else(String::new, |(reason, _)| reason.thread.clone());
            let reason = WaitKey::missing_step(cause, thread);
            (reason, format!("lacks the usual {}", quoted(name)))
        }
    };
    let anomalous_in_cluster = alignment.map_or(0, |execution| execution.executions.len() as u64);
    let excess_ns = (group.excess_us.max(0.0) * 1e3) as u64;
    StepGroup {
        description: words,
        cluster: Some(group.normal_kind as u32),
        kind: kind(group.kind),
        symbol: u32::from(group.state),
        cause: reason.cause,
        step: number(group.first, columns),
        step_last: number(group.last, columns),
        steps: columns as u32,
        after: profile.map_or_else(String::new, |profile| after(profile, group.first, symbols)),
        waker: reason.waker().map(str::to_owned),
        call: reason.call,
        thread: reason.thread,
        resource: reason.resource,
        executions: group.executions as u64,
        anomalous_in_cluster,
        count: group.occurrences.len() as u64,
        total_ns: (group.time_us.max(0.0) * 1e3) as u64,
        excess_ns,
        share: share(excess_ns),
        offset_ns: sums.and_then(|sums| median(&sums.offsets_ns)),
        examples: sums.map_or_else(Vec::new, |sums| sums.examples.clone()),
    }
}

fn median(values: &[u64]) -> Option<u64> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

pub(crate) const fn kind(kind: DeviationKind) -> StepKind {
    match kind {
        DeviationKind::Unexpected => StepKind::Unexpected,
        DeviationKind::Missing => StepKind::Missing,
        DeviationKind::Slow => StepKind::Slow,
    }
}

/// The step of normal executions, from 1; an inserted step counts as the step after it.
fn number(position: AlignedPosition, columns: usize) -> u32 {
    let (AlignedPosition::Before(column) | AlignedPosition::Column(column)) = position;
    (column + 1).min(columns.max(1) as u32)
}

/// The most frequent state of normal executions in the step before.
fn after(profile: &ClusterProfile, position: AlignedPosition, symbols: &[StateName]) -> String {
    let (AlignedPosition::Before(column) | AlignedPosition::Column(column)) = position;
    let before = column.checked_sub(1).and_then(|column| profile.columns().get(column as usize));
    let state = before.and_then(|column| column.states.first()).map(|share| usize::from(share.state));
    state.and_then(|state| symbols.get(state)).map_or_else(String::new, |symbol| symbol.name.clone())
}
