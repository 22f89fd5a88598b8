//! From rows of complete traces to assembled requests.

use crate::duration_column::DurationColumn;
use crate::slice::{CallColumns, RequestSlice, SliceFacts, SlicedRequest};
use crate::structure_index::StructureIndex;
use crate::trace_attributes::TraceAttributes;
use laggard_assembly::{AssembledTrace, Request, assemble};
use laggard_model::{AttributeSetId, Names, SpanRow, Timestamp, TraceId};

/// Collects requests in any order and puts them into that of a [`RequestSlice`].
#[derive(Debug, Default)]
pub(crate) struct SliceBuilder {
    pub(crate) structures: StructureIndex,
    pub(crate) requests: Vec<SlicedRequest>,
    pub(crate) calls: CallColumns,
    pub(crate) facts: SliceFacts,
}

impl RequestSlice {
    /// Assembles complete traces.
    ///
    /// `names` are those behind the handles of `rows` and `attributes`, which may come in any order: of several copies of a span
    /// the first counts. `facts` are facts from reading (losses, origins, texts); those of
    /// assembly are added. `O(S log S)` for `S` rows.
    pub fn assemble(
        names: Names,
        mut rows: Vec<SpanRow>,
        attributes: &TraceAttributes,
        facts: SliceFacts,
    ) -> RequestSlice {
        // Stable, so that the first of several copies of a span is the first that was read.
        rows.sort_by_key(|row| (row.trace, row.start, row.span));
        RequestSlice::from_sorted_rows(names, &rows, attributes, facts)
    }

    /// The same from rows in order of trace, start and span id.
    pub(crate) fn from_sorted_rows(
        names: Names,
        rows: &[SpanRow],
        attributes: &TraceAttributes,
        facts: SliceFacts,
    ) -> RequestSlice {
        let mut builder = SliceBuilder { facts, ..SliceBuilder::with_capacity(rows.len()) };
        for trace in rows.chunk_by(|a, b| a.trace == b.trace) {
            builder.add_trace(trace, attributes);
        }
        builder.finish(names)
    }
}

impl SliceBuilder {
    /// Empty, with room for so many calls.
    pub(crate) fn with_capacity(calls: usize) -> SliceBuilder {
        SliceBuilder { calls: CallColumns::with_capacity(calls), ..SliceBuilder::default() }
    }

    /// Takes all rows of one trace, in order of start and span id.
    pub(crate) fn add_trace(&mut self, rows: &[SpanRow], attributes: &TraceAttributes) {
        let assembled = assemble(rows);
        let attributes = attributes.of(rows[0].trace);
        for request in &assembled.requests {
            self.add_request(rows[0].trace, request, attributes);
        }
        self.facts.add_trace(rows, assembled);
    }

    fn add_request(&mut self, trace: TraceId, request: &Request, attributes: AttributeSetId) {
        let tree = &request.tree;
        let structure = self.structures.number(tree.into());
        let first_call = self.calls.next();
        self.requests.push(SlicedRequest {
            start: request.start,
            trace,
            structure,
            first_call,
            status: request.status,
            complete: request.complete,
            adjusted_count: request.adjusted_count,
            attributes,
        });
        self.calls.replica.extend_from_slice(&tree.replica);
        self.calls.status.extend_from_slice(&tree.status);
        self.calls.self_time.extend(tree.self_time.iter().copied());
        self.calls.inclusive_time.extend(tree.inclusive_time.iter().copied());
        self.calls.path_time.extend(tree.path_time.iter().copied());
    }

    /// Puts requests in order of start and trace, and calls in the order of the requests.
    pub(crate) fn finish(mut self, names: Names) -> RequestSlice {
        if !self.requests.is_sorted_by_key(order) {
            self.requests.sort_by_key(order);
            self.order_calls();
        }
        self.calls.shrink();
        self.requests.shrink_to_fit();
        RequestSlice {
            names,
            structures: self.structures.structures,
            requests: self.requests,
            calls: self.calls,
            facts: self.facts,
        }
    }

    fn order_calls(&mut self) {
        let lengths: Vec<(usize, usize)> = (self.requests.iter())
            .map(|request| {
                (request.first_call as usize, self.structures.structures[request.structure as usize].len())
            })
            .collect();
        // A column at a time, so that only one exists twice.
        arrange(&mut self.calls.replica, &lengths);
        arrange(&mut self.calls.status, &lengths);
        arrange_durations(&mut self.calls.self_time, &lengths);
        arrange_durations(&mut self.calls.inclusive_time, &lengths);
        arrange_durations(&mut self.calls.path_time, &lengths);
        let mut next = 0;
        for (request, (_, length)) in self.requests.iter_mut().zip(lengths) {
            request.first_call = next;
            next += length as u32;
        }
    }
}

fn order(request: &SlicedRequest) -> (Timestamp, TraceId) {
    (request.start, request.trace)
}

fn arrange<T: Copy>(column: &mut Vec<T>, places: &[(usize, usize)]) {
    let mut arranged = Vec::with_capacity(column.len());
    for &(from, length) in places {
        arranged.extend_from_slice(&column[from..from + length]);
    }
    *column = arranged;
}

fn arrange_durations(column: &mut DurationColumn, places: &[(usize, usize)]) {
    let mut arranged = DurationColumn::with_capacity(column.len());
    arranged.extend(places.iter().flat_map(|&(from, length)| column.range(from..from + length)));
    *column = arranged;
}

impl CallColumns {
    /// Bytes of memory, without what is allocated ahead.
    pub(crate) fn bytes(&self) -> usize {
        let durations = [&self.self_time, &self.inclusive_time, &self.path_time];
        size_of_val(&self.replica[..])
            + size_of_val(&self.status[..])
            + durations.map(DurationColumn::bytes).iter().sum::<usize>()
    }

    /// The index of the next call.
    pub(crate) fn next(&self) -> u32 {
        u32::try_from(self.replica.len()).expect("a slice has fewer than 2^32 calls")
    }

    /// No calls yet, with room for so many.
    pub(crate) fn with_capacity(calls: usize) -> CallColumns {
        let mut columns = CallColumns::default();
        columns.reserve(calls);
        columns
    }

    fn reserve(&mut self, calls: usize) {
        self.replica.reserve(calls);
        self.status.reserve(calls);
        self.self_time.reserve(calls);
        self.inclusive_time.reserve(calls);
        self.path_time.reserve(calls);
    }

    fn shrink(&mut self) {
        self.replica.shrink_to_fit();
        self.status.shrink_to_fit();
        self.self_time.shrink_to_fit();
        self.inclusive_time.shrink_to_fit();
        self.path_time.shrink_to_fit();
    }
}

impl SliceFacts {
    fn add_trace(&mut self, rows: &[SpanRow], assembled: AssembledTrace) {
        self.traces += 1;
        self.rows += rows.len() as u64;
        self.spans += assembled.spans;
        self.losses.merge(&assembled.losses);
        self.clocks.merge(assembled.clocks);
        let starts = rows.first().zip(rows.last()).map(|(first, last)| (first.start, last.start));
        self.extent = join(self.extent, starts);
    }
}

/// The shortest interval that contains both.
pub(crate) fn join(
    a: Option<(Timestamp, Timestamp)>,
    b: Option<(Timestamp, Timestamp)>,
) -> Option<(Timestamp, Timestamp)> {
    let (Some((first, last)), Some((other_first, other_last))) = (a, b) else { return a.or(b) };
    Some((first.min(other_first), last.max(other_last)))
}
