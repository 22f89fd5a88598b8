//! Delimiters of executions, as specified by the user.

use super::glob::Glob;
use super::template::Template;
use crate::path::Window;
use laggard_model::Tid;

/// The events that begin and end an execution, and which beginning an end belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delimiter {
    /// The events that begin and end an execution.
    pub kind: DelimiterKind,
    /// Which threads are searched, and how ends are paired with beginnings.
    pub scope: Scope,
}

/// The events that begin and end an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DelimiterKind {
    /// Selected by what the trace contains: trace markers, else programs, else system calls that receive requests.
    Auto,
    /// Text written to `trace_marker`.
    Markers(MarkerRule),
    /// A pair of events, such as uprobes or tracepoints.
    Events {
        /// The one that begins it.
        begin: EventPattern,
        /// The one that ends it.
        end: EventPattern,
    },
    /// A program: from its start (`exec`) to its exit.
    Process {
        /// Its name, the last part of the executed file's path, or all of that path; all programs when absent.
        name: Option<Glob>,
    },
    /// One call of a system call.
    Syscall {
        /// Which.
        name: SyscallName,
    },
    /// The work of a thread from a successful return of a system call to its next call: the handling of a request.
    Between {
        /// Which: `accept4`, `epoll_wait`, `recvfrom`, …
        name: SyscallName,
    },
    /// The whole lifetime of threads, as far as it is traced.
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

/// How markers are parsed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MarkerRule {
    /// The usual forms: `NAME begin`, `begin NAME ID`, `NAME_begin id=ID`, `B|PID|NAME`, `traceparent … begin`.
    Usual {
        /// Names that count; all when absent.
        name: Option<Glob>,
    },
    /// Two user-defined templates.
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
    /// Its system (`uprobes`), if specified; used only to request events from a reader.
    pub system: Option<String>,
    /// Its name.
    pub name: String,
    /// The field whose value distinguishes overlapping executions.
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

/// Which beginning an end is paired with.
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

/// The threads in which executions are searched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    /// Which beginning an end is paired with.
    pub pairing: Pairing,
    /// Only threads, processes, or containers (depending on `pairing`) of this name.
    pub only: Option<Glob>,
}

impl Default for Scope {
    fn default() -> Scope {
        Scope { pairing: Pairing::Nearest, only: None }
    }
}

impl EventPattern {
    /// Every event of a name.
    pub fn named(name: &str) -> EventPattern {
        EventPattern { system: None, name: name.to_owned(), key: None, fields: Vec::new() }
    }

    /// `SYSTEM:NAME`, or the name if no system was specified.
    pub(crate) fn full_name(&self) -> String {
        match &self.system {
            Some(system) => format!("{system}:{}", self.name),
            None => self.name.clone(),
        }
    }
}

impl Delimiter {
    /// A delimiter for all threads.
    pub fn new(kind: DelimiterKind) -> Delimiter {
        Delimiter { kind, scope: Scope::default() }
    }

    /// Names of events that a reader must deliver as [`Other`](laggard_model::EventKind::Other) for this delimiter,
    /// with their system if specified.
    pub fn other_events(&self) -> Vec<String> {
        let mut names = Vec::new();
        if let DelimiterKind::Events { begin, end } = &self.kind {
            names.extend([begin, end].map(EventPattern::full_name));
        }
        if self.scope.pairing != Pairing::Thread {
            names.push("task_newtask".to_owned());
        }
        if self.scope.pairing == Pairing::Container {
            names.extend(["cgroup_attach_task", "lttng_statedump_process_pid_ns"].map(str::to_owned));
        }
        names
    }

    /// The delimiter that is selected by what the trace contains.
    pub fn auto() -> Delimiter {
        Delimiter::new(DelimiterKind::Auto)
    }
}

/// An invalid delimiter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DelimiterError {
    /// The delimiter's text.
    pub text: String,
    /// A message for the user: the error, and a valid example.
    pub reason: String,
}

impl std::fmt::Display for DelimiterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`: {}", self.text, self.reason)
    }
}

impl std::error::Error for DelimiterError {}
