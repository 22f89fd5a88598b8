//! One host's threads and CPUs, by number.

use super::thread::{CpuId, ThreadId};
use crate::worker::HostId;
use laggard_model::{Cpu, KernelTime, TextId, Tid};
use std::collections::BTreeMap;

/// No kernel gives out higher numbers (`PID_MAX_LIMIT`).
pub(super) const TID_MAX: u32 = 1 << 22;
const PAGE: usize = 1 << 10;
const NO_THREAD: u32 = u32::MAX;

/// Threads by tid: a paged table, so that a lookup needs no search.
#[derive(Debug, Default)]
pub(super) struct ThreadTable {
    pages: Vec<Option<Box<[u32; PAGE]>>>,
    /// Tids above `TID_MAX`, from damaged traces.
    others: BTreeMap<Tid, ThreadId>,
}

impl ThreadTable {
    pub(super) fn get(&self, tid: Tid) -> Option<ThreadId> {
        if tid.0 > TID_MAX {
            return self.others.get(&tid).copied();
        }
        let page = self.pages.get(tid.0 as usize / PAGE)?.as_ref()?;
        Some(page[tid.0 as usize % PAGE]).filter(|&id| id != NO_THREAD).map(ThreadId)
    }

    /// Maps `tid` to `id`.
    pub(super) fn set(&mut self, tid: Tid, id: ThreadId) {
        if tid.0 > TID_MAX {
            self.others.insert(tid, id);
            return;
        }
        let page = tid.0 as usize / PAGE;
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        self.pages[page].get_or_insert_with(|| Box::new([NO_THREAD; PAGE]))[tid.0 as usize % PAGE] = id.0;
    }
}

/// The kind of wake-up event a host's graph is built from. Only one kind is used, since each may record the same
/// wake-up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WakeupKind {
    /// `sched_wakeup` and `sched_wakeup_new`: may be recorded where the woken thread will run.
    Wakeup,
    /// `sched_waking` and `sched_wakeup_new`: recorded where the waker runs.
    Waking,
    /// LTTng's `sched_ttwu`.
    TryToWakeUp,
}

#[derive(Debug)]
pub(super) struct Host {
    pub(super) id: HostId,
    pub(super) threads: ThreadTable,
    /// By CPU number.
    pub(super) cpus: Vec<Option<CpuId>>,
    /// Selected from the first events.
    pub(super) wakeups: Option<WakeupKind>,
    /// Handles of the host's texts, as handles of the graph's.
    pub(super) texts: Vec<Option<TextId>>,
    /// Names of interrupts from the state dump.
    pub(super) irq_names: BTreeMap<u32, TextId>,
    pub(super) last_event: KernelTime,
    pub(super) last_loss: Option<KernelTime>,
}

impl Host {
    pub(super) fn new(id: HostId) -> Host {
        Host {
            id,
            threads: ThreadTable::default(),
            cpus: Vec::new(),
            wakeups: None,
            texts: Vec::new(),
            irq_names: BTreeMap::new(),
            last_event: KernelTime::from_ns(0),
            last_loss: None,
        }
    }

    pub(super) fn cpu(&self, cpu: Cpu) -> Option<CpuId> {
        self.cpus.get(usize::from(cpu.0)).copied().flatten()
    }

    pub(super) fn set_cpu(&mut self, cpu: Cpu, id: CpuId) {
        let index = usize::from(cpu.0);
        if self.cpus.len() <= index {
            self.cpus.resize(index + 1, None);
        }
        self.cpus[index] = Some(id);
    }
}
