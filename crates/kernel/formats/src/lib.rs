//! Kernel traces to [`KernelEvent`](laggard_model::KernelEvent)s: trace.dat, perf.data, CTF, Perfetto and text.
//!
//! ```text
//! file or folder ─► recognize ─► open ─► one stream per CPU ─► merge by time ─► events
//! ```
//!
//! A trace is read once, from its beginning to its end, in bounded memory: a stream returns a page or a packet at a
//! time. What cannot be read is a [`Loss`](laggard_model::Loss); an error is only for what is no trace at all.

mod bytes;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod ctf;
mod error;
mod event_names;
mod format;
mod format_text;
mod interface;
mod merge;
mod options;
mod perf_data;
mod perfetto;
mod ring_buffer;
mod source;
mod text;
mod thread_names;
mod trace;
mod trace_dat;
mod unpack;

pub use error::KernelTraceError;
pub use format::{format_of, open, open_with};
pub use interface::{KernelFormat, SampleShape};
pub use merge::{REORDER_WINDOW_NS, read_together};
pub use options::OpenOptions;
pub use trace::{EventBatch, EventStream, KernelTrace, ReadTrace, StreamState, ThreadName, TraceFacts};

/// All formats; the first that recognizes a path opens it.
pub const KERNEL_FORMATS: &[KernelFormat] = &[
    trace_dat::FORMAT,
    perf_data::FORMAT,
    ctf::FORMAT,
    perfetto::FORMAT,
    // Last: any file with a line that looks like an event.
    text::FORMAT,
];
