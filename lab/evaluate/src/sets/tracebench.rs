//! HDFS request traces with slow nodes: files named by what was injected.

use super::{Group, SetKind, entries, file_name, read_traces};
use crate::calls::CaseCalls;
use crate::case::{Case, Question, Truth};
use crate::run::Runner;
use crate::select::{each_trace, select};
use laggard_engine::Traces;
use laggard_model::{ReplicaId, TraceId};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Draws of a sub-sample, and traces in each.
const DRAWS: u64 = 10;
const DRAWN_TRACES: usize = 20;

const NODES: &str = "slow nodes, unknown number";
const SAMPLES: &str = "slow nodes, sub-samples of 20 traces";
const EVERYWHERE: &str = "every node slow, quiet run as baseline";
const QUIET: &str = "nothing injected";

/// The injected fault, by a file's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileTruth {
    /// `slowdn-w-20ms-05fdn…`: this many of the nodes, the first ones.
    SlowNodes {
        /// How many.
        nodes: u32,
    },
    /// `slowhdfs-w-10ms`: all nodes, by so much.
    AllNodes {
        /// The workload: `w` or `rpc`.
        workload: String,
        /// Nothing for 0.
        delay_ms: u32,
    },
}

/// Reads a file's name; `None` for one of another kind.
pub fn tracebench_truth(name: &str) -> Option<FileTruth> {
    let stem = name.split('.').next().unwrap_or_default();
    let words: Vec<&str> = stem.split('-').collect();
    match words[..] {
        ["slowdn", _, _, nodes, ..] => {
            let nodes = nodes.strip_suffix("fdn")?.parse().ok()?;
            Some(FileTruth::SlowNodes { nodes })
        }
        ["slowhdfs", workload, delay, ..] => {
            let delay_ms = delay.strip_suffix("ms")?.parse().ok()?;
            Some(FileTruth::AllNodes { workload: workload.to_owned(), delay_ms })
        }
        _ => None,
    }
}

struct Run {
    path: PathBuf,
    truth: FileTruth,
}

impl Run {
    fn name(&self) -> String {
        file_name(&self.path).split('.').next().unwrap_or_default().to_owned()
    }
}

pub(super) fn visit(folder: &Path, runner: &mut Runner<'_>) -> Result<(), String> {
    let runs: Vec<Run> = (entries(folder)?.into_iter())
        .filter_map(|path| tracebench_truth(file_name(&path)).map(|truth| Run { path, truth }))
        .collect();
    let groups = [NODES, SAMPLES, EVERYWHERE, QUIET].map(|name| Group::new(SetKind::Tracebench, name));
    if runs.is_empty() || !groups.iter().any(|group| runner.wants(group)) {
        return Ok(());
    }
    let [nodes, samples, everywhere, quiet] = &groups;
    let mut quiet_runs: BTreeMap<String, Arc<Traces>> = BTreeMap::new();
    for run in &runs {
        if let FileTruth::AllNodes { workload, delay_ms: 0 } = &run.truth {
            let traces = Arc::new(read_traces(std::slice::from_ref(&run.path), runner.threads())?);
            quiet_runs.insert(workload.clone(), Arc::clone(&traces));
            let hours = hours(&traces);
            runner.run(quiet, hours, case(run.name(), traces, None, Truth::Quiet));
        }
    }
    for run in &runs {
        match &run.truth {
            FileTruth::SlowNodes { nodes: slow } => {
                let traces = Arc::new(read_traces(std::slice::from_ref(&run.path), runner.threads())?);
                let truth = slow_nodes(&traces, *slow);
                runner.run(nodes, 0.0, case(run.name(), Arc::clone(&traces), None, Truth::Replicas(truth)));
                sub_samples(run, &traces, *slow, samples, runner);
            }
            FileTruth::AllNodes { delay_ms: 0, .. } => {}
            FileTruth::AllNodes { workload, .. } => {
                let traces = Arc::new(read_traces(std::slice::from_ref(&run.path), runner.threads())?);
                let baseline = baseline_of(&quiet_runs, workload);
                runner.run(everywhere, 0.0, case(run.name(), traces, baseline, Truth::SomethingEverywhere));
            }
        }
    }
    Ok(())
}

/// The quiet run of the same workload, else the only one there is.
fn baseline_of(quiet: &BTreeMap<String, Arc<Traces>>, workload: &str) -> Option<Arc<Traces>> {
    let only = if quiet.len() == 1 { quiet.values().next() } else { None };
    quiet.get(workload).or(only).cloned()
}

fn case(name: String, target: Arc<Traces>, baseline: Option<Arc<Traces>>, truth: Truth) -> Case {
    let calls = CaseCalls::new(&target, baseline.as_deref());
    let question = if truth == Truth::Quiet { Question::Detect } else { Question::Explain };
    Case { name, target, baseline, calls, truth, question }
}

fn sub_samples(run: &Run, traces: &Traces, slow: u32, group: &Group, runner: &mut Runner<'_>) {
    if !runner.wants(group) {
        return;
    }
    for draw in 1..=DRAWS {
        let selected = sampled_traces(traces, draw);
        let part = Arc::new(select(traces, runner.threads(), |rows| selected.contains(&rows[0].trace)));
        let truth = Truth::Replicas(slow_nodes(&part, slow));
        runner.run(group, 0.0, case(format!("{} draw {draw}", run.name()), part, None, truth));
    }
}

/// The traces whose mixed id is smallest.
fn sampled_traces(traces: &Traces, draw: u64) -> BTreeSet<TraceId> {
    let mixed = |id: TraceId| {
        let value = id.value();
        mix(mix(value as u64 ^ (value >> 64) as u64).wrapping_add(draw))
    };
    let mut ids: Vec<(u64, TraceId)> =
        each_trace(traces).map(|rows| (mixed(rows[0].trace), rows[0].trace)).collect();
    ids.sort_unstable();
    ids.into_iter().take(DRAWN_TRACES).map(|(_, id)| id).collect()
}

/// The finalizer of splitmix64.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The data nodes numbered 1 to `slow` that occur in the data.
fn slow_nodes(traces: &Traces, slow: u32) -> BTreeSet<String> {
    let mut seen = vec![false; traces.names().replicas()];
    traces.buckets().iter().flatten().for_each(|row| seen[row.replica.index()] = true);
    let number = |name: &str| name.strip_prefix("datanode").and_then(|digits| digits.parse::<u32>().ok());
    (0..seen.len())
        .filter(|&position| seen[position])
        .map(|position| traces.names().replica_name(ReplicaId::from_index(position)))
        .filter(|name| number(name).is_some_and(|number| (1..=slow).contains(&number)))
        .map(str::to_owned)
        .collect()
}

fn hours(traces: &Traces) -> f64 {
    let extent = traces.extent().map(|(first, last)| last.since(first).magnitude().ns());
    extent.unwrap_or(0) as f64 / 3.6e12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_state_the_injected_fault() {
        let all = |workload: &str, delay_ms| FileTruth::AllNodes { workload: workload.to_owned(), delay_ms };
        let cases = [
            ("slowdn-w-20ms-05fdn.csv.zst", Some(FileTruth::SlowNodes { nodes: 5 })),
            ("slowdn-w-40ms-12fdn-raw-clocks.csv", Some(FileTruth::SlowNodes { nodes: 12 })),
            ("slowhdfs-rpc-0600ms.csv.zst", Some(all("rpc", 600))),
            ("slowhdfs-w-00ms.csv.zst", Some(all("w", 0))),
            ("spans.csv.zst", None),
            ("slowdn-w-20ms-many.csv", None),
        ];
        for (name, truth) in cases {
            assert_eq!(tracebench_truth(name), truth, "{name}");
        }
    }

    #[test]
    fn a_quiet_run_of_another_workload_is_used_only_as_a_fallback() {
        let run = || Arc::new(Traces::default());
        let single_run = BTreeMap::from([("w".to_owned(), run())]);
        assert!(baseline_of(&single_run, "w").is_some() && baseline_of(&single_run, "rpc").is_some());
        let two = BTreeMap::from([("w".to_owned(), run()), ("r".to_owned(), run())]);
        assert!(baseline_of(&two, "w").is_some() && baseline_of(&two, "rpc").is_none());
        assert!(baseline_of(&BTreeMap::new(), "w").is_none());
    }
}
