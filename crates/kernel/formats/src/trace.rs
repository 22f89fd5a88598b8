//! An opened trace: streams of events that are merged while they are read.

use crate::merge;
use laggard_model::{ClockMap, HostSnapshot, KernelEvent, KernelTexts, Losses, Tid};

/// The name of a thread, recorded separately from events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadName {
    /// The thread.
    pub tid: Tid,
    /// Its name when the recording ended.
    pub name: String,
}

/// Facts that a trace states about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceFacts {
    /// The format's name (`trace.dat v7`).
    pub format: String,
    /// The clock's name (`mono`, `local`, `boot`); empty if unknown.
    pub clock: String,
    /// The clock's mapping to calendar time, if recorded.
    pub calendar: Option<ClockMap>,
    /// The host's name, if recorded.
    pub host: Option<String>,
    /// The kernel's release, if recorded.
    pub kernel: Option<String>,
    /// Number of CPUs of the trace; 0 if unknown.
    pub cpus: u32,
    /// Bytes of the trace on disk, for progress.
    pub bytes: u64,
    /// Names of threads recorded separately from events, for threads without a name in events. Later names of a thread
    /// override earlier ones.
    pub threads: Vec<ThreadName>,
    /// The processes and control groups of threads, if the recorder stored them.
    pub snapshot: Option<HostSnapshot>,
}

/// Where one stream's events are put, with what they refer to.
#[derive(Debug, Default)]
pub struct EventBatch {
    /// Events in the stream's order. The reader appends; whoever called takes them out.
    pub events: Vec<KernelEvent>,
    /// Texts of the trace.
    pub texts: KernelTexts,
    /// Losses of the trace.
    pub losses: Losses,
}

/// Whether a stream has more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamState {
    /// Call again.
    More,
    /// This was the last.
    Ended,
}

/// The events of one CPU, or of all: in time order, up to a small disorder.
///
/// Contract: every call makes progress through the input and appends a bounded number of events (a page, a packet, a
/// chunk of lines; none is allowed); after [`StreamState::Ended`] it is not called again. Damage is counted in the
/// batch's losses, and the stream goes on behind it where it can, else ends. No input panics.
pub trait EventStream: Send {
    /// Reads the next batch of events.
    fn read(&mut self, batch: &mut EventBatch) -> StreamState;
}

/// An opened trace.
pub struct KernelTrace {
    /// Metadata of the trace.
    pub facts: TraceFacts,
    /// Losses that opening it met already.
    pub losses: Losses,
    /// Its streams.
    pub streams: Vec<Box<dyn EventStream>>,
}

/// Result of reading a trace.
#[derive(Debug, Default)]
pub struct ReadTrace {
    /// Metadata of the trace.
    pub facts: TraceFacts,
    /// The texts its events refer to.
    pub texts: KernelTexts,
    /// Losses of reading it.
    pub losses: Losses,
}

impl KernelTrace {
    /// Reads all events in time order; `each` sees every event once, with the texts known so far.
    pub fn read(self, each: impl FnMut(&KernelEvent, &KernelTexts)) -> ReadTrace {
        merge::read(self, each)
    }
}
