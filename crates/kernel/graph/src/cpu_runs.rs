//! Which thread ran on which CPU, and when.

use crate::path::{Window, WorkerState};
use crate::vertex::Vertex;
use crate::worker::{HostId, Worker, WorkerId, WorkerKind};
use laggard_model::{Cpu, KernelTime};
use std::collections::BTreeMap;

/// An interval in which a thread ran on a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuRun {
    /// The interval.
    pub window: Window,
    /// The thread.
    pub worker: WorkerId,
}

/// The threads of every CPU in time order, without idle tasks. Needs 24 bytes for every time a thread ran.
#[derive(Debug, Default)]
pub(crate) struct CpuRuns {
    cpus: BTreeMap<(HostId, Cpu), Vec<CpuRun>>,
}

impl CpuRuns {
    pub(crate) fn from_chains(workers: &[Worker], chains: &[Vec<Vertex>]) -> CpuRuns {
        let mut cpus: BTreeMap<(HostId, Cpu), Vec<CpuRun>> = BTreeMap::new();
        for (worker, id) in workers.iter().zip((0..).map(WorkerId)) {
            if !matches!(worker.kind, WorkerKind::Thread { .. }) {
                continue;
            }
            for edge in chains[id.0 as usize].windows(2) {
                let [from, to] = edge else { continue };
                if to.edge() != Some(WorkerState::Running) {
                    continue;
                }
                let runs = cpus.entry((worker.host, to.cpu)).or_default();
                let window = Window { from: from.time, to: to.time };
                match runs.last_mut() {
                    Some(last) if last.worker == id && last.window.to == window.from => {
                        last.window.to = window.to;
                    }
                    _ => runs.push(CpuRun { window, worker: id }),
                }
            }
        }
        cpus.values_mut()
            .for_each(|runs| runs.sort_by_key(|run| (run.window.from, run.window.to, run.worker)));
        CpuRuns { cpus }
    }

    /// The CPUs on which threads ran, by host and number.
    pub(crate) fn cpus(&self) -> impl Iterator<Item = (HostId, Cpu)> + '_ {
        self.cpus.keys().copied()
    }

    /// Threads that ran on a CPU within a window, clipped to it, in time order.
    pub(crate) fn within(&self, host: HostId, cpu: Cpu, window: Window) -> impl Iterator<Item = CpuRun> + '_ {
        let runs = self.cpus.get(&(host, cpu)).map_or(&[][..], Vec::as_slice);
        let first = runs.partition_point(|run| run.window.to <= window.from);
        runs[first..].iter().take_while(move |run| run.window.from < window.to).map(move |run| CpuRun {
            window: Window { from: run.window.from.max(window.from), to: run.window.to.min(window.to) },
            ..*run
        })
    }

    /// The runs of some threads of a host on all CPUs, in no particular order.
    pub(crate) fn of_workers(&self, host: HostId, is_wanted: impl Fn(WorkerId) -> bool) -> Vec<Window> {
        let mut known: BTreeMap<WorkerId, bool> = BTreeMap::new();
        let cpus = self.cpus.range((host, Cpu(0))..=(host, Cpu(u16::MAX)));
        let runs = cpus.flat_map(|(_, runs)| runs);
        let selected = runs.filter(|run| *known.entry(run.worker).or_insert_with(|| is_wanted(run.worker)));
        selected.map(|run| run.window).collect()
    }

    /// The end of the last run on a CPU, by a thread for which `is_wanted` holds, within a window.
    pub(crate) fn last_end(
        &self,
        host: HostId,
        cpu: Cpu,
        window: Window,
        is_wanted: impl Fn(WorkerId) -> bool,
    ) -> Option<KernelTime> {
        self.within(host, cpu, window).filter(|run| is_wanted(run.worker)).map(|run| run.window.to).last()
    }
}
