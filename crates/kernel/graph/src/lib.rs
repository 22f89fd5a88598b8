//! The execution graph of a kernel trace, and the critical path of any thread and window (Giraldeau and Dagenais 2016;
//! Janecek et al. 2022).
//!
//! ```text
//! KernelEvents ─► status and interrupt context ─► ExecutionGraph ─► CriticalPath of an Execution ─► states
//!            └──► delimiters ───────────────────► Executions ──────┘
//! ```
//!
//! Pure computation: callers pass events in time order; this crate knows no files or formats.

mod builder;
mod calls;
mod clocks;
mod cpu_runs;
mod cpu_use;
mod critical_path;
mod executions;
mod graph;
mod idle;
mod membership;
mod partial_graph;
mod path;
mod probed_calls;
mod quota_timers;
mod relations;
mod resolve;
mod stacks;
mod states;
mod stats;
mod throttling;
mod tid_map;
mod vertex;
mod worker;

pub use builder::{GraphBuilder, GraphMode, GraphSettings, IrqName, WakeupKind};
pub use calls::CallInterval;
pub use clocks::{ClockAlignment, ClockAlignmentError, ClockSide, HostClock, PacketTimes};
pub use cpu_runs::CpuRun;
pub use executions::{
    DelimitedExecutions, Delimiter, DelimiterError, DelimiterKind, DelimiterProposal, DelimiterSurvey,
    EventPattern, Execution, ExecutionFinder, FieldPattern, Glob, MarkerRule, Pairing, Scope, SpanExecution,
    SpanExecutionError, SpanInterval, SpanThread, SyscallName, Template, TraceContext, executions_of_spans,
};
pub use graph::{ExecutionGraph, GraphCounts, StateInterval};
pub use membership::Membership;
pub use partial_graph::{PartialGraph, VertexHandle};
pub use path::{CriticalPath, PathLink, PathSegment, Window, WorkerState};
pub use probed_calls::{ProbedCall, ProbedCalls, ProbedRequest, ProbedTotals};
pub use relations::CpuUserRelation;
pub use stacks::WaitStacks;
pub use states::{
    Alphabet, AlphabetSettings, Encoding, SplitBy, StateStep, StateSymbol, SymbolOwner, WorkerNames,
    state_steps,
};
pub use stats::{CpuUsage, KindCount, ThreadUsage, TraceStatistics, TraceSummary, WakeupDelays};
pub use vertex::VerticalKind;
pub use worker::{HostId, Worker, WorkerId, WorkerKind};
