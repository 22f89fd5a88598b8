//! Requests of several slices as one: in common names, common forms and one order.
//!
//! ```text
//! RequestSlice (names 0, forms 0) ─┐                           ┌─ order by start and trace
//! RequestSlice (names 1, forms 1) ─┴─► names and forms of all ─┴─► any window ─► LocalEngine::fold
//! ```

use crate::Origins;
use crate::form_shapes::FormShapes;
use crate::forms::FormIndex;
use crate::handles::HandleMap;
use crate::parallel::{in_order, in_parallel};
use crate::requests::{RequestSlice, SliceFacts, SlicedRequest, TreeForm};
use crate::traces::Traces;
use crate::view::{RequestRange, RequestView};
use laggard_assembly::{ClockAgreement, ShapeRule};
use laggard_model::{
    Fingerprint, Losses, Names, OperationId, ReplicaId, ReplicaSource, TailSampler, Timestamp, TraceId,
    WeightSource,
};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

/// Assembled requests that questions are asked about. Made once, asked as often as wanted: what depends on the
/// forms alone (shapes) is kept, and a window is a stretch of the order.
#[derive(Debug, Default)]
pub struct Requests {
    names: Names,
    operations: Vec<Fingerprint>,
    forms: Vec<TreeForm>,
    parts: Vec<Part>,
    /// All requests by start, then trace.
    order: Vec<Place>,
    /// What is told of all traces; without texts, which are looked up where they are.
    facts: SliceFacts,
    /// What only the reader of files knows.
    reading: Reading,
    shapes: [OnceLock<FormShapes>; 2],
}

/// A slice in the common names.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) slice: Arc<RequestSlice>,
    /// Common handles by the slice's own.
    pub(crate) replicas: Arc<[ReplicaId]>,
    /// Common forms by the slice's own.
    forms: Vec<u32>,
}

/// Where a request is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    part: u32,
    at: u32,
}

#[derive(Clone, Debug)]
struct Reading {
    losses: Losses,
    texts: HashMap<TraceId, Box<str>>,
    outside_window: u64,
    kept_one_in: u64,
}

impl Default for Reading {
    fn default() -> Reading {
        Reading { losses: Losses::none(), texts: HashMap::new(), outside_window: 0, kept_one_in: 1 }
    }
}

impl Requests {
    /// Requests of some slices, whose names may differ. No trace may be in two of them.
    pub fn of_slices(slices: Vec<Arc<RequestSlice>>, threads: NonZeroUsize) -> Requests {
        let mut names = Names::new();
        let maps: Vec<HandleMap> =
            slices.iter().map(|slice| HandleMap::new(&mut names, &slice.names)).collect();
        let mut facts = SliceFacts::default();
        for (slice, map) in slices.iter().zip(&maps) {
            facts.merge_but_texts(&slice.facts, map);
        }
        let mut index = FormIndex::default();
        let mut exchanged = Vec::new();
        let parts = std::iter::zip(slices, maps)
            .map(|(slice, map)| Part {
                forms: (slice.forms.iter())
                    .map(|form| index.number_of(form, &map.operations, &mut exchanged))
                    .collect(),
                replicas: map.replicas.into(),
                slice,
            })
            .collect();
        Requests::of_parts(names, index.forms, parts, threads).with_facts(facts, Reading::default())
    }

    /// Requests of a span table, which is let go of bucket by bucket as its traces are assembled.
    pub fn from_traces(mut traces: Traces, threads: NonZeroUsize) -> Requests {
        let buckets: Vec<_> = std::mem::take(&mut traces.buckets);
        let slices = in_order(buckets, threads, |rows| {
            RequestSlice::of_sorted(Names::new(), &rows, SliceFacts::default())
        });
        Requests::of_table(traces, slices, threads)
    }

    /// Requests of a span table that stays.
    pub fn of_traces(traces: &Traces, threads: NonZeroUsize) -> Requests {
        let buckets: Vec<_> = traces.buckets.iter().collect();
        let slices = in_order(buckets, threads, |rows| {
            RequestSlice::of_sorted(Names::new(), rows, SliceFacts::default())
        });
        Requests::of_table(traces.without_rows(), slices, threads)
    }

    /// From slices in handles of the table's names.
    fn of_table(traces: Traces, slices: Vec<RequestSlice>, threads: NonZeroUsize) -> Requests {
        let map = HandleMap::identity(&traces.names);
        let mut facts = SliceFacts::default();
        slices.iter().for_each(|slice| facts.merge_but_texts(&slice.facts, &map));
        facts.origins = Origins {
            identities: traces.identities,
            weight_sources: traces.weight_sources,
            tail_samplers: traces.tail_samplers,
            call_records: traces.call_records,
        };
        let mut index = FormIndex::default();
        let replicas: Arc<[ReplicaId]> = map.replicas.into();
        let parts = (slices.into_iter())
            .map(|mut slice| Part {
                // The common forms are all that is needed of them.
                forms: std::mem::take(&mut slice.forms).into_iter().map(|form| index.take(form)).collect(),
                replicas: Arc::clone(&replicas),
                slice: Arc::new(slice),
            })
            .collect();
        let reading = Reading {
            losses: traces.losses,
            texts: traces.texts,
            outside_window: traces.outside_window,
            kept_one_in: traces.kept_one_in.max(1),
        };
        Requests::of_parts(traces.names, index.forms, parts, threads).with_facts(facts, reading)
    }

    fn of_parts(names: Names, forms: Vec<TreeForm>, parts: Vec<Part>, threads: NonZeroUsize) -> Requests {
        let operations =
            (0..names.operations()).map(|at| names.fingerprint(OperationId::from_index(at))).collect();
        let order = order(&parts, threads);
        Requests { names, operations, forms, parts, order, ..Requests::default() }
    }

    fn with_facts(mut self, facts: SliceFacts, reading: Reading) -> Requests {
        (self.facts, self.reading) = (facts, reading);
        self
    }

    /// All requests, by start and trace.
    pub fn all(&self) -> RequestRange<'_> {
        RequestRange { requests: self, from: 0, to: self.order.len() }
    }

    /// Requests that start in a window; both ends belong to it.
    pub fn within(&self, since: Timestamp, until: Timestamp) -> RequestRange<'_> {
        let start = |place: &Place| self.at(*place).start;
        let from = self.order.partition_point(|place| start(place) < since);
        let to = self.order.partition_point(|place| start(place) <= until);
        RequestRange { requests: self, from, to: to.max(from) }
    }

    fn at(&self, place: Place) -> &SlicedRequest {
        &self.parts[place.part as usize].slice.requests[place.at as usize]
    }

    /// The n-th request in the order of start and trace.
    ///
    /// # Panics
    /// When there are no more than `n`.
    pub fn request(&self, n: usize) -> RequestView<'_> {
        let place = self.order[n];
        let part = &self.parts[place.part as usize];
        let request = &part.slice.requests[place.at as usize];
        let form = part.forms[request.form as usize];
        RequestView::new(n, request, form, &self.forms[form as usize], part)
    }

    /// The shape of every form; computed at first use, then kept.
    pub fn shapes(&self, rule: ShapeRule, threads: NonZeroUsize) -> &FormShapes {
        let kept = match rule {
            ShapeRule::Exact => &self.shapes[0],
            ShapeRule::Canonical => &self.shapes[1],
        };
        kept.get_or_init(|| FormShapes::of(&self.forms, rule, &self.operations, threads))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there is none.
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
    pub fn forms(&self) -> &[TreeForm] {
        &self.forms
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

    /// The same without duplicates.
    pub fn distinct_spans(&self) -> u64 {
        self.facts.spans
    }

    /// What was lost in reading and what assembly repaired or mistrusted.
    pub fn losses(&self) -> Losses {
        let mut losses = self.reading.losses.clone();
        losses.merge(&self.facts.losses);
        losses
    }

    /// Of those, what was lost in reading; nothing where requests come from slices, which do not tell it apart.
    pub fn reading_losses(&self) -> &Losses {
        &self.reading.losses
    }

    /// The others: what assembly repaired or mistrusted. Where requests come from slices, all of them.
    pub fn assembly_losses(&self) -> &Losses {
        &self.facts.losses
    }

    /// What is known of the clocks.
    pub fn clocks(&self) -> &ClockAgreement {
        &self.facts.clocks
    }

    /// Call-log records among what was read.
    pub fn call_records(&self) -> u64 {
        self.facts.origins.call_records
    }

    /// Spans that were not kept because they lie far outside the window that was asked for.
    pub fn outside_window(&self) -> u64 {
        self.reading.outside_window
    }

    /// 1, or 2, 4, 8, … when only one in so many traces was kept to stay within the memory limit.
    pub fn kept_one_in(&self) -> u64 {
        self.reading.kept_one_in
    }

    /// Start of the earliest and the latest span, each on its own clock; `None` without spans.
    pub fn extent(&self) -> Option<(Timestamp, Timestamp)> {
        self.facts.extent
    }

    /// Spans by what identified their replica; sources without a span are left out.
    pub fn identities(&self) -> impl Iterator<Item = (ReplicaSource, u64)> + '_ {
        ReplicaSource::ALL.into_iter().zip(self.facts.origins.identities).filter(|&(_, spans)| spans > 0)
    }

    /// Spans by what told their adjusted count; sources without a span are left out, and so are spans that
    /// tell nothing of their sampling.
    pub fn weight_sources(&self) -> impl Iterator<Item = (WeightSource, u64)> + '_ {
        let told = |&(source, spans): &(WeightSource, u64)| spans > 0 && source != WeightSource::Untold;
        WeightSource::ALL.into_iter().zip(self.facts.origins.weight_sources).filter(told)
    }

    /// Spans by the tail sampler that left its mark on them; samplers without a span are left out.
    pub fn tail_samplers(&self) -> impl Iterator<Item = (TailSampler, u64)> + '_ {
        TailSampler::ALL.into_iter().zip(self.facts.origins.tail_samplers).filter(|&(_, spans)| spans > 0)
    }

    /// The id of a trace as it was given. `O(texts)` where requests come from slices.
    pub fn trace_text(&self, trace: TraceId) -> String {
        let of_slice =
            |part: &Part| part.slice.facts.texts.iter().find(|(known, _)| *known == trace).cloned();
        let kept = self.reading.texts.get(&trace).map(|text| text.to_string());
        kept.or_else(|| self.parts.iter().find_map(of_slice).map(|(_, text)| text.into_string()))
            .unwrap_or_else(|| trace.to_string())
    }
}

impl SliceFacts {
    fn merge_but_texts(&mut self, later: &SliceFacts, map: &HandleMap) {
        self.merge(later, map);
        self.texts.clear();
    }
}

/// A request's place and what it is ordered by.
#[derive(Clone, Copy)]
struct Ranked {
    trace: TraceId,
    start: Timestamp,
    place: Place,
}

/// All requests by start, then trace. Every slice is in that order, so sorting is merging.
fn order(parts: &[Part], threads: NonZeroUsize) -> Vec<Place> {
    let share = parts.len().div_ceil(threads.get()).max(1);
    let groups: Vec<(usize, &[Part])> =
        parts.chunks(share).enumerate().map(|(at, group)| (at * share, group)).collect();
    let mut ranked = in_parallel(&groups, threads, |(first, group)| {
        let mut ranked = Vec::with_capacity(group.iter().map(|part| part.slice.requests.len()).sum());
        for (part, of) in group.iter().zip(*first as u32..) {
            ranked.extend(part.slice.requests.iter().zip(0..).map(|(request, at)| Ranked {
                trace: request.trace,
                start: request.start,
                place: Place { part: of, at },
            }));
        }
        ranked.sort_by_key(key);
        ranked
    });
    if ranked.len() == 1 {
        return ranked.remove(0).into_iter().map(|ranked| ranked.place).collect();
    }
    let mut all = ranked.concat();
    drop(ranked);
    all.sort_by_key(key);
    all.into_iter().map(|ranked| ranked.place).collect()
}

fn key(ranked: &Ranked) -> (Timestamp, TraceId) {
    (ranked.start, ranked.trace)
}
