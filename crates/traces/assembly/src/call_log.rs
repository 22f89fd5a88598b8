//! From the call-log records of one request to span rows (algorithms §1.2, steps 1 to 4).

use laggard_model::{
    CallFlag, CallRow, FingerprintBuilder, Loss, Losses, SpanId, SpanKind, SpanRow, Status, TraceId,
};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The rows of one request.
#[derive(Clone, Debug, Default)]
pub struct RebuiltCalls {
    /// One row per call. The roots of a fragment that was never announced have a parent id that no row has.
    pub rows: Vec<SpanRow>,
    /// Losses: begin or end records that were missing or contradictory.
    pub losses: Losses,
}

/// Rebuilds the calls of one request by running a stack over each fragment's records.
///
/// `records` are all records of one request, in log order within a host; they are reordered. The entry
/// fragment (its id is the request's) gets roots without a parent; an announced fragment's roots become
/// children of the announcing call. `O(R log R)`.
pub fn rebuild_calls(records: &mut [CallRow]) -> RebuiltCalls {
    // Stable, so that ties in time keep log order.
    records.sort_by_key(|record| (record.fragment, record.time));
    let mut rebuild = FragmentRebuilder::default();
    for fragment in records.chunk_by(|a, b| a.fragment == b.fragment) {
        rebuild.fragment(fragment);
    }
    rebuild.attach_fragments();
    RebuiltCalls { rows: rebuild.rows, losses: rebuild.losses }
}

#[derive(Default)]
struct FragmentRebuilder {
    rows: Vec<SpanRow>,
    /// Fragment of each row.
    fragments: Vec<TraceId>,
    /// `(row, callee)` in order of announcement.
    announcements: Vec<(usize, TraceId)>,
    losses: Losses,
}

/// A call on the stack.
struct OpenCall {
    row: usize,
    callee: Option<TraceId>,
}

impl FragmentRebuilder {
    fn fragment(&mut self, records: &[CallRow]) {
        let mut stack: Vec<OpenCall> = Vec::new();
        let mut previous = None;
        for record in records {
            // A log delivered twice repeats each line right after itself once it is in time order.
            if previous == Some(record) {
                self.losses.add(Loss::DuplicateSpan, || format!("request {}", record.request));
                continue;
            }
            previous = Some(record);
            match record.flag {
                CallFlag::Enter => self.enter(record, &mut stack),
                CallFlag::Exit => self.exit(record, &mut stack),
            }
        }
        let Some(last) = records.last() else { return };
        while let Some(open) = stack.pop() {
            self.close_incomplete(&open, last);
        }
    }

    fn enter(&mut self, record: &CallRow, stack: &mut Vec<OpenCall>) {
        let row = self.rows.len();
        let parent = stack.last().map(|open| self.rows[open.row].span);
        self.rows.push(SpanRow {
            trace: record.request,
            span: span_id(record.fragment, row as u64),
            parent,
            start: record.time,
            inclusive: Default::default(),
            operation: record.operation,
            replica: record.host,
            kind: SpanKind::Unspecified,
            status: Status::Unset,
            incomplete: false,
            adjusted_count: None,
        });
        self.fragments.push(record.fragment);
        if let Some(callee) = record.callee {
            self.announcements.push((row, callee));
        }
        stack.push(OpenCall { row, callee: record.callee });
    }

    fn exit(&mut self, record: &CallRow, stack: &mut Vec<OpenCall>) {
        let Some(position) = stack.iter().rposition(|open| self.rows[open.row].operation == record.operation)
        else {
            self.losses.add(Loss::StrayReturn, || format!("request {}", record.request));
            return;
        };
        for open in stack.drain(position + 1..).rev().collect::<Vec<_>>() {
            self.close_incomplete(&open, record);
        }
        let Some(open) = stack.pop() else { return };
        self.close(open.row, record);
        // Some writers know the callee only when the call returns.
        if let (None, Some(callee)) = (open.callee, record.callee) {
            self.announcements.push((open.row, callee));
        }
    }

    fn close(&mut self, row: usize, record: &CallRow) {
        let start = self.rows[row].start;
        // Records are in time order, so the difference cannot be negative.
        self.rows[row].inclusive = record.time.since(start).non_negative().unwrap_or_default();
    }

    fn close_incomplete(&mut self, open: &OpenCall, record: &CallRow) {
        self.close(open.row, record);
        self.rows[open.row].incomplete = true;
        self.losses.add(Loss::MissingReturn, || format!("request {}", record.request));
    }

    fn attach_fragments(&mut self) {
        let mut announcers: HashMap<TraceId, SpanId> = HashMap::new();
        let mut forest = FragmentForest::default();
        for &(row, callee) in &self.announcements {
            let (request, caller) = (self.rows[row].trace, self.fragments[row]);
            let Entry::Vacant(announcer) = announcers.entry(callee) else {
                self.losses.add(Loss::RepeatedAnnouncement, || format!("request {request}"));
                continue;
            };
            if callee == request || forest.top_of(caller) == callee {
                self.losses.add(Loss::Cycle, || format!("request {request}"));
                continue;
            }
            forest.hang(callee, caller);
            announcer.insert(self.rows[row].span);
        }
        for (row, &fragment) in self.rows.iter_mut().zip(&self.fragments) {
            if row.parent.is_none() && fragment != row.trace {
                row.parent =
                    Some(announcers.get(&fragment).copied().unwrap_or_else(|| missing_span_id(fragment)));
            }
        }
    }
}

/// Which fragment was announced by which: a forest, since a fragment is announced once. Paths are halved on
/// the way up, so that a long chain of calls does not cost its length squared.
#[derive(Default)]
struct FragmentForest {
    above: HashMap<TraceId, TraceId>,
}

impl FragmentForest {
    fn top_of(&mut self, mut fragment: TraceId) -> TraceId {
        while let Some(&above) = self.above.get(&fragment) {
            if let Some(&two_above) = self.above.get(&above) {
                self.above.insert(fragment, two_above);
            }
            fragment = above;
        }
        fragment
    }

    fn hang(&mut self, callee: TraceId, caller: TraceId) {
        self.above.insert(callee, caller);
    }
}

fn span_id(fragment: TraceId, row: u64) -> SpanId {
    let mut builder = FingerprintBuilder::new();
    builder.word(fragment.value() as u64);
    builder.word((fragment.value() >> 64) as u64);
    builder.word(row);
    SpanId::new(builder.finish().value() as u64).unwrap_or(SpanId::ZERO_TEXT)
}

/// The parent id of an unannounced fragment's roots: an id that no row has.
fn missing_span_id(fragment: TraceId) -> SpanId {
    span_id(fragment, u64::MAX)
}
