//! One execution: a unit of work whose critical path is computed.

use super::delimiter::Delimiter;
use crate::path::Window;
use crate::worker::HostId;
use laggard_model::{SpanId, Tid, TraceId};

/// The span an execution belongs to, if its marker contains it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TraceContext {
    /// The trace id.
    pub trace: TraceId,
    /// The span id.
    pub span: SpanId,
}

/// An interval in which one unit of work is done: a request, a script, a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    /// Its label: the marker's name and further words, the program's name, or the system call. Used in reports and
    /// tests, never for clustering.
    pub label: String,
    /// The key that distinguishes it from others with the same label, if the delimiter has one.
    pub key: Option<String>,
    /// The span it belongs to, if its marker contains it.
    pub context: Option<TraceContext>,
    /// The host.
    pub host: HostId,
    /// The thread it began on.
    pub tid: Tid,
    /// The thread it ended on, mostly the same. The critical path is computed for this thread: work that is passed
    /// between threads is followed backward from its end.
    pub end_tid: Tid,
    /// Its window.
    pub window: Window,
    /// Nesting depth: number of executions on the same thread that were in progress when it began; 0 for the outermost.
    pub depth: u32,
}

impl Execution {
    /// Whether it ended on a different thread than it began on.
    pub fn changes_thread(&self) -> bool {
        self.tid != self.end_tid
    }
}

/// The executions of a trace, and how they were delimited.
#[derive(Clone, PartialEq, Debug)]
pub struct DelimitedExecutions {
    /// The executions, ordered by beginning, then by length (longest first), thread, and label.
    pub executions: Vec<Execution>,
    /// The delimiter used; never [`DelimiterKind::Auto`](super::DelimiterKind::Auto) when there is one.
    pub delimiter: Delimiter,
    /// Why this delimiter was selected, as a sentence; empty if it was specified by the user.
    pub delimiter_reason: String,
    /// Number of beginnings without an end and ends without a beginning; they are not among the executions.
    pub unfinished: u64,
    /// Number of executions left out because they belong to other processes than those that the trace was recorded for.
    pub of_other_processes: u64,
    /// Names of the programs that wrote the markers, if there are several, with the number of their executions; the most frequent
    /// first.
    pub programs: Vec<(String, u64)>,
}
