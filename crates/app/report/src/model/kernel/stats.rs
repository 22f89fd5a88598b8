//! Content of a kernel trace: CPUs, threads, and events.

use super::KernelInput;
use crate::instants::text_if_any;
use laggard_model::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// The contents of a kernel trace, and whether paths can be computed from it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct KernelStatsReport {
    /// [`super::KERNEL_STATS_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Always `kernel-stats`: which report this is.
    pub report: &'static str,
    /// The answer in one to three sentences; names stand in backticks.
    pub headline: String,
    /// The input and its losses.
    pub input: KernelInput,
    /// Events by kind, the most frequent first.
    pub events: Vec<EventCount>,
    /// CPUs, in order.
    pub cpus: Vec<CpuTime>,
    /// Threads, those with most CPU time first.
    pub threads: Vec<SwitchingThread>,
    /// Threads beyond the limit of the table.
    pub threads_left_out: u64,
    /// How long threads waited for a CPU after they were woken, the longest sum first.
    pub delays: Vec<WakeupLatency>,
    /// Threads beyond the limit of that table.
    pub delays_left_out: u64,
    /// Who wakes whom, the most frequent first.
    pub wakings: Vec<WakingPair>,
    /// Delimiters that would give executions, as `--executions` takes them, with how many; the most useful first.
    pub delimiters: Vec<EventCount>,
    /// Limitations of the trace; whole sentences.
    pub cautions: Vec<String>,
}

/// A name with a count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct EventCount {
    /// What.
    pub name: String,
    /// How many.
    pub count: u64,
}

/// Activity of one CPU.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CpuTime {
    /// The host; empty with one host.
    pub host: String,
    /// The CPU's number.
    pub cpu: u16,
    /// Events recorded there.
    pub events: u64,
    /// Switches.
    pub switches: u64,
    /// Time in threads, nanoseconds.
    pub busy_ns: u64,
    /// Time in the idle task, nanoseconds.
    pub idle_ns: u64,
}

/// Activity of one thread.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SwitchingThread {
    /// Its name.
    pub thread: String,
    /// Its number.
    pub tid: u32,
    /// The host; empty with one host.
    pub host: String,
    /// Time on CPUs, nanoseconds.
    pub running_ns: u64,
    /// Time runnable and waiting for a CPU, nanoseconds.
    pub waiting_ns: u64,
    /// How often it got a CPU.
    pub switches: u64,
    /// How often it was woken.
    pub wakeups: u64,
}

/// How long one thread waited for a CPU after it was woken: from the first wake-up event after it left its CPU (`sched_waking`, else
/// `sched_wakeup`) to the switch to it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct WakeupLatency {
    /// Its name.
    pub thread: String,
    /// Its number.
    pub tid: u32,
    /// The host; empty with one host.
    pub host: String,
    /// Wake-ups after which the switch to it was recorded, without a loss of events between.
    pub count: u64,
    /// Nanoseconds together.
    pub total_ns: u64,
    /// Median in nanoseconds, within 1.6 %.
    pub median_ns: u64,
    /// 95th percentile in nanoseconds, within 1.6 %.
    pub p95_ns: u64,
    /// The longest, in nanoseconds.
    pub longest_ns: u64,
    /// When it was woken before the longest, on the trace's clock.
    pub longest_since_ns: u64,
    /// Calendar time of it, when the trace records it.
    #[serde(serialize_with = "text_if_any")]
    #[schema(value_type = Option<String>)]
    pub longest_since: Option<Timestamp>,
}

/// Who wakes whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct WakingPair {
    /// The waker's name, or the interrupt's.
    pub waker: String,
    /// The woken thread's name.
    pub woken: String,
    /// How often.
    pub count: u64,
}
