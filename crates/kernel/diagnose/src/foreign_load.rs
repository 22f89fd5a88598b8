//! Whether executions are slower because other programs used the CPUs, and whether these did so in the normal set, too.

use crate::sequences::Sequenced;
use laggard_align::Diagnosis;
use laggard_kernel_graph::{CpuUserRelation, CriticalPath, ExecutionGraph, WorkerState};
use laggard_numeric::{Alternative, mann_whitney, mean};
use std::collections::BTreeSet;

/// Share of an execution's excess from which on other programs explain it.
const EXPLAINED_SHARE: f64 = 0.8;

/// Probability that the sample's waits behind other programs are longer by chance, up to which they count as longer.
const LEVEL: f64 = 0.01;

/// Time of a path in which a thread waited for a CPU that another process used, in nanoseconds. It is 0 for
/// traces that do not say to which process a thread belongs.
pub(crate) fn foreign_ns(graph: &ExecutionGraph, path: &CriticalPath) -> u64 {
    let mut sum = 0;
    for segment in &path.segments {
        let Some(cpu) = segment.cpu.filter(|_| segment.state == WorkerState::Preempted) else {
            continue;
        };
        let users = graph.cpu_users(graph.worker(segment.worker).host, cpu, segment.window);
        let foreign = users.into_iter().filter(|&(user, _)| {
            use CpuUserRelation::{Host, OtherContainer, OtherProcess};
            matches!(graph.relation(segment.worker, user), OtherProcess | OtherContainer | Host)
        });
        sum += foreign.map(|(_, ns)| ns).sum::<u64>();
    }
    sum
}

/// Effect of other programs' use of the CPUs on a comparison.
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
    /// What the waits of both sets for other programs mean for the executions that stand out.
    pub(crate) fn new(diagnosis: &Diagnosis, normal: &Sequenced, sample: &Sequenced) -> ForeignLoad {
        let waited = |set: &Sequenced| -> Vec<f64> {
            set.members.iter().map(|member| member.foreign_ns as f64).collect()
        };
        let excess_ns = |index: usize| {
            let execution = &diagnosis.sample[index];
            execution.stands_out().then_some(execution.excess_us * 1e3)
        };
        let excesses_ns: Vec<Option<f64>> = (0..diagnosis.sample.len()).map(excess_ns).collect();
        ForeignLoad::from_waits(&waited(normal), &waited(sample), &excesses_ns)
    }

    /// From the waits of the executions of each set, and the excess of those of the sample that stand out, all in nanoseconds.
    fn from_waits(before: &[f64], after: &[f64], excesses_ns: &[Option<f64>]) -> ForeignLoad {
        let is_raised = mann_whitney(after, before, Alternative::Greater).p_value <= LEVEL;
        let normal_ns = mean(before);
        let is_explained = |&(index, excess_ns): &(usize, f64)| {
            after.get(index).is_some_and(|waited| waited - normal_ns >= EXPLAINED_SHARE * excess_ns)
        };
        let flagged =
            (excesses_ns.iter().enumerate()).filter_map(|(index, excess)| Some((index, (*excess)?)));
        let excused = match is_raised {
            true => BTreeSet::new(),
            false => flagged.filter(is_explained).map(|(index, _)| index).collect(),
        };
        ForeignLoad { normal_ns, sample_ns: mean(after), is_raised, excused }
    }

    /// A sentence for the reader on this effect.
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
                "{count} {executions} of the sample {are} slower only because other programs used the CPUs, and they used them as \
                 much during the normal set; not counted."
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Normal executions wait 0 to 9 ms for other programs.
    fn usual_waits() -> Vec<f64> {
        (0..50).map(|index| f64::from(index % 10) * 1e6).collect()
    }

    #[test]
    fn executions_with_as_much_foreign_load_as_normal_ones_are_excused() {
        let mut after = usual_waits();
        after[3] = 30e6;
        let mut excesses = vec![None; 50];
        // One waited for other programs for all of its excess, one for hardly any of it.
        (excesses[3], excesses[9]) = (Some(25e6), Some(20e6));
        let load = ForeignLoad::from_waits(&usual_waits(), &after, &excesses);
        assert!(!load.is_raised);
        assert_eq!(load.excused, BTreeSet::from([3]));
        assert!(load.caution().unwrap().starts_with("1 execution of the sample is slower only because"));
    }

    #[test]
    fn no_execution_is_excused_if_foreign_load_has_grown() {
        let after: Vec<f64> = usual_waits().iter().map(|waited| waited + 10e6).collect();
        let load = ForeignLoad::from_waits(&usual_waits(), &after, &vec![Some(10e6); 50]);
        assert!(load.is_raised && load.excused.is_empty());
        assert!(load.caution().unwrap().contains("waited 14.5 ms for them on average, normal ones 4.50 ms"));
    }

    #[test]
    fn without_foreign_load_there_is_no_caution() {
        let load = ForeignLoad::from_waits(&[0.0; 20], &[0.0; 20], &[Some(5e6); 20]);
        assert!(load.excused.is_empty());
        assert_eq!(load.caution(), None);
    }
}
