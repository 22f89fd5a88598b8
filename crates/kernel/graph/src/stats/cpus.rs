//! Time of each CPU.

use laggard_model::{Cpu, KernelTime, Tid};

/// The use of one CPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CpuUsage {
    /// The CPU.
    pub cpu: Cpu,
    /// Number of its events, excluding losses.
    pub events: u64,
    /// Number of its context switches.
    pub switches: u64,
    /// Number of switches that were not recorded but follow from the writer of the next record.
    pub implied_switches: u64,
    /// Nanoseconds running a thread.
    pub busy_ns: u64,
    /// Nanoseconds running its idle task.
    pub idle_ns: u64,
    /// Nanoseconds before its first event, after losses, and after its last event, when its state is unknown.
    pub unknown_ns: u64,
    /// Number of lost events, if the trace counts them.
    pub lost_events: u64,
    /// Number of times events were lost.
    pub losses: u64,
}

impl CpuUsage {
    /// Share (0 to 1) of the known time spent running a thread; `None` if no time is known.
    pub fn utilization(&self) -> Option<f64> {
        let known = self.busy_ns + self.idle_ns;
        (known > 0).then(|| self.busy_ns as f64 / known as f64)
    }
}

/// The times of one CPU during counting.
#[derive(Clone, Debug)]
pub(crate) struct CpuTimes {
    pub(crate) use_so_far: CpuUsage,
    /// The running thread; `None` if unknown.
    pub(crate) running: Option<Tid>,
    /// The last event, or the beginning of the trace.
    pub(crate) last: KernelTime,
    /// Time up to which its use is counted.
    counted: KernelTime,
}

impl CpuTimes {
    pub(crate) fn new(cpu: Cpu, begin: KernelTime) -> CpuTimes {
        let use_so_far = CpuUsage {
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
        CpuTimes { use_so_far, running: None, last: begin, counted: begin }
    }

    /// Counts the time up to `until` for the running thread, and returns that thread and time.
    pub(crate) fn advance(&mut self, until: KernelTime) -> Option<RunTime> {
        let ns = until.since(self.counted);
        self.counted = self.counted.max(until);
        *match self.running {
            None => &mut self.use_so_far.unknown_ns,
            Some(Tid::IDLE) => &mut self.use_so_far.idle_ns,
            Some(_) => &mut self.use_so_far.busy_ns,
        } += ns;
        self.running.map(|tid| RunTime { tid, ns })
    }
}

/// Time that a thread ran on a CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunTime {
    pub(crate) tid: Tid,
    pub(crate) ns: u64,
}
