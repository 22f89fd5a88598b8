//! Replicas that became slower than their peers since the baseline.
//!
//! Replicas differ from each other all the time, so that a comparison with peers alone cannot see less than a third. The
//! difference to the peers now, minus the difference in the baseline, is much quieter: what all replicas have in common
//! and what a replica always has are both gone.
//!
//! ```text
//! replica − peers   baseline ▁▂▁▁▂▁▂▁▁▂▁▂▁ │ ▃▄▄▃▄ window      mean log(time / expected) by part of the window
//! ```

use crate::sites::blocks::Expected;
use crate::sites::culprits::{Culprit, CulpritSettings};
use crate::sites::peers::{UnevenSite, compared_sites};
use crate::sites::per_category::Keyed;
use crate::sites::sets::Fast;
use crate::sites::table::{Observation, Site, SiteTable};
use laggard_model::ReplicaId;
use laggard_numeric::{
    benjamini_hochberg, mean, median_of, parallel_map, sample_std, student_quantile_95, student_upper_tail,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroUsize;

/// The window is cut into this many parts with equally many requests; a part of the baseline has as many, if it has enough.
/// Long parts, because what slows a replica down for a moment lasts from one part to the next.
const PARTS: usize = 8;
const BASELINE_PARTS_MAX: usize = 128;
/// Fewest parts in which a replica and its peers have calls.
const COMPARED_PARTS_MIN: usize = 6;
/// Smallest standard deviation of what replicas drift against each other, as a logarithm.
const DRIFT_MIN: f64 = 0.02;
/// A replica is a culprit when it has become slower than its peers by at least this factor …
const FACTOR_MIN: f64 = 1.1;
/// … and than it was itself, since a peer may have become faster.
const OWN_FACTOR_MIN: f64 = 1.05;
/// Most searches of a site: culprits hide each other, so that those found are left out of the peers.
const ROUNDS_MAX: usize = 4;

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

    fn members(&self, row: &Observation) -> &[ReplicaId] {
        &self.sets[self.set(row) as usize]
    }
}

/// Searches every site for replicas that became slower than their peers since the baseline, in the order of the
/// sites. Handles of both tables must come from the same names.
pub(crate) fn find_changed_replicas(
    baseline: &SiteTable,
    window: &SiteTable,
    settings: &CulpritSettings,
    threads: NonZeroUsize,
) -> Vec<UnevenSite> {
    let sites: Vec<(Site, &[Observation])> =
        compared_sites(window).into_iter().filter(|(site, _)| !matches!(site, Site::Chain(_))).collect();
    let (before, now) = (Keyed::new(baseline), Keyed::new(window));
    let before = Grouped { table: &before, sets: &baseline.sets, by_request: None };
    let now = Grouped { table: &now, sets: &window.sets, by_request: None };
    find_changed_groups(&before, &now, &sites, settings, threads)
}

/// Like [`find_changed_replicas`], for the groups of some sites of the window.
pub(crate) fn find_changed_groups(
    baseline: &Grouped<'_>,
    window: &Grouped<'_>,
    sites: &[(Site, &[Observation])],
    settings: &CulpritSettings,
    threads: NonZeroUsize,
) -> Vec<UnevenSite> {
    if window.table.requests.len() < PARTS || baseline.table.requests.len() < PARTS {
        return Vec::new();
    }
    let mut studies: Vec<SiteParts> = parallel_map(sites, threads, |&(site, rows)| {
        SiteParts::new((baseline, baseline.table.rows_of(site)), (window, rows), settings.observations_min)
    });
    let mut tests: Vec<BTreeMap<ReplicaId, ReplicaChange>> = studies.iter().map(SiteParts::tests).collect();
    for _ in 0..ROUNDS_MAX {
        flag(&mut tests, settings.level);
        let mut is_last = true;
        for (study, tests) in studies.iter_mut().zip(&mut tests) {
            let flagged: BTreeSet<ReplicaId> =
                tests.iter().filter(|(_, test)| test.flagged).map(|(&replica, _)| replica).collect();
            if flagged != study.window.left_out {
                study.window.leave_out(&flagged);
                study.baseline.leave_out(&flagged);
                *tests = study.tests();
                is_last = false;
            }
        }
        if is_last {
            break;
        }
    }
    flag(&mut tests, settings.level);
    let all = sites.iter().zip(&studies).zip(&tests);
    all.filter_map(|((&(site, rows), study), tests)| study.uneven(site, window, rows, tests)).collect()
}

fn flag(tests: &mut [BTreeMap<ReplicaId, ReplicaChange>], level: f64) {
    let p_values: Vec<f64> = tests.iter().flat_map(BTreeMap::values).map(|test| test.p_value).collect();
    let all = tests.iter_mut().flat_map(BTreeMap::values_mut);
    for (test, p_adjusted) in all.zip(benjamini_hochberg(&p_values)) {
        test.p_adjusted = p_adjusted;
        test.flagged = p_adjusted <= level && test.matters;
    }
}

/// How one replica changed against its peers.
#[derive(Clone, Copy)]
struct ReplicaChange {
    /// Logarithm of the factor.
    change: f64,
    error: f64,
    degrees: f64,
    p_value: f64,
    p_adjusted: f64,
    matters: bool,
    flagged: bool,
}

/// Sum and number of the logarithms of some observations.
#[derive(Clone, Copy, Default)]
struct LogSum {
    count: f64,
    sum: f64,
}

impl LogSum {
    fn add(&mut self, other: LogSum) {
        self.count += other.count;
        self.sum += other.sum;
    }

    fn mean(self) -> f64 {
        self.sum / self.count
    }
}

/// Log times of one site, by replica and part.
struct SiteParts {
    baseline: Sums,
    window: Sums,
    /// Parts of the baseline with as many requests as the window.
    batch: usize,
    /// Replicas with enough observations in the window.
    replicas: Vec<ReplicaId>,
    expected: Expected,
}

/// Log time over the expected time, by replica and part.
struct Sums {
    by_replica: BTreeMap<ReplicaId, Vec<LogSum>>,
    /// Culprits: no replica's peers.
    left_out: BTreeSet<ReplicaId>,
    /// Of all replicas that are not left out, by part.
    normal: Vec<LogSum>,
}

impl Sums {
    fn new(grouped: &Grouped<'_>, rows: &[Observation], expected: &Expected, parts: usize) -> Sums {
        let table = grouped.table;
        let mut by_set: HashMap<u32, Vec<LogSum>, Fast> = HashMap::default();
        for row in rows {
            let part = row.request as usize * parts / table.requests.len();
            let log = LogSum { count: 1.0, sum: log_ratio(table, row, expected) };
            let sums = by_set.entry(grouped.set(row)).or_insert_with(|| vec![LogSum::default(); parts]);
            sums[part].add(log);
        }
        let mut by_set: Vec<(u32, Vec<LogSum>)> = by_set.into_iter().collect();
        by_set.sort_unstable_by_key(|(set, _)| *set);
        let mut by_replica: BTreeMap<ReplicaId, Vec<LogSum>> = BTreeMap::new();
        for (set, sums) in by_set {
            for &replica in &grouped.sets[set as usize] {
                let all = by_replica.entry(replica).or_insert_with(|| vec![LogSum::default(); parts]);
                all.iter_mut().zip(&sums).for_each(|(all, &sum)| all.add(sum));
            }
        }
        let mut sums = Sums { by_replica, left_out: BTreeSet::new(), normal: vec![LogSum::default(); parts] };
        sums.leave_out(&BTreeSet::new());
        sums
    }

    fn leave_out(&mut self, culprits: &BTreeSet<ReplicaId>) {
        self.left_out.clone_from(culprits);
        self.normal.fill(LogSum::default());
        for (_, sums) in self.by_replica.iter().filter(|(replica, _)| !culprits.contains(replica)) {
            self.normal.iter_mut().zip(sums).for_each(|(normal, &sum)| normal.add(sum));
        }
    }

    fn total(&self, replica: ReplicaId) -> Option<LogSum> {
        let sums = self.by_replica.get(&replica)?;
        let mut total = LogSum::default();
        sums.iter().for_each(|sum| total.add(*sum));
        Some(total)
    }

    /// Difference between a replica and its peers in every part where both have calls, with its weight.
    fn differences(&self, replica: ReplicaId) -> Vec<(f64, f64)> {
        let Some(own) = self.by_replica.get(&replica) else { return Vec::new() };
        let is_peer = !self.left_out.contains(&replica);
        let mut differences = Vec::with_capacity(own.len());
        for (own, normal) in own.iter().zip(&self.normal) {
            let mut peers = *normal;
            if is_peer {
                peers = LogSum { count: normal.count - own.count, sum: normal.sum - own.sum };
            }
            if own.count > 0.0 && peers.count > 0.0 {
                let weight = 1.0 / (1.0 / own.count + 1.0 / peers.count);
                differences.push((own.mean() - peers.mean(), weight));
            }
        }
        differences
    }
}

fn log_ratio(table: &Keyed<'_>, row: &Observation, expected: &Expected) -> f64 {
    let category = table.categories[table.key(row).category as usize];
    (f64::from(row.time_ns).max(1.0) / (f64::from(row.calls) * expected.call_ns(category))).ln()
}

/// A weighted mean of the values of some parts.
struct WeightedMean {
    mean: f64,
    /// Sum of the weights.
    weight: f64,
    /// Variance of a value of weight 1.
    variance: f64,
    degrees: f64,
}

impl WeightedMean {
    fn of(values: &[(f64, f64)]) -> Option<WeightedMean> {
        if values.len() < COMPARED_PARTS_MIN {
            return None;
        }
        let weight: f64 = values.iter().map(|(_, weight)| weight).sum();
        let mean = values.iter().map(|(value, weight)| value * weight).sum::<f64>() / weight;
        let degrees = values.len() as f64 - 1.0;
        let squares: f64 = values.iter().map(|(value, weight)| weight * (value - mean).powi(2)).sum();
        Some(WeightedMean { mean, weight, variance: squares / degrees, degrees })
    }
}

/// What is known of a replica from the baseline.
struct Before {
    /// Mean difference to its peers.
    difference: f64,
    /// Variance of that mean.
    variance: f64,
    /// Noise of its parts: variance of a value of weight 1, with its degrees of freedom.
    noise: (f64, f64),
    /// Its own level.
    own: f64,
}

/// Degrees of freedom that parts count as, against the variance between batches.
const PARTS_DEGREES: f64 = 8.0;

impl SiteParts {
    fn new(
        (baseline, earlier): (&Grouped<'_>, &[Observation]),
        (window, rows): (&Grouped<'_>, &[Observation]),
        observations_min: usize,
    ) -> SiteParts {
        let expected = Expected::of(baseline.table, earlier);
        let (before, now) = (baseline.table.requests.len(), window.table.requests.len());
        let parts = (PARTS * before / now).clamp(PARTS, BASELINE_PARTS_MAX);
        let batch = (parts * now / before).clamp(1, parts);
        let sums = Sums::new(window, rows, &expected, PARTS);
        let enough = |replica: &ReplicaId| {
            sums.total(*replica).is_some_and(|total| total.count >= observations_min as f64)
        };
        let replicas: Vec<ReplicaId> = sums.by_replica.keys().copied().filter(enough).collect();
        let earlier = if replicas.len() < 2 { &[] } else { earlier };
        SiteParts {
            baseline: Sums::new(baseline, earlier, &expected, parts),
            window: sums,
            batch,
            replicas,
            expected,
        }
    }

    fn tests(&self) -> BTreeMap<ReplicaId, ReplicaChange> {
        if self.replicas.len() < 2 || self.baseline.by_replica.len() < 2 {
            return BTreeMap::new();
        }
        self.replicas.iter().filter_map(|&replica| Some((replica, self.test(replica)?))).collect()
    }

    fn test(&self, replica: ReplicaId) -> Option<ReplicaChange> {
        let differences = self.window.differences(replica);
        let now = WeightedMean::of(&differences)?;
        let earlier = self.baseline.differences(replica);
        let before = self.before(replica, &earlier)?;
        let change = now.mean - before.difference;
        // The noise of the baseline as well: a change within the window is no noise.
        let (noise, noise_degrees) = before.noise;
        let degrees = now.degrees + noise_degrees;
        let by_parts = (now.variance * now.degrees + noise * noise_degrees) / degrees / now.weight;
        let variance =
            by_parts.max(self.batch_variance(&earlier, by_parts)) + before.variance + DRIFT_MIN.powi(2);
        let error = variance.sqrt().max(1e-6);
        let own = self.window.total(replica)?.mean() - before.own;
        let median = || {
            let values: Vec<f64> = differences.iter().map(|(value, _)| *value - before.difference).collect();
            median_of(&values)
        };
        let least = FACTOR_MIN.ln();
        Some(ReplicaChange {
            change,
            error,
            degrees,
            p_value: student_upper_tail(change / error, degrees),
            p_adjusted: 1.0,
            matters: change >= least && own >= OWN_FACTOR_MIN.ln() && median() >= least,
            flagged: false,
        })
    }

    /// A replica in the baseline. One that the baseline does not have was like any other.
    fn before(&self, replica: ReplicaId, differences: &[(f64, f64)]) -> Option<Before> {
        if let Some(known) = WeightedMean::of(differences) {
            return Some(Before {
                difference: known.mean,
                variance: known.variance / known.weight,
                noise: (known.variance, known.degrees),
                own: self.baseline.total(replica)?.mean(),
            });
        }
        let all: Vec<f64> = (self.baseline.by_replica.keys())
            .filter_map(|&other| WeightedMean::of(&self.baseline.differences(other)))
            .map(|known| known.mean)
            .collect();
        let mut total = LogSum::default();
        self.baseline.by_replica.values().flatten().for_each(|sum| total.add(*sum));
        (all.len() >= 2).then(|| Before {
            difference: 0.0,
            variance: sample_std(&all).powi(2),
            noise: (0.0, 0.0),
            own: total.mean(),
        })
    }

    /// Variance of a replica's difference to its peers between batches of the baseline as long as the window. There are few
    /// batches, so that it is shrunk towards what the parts say.
    fn batch_variance(&self, differences: &[(f64, f64)], by_parts: f64) -> f64 {
        if differences.len() / self.batch < 3 {
            return 0.0;
        }
        let level = |parts: &[(f64, f64)]| mean(&parts.iter().map(|(value, _)| *value).collect::<Vec<f64>>());
        let levels: Vec<f64> = differences.chunks_exact(self.batch).map(level).collect();
        let degrees = levels.len() as f64 - 1.0;
        (degrees * sample_std(&levels).powi(2) + PARTS_DEGREES * by_parts) / (degrees + PARTS_DEGREES)
    }

    /// The site, if some replicas are flagged.
    fn uneven(
        &self,
        site: Site,
        grouped: &Grouped<'_>,
        rows: &[Observation],
        tests: &BTreeMap<ReplicaId, ReplicaChange>,
    ) -> Option<UnevenSite> {
        let table = grouped.table;
        let flagged = tests.iter().filter(|(_, test)| test.flagged);
        let mut culprits: Vec<Culprit> =
            flagged.filter_map(|(&replica, test)| self.culprit(replica, test)).collect();
        culprits.sort_by(|a, b| b.factor.total_cmp(&a.factor).then(a.replica.cmp(&b.replica)));
        if culprits.is_empty() || culprits.len() == self.replicas.len() {
            return None;
        }
        let mut out = UnevenSite {
            site,
            replicas: self.replicas.len(),
            excess_ns: 0.0,
            observations: 0,
            requests: Vec::new(),
            culprits,
        };
        let mut normal = LogSum::default();
        let is_culprit = |replica: &ReplicaId| tests.get(replica).is_some_and(|test| test.flagged);
        let peers = self.window.by_replica.iter().filter(|(replica, _)| !is_culprit(replica));
        peers.flat_map(|(_, sums)| sums).for_each(|sum| normal.add(*sum));
        for row in rows {
            let factors = grouped.members(row).iter().filter_map(|replica| tests.get(replica));
            let change = factors.filter(|test| test.flagged).map(|test| test.change).fold(0.0, f64::max);
            if change == 0.0 {
                continue;
            }
            out.observations += 1;
            out.excess_ns +=
                f64::from(table.key(row).weight) * f64::from(row.path_ns) * (1.0 - (-change).exp());
            if log_ratio(table, row, &self.expected) - normal.mean() >= 0.5 * change {
                out.requests.push(row.request);
            }
        }
        out.requests.dedup();
        Some(out)
    }

    fn culprit(&self, replica: ReplicaId, test: &ReplicaChange) -> Option<Culprit> {
        let reach = student_quantile_95(test.degrees) * test.error;
        Some(Culprit {
            replica,
            factor: test.change.exp(),
            factor_low: (test.change - reach).exp(),
            factor_high: (test.change + reach).exp(),
            observations: self.window.total(replica)?.count as u64,
            p_adjusted: test.p_adjusted,
        })
    }
}
