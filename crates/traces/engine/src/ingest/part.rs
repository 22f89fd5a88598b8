//! Records of a part of an input, read on another thread, with handles into names of their own.

use super::{Ingest, NAMES_MAX, cut};
use laggard_model::{
    AttributeSetId, CallRecord, CallRow, Loss, Losses, Names, OperationId, OperationKey, ReplicaId,
    ReplicaSource, Sampling, Sink, SinkPart, SpanKind, SpanRecord, SpanRow, TailSampler, Timestamp,
    WeightSource,
};

/// A part with more distinct names is not used again: names that carry ids would fill the memory.
const NAMES_KEPT: usize = 4096;

/// How many operations are found without interning their names again.
const RECENT: usize = 512;

/// A number below [`RECENT`] from the ends of the names: neighboring rows have operations of few services.
#[inline]
fn recent_index(key: OperationKey<'_>) -> usize {
    let end =
        |text: &str| text.as_bytes().last_chunk().map_or(text.len() as u64, |end| u64::from_le_bytes(*end));
    let mixed = end(key.operation).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        ^ end(key.service).wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
        ^ (key.kind as u64) << 58
        ^ (key.operation.len() as u64) << 50;
    (mixed >> 55) as usize % RECENT
}

/// Everything that [`Ingest`] needs to take the records as if they had come one by one.
#[derive(Debug)]
pub(super) struct IngestPart {
    since: Timestamp,
    until: Timestamp,
    names: Names,
    /// Operations that were used last, by a quick hash of their texts.
    recent: Vec<Option<OperationId>>,
    /// Handles of the table's names, by the part's; they stay when the part is used again.
    known: KnownHandles,
    spans: Vec<SpanRow>,
    /// How each of the spans was identified and weighted.
    origins: Vec<SpanOrigin>,
    calls: Vec<CallRow>,
    /// Trace ids as text, by the number of the row.
    texts: Vec<(u32, Box<str>)>,
    /// Sets of attributes, by the number of the row.
    attributes: Vec<(u32, AttributeSetId)>,
    losses: Losses,
    outside_window: u64,
}

#[derive(Debug, Default)]
struct KnownHandles {
    operations: Vec<Option<OperationId>>,
    replicas: Vec<Option<ReplicaId>>,
}

#[derive(Clone, Copy, Debug)]
struct SpanOrigin {
    identity: ReplicaSource,
    weight: WeightSource,
    tail_sampler: Option<TailSampler>,
}

impl IngestPart {
    pub(super) fn new(since: Timestamp, until: Timestamp) -> IngestPart {
        IngestPart {
            since,
            until,
            names: Names::new(),
            recent: vec![None; RECENT],
            known: KnownHandles::default(),
            spans: Vec::new(),
            origins: Vec::new(),
            calls: Vec::new(),
            texts: Vec::new(),
            attributes: Vec::new(),
            losses: Losses::none(),
            outside_window: 0,
        }
    }

    fn in_window(&mut self, time: Timestamp) -> bool {
        let is_inside = (self.since..=self.until).contains(&time);
        self.outside_window += u64::from(!is_inside);
        is_inside
    }

    fn operation(&mut self, service: &str, operation: &str, kind: SpanKind) -> OperationId {
        let key = OperationKey { service: cut(service), operation: cut(operation), kind };
        let recent = &mut self.recent[recent_index(key)];
        match *recent {
            Some(id) if self.names.operation_key(id) == key => id,
            _ => *recent.insert(self.names.operation(key)),
        }
    }

    fn record_text(&mut self, row: usize, text: Option<&str>) {
        if let Some(text) = text {
            self.texts.push((row as u32, cut(text).into()));
        }
    }

    fn record_attributes(&mut self, row: usize, text: &str) {
        if !text.is_empty() {
            self.attributes.push((row as u32, self.names.attribute_set(text)));
        }
    }

    /// Makes it as new, or ready to be used again with the names it has.
    fn clear(&mut self) {
        let names = self.names.operations() + self.names.replicas() + self.names.attribute_sets();
        if names > NAMES_KEPT {
            *self = IngestPart::new(self.since, self.until);
            return;
        }
        self.spans.clear();
        self.origins.clear();
        self.calls.clear();
        self.texts.clear();
        self.attributes.clear();
        self.losses = Losses::none();
        self.outside_window = 0;
    }
}

impl SinkPart for IngestPart {
    fn records(&self) -> u64 {
        (self.spans.len() + self.calls.len()) as u64 + self.outside_window
    }
}

impl Sink for IngestPart {
    fn span(&mut self, span: &SpanRecord<'_>) {
        if !self.in_window(span.start) {
            return;
        }
        let row = self.spans.len();
        self.record_text(row, span.trace_text);
        self.record_attributes(row, span.attributes.resource);
        self.record_attributes(row, span.attributes.span);
        self.origins.push(SpanOrigin {
            identity: span.replica_source,
            weight: span.sampling.source,
            tail_sampler: span.sampling.tail_sampler,
        });
        let row = SpanRow {
            trace: span.trace_id,
            span: span.span_id,
            parent: span.parent,
            start: span.start,
            inclusive: span.inclusive,
            operation: self.operation(span.service, span.operation, span.kind),
            replica: self.names.replica(cut(span.replica)),
            kind: span.kind,
            status: span.status,
            incomplete: false,
            adjusted_count: span.sampling.adjusted_count,
        };
        self.spans.push(row);
    }

    fn call(&mut self, call: &CallRecord<'_>) {
        if !self.in_window(call.time) {
            return;
        }
        self.record_text(self.calls.len(), call.request_text);
        let row = CallRow {
            request: call.request,
            fragment: call.fragment,
            callee: call.callee,
            time: call.time,
            operation: self.operation(call.service, call.operation, SpanKind::Unspecified),
            host: self.names.replica(cut(call.host)),
            flag: call.flag,
        };
        self.calls.push(row);
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        self.losses.add(loss, example);
    }
}

/// What belongs to some of the rows, in their order.
struct Beside<'a, T>(&'a [(u32, T)]);

impl<'a, T> Beside<'a, T> {
    /// The next entry of this row; entries of earlier rows are passed over.
    fn next_of(&mut self, row: usize) -> Option<&'a T> {
        while let Some(((number, entry), rest)) = self.0.split_first() {
            if *number as usize > row {
                return None;
            }
            self.0 = rest;
            if *number as usize == row {
                return Some(entry);
            }
        }
        None
    }
}

impl Ingest {
    /// Adds the rows of a part in their order. A part has either spans or calls.
    pub(super) fn take_part(&mut self, part: &mut IngestPart) {
        self.outside_window += part.outside_window;
        self.losses.merge(&part.losses);
        self.take_spans(part);
        self.take_calls(part);
        part.clear();
    }

    fn take_spans(&mut self, part: &mut IngestPart) {
        let (mut texts, mut attributes) = (Beside(&part.texts), Beside(&part.attributes));
        for (number, (row, origin)) in std::iter::zip(&part.spans, &part.origins).enumerate() {
            if !self.has_room_for(row.trace) {
                continue;
            }
            if let Some(text) = texts.next_of(number) {
                self.record_text(row.trace, Some(text));
            }
            self.identities[origin.identity as usize] += 1;
            let (source, tail_sampler) = (origin.weight, origin.tail_sampler);
            self.count_sampling(&Sampling { source, tail_sampler, ..Sampling::default() });
            let row = SpanRow {
                operation: self.operation_of(row.operation, &part.names, &mut part.known),
                replica: self.replica_of(row.replica, &part.names, &mut part.known),
                ..*row
            };
            while let Some(set) = attributes.next_of(number) {
                let text = part.names.attribute_set_text(*set);
                self.attributes.add_text(row.trace, text, &mut self.names, &mut self.losses);
            }
            self.add_span_row(row);
        }
    }

    fn take_calls(&mut self, part: &mut IngestPart) {
        let mut texts = Beside(&part.texts);
        for (number, row) in part.calls.iter().enumerate() {
            if !self.has_room_for(row.request) {
                continue;
            }
            if let Some(text) = texts.next_of(number) {
                self.record_text(row.request, Some(text));
            }
            let row = CallRow {
                operation: self.operation_of(row.operation, &part.names, &mut part.known),
                host: self.replica_of(row.host, &part.names, &mut part.known),
                ..*row
            };
            self.add_call_row(row);
        }
    }

    /// The handle of a part's operation. One beyond the limit of names is counted every time.
    #[inline]
    fn operation_of(&mut self, id: OperationId, names: &Names, known: &mut KnownHandles) -> OperationId {
        if let Some(Some(known)) = known.operations.get(id.index()) {
            return *known;
        }
        let key = names.operation_key(id);
        let found = self.operation(key);
        if self.names.operations() < NAMES_MAX || self.names.operation_key(found) == key {
            remember(&mut known.operations, id.index(), found);
        }
        found
    }

    /// The handle of a part's replica, likewise.
    #[inline]
    fn replica_of(&mut self, id: ReplicaId, names: &Names, known: &mut KnownHandles) -> ReplicaId {
        if let Some(Some(known)) = known.replicas.get(id.index()) {
            return *known;
        }
        let name = names.replica_name(id);
        let found = self.replica(name);
        if self.names.replicas() < NAMES_MAX || self.names.replica_name(found) == name {
            remember(&mut known.replicas, id.index(), found);
        }
        found
    }
}

#[cold]
fn remember<T: Copy>(known: &mut Vec<Option<T>>, index: usize, found: T) {
    if known.len() <= index {
        known.resize(index + 1, None);
    }
    known[index] = Some(found);
}
