//! Which threads ran on which CPU during a path.

use crate::names::worker_name;
use laggard_kernel_graph::{CpuRun, CriticalPath, ExecutionGraph, WorkerId};
use laggard_report::{CpuLane, CpuRunRole, CpuRunSegment};
use std::collections::BTreeSet;

// Limit: intervals in which threads ran on CPUs, of a drawn path | the shortest are left out, with their number
const RUNS_MAX: usize = 10_000;

/// The CPUs of all hosts during a path, and how many of the shortest intervals are left out.
pub(crate) fn cpu_lanes(graph: &ExecutionGraph, path: &CriticalPath) -> (Vec<CpuLane>, u64) {
    lanes_up_to(graph, path, RUNS_MAX)
}

fn lanes_up_to(graph: &ExecutionGraph, path: &CriticalPath, runs_max: usize) -> (Vec<CpuLane>, u64) {
    let on_path: BTreeSet<WorkerId> = path.segments.iter().map(|segment| segment.worker).collect();
    let cpus: Vec<(_, Vec<CpuRun>)> = graph
        .cpus()
        .into_iter()
        .map(|(host, cpu)| ((host, cpu), graph.cpu_runs_within(host, cpu, path.window).collect()))
        .collect();
    let mut lengths: Vec<u64> =
        cpus.iter().flat_map(|(_, runs)| runs.iter().map(|run| run.window.ns())).collect();
    let all = lengths.len();
    let longer_than = match all.checked_sub(runs_max) {
        Some(excess) if excess > 0 => *lengths.select_nth_unstable(excess - 1).1,
        _ => 0,
    };
    let mut listed = 0;
    let mut lanes = Vec::new();
    for ((host, cpu), runs) in cpus {
        let runs = runs.iter().filter(|run| run.window.ns() > longer_than);
        let runs: Vec<CpuRunSegment> = runs.map(|run| segment(graph, path, &on_path, run)).collect();
        listed += runs.len();
        if !runs.is_empty() {
            lanes.push(CpuLane { cpu: cpu.0, host: graph.name_of_host(host).to_owned(), runs });
        }
    }
    (lanes, (all - listed) as u64)
}

fn segment(
    graph: &ExecutionGraph,
    path: &CriticalPath,
    on_path: &BTreeSet<WorkerId>,
    run: &CpuRun,
) -> CpuRunSegment {
    let name = worker_name(graph, run.worker);
    CpuRunSegment {
        thread: name.name,
        tid: name.tid,
        role: match run.worker {
            worker if worker == path.worker => CpuRunRole::Own,
            worker if on_path.contains(&worker) => CpuRunRole::OnPath,
            _ => CpuRunRole::Other,
        },
        from_ns: run.window.from.since(path.window.from),
        to_ns: run.window.to.since(path.window.from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::select_executions;
    use crate::question::KernelPathQuestion;
    use crate::test_scene::{Scene, US};

    fn runs(lanes: &[CpuLane]) -> Vec<(u16, &str, CpuRunRole, u64, u64)> {
        let runs = lanes.iter().flat_map(|lane| lane.runs.iter().map(move |run| (lane.cpu, run)));
        runs.map(|(cpu, run)| (cpu, run.thread.as_str(), run.role, run.from_ns / US, run.to_ns / US))
            .collect()
    }

    #[test]
    fn cpus_have_the_threads_that_ran_and_without_the_shortest_runs_beyond_the_limit() {
        let kernel_runs = [Scene::run(2, None)];
        let selected = select_executions(&kernel_runs, &KernelPathQuestion::default()).unwrap();
        let (graph, path) = (selected[0].graph, selected[0].path().unwrap());
        let (lanes, left_out) = cpu_lanes(graph, &path);
        let own = [(0, "app", CpuRunRole::Own, 0, 100), (0, "app", CpuRunRole::Own, 410, 460)];
        let other = (1, "db", CpuRunRole::OnPath, 100, 405);
        assert_eq!((runs(&lanes), left_out), (vec![own[0], own[1], other], 0));
        let (lanes, left_out) = lanes_up_to(graph, &path, 2);
        assert_eq!((runs(&lanes), left_out), (vec![own[0], other], 1));
    }
}
