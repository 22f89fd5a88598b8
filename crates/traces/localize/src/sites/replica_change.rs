//! Replicas that became slower than their peers since the baseline.
//!
//! Replicas differ from each other all the time, so that a comparison with peers alone cannot see less than a third. The
//! difference to the peers now, minus the difference in the baseline, is much quieter: what all replicas have in common
//! and what a replica always has are both gone. What all operations of a replica have in common now, such as a neighbor that
//! needs the same CPU, is noise for a fault of one of them: each is compared with the replica's others as well.
//!
//! ```text
//! replica − peers   baseline ▁▂▁▁▂▁▂▁▁▂▁▂▁ │ ▃▄▄▃▄ window      mean log(time / expected) by part of the window
//! ```

use crate::sites::blocks::{Expected, ExpectedRatios};
use crate::sites::bulk::Bulk;
use crate::sites::culprits::{Culprit, CulpritSettings};
use crate::sites::group_sums::{Difference, Grouped, LogSum, Sums, WeightedMean};
use crate::sites::peers::{UnevenSite, compared_sites};
use crate::sites::per_category::Keyed;
use crate::sites::table::{Observation, Site, SiteTable};
use laggard_model::ReplicaId;
use laggard_numeric::{
    benjamini_hochberg, harmonic_mean_p_value, mean, median_of, sample_std, student_quantile_95,
    student_upper_tail,
};
use laggard_parallel::parallel_map;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

/// The window is cut into this many parts with equally many requests; a part of the baseline has as many, if it has enough.
/// Long parts, because what slows a replica down for a moment lasts from one part to the next.
const PARTS: usize = 8;
const BASELINE_PARTS_MAX: usize = 128;
/// Smallest standard deviation of what replicas drift against each other, as a logarithm.
const DRIFT_MIN: f64 = 0.01;
/// A replica is a culprit when it has become slower than its peers by at least this factor …
const FACTOR_MIN: f64 = 1.07;
/// … in most parts of the window by this part of it …
const TYPICAL_PART: f64 = 0.5;
/// … and than it was itself by this part of it, since a peer may have become faster.
const OWN_PART: f64 = 0.4;
/// Sites with less than this part of the median site's time on critical paths are not tested.
const SITE_PART_MIN: f64 = 0.1;
/// Fewest sites of a replica that have noise in common.
const SHARED_SITES_MIN: usize = 3;
/// Most searches of a site: culprits hide each other, so that those found are left out of the peers.
const ROUNDS_MAX: usize = 4;

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
    let sites = &sites_that_matter(sites)[..];
    let periods = |site, rows| [(baseline, baseline.table.rows_of(site)), (window, rows)];
    let mut studies: Vec<SiteParts> = parallel_map(sites, threads, |&(site, rows)| {
        SiteParts::new(periods(site, rows), settings.observations_min)
    });
    // Requests with one value of an attribute do not share a machine.
    let have_machines = window.by_request.is_none();
    let shared = if have_machines { SharedNoise::of(&studies) } else { SharedNoise::default() };
    let tests_of = |study: &SiteParts| study.tests(&shared);
    let mut tests: Vec<BTreeMap<ReplicaId, ReplicaChange>> = studies.iter().map(tests_of).collect();
    for _ in 0..ROUNDS_MAX {
        flag(&mut tests, settings.level);
        let mut is_last = true;
        for ((study, tests), &(site, rows)) in studies.iter_mut().zip(&mut tests).zip(sites) {
            let flagged: BTreeSet<ReplicaId> =
                tests.iter().filter(|(_, test)| test.flagged).map(|(&replica, _)| replica).collect();
            if flagged != study.window.left_out {
                study.leave_out(&flagged, periods(site, rows));
                *tests = study.tests(&shared);
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

/// The sites that take a part of the time that can matter: the others would only raise the number of tests.
fn sites_that_matter<'a>(sites: &[(Site, &'a [Observation])]) -> Vec<(Site, &'a [Observation])> {
    let path = |rows: &[Observation]| rows.iter().map(|row| f64::from(row.path_ns)).sum::<f64>();
    let paths: Vec<f64> = sites.iter().map(|(_, rows)| path(rows)).collect();
    let least = SITE_PART_MIN * median_of(&paths);
    sites.iter().zip(paths).filter(|(_, path)| *path >= least).map(|(site, _)| *site).collect()
}

/// What the sites of each replica have in common: sums over them of weight times difference, less its mean in the baseline,
/// and of the weights, by part.
#[derive(Default)]
struct SharedNoise {
    by_replica: BTreeMap<ReplicaId, ReplicaNoise>,
}

#[derive(Default)]
struct ReplicaNoise {
    sites: usize,
    earlier: Vec<Difference>,
    now: Vec<Difference>,
}

impl SharedNoise {
    fn of(studies: &[SiteParts]) -> SharedNoise {
        let mut by_replica: BTreeMap<ReplicaId, ReplicaNoise> = BTreeMap::new();
        for study in studies.iter().filter(|study| study.replicas.len() > 1) {
            for &replica in &study.replicas {
                let (earlier, now) = (study.baseline.differences(replica), study.window.differences(replica));
                let Some(known) = WeightedMean::of(&known(&earlier)) else { continue };
                let noise = by_replica.entry(replica).or_default();
                noise.sites += 1;
                add_parts(&mut noise.earlier, &earlier, known.mean);
                add_parts(&mut noise.now, &now, known.mean);
            }
        }
        SharedNoise { by_replica }
    }

    /// Differences of a site relative to those of the replica's other sites, in the baseline and in the window.
    fn relative(
        &self,
        replica: ReplicaId,
        earlier: &[Option<Difference>],
        now: &[Option<Difference>],
    ) -> Option<[Vec<Difference>; 2]> {
        let noise = self.by_replica.get(&replica).filter(|noise| noise.sites >= SHARED_SITES_MIN)?;
        let mean = WeightedMean::of(&known(earlier))?.mean;
        let relative = |own: &[Option<Difference>], all: &[Difference]| -> Vec<Difference> {
            let part = |(own, all): (&Option<Difference>, &Difference)| {
                let own = (*own)?;
                let weight = all.weight - own.weight;
                let sum = all.value - own.weight * (own.value - mean);
                (weight > 0.5).then(|| Difference {
                    value: own.value - sum / weight,
                    weight: 1.0 / (1.0 / own.weight + 1.0 / weight),
                })
            };
            own.iter().zip(all).filter_map(part).collect()
        };
        Some([relative(earlier, &noise.earlier), relative(now, &noise.now)])
    }
}

fn add_parts(sums: &mut Vec<Difference>, parts: &[Option<Difference>], mean: f64) {
    sums.resize(sums.len().max(parts.len()), Difference { value: 0.0, weight: 0.0 });
    for (sum, part) in sums.iter_mut().zip(parts) {
        if let Some(part) = part {
            sum.value += part.weight * (part.value - mean);
            sum.weight += part.weight;
        }
    }
}

fn known(parts: &[Option<Difference>]) -> Vec<Difference> {
    parts.iter().flatten().copied().collect()
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
    /// Logarithm of the factor of all calls.
    size: f64,
    error: f64,
    degrees: f64,
    p_value: f64,
    p_adjusted: f64,
    matters: bool,
    flagged: bool,
}

/// Log times of one site, by replica and part.
struct SiteParts {
    baseline: Sums,
    window: Sums,
    baseline_parts: usize,
    /// Parts of the baseline with as many requests as the window.
    batch: usize,
    /// Replicas with enough observations in the window.
    replicas: Vec<ReplicaId>,
    expected: Expected,
    bulk: Bulk,
}

/// A change of the mean of some parts.
struct PartShift {
    change: f64,
    error: f64,
    degrees: f64,
    p_value: f64,
    /// Median change of a part.
    typical: f64,
}

/// State of a replica in the baseline.
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

impl Before {
    fn of(known: &WeightedMean, own: f64) -> Before {
        Before {
            difference: known.mean,
            variance: known.variance / known.weight,
            noise: (known.variance, known.degrees),
            own,
        }
    }
}

/// Degrees of freedom that parts count as, against the variance between batches.
const PARTS_DEGREES: f64 = 8.0;

impl SiteParts {
    fn new(
        [(baseline, earlier), (window, rows)]: [(&Grouped<'_>, &[Observation]); 2],
        observations_min: usize,
    ) -> SiteParts {
        let expected = Expected::of(baseline.table, earlier);
        let (before, now) = (baseline.table.requests.len(), window.table.requests.len());
        let parts = (PARTS * before / now).clamp(PARTS, BASELINE_PARTS_MAX);
        let batch = (parts * now / before).clamp(1, parts);
        let mut ratios = ExpectedRatios::new(baseline.table, &expected);
        let bulk = Bulk::of(earlier.len(), |index| ratios.log(&earlier[index]));
        let nobody = BTreeSet::new();
        let sums = Sums::new(window, rows, (&expected, bulk), PARTS, &nobody);
        let enough = |replica: &ReplicaId| {
            sums.total(*replica).is_some_and(|total| total.count >= observations_min as f64)
        };
        let replicas: Vec<ReplicaId> = sums.by_replica.keys().copied().filter(enough).collect();
        let earlier = if replicas.len() < 2 { &[] } else { earlier };
        SiteParts {
            baseline: Sums::new(baseline, earlier, (&expected, bulk), parts, &nobody),
            window: sums,
            baseline_parts: parts,
            batch,
            replicas,
            expected,
            bulk,
        }
    }

    /// Leaves culprits out of the peers, and their observations out of those of others.
    fn leave_out(
        &mut self,
        culprits: &BTreeSet<ReplicaId>,
        [(baseline, earlier), (window, rows)]: [(&Grouped<'_>, &[Observation]); 2],
    ) {
        let usual = (&self.expected, self.bulk);
        self.baseline = Sums::new(baseline, earlier, usual, self.baseline_parts, culprits);
        self.window = Sums::new(window, rows, usual, PARTS, culprits);
    }

    fn tests(&self, shared: &SharedNoise) -> BTreeMap<ReplicaId, ReplicaChange> {
        if self.replicas.len() < 2 || self.baseline.by_replica.len() < 2 {
            return BTreeMap::new();
        }
        let test = |&replica: &ReplicaId| Some((replica, self.test(replica, shared)?));
        self.replicas.iter().filter_map(test).collect()
    }

    fn test(&self, replica: ReplicaId, shared: &SharedNoise) -> Option<ReplicaChange> {
        let (earlier, now) = (self.baseline.differences(replica), self.window.differences(replica));
        let before = self.before(replica, &known(&earlier))?;
        let own = self.window.total(replica)?.level() - before.own;
        let mut shift = self.shift(&known(&earlier), &known(&now), &before)?;
        if let Some([earlier, now]) = shared.relative(replica, &earlier, &now) {
            let before = WeightedMean::of(&earlier).map(|mean| Before::of(&mean, before.own));
            let relative = before.and_then(|before| self.shift(&earlier, &now, &before));
            if let Some(relative) = relative {
                let p_value = harmonic_mean_p_value(&[shift.p_value, relative.p_value]);
                if relative.p_value < shift.p_value {
                    shift = relative;
                }
                shift.p_value = p_value;
            }
        }
        let matters = shift.change >= FACTOR_MIN.ln()
            && own >= OWN_PART * shift.change
            && shift.typical >= TYPICAL_PART * shift.change;
        Some(ReplicaChange {
            size: self.size(replica, shift.change),
            error: shift.error,
            degrees: shift.degrees,
            p_value: shift.p_value,
            p_adjusted: 1.0,
            matters,
            flagged: false,
        })
    }

    fn shift(&self, earlier: &[Difference], parts: &[Difference], before: &Before) -> Option<PartShift> {
        let now = WeightedMean::of(parts)?;
        let change = now.mean - before.difference;
        // The noise of the baseline as well: a change within the window is no noise.
        let (noise, noise_degrees) = before.noise;
        let degrees = now.degrees + noise_degrees;
        let by_parts = (now.variance * now.degrees + noise * noise_degrees) / degrees / now.weight;
        let variance =
            by_parts.max(self.batch_variance(earlier, by_parts)) + before.variance + DRIFT_MIN.powi(2);
        let error = variance.sqrt().max(1e-6);
        let values: Vec<f64> = parts.iter().map(|part| part.value - before.difference).collect();
        let p_value = student_upper_tail(change / error, degrees);
        Some(PartShift { change, error, degrees, p_value, typical: median_of(&values) })
    }

    /// Logarithm of the factor of all calls: clipped logarithms cannot show a large one.
    fn size(&self, replica: ReplicaId, change: f64) -> f64 {
        if change < 0.5 * self.bulk.reach {
            return change;
        }
        let before = self.baseline.difference_of_means(replica).unwrap_or(0.0);
        let now = self.window.difference_of_means(replica).unwrap_or(before);
        change.max(now - before)
    }

    /// A replica in the baseline. One that the baseline does not have was like any other.
    fn before(&self, replica: ReplicaId, differences: &[Difference]) -> Option<Before> {
        if let Some(mean) = WeightedMean::of(differences) {
            return Some(Before::of(&mean, self.baseline.total(replica)?.level()));
        }
        let all: Vec<WeightedMean> = (self.baseline.by_replica.keys())
            .filter_map(|&other| WeightedMean::of(&known(&self.baseline.differences(other))))
            .collect();
        let means: Vec<f64> = all.iter().map(|mean| mean.mean).collect();
        let noises: Vec<f64> = all.iter().map(|mean| mean.variance).collect();
        let degrees = all.iter().map(|mean| mean.degrees).fold(0.0, f64::max);
        let mut total = LogSum::default();
        self.baseline.by_replica.values().flatten().for_each(|sum| total.add(*sum));
        (all.len() >= 2).then(|| Before {
            difference: 0.0,
            variance: sample_std(&means).powi(2),
            noise: (mean(&noises), degrees),
            own: total.level(),
        })
    }

    /// Variance of a replica's difference to its peers between batches of the baseline as long as the window. There are few
    /// batches, so that it is shrunk towards what the parts say.
    fn batch_variance(&self, differences: &[Difference], by_parts: f64) -> f64 {
        if differences.len() / self.batch < 3 {
            return 0.0;
        }
        let level = |parts: &[Difference]| mean(&parts.iter().map(|part| part.value).collect::<Vec<f64>>());
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
        let mut ratios = ExpectedRatios::new(table, &self.expected);
        for row in rows {
            let factors = grouped.members(row).iter().filter_map(|replica| tests.get(replica));
            let change = factors.filter(|test| test.flagged).map(|test| test.size).fold(0.0, f64::max);
            if change == 0.0 {
                continue;
            }
            out.observations += 1;
            out.excess_ns +=
                f64::from(table.key(row).weight) * f64::from(row.path_ns) * (1.0 - (-change).exp());
            if ratios.log(row) - normal.mean() >= 0.5 * change {
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
            factor: test.size.exp(),
            factor_low: (test.size - reach).exp(),
            factor_high: (test.size + reach).exp(),
            observations: self.window.total(replica)?.count as u64,
            p_adjusted: test.p_adjusted,
        })
    }
}
