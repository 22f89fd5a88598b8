//! Decoding batches. Any bytes may be passed: what is not a batch is an error, never a panic or excessive memory.

use super::encode::{
    CALL_EXIT, CALL_HAS_CALLEE, CALL_OTHER_FRAGMENT, SPAN_HAS_COUNT, SPAN_HAS_PARENT, SPAN_INCOMPLETE,
    SPAN_NUMBER, VERSION,
};
use super::numbers;
use laggard_engine::{Batch, Origins, SampleRow, Samples};
use laggard_model::{
    AdjustedCount, AttributeSetId, CallFlag, CallRow, Losses, Names, Nanos, OperationId, OperationKey,
    ReplicaId, Severity, SpanEvent, SpanId, SpanKind, SpanRow, Tid, Timestamp, TraceId,
};

/// Why bytes cannot be decoded as a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DecodeError {
    /// Written by another version of the program.
    Version(u8),
    /// The contents are inconsistent.
    Malformed,
}

/// Minimum encoded length of a span, and of a call.
const SPAN_BYTES_MIN: usize = 13;
const CALL_BYTES_MIN: usize = 4;
/// The same of an event.
const EVENT_BYTES_MIN: usize = 29;

type Decoded<T> = Result<T, DecodeError>;

/// The batch of a payload.
pub(crate) fn decode_batch(payload: &[u8]) -> Decoded<Batch> {
    let mut from = ByteReader { rest: payload };
    match from.byte()? {
        VERSION => {}
        other => return Err(DecodeError::Version(other)),
    }
    let (mut names, handles) = from.names()?;
    let traces = from.traces(SPAN_BYTES_MIN)?;
    let spans = from.spans(&traces, &handles)?;
    let traces = from.traces(CALL_BYTES_MIN)?;
    let calls = from.calls(&traces, &handles)?;
    let samples = from.samples()?;
    let texts = from.texts()?;
    let losses = from.losses()?;
    let origins = from.origins()?;
    let attributes = if from.rest.is_empty() { Vec::new() } else { from.attributes(&mut names)? };
    let threads = if from.rest.is_empty() { Vec::new() } else { from.threads(spans.len())? };
    let events = if from.rest.is_empty() { Vec::new() } else { from.events()? };
    if !from.rest.is_empty() {
        return Err(DecodeError::Malformed);
    }
    Ok(Batch { names, spans, calls, samples, texts, attributes, threads, events, losses, origins })
}

struct ByteReader<'a> {
    rest: &'a [u8],
}

/// The handles of a batch by the numbers they were written as.
struct DecodedHandles {
    operations: Vec<OperationId>,
    replicas: Vec<ReplicaId>,
}

/// A run of rows of one trace.
struct TraceRows {
    id: TraceId,
    rows: usize,
}

/// The traces of some rows.
struct DecodedTraces {
    runs: Vec<TraceRows>,
    rows: usize,
}

impl DecodedTraces {
    /// The trace of each row.
    fn ids(&self) -> impl Iterator<Item = TraceId> + '_ {
        self.runs.iter().flat_map(|run| std::iter::repeat_n(run.id, run.rows))
    }
}

impl<'a> ByteReader<'a> {
    fn names(&mut self) -> Decoded<(Names, DecodedHandles)> {
        let mut names = Names::new();
        let count = self.count(3)?;
        let mut operations = Vec::with_capacity(count);
        for _ in 0..count {
            let kind = SpanKind::from_number(i64::from(self.byte()?)).ok_or(DecodeError::Malformed)?;
            let (service, operation) = (self.text()?, self.text()?);
            operations.push(names.operation(OperationKey { service, operation, kind }));
        }
        let count = self.count(1)?;
        let mut replicas = Vec::with_capacity(count);
        for _ in 0..count {
            replicas.push(names.replica(self.text()?));
        }
        Ok((names, DecodedHandles { operations, replicas }))
    }

    fn traces(&mut self, row_bytes_min: usize) -> Decoded<DecodedTraces> {
        let rows = self.count(row_bytes_min)?;
        let (mut runs, mut decoded) = (Vec::new(), 0_usize);
        while decoded < rows {
            let id = self.id()?;
            let length = self.number()? as usize;
            decoded = decoded.checked_add(length).filter(|_| length > 0).ok_or(DecodeError::Malformed)?;
            runs.push(TraceRows { id, rows: length });
        }
        if decoded != rows {
            return Err(DecodeError::Malformed);
        }
        Ok(DecodedTraces { runs, rows })
    }

    fn spans(&mut self, traces: &DecodedTraces, handles: &DecodedHandles) -> Decoded<Vec<SpanRow>> {
        let mut rows = Vec::with_capacity(traces.rows);
        let mut before_ns = 0_i64;
        for trace in traces.ids() {
            let head = self.byte()?;
            let number = head & SPAN_NUMBER;
            let span = self.span_id()?;
            let parent = if head & SPAN_HAS_PARENT == 0 { None } else { Some(self.span_id()?) };
            before_ns = self.difference(before_ns)?;
            rows.push(SpanRow {
                trace,
                span,
                parent,
                start: Timestamp::from_unix_ns(before_ns),
                inclusive: Nanos::from_ns(self.number()?),
                operation: self.handle(&handles.operations)?,
                replica: self.handle(&handles.replicas)?,
                kind: SpanKind::from_number(i64::from(number / 3)).ok_or(DecodeError::Malformed)?,
                status: numbers::status(number % 3).ok_or(DecodeError::Malformed)?,
                incomplete: head & SPAN_INCOMPLETE != 0,
                adjusted_count: if head & SPAN_HAS_COUNT == 0 { None } else { Some(self.adjusted_count()?) },
            });
        }
        Ok(rows)
    }

    fn calls(&mut self, traces: &DecodedTraces, handles: &DecodedHandles) -> Decoded<Vec<CallRow>> {
        let mut rows = Vec::with_capacity(traces.rows);
        let mut before_ns = 0_i64;
        for request in traces.ids() {
            let head = self.byte()?;
            let fragment = if head & CALL_OTHER_FRAGMENT == 0 { request } else { self.id()? };
            let callee = if head & CALL_HAS_CALLEE == 0 { None } else { Some(self.id()?) };
            before_ns = self.difference(before_ns)?;
            rows.push(CallRow {
                request,
                fragment,
                callee,
                time: Timestamp::from_unix_ns(before_ns),
                operation: self.handle(&handles.operations)?,
                host: self.handle(&handles.replicas)?,
                flag: if head & CALL_EXIT == 0 { CallFlag::Enter } else { CallFlag::Exit },
            });
        }
        Ok(rows)
    }

    fn samples(&mut self) -> Decoded<Samples> {
        let count = self.count(1)?;
        let texts: Vec<Box<str>> = (0..count).map(|_| self.text().map(Box::from)).collect::<Decoded<_>>()?;
        let count = self.count(14)?;
        let mut rows = Vec::with_capacity(count);
        let mut before_ns = 0_i64;
        for _ in 0..count {
            let measure = numbers::measure(self.byte()?).ok_or(DecodeError::Malformed)?;
            before_ns = self.difference(before_ns)?;
            rows.push(SampleRow {
                time: Timestamp::from_unix_ns(before_ns),
                measure,
                server: self.index(texts.len())?,
                tier: self.index(texts.len())?,
                transaction: self.index(texts.len())?,
                callee: self.index(texts.len())?,
                value: f64::from_le_bytes(self.array()?),
            });
        }
        Ok(Samples { rows, texts })
    }

    fn texts(&mut self) -> Decoded<Vec<(TraceId, Box<str>)>> {
        let count = self.count(17)?;
        (0..count).map(|_| Ok((self.id()?, self.text()?.into()))).collect()
    }

    fn attributes(&mut self, names: &mut Names) -> Decoded<Vec<(TraceId, AttributeSetId)>> {
        let count = self.count(1)?;
        let mut sets = Vec::with_capacity(count);
        for _ in 0..count {
            sets.push(names.attribute_set(self.text()?));
        }
        let count = self.count(17)?;
        (0..count).map(|_| Ok((self.id()?, self.handle(&sets)?))).collect()
    }

    fn threads(&mut self, rows: usize) -> Decoded<Vec<(u32, Tid)>> {
        let count = self.count(2)?;
        let (mut threads, mut next) = (Vec::with_capacity(count), 0_u64);
        for _ in 0..count {
            let row = self.number()?.checked_add(next).filter(|row| *row < rows as u64);
            let row = row.ok_or(DecodeError::Malformed)?;
            let tid = u32::try_from(self.number()?).map_err(|_| DecodeError::Malformed)?;
            threads.push((row as u32, Tid(tid)));
            next = row + 1;
        }
        Ok(threads)
    }

    fn events(&mut self) -> Decoded<Vec<SpanEvent>> {
        let count = self.count(EVENT_BYTES_MIN)?;
        let (mut events, mut before_ns) = (Vec::with_capacity(count), 0_i64);
        for _ in 0..count {
            let (trace, span) = (self.id()?, self.span_id()?);
            before_ns = self.difference(before_ns)?;
            events.push(SpanEvent {
                trace,
                span,
                time: Timestamp::from_unix_ns(before_ns),
                severity: Severity::from_number(u64::from(self.byte()?)),
                name: self.text()?.into(),
                body: self.text()?.into(),
                attributes: self.text()?.into(),
            });
        }
        Ok(events)
    }

    fn losses(&mut self) -> Decoded<Losses> {
        let mut losses = Losses::none();
        for _ in 0..self.count(3)? {
            let (name, count, example) = (self.text()?, self.number()?, self.text()?);
            if let Some(loss) = numbers::loss(name) {
                losses.add_many(loss, count, || example.to_owned());
            }
        }
        Ok(losses)
    }

    fn origins(&mut self) -> Decoded<Origins> {
        let mut origins = Origins::default();
        self.counts(&mut origins.identities)?;
        self.counts(&mut origins.weight_sources)?;
        self.counts(&mut origins.tail_samplers)?;
        origins.call_records = self.number()?;
        Ok(origins)
    }

    /// Counts by source; sources that this version does not know are left out.
    fn counts(&mut self, into: &mut [u64]) -> Decoded<()> {
        for index in 0..self.count(1)? {
            let count = self.number()?;
            if let Some(known) = into.get_mut(index) {
                *known = count;
            }
        }
        Ok(())
    }

    fn handle<T: Copy>(&mut self, handles: &[T]) -> Decoded<T> {
        let index = self.number()? as usize;
        handles.get(index).copied().ok_or(DecodeError::Malformed)
    }

    fn index(&mut self, count: usize) -> Decoded<u32> {
        let index = self.number()?;
        u32::try_from(index).ok().filter(|&index| (index as usize) < count).ok_or(DecodeError::Malformed)
    }

    fn adjusted_count(&mut self) -> Decoded<AdjustedCount> {
        let count = f32::from_le_bytes(self.array()?);
        AdjustedCount::new(f64::from(count)).ok_or(DecodeError::Malformed)
    }

    fn span_id(&mut self) -> Decoded<SpanId> {
        SpanId::new(u64::from_le_bytes(self.array()?)).ok_or(DecodeError::Malformed)
    }

    fn id(&mut self) -> Decoded<TraceId> {
        Ok(TraceId::from_value(u128::from_le_bytes(self.array()?)))
    }

    fn text(&mut self) -> Decoded<&'a str> {
        let length = self.number()? as usize;
        let (text, rest) = self.rest.split_at_checked(length).ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        std::str::from_utf8(text).map_err(|_| DecodeError::Malformed)
    }

    /// A number of items of at least `bytes_min` bytes each; an error if there are fewer bytes left, so that no memory
    /// is reserved for items that cannot follow.
    fn count(&mut self, bytes_min: usize) -> Decoded<usize> {
        let count = self.number()?;
        let fits = count <= (self.rest.len() / bytes_min) as u64;
        if fits { Ok(count as usize) } else { Err(DecodeError::Malformed) }
    }

    fn difference(&mut self, before_ns: i64) -> Decoded<i64> {
        let zigzag = self.number()?;
        let difference = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        Ok(before_ns.wrapping_add(difference))
    }

    fn number(&mut self) -> Decoded<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(DecodeError::Malformed)
    }

    fn byte(&mut self) -> Decoded<u8> {
        let (&byte, rest) = self.rest.split_first().ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        Ok(byte)
    }

    fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        Ok(*bytes)
    }
}
