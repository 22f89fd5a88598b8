//! Round two: requests with all of their calls, at the levels that the root derived from the counts.

use super::count::starts_in;
use super::levels::{Levels, StructureKinds, incomplete_category, level};
use super::{Count, CountedKinds, StartRange, Thinning, UnitFold, put_ranges, read_ranges};
use crate::encoding::{put_slice, read_slice};
use crate::{RequestSlice, Requests, SliceFacts, TreeStructure};
use laggard_assembly::ShapeRule;
use laggard_wire::{PackedReader, Unpacked, put_varint};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Takes the requests of some times, from some levels on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Take {
    /// When they start.
    pub read: Vec<StartRange>,
    /// From which level on.
    pub levels: Levels,
}

/// Requests that were taken, by unit in order. Facts are those of all requests of the units: losses, clocks, numbers of spans.
#[derive(Clone, Debug, Default)]
pub struct SelectedRequests {
    slices: Vec<RequestSlice>,
}

impl SelectedRequests {
    /// The requests of each unit.
    pub fn slices(&self) -> &[RequestSlice] {
        &self.slices
    }

    /// Adds facts that belong to no unit.
    pub fn add_facts(&mut self, facts: SliceFacts) {
        self.slices.push(RequestSlice { facts, ..RequestSlice::default() });
    }

    /// The same, owned.
    pub fn into_slices(self) -> Vec<RequestSlice> {
        self.slices
    }
}

/// Least bytes of an encoded slice.
const SLICE_BYTES_MIN: usize = 16;

impl UnitFold for Take {
    type Partial = SelectedRequests;
    const KIND: u8 = 2;
    const NEEDS_CALLS: bool = true;

    fn encode_fold(&self, out: &mut Vec<u8>) {
        put_ranges(out, &self.read);
        self.levels.encode(out);
    }

    fn decode_fold(from: &mut PackedReader<'_>) -> Unpacked<Take> {
        Ok(Take { read: read_ranges(from)?, levels: Levels::decode(from)? })
    }

    fn start(&self) -> SelectedRequests {
        SelectedRequests::default()
    }

    fn unit(&self, slice: &RequestSlice) -> SelectedRequests {
        let kinds = StructureKinds::new(slice);
        SelectedRequests {
            slices: vec![slice.retain_requests(|request| {
                starts_in(&self.read, request)
                    && (self.levels.is_everything() || level(request) >= self.levels.of(kinds.kind(request)))
            })],
        }
    }

    fn merge(&self, into: &mut SelectedRequests, later: SelectedRequests) {
        into.slices.extend(later.slices);
    }

    fn encode(&self, selected: &SelectedRequests, out: &mut Vec<u8>) {
        put_varint(out, selected.slices.len() as u64);
        selected.slices.iter().for_each(|slice| put_slice(out, slice));
    }

    fn decode(&self, from: &mut PackedReader<'_>) -> Unpacked<SelectedRequests> {
        let slices = (0..from.count(SLICE_BYTES_MIN)?).map(|_| read_slice(from));
        Ok(SelectedRequests { slices: slices.collect::<Unpacked<_>>()? })
    }
}

impl Requests {
    /// The requests that were taken. If all were, reports on them are those on [`Requests::from_slices`] of the units.
    pub fn from_selected(
        selected: SelectedRequests,
        take: &Take,
        (count, counts): (&Count, &CountedKinds),
        threads: NonZeroUsize,
    ) -> Requests {
        let slices = selected.slices.into_iter().map(Arc::new).collect();
        let requests = Requests::from_slices(slices, threads);
        let thinning = (!take.levels.is_everything()).then(|| Thinning {
            all: counts.all(),
            selected: counts.selected(&take.levels),
            one_in_most: 1_u64.checked_shl(take.levels.highest()).unwrap_or(u64::MAX),
            levels: requests.structure_levels(&take.levels, threads),
        });
        requests.with_thinning(count.windows.iter().cloned().zip(counts.outside()).collect(), thinning)
    }

    /// By structure: the level of complete requests, and of incomplete ones.
    fn structure_levels(&self, levels: &Levels, threads: NonZeroUsize) -> Vec<[u32; 2]> {
        let shapes = self.shapes(ShapeRule::Canonical, threads);
        let levels_of = |(index, tree): (usize, &TreeStructure)| {
            let complete = shapes.categories()[shapes.category_of(index)].id;
            let incomplete = incomplete_category(self.operations()[tree.operation[0].index()]);
            [complete, incomplete].map(|category| levels.of_category(category))
        };
        self.structures().iter().enumerate().map(levels_of).collect()
    }
}
