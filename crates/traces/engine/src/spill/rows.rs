//! Rows of a bucket as bytes: about 30 a span, where memory takes 51; less after compression.

use crate::handles::HandleMap;
use laggard_model::{
    AdjustedCount, CallFlag, CallRow, Nanos, SpanId, SpanKind, SpanRow, Status, Timestamp, TraceId,
};
use laggard_wire::{Malformed, PackedReader, Unpacked, put_difference, put_varint};

/// Least bytes of a span (head, id, start, inclusive time, operation, replica), of a call (head, time, operation, host), and of a
/// trace (its id, and a count).
const SPAN_BYTES_MIN: usize = 5 + size_of::<u64>();
const CALL_BYTES_MIN: usize = 4;
const TRACE_BYTES_MIN: usize = size_of::<u128>() + 1;

/// Bits of the first byte of a span, above the number of its kind.
const SPAN_KIND: u8 = 7;
const SPAN_STATUS_SHIFT: u8 = 3;
const SPAN_HAS_PARENT: u8 = 1 << 5;
const SPAN_HAS_COUNT: u8 = 1 << 6;
const SPAN_INCOMPLETE: u8 = 1 << 7;

/// Bits of the first byte of a call.
const CALL_EXIT: u8 = 1;
const CALL_HAS_CALLEE: u8 = 1 << 1;
const CALL_FRAGMENT_IS_REQUEST: u8 = 1 << 2;

/// Appends the rows of a bucket, in which those of a trace are neighbors.
pub(crate) fn put_rows(out: &mut Vec<u8>, spans: &[SpanRow], calls: &[CallRow]) {
    put_varint(out, spans.chunk_by(|a, b| a.trace == b.trace).count() as u64);
    let mut before_ns = 0;
    for trace in spans.chunk_by(|a, b| a.trace == b.trace) {
        out.extend_from_slice(&trace[0].trace.value().to_le_bytes());
        put_varint(out, trace.len() as u64);
        for row in trace {
            put_span(out, before_ns, row);
            before_ns = row.start.unix_ns();
        }
    }
    put_varint(out, calls.chunk_by(|a, b| a.request == b.request).count() as u64);
    for request in calls.chunk_by(|a, b| a.request == b.request) {
        out.extend_from_slice(&request[0].request.value().to_le_bytes());
        put_varint(out, request.len() as u64);
        for row in request {
            put_call(out, before_ns, row);
            before_ns = row.time.unix_ns();
        }
    }
}

/// Passes the spans that were written to `add_span`, and appends the calls, in the handles of a map's target.
pub(crate) fn read_rows(
    bytes: &[u8],
    handles: &HandleMap,
    add_span: &mut impl FnMut(SpanRow),
    calls: &mut Vec<CallRow>,
) -> Unpacked<()> {
    let from = &mut PackedReader::new(bytes);
    let mut before_ns = 0;
    for _ in 0..from.count(TRACE_BYTES_MIN)? {
        let trace = TraceId::from_value(u128::from_le_bytes(from.array()?));
        for _ in 0..from.count(SPAN_BYTES_MIN)? {
            let row = read_span(from, before_ns, trace, handles)?;
            before_ns = row.start.unix_ns();
            add_span(row);
        }
    }
    for _ in 0..from.count(TRACE_BYTES_MIN)? {
        let request = TraceId::from_value(u128::from_le_bytes(from.array()?));
        for _ in 0..from.count(CALL_BYTES_MIN)? {
            let row = read_call(from, before_ns, request, handles)?;
            before_ns = row.time.unix_ns();
            calls.push(row);
        }
    }
    if from.is_empty() { Ok(()) } else { Err(Malformed) }
}

#[inline]
fn put_span(out: &mut Vec<u8>, before_ns: i64, row: &SpanRow) {
    let mut head = row.kind as u8 | (row.status as u8) << SPAN_STATUS_SHIFT;
    head |= if row.parent.is_some() { SPAN_HAS_PARENT } else { 0 };
    head |= if row.adjusted_count.is_some() { SPAN_HAS_COUNT } else { 0 };
    head |= if row.incomplete { SPAN_INCOMPLETE } else { 0 };
    out.push(head);
    out.extend_from_slice(&row.span.value().to_le_bytes());
    if let Some(parent) = row.parent {
        out.extend_from_slice(&parent.value().to_le_bytes());
    }
    put_difference(out, before_ns, row.start.unix_ns());
    put_varint(out, row.inclusive.ns());
    put_varint(out, row.operation.index() as u64);
    put_varint(out, row.replica.index() as u64);
    if let Some(count) = row.adjusted_count {
        out.extend_from_slice(&count.get().to_le_bytes());
    }
}

#[inline]
fn read_span(
    from: &mut PackedReader<'_>,
    before_ns: i64,
    trace: TraceId,
    handles: &HandleMap,
) -> Unpacked<SpanRow> {
    let head = from.byte()?;
    let span = read_span_id(from)?;
    let parent = if head & SPAN_HAS_PARENT == 0 { None } else { Some(read_span_id(from)?) };
    let start = Timestamp::from_unix_ns(from.difference(before_ns)?);
    let inclusive = Nanos::from_ns(from.number()?);
    let operation = from.one_of(&handles.operations)?;
    let replica = from.one_of(&handles.replicas)?;
    let adjusted_count = match head & SPAN_HAS_COUNT {
        0 => None,
        _ => Some(AdjustedCount::new(f64::from(f32::from_le_bytes(from.array()?))).ok_or(Malformed)?),
    };
    Ok(SpanRow {
        trace,
        span,
        parent,
        start,
        inclusive,
        operation,
        replica,
        kind: SpanKind::from_number(i64::from(head & SPAN_KIND)).ok_or(Malformed)?,
        status: Status::from_number(head >> SPAN_STATUS_SHIFT & 3).ok_or(Malformed)?,
        incomplete: head & SPAN_INCOMPLETE != 0,
        adjusted_count,
    })
}

fn read_span_id(from: &mut PackedReader<'_>) -> Unpacked<SpanId> {
    SpanId::new(u64::from_le_bytes(from.array()?)).ok_or(Malformed)
}

fn put_call(out: &mut Vec<u8>, before_ns: i64, row: &CallRow) {
    let mut head = match row.flag {
        CallFlag::Enter => 0,
        CallFlag::Exit => CALL_EXIT,
    };
    head |= if row.callee.is_some() { CALL_HAS_CALLEE } else { 0 };
    head |= if row.fragment == row.request { CALL_FRAGMENT_IS_REQUEST } else { 0 };
    out.push(head);
    if row.fragment != row.request {
        out.extend_from_slice(&row.fragment.value().to_le_bytes());
    }
    if let Some(callee) = row.callee {
        out.extend_from_slice(&callee.value().to_le_bytes());
    }
    put_difference(out, before_ns, row.time.unix_ns());
    put_varint(out, row.operation.index() as u64);
    put_varint(out, row.host.index() as u64);
}

fn read_call(
    from: &mut PackedReader<'_>,
    before_ns: i64,
    request: TraceId,
    handles: &HandleMap,
) -> Unpacked<CallRow> {
    let head = from.byte()?;
    let mut id = || Ok(TraceId::from_value(u128::from_le_bytes(from.array()?)));
    let fragment = if head & CALL_FRAGMENT_IS_REQUEST == 0 { id()? } else { request };
    let callee = if head & CALL_HAS_CALLEE == 0 { None } else { Some(id()?) };
    let time = Timestamp::from_unix_ns(from.difference(before_ns)?);
    let operation = from.one_of(&handles.operations)?;
    let host = from.one_of(&handles.replicas)?;
    let flag = if head & CALL_EXIT == 0 { CallFlag::Enter } else { CallFlag::Exit };
    Ok(CallRow { request, fragment, callee, time, operation, host, flag })
}
