//! Whether requests got slower or the mix of requests changed.

use crate::sites::change::latency_shift;
use crate::sites::table::{Observation, SiteRequest, SiteTable};
use laggard_model::{Fingerprint, OperationId};
use laggard_numeric::{mean, sample_std, student_upper_tail};
use std::collections::{BTreeMap, BTreeSet};

/// Mean latencies of the baseline's requests.
pub struct UsualLatency<'a> {
    entries: &'a BTreeMap<Fingerprint, OperationId>,
    by_shape: BTreeMap<Fingerprint, MeanLatency>,
    /// By entry, of requests whose shape the baseline lacks.
    unseen: BTreeMap<OperationId, f64>,
    overall_ns: f64,
}

#[derive(Clone, Copy, Default)]
struct MeanLatency {
    time_ns: f64,
    weight: f64,
    requests: usize,
}

impl MeanLatency {
    fn add(&mut self, other: MeanLatency) {
        self.time_ns += other.time_ns;
        self.weight += other.weight;
        self.requests += other.requests;
    }

    fn mean_ns(&self) -> f64 {
        self.time_ns / self.weight
    }
}

/// Requests of one entry.
#[derive(Default)]
struct OfEntry {
    /// Of the baseline, those that are the only ones of their shape, and the others.
    unique: MeanLatency,
    others: MeanLatency,
    /// Weight of the window's requests, and of those whose shape the baseline lacks.
    window: f64,
    unseen: f64,
}

impl OfEntry {
    /// How long requests whose shape the baseline lacks are expected to take, nanoseconds.
    fn unseen_ns(&self) -> f64 {
        let (unique, mut all) = (self.unique, self.others);
        all.add(unique);
        if unique.requests < UNIQUE_MIN || self.others.requests == 0 {
            return all.mean_ns();
        }
        let by_chance = (unique.weight / all.weight * self.window / self.unseen).min(1.0);
        by_chance * unique.mean_ns() + (1.0 - by_chance) * self.others.mean_ns()
    }
}

/// Fewest requests of an entry with a shape of their own that show how long another one takes.
const UNIQUE_MIN: usize = 20;

impl UsualLatency<'_> {
    /// Of the requests of a baseline, for those of a window. `entries` has the entry operation of shapes.
    pub fn new<'a>(
        baseline: &SiteTable,
        window: &SiteTable,
        entries: &'a BTreeMap<Fingerprint, OperationId>,
    ) -> UsualLatency<'a> {
        let by_shape = by_shape(baseline);
        let mut by_entry: BTreeMap<OperationId, OfEntry> = BTreeMap::new();
        for (shape, sum) in &by_shape {
            let Some(&entry) = entries.get(shape) else { continue };
            let of_entry = by_entry.entry(entry).or_default();
            if sum.requests == 1 { of_entry.unique.add(*sum) } else { of_entry.others.add(*sum) }
        }
        for (shape, sum) in self::by_shape(window) {
            let Some(of_entry) = entries.get(&shape).and_then(|entry| by_entry.get_mut(entry)) else {
                continue;
            };
            of_entry.window += sum.weight;
            of_entry.unseen += if by_shape.contains_key(&shape) { 0.0 } else { sum.weight };
        }
        let unseen = by_entry.iter().map(|(&entry, of_entry)| (entry, of_entry.unseen_ns())).collect();
        UsualLatency { entries, by_shape, unseen, overall_ns: mean_latency_ns(baseline) }
    }

    /// The mean latency of requests of a shape, nanoseconds. Of the requests whose shape the baseline lacks, a share is
    /// expected by chance: that of requests that are the only ones of their shape in the baseline (Good, *Biometrika* 40,
    /// 1953). They take as long as these: of many shapes, rare ones have the most calls. Further ones, such as requests that
    /// fail early now, replace others of the same entry, or of all entries.
    pub fn of(&self, shape: &Fingerprint) -> f64 {
        let unseen = || self.unseen.get(self.entries.get(shape)?).copied();
        let known = self.by_shape.get(shape).map(MeanLatency::mean_ns);
        known.or_else(unseen).unwrap_or(self.overall_ns)
    }
}

fn by_shape(table: &SiteTable) -> BTreeMap<Fingerprint, MeanLatency> {
    let mut by_shape: BTreeMap<Fingerprint, MeanLatency> = BTreeMap::new();
    for request in &table.requests {
        let shape = table.categories[request.category as usize];
        let weight = f64::from(request.weight);
        let of_one = MeanLatency { time_ns: weight * request.latency_ns, weight, requests: 1 };
        by_shape.entry(shape).or_default().add(of_one);
    }
    by_shape
}

fn mean_latency_ns(table: &SiteTable) -> f64 {
    let weight: f64 = table.requests.iter().map(|request| f64::from(request.weight)).sum();
    table.latency_total_ns() / weight.max(1e-9)
}

/// How much longer the window's requests took than the baseline's of the same shape, nanoseconds, weighted; and
/// how much the mean would have moved because the shares of shapes changed. `usual` is that of the baseline.
pub fn latency_change(baseline: &SiteTable, window: &SiteTable, usual: &UsualLatency<'_>) -> LatencyChange {
    let mut out = LatencyChange {
        baseline_mean_ns: usual.overall_ns,
        window_mean_ns: mean_latency_ns(window),
        ..Default::default()
    };
    let by_category: Vec<f64> = window.categories.iter().map(|shape| usual.of(shape)).collect();
    let mut total = 0.0;
    for request in &window.requests {
        let weight = f64::from(request.weight);
        total += weight;
        let expected = by_category[request.category as usize];
        out.slower_ns += weight * (request.latency_ns - expected);
        out.mix_ns += weight * (expected - usual.overall_ns);
    }
    out.slower_mean_ns = out.slower_ns / total.max(1e-9);
    out.mix_mean_ns = out.mix_ns / total.max(1e-9);
    let by_category: Vec<f64> = baseline.categories.iter().map(|shape| usual.of(shape)).collect();
    out.is_unusual =
        is_unusual(out.slower_mean_ns, &batch_means(baseline, window.requests.len(), &by_category));
    let expected_ns = out.window_mean_ns - out.slower_mean_ns;
    let is_material = out.slower_mean_ns >= MATERIAL_PART_MIN * expected_ns;
    let (earlier, now) = comparable_requests(baseline, window);
    let shift = latency_shift((baseline, &earlier), (window, &now));
    out.is_certain = is_material && shift.is_some_and(|shift| shift.p_value(0.0) <= CERTAIN_LEVEL);
    out
}

/// Requests of baseline and window, each as one observation. Those of shapes that only one of both has are left out if the others are enough: they
/// are not the same requests.
fn comparable_requests(baseline: &SiteTable, window: &SiteTable) -> (Vec<Observation>, Vec<Observation>) {
    let shape = |table: &SiteTable, row: &SiteRequest| table.categories[row.category as usize];
    let shapes = |table: &SiteTable| -> BTreeSet<Fingerprint> {
        table.requests.iter().map(|row| shape(table, row)).collect()
    };
    let observations = |table: &SiteTable, known: Option<&BTreeSet<Fingerprint>>| -> Vec<Observation> {
        let is_known = |row: &SiteRequest| known.is_none_or(|known| known.contains(&shape(table, row)));
        let observation = |(request, row): (u32, &SiteRequest)| {
            let time_ns = row.latency_ns as f32;
            Observation { request, set: 0, calls: 1, time_ns, path_ns: time_ns }
        };
        (0..).zip(&table.requests).filter(|(_, row)| is_known(row)).map(observation).collect()
    };
    let now = observations(window, Some(&shapes(baseline)));
    if now.len() as f64 >= KNOWN_SHARE_MIN * window.requests.len() as f64 {
        return (observations(baseline, Some(&shapes(window))), now);
    }
    (observations(baseline, None), observations(window, None))
}

/// How much longer requests take than expected in every batch of a number of requests, nanoseconds.
fn batch_means(table: &SiteTable, batch: usize, expected: &[f64]) -> Vec<f64> {
    let batches = table.requests.chunks_exact(batch.max(1));
    let batch_mean = |requests: &[SiteRequest]| {
        let weight: f64 = requests.iter().map(|request| f64::from(request.weight)).sum();
        let excess = |request: &SiteRequest| {
            f64::from(request.weight) * (request.latency_ns - expected[request.category as usize])
        };
        requests.iter().map(excess).sum::<f64>() / weight.max(1e-9)
    };
    batches.map(batch_mean).collect()
}

/// Requests are certainly slower if they take longer by at least this part of what was expected …
const MATERIAL_PART_MIN: f64 = 0.05;
/// … and their level differs at this one-sided level.
const CERTAIN_LEVEL: f64 = 0.005;
/// From this share of the window's requests on, those of shapes that the baseline has show whether requests are slower.
const KNOWN_SHARE_MIN: f64 = 0.5;
/// Fewest batches that show how much a mean varies.
const BATCHES_MIN: usize = 3;
/// One-sided level of the test of the mean.
const UNUSUAL_LEVEL: f64 = 0.01;

fn is_unusual(slower_mean_ns: f64, batches: &[f64]) -> bool {
    if batches.len() < BATCHES_MIN {
        return true;
    }
    let count = batches.len() as f64;
    let error = sample_std(batches) * (1.0 + 1.0 / count).sqrt();
    student_upper_tail((slower_mean_ns - mean(batches)) / error.max(1.0), count - 1.0) <= UNUSUAL_LEVEL
}

/// A change of mean latency, split into slower requests and a different mix.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LatencyChange {
    /// Mean latency of the baseline, nanoseconds.
    pub baseline_mean_ns: f64,
    /// Mean latency of the window, nanoseconds.
    pub window_mean_ns: f64,
    /// Sum over the window's requests of latency minus the mean of baseline requests of the same shape ([`UsualLatency::of`]
    /// for shapes that the baseline lacks), nanoseconds.
    pub slower_ns: f64,
    /// Sum attributed to the mix of shapes, nanoseconds.
    pub mix_ns: f64,
    /// `slower_ns` per request.
    pub slower_mean_ns: f64,
    /// Whether the requests are slower than those of the same shape are from one part of the baseline to the next; also
    /// without enough parts to say so.
    pub is_unusual: bool,
    /// Whether the requests are slower by a material amount, and by more than levels drift.
    pub is_certain: bool,
    /// `mix_ns` per request; with `slower_mean_ns` it is the total change.
    pub mix_mean_ns: f64,
}
