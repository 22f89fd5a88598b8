//! Round one: how many requests and calls there are, by kind and level.

use super::levels::{CallCount, KindCounts, LevelCounts, Levels, StructureKinds, level};
use super::{StartRange, UnitFold, put_ranges, read_ranges};
use crate::{ReadCounts, RequestSlice, SlicedRequest};
use laggard_model::TraceId;
use laggard_wire::{Malformed, PackedReader, Unpacked, put_varint};
use std::collections::HashSet;

/// CountedKinds the requests of some times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Count {
    /// When the requests start that are counted, and taken later.
    pub read: Vec<StartRange>,
    /// For each of these, what starts outside of it is counted, too: reports name the spans of their window.
    pub windows: Vec<StartRange>,
}

/// What was counted: about a kilobyte for each hundred kinds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CountedKinds {
    kinds: KindCounts,
    /// For each window, spans and traces of requests outside of it; of a trace, all of them are.
    outside: Vec<ReadCounts>,
}

/// Least bytes of an encoded kind: its number, the number of its levels.
const KIND_BYTES_MIN: usize = 2;

impl CountedKinds {
    /// The levels at which no more than so many calls are taken.
    pub fn levels(&self, calls_max: u64) -> Levels {
        Levels::within(&self.kinds, calls_max)
    }

    /// The level at which no more than so many calls are taken, the same of all kinds.
    pub fn level_of_all(&self, calls_max: u64) -> Levels {
        Levels::alike(&self.kinds, calls_max)
    }

    /// All requests that were counted.
    pub fn all(&self) -> CallCount {
        self.selected(&Levels::everything())
    }

    /// Those of them that are taken at some levels.
    pub fn selected(&self, levels: &Levels) -> CallCount {
        levels.selected(&self.kinds)
    }

    /// For each window, what starts outside of it.
    pub(super) fn outside(&self) -> impl Iterator<Item = ReadCounts> + '_ {
        self.outside.iter().copied()
    }
}

/// Whether a request starts in one of these times.
pub(super) fn starts_in(intervals: &[StartRange], request: &SlicedRequest) -> bool {
    intervals.iter().any(|interval| interval.contains(&request.start))
}

impl UnitFold for Count {
    type Partial = CountedKinds;
    const KIND: u8 = 1;
    const NEEDS_CALLS: bool = false;

    fn encode_fold(&self, out: &mut Vec<u8>) {
        put_ranges(out, &self.read);
        put_ranges(out, &self.windows);
    }

    fn decode_fold(from: &mut PackedReader<'_>) -> Unpacked<Count> {
        Ok(Count { read: read_ranges(from)?, windows: read_ranges(from)? })
    }

    fn start(&self) -> CountedKinds {
        CountedKinds { kinds: KindCounts::new(), outside: vec![ReadCounts::default(); self.windows.len()] }
    }

    fn unit(&self, slice: &RequestSlice) -> CountedKinds {
        let kinds = StructureKinds::new(slice);
        let mut counts = self.start();
        for request in slice.requests.iter().filter(|request| starts_in(&self.read, request)) {
            let calls = slice.structures[request.structure as usize].len() as u64;
            let count = counts.kinds.entry(kinds.kind(request)).or_default();
            count.add(level(request), CallCount { requests: 1, calls });
        }
        counts.outside = self.windows.iter().map(|window| outside(slice, window)).collect();
        counts
    }

    fn merge(&self, into: &mut CountedKinds, later: CountedKinds) {
        for (kind, later) in later.kinds {
            into.kinds.entry(kind).or_default().merge(&later);
        }
        for (into, later) in into.outside.iter_mut().zip(later.outside) {
            into.spans = into.spans.saturating_add(later.spans);
            into.traces = into.traces.saturating_add(later.traces);
        }
    }

    fn encode(&self, counts: &CountedKinds, out: &mut Vec<u8>) {
        put_varint(out, counts.kinds.len() as u64);
        let mut before = 0;
        for (&kind, count) in &counts.kinds {
            put_varint(out, u64::from(kind - before));
            before = kind;
            count.encode(out);
        }
        for outside in &counts.outside {
            put_varint(out, outside.spans);
            put_varint(out, outside.traces);
        }
    }

    fn decode(&self, from: &mut PackedReader<'_>) -> Unpacked<CountedKinds> {
        let mut counts = self.start();
        let mut before = 0_u32;
        for _ in 0..from.count(KIND_BYTES_MIN)? {
            let kind = before.checked_add(from.number_u32()?).ok_or(Malformed)?;
            before = kind;
            if counts.kinds.insert(kind, LevelCounts::decode(from)?).is_some() {
                return Err(Malformed);
            }
        }
        for outside in &mut counts.outside {
            *outside = ReadCounts { spans: from.number()?, traces: from.number()? };
        }
        Ok(counts)
    }
}

/// Spans and traces of a slice outside a window.
fn outside(slice: &RequestSlice, window: &StartRange) -> ReadCounts {
    let (mut spans, mut traces) = (0, HashSet::new());
    for request in slice.requests.iter().filter(|request| !window.contains(&request.start)) {
        spans += slice.structures[request.structure as usize].len() as u64;
        traces.insert(request.trace);
    }
    if !traces.is_empty() {
        let inside = slice.requests.iter().filter(|request| window.contains(&request.start));
        inside.for_each(|request| {
            traces.remove::<TraceId>(&request.trace);
        });
    }
    ReadCounts { spans, traces: traces.len() as u64 }
}
