//! What a CPU did.

use laggard_model::{Cpu, KernelTime, Tid};

/// What a CPU did, as far as its events tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CpuUse {
    /// The CPU.
    pub cpu: Cpu,
    /// Its events, losses excepted.
    pub events: u64,
    /// Its switches.
    pub switches: u64,
    /// Switches that were not recorded but follow from who wrote the next record.
    pub implied_switches: u64,
    /// Nanoseconds with a thread on it.
    pub busy_ns: u64,
    /// Nanoseconds with its idle task on it.
    pub idle_ns: u64,
    /// Nanoseconds before its first event, after losses, and behind its last event: what it did is not known.
    pub unknown_ns: u64,
    /// Lost events, as far as they are counted.
    pub lost_events: u64,
    /// How often events were lost.
    pub losses: u64,
}

impl CpuUse {
    /// Share (0 to 1) of the known time with a thread on the CPU; `None` when no time is known.
    pub fn utilization(&self) -> Option<f64> {
        let known = self.busy_ns + self.idle_ns;
        (known > 0).then(|| self.busy_ns as f64 / known as f64)
    }
}

/// A CPU while events come.
#[derive(Clone, Debug)]
pub(crate) struct CpuClock {
    pub(crate) use_so_far: CpuUse,
    /// Who runs; `None` when not known.
    pub(crate) running: Option<Tid>,
    /// The last event, or the beginning of the trace.
    pub(crate) last: KernelTime,
    /// Up to when its time is counted.
    counted: KernelTime,
}

impl CpuClock {
    pub(crate) fn new(cpu: Cpu, begin: KernelTime) -> CpuClock {
        let use_so_far = CpuUse {
            cpu,
            events: 0,
            switches: 0,
            implied_switches: 0,
            busy_ns: 0,
            idle_ns: 0,
            unknown_ns: 0,
            lost_events: 0,
            losses: 0,
        };
        CpuClock { use_so_far, running: None, last: begin, counted: begin }
    }

    /// Counts the time up to `until` for whoever runs, and returns the thread it was.
    pub(crate) fn advance(&mut self, until: KernelTime) -> Option<CountedTime> {
        let ns = until.since(self.counted);
        self.counted = self.counted.max(until);
        *match self.running {
            None => &mut self.use_so_far.unknown_ns,
            Some(Tid::IDLE) => &mut self.use_so_far.idle_ns,
            Some(_) => &mut self.use_so_far.busy_ns,
        } += ns;
        self.running.map(|tid| CountedTime { tid, ns })
    }
}

/// Time of a CPU that a thread had.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedTime {
    pub(crate) tid: Tid,
    pub(crate) ns: u64,
}
