//! One trace's rows: duplicates, parents, roots, orphans, cycles.

use crate::clocks::ClockAgreement;
use crate::tree::TreeBuilder;
use laggard_model::{
    AdjustedCount, CallTree, Loss, Losses, ReplicaId, SpanId, SpanKind, SpanRow, Status, Timestamp, TraceId,
};

/// One request of a trace.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    /// Start of its entry, on the entry's clock.
    pub start: Timestamp,
    /// Outcome of its entry.
    pub status: Status,
    /// Its calls.
    pub tree: CallTree,
    /// Whether shape and times are fully known. Partial requests stay out of matrices.
    pub complete: bool,
    /// How many requests it represents, from its entry's sampling attributes; `None` if unknown.
    pub adjusted_count: Option<AdjustedCount>,
}

/// The requests of one trace, and its losses.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AssembledTrace {
    /// One request a root, by start. Without any root, every entry of a service; without these, one partial request.
    pub requests: Vec<Request>,
    /// Other subtrees whose parent is missing: not part of any request.
    pub orphans: Vec<CallTree>,
    /// Spans after duplicates were dropped.
    pub spans: u64,
    /// Repairs and inconsistencies.
    pub losses: Losses,
    /// Bounds on the hosts' clocks from the remote calls.
    pub clocks: ClockAgreement,
}

/// Assembles the rows of one trace.
///
/// `rows` must all be of one trace, ordered by start then span id, so that the answer does not depend on
/// the order of arrival. `O(S log S)` for `S` rows.
pub fn assemble(rows: &[SpanRow]) -> AssembledTrace {
    assemble_recording(rows, None)
}

/// The row of each call: indices into the rows, by tree and node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallRows {
    /// Of every request.
    pub requests: Vec<Vec<u32>>,
    /// Of every orphan.
    pub orphans: Vec<Vec<u32>>,
}

impl CallRows {
    /// Assembles the rows of one trace as [`assemble`] does, and returns which row became which call.
    pub fn assemble(rows: &[SpanRow]) -> (AssembledTrace, CallRows) {
        let mut call_rows = CallRows::default();
        let assembled = assemble_recording(rows, Some(&mut call_rows));
        (assembled, call_rows)
    }
}

fn assemble_recording(rows: &[SpanRow], mut call_rows: Option<&mut CallRows>) -> AssembledTrace {
    let mut out = AssembledTrace::default();
    let Some(first) = rows.first() else { return out };
    let mut links = Links::new(rows, first.trace, &mut out.losses);
    links.cut_cycles(&mut out.losses);
    out.spans = links.distinct.len() as u64;
    let tops = links.tops();
    check_tops(&links, &tops, &mut out.losses);
    let nodes_expected = links.distinct.len() / (tops.roots.len() + tops.orphans.len()).max(1);
    let mut builder = TreeBuilder::new(&links, nodes_expected);
    builder.records_rows = call_rows.is_some();
    for &top in &tops.roots {
        let built = builder.build(top, &mut out.losses, &mut out.clocks);
        let complete = built.complete && !tops.has_gaps;
        if !complete {
            out.losses.add(Loss::PartialRequest, || format!("trace {}", first.trace));
        }
        if built.unequal_counts {
            out.losses.add(Loss::UnequalSampling, || format!("trace {}", first.trace));
        }
        let entry = links.row(top);
        let (start, status, adjusted_count) = (entry.start, entry.status, entry.adjusted_count);
        if let Some(call_rows) = &mut call_rows {
            call_rows.requests.push(built.rows);
        }
        out.requests.push(Request { start, status, tree: built.tree, complete, adjusted_count });
    }
    for &top in &tops.orphans {
        let built = builder.build(top, &mut out.losses, &mut out.clocks);
        if let Some(call_rows) = &mut call_rows {
            call_rows.orphans.push(built.rows);
        }
        out.orphans.push(built.tree);
    }
    out
}

/// Counts irregularities of a trace's topmost spans.
fn check_tops(links: &Links<'_>, tops: &TopSpans, losses: &mut Losses) {
    let example = || format!("trace {}", links.trace);
    if tops.rootless {
        losses.add(Loss::MissingRoot, example);
        return;
    }
    losses.add_many(Loss::ExtraRoot, tops.roots.len() as u64 - 1, example);
    losses.add_many(Loss::OrphanSpan, tops.orphans.len() as u64, example);
}

/// The rows that count, with their parents resolved.
pub(crate) struct Links<'a> {
    rows: &'a [SpanRow],
    trace: TraceId,
    /// Indices into `rows` without duplicates; the fields below refer to positions in this list.
    distinct: Vec<u32>,
    parent: Vec<Option<u32>>,
    /// Children of each distinct row, by start: `children[child_start[i]..child_start[i + 1]]`.
    children: Vec<u32>,
    child_start: Vec<u32>,
}

/// The topmost rows.
struct TopSpans {
    roots: Vec<u32>,
    orphans: Vec<u32>,
    /// No row was without a parent; the topmost ones are used as roots.
    rootless: bool,
    /// Calls between the roots and other rows are missing.
    has_gaps: bool,
}

/// A span id with the half of a remote call that its row shows; sorts by id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SpanKey {
    span: SpanId,
    half: RpcHalf,
    distinct: u32,
}

/// Zipkin's shared spans report the caller's and the callee's half under one id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RpcHalf {
    Caller,
    Callee,
}

fn half(kind: SpanKind) -> RpcHalf {
    match kind {
        SpanKind::Server | SpanKind::Consumer => RpcHalf::Callee,
        _ => RpcHalf::Caller,
    }
}

impl<'a> Links<'a> {
    fn new(rows: &'a [SpanRow], trace: TraceId, losses: &mut Losses) -> Links<'a> {
        let (distinct, keys) = deduplicate(rows, trace, losses);
        let mut links = Links {
            rows,
            trace,
            parent: vec![None; distinct.len()],
            distinct,
            children: vec![],
            child_start: vec![],
        };
        for position in 0..links.distinct.len() as u32 {
            links.parent[position as usize] = links.find_parent(position, &keys);
        }
        links
    }

    pub(crate) fn row(&self, position: u32) -> &'a SpanRow {
        &self.rows[self.distinct[position as usize] as usize]
    }

    /// The index of a distinct row among all rows.
    pub(crate) fn row_index(&self, position: u32) -> u32 {
        self.distinct[position as usize]
    }

    pub(crate) fn trace(&self) -> TraceId {
        self.trace
    }

    pub(crate) fn children(&self, position: u32) -> &[u32] {
        let (from, to) = (self.child_start[position as usize], self.child_start[position as usize + 1]);
        &self.children[from as usize..to as usize]
    }

    fn find_parent(&self, position: u32, keys: &[SpanKey]) -> Option<u32> {
        let row = self.row(position);
        // The callee's half of a shared span hangs from the caller's half.
        if half(row.kind) == RpcHalf::Callee
            && let Some(caller) = find(keys, row.span).find(|key| key.half == RpcHalf::Caller)
        {
            return Some(caller.distinct);
        }
        let parent = row.parent?;
        let mut candidates = find(keys, parent).filter(|key| key.distinct != position);
        let Some(first) = candidates.next() else {
            // A span that names itself as its parent is a cycle of one.
            return (parent == row.span).then_some(position);
        };
        let Some(second) = candidates.next() else { return Some(first.distinct) };
        // Both halves have the parent's id: the child ran where one of them ran; if unclear, at the callee.
        let at_caller = self.row(first.distinct).replica == row.replica;
        let at_callee = self.row(second.distinct).replica == row.replica;
        Some(if at_caller && !at_callee { first.distinct } else { second.distinct })
    }

    /// Makes every parent chain end: a row on a cycle loses its parent if it is the cycle's earliest.
    fn cut_cycles(&mut self, losses: &mut Losses) {
        /// Reached from no walk yet, on the current walk, or known to end.
        #[derive(Clone, Copy, PartialEq)]
        enum WalkState {
            New,
            Walking(u32),
            Ends,
        }
        let mut marks = vec![WalkState::New; self.distinct.len()];
        for from in 0..self.distinct.len() as u32 {
            let mut position = from;
            while marks[position as usize] == WalkState::New {
                marks[position as usize] = WalkState::Walking(from);
                match self.parent[position as usize] {
                    Some(parent) => position = parent,
                    None => break,
                }
            }
            if marks[position as usize] == WalkState::Walking(from)
                && self.parent[position as usize].is_some()
            {
                let earliest = self.earliest_on_cycle(position);
                self.parent[earliest as usize] = None;
                losses.add(Loss::Cycle, || format!("trace {}", self.trace));
            }
            let mut position = from;
            while marks[position as usize] != WalkState::Ends {
                marks[position as usize] = WalkState::Ends;
                match self.parent[position as usize] {
                    Some(parent) => position = parent,
                    None => break,
                }
            }
        }
        self.index_children();
    }

    fn earliest_on_cycle(&self, on_cycle: u32) -> u32 {
        let mut earliest = on_cycle;
        let mut position = on_cycle;
        loop {
            let Some(next) = self.parent[position as usize] else { return earliest };
            position = next;
            // Rows are ordered by start, so the smallest position is the earliest row.
            earliest = earliest.min(position);
            if position == on_cycle {
                return earliest;
            }
        }
    }

    fn index_children(&mut self) {
        let mut counts = vec![0_u32; self.distinct.len() + 1];
        for parent in self.parent.iter().flatten() {
            counts[*parent as usize + 1] += 1;
        }
        for position in 1..counts.len() {
            counts[position] += counts[position - 1];
        }
        let mut next = counts.clone();
        self.children = vec![0; counts[self.distinct.len()] as usize];
        for (position, parent) in self.parent.iter().enumerate() {
            if let Some(parent) = parent {
                self.children[next[*parent as usize] as usize] = position as u32;
                next[*parent as usize] += 1;
            }
        }
        self.child_start = counts;
    }

    fn tops(&self) -> TopSpans {
        let mut tops = TopSpans { roots: vec![], orphans: vec![], rootless: false, has_gaps: false };
        for position in 0..self.distinct.len() as u32 {
            if self.parent[position as usize].is_some() {
                continue;
            }
            match self.row(position).parent {
                None | Some(SpanId::ZERO_TEXT) => tops.roots.push(position),
                Some(_) => tops.orphans.push(position),
            }
        }
        tops.rootless = tops.roots.is_empty();
        tops.has_gaps = match tops.rootless {
            true => !self.enter_from_outside(&tops.orphans),
            false => !tops.orphans.is_empty(),
        };
        if tops.rootless {
            // A trace without its entry is one request, whatever it consists of.
            let requests = if tops.has_gaps { 1 } else { tops.orphans.len() };
            tops.roots = tops.orphans.drain(..requests.min(tops.orphans.len())).collect();
        }
        tops
    }

    /// Whether these rows may be all entries of a trace whose caller is not traced: all are called by the same span, and they
    /// are what a service receives. Calls that a service makes are only parts of a request.
    fn enter_from_outside(&self, tops: &[u32]) -> bool {
        let rows = || tops.iter().map(|&position| self.row(position));
        let is_received = |row: &SpanRow| match row.kind {
            SpanKind::Server | SpanKind::Consumer => true,
            SpanKind::Unspecified => tops.len() == 1,
            SpanKind::Client | SpanKind::Producer | SpanKind::Internal => false,
        };
        rows().all(is_received) && rows().all(|row| row.parent == self.row(tops[0]).parent)
    }
}

/// Drops repeated rows; keys of the others, sorted by id with the caller's half first.
fn deduplicate(rows: &[SpanRow], trace: TraceId, losses: &mut Losses) -> (Vec<u32>, Vec<SpanKey>) {
    let mut keys: Vec<SpanKey> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| SpanKey { span: row.span, half: half(row.kind), distinct: index as u32 })
        .collect();
    keys.sort_unstable();
    let before = keys.len();
    keys.dedup_by_key(|key| (key.span, key.half));
    losses.add_many(Loss::DuplicateSpan, (before - keys.len()) as u64, || format!("trace {trace}"));
    if keys.len() == before {
        return ((0..before as u32).collect(), keys);
    }
    let mut distinct: Vec<u32> = keys.iter().map(|key| key.distinct).collect();
    distinct.sort_unstable();
    for key in &mut keys {
        key.distinct = distinct.binary_search(&key.distinct).expect("every key is in the list") as u32;
    }
    (distinct, keys)
}

fn find(keys: &[SpanKey], span: SpanId) -> impl Iterator<Item = &SpanKey> {
    let from = keys.partition_point(|key| key.span < span);
    keys[from..].iter().take_while(move |key| key.span == span)
}

/// Whether two rows are on one clock.
pub(crate) fn same_clock(a: ReplicaId, b: ReplicaId) -> bool {
    a == b
}
