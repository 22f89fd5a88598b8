//! Marks: one end or the other of an execution, as an event tells it.

use super::execution::TraceContext;
use laggard_model::{Cpu, KernelTime, Tid};

/// Whether a mark begins or ends something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Begin,
    End,
}

/// What a beginning does to one of the same name and key that is open on its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Repeated {
    /// It is nested in it.
    Nests,
    /// It proves that the other's end was missed.
    Replaces,
    /// It makes another thing of it, from now on.
    Supersedes,
}

/// What an end is that has no beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lonely {
    /// An execution of which the beginning is missing.
    Unfinished,
    /// Nothing: such events are common without one.
    Nothing,
}

/// One end of an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    pub(crate) phase: Phase,
    pub(crate) time: KernelTime,
    pub(crate) cpu: Cpu,
    pub(crate) tid: Tid,
    /// Empty for an end: of whatever unkeyed one began last on the thread.
    pub(crate) name: String,
    pub(crate) key: Option<String>,
    pub(crate) label: String,
    pub(crate) context: Option<TraceContext>,
    pub(crate) repeated: Repeated,
    pub(crate) lonely: Lonely,
}
