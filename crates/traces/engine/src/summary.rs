//! Summaries of slices for overview charts, which then need no calls.

use crate::handles::HandleMap;
use crate::slice_builder::join;
use crate::{RequestSlice, SlicedRequest};
use laggard_assembly::{Shape, ShapeRule, Shaper};
use laggard_model::{
    AdjustedCount, Fingerprint, LogHistogram, Names, Nanos, OperationId, ReplicaId, Status, Timestamp,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Requests of a slice by category and time interval, with handles into its own names.
#[derive(Clone, Debug, Default)]
pub struct SliceSummary {
    /// Names behind the handles.
    pub names: Names,
    /// Categories by entry and kind.
    pub categories: Vec<SummaryCategory>,
    /// One cell per interval and category: by start, then category.
    pub cells: Vec<SummaryCell>,
    /// Which operation ran on which replica; sorted.
    pub homes: Vec<(OperationId, ReplicaId)>,
    /// Start of the earliest and the latest span.
    pub extent: Option<(Timestamp, Timestamp)>,
    /// Traces.
    pub traces: u64,
    /// Spans, without duplicates.
    pub spans: u64,
}

/// Requests that are counted together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SummaryCategory {
    /// Where they enter.
    pub entry: OperationId,
    /// Their common structure.
    pub kind: SummaryKind,
    /// Positions of their call tree; 0 where they have no tree in common.
    pub positions: u32,
}

/// Common structure of the requests of a [`SummaryCategory`], besides their entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SummaryKind {
    /// The canonical shape of their call tree, by its fingerprint: a category as `diagnose` knows it.
    Shape(Fingerprint),
    /// They are incomplete.
    Incomplete,
    /// Their shapes are the rarest of a slice that has more than [`SliceSummary::SHAPES_MAX`].
    Other,
}

/// Requests of one category that start in one time interval.
#[derive(Clone, PartialEq, Debug)]
pub struct SummaryCell {
    /// Start of the interval: a multiple of its length since the epoch.
    pub start: Timestamp,
    /// An index into [`SliceSummary::categories`].
    pub category: u32,
    /// Requests.
    pub requests: u64,
    /// Requests whose entry failed.
    pub errors: u64,
    /// How many requests they represent; one without an adjusted count counts as one. Exact up to 2^30.
    pub weight: f64,
    /// Sum of their latencies, nanoseconds.
    pub latency_sum_ns: u128,
    /// Sum of the squares of their latencies, square nanoseconds, saturating.
    pub latency_squares_ns2: u128,
    /// Their latencies, each request counted once. Bins are 1/32 of their lower end wide.
    pub latency: LogHistogram<5>,
}

impl SummaryCell {
    fn new(start: Timestamp, category: u32) -> SummaryCell {
        SummaryCell {
            start,
            category,
            requests: 0,
            errors: 0,
            weight: 0.0,
            latency_sum_ns: 0,
            latency_squares_ns2: 0,
            latency: LogHistogram::default(),
        }
    }

    fn add(&mut self, request: &SlicedRequest, latency: Nanos) {
        let ns = u128::from(latency.ns());
        self.requests += 1;
        self.errors += u64::from(request.status == Status::Error);
        self.weight += f64::from(request.adjusted_count.unwrap_or(AdjustedCount::ONE).get());
        self.latency_sum_ns = self.latency_sum_ns.saturating_add(ns);
        self.latency_squares_ns2 = self.latency_squares_ns2.saturating_add(ns * ns);
        self.latency.add(latency.ns());
    }

    /// Adds the counts of another cell, of any time and category.
    pub fn merge(&mut self, other: &SummaryCell) {
        self.requests += other.requests;
        self.errors += other.errors;
        self.weight += other.weight;
        self.latency_sum_ns = self.latency_sum_ns.saturating_add(other.latency_sum_ns);
        self.latency_squares_ns2 = self.latency_squares_ns2.saturating_add(other.latency_squares_ns2);
        self.latency.merge(&other.latency);
    }

    /// Mean latency, nanoseconds; `None` without requests.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.latency_sum_ns as f64 / self.requests as f64)
    }

    /// Standard deviation of the latencies over their mean; `None` when the mean is not above 0.
    pub fn coefficient_of_variation(&self) -> Option<f64> {
        let mean = self.mean_ns().filter(|mean| *mean > 0.0)?;
        let variance = self.latency_squares_ns2 as f64 / self.requests as f64 - mean * mean;
        Some(variance.max(0.0).sqrt() / mean)
    }
}

impl SliceSummary {
    /// Maximum number of shapes of a slice with categories of their own.
    pub const SHAPES_MAX: usize = 1000;

    /// Summarizes a slice by intervals of this length (0 is treated as 1 ns).
    pub fn from_slice(slice: &RequestSlice, interval: Nanos) -> SliceSummary {
        let kinds = StructureKinds::from_slice(slice);
        let mut categories: BTreeMap<SummaryCategory, u32> = BTreeMap::new();
        slice.requests.iter().for_each(|request| {
            categories.insert(kinds.category(slice, request), 0);
        });
        categories.values_mut().zip(0..).for_each(|(number, next)| *number = next);
        let mut cells: BTreeMap<(Timestamp, u32), SummaryCell> = BTreeMap::new();
        for request in &slice.requests {
            let start = interval_start(request.start, interval);
            let category = categories[&kinds.category(slice, request)];
            let latency = slice.calls.inclusive_time.get(request.first_call as usize);
            let cell = cells.entry((start, category)).or_insert_with(|| SummaryCell::new(start, category));
            cell.add(request, latency);
        }
        SliceSummary {
            names: slice.names.clone(),
            categories: categories.into_keys().collect(),
            cells: cells.into_values().collect(),
            homes: homes(slice),
            extent: slice.facts.extent,
            traces: slice.facts.traces,
            spans: slice.facts.spans,
        }
    }

    /// Merges summaries with intervals of equal length; handles are those of the result's own names.
    pub fn merge<'a>(summaries: impl IntoIterator<Item = &'a SliceSummary>) -> SliceSummary {
        let mut out = SliceSummary::default();
        let mut categories: HashMap<SummaryCategory, u32> = HashMap::new();
        let mut cells: BTreeMap<(Timestamp, u32), SummaryCell> = BTreeMap::new();
        let mut homes = BTreeSet::new();
        for summary in summaries {
            let map = HandleMap::new(&mut out.names, &summary.names);
            let numbers: Vec<u32> = (summary.categories.iter())
                .map(|category| SummaryCategory { entry: map.operation(category.entry), ..*category })
                .map(|category| {
                    let next = categories.len() as u32;
                    *categories.entry(category).or_insert_with(|| {
                        out.categories.push(category);
                        next
                    })
                })
                .collect();
            for cell in &summary.cells {
                let category = numbers[cell.category as usize];
                let known = cells.entry((cell.start, category));
                known.or_insert_with(|| SummaryCell::new(cell.start, category)).merge(cell);
            }
            homes.extend(
                summary.homes.iter().map(|&(own, replica)| (map.operation(own), map.replica(replica))),
            );
            out.extent = join(out.extent, summary.extent);
            out.traces += summary.traces;
            out.spans += summary.spans;
        }
        out.cells = cells.into_values().collect();
        out.homes = homes.into_iter().collect();
        out
    }
}

fn interval_start(time: Timestamp, interval: Nanos) -> Timestamp {
    let length = i64::try_from(interval.ns()).unwrap_or(i64::MAX).max(1);
    Timestamp::from_unix_ns(time.unix_ns().saturating_sub(time.unix_ns().rem_euclid(length)))
}

fn homes(slice: &RequestSlice) -> Vec<(OperationId, ReplicaId)> {
    let mut homes = BTreeSet::new();
    for request in &slice.requests {
        let structure = &slice.structures[request.structure as usize];
        let replicas = &slice.calls.replica[request.first_call as usize..];
        homes.extend(structure.operation.iter().copied().zip(replicas.iter().copied()));
    }
    homes.into_iter().collect()
}

/// The kind that the requests of each structure are counted as.
struct StructureKinds {
    by_structure: Vec<(SummaryKind, u32)>,
}

impl StructureKinds {
    fn from_slice(slice: &RequestSlice) -> StructureKinds {
        let names = &slice.names;
        let operations: Vec<Fingerprint> =
            (0..names.operations()).map(|index| names.fingerprint(OperationId::from_index(index))).collect();
        let mut shaper = Shaper::new(ShapeRule::Canonical, &operations);
        let shapes: Vec<Shape> =
            slice.structures.iter().map(|structure| shaper.shape_of(structure.columns())).collect();
        let mut requests: HashMap<Fingerprint, u64> = HashMap::new();
        for request in slice.requests.iter().filter(|request| request.complete) {
            *requests.entry(shapes[request.structure as usize].fingerprint).or_default() += 1;
        }
        let mut order: Vec<(u64, Fingerprint)> =
            requests.into_iter().map(|(id, count)| (count, id)).collect();
        order.sort_unstable_by_key(|&(count, id)| (std::cmp::Reverse(count), id));
        let separate: BTreeSet<Fingerprint> =
            order.into_iter().take(SliceSummary::SHAPES_MAX).map(|(_, id)| id).collect();
        let kind = |shape: &Shape| match separate.contains(&shape.fingerprint) {
            true => (SummaryKind::Shape(shape.fingerprint), shape.positions.len() as u32),
            false => (SummaryKind::Other, 0),
        };
        StructureKinds { by_structure: shapes.iter().map(kind).collect() }
    }

    fn category(&self, slice: &RequestSlice, request: &SlicedRequest) -> SummaryCategory {
        let entry = slice.structures[request.structure as usize].operation[0];
        let (kind, positions) = match request.complete {
            true => self.by_structure[request.structure as usize],
            false => (SummaryKind::Incomplete, 0),
        };
        SummaryCategory { entry, kind, positions }
    }
}
