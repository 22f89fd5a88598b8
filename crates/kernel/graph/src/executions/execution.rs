//! One execution: what a critical path is asked for.

use super::delimiter::Delimiter;
use crate::path::Window;
use crate::worker::HostId;
use laggard_model::{SpanId, Tid, TraceId};

/// The span an execution belongs to, when its marker tells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TraceContext {
    /// The trace.
    pub trace: TraceId,
    /// The span.
    pub span: SpanId,
}

/// A stretch of one thread's time that does one piece of work: a request, a call of a script, a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    /// What the delimiter calls it: the marker's name and further words, the program's name, the system call.
    /// For reports and for truth in tests; never a label to cluster by.
    pub label: String,
    /// What tells it from others of its name, when the delimiter has a key.
    pub key: Option<String>,
    /// The span it belongs to, when its marker tells.
    pub context: Option<TraceContext>,
    /// The host.
    pub host: HostId,
    /// The thread it began on.
    pub tid: Tid,
    /// The thread it ended on, mostly the same. The critical path is asked for this one: work that was handed from
    /// thread to thread is followed backward from where it ended.
    pub end_tid: Tid,
    /// From when to when.
    pub window: Window,
    /// How many executions on the same thread were under way when it began: 0 for the outermost.
    pub depth: u32,
}

impl Execution {
    /// Whether it ended on another thread than it began.
    pub fn changes_thread(&self) -> bool {
        self.tid != self.end_tid
    }
}

/// What a finder found.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundExecutions {
    /// The executions in order of beginning; of those that begin together the longer first, then by thread and label.
    pub executions: Vec<Execution>,
    /// The delimiter they were found by; never [`DelimiterKind::Auto`](super::DelimiterKind::Auto) when there is one.
    pub delimiter: Delimiter,
    /// Why this delimiter, in a sentence; empty when it was asked for.
    pub chosen: String,
    /// Beginnings without an end and ends without a beginning, which were left out.
    pub unfinished: u64,
}
