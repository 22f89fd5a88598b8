//! Marks: events that begin or end an execution.

use super::execution::TraceContext;
use laggard_model::{Cpu, KernelTime, Tid};

/// Whether a mark is a beginning or an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MarkPhase {
    Begin,
    End,
}

/// How a beginning affects an open one with the same name and key on its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RepeatedBegin {
    /// It is nested in it.
    Nests,
    /// The open one is dropped: its end was not recorded.
    Replaces,
    /// The open one is discarded without being counted as unfinished.
    Supersedes,
}

/// How an end without a beginning is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UnmatchedEnd {
    /// As an execution whose beginning is missing.
    Unfinished,
    /// Not at all: such events commonly occur without a beginning.
    Nothing,
}

/// The beginning or the end of an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ExecutionMark {
    pub(crate) phase: MarkPhase,
    pub(crate) time: KernelTime,
    pub(crate) cpu: Cpu,
    pub(crate) tid: Tid,
    /// Empty for an end that matches the last beginning without a key on the thread.
    pub(crate) name: String,
    pub(crate) key: Option<String>,
    pub(crate) label: String,
    pub(crate) context: Option<TraceContext>,
    pub(crate) repeated: RepeatedBegin,
    pub(crate) unmatched: UnmatchedEnd,
}
