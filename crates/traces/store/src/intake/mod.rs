//! Open traces in memory: durable in the log, on their way to segments.
//!
//! ```text
//! record n ── ingest ──► open traces, pending samples ── close (idle, cut, full) ──► Closed ── pack ──► FlushBatch
//! ```
//! The open data are a function of the ingested records and the close points, in order; replay relies on it.

mod ages;
mod attribute_sets;
mod close;
mod naming;
mod pack;

#[cfg(test)]
mod tests;

pub(crate) use ages::Ages;
pub(crate) use close::{CloseCriteria, ClosedTraces};
pub(crate) use naming::NAMES_MAX;

use crate::{ClosePoint, LogPosition};
use attribute_sets::AttributeSets;
use laggard_engine::{AttributeLimit, Batch, Origins, SampleRow, Samples};
use laggard_model::{
    AttributeSetId, CallRow, Losses, OperationId, ReplicaId, SpanEvent, SpanId, SpanRow, Tid, Timestamp,
    TraceId,
};
use naming::{BatchHandles, NameTable};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// The rows of one open trace.
#[derive(Debug, Default)]
pub(crate) struct OpenTrace {
    /// The first record it has rows of.
    first: u64,
    last: u64,
    spans: Vec<SpanRow>,
    #[expect(
        clippy::box_collection,
        reason = "call logs are rare: a pointer instead of a vector in every trace"
    )]
    calls: Option<Box<Vec<CallRow>>>,
    text: Option<Box<str>>,
    /// The set of its attributes; empty without any. Most traces have one that others have, too.
    attributes: Arc<str>,
    /// Start, span and thread of the spans whose thread is known.
    threads: Vec<(Timestamp, SpanId, Tid)>,
}

/// Memory of an open trace besides its rows, in bytes: its table entry, and slack.
const TRACE_BYTES: usize = 200;

/// Memory of a row, bytes, with the slack of growing vectors.
const SPAN_BYTES: usize = size_of::<SpanRow>() * 3 / 2;
const THREAD_BYTES: usize = size_of::<(Timestamp, SpanId, Tid)>() * 3 / 2;
const CALL_BYTES: usize = size_of::<CallRow>() * 3 / 2;
const SAMPLE_BYTES: usize = size_of::<SampleRow>() * 3 / 2;

/// Memory of a stored text besides its bytes.
const TEXT_BYTES: usize = 64;

impl OpenTrace {
    fn rows(&self) -> usize {
        self.spans.len() + self.calls.as_ref().map_or(0, |calls| calls.len())
    }

    fn bytes(&self) -> usize {
        let calls = self.calls.as_ref().map_or(0, |calls| calls.len());
        let text = self.text.as_ref().map_or(0, |text| TEXT_BYTES + text.len());
        let threads = self.threads.len() * THREAD_BYTES;
        TRACE_BYTES
            + self.spans.len() * SPAN_BYTES
            + calls * CALL_BYTES
            + text
            + self.attributes.len()
            + threads
    }
}

/// The open part of a store.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    names: NameTable,
    /// The table of names is not rebuilt before this time.
    names_tidy_at: Duration,
    traces: HashMap<TraceId, OpenTrace>,
    /// Traces with more rows than [`TRACE_ROWS_MAX`]; closed the next time.
    oversized: Vec<TraceId>,
    samples: Samples,
    events: Vec<SpanEvent>,
    sample_texts: HashMap<Box<str>, u32>,
    attribute_limit: AttributeLimit,
    attribute_sets: AttributeSets,
    losses: Losses,
    origins: Origins,
    position: LogPosition,
    /// The last ingested record.
    head: u64,
    ages: Ages,
    spans: usize,
    bytes: usize,
}

// Limit: spans of one trace in the store | the trace is cut (`cut_trace`); compaction joins the parts
/// Rows a trace may have before it is cut: much more than a person or a method can use.
pub(crate) const TRACE_ROWS_MAX: usize = 200_000;

/// Which part of a record is ingested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordPart {
    All,
    /// Only spans and calls: the rest is in segments already.
    Traces,
}

/// An upper bound of the memory of an ingested batch, and of its length in the log, in bytes.
pub(crate) fn bytes_max(batch: &Batch) -> usize {
    let texts: usize = batch.texts.iter().map(|(_, text)| TEXT_BYTES + text.len()).sum();
    let names: usize = (0..batch.names.operations())
        .map(|index| batch.names.operation_key(OperationId::from_index(index)))
        .map(|key| TEXT_BYTES + key.service.len() + key.operation.len())
        .chain(
            (0..batch.names.replicas())
                .map(|index| TEXT_BYTES + batch.names.replica_name(ReplicaId::from_index(index)).len()),
        )
        .sum();
    let attributes: usize = (batch.attributes.iter())
        .map(|(_, set)| TEXT_BYTES + batch.names.attribute_set_text(*set).len())
        .sum();
    batch.spans.len() * (SPAN_BYTES + TRACE_BYTES)
        + attributes
        + batch.threads.len() * THREAD_BYTES
        + batch.calls.len() * (CALL_BYTES + TRACE_BYTES)
        + samples_bytes(&batch.samples)
        + events_bytes(&batch.events)
        + texts
        + names
}

/// Texts are stored twice: for lookup by number and by content.
fn samples_bytes(samples: &Samples) -> usize {
    let texts: usize = samples.texts.iter().map(|text| 2 * (TEXT_BYTES + text.len())).sum();
    texts + samples.rows.len() * SAMPLE_BYTES
}

fn events_bytes(events: &[SpanEvent]) -> usize {
    events.iter().map(SpanEvent::bytes).sum()
}

impl Intake {
    /// An intake that continues at a log position; nothing is open yet.
    pub(crate) fn new(position: LogPosition) -> Intake {
        let head = position.replay_from - 1;
        Intake { position, head, ..Intake::default() }
    }

    /// Ingests a record. Records arrive in order; some numbers may be missing.
    pub(crate) fn ingest(&mut self, number: u64, batch: &Batch, part: RecordPart) {
        self.head = number;
        let map = BatchHandles::new(&mut self.names, batch, &mut self.losses);
        self.ingest_spans(number, batch, &map);
        self.ingest_calls(number, batch, &map);
        for (id, text) in &batch.texts {
            let Some(trace) = self.traces.get_mut(id).filter(|trace| trace.text.is_none()) else { continue };
            trace.text = Some(text.clone());
            self.bytes += TEXT_BYTES + text.len();
        }
        self.ingest_attributes(batch);
        self.ingest_threads(batch);
        if part == RecordPart::All {
            self.ingest_samples(&batch.samples);
            self.bytes += events_bytes(&batch.events);
            self.events.extend_from_slice(&batch.events);
            self.losses.merge(&batch.losses);
            self.origins.merge(&batch.origins);
        }
    }

    fn ingest_attributes(&mut self, batch: &Batch) {
        if batch.attributes.is_empty() {
            return;
        }
        let texts = (0..batch.names.attribute_sets())
            .map(|index| batch.names.attribute_set_text(AttributeSetId::from_index(index)));
        let admitted: Vec<Arc<str>> = texts.map(|text| self.admitted(text)).collect();
        for (id, set) in &batch.attributes {
            let Some(trace) = self.traces.get_mut(id) else { continue };
            let union = self.attribute_sets.union(&trace.attributes, &admitted[set.index()]);
            self.bytes += union.len() - trace.attributes.len();
            trace.attributes = union;
        }
    }

    /// A set without the attributes that are beyond the limit. One that is remembered has none: its values are known.
    fn admitted(&mut self, text: &str) -> Arc<str> {
        self.attribute_sets.find(text).unwrap_or_else(|| {
            self.attribute_sets.share(self.attribute_limit.admit(text, &mut self.losses).as_str())
        })
    }

    fn ingest_threads(&mut self, batch: &Batch) {
        for &(row, tid) in &batch.threads {
            let row = &batch.spans[row as usize];
            let Some(trace) = self.traces.get_mut(&row.trace) else { continue };
            trace.threads.push((row.start, row.span, tid));
            self.bytes += THREAD_BYTES;
        }
    }

    fn ingest_spans(&mut self, number: u64, batch: &Batch, map: &BatchHandles) {
        for run in batch.spans.chunk_by(|a, b| a.trace == b.trace) {
            let trace = touch(&mut self.traces, &mut self.bytes, run[0].trace, number);
            trace.spans.extend(run.iter().map(|row| SpanRow {
                operation: map.operation(row.operation),
                replica: map.replica(row.replica),
                ..*row
            }));
            let rows = trace.rows();
            if rows >= TRACE_ROWS_MAX && rows - run.len() < TRACE_ROWS_MAX {
                self.oversized.push(run[0].trace);
            }
            self.bytes += run.len() * SPAN_BYTES;
        }
        self.spans += batch.spans.len();
    }

    fn ingest_calls(&mut self, number: u64, batch: &Batch, map: &BatchHandles) {
        for run in batch.calls.chunk_by(|a, b| a.request == b.request) {
            let trace = touch(&mut self.traces, &mut self.bytes, run[0].request, number);
            trace.calls.get_or_insert_default().extend(run.iter().map(|row| CallRow {
                operation: map.operation(row.operation),
                host: map.replica(row.host),
                ..*row
            }));
            let rows = trace.rows();
            if rows >= TRACE_ROWS_MAX && rows - run.len() < TRACE_ROWS_MAX {
                self.oversized.push(run[0].request);
            }
            self.bytes += run.len() * CALL_BYTES;
        }
        self.spans += batch.calls.len();
    }

    fn ingest_samples(&mut self, samples: &Samples) {
        if samples.rows.is_empty() {
            return;
        }
        let texts: Vec<u32> = samples.texts.iter().map(|text| self.sample_text(text)).collect();
        let text = |index: u32| texts[index as usize];
        self.samples.rows.extend(samples.rows.iter().map(|row| SampleRow {
            server: text(row.server),
            tier: text(row.tier),
            transaction: text(row.transaction),
            callee: text(row.callee),
            ..*row
        }));
        self.bytes += samples.rows.len() * SAMPLE_BYTES;
    }

    fn sample_text(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.sample_texts.get(text) {
            return known;
        }
        let new = self.samples.texts.len() as u32;
        self.samples.texts.push(text.into());
        self.sample_texts.insert(text.into(), new);
        self.bytes += 2 * (TEXT_BYTES + text.len());
        new
    }

    /// Drops the traces that were closed before the store was opened.
    pub(crate) fn repeat(&mut self, closing: &ClosePoint) {
        let cut: HashSet<TraceId> = closing.cut.iter().copied().collect();
        let (spans, bytes) = (&mut self.spans, &mut self.bytes);
        self.traces.retain(|id, trace| {
            let retained = trace.last > closing.idle_through && !cut.contains(id);
            if !retained {
                *spans -= trace.rows();
                *bytes -= trace.bytes();
            }
            retained
        });
        self.oversized.retain(|id| self.traces.contains_key(id));
    }

    /// Records that numbers up to this one were assigned, even if some of the records are lost.
    pub(crate) fn reach_head(&mut self, number: u64) {
        self.head = self.head.max(number);
    }

    /// Notes that all records so far had arrived by now, on the monotonic clock.
    pub(crate) fn record_time(&mut self, now: Duration) {
        self.names.now = now;
        self.ages.note(now, self.head);
    }

    /// Arrival times of the records.
    pub(crate) fn ages(&self) -> &Ages {
        &self.ages
    }

    /// Rows (spans and halves of calls) of open traces.
    pub(crate) fn spans(&self) -> usize {
        self.spans
    }

    /// Open traces.
    pub(crate) fn traces(&self) -> usize {
        self.traces.len()
    }

    /// Samples that wait for the next flush batch.
    pub(crate) fn samples(&self) -> usize {
        self.samples.rows.len()
    }

    /// Events that wait for the next flush batch.
    pub(crate) fn events(&self) -> usize {
        self.events.len()
    }

    /// Approximate memory in use, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The last ingested record.
    pub(crate) fn head(&self) -> u64 {
        self.head
    }

    /// The middle of the range of records that are still needed.
    pub(crate) fn middle(&self) -> u64 {
        u64::midpoint(self.position.replay_from, self.head)
    }
}

/// The open trace of an id, created if there is none.
fn touch<'a>(
    traces: &'a mut HashMap<TraceId, OpenTrace>,
    bytes: &mut usize,
    id: TraceId,
    number: u64,
) -> &'a mut OpenTrace {
    let trace = traces.entry(id).or_insert_with(|| {
        *bytes += TRACE_BYTES;
        OpenTrace { first: number, ..OpenTrace::default() }
    });
    trace.last = number;
    trace
}
