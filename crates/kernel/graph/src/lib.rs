//! What a thread really waited on: the execution graph of a kernel trace and the critical path of any thread and
//! window (Giraldeau and Dagenais 2016; Janecek et al. 2022).
//!
//! ```text
//! KernelEvents ─► status and interrupt context ─► ExecutionGraph ─► CriticalPath of an Execution ─► states
//!            └──► delimiters ───────────────────► Executions ──────┘
//! ```
//!
//! Pure: events come in time order from outside; nothing here knows files or formats.

mod builder;
mod clocks;
mod critical_path;
mod executions;
mod graph;
mod idle;
mod path;
mod resolve;
mod sketch;
mod states;
mod stats;
mod tid_map;
mod vertex;
mod worker;

pub use builder::{GraphBuilder, GraphMode, GraphSettings, IrqName, WakeupKind};
pub use clocks::{ClockAlignment, HostClock, NoAlignment, PacketTimes, Side};
pub use executions::{
    Delimiter, DelimiterError, DelimiterKind, DelimiterSurvey, EventPattern, Execution, ExecutionFinder,
    FieldPattern, FoundExecutions, Glob, MarkerRule, NoExecution, Pairing, Proposal, Scope, SpanExecution,
    SpanInterval, SpanThread, SyscallName, Template, TraceContext, executions_of_spans,
};
pub use graph::{ExecutionGraph, GraphCounts, WorkerPiece};
pub use path::{CriticalPath, PathLink, PathPiece, PieceState, Window};
pub use sketch::{GraphSketch, Point};
pub use states::{
    Alphabet, AlphabetSettings, Encoding, Letter, SplitBy, StatePiece, Whose, WorkerNames, state_pieces,
};
pub use stats::{CpuUse, KindCount, ThreadUse, TraceStatistics, TraceSummary};
pub use vertex::VerticalKind;
pub use worker::{HostId, Worker, WorkerId, WorkerKind};
