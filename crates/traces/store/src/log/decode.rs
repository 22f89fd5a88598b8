//! Decoding batches. Any bytes may be passed: what is not a batch is an error, never a panic or excessive memory.

use super::encode::{
    CALL_EXIT, CALL_HAS_CALLEE, CALL_OTHER_FRAGMENT, SPAN_HAS_COUNT, SPAN_HAS_PARENT, SPAN_INCOMPLETE,
    SPAN_NUMBER, VERSION,
};
use super::numbers;
use laggard_engine::{Batch, Origins, SampleRow, Samples};
use laggard_model::{
    AdjustedCount, AttributeSetId, CallFlag, CallRow, Loss, Losses, Names, Nanos, OperationId, OperationKey,
    ReplicaId, Severity, SpanEvent, SpanId, SpanKind, SpanRow, Status, Tid, Timestamp, TraceId,
};
use laggard_wire::{Malformed, PackedReader};

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

impl From<Malformed> for DecodeError {
    fn from(_: Malformed) -> DecodeError {
        DecodeError::Malformed
    }
}

/// The batch of a payload.
pub(crate) fn decode_batch(payload: &[u8]) -> Decoded<Batch> {
    let mut from = BatchReader { bytes: PackedReader::new(payload) };
    match from.bytes.byte()? {
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
    let attributes = if from.bytes.is_empty() { Vec::new() } else { from.attributes(&mut names)? };
    let threads = if from.bytes.is_empty() { Vec::new() } else { from.threads(spans.len())? };
    let events = if from.bytes.is_empty() { Vec::new() } else { from.events()? };
    if !from.bytes.is_empty() {
        return Err(DecodeError::Malformed);
    }
    Ok(Batch { names, spans, calls, samples, texts, attributes, threads, events, losses, origins })
}

struct BatchReader<'a> {
    bytes: PackedReader<'a>,
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

impl BatchReader<'_> {
    fn names(&mut self) -> Decoded<(Names, DecodedHandles)> {
        let mut names = Names::new();
        let count = self.bytes.count(3)?;
        let mut operations = Vec::with_capacity(count);
        for _ in 0..count {
            let kind = SpanKind::from_number(i64::from(self.bytes.byte()?)).ok_or(DecodeError::Malformed)?;
            let (service, operation) = (self.bytes.text()?, self.bytes.text()?);
            operations.push(names.operation(OperationKey { service, operation, kind }));
        }
        let count = self.bytes.count(1)?;
        let mut replicas = Vec::with_capacity(count);
        for _ in 0..count {
            replicas.push(names.replica(self.bytes.text()?));
        }
        Ok((names, DecodedHandles { operations, replicas }))
    }

    fn traces(&mut self, row_bytes_min: usize) -> Decoded<DecodedTraces> {
        let rows = self.bytes.count(row_bytes_min)?;
        let (mut runs, mut decoded) = (Vec::new(), 0_usize);
        while decoded < rows {
            let id = self.id()?;
            let length = self.bytes.number()? as usize;
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
            let head = self.bytes.byte()?;
            let number = head & SPAN_NUMBER;
            let span = self.span_id()?;
            let parent = if head & SPAN_HAS_PARENT == 0 { None } else { Some(self.span_id()?) };
            before_ns = self.bytes.difference(before_ns)?;
            rows.push(SpanRow {
                trace,
                span,
                parent,
                start: Timestamp::from_unix_ns(before_ns),
                inclusive: Nanos::from_ns(self.bytes.number()?),
                operation: self.bytes.one_of(&handles.operations)?,
                replica: self.bytes.one_of(&handles.replicas)?,
                kind: SpanKind::from_number(i64::from(number / 3)).ok_or(DecodeError::Malformed)?,
                status: Status::from_number(number % 3).ok_or(DecodeError::Malformed)?,
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
            let head = self.bytes.byte()?;
            let fragment = if head & CALL_OTHER_FRAGMENT == 0 { request } else { self.id()? };
            let callee = if head & CALL_HAS_CALLEE == 0 { None } else { Some(self.id()?) };
            before_ns = self.bytes.difference(before_ns)?;
            rows.push(CallRow {
                request,
                fragment,
                callee,
                time: Timestamp::from_unix_ns(before_ns),
                operation: self.bytes.one_of(&handles.operations)?,
                host: self.bytes.one_of(&handles.replicas)?,
                flag: if head & CALL_EXIT == 0 { CallFlag::Enter } else { CallFlag::Exit },
            });
        }
        Ok(rows)
    }

    fn samples(&mut self) -> Decoded<Samples> {
        let count = self.bytes.count(1)?;
        let texts: Vec<Box<str>> =
            (0..count).map(|_| Ok(self.bytes.text()?.into())).collect::<Decoded<_>>()?;
        let count = self.bytes.count(14)?;
        let mut rows = Vec::with_capacity(count);
        let mut before_ns = 0_i64;
        for _ in 0..count {
            let measure = numbers::measure(self.bytes.byte()?).ok_or(DecodeError::Malformed)?;
            before_ns = self.bytes.difference(before_ns)?;
            rows.push(SampleRow {
                time: Timestamp::from_unix_ns(before_ns),
                measure,
                server: self.text_number(&texts)?,
                tier: self.text_number(&texts)?,
                transaction: self.text_number(&texts)?,
                callee: self.text_number(&texts)?,
                value: f64::from_le_bytes(self.bytes.array()?),
            });
        }
        Ok(Samples { rows, texts })
    }

    fn text_number(&mut self, texts: &[Box<str>]) -> Decoded<u32> {
        u32::try_from(self.bytes.index(texts.len())?).map_err(|_| DecodeError::Malformed)
    }

    fn texts(&mut self) -> Decoded<Vec<(TraceId, Box<str>)>> {
        let count = self.bytes.count(17)?;
        (0..count).map(|_| Ok((self.id()?, self.bytes.text()?.into()))).collect()
    }

    fn attributes(&mut self, names: &mut Names) -> Decoded<Vec<(TraceId, AttributeSetId)>> {
        let count = self.bytes.count(1)?;
        let mut sets = Vec::with_capacity(count);
        for _ in 0..count {
            sets.push(names.attribute_set(self.bytes.text()?));
        }
        let count = self.bytes.count(17)?;
        (0..count).map(|_| Ok((self.id()?, self.bytes.one_of(&sets)?))).collect()
    }

    fn threads(&mut self, rows: usize) -> Decoded<Vec<(u32, Tid)>> {
        let count = self.bytes.count(2)?;
        let (mut threads, mut next) = (Vec::with_capacity(count), 0_u64);
        for _ in 0..count {
            let row = self.bytes.number()?.checked_add(next).filter(|row| *row < rows as u64);
            let row = row.ok_or(DecodeError::Malformed)?;
            let tid = self.bytes.number_u32()?;
            threads.push((row as u32, Tid(tid)));
            next = row + 1;
        }
        Ok(threads)
    }

    fn events(&mut self) -> Decoded<Vec<SpanEvent>> {
        let count = self.bytes.count(EVENT_BYTES_MIN)?;
        let (mut events, mut before_ns) = (Vec::with_capacity(count), 0_i64);
        for _ in 0..count {
            let (trace, span) = (self.id()?, self.span_id()?);
            before_ns = self.bytes.difference(before_ns)?;
            events.push(SpanEvent {
                trace,
                span,
                time: Timestamp::from_unix_ns(before_ns),
                severity: Severity::from_number(u64::from(self.bytes.byte()?)),
                name: self.bytes.text()?.into(),
                body: self.bytes.text()?.into(),
                attributes: self.bytes.text()?.into(),
            });
        }
        Ok(events)
    }

    fn losses(&mut self) -> Decoded<Losses> {
        let mut losses = Losses::none();
        for _ in 0..self.bytes.count(3)? {
            let (name, count, example) = (self.bytes.text()?, self.bytes.number()?, self.bytes.text()?);
            // A log of another version may have a cause that this one does not know.
            if let Some(loss) = Loss::from_name(name) {
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
        origins.call_records = self.bytes.number()?;
        Ok(origins)
    }

    /// Counts by source; sources that this version does not know are left out.
    fn counts(&mut self, into: &mut [u64]) -> Decoded<()> {
        for index in 0..self.bytes.count(1)? {
            let count = self.bytes.number()?;
            if let Some(known) = into.get_mut(index) {
                *known = count;
            }
        }
        Ok(())
    }

    fn adjusted_count(&mut self) -> Decoded<AdjustedCount> {
        let count = f32::from_le_bytes(self.bytes.array()?);
        AdjustedCount::new(f64::from(count)).ok_or(DecodeError::Malformed)
    }

    fn span_id(&mut self) -> Decoded<SpanId> {
        SpanId::new(u64::from_le_bytes(self.bytes.array()?)).ok_or(DecodeError::Malformed)
    }

    fn id(&mut self) -> Decoded<TraceId> {
        Ok(TraceId::from_value(u128::from_le_bytes(self.bytes.array()?)))
    }
}
