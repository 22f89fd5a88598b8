//! Requests of several slices as one: with common names, common tree structures, and one order.
//!
//! ```text
//! RequestSlice (names 0, structures 0) ─┐                                ┌─ order by start and trace
//! RequestSlice (names 1, structures 1) ─┴─► names and structures of all ─┴─► any window ─► LocalEngine::fold
//! ```

use crate::Origins;
use crate::handles::HandleMap;
use crate::read_counts::ReadCounts;
use crate::slice::{RequestSlice, SliceFacts, SlicedRequest, TreeStructure};
use crate::structure_index::StructureIndex;
use crate::structure_shapes::StructureShapes;
use crate::traces::Traces;
use crate::units::{StartRange, Thinning, level};
use crate::view::{RequestRange, RequestView};
use laggard_assembly::{ClockAgreement, ShapeRule};
use laggard_model::{
    AttributeSetId, Fingerprint, Losses, Names, OperationId, ReplicaId, ReplicaSource, TailSampler,
    Timestamp, TraceId, WeightSource,
};
use laggard_parallel::{parallel_map, parallel_map_owned};
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

/// Assembled requests to run queries on. Built once, queried any number of times: what depends on the
/// tree structures alone (shapes) is cached, and a window is a range of the order.
#[derive(Debug, Default)]
pub struct Requests {
    names: Names,
    operations: Vec<Fingerprint>,
    structures: Vec<TreeStructure>,
    parts: Vec<MappedSlice>,
    /// All requests by start, then trace.
    order: Vec<RequestRef>,
    /// Facts about all traces; without texts, which are looked up in the slices.
    facts: SliceFacts,
    /// Notes of the reader of files; empty for slices.
    import_notes: ImportNotes,
    shapes: [OnceLock<StructureShapes>; 2],
    /// Spans and traces outside of windows, where requests outside of them were left out.
    outside: Vec<(StartRange, ReadCounts)>,
    /// `None` if all requests were taken.
    thinning: Option<Thinning>,
}

/// A slice with its handles mapped to the common names.
#[derive(Debug)]
pub(crate) struct MappedSlice {
    pub(crate) slice: Arc<RequestSlice>,
    /// Common handles by the slice's own.
    pub(crate) replicas: Arc<[ReplicaId]>,
    pub(crate) attribute_sets: Arc<[AttributeSetId]>,
    /// Common structures by the slice's own.
    structures: Vec<u32>,
}

/// The position of a request in the slices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RequestRef {
    part: u32,
    request: u32,
}

#[derive(Clone, Debug)]
struct ImportNotes {
    losses: Losses,
    texts: HashMap<TraceId, Box<str>>,
    outside_window: u64,
    thinning_factor: u64,
}

impl Default for ImportNotes {
    fn default() -> ImportNotes {
        ImportNotes { losses: Losses::none(), texts: HashMap::new(), outside_window: 0, thinning_factor: 1 }
    }
}

impl Requests {
    /// Requests of some slices, whose names may differ. No trace may be in two of them.
    pub fn from_slices(slices: Vec<Arc<RequestSlice>>, threads: NonZeroUsize) -> Requests {
        let mut names = Names::new();
        let maps: Vec<HandleMap> =
            slices.iter().map(|slice| HandleMap::new(&mut names, &slice.names)).collect();
        let (names, sorted) = HandleMap::sorted(&names);
        let maps: Vec<HandleMap> = maps.into_iter().map(|map| map.then(&sorted)).collect();
        let mut facts = SliceFacts::default();
        for (slice, map) in slices.iter().zip(&maps) {
            facts.merge_but_texts(&slice.facts, map);
        }
        let mut index = StructureIndex::default();
        let mut exchanged = Vec::new();
        let parts = std::iter::zip(slices, maps)
            .map(|(slice, map)| MappedSlice {
                structures: (slice.structures.iter())
                    .map(|structure| index.number_of(structure, &map.operations, &mut exchanged))
                    .collect(),
                replicas: map.replicas.into(),
                attribute_sets: map.attribute_sets.into(),
                slice,
            })
            .collect();
        Requests::from_parts(names, index.structures, parts, threads)
            .with_facts(facts, ImportNotes::default())
    }

    /// Requests of a span table, which is dropped bucket by bucket as its traces are assembled.
    pub fn from_traces(mut traces: Traces, threads: NonZeroUsize) -> Requests {
        let buckets: Vec<_> = std::mem::take(&mut traces.buckets);
        let attributes = &traces.attributes;
        let slices = parallel_map_owned(buckets, threads, |rows| {
            RequestSlice::from_sorted_rows(Names::new(), &rows, attributes, SliceFacts::default())
        });
        Requests::from_table(traces, slices, threads)
    }

    /// Requests of a borrowed span table.
    pub fn from_trace_table(traces: &Traces, threads: NonZeroUsize) -> Requests {
        let buckets: Vec<_> = traces.buckets.iter().collect();
        let slices = parallel_map_owned(buckets, threads, |rows| {
            RequestSlice::from_sorted_rows(Names::new(), rows, &traces.attributes, SliceFacts::default())
        });
        Requests::from_table(traces.without_rows(), slices, threads)
    }

    /// From slices in handles of the table's names.
    pub(crate) fn from_table(traces: Traces, slices: Vec<RequestSlice>, threads: NonZeroUsize) -> Requests {
        let (names, map) = HandleMap::sorted(&traces.names);
        let mut facts = SliceFacts::default();
        slices.iter().for_each(|slice| facts.merge_but_texts(&slice.facts, &map));
        facts.origins = Origins {
            identities: traces.identities,
            weight_sources: traces.weight_sources,
            tail_samplers: traces.tail_samplers,
            call_records: traces.call_records,
        };
        let mut index = StructureIndex::default();
        let mut exchanged = Vec::new();
        let replicas: Arc<[ReplicaId]> = map.replicas.into();
        let attribute_sets: Arc<[AttributeSetId]> = map.attribute_sets.into();
        let parts = (slices.into_iter())
            .map(|mut slice| MappedSlice {
                // Only the common structures are needed from here on.
                structures: std::mem::take(&mut slice.structures)
                    .into_iter()
                    .map(|structure| index.number_of(&structure, &map.operations, &mut exchanged))
                    .collect(),
                replicas: Arc::clone(&replicas),
                attribute_sets: Arc::clone(&attribute_sets),
                slice: Arc::new(slice),
            })
            .collect();
        let import_notes = ImportNotes {
            losses: traces.losses,
            texts: traces.texts,
            outside_window: traces.outside_window,
            thinning_factor: traces.thinning_factor.max(1),
        };
        Requests::from_parts(names, index.structures, parts, threads).with_facts(facts, import_notes)
    }

    fn from_parts(
        names: Names,
        structures: Vec<TreeStructure>,
        parts: Vec<MappedSlice>,
        threads: NonZeroUsize,
    ) -> Requests {
        let operations =
            (0..names.operations()).map(|index| names.fingerprint(OperationId::from_index(index))).collect();
        let order = order(&parts, threads);
        Requests { names, operations, structures, parts, order, ..Requests::default() }
    }

    fn with_facts(mut self, facts: SliceFacts, import_notes: ImportNotes) -> Requests {
        (self.facts, self.import_notes) = (facts, import_notes);
        self
    }

    pub(crate) fn with_thinning(
        mut self,
        outside: Vec<(StartRange, ReadCounts)>,
        thinning: Option<Thinning>,
    ) -> Requests {
        (self.outside, self.thinning) = (outside, thinning);
        self
    }

    /// How they were selected from more than fit in memory; `None` if all were taken.
    pub fn thinning(&self) -> Option<&Thinning> {
        self.thinning.as_ref()
    }

    /// All requests, by start and trace.
    pub fn all(&self) -> RequestRange<'_> {
        RequestRange { requests: self, from: 0, to: self.order.len() }
    }

    /// Requests that start in a window; both ends belong to it.
    pub fn within(&self, since: Timestamp, until: Timestamp) -> RequestRange<'_> {
        let start = |request_ref: &RequestRef| self.at(*request_ref).start;
        let from = self.order.partition_point(|request_ref| start(request_ref) < since);
        let to = self.order.partition_point(|request_ref| start(request_ref) <= until);
        RequestRange { requests: self, from, to: to.max(from) }
    }

    /// Spans and traces that were read, less those of requests that start outside a window, whose ends belong to it: slices of a
    /// store, and files with a baseline, hold other requests, too. What is in no request counts.
    pub fn counts_within(&self, since: Timestamp, until: Timestamp) -> ReadCounts {
        let window = since..=until;
        let known = self.outside.iter().find(|(known, _)| *known == window);
        let outside = known.map_or_else(|| self.counts_outside(since, until), |&(_, outside)| outside);
        ReadCounts {
            spans: self.spans().saturating_sub(outside.spans),
            traces: self.traces().saturating_sub(outside.traces),
        }
    }

    fn counts_outside(&self, since: Timestamp, until: Timestamp) -> ReadCounts {
        let inside = self.within(since, until);
        let (before, after) = (0..inside.first(), inside.first() + inside.len()..self.order.len());
        let outside = before.chain(after).map(|index| self.request(index));
        let (mut spans, mut traces) = (0, HashSet::new());
        for request in outside {
            spans += request.calls() as u64;
            traces.insert(request.trace());
        }
        if !traces.is_empty() {
            let inside: HashSet<TraceId> = inside.iter().map(|request| request.trace()).collect();
            traces.retain(|trace| !inside.contains(trace));
        }
        ReadCounts { spans, traces: traces.len() as u64 }
    }

    fn at(&self, request_ref: RequestRef) -> &SlicedRequest {
        &self.parts[request_ref.part as usize].slice.requests[request_ref.request as usize]
    }

    /// The n-th request in the order of start and trace.
    ///
    /// # Panics
    /// When there are no more than `n`.
    pub fn request(&self, n: usize) -> RequestView<'_> {
        let request_ref = self.order[n];
        let part = &self.parts[request_ref.part as usize];
        let request = &part.slice.requests[request_ref.request as usize];
        let structure = part.structures[request.structure as usize];
        let tree = &self.structures[structure as usize];
        let one_in =
            self.thinning.as_ref().map_or(1.0, |thinning| thinning.one_in(structure, request.complete));
        RequestView::new(n, request, (structure, tree), part, one_in)
    }

    /// Where requests were left out: whether one is in a fair sample of all, one in as many as of the kind of which most were left out; and
    /// by which factor its weight is larger there. Of all that were taken, rare kinds are too large a share. `None` if it is not in
    /// the sample; 1 for all if none were left out.
    ///
    /// # Panics
    /// When there are no so many requests.
    pub fn fair_factor(&self, n: usize) -> Option<f32> {
        let Some(thinning) = &self.thinning else { return Some(1.0) };
        let request_ref = self.order[n];
        let part = &self.parts[request_ref.part as usize];
        let request = &part.slice.requests[request_ref.request as usize];
        let one_in = thinning.one_in(part.structures[request.structure as usize], request.complete);
        let is_fair = 1_u64.checked_shl(level(request)).unwrap_or(u64::MAX) >= thinning.one_in_most;
        is_fair.then(|| thinning.one_in_most as f32 / one_in)
    }

    /// The shape of every structure; computed at first use, then cached.
    pub fn shapes(&self, rule: ShapeRule, threads: NonZeroUsize) -> &StructureShapes {
        let cached = match rule {
            ShapeRule::Exact => &self.shapes[0],
            ShapeRule::Canonical => &self.shapes[1],
        };
        cached.get_or_init(|| {
            StructureShapes::from_structures(&self.structures, rule, &self.operations, threads)
        })
    }

    /// Number of requests.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are no requests.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Names behind all handles.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Stable fingerprint of every operation, by handle.
    pub fn operations(&self) -> &[Fingerprint] {
        &self.operations
    }

    /// Distinct call trees.
    pub fn structures(&self) -> &[TreeStructure] {
        &self.structures
    }

    /// Traces they are of, and those that hold no request.
    pub fn traces(&self) -> u64 {
        self.facts.traces
    }

    /// Spans they are of, with orphans and duplicates.
    #[expect(
        clippy::misnamed_getters,
        reason = "the facts count spans without duplicates; rows are all of them"
    )]
    pub fn spans(&self) -> u64 {
        self.facts.rows
    }

    /// Losses of reading, and repairs and contradictions of assembly.
    pub fn losses(&self) -> Losses {
        let mut losses = self.import_notes.losses.clone();
        losses.merge(&self.facts.losses);
        losses
    }

    /// Of those, what was lost in reading; nothing if requests come from slices, which do not distinguish it.
    pub fn import_losses(&self) -> &Losses {
        &self.import_notes.losses
    }

    /// The others: what assembly repaired or found inconsistent. If requests come from slices, all of them.
    pub fn assembly_losses(&self) -> &Losses {
        &self.facts.losses
    }

    /// Bounds on the offsets between the clocks of replicas that called each other.
    pub fn clocks(&self) -> &ClockAgreement {
        &self.facts.clocks
    }

    /// Call-log records among what was read.
    pub fn call_records(&self) -> u64 {
        self.facts.origins.call_records
    }

    /// Spans that were dropped because they are far outside the requested window.
    pub fn outside_window(&self) -> u64 {
        self.import_notes.outside_window
    }

    /// 1, or 2, 4, 8, … when only one in this many traces was retained to stay within the memory limit.
    pub fn thinning_factor(&self) -> u64 {
        self.import_notes.thinning_factor
    }

    /// Start of the earliest and the latest span, each on its own clock; `None` without spans.
    pub fn extent(&self) -> Option<(Timestamp, Timestamp)> {
        self.facts.extent
    }

    /// Spans by what identified their replica; sources without a span are left out.
    pub fn identities(&self) -> impl Iterator<Item = (ReplicaSource, u64)> + '_ {
        ReplicaSource::ALL.into_iter().zip(self.facts.origins.identities).filter(|&(_, spans)| spans > 0)
    }

    /// Spans by the source of their adjusted count; sources without a span are left out, and so are spans
    /// without sampling attributes.
    pub fn weight_sources(&self) -> impl Iterator<Item = (WeightSource, u64)> + '_ {
        let counted = |&(source, spans): &(WeightSource, u64)| spans > 0 && source != WeightSource::Unknown;
        WeightSource::ALL.into_iter().zip(self.facts.origins.weight_sources).filter(counted)
    }

    /// Spans by the tail sampler that left its mark on them; samplers without a span are left out.
    pub fn tail_samplers(&self) -> impl Iterator<Item = (TailSampler, u64)> + '_ {
        TailSampler::ALL.into_iter().zip(self.facts.origins.tail_samplers).filter(|&(_, spans)| spans > 0)
    }

    /// The id of a trace as received. `O(texts)` where requests come from slices.
    pub fn trace_text(&self, trace: TraceId) -> String {
        let slice_text =
            |part: &MappedSlice| part.slice.facts.texts.iter().find(|(known, _)| *known == trace).cloned();
        let known = self.import_notes.texts.get(&trace).map(|text| text.to_string());
        known
            .or_else(|| self.parts.iter().find_map(slice_text).map(|(_, text)| text.into_string()))
            .unwrap_or_else(|| trace.to_string())
    }
}

/// A request's position and its sort key.
#[derive(Clone, Copy)]
struct RankedRequest {
    trace: TraceId,
    start: Timestamp,
    request_ref: RequestRef,
}

/// All requests by start, then trace. Every slice is in that order, so sorting is merging.
fn order(parts: &[MappedSlice], threads: NonZeroUsize) -> Vec<RequestRef> {
    let share = parts.len().div_ceil(threads.get()).max(1);
    let groups: Vec<(usize, &[MappedSlice])> =
        parts.chunks(share).enumerate().map(|(index, group)| (index * share, group)).collect();
    let mut ranked = parallel_map(&groups, threads, |(first, group)| {
        let mut ranked = Vec::with_capacity(group.iter().map(|part| part.slice.requests.len()).sum());
        for (part, number) in group.iter().zip(*first as u32..) {
            ranked.extend(part.slice.requests.iter().zip(0..).map(|(request, index)| RankedRequest {
                trace: request.trace,
                start: request.start,
                request_ref: RequestRef { part: number, request: index },
            }));
        }
        ranked.sort_by_key(key);
        ranked
    });
    if ranked.len() == 1 {
        return ranked.remove(0).into_iter().map(|ranked| ranked.request_ref).collect();
    }
    let mut all = ranked.concat();
    drop(ranked);
    all.sort_by_key(key);
    all.into_iter().map(|ranked| ranked.request_ref).collect()
}

fn key(ranked: &RankedRequest) -> (Timestamp, TraceId) {
    (ranked.start, ranked.trace)
}
