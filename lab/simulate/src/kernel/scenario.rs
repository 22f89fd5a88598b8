//! Scenarios of the simulated machine, and the truth about each run.

use laggard_model::KernelTexts;
use laggard_simulate::choices;

choices! {
    /// The kind of an execution; the names are those in its markers.
    #[derive(PartialOrd, Ord)]
    ExecutionKind {
        Read = "read", "Reads from the disk and computes in turn";
        Query = "query", "Sends requests to a server on the same host";
        Sort = "sort", "Computes";
        Poll = "poll", "Sleeps and polls";
        Append = "append", "Acquires a lock that a logger sometimes holds";
    }
}

/// The injected fault.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum KernelFault {
    /// Nothing.
    None,
    /// The application may use this many nanoseconds of CPU in every 100 ms; all executions are hit.
    CpuQuota {
        /// Nanoseconds.
        ns: u64,
    },
    /// Disk accesses of hit executions take this many nanoseconds longer.
    SlowDisk {
        /// Nanoseconds.
        extra_ns: u64,
    },
    /// The server computes this many nanoseconds longer for hit executions.
    SlowServer {
        /// Nanoseconds.
        extra_ns: u64,
    },
    /// Hit executions sleep once in their middle.
    ExtraSleep {
        /// Nanoseconds.
        ns: u64,
    },
    /// Hit executions compute this many nanoseconds longer in their middle.
    ExtraCompute {
        /// Nanoseconds.
        ns: u64,
    },
    /// The logger holds its lock this many nanoseconds longer; all executions may be hit.
    HeldLock {
        /// Nanoseconds.
        extra_ns: u64,
    },
}

/// Settings of a simulated run.
#[derive(Clone, Debug)]
pub struct KernelScenario {
    /// It determines all random values.
    pub seed: u64,
    /// CPUs, 1 to 64.
    pub cpus: u16,
    /// Threads that execute, each one execution after the other.
    pub clients: u32,
    /// Executions in all.
    pub executions: u32,
    /// Kinds, drawn evenly.
    pub kinds: Vec<ExecutionKind>,
    /// Threads that compute now and then.
    pub noise_threads: u32,
    /// The injected fault.
    pub fault: KernelFault,
    /// Share (0 to 1) of executions that are hit by a fault of single executions.
    pub hit_share: f64,
}

impl Default for KernelScenario {
    fn default() -> KernelScenario {
        KernelScenario {
            seed: 1,
            cpus: 2,
            clients: 1,
            executions: 50,
            kinds: ExecutionKind::ALL.into(),
            noise_threads: 2,
            fault: KernelFault::None,
            hit_share: 1.0,
        }
    }
}

/// The time of a thread by use, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimeSpent {
    /// On a CPU.
    pub running: u64,
    /// Runnable without a CPU, throttled or not.
    pub runnable: u64,
    /// Waiting for the disk.
    pub disk: u64,
    /// Sleeping.
    pub timer: u64,
    /// Waiting for the lock.
    pub lock: u64,
    /// Waiting for the server's answer.
    pub answer: u64,
}

impl TimeSpent {
    /// All of it.
    pub const fn total(&self) -> u64 {
        self.running + self.runnable + self.disk + self.timer + self.lock + self.answer
    }
}

/// The truth of one execution.
#[derive(Clone, PartialEq, Debug)]
pub struct TrueExecution {
    /// Its number, the `id` of its markers.
    pub id: u32,
    /// Its kind.
    pub kind: ExecutionKind,
    /// Whether the fault hits it.
    pub is_hit: bool,
    /// Its thread.
    pub tid: u32,
    /// The time of its beginning's marker, in nanoseconds.
    pub begin_ns: u64,
    /// The time of its end's marker.
    pub end_ns: u64,
    /// Time that its thread spent on each activity.
    pub spent: TimeSpent,
}

/// Result of a simulation besides the events: the true executions, and the texts that events refer to.
#[derive(Clone, Debug, Default)]
pub struct KernelRun {
    /// Executions, in the order of their ends.
    pub executions: Vec<TrueExecution>,
    /// How many events there were.
    pub events: u64,
    /// The texts they refer to.
    pub texts: KernelTexts,
}
