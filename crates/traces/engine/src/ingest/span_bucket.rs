//! The spans of a bucket in less space than as rows: the id of a trace is stored once for spans that are read close to each other.

use crate::thin::hash;
use laggard_model::{
    AdjustedCount, Nanos, OperationId, ReplicaId, SpanId, SpanKind, SpanRow, Status, Timestamp, TraceId,
};

/// A row without its trace. Unaligned: most of the memory of a question about files are these.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed)]
struct PackedRow {
    /// Index into [`SpanBucket::traces`].
    trace: u32,
    span: SpanId,
    parent: Option<SpanId>,
    start: Timestamp,
    inclusive: Nanos,
    operation: OperationId,
    replica: ReplicaId,
    adjusted_count: Option<AdjustedCount>,
    kind: SpanKind,
    status: Status,
    incomplete: bool,
}

const _: () = assert!(size_of::<PackedRow>() == 51);

impl PackedRow {
    fn new(trace: u32, row: &SpanRow) -> PackedRow {
        PackedRow {
            trace,
            span: row.span,
            parent: row.parent,
            start: row.start,
            inclusive: row.inclusive,
            operation: row.operation,
            replica: row.replica,
            adjusted_count: row.adjusted_count,
            kind: row.kind,
            status: row.status,
            incomplete: row.incomplete,
        }
    }

    fn unpack(self, trace: TraceId) -> SpanRow {
        SpanRow {
            trace,
            span: self.span,
            parent: self.parent,
            start: self.start,
            inclusive: self.inclusive,
            operation: self.operation,
            replica: self.replica,
            kind: self.kind,
            status: self.status,
            incomplete: self.incomplete,
            adjusted_count: self.adjusted_count,
        }
    }
}

/// Rows of a chunk. Chunks are not moved when the bucket grows, unlike a vector.
const CHUNK_ROWS: usize = 4096;

/// Traces whose index is found again. Where more are read at the same time, some are stored more than once.
const RECENT: usize = 256;

/// Spans in the order in which they were read.
#[derive(Clone, Debug, Default)]
pub(super) struct SpanBucket {
    chunks: Vec<Vec<PackedRow>>,
    /// A trace may be in it more than once.
    traces: Vec<TraceId>,
    /// Indexes of the traces that were read last, by hash; empty as long as there is no row.
    recent: Vec<u32>,
}

impl SpanBucket {
    pub(super) fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK_ROWS + last.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Bytes of rows and traces, without what is allocated ahead.
    pub(super) fn bytes(&self) -> usize {
        self.len() * size_of::<PackedRow>() + size_of_val(&self.traces[..])
    }

    /// Adds a row. `hash` is that of its trace.
    #[inline]
    pub(super) fn push(&mut self, hash: u64, row: &SpanRow) {
        let packed = PackedRow::new(self.index_of(hash, row.trace), row);
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK_ROWS => last.push(packed),
            None => self.chunks.push(vec![packed]),
            Some(_) => {
                let mut chunk = Vec::with_capacity(CHUNK_ROWS);
                chunk.push(packed);
                self.chunks.push(chunk);
            }
        }
    }

    #[inline]
    fn index_of(&mut self, hash: u64, trace: TraceId) -> u32 {
        if self.recent.is_empty() {
            self.recent = vec![0; RECENT];
        }
        // Neither the bits of the bucket nor those of thinning.
        let recent = &mut self.recent[(hash >> 32) as usize % RECENT];
        if self.traces.get(*recent as usize) != Some(&trace) {
            *recent = u32::try_from(self.traces.len()).expect("a bucket has fewer than 2^32 rows");
            self.traces.push(trace);
        }
        *recent
    }

    /// All rows in the order in which they were read.
    pub(super) fn rows(&self) -> impl Iterator<Item = SpanRow> + '_ {
        self.chunks.iter().flatten().map(|row| row.unpack(self.traces[row.trace as usize]))
    }

    /// Drops the rows for whose trace `retain` is false, and frees their memory.
    pub(super) fn retain(&mut self, mut retain: impl FnMut(TraceId) -> bool) {
        let all = std::mem::take(self);
        all.rows().filter(|row| retain(row.trace)).for_each(|row| self.push(hash(row.trace), &row));
    }

    /// Passes the rows of each trace, traces in order of their ids, rows in order of start and span id.
    pub(super) fn for_each_trace(&self, mut take: impl FnMut(&[SpanRow])) {
        let mut by_id: Vec<u32> = (0..self.traces.len() as u32).collect();
        by_id.sort_unstable_by_key(|&index| (self.traces[index as usize], index));
        let is_same = |&a: &u32, &b: &u32| self.traces[a as usize] == self.traces[b as usize];
        let mut ranks = vec![0_u32; self.traces.len()];
        let mut distinct = 0;
        for same in by_id.chunk_by(is_same) {
            same.iter().for_each(|&index| ranks[index as usize] = distinct);
            distinct += 1;
        }
        // Rows by trace: a counting sort, which leaves the rows of a trace in the order in which they were read.
        let mut ends = vec![0_usize; distinct as usize + 1];
        let rank = |row: &PackedRow| ranks[row.trace as usize] as usize;
        self.chunks.iter().flatten().for_each(|row| ends[rank(row) + 1] += 1);
        for trace in 0..distinct as usize {
            ends[trace + 1] += ends[trace];
        }
        let mut rows = vec![0_u32; self.len()];
        for (number, row) in self.chunks.iter().flatten().enumerate() {
            let next = &mut ends[rank(row)];
            rows[*next] = number as u32;
            *next += 1;
        }
        let mut first = 0;
        let (mut order, mut buffer) = (Vec::new(), Vec::new());
        for (same, end) in by_id.chunk_by(is_same).zip(ends) {
            let trace = self.traces[same[0] as usize];
            // Of several copies of a span, the first is the first that was read.
            let key = |&number: &u32| {
                let row = self.row(number);
                (row.start, row.span, number)
            };
            order.clear();
            order.extend(rows[first..end].iter().map(key));
            order.sort_unstable();
            buffer.clear();
            buffer.extend(order.iter().map(|&(_, _, number)| self.row(number).unpack(trace)));
            take(&buffer);
            first = end;
        }
    }

    fn row(&self, number: u32) -> PackedRow {
        self.chunks[number as usize / CHUNK_ROWS][number as usize % CHUNK_ROWS]
    }

    /// All rows in order of trace, start and span id.
    pub(super) fn sorted_rows(&self) -> Vec<SpanRow> {
        let mut rows = Vec::with_capacity(self.len());
        self.for_each_trace(|trace| rows.extend_from_slice(trace));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(trace: u128, start: i64, span: u64) -> SpanRow {
        SpanRow {
            trace: TraceId::from_value(trace),
            span: SpanId::new(span).expect("not 0"),
            parent: SpanId::new(span / 2),
            start: Timestamp::from_unix_ns(start),
            inclusive: Nanos::from_ns(span * 10),
            operation: OperationId::from_index(span as usize % 7),
            replica: ReplicaId::from_index(span as usize % 5),
            kind: SpanKind::Server,
            status: Status::Error,
            incomplete: span.is_multiple_of(3),
            adjusted_count: AdjustedCount::new(span as f64),
        }
    }

    fn bucket(rows: &[SpanRow]) -> SpanBucket {
        let mut bucket = SpanBucket::default();
        rows.iter().for_each(|row| bucket.push(hash(row.trace), row));
        bucket
    }

    proptest! {
        // More traces than are found again, and copies of spans that differ in their duration.
        #[test]
        fn rows_are_those_that_were_read_and_sorted_as_by_a_stable_sort(
            drawn in prop::collection::vec((0_u128..700, 0_i64..40, 1_u64..30), 0..3000),
        ) {
            let mut rows: Vec<SpanRow> = Vec::new();
            for (number, (trace, start, span)) in drawn.into_iter().enumerate() {
                rows.push(SpanRow { inclusive: Nanos::from_ns(number as u64), ..row(trace, start, span) });
            }
            let bucket = bucket(&rows);
            prop_assert_eq!(bucket.len(), rows.len());
            prop_assert_eq!(&bucket.rows().collect::<Vec<_>>(), &rows);
            rows.sort_by_key(|row| (row.trace, row.start, row.span));
            prop_assert_eq!(bucket.sorted_rows(), rows);
        }
    }

    #[test]
    fn rows_of_dropped_traces_take_no_memory() {
        let rows: Vec<SpanRow> = (0..1000).map(|n| row(u128::from(n % 500), n as i64, n + 1)).collect();
        let is_even = |trace: TraceId| trace.value().is_multiple_of(2);
        let mut bucket = bucket(&rows);
        bucket.retain(is_even);
        assert!(bucket.rows().eq(rows.into_iter().filter(|row| is_even(row.trace))));
        assert_eq!(bucket.traces.iter().filter(|&&trace| !is_even(trace)).count(), 0);
    }

    #[test]
    fn rows_of_several_chunks_are_found() {
        let rows: Vec<SpanRow> =
            (0..3 * CHUNK_ROWS as u64 + 1).map(|n| row(u128::from(n % 3), -(n as i64), n + 1)).collect();
        let bucket = bucket(&rows);
        assert_eq!(bucket.chunks.len(), 4);
        assert_eq!(bucket.traces.len(), 3);
        let mut traces = Vec::new();
        bucket.for_each_trace(|rows| {
            assert!(rows.is_sorted_by_key(|row| row.start));
            traces.push((rows[0].trace.value(), rows.len()));
        });
        assert_eq!(traces, [(0, CHUNK_ROWS + 1), (1, CHUNK_ROWS), (2, CHUNK_ROWS)]);
    }
}
