//! One worker for all idle tasks of a host, and one for the interrupts of all its CPUs, both shown as CPU 0's. Each CPU's
//! idle task still has its own status.

use crate::builder::thread::{SchedStatus, ThreadId};
use crate::builder::tracker::{EventOrigin, StateTracker};
use crate::worker::WorkerKind;
use laggard_model::{Cpu, TextId};

impl StateTracker {
    /// Adds a CPU that has had no event yet, with the interrupt side of the host's other CPUs.
    pub(super) fn share_workers(&mut self, host: u32, number: Cpu) {
        let known = &self.hosts[host as usize];
        if known.cpu(number).is_some() {
            return;
        }
        let other = known.cpus.iter().flatten().next().copied();
        let idle = self.add_thread(host, WorkerKind::Idle(Cpu(0)), TextId::EMPTY);
        let interrupts = other.map(|other| self.cpu(other).interrupts).unwrap_or_else(|| {
            let side = self.add_thread(host, WorkerKind::Interrupts(Cpu(0)), TextId::EMPTY);
            self.thread_mut(side).set(SchedStatus::Running);
            side
        });
        self.add_cpu(host, number, idle, interrupts);
    }

    /// Before an idle task's first vertex: gives it the worker of the host's other idle tasks, if one has a worker.
    pub(super) fn share_idle_worker(&mut self, origin: EventOrigin, thread: ThreadId) {
        let known = self.thread(thread);
        if known.worker.is_some() || !known.is_idle() {
            return;
        }
        let cpus = self.hosts[origin.host as usize].cpus.iter().flatten();
        let shared = cpus.filter_map(|&cpu| self.thread(self.cpu(cpu).idle).worker).next();
        self.thread_mut(thread).worker = shared;
    }
}
