//! From records to rows, with a limit on memory.

mod part;
mod span_bucket;
mod spilling;
#[cfg(test)]
mod tests;

use crate::handles::HandleMap;
use crate::thin::{Thinning, hash};
use crate::trace_attributes::TraceAttributes;
use crate::traces::Traces;
use laggard_assembly::rebuild_calls;
use laggard_model::{
    CallRecord, CallRow, Loss, Losses, Names, Nanos, OperationId, OperationKey, ReplicaId, ReplicaSource,
    Sampling, Sink, SinkPart, SpanKind, SpanRecord, SpanRow, TailSampler, Timestamp, TraceId, WeightSource,
};
use laggard_parallel::parallel_map_owned;
use part::IngestPart;
use span_bucket::SpanBucket;
use spilling::SpilledRows;
use std::collections::HashMap;
use std::num::NonZeroUsize;

/// Buckets a data set is split into: many times the cores, and small enough to sort in the cache.
const BUCKETS: usize = 64;

/// Limits of one [`Ingest`].
#[derive(Clone, Copy, Debug)]
pub struct IngestSettings {
    /// Maximum bytes of rows. Above it, rows are written to a file ([`Ingest::with_spill`]), or half of the traces (by a hash of their
    /// id) are dropped, then half again as often as needed.
    pub memory_bytes: usize,
    /// Rows that start before this are dropped.
    pub since: Timestamp,
    /// Rows that start after this are dropped.
    pub until: Timestamp,
}

impl Default for IngestSettings {
    /// Everything, up to 4 GiB of rows.
    fn default() -> IngestSettings {
        IngestSettings { memory_bytes: 4 << 30, since: Timestamp::MIN, until: Timestamp::MAX }
    }
}

/// A sink that fills the span table. Several can fill in parallel and be merged in the order of their inputs.
#[derive(Debug)]
pub struct Ingest {
    settings: IngestSettings,
    names: Names,
    spans: Vec<SpanBucket>,
    calls: Vec<Vec<CallRow>>,
    texts: HashMap<TraceId, Box<str>>,
    attributes: TraceAttributes,
    losses: Losses,
    identities: [u64; ReplicaSource::ALL.len()],
    weight_sources: [u64; WeightSource::ALL.len()],
    tail_samplers: [u64; TailSampler::ALL.len()],
    call_records: u64,
    outside_window: u64,
    thinning: Thinning,
    /// Rows exceed the limit even at the highest thinning: all further rows are dropped.
    is_full: bool,
    /// Rows added since the limit was last checked.
    uncounted_rows: usize,
    /// Rows in a file; `None` if traces are dropped instead.
    spilled: Option<SpilledRows>,
}

// Limit: distinct operations, and distinct replicas | `name_limit`: pooled as `(other)`
/// Most distinct operations, and most distinct replicas. Names that carry ids would fill the memory.
const NAMES_MAX: usize = if cfg!(test) { 300 } else { 200_000 };

// Limit: bytes of a name or of a trace id as text | cut
/// Maximum length of a name in bytes; longer ones are truncated.
const NAME_BYTES_MAX: usize = 1024;

/// Name that replaces names beyond [`NAMES_MAX`].
const OTHER: &str = "(other)";

/// Approximate size of the text of one trace id in bytes.
const TEXT_BYTES: usize = 96;

impl Ingest {
    /// An empty table.
    pub fn new(settings: IngestSettings) -> Ingest {
        Ingest {
            settings,
            names: Names::new(),
            spans: vec![SpanBucket::default(); BUCKETS],
            calls: vec![Vec::new(); BUCKETS],
            texts: HashMap::new(),
            attributes: TraceAttributes::default(),
            losses: Losses::none(),
            identities: [0; ReplicaSource::ALL.len()],
            weight_sources: [0; WeightSource::ALL.len()],
            tail_samplers: [0; TailSampler::ALL.len()],
            call_records: 0,
            outside_window: 0,
            thinning: Thinning::default(),
            is_full: false,
            uncounted_rows: 0,
            spilled: None,
        }
    }

    /// Adds the table of a later input to this one's.
    pub fn merge(&mut self, later: Ingest) {
        let map = HandleMap::new(&mut self.names, &later.names);
        self.merge_spilled(later.spilled, &map);
        for (bucket, rows) in self.spans.iter_mut().zip(later.spans) {
            for row in rows.rows() {
                let (operation, replica) = (map.operation(row.operation), map.replica(row.replica));
                bucket.push(hash(row.trace), &SpanRow { operation, replica, ..row });
            }
        }
        for (bucket, rows) in self.calls.iter_mut().zip(later.calls) {
            bucket.extend(rows.into_iter().map(|row| CallRow {
                operation: map.operation(row.operation),
                host: map.replica(row.host),
                ..row
            }));
        }
        self.texts.extend(later.texts);
        let sets = |set| map.attribute_set(set);
        self.attributes.merge(&later.attributes, sets, &mut self.names, &mut self.losses);
        self.losses.merge(&later.losses);
        add_all(&mut self.identities, &later.identities);
        add_all(&mut self.weight_sources, &later.weight_sources);
        add_all(&mut self.tail_samplers, &later.tail_samplers);
        self.call_records += later.call_records;
        self.outside_window += later.outside_window;
        self.thinning.merge(later.thinning);
        self.apply_thinning();
        self.stay_within_limit();
    }

    /// Rebuilds calls from call-log records, sorts every bucket, and closes the table.
    ///
    /// # Panics
    /// When rows are in a file: [`Requests::from_ingest`](crate::Requests::from_ingest) reads them.
    pub fn finish(self, threads: NonZeroUsize) -> Traces {
        assert!(!self.has_spilled(), "rows in a file are read by `Requests::from_ingest`");
        self.into_unfinished().finish(threads)
    }

    fn into_unfinished(mut self) -> Unfinished {
        // What is in memory now is assembled next: writing it to the file would only delay that.
        if self.spilled.is_none() {
            self.stay_within_limit();
        }
        let buckets = std::iter::zip(self.spans, self.calls)
            .map(|(spans, calls)| Bucket { spans, calls, losses: Losses::none() })
            .collect();
        let table = Traces {
            names: self.names,
            buckets: Vec::new(),
            texts: self.texts,
            attributes: self.attributes,
            losses: self.losses,
            identities: self.identities,
            weight_sources: self.weight_sources,
            tail_samplers: self.tail_samplers,
            call_records: self.call_records,
            outside_window: self.outside_window,
            thinning_factor: self.thinning.thinning_factor(),
        };
        Unfinished { table, buckets, thinning: self.thinning, spilled: self.spilled }
    }

    fn in_scope(&mut self, trace: TraceId, time: Timestamp) -> bool {
        if time < self.settings.since || time > self.settings.until {
            self.outside_window += 1;
            return false;
        }
        self.has_room_for(trace)
    }

    /// Whether a row of this trace is retained; counts it otherwise.
    fn has_room_for(&mut self, trace: TraceId) -> bool {
        if self.is_full {
            self.thinning.count_dropped();
            return false;
        }
        self.thinning.retain_row(trace)
    }

    fn operation(&mut self, key: OperationKey<'_>) -> OperationId {
        let key = OperationKey { service: cut(key.service), operation: cut(key.operation), ..key };
        if self.names.operations() >= NAMES_MAX && !self.names.has_operation(key) {
            self.losses.add(Loss::NameLimit, || format!("{} {}", key.service, key.operation));
            return self.names.operation(OperationKey { service: OTHER, operation: OTHER, ..key });
        }
        self.names.operation(key)
    }

    fn replica(&mut self, name: &str) -> ReplicaId {
        let name = cut(name);
        if self.names.replicas() >= NAMES_MAX && !self.names.has_replica(name) {
            self.losses.add(Loss::NameLimit, || name.to_owned());
            return self.names.replica(OTHER);
        }
        self.names.replica(name)
    }

    fn record_text(&mut self, trace: TraceId, text: Option<&str>) {
        if let Some(text) = text {
            self.texts.entry(trace).or_insert_with(|| cut(text).into());
        }
    }

    fn count_sampling(&mut self, sampling: &Sampling) {
        self.weight_sources[sampling.source as usize] += 1;
        if let Some(sampler) = sampling.tail_sampler {
            self.tail_samplers[sampler as usize] += 1;
        }
    }

    fn add_span_row(&mut self, row: SpanRow) {
        let hash = hash(row.trace);
        self.spans[bucket_of(hash)].push(hash, &row);
        self.count_row();
    }

    fn add_call_row(&mut self, row: CallRow) {
        self.call_records += 1;
        self.identities[ReplicaSource::Host as usize] += 1;
        self.calls[bucket_of(hash(row.request))].push(row);
        self.count_row();
    }

    fn count_row(&mut self) {
        self.uncounted_rows += 1;
        if self.uncounted_rows == COUNT_EVERY {
            self.stay_within_limit();
        }
    }

    fn stay_within_limit(&mut self) {
        self.uncounted_rows = 0;
        if self.spilled.is_some() {
            return self.spill_beyond_limit();
        }
        while self.bytes() > self.settings.memory_bytes && !self.is_full {
            self.is_full = !self.thinning.halve();
            self.apply_thinning();
        }
    }

    fn apply_thinning(&mut self) {
        let thinning = &mut self.thinning;
        if thinning.thinning_factor() == 1 {
            return;
        }
        self.spans.iter_mut().for_each(|bucket| bucket.retain(|trace| thinning.retain_row(trace)));
        self.calls.iter_mut().for_each(|bucket| thinning.apply(bucket, |row| row.request));
        self.texts.retain(|&trace, _| thinning.retains(trace));
        self.attributes.retain(|trace| thinning.retains(trace));
    }

    fn bytes(&self) -> usize {
        self.row_bytes() + self.text_bytes()
    }

    fn row_bytes(&self) -> usize {
        let spans: usize = self.spans.iter().map(SpanBucket::bytes).sum();
        let calls: usize = self.calls.iter().map(|bucket| size_of_val(&bucket[..])).sum();
        spans + calls
    }

    /// Bytes of texts and attributes of traces.
    fn text_bytes(&self) -> usize {
        self.texts.len() * TEXT_BYTES + self.attributes.bytes()
    }
}

/// The limit is checked after this number of new rows: 256 KiB of spans.
const COUNT_EVERY: usize = 1 << 12;

impl Sink for Ingest {
    fn span(&mut self, span: &SpanRecord<'_>) {
        if !self.in_scope(span.trace_id, span.start) {
            return;
        }
        self.record_text(span.trace_id, span.trace_text);
        self.identities[span.replica_source as usize] += 1;
        self.count_sampling(&span.sampling);
        let key = OperationKey { service: span.service, operation: span.operation, kind: span.kind };
        let row = SpanRow {
            trace: span.trace_id,
            span: span.span_id,
            parent: span.parent,
            start: span.start,
            inclusive: span.inclusive,
            operation: self.operation(key),
            replica: self.replica(span.replica),
            kind: span.kind,
            status: span.status,
            incomplete: false,
            adjusted_count: span.sampling.adjusted_count,
        };
        self.attributes.add_span(row.trace, span.attributes, &mut self.names, &mut self.losses);
        self.add_span_row(row);
    }

    fn call(&mut self, call: &CallRecord<'_>) {
        if !self.in_scope(call.request, call.time) {
            return;
        }
        self.record_text(call.request, call.request_text);
        let kind = SpanKind::Unspecified;
        let row = CallRow {
            request: call.request,
            fragment: call.fragment,
            callee: call.callee,
            time: call.time,
            operation: self.operation(OperationKey {
                service: call.service,
                operation: call.operation,
                kind,
            }),
            host: self.replica(call.host),
            flag: call.flag,
        };
        self.add_call_row(row);
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        self.losses.add(loss, example);
    }

    fn part(&self) -> Option<Box<dyn SinkPart>> {
        Some(Box::new(IngestPart::new(self.settings.since, self.settings.until)))
    }

    fn add_part(&mut self, part: &mut dyn SinkPart) {
        self.take_part(part.of());
    }
}

fn add_all(sums: &mut [u64], added: &[u64]) {
    for (sum, count) in sums.iter_mut().zip(added) {
        *sum += count;
    }
}

/// A name within [`NAME_BYTES_MAX`], cut between characters.
pub(crate) fn cut(name: &str) -> &str {
    let mut end = name.len().min(NAME_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// The bucket of a trace with this hash.
fn bucket_of(hash: u64) -> usize {
    (hash >> 58) as usize % BUCKETS
}

/// A table whose buckets are not sorted.
struct Unfinished {
    /// Without rows.
    table: Traces,
    buckets: Vec<Bucket>,
    thinning: Thinning,
    spilled: Option<SpilledRows>,
}

impl Unfinished {
    fn finish(mut self, threads: NonZeroUsize) -> Traces {
        let buckets = parallel_map_owned(std::mem::take(&mut self.buckets), threads, |mut bucket| {
            bucket.close();
            bucket
        });
        let mut losses = Losses::none();
        buckets.iter().for_each(|bucket| losses.merge(&bucket.losses));
        let table = self.close(&losses);
        Traces { buckets: parallel_map_owned(buckets, threads, |bucket| bucket.spans.sorted_rows()), ..table }
    }

    /// The table without rows, with the losses of its buckets.
    fn close(self, losses: &Losses) -> Traces {
        let Unfinished { mut table, thinning, .. } = self;
        table.losses.merge(losses);
        table.losses.add_many(Loss::MemoryLimit, thinning.rows_dropped(), || {
            format!("one trace in {} retained", thinning.thinning_factor())
        });
        table
    }
}

struct Bucket {
    spans: SpanBucket,
    calls: Vec<CallRow>,
    losses: Losses,
}

impl Bucket {
    /// Rebuilds calls from call-log records, and adds them to the spans.
    fn close(&mut self) {
        self.calls.sort_by_key(Bucket::call_key);
        for request in self.calls.chunk_by_mut(|a, b| a.request == b.request) {
            let rebuilt = rebuild_calls(request);
            rebuilt.rows.iter().for_each(|row| self.spans.push(hash(row.trace), row));
            self.losses.merge(&rebuilt.losses);
        }
        self.calls = Vec::new();
    }

    fn call_key(row: &CallRow) -> TraceId {
        row.request
    }
}

/// How far outside the window spans are still retained, so that requests that straddle its ends are complete and
/// clocks may disagree.
pub const WINDOW_MARGIN: Nanos = Nanos::from_secs(3600);
