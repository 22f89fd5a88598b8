//! What begins and ends an execution, as the user says it.

use super::glob::Glob;
use super::template::Template;
use crate::path::Window;
use laggard_model::Tid;

/// What begins and ends an execution, and which beginning an end belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delimiter {
    /// What begins and ends it.
    pub kind: DelimiterKind,
    /// Among which threads.
    pub scope: Scope,
}

/// What begins and ends an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DelimiterKind {
    /// Whatever the trace offers: trace markers, else programs, else system calls that take requests.
    Auto,
    /// Texts written to `trace_marker`.
    Markers(MarkerRule),
    /// Two events: uprobes, tracepoints.
    Events {
        /// The one that begins it.
        begin: EventPattern,
        /// The one that ends it.
        end: EventPattern,
    },
    /// A program: from its start (`exec`) to its exit.
    Process {
        /// Its name, the last part of the executed file's path; all when absent.
        name: Option<Glob>,
    },
    /// One call of a system call.
    Syscall {
        /// Which.
        name: SyscallName,
    },
    /// What a thread does from a successful return of a system call to its next call of it: the handling of a request.
    Between {
        /// Which: `accept4`, `epoll_wait`, `recvfrom`, …
        name: SyscallName,
    },
    /// The whole life of threads, as far as it is traced.
    Thread {
        /// Their last name.
        name: Glob,
    },
    /// One thread over one window.
    Tid {
        /// The thread.
        tid: Tid,
        /// The window; the whole trace when absent.
        window: Option<Window>,
    },
}

/// How markers are read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MarkerRule {
    /// The usual forms: `NAME begin`, `begin NAME ID`, `NAME_begin id=ID`, `B|PID|NAME`, `traceparent … begin`.
    Usual {
        /// Names that count; all when absent.
        name: Option<Glob>,
    },
    /// Two forms of one's own.
    Templates {
        /// The beginning's.
        begin: Template,
        /// The end's.
        end: Template,
    },
}

/// An event by its name and fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventPattern {
    /// The event's name without its system.
    pub name: Glob,
    /// The field whose value tells overlapping executions apart.
    pub key: Option<String>,
    /// Fields that must have a value.
    pub fields: Vec<FieldPattern>,
}

/// A field's required value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldPattern {
    /// The field's name.
    pub name: String,
    /// Its value.
    pub value: Glob,
}

/// A system call by its name, or by its number where names are not recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyscallName {
    pub(crate) text: String,
}

/// Which beginning an end belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pairing {
    /// The nearest: of the same thread, else of the same process, else the only one of its name and key.
    Nearest,
    /// Of the same thread only.
    Thread,
    /// Of the same thread, else of the same process.
    Process,
    /// Of the same thread, process, or container.
    Container,
}

/// Among which threads executions are looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    /// Which beginning an end belongs to.
    pub pairing: Pairing,
    /// Only threads, processes or containers (as `pairing` says) of this name.
    pub only: Option<Glob>,
}

impl Default for Scope {
    fn default() -> Scope {
        Scope { pairing: Pairing::Nearest, only: None }
    }
}

impl Delimiter {
    /// A delimiter for all threads.
    pub fn new(kind: DelimiterKind) -> Delimiter {
        Delimiter { kind, scope: Scope::default() }
    }

    /// Whatever the trace offers.
    pub fn auto() -> Delimiter {
        Delimiter::new(DelimiterKind::Auto)
    }
}

/// A delimiter that cannot be understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DelimiterError {
    /// What was given.
    pub given: String,
    /// What is wrong with it and what would be right.
    pub reason: String,
}

impl std::fmt::Display for DelimiterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`: {}", self.given, self.reason)
    }
}

impl std::error::Error for DelimiterError {}
