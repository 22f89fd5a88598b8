//! Who used the CPU that another thread waited for.

use crate::cpu_runs::{CpuRun, CpuRuns};
use crate::graph::ExecutionGraph;
use crate::path::Window;
use crate::worker::{HostId, WorkerId};
use laggard_model::Cpu;
use std::cmp::Reverse;
use std::collections::BTreeMap;

impl ExecutionGraph {
    /// The runs of threads on every CPU; computed when first needed.
    pub(crate) fn cpu_runs(&self) -> &CpuRuns {
        self.cpu_runs.get_or_init(|| CpuRuns::from_chains(&self.workers, &self.chains))
    }

    /// The CPUs on which threads ran, by host and number.
    pub fn cpus(&self) -> Vec<(HostId, Cpu)> {
        self.cpu_runs().cpus().collect()
    }

    /// The intervals in which threads ran on a CPU, clipped to a window, in time order; without the idle task. Cost: in the first
    /// call linear in the graph, then in the result.
    pub fn cpu_runs_within(
        &self,
        host: HostId,
        cpu: Cpu,
        window: Window,
    ) -> impl Iterator<Item = CpuRun> + '_ {
        self.cpu_runs().within(host, cpu, window)
    }

    /// The threads that ran on a CPU within a window, the idle task excepted: nanoseconds of each, the longest first. Cost: in the
    /// first call linear in the graph, then linear in what ran there.
    pub fn cpu_users(&self, host: HostId, cpu: Cpu, window: Window) -> Vec<(WorkerId, u64)> {
        let mut users: BTreeMap<WorkerId, u64> = BTreeMap::new();
        for run in self.cpu_runs().within(host, cpu, window) {
            *users.entry(run.worker).or_default() += run.window.ns();
        }
        let mut users: Vec<(WorkerId, u64)> = users.into_iter().filter(|(_, ns)| *ns > 0).collect();
        users.sort_by_key(|&(id, ns)| (Reverse(ns), id));
        users
    }
}
