//! The vocabulary every other crate shares: times, ids, span, call and sample records, kernel events, call trees, losses.
//!
//! This crate uses the standard library only and does no input or output. A reader of some trace
//! format turns bytes into [`SpanRecord`]s (or [`CallRecord`]s) and passes them to a [`Sink`];
//! what could not be read is counted in [`Losses`], which accompany the data into the
//! report.

mod attributes;
mod call_record;
mod call_tree;
mod duration_histogram;
mod fingerprint;
mod ids;
mod kernel;
mod log_histogram;
mod losses;
mod method_row;
mod names;
mod sample;
mod sampling;
mod sink;
mod span;
mod span_event;
mod span_row;
mod sparse_vec;
mod time;

pub use attributes::{Attribute, AttributeText, SpanAttributes, attributes_in};
pub use call_record::{CallFlag, CallRecord};
pub use call_tree::{CallTree, NodeIndex};
pub use duration_histogram::{DURATION_BOUNDS_NS, DurationHistogram};
pub use fingerprint::{Fingerprint, FingerprintBuilder, mix64};
pub use ids::{ParsedTraceId, SpanId, TraceId};
pub use kernel::{
    ClockMap, ContextFlags, ControlGroup, Cpu, CpuQuota, EventKind, ExpiredTimer, HostSnapshot, IpiVector,
    KernelEvent, KernelTexts, KernelTime, PrevState, ProbedFunction, Socket, StatedumpStatus, TextId,
    ThreadMembership, ThrottleCounts, Tid, UserFunctions,
};
pub use log_histogram::{HistogramBin, LogHistogram};
pub use losses::{Loss, LossCount, Losses};
pub use method_row::MethodRow;
pub use names::{AttributeSetId, Names, OperationId, OperationKey, ReplicaId, ServiceId};
pub use sample::{Measure, SampleRecord};
pub use sampling::{AdjustedCount, Sampling, TailSampler, WeightSource};
pub use sink::{Collect, OwnedCall, OwnedSample, OwnedSpan, Sink, SinkPart};
pub use span::{ReplicaSource, SpanKind, SpanRecord, Status};
pub use span_event::{EVENT_TEXT_BYTES_MAX, EVENTS_PER_SPAN_MAX, Severity, SpanEvent, tidy_events};
pub use span_row::{CallRow, SpanRow, ThreadRow};
pub use sparse_vec::SparseVec;
pub use time::{Nanos, SignedNanos, Timestamp};
