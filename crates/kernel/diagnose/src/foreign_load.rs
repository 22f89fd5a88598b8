//! Whether executions are slower because other programs used the CPUs, and whether these did so in the normal set, too.

use crate::sequences::Sequenced;
use laggard_align::Diagnosis;
use laggard_kernel_graph::{CpuUserRelation, CriticalPath, ExecutionGraph, Window};
use laggard_numeric::{Alternative, mann_whitney, mean};
use std::collections::BTreeSet;

/// Share of an execution's excess from which on other programs explain it.
const EXPLAINED_SHARE: f64 = 0.8;

/// Probability that the sample's waits behind other programs are longer by chance, up to which they count as longer.
const LEVEL: f64 = 0.01;

/// Time of a path in which a thread waited for a CPU that another process used, in nanoseconds. Of traces that do not tell to
/// which processes threads belong it is 0.
pub(crate) fn foreign_ns(graph: &ExecutionGraph, path: &CriticalPath) -> u64 {
    let mut sum = 0;
    for segment in &path.segments {
        let Some(cpu) = segment.cpu.filter(|_| segment.state == laggard_kernel_graph::WorkerState::Preempted)
        else {
            continue;
        };
        let window = Window { from: segment.window.from, to: segment.window.to };
        let users = graph.cpu_users(graph.worker(segment.worker).host, cpu, window);
        let foreign = users.into_iter().filter(|&(user, _)| {
            use CpuUserRelation::{Host, OtherContainer, OtherProcess};
            matches!(graph.relation(segment.worker, user), OtherProcess | OtherContainer | Host)
        });
        sum += foreign.map(|(_, ns)| ns).sum::<u64>();
    }
    sum
}

/// What other programs' use of the CPUs means for a comparison.
#[derive(Debug, Default)]
pub(crate) struct ForeignLoad {
    /// Mean time of an execution that waited for other programs, in nanoseconds.
    pub(crate) normal_ns: f64,
    pub(crate) sample_ns: f64,
    /// Whether those of the sample waited longer.
    pub(crate) is_raised: bool,
    /// Executions that were slower only for that reason, while it was no more than in the normal set.
    pub(crate) excused: BTreeSet<usize>,
}

impl ForeignLoad {
    pub(crate) fn new(diagnosis: &Diagnosis, normal: &Sequenced, sample: &Sequenced) -> ForeignLoad {
        let waited = |set: &Sequenced| -> Vec<f64> {
            set.members.iter().map(|member| member.foreign_ns as f64).collect()
        };
        let (before, after) = (waited(normal), waited(sample));
        let is_raised = mann_whitney(&after, &before, Alternative::Greater).p_value <= LEVEL;
        let normal_ns = mean(&before);
        let is_explained = |index: usize| {
            let excess_ns = diagnosis.sample[index].excess_us * 1e3;
            after.get(index).is_some_and(|waited| waited - normal_ns >= EXPLAINED_SHARE * excess_ns)
        };
        let flagged = (0..diagnosis.sample.len()).filter(|&index| diagnosis.sample[index].stands_out());
        let excused = match is_raised {
            true => BTreeSet::new(),
            false => flagged.filter(|&index| is_explained(index)).collect(),
        };
        ForeignLoad { normal_ns, sample_ns: mean(&after), is_raised, excused }
    }

    /// What it means for the reader; a whole sentence.
    pub(crate) fn caution(&self) -> Option<String> {
        let time = |ns: f64| laggard_model::Nanos::from_ns(ns.max(0.0) as u64);
        if self.is_raised {
            return Some(format!(
                "Other programs used the CPUs more during the sample: its executions waited {} for them on average, normal ones {}.",
                time(self.sample_ns),
                time(self.normal_ns)
            ));
        }
        let count = self.excused.len();
        (count > 0).then(|| {
            let (executions, are) = if count == 1 { ("execution", "is") } else { ("executions", "are") };
            format!(
                "{count} {executions} of the sample {are} slower only because other programs used the CPUs, which they did in the \
                 normal set as much; not counted."
            )
        })
    }
}
