//! Losses of the input as values.

use std::collections::BTreeMap;
use std::fmt;

/// Every way in which input was lost, repaired, or found inconsistent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Loss {
    /// A line or element could not be parsed and was skipped.
    MalformedRecord,
    /// The input ended inside a record.
    TruncatedInput,
    /// A record is larger than the reader's limit and was skipped.
    OversizedRecord,
    /// A compressed stream is damaged; what follows the damage is lost.
    CorruptCompression,
    /// Spans or samples of a stored segment that is damaged; it was set aside.
    CorruptSegment,
    /// Batches of a damaged write-ahead log; their number is known, that of their records is not.
    CorruptLog,
    /// A record without a usable trace or span id was skipped.
    InvalidId,
    /// A record of another signal (metrics, logs) was skipped.
    OtherSignal,
    /// A span ends before it starts; its inclusive time was set to zero.
    NegativeTime,
    /// A span's sampling attributes are invalid; its weight is treated as unknown.
    InvalidSampling,
    /// The same span was read more than once; the first one was used.
    DuplicateSpan,
    /// A span's parent is not in its trace although the trace has a root: it is excluded, and the request is partial.
    OrphanSpan,
    /// A trace has no root; its topmost spans were treated as requests.
    MissingRoot,
    /// A trace has several roots; each was treated as a request.
    ExtraRoot,
    /// Spans are each other's ancestors; the cycle was cut.
    Cycle,
    /// A call's return is missing; it was closed with its caller, and its request left out.
    MissingReturn,
    /// A return without a call was ignored.
    StrayReturn,
    /// A remote call was announced more than once; the first announcement counts.
    RepeatedAnnouncement,
    /// A request is incomplete and was left out of the request matrices.
    PartialRequest,
    /// A child on the same clock starts before its parent; the part outside does not count.
    ChildBeforeParent,
    /// A child on the same clock ends after its parent; the part outside does not count.
    ChildOutlivesParent,
    /// A child on another host lies outside its parent's interval as recorded: the clocks disagree, and its
    /// times were not compared with the parent's.
    ClockSkew,
    /// A callee ran longer than its call; it was treated as asynchronous.
    AsynchronousCallee,
    /// The spans of a request have different weights; the root's was used.
    UnequalSampling,
    /// Calls nested deeper than the limit were folded into the node at the limit.
    DepthLimit,
    /// Spans of traces left out, by a hash of the trace id, to stay within the memory limit.
    MemoryLimit,
    /// A trace written before it was complete: it never became idle, or memory ran out before it did.
    CutTrace,
    /// Spans whose operation or replica has a new name when there are too many names already: pooled under
    /// one name.
    NameLimit,
    /// Requests of one category left out of its matrix, evenly, to stay within the row limit.
    RowLimit,
    /// Duplicate samples of one series and instant; the first one was used.
    DuplicateSample,
    /// A sample arrived after a later one of its series; it was inserted in time order.
    LateSample,
    /// A sample that is not a number, infinite or negative was skipped.
    InvalidSample,
    /// A counter decreased: it was treated as a restart from 0.
    CounterReset,
    /// The increase of a counter over a long gap between readings was left out: when it grew is unknown.
    CounterGap,
    /// The utilization of a window is above 1; it was clamped to 1.
    UtilizationAboveOne,
    /// A window at an end of the data, or beside a gap, is covered only in part and was left out.
    PartialWindow,
    /// Samples so far from all others that no table could hold both were left out.
    StraySample,
    /// Samples of further series when there are too many series already, left out.
    SeriesLimit,
    /// Samples beyond the limit of samples in memory, left out.
    SampleLimit,
    /// Transaction types or callees beyond the limit, the rarest, were pooled under one name.
    TransactionLimit,
    /// Events of a kernel trace that the tracer itself lost, as the trace counts them; waits that contain a loss
    /// are unknown.
    LostEvents,
    /// Intervals of a CPU's trace in which an unknown number of events was lost.
    LostInterval,
    /// Further buffers or guests of a trace, beyond the top buffer, were skipped.
    SkippedBuffer,
    /// The trace of a CPU is missing or empty while others are there.
    MissingStream,
    /// An event lies before its predecessor by more than the reorder window; it was moved to it.
    TimeWentBack,
    /// A switch of threads was not recorded; it follows from the next record of that CPU.
    ImpliedSwitch,
    /// A wait ended without a wake-up in the trace: what it waited for stays unknown.
    UnknownWaker,
    /// The end of an interrupt that never began, or the reverse; ignored.
    UnbalancedContext,
    /// Better wake-up events than those the graph is made of appeared only later in the trace; they were ignored.
    LateWakeups,
    /// Events beyond the limit of an execution graph's vertices, left out.
    GraphLimit,
    /// An execution without its end or its beginning was left out.
    UnfinishedExecution,
    /// An execution without any state was left out.
    EmptyExecution,
    /// States of an execution beyond the limit of the alignment, left out.
    SequenceLimit,
    /// Events with timestamps in microseconds: the order of events within one microsecond may be lost.
    CoarseTime,
    /// Values of attributes beyond the limit of distinct ones, left out.
    AttributeLimit,
    /// A log record without a trace or a span was left out.
    UntracedLog,
    /// Texts of an event beyond the limit of their length were cut.
    LongLog,
    /// Events beyond the limit of a span or a trace, left out.
    EventLimit,
}

impl Loss {
    /// All causes, in the order reports list them.
    pub const ALL: [Loss; 58] = [
        Loss::MalformedRecord,
        Loss::TruncatedInput,
        Loss::OversizedRecord,
        Loss::CorruptCompression,
        Loss::CorruptSegment,
        Loss::CorruptLog,
        Loss::InvalidId,
        Loss::OtherSignal,
        Loss::NegativeTime,
        Loss::InvalidSampling,
        Loss::DuplicateSpan,
        Loss::OrphanSpan,
        Loss::MissingRoot,
        Loss::ExtraRoot,
        Loss::Cycle,
        Loss::MissingReturn,
        Loss::StrayReturn,
        Loss::RepeatedAnnouncement,
        Loss::PartialRequest,
        Loss::ChildBeforeParent,
        Loss::ChildOutlivesParent,
        Loss::ClockSkew,
        Loss::AsynchronousCallee,
        Loss::UnequalSampling,
        Loss::DepthLimit,
        Loss::MemoryLimit,
        Loss::CutTrace,
        Loss::NameLimit,
        Loss::RowLimit,
        Loss::DuplicateSample,
        Loss::LateSample,
        Loss::InvalidSample,
        Loss::CounterReset,
        Loss::CounterGap,
        Loss::UtilizationAboveOne,
        Loss::PartialWindow,
        Loss::StraySample,
        Loss::SeriesLimit,
        Loss::SampleLimit,
        Loss::TransactionLimit,
        Loss::LostEvents,
        Loss::LostInterval,
        Loss::SkippedBuffer,
        Loss::MissingStream,
        Loss::TimeWentBack,
        Loss::ImpliedSwitch,
        Loss::UnknownWaker,
        Loss::UnbalancedContext,
        Loss::LateWakeups,
        Loss::GraphLimit,
        Loss::UnfinishedExecution,
        Loss::EmptyExecution,
        Loss::SequenceLimit,
        Loss::CoarseTime,
        Loss::AttributeLimit,
        Loss::UntracedLog,
        Loss::LongLog,
        Loss::EventLimit,
    ];

    /// The cause's name in JSON.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// The cause of a name.
    pub fn from_name(name: &str) -> Option<Loss> {
        Loss::ALL.into_iter().find(|loss| loss.name() == name)
    }

    /// The cause as a phrase that follows a count: `12 spans whose parent is missing`.
    pub const fn phrase(self) -> &'static str {
        self.row().1
    }

    const fn row(self) -> (&'static str, &'static str) {
        match self {
            Loss::MalformedRecord => ("malformed_record", "records that could not be parsed, skipped"),
            Loss::TruncatedInput => ("truncated_input", "inputs that end inside a record"),
            Loss::OversizedRecord => ("oversized_record", "records over the size limit, skipped"),
            Loss::CorruptCompression => ("corrupt_compression", "damaged compressed streams, the rest lost"),
            Loss::CorruptSegment => ("corrupt_segment", "rows of damaged stored segments, set aside"),
            Loss::CorruptLog => {
                ("corrupt_log", "received batches that were lost with damaged parts of the log")
            }
            Loss::InvalidId => ("invalid_id", "records without a usable id, skipped"),
            Loss::OtherSignal => ("other_signal", "records that are not traces, skipped"),
            Loss::NegativeTime => ("negative_time", "spans that end before they start, counted as 0 long"),
            Loss::InvalidSampling => ("invalid_sampling", "invalid sampling weights, treated as unknown"),
            Loss::DuplicateSpan => ("duplicate_span", "duplicate spans, first one used"),
            Loss::OrphanSpan => ("orphan_span", "spans whose parent is missing, excluded"),
            Loss::MissingRoot => ("missing_root", "traces without a root, topmost spans treated as requests"),
            Loss::ExtraRoot => ("extra_root", "additional roots in a trace, each treated as a request"),
            Loss::Cycle => ("cycle", "cycles among spans, cut"),
            Loss::MissingReturn => ("missing_return", "calls without a return"),
            Loss::StrayReturn => ("stray_return", "returns without a call, ignored"),
            Loss::RepeatedAnnouncement => {
                ("repeated_announcement", "remote calls announced twice, first one used")
            }
            Loss::PartialRequest => ("partial_request", "incomplete requests, not in the matrices"),
            Loss::ChildBeforeParent => {
                ("child_before_parent", "children that start before their parent, clipped")
            }
            Loss::ChildOutlivesParent => {
                ("child_outlives_parent", "children that outlive their parent, clipped")
            }
            Loss::ClockSkew => {
                ("clock_skew", "remote children outside their parent as recorded: times not compared")
            }
            Loss::AsynchronousCallee => {
                ("asynchronous_callee", "callees longer than their call, treated as asynchronous")
            }
            Loss::UnequalSampling => {
                ("unequal_sampling", "requests whose spans have different sampling weights, the root's used")
            }
            Loss::DepthLimit => ("depth_limit", "calls nested too deeply, folded"),
            Loss::MemoryLimit => {
                ("memory_limit", "spans dropped, complete traces at a time, to stay within the memory limit")
            }
            Loss::CutTrace => ("cut_trace", "traces written before they were complete, read in parts"),
            Loss::NameLimit => ("name_limit", "spans beyond the limit of distinct names, pooled as (other)"),
            Loss::RowLimit => ("row_limit", "requests thinned out of oversized matrices"),
            other => other.sample_row(),
        }
    }

    /// The rows of samples.
    const fn sample_row(self) -> (&'static str, &'static str) {
        match self {
            Loss::DuplicateSample => ("duplicate_sample", "duplicate samples, first one used"),
            Loss::LateSample => ("late_sample", "samples out of order, sorted"),
            Loss::InvalidSample => {
                ("invalid_sample", "samples that are not a number, infinite or negative, skipped")
            }
            Loss::CounterReset => ("counter_reset", "counters that decreased, treated as restarted"),
            Loss::CounterGap => ("counter_gap", "long gaps between readings of a counter, left out"),
            Loss::UtilizationAboveOne => {
                ("utilization_above_one", "windows with utilization above 1, clamped to 1")
            }
            Loss::PartialWindow => ("partial_window", "windows covered by samples only in part, left out"),
            Loss::StraySample => ("stray_sample", "samples far from all others in time, left out"),
            Loss::SeriesLimit => {
                ("series_limit", "samples of series beyond the limit of distinct series, left out")
            }
            Loss::SampleLimit => ("sample_limit", "samples beyond the limit of samples, left out"),
            Loss::TransactionLimit => {
                ("transaction_limit", "transaction types or callees beyond the limit, pooled as (other)")
            }
            Loss::UntracedLog => ("untraced_log", "log records without a trace or a span, left out"),
            Loss::LongLog => ("long_log", "logged texts beyond the limit of their length, cut"),
            Loss::EventLimit => ("event_limit", "events beyond the limit of a span or a trace, left out"),
            kernel => kernel.kernel_row(),
        }
    }

    /// The rows of kernel traces, their executions and alignments.
    const fn kernel_row(self) -> (&'static str, &'static str) {
        match self {
            Loss::LostEvents => ("lost_events", "events lost by the tracer, waits around them unknown"),
            Loss::LostInterval => ("lost_interval", "intervals with an unknown number of lost events"),
            Loss::SkippedBuffer => ("skipped_buffer", "further buffers or guests of a trace, skipped"),
            Loss::MissingStream => ("missing_stream", "CPUs without a trace of their own"),
            Loss::TimeWentBack => ("time_went_back", "kernel events too far out of order, moved"),
            Loss::ImpliedSwitch => ("implied_switch", "switches not recorded, implied by the next record"),
            Loss::UnknownWaker => ("unknown_waker", "waits whose wake-up is not in the trace"),
            Loss::UnbalancedContext => {
                ("unbalanced_context", "interrupts that end without a beginning, ignored")
            }
            Loss::LateWakeups => {
                ("late_wakeups", "wake-ups of a better kind that began only within the trace, ignored")
            }
            Loss::GraphLimit => {
                ("graph_limit", "kernel events beyond the limit of an execution graph, left out")
            }
            Loss::UnfinishedExecution => {
                ("unfinished_execution", "executions without beginning or end, left out")
            }
            Loss::EmptyExecution => ("empty_execution", "executions without a state, left out"),
            Loss::SequenceLimit => ("sequence_limit", "states beyond the alignment's limit, left out"),
            Loss::CoarseTime => {
                ("coarse_time", "kernel events with times in microseconds: order within one is lost")
            }
            Loss::AttributeLimit => {
                ("attribute_limit", "attribute values beyond the limit of distinct ones, left out")
            }
            // The tests find a cause without a row of its own.
            _ => panic!("a cause without a row"),
        }
    }
}

/// How often one cause occurred, with the first example.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LossCount {
    /// Occurrences.
    pub count: u64,
    /// The first occurrence, as text that helps to find it (file, trace, line); may be empty.
    pub example: String,
}

/// Counts by cause. Merging is associative; the example of the earlier operand wins.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Losses {
    counts: BTreeMap<Loss, LossCount>,
}

impl Losses {
    /// No losses.
    pub fn none() -> Losses {
        Losses::default()
    }

    /// Counts one occurrence; `example` is called only for the first of its cause.
    pub fn add(&mut self, loss: Loss, example: impl FnOnce() -> String) {
        self.add_many(loss, 1, example);
    }

    /// Counts `count` occurrences; nothing when `count` is 0.
    pub fn add_many(&mut self, loss: Loss, count: u64, example: impl FnOnce() -> String) {
        if count == 0 {
            return;
        }
        let entry = self.counts.entry(loss).or_insert_with(|| LossCount { count: 0, example: example() });
        // Counts read from a damaged input can have any value.
        entry.count = entry.count.saturating_add(count);
    }

    /// Adds another's counts to this one's.
    pub fn merge(&mut self, other: &Losses) {
        for (&loss, found) in &other.counts {
            self.add_many(loss, found.count, || found.example.clone());
        }
    }

    /// The count of one cause.
    pub fn count(&self, loss: Loss) -> u64 {
        self.counts.get(&loss).map_or(0, |found| found.count)
    }

    /// Whether nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Every cause that occurred, in the order of [`Loss::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Loss, &LossCount)> {
        self.counts.iter().map(|(&loss, found)| (loss, found))
    }
}

impl fmt::Debug for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(loss, found)| (loss.name(), found))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_adds_counts_and_keeps_the_first_example() {
        let mut left = Losses::none();
        left.add(Loss::Cycle, || "trace 1".to_owned());
        let mut right = Losses::none();
        right.add(Loss::Cycle, || "trace 2".to_owned());
        right.add_many(Loss::OrphanSpan, 0, || unreachable!());
        left.merge(&right);
        assert_eq!(left.count(Loss::Cycle), 2);
        assert_eq!(left.count(Loss::OrphanSpan), 0);
        assert_eq!(left.iter().next().map(|(_, found)| found.example.as_str()), Some("trace 1"));
    }

    #[test]
    fn loss_names_are_unique_and_listed_in_order() {
        let names: std::collections::HashSet<_> = Loss::ALL.iter().map(|loss| loss.name()).collect();
        assert_eq!(names.len(), Loss::ALL.len());
        assert!(Loss::ALL.is_sorted());
    }
}
