//! The critical path of a thread's window, or of the executions of a program.

use super::{CpuUser, KernelInput, KernelState, OtherThread, WaitCallStacks, WaitCause};
use crate::Setting;
use crate::instants::text_if_any;
use laggard_model::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// The time of executions by cause and thread.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct KernelPathReport {
    /// [`super::KERNEL_PATH_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Always `kernel-path`: which report this is.
    pub report: &'static str,
    /// The answer in one to three sentences; names stand in backticks.
    pub headline: String,
    /// The input and its losses.
    pub input: KernelInput,
    /// The question in words: the thread and window, or how executions are delimited.
    pub question: String,
    /// The executions, in order of time; one for a thread and window.
    pub executions: Vec<ExecutionSummary>,
    /// Executions found beyond the limit, which are counted in nothing here.
    pub executions_left_out: u64,
    /// Time of all executions together, in nanoseconds.
    pub total_ns: u64,
    /// Where it went, in readers' terms; the largest first, empty ones left out.
    pub causes: Vec<CausedTime>,
    /// Where it went, by state and by whose it is; in the order of [`KernelState::ALL`].
    pub states: Vec<StateTime>,
    /// Where it went, by thread; the largest first.
    pub workers: Vec<WorkerTime>,
    /// Threads beyond the limit of the table.
    pub workers_left_out: u64,
    /// Waits that are alike, together; the largest sum first.
    pub waits: Vec<WaitGroup>,
    /// Where it went, by the system call in which the executions' own threads were; the largest first. Empty if the trace has no
    /// system calls.
    pub calls: Vec<CallTime>,
    /// The longest single waits.
    pub longest: Vec<WaitInstance>,
    /// Paths, segment by segment: of the slowest executions, or of the requested one.
    pub timelines: Vec<PathTimeline>,
    /// Limitations of the answer; whole sentences.
    pub cautions: Vec<String>,
    /// When there is no answer: what would have been needed; whole sentences.
    pub missing: Vec<String>,
    /// Every setting used.
    pub settings: Vec<Setting>,
}

/// One execution and its path in short.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ExecutionSummary {
    /// Its number, from 1, in order of time; what `--execution` takes.
    pub number: u64,
    /// Its label by the delimiter (a marker's text); empty for a thread and window.
    pub label: String,
    /// The thread's name.
    pub thread: String,
    /// Its number.
    pub tid: u32,
    /// Its host; empty with one host.
    pub host: String,
    /// The thread's container, if it is in one.
    pub container: Option<String>,
    /// Where it begins on the trace's clock.
    pub since_ns: u64,
    /// Calendar time of it, when the trace records it.
    #[serde(serialize_with = "text_if_any")]
    #[schema(value_type = Option<String>)]
    pub since: Option<Timestamp>,
    /// How long it takes.
    pub elapsed_ns: u64,
    /// Segments of its path.
    pub segments: u64,
    /// Where its time went, by state; as [`KernelState::ALL`], nanoseconds.
    pub states_ns: [u64; KernelState::ALL.len()],
    /// The cause with the most time.
    pub dominant: WaitCause,
    /// Time of that, in nanoseconds.
    pub dominant_ns: u64,
    /// Waits of it whose reason is not in the trace.
    pub unresolved: u64,
}

/// Time that went to one cause.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct CausedTime {
    /// The cause.
    pub cause: WaitCause,
    /// Nanoseconds.
    pub total_ns: u64,
    /// Its share of all time, 0..1.
    pub share: f64,
    /// Segments.
    pub segments: u64,
}

/// Time of one system call, or of user mode: what the thread itself did in it, and what it waited for.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CallTime {
    /// The system call (`fsync`), `page fault`, or `user mode`.
    pub call: String,
    /// Whether it is the time outside of system calls and waits for memory.
    pub is_user_mode: bool,
    /// Calls; of user mode, intervals.
    pub count: u64,
    /// Nanoseconds.
    pub total_ns: u64,
    /// Share of all time, 0..1.
    pub share: f64,
    /// Of it, nanoseconds in which the thread itself ran.
    pub ran_ns: u64,
    /// The longest of them, in nanoseconds.
    pub longest_ns: u64,
    /// The rest, by what it was spent on; the largest first.
    pub waits: Vec<CausedTime>,
    /// The thread that ended most of the waiting time, if a thread did.
    pub waker: Option<String>,
}

/// Time of one state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct StateTime {
    /// The state.
    pub state: KernelState,
    /// Whether it is the examined thread's own.
    pub own: bool,
    /// Nanoseconds.
    pub total_ns: u64,
    /// Its share of all time, 0..1.
    pub share: f64,
    /// Segments, equal neighbors merged.
    pub segments: u64,
    /// The longest segment in nanoseconds.
    pub longest_ns: u64,
    /// Of preempted time: while the CPU stood idle.
    pub idle_ns: u64,
}

/// Time of one thread, or of the interrupt side, on the paths.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct WorkerTime {
    /// Its name.
    pub thread: String,
    /// Its number; `None` for the interrupt side and idle tasks.
    pub tid: Option<u32>,
    /// Its host; empty with one host.
    pub host: String,
    /// Its container, if it is in one.
    pub container: Option<String>,
    /// Whether it is the examined thread.
    pub own: bool,
    /// Nanoseconds on the paths.
    pub total_ns: u64,
    /// Share of all time, 0..1.
    pub share: f64,
    /// As [`KernelState::ALL`], nanoseconds.
    pub states_ns: [u64; KernelState::ALL.len()],
    /// Segments.
    pub segments: u64,
}

/// Waits that are alike: of one thread name, for one cause, ended by one waker.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct WaitGroup {
    /// Of waits for a busy CPU: who used it, the longest first.
    pub cpu_users: Vec<CpuUser>,
    /// In words: `preempted 14 times for 9.80 ms while its CPU stood idle: a CPU quota`.
    pub description: String,
    /// The cause.
    pub cause: WaitCause,
    /// Who waits: the execution's own thread.
    pub thread: String,
    /// The other thread whose work or wait it is that the thread waits for; the cause is that thread's.
    pub other: Option<OtherThread>,
    /// The system call in which it waits, if it is known.
    pub call: Option<String>,
    /// Who it waits for or who ended the wait, when that is known.
    pub waker: Option<String>,
    /// The interrupt, device or CPU, when that is known.
    pub resource: Option<String>,
    /// Waits of the execution's own thread.
    pub count: u64,
    /// Nanoseconds together.
    pub total_ns: u64,
    /// Share of all time, 0..1.
    pub share: f64,
    /// The longest of them, in nanoseconds.
    pub longest_ns: u64,
    /// Where the longest begins, on the trace's clock.
    pub longest_since_ns: u64,
    /// Where the thread waits and is woken from, the most time first; empty if the trace has no call stacks.
    pub stacks: Vec<WaitCallStacks>,
}

/// One wait.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct WaitInstance {
    /// In words.
    pub description: String,
    /// The cause.
    pub cause: WaitCause,
    /// The execution, by its number.
    pub execution: u64,
    /// Who waits.
    pub thread: String,
    /// Its number; `None` for the interrupt side.
    pub tid: Option<u32>,
    /// The system call in which it waits, if it is known.
    pub call: Option<String>,
    /// Who it waits for or who ended the wait, when that is known.
    pub waker: Option<String>,
    /// The interrupt, device or CPU, when that is known.
    pub resource: Option<String>,
    /// Where it begins on the trace's clock.
    pub since_ns: u64,
    /// Calendar time of it, when the trace records it.
    #[serde(serialize_with = "text_if_any")]
    #[schema(value_type = Option<String>)]
    pub since: Option<Timestamp>,
    /// Where it begins, from the execution's beginning, in nanoseconds.
    pub offset_ns: u64,
    /// How long it takes.
    pub elapsed_ns: u64,
    /// Of preempted time: while the CPU stood idle, nanoseconds.
    pub idle_ns: u64,
}

/// A path, segment by segment. Offsets count from the window's beginning; segments tile the window.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct PathTimeline {
    /// Its title: `execution 7 (slowest)`.
    pub title: String,
    /// The execution, by its number.
    pub execution: u64,
    /// Where it begins on the trace's clock.
    pub since_ns: u64,
    /// Calendar time of it, when the trace records it.
    #[serde(serialize_with = "text_if_any")]
    #[schema(value_type = Option<String>)]
    pub since: Option<Timestamp>,
    /// Its length.
    pub elapsed_ns: u64,
    /// The threads on it, the examined one first, then by first appearance.
    pub lanes: Vec<PathLane>,
    /// The segments, in order of time.
    pub segments: Vec<PathSegment>,
    /// The jumps between threads, in order of time.
    pub jumps: Vec<PathJump>,
    /// Segments that were too many and stand in their neighbors.
    pub merged: u64,
    /// The CPUs on which threads ran meanwhile, by host and number.
    pub cpus: Vec<CpuLane>,
    /// Runs on CPUs that were too many: the shortest.
    pub cpu_runs_left_out: u64,
}

/// Which threads ran on one CPU during a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CpuLane {
    /// The CPU's number.
    pub cpu: u16,
    /// Its host; empty with one host.
    pub host: String,
    /// The intervals in which threads ran, in order of time; between them the CPU was idle, or it is not known.
    pub runs: Vec<CpuRunSegment>,
}

/// An interval in which a thread ran on a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CpuRunSegment {
    /// The thread's name.
    pub thread: String,
    /// Its number.
    pub tid: Option<u32>,
    /// What it is for the path.
    pub role: CpuRunRole,
    /// Beginning, from the window's beginning.
    pub from_ns: u64,
    /// End.
    pub to_ns: u64,
}

/// What a thread that runs on a CPU is for a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuRunRole {
    /// The examined thread.
    Own,
    /// Another thread on the path: the examined one waits for it at some time.
    OnPath,
    /// A thread that is not on the path.
    Other,
}

/// A line of the timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PathLane {
    /// The thread's name.
    pub thread: String,
    /// Its number; `None` for the interrupt side and idle tasks.
    pub tid: Option<u32>,
    /// Its host; empty with one host.
    pub host: String,
}

/// A segment of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PathSegment {
    /// Whose: the location in [`PathTimeline::lanes`].
    pub lane: u32,
    /// The state.
    pub state: KernelState,
    /// Beginning, from the window's beginning.
    pub from_ns: u64,
    /// End.
    pub to_ns: u64,
    /// The interrupt or device, if known; else empty.
    pub resource: String,
    /// The system call in which the thread waits, if it is known; else empty.
    pub call: String,
    /// Of a preempted segment: while its CPU stood idle.
    pub idle_ns: u64,
    /// Whether it rests on a switch that was not recorded but implied.
    pub inferred: bool,
}

/// A jump from one thread to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PathJump {
    /// The location of the thread left.
    pub from: u32,
    /// The location of the thread the path goes on with.
    pub to: u32,
    /// When, from the window's beginning.
    pub at_ns: u64,
    /// Whether it is a packet, not a wake-up.
    pub network: bool,
}
