//! Encoding batches: names once per batch, rows packed.

use super::numbers::measure_number;
use laggard_engine::{Batch, Samples};
use laggard_model::{
    AttributeSetId, CallFlag, CallRow, Losses, Names, OperationId, ReplicaId, SpanEvent, SpanKind, SpanRow,
    TraceId,
};
use laggard_wire::{put_difference, put_text, put_varint};

/// First byte of every payload.
pub(super) const VERSION: u8 = 1;

/// Bits of a span's first byte, above the number `kind * 3 + status`.
pub(super) const SPAN_INCOMPLETE: u8 = 1 << 5;
pub(super) const SPAN_HAS_PARENT: u8 = 1 << 6;
pub(super) const SPAN_HAS_COUNT: u8 = 1 << 7;
pub(super) const SPAN_NUMBER: u8 = SPAN_INCOMPLETE - 1;

/// Bits of a call's first byte.
pub(super) const CALL_EXIT: u8 = 1;
pub(super) const CALL_HAS_CALLEE: u8 = 2;
pub(super) const CALL_OTHER_FRAGMENT: u8 = 4;

/// Appends a batch to `out`. Numbers are LEB128 (differences zigzag), ids and checksummed fields fixed.
pub(crate) fn encode_batch(batch: &Batch, out: &mut Vec<u8>) {
    // An upper bound for most rows, so that the buffer grows once.
    out.reserve(64 * (batch.spans.len() + batch.calls.len() + batch.samples.rows.len()) + 1024);
    out.push(VERSION);
    put_names(&batch.names, out);
    put_traces(batch.spans.iter().map(|row| row.trace), out);
    put_spans(&batch.spans, out);
    put_traces(batch.calls.iter().map(|row| row.request), out);
    put_calls(&batch.calls, out);
    put_samples(&batch.samples, out);
    put_texts(&batch.texts, out);
    put_losses(&batch.losses, out);
    for counts in [&batch.origins.identities[..], &batch.origins.weight_sources, &batch.origins.tail_samplers]
    {
        put_number(counts.len() as u64, out);
        counts.iter().for_each(|&count| put_number(count, out));
    }
    put_number(batch.origins.call_records, out);
    put_attributes(batch, out);
    put_threads(batch, out);
    put_events(&batch.events, out);
}

fn put_names(names: &Names, out: &mut Vec<u8>) {
    put_number(names.operations() as u64, out);
    for index in 0..names.operations() {
        let key = names.operation_key(OperationId::from_index(index));
        out.push(key.kind as u8);
        put_text(out, key.service);
        put_text(out, key.operation);
    }
    put_number(names.replicas() as u64, out);
    for index in 0..names.replicas() {
        put_text(out, names.replica_name(ReplicaId::from_index(index)));
    }
}

/// Runs of equal ids: `rows, (id, run length)…`. Spans of one trace often come in a row.
fn put_traces(ids: impl ExactSizeIterator<Item = TraceId>, out: &mut Vec<u8>) {
    put_number(ids.len() as u64, out);
    let mut run: Option<(TraceId, u64)> = None;
    for id in ids {
        run = match run {
            Some((same, length)) if same == id => Some((id, length + 1)),
            Some(ended) => {
                put_run(ended, out);
                Some((id, 1))
            }
            None => Some((id, 1)),
        };
    }
    if let Some(ended) = run {
        put_run(ended, out);
    }
}

fn put_run((id, length): (TraceId, u64), out: &mut Vec<u8>) {
    out.extend_from_slice(&id.value().to_le_bytes());
    put_number(length, out);
}

fn put_spans(rows: &[SpanRow], out: &mut Vec<u8>) {
    let mut before_ns = 0_i64;
    for row in rows {
        let mut head = row.kind as u8 * 3 + row.status as u8;
        head |= if row.incomplete { SPAN_INCOMPLETE } else { 0 };
        head |= if row.parent.is_some() { SPAN_HAS_PARENT } else { 0 };
        head |= if row.adjusted_count.is_some() { SPAN_HAS_COUNT } else { 0 };
        out.push(head);
        out.extend_from_slice(&row.span.value().to_le_bytes());
        if let Some(parent) = row.parent {
            out.extend_from_slice(&parent.value().to_le_bytes());
        }
        put_difference(out, before_ns, row.start.unix_ns());
        before_ns = row.start.unix_ns();
        put_number(row.inclusive.ns(), out);
        put_number(row.operation.index() as u64, out);
        put_number(row.replica.index() as u64, out);
        if let Some(count) = row.adjusted_count {
            out.extend_from_slice(&count.get().to_le_bytes());
        }
    }
}

fn put_calls(rows: &[CallRow], out: &mut Vec<u8>) {
    let mut before_ns = 0_i64;
    for row in rows {
        let mut head = if row.flag == CallFlag::Exit { CALL_EXIT } else { 0 };
        head |= if row.callee.is_some() { CALL_HAS_CALLEE } else { 0 };
        head |= if row.fragment != row.request { CALL_OTHER_FRAGMENT } else { 0 };
        out.push(head);
        if row.fragment != row.request {
            out.extend_from_slice(&row.fragment.value().to_le_bytes());
        }
        if let Some(callee) = row.callee {
            out.extend_from_slice(&callee.value().to_le_bytes());
        }
        put_difference(out, before_ns, row.time.unix_ns());
        before_ns = row.time.unix_ns();
        put_number(row.operation.index() as u64, out);
        put_number(row.host.index() as u64, out);
    }
}

fn put_samples(samples: &Samples, out: &mut Vec<u8>) {
    put_number(samples.texts.len() as u64, out);
    samples.texts.iter().for_each(|text| put_text(out, text));
    put_number(samples.rows.len() as u64, out);
    let mut before_ns = 0_i64;
    for row in &samples.rows {
        out.push(measure_number(row.measure));
        put_difference(out, before_ns, row.time.unix_ns());
        before_ns = row.time.unix_ns();
        for text in [row.server, row.tier, row.transaction, row.callee] {
            put_number(u64::from(text), out);
        }
        out.extend_from_slice(&row.value.to_le_bytes());
    }
}

fn put_texts(texts: &[(TraceId, Box<str>)], out: &mut Vec<u8>) {
    put_number(texts.len() as u64, out);
    for (id, text) in texts {
        out.extend_from_slice(&id.value().to_le_bytes());
        put_text(out, text);
    }
}

/// Nothing for a batch without attributes, threads, and events, as in logs of earlier versions.
fn put_attributes(batch: &Batch, out: &mut Vec<u8>) {
    if batch.attributes.is_empty() && batch.threads.is_empty() && batch.events.is_empty() {
        return;
    }
    put_number(batch.names.attribute_sets() as u64, out);
    for index in 0..batch.names.attribute_sets() {
        put_text(out, batch.names.attribute_set_text(AttributeSetId::from_index(index)));
    }
    put_number(batch.attributes.len() as u64, out);
    for (id, set) in &batch.attributes {
        out.extend_from_slice(&id.value().to_le_bytes());
        put_number(set.index() as u64, out);
    }
}

/// Nothing for a batch without threads and events, as in logs of earlier versions.
fn put_threads(batch: &Batch, out: &mut Vec<u8>) {
    if batch.threads.is_empty() && batch.events.is_empty() {
        return;
    }
    put_number(batch.threads.len() as u64, out);
    let mut next = 0;
    for (row, tid) in &batch.threads {
        put_number(u64::from(*row - next), out);
        put_number(u64::from(tid.0), out);
        next = *row + 1;
    }
}

/// Nothing for a batch without events, as in logs of earlier versions.
fn put_events(events: &[SpanEvent], out: &mut Vec<u8>) {
    if events.is_empty() {
        return;
    }
    put_number(events.len() as u64, out);
    let mut before_ns = 0_i64;
    for event in events {
        out.extend_from_slice(&event.trace.value().to_le_bytes());
        out.extend_from_slice(&event.span.value().to_le_bytes());
        put_difference(out, before_ns, event.time.unix_ns());
        before_ns = event.time.unix_ns();
        out.push(event.severity.number());
        put_text(out, &event.name);
        put_text(out, &event.body);
        put_text(out, &event.attributes);
    }
}

fn put_losses(losses: &Losses, out: &mut Vec<u8>) {
    put_number(losses.iter().count() as u64, out);
    for (loss, found) in losses.iter() {
        put_text(out, loss.name());
        put_number(found.count, out);
        put_text(out, &found.example);
    }
}

fn put_number(number: u64, out: &mut Vec<u8>) {
    put_varint(out, number);
}

/// The last kind's number: numbers of spans go up to `KIND_MAX * 3 + 2`.
const KIND_MAX: u8 = SpanKind::Consumer as u8;
const _: () = assert!(KIND_MAX * 3 + 2 <= SPAN_NUMBER);
