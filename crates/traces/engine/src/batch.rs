//! Records of one message on their way from a receiver to the store.

use crate::ingest::cut;
use laggard_model::{
    AttributeSetId, CallRecord, CallRow, Loss, Losses, Measure, Names, OperationKey, ReplicaId,
    ReplicaSource, SampleRecord, Sink, SpanEvent, SpanKind, SpanRecord, SpanRow, TailSampler, Tid, Timestamp,
    TraceId, WeightSource,
};

/// The contents of one message or file, with handles into its own names: what a receiver passes to a store, and
/// what a write-ahead log stores. Nothing is dropped here except what a reader counted as lost; the code that fills a
/// batch bounds its size by bounding the message.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Names behind the handles of `spans` and `calls`.
    pub names: Names,
    /// Spans, in the order of the message.
    pub spans: Vec<SpanRow>,
    /// Call-log records, in the order of the message.
    pub calls: Vec<CallRow>,
    /// Samples, in the order of the message.
    pub samples: Samples,
    /// Trace ids as received, if that differs from their display text.
    pub texts: Vec<(TraceId, Box<str>)>,
    /// Sets of attributes of traces; a trace may have several, which are united.
    pub attributes: Vec<(TraceId, AttributeSetId)>,
    /// Threads of the spans that have one: the number of the row in `spans`, and the thread.
    pub threads: Vec<(u32, Tid)>,
    /// Events of spans, in the order of the message.
    pub events: Vec<SpanEvent>,
    /// Losses of reading the batch.
    pub losses: Losses,
    /// Counts of spans by how they were identified and weighted.
    pub origins: Origins,
}

/// Counts of spans by the source of their replica, the source of their weight, and the sampler of their trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origins {
    /// By [`ReplicaSource`], as numbered.
    pub identities: [u64; ReplicaSource::ALL.len()],
    /// By [`WeightSource`], as numbered.
    pub weight_sources: [u64; WeightSource::ALL.len()],
    /// By [`TailSampler`], as numbered.
    pub tail_samplers: [u64; TailSampler::ALL.len()],
    /// Call-log records.
    pub call_records: u64,
}

impl Origins {
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Origins) {
        let add = |mine: &mut [u64], theirs: &[u64]| {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        };
        add(&mut self.identities, &other.identities);
        add(&mut self.weight_sources, &other.weight_sources);
        add(&mut self.tail_samplers, &other.tail_samplers);
        self.call_records += other.call_records;
    }
}

/// Samples in columns; texts are interned in `texts`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Samples {
    /// Rows.
    pub rows: Vec<SampleRow>,
    /// Texts behind the rows' numbers.
    pub texts: Vec<Box<str>>,
}

/// One sample; names are indices into [`Samples::texts`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SampleRow {
    /// As in [`SampleRecord`].
    pub time: Timestamp,
    /// The measured quantity.
    pub measure: Measure,
    /// The server.
    pub server: u32,
    /// Its tier.
    pub tier: u32,
    /// The transaction type.
    pub transaction: u32,
    /// The callee.
    pub callee: u32,
    /// The value, in the measure's unit.
    pub value: f64,
}

impl Samples {
    /// The record of a row.
    pub fn record(&self, row: &SampleRow) -> SampleRecord<'_> {
        let text = |index: u32| &*self.texts[index as usize];
        SampleRecord {
            time: row.time,
            measure: row.measure,
            server: text(row.server),
            tier: text(row.tier),
            transaction: text(row.transaction),
            callee: text(row.callee),
            value: row.value,
        }
    }

    /// Adds a record. A message has few distinct texts, and they come in runs: the search is from the end.
    pub fn push(&mut self, sample: &SampleRecord<'_>) {
        let row = SampleRow {
            time: sample.time,
            measure: sample.measure,
            server: self.text(sample.server),
            tier: self.text(sample.tier),
            transaction: self.text(sample.transaction),
            callee: self.text(sample.callee),
            value: sample.value,
        };
        self.rows.push(row);
    }

    fn text(&mut self, text: &str) -> u32 {
        let text = cut(text);
        let recent = self.texts.iter().enumerate().rev().take(TEXTS_SEARCHED);
        if let Some((position, _)) = recent.into_iter().find(|(_, known)| &***known == text) {
            return position as u32;
        }
        self.texts.push(text.into());
        (self.texts.len() - 1) as u32
    }
}

/// How many of the latest texts are searched; older texts may be stored twice.
const TEXTS_SEARCHED: usize = 64;

impl Batch {
    /// Whether there is nothing to keep. Losses alone are nothing.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
            && self.calls.is_empty()
            && self.samples.rows.is_empty()
            && self.events.is_empty()
    }

    fn replica(&mut self, name: &str) -> ReplicaId {
        self.names.replica(cut(name))
    }

    fn record_attributes(&mut self, trace: TraceId, text: &str) {
        if text.is_empty() {
            return;
        }
        let added = (trace, self.names.attribute_set(text));
        // Spans of one resource come in runs.
        if !self.attributes.iter().rev().take(2).any(|known| *known == added) {
            self.attributes.push(added);
        }
    }

    fn record_text(&mut self, trace: TraceId, text: Option<&str>) {
        let Some(text) = text else { return };
        if self.texts.last().is_none_or(|(last, _)| *last != trace) {
            self.texts.push((trace, cut(text).into()));
        }
    }
}

impl Sink for Batch {
    fn span(&mut self, span: &SpanRecord<'_>) {
        self.record_text(span.trace_id, span.trace_text);
        self.record_attributes(span.trace_id, span.attributes.resource);
        self.record_attributes(span.trace_id, span.attributes.span);
        self.origins.identities[span.replica_source as usize] += 1;
        self.origins.weight_sources[span.sampling.source as usize] += 1;
        if let Some(sampler) = span.sampling.tail_sampler {
            self.origins.tail_samplers[sampler as usize] += 1;
        }
        let key =
            OperationKey { service: cut(span.service), operation: cut(span.operation), kind: span.kind };
        let row = SpanRow {
            trace: span.trace_id,
            span: span.span_id,
            parent: span.parent,
            start: span.start,
            inclusive: span.inclusive,
            operation: self.names.operation(key),
            replica: self.replica(span.replica),
            kind: span.kind,
            status: span.status,
            incomplete: false,
            adjusted_count: span.sampling.adjusted_count,
        };
        self.threads.extend(span.attributes.thread.map(|tid| (self.spans.len() as u32, tid)));
        self.spans.push(row);
    }

    fn call(&mut self, call: &CallRecord<'_>) {
        self.record_text(call.request, call.request_text);
        self.origins.call_records += 1;
        self.origins.identities[ReplicaSource::Host as usize] += 1;
        let kind = SpanKind::Unspecified;
        let key = OperationKey { service: cut(call.service), operation: cut(call.operation), kind };
        let row = CallRow {
            request: call.request,
            fragment: call.fragment,
            callee: call.callee,
            time: call.time,
            operation: self.names.operation(key),
            host: self.replica(call.host),
            flag: call.flag,
        };
        self.calls.push(row);
    }

    fn sample(&mut self, sample: &SampleRecord<'_>) {
        self.samples.push(sample);
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: SpanEvent) {
        self.events.push(event);
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        self.losses.add(loss, example);
    }
}
