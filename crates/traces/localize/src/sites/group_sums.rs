//! Log times of one site, summed by group and part of a period.

use crate::sites::blocks::{Expected, ExpectedRatios};
use crate::sites::bulk::Bulk;
use crate::sites::per_category::Keyed;
use crate::sites::sets::Fast;
use crate::sites::table::Observation;
use laggard_model::ReplicaId;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Fewest parts in which a replica and its peers have calls.
const COMPARED_PARTS_MIN: usize = 5;

/// A table whose requests or observations belong to groups: the replicas that took part, or others numbered like them.
pub(crate) struct Grouped<'a> {
    pub(crate) table: &'a Keyed<'a>,
    /// Members of each set.
    pub(crate) sets: &'a [Vec<ReplicaId>],
    /// The set of every request; `None` for those of the observations.
    pub(crate) by_request: Option<&'a [u32]>,
}

impl Grouped<'_> {
    fn set(&self, row: &Observation) -> u32 {
        self.by_request.map_or(row.set, |sets| sets[row.request as usize])
    }

    pub(crate) fn members(&self, row: &Observation) -> &[ReplicaId] {
        &self.sets[self.set(row) as usize]
    }
}

/// Sum and number of the logarithms of some observations.
#[derive(Clone, Copy, Default)]
pub(crate) struct LogSum {
    pub(crate) count: f64,
    sum: f64,
    /// Of the logarithms that are limited to the site's bulk.
    clipped: f64,
}

impl LogSum {
    pub(crate) fn add(&mut self, other: LogSum) {
        self.count += other.count;
        self.sum += other.sum;
        self.clipped += other.clipped;
    }

    pub(crate) fn mean(self) -> f64 {
        self.sum / self.count
    }

    fn minus(self, other: LogSum) -> LogSum {
        LogSum {
            count: self.count - other.count,
            sum: self.sum - other.sum,
            clipped: self.clipped - other.clipped,
        }
    }

    /// Mean of the clipped logarithms.
    pub(crate) fn level(self) -> f64 {
        self.clipped / self.count
    }
}

/// Log time over the expected time, by replica and part.
pub(crate) struct Sums {
    pub(crate) by_replica: BTreeMap<ReplicaId, Vec<LogSum>>,
    /// Culprits: no replica's peers.
    pub(crate) left_out: BTreeSet<ReplicaId>,
    /// Of all replicas that are not left out, by part.
    normal: Vec<LogSum>,
}

impl Sums {
    /// Of all groups, without peers that are culprits. An observation of a culprit and another group, such as the two ends of a call, says
    /// nothing about the other one, and counts only for the culprit.
    pub(crate) fn new(
        grouped: &Grouped<'_>,
        rows: &[Observation],
        (expected, bulk): (&Expected, Bulk),
        parts: usize,
        culprits: &BTreeSet<ReplicaId>,
    ) -> Sums {
        let table = grouped.table;
        let mut by_set: HashMap<u32, Vec<LogSum>, Fast> = HashMap::default();
        let mut ratios = ExpectedRatios::new(table, expected);
        for row in rows {
            let part = row.request as usize * parts / table.requests.len();
            let log = ratios.log(row);
            let log = LogSum { count: 1.0, sum: log, clipped: bulk.clip(log) };
            let sums = by_set.entry(grouped.set(row)).or_insert_with(|| vec![LogSum::default(); parts]);
            sums[part].add(log);
        }
        let mut by_set: Vec<(u32, Vec<LogSum>)> = by_set.into_iter().collect();
        by_set.sort_unstable_by_key(|(set, _)| *set);
        let mut by_replica: BTreeMap<ReplicaId, Vec<LogSum>> = BTreeMap::new();
        for (set, sums) in by_set {
            let members = &grouped.sets[set as usize];
            let with_culprit = members.iter().any(|replica| culprits.contains(replica));
            for &replica in members.iter().filter(|replica| !with_culprit || culprits.contains(replica)) {
                let all = by_replica.entry(replica).or_insert_with(|| vec![LogSum::default(); parts]);
                all.iter_mut().zip(&sums).for_each(|(all, &sum)| all.add(sum));
            }
        }
        let mut normal = vec![LogSum::default(); parts];
        for (_, sums) in by_replica.iter().filter(|(replica, _)| !culprits.contains(replica)) {
            normal.iter_mut().zip(sums).for_each(|(normal, &sum)| normal.add(sum));
        }
        Sums { by_replica, left_out: culprits.clone(), normal }
    }

    pub(crate) fn total(&self, replica: ReplicaId) -> Option<LogSum> {
        let sums = self.by_replica.get(&replica)?;
        let mut total = LogSum::default();
        sums.iter().for_each(|sum| total.add(*sum));
        Some(total)
    }

    /// Difference between a replica and its peers in every part; `None` where either has no calls.
    pub(crate) fn differences(&self, replica: ReplicaId) -> Vec<Option<Difference>> {
        let Some(own) = self.by_replica.get(&replica) else { return Vec::new() };
        let is_peer = !self.left_out.contains(&replica);
        let difference = |(own, normal): (&LogSum, &LogSum)| {
            let peers = if is_peer { normal.minus(*own) } else { *normal };
            (own.count > 0.0 && peers.count > 0.0).then(|| Difference {
                value: own.level() - peers.level(),
                weight: 1.0 / (1.0 / own.count + 1.0 / peers.count),
            })
        };
        own.iter().zip(&self.normal).map(difference).collect()
    }

    /// Difference between the means of all logarithms of a replica and of its peers.
    pub(crate) fn difference_of_means(&self, replica: ReplicaId) -> Option<f64> {
        let own = self.total(replica)?;
        let mut peers = LogSum::default();
        self.normal.iter().for_each(|sum| peers.add(*sum));
        if !self.left_out.contains(&replica) {
            peers = peers.minus(own);
        }
        (peers.count > 0.0).then(|| own.mean() - peers.mean())
    }
}

/// A difference in one part; its variance is inversely proportional to its weight.
#[derive(Clone, Copy)]
pub(crate) struct Difference {
    pub(crate) value: f64,
    pub(crate) weight: f64,
}

/// A weighted mean of the values of some parts.
pub(crate) struct WeightedMean {
    pub(crate) mean: f64,
    /// Sum of the weights.
    pub(crate) weight: f64,
    /// Variance of a value of weight 1.
    pub(crate) variance: f64,
    pub(crate) degrees: f64,
}

impl WeightedMean {
    pub(crate) fn of(values: &[Difference]) -> Option<WeightedMean> {
        if values.len() < COMPARED_PARTS_MIN {
            return None;
        }
        let weight: f64 = values.iter().map(|part| part.weight).sum();
        let mean = values.iter().map(|part| part.value * part.weight).sum::<f64>() / weight;
        let degrees = values.len() as f64 - 1.0;
        let squares: f64 = values.iter().map(|part| part.weight * (part.value - mean).powi(2)).sum();
        Some(WeightedMean { mean, weight, variance: squares / degrees, degrees })
    }
}
