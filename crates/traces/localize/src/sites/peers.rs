//! Compares the replicas of every site with their peers.

use crate::sites::culprits::{Culprit, CulpritSettings, Share, find_culprits};
use crate::sites::per_category::{Keyed, PerCategory};
use crate::sites::table::{Observation, Site, SiteTable};
use laggard_model::{OperationId, ReplicaId};
use laggard_numeric::median;
use laggard_parallel::parallel_map;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;

/// A site with replicas that make it slow.
#[derive(Clone, PartialEq, Debug)]
pub struct UnevenSite {
    /// The site.
    pub site: Site,
    /// The culprits, the largest factor first.
    pub culprits: Vec<Culprit>,
    /// Number of replicas compared.
    pub replicas: usize,
    /// Excess time of the culprits' observations over normal ones, on the critical path (for a chain: total),
    /// weighted, nanoseconds.
    pub excess_ns: f64,
    /// Number of the culprits' observations.
    pub observations: usize,
    /// Requests with such an observation beyond the midpoint between normal and slow time, on the log scale.
    pub requests: Vec<u32>,
}

/// Observations a category needs for a level of its own; the others share one.
const CATEGORY_OBSERVATIONS_MIN: usize = 20;
/// Part of a culprit's observations that must be from a time at which one of its peers ran too: a difference to replicas
/// that ran only before or only after it may be the load's, or that of anything else that changed with time.
const BESIDE_PART_MIN: f64 = 0.5;

/// Searches every site for replicas that are slower than their peers, in the order of the sites.
///
/// Calls that block each other in a chain are compared only as chains: the self time of one of them is
/// waiting for another.
pub fn find_uneven_sites(
    table: &SiteTable,
    settings: &CulpritSettings,
    threads: NonZeroUsize,
) -> Vec<UnevenSite> {
    let sites = compared_sites(table);
    let choices = sites.len();
    let keyed = Keyed::new(table);
    let uneven_sites = parallel_map(&sites, threads, |&(site, rows)| {
        uneven(&keyed, &table.sets, site, rows, choices, settings, BESIDE_PART_MIN)
    });
    uneven_sites.into_iter().flatten().collect()
}

/// The sites whose replicas are compared with each other: calls that block each other in a chain only as chains.
pub(crate) fn compared_sites(table: &SiteTable) -> Vec<(Site, &[Observation])> {
    let chained: BTreeSet<OperationId> = (table.sites.iter())
        .filter_map(|site| if let Site::Chain(operation) = site { Some(*operation) } else { None })
        .collect();
    let compared = |site: &Site| match site {
        Site::Chain(_) => true,
        Site::Operation(operation) => !chained.contains(operation),
        Site::Link { caller, callee } => !chained.contains(caller) && !chained.contains(callee),
    };
    table.by_site().filter(|(site, _)| compared(site)).collect()
}

/// Searches one site; sets of its observations are indices into `sets`. Of a culprit's observations, at least the part
/// `beside_part_min` must be from a time at which others ran too.
pub(crate) fn uneven(
    table: &Keyed<'_>,
    sets: &[Vec<ReplicaId>],
    site: Site,
    rows: &[Observation],
    choices: usize,
    settings: &CulpritSettings,
    beside_part_min: f64,
) -> Option<UnevenSite> {
    let ratios = log_ratios(table, rows);
    let mut culprits = find_culprits(&ratios.shares, sets, choices, settings);
    let beside = Beside::new(sets, rows, &culprits);
    culprits.retain(|culprit| beside.part_of(culprit.replica) >= beside_part_min);
    if culprits.is_empty() {
        return None;
    }
    let replicas: BTreeSet<_> = rows.iter().flat_map(|row| &sets[row.set as usize]).collect();
    let slow = |row: &Observation| {
        let set = &sets[row.set as usize];
        culprits
            .iter()
            .filter(|culprit| set.contains(&culprit.replica))
            .map(|culprit| culprit.factor)
            .reduce(f64::max)
    };
    let levels = ratios.levels_of(|share| {
        let set = &sets[share.set as usize];
        !culprits.iter().any(|culprit| set.contains(&culprit.replica))
    });
    let mut excess_ns = 0.0;
    let mut requests = Vec::new();
    let mut observations = 0;
    for ((row, share), &category) in rows.iter().zip(&ratios.shares).zip(&ratios.categories) {
        let Some(factor) = slow(row) else { continue };
        observations += 1;
        let time = if matches!(site, Site::Chain(_)) { row.time_ns } else { row.path_ns };
        let weight = f64::from(table.key(row).weight);
        excess_ns += weight * f64::from(time) * (1.0 - 1.0 / factor);
        if share.log_ratio - levels[category as usize] >= 0.5 * factor.ln() {
            requests.push(row.request);
        }
    }
    requests.dedup();
    Some(UnevenSite { observations, site, replicas: replicas.len(), excess_ns, requests, culprits })
}

/// How many observations of each culprit are from a time at which a peer ran.
struct Beside {
    /// Number of observations by culprit, and of those among them between the first and the last one of a replica in the
    /// sets without culprits.
    observations: BTreeMap<ReplicaId, (usize, usize)>,
}

impl Beside {
    /// Rows are in the order of their requests, that is of time.
    fn new(sets: &[Vec<ReplicaId>], rows: &[Observation], culprits: &[Culprit]) -> Beside {
        let mut observations: BTreeMap<ReplicaId, (usize, usize)> =
            culprits.iter().map(|culprit| (culprit.replica, (0, 0))).collect();
        let (slow, normal): (Vec<&Observation>, Vec<&Observation>) = rows
            .iter()
            .partition(|row| sets[row.set as usize].iter().any(|replica| observations.contains_key(replica)));
        let mut ran: BTreeMap<ReplicaId, RangeInclusive<u32>> = BTreeMap::new();
        for row in normal {
            for &replica in &sets[row.set as usize] {
                let range = ran.entry(replica).or_insert(row.request..=row.request);
                *range = *range.start()..=row.request;
            }
        }
        for row in slow {
            let is_beside = ran.values().any(|range| range.contains(&row.request));
            for replica in &sets[row.set as usize] {
                let Some((all, beside)) = observations.get_mut(replica) else { continue };
                *all += 1;
                *beside += usize::from(is_beside);
            }
        }
        Beside { observations }
    }

    fn part_of(&self, culprit: ReplicaId) -> f64 {
        let (all, beside) = self.observations[&culprit];
        beside as f64 / all as f64
    }
}

/// Each observation's mean call against the median of its category, as a logarithm, in the order of the rows.
pub(crate) struct LogRatios {
    pub(crate) shares: Vec<Share>,
    /// Number of the category of each share; index into `sizes`.
    categories: Vec<u32>,
    /// Number of observations of each category.
    sizes: Vec<usize>,
}

impl LogRatios {
    /// The median of every category's wanted observations: with half of all on slow replicas, the median of all may be
    /// a slow one. Small categories share one median.
    fn levels_of(&self, wanted: impl Fn(&Share) -> bool) -> Vec<f64> {
        let selected = || self.shares.iter().zip(&self.categories).filter(|(share, _)| wanted(share));
        let mut sizes = vec![0; self.sizes.len()];
        selected().for_each(|(_, &category)| sizes[category as usize] += 1);
        let (shares, categories): (Vec<Share>, Vec<u32>) =
            selected().map(|(&share, &category)| (share, category)).unzip();
        middles(&sizes, &categories, &shares)
    }
}

pub(crate) fn log_ratios(table: &Keyed<'_>, rows: &[Observation]) -> LogRatios {
    let mut sizes: PerCategory<usize> = PerCategory::new(table);
    let mut shares = Vec::with_capacity(rows.len());
    let mut categories = Vec::with_capacity(rows.len());
    for row in rows {
        let category = sizes.index_of(table.key(row).category, || 0);
        sizes.values_mut()[category] += 1;
        categories.push(category as u32);
        let log_ratio = (f64::from(row.time_ns) / f64::from(row.calls)).max(1.0).ln();
        shares.push(Share { set: row.set, log_ratio });
    }
    let middles = middles(sizes.values(), &categories, &shares);
    shares
        .iter_mut()
        .zip(&categories)
        .for_each(|(share, &category)| share.log_ratio -= middles[category as usize]);
    LogRatios { shares, categories, sizes: sizes.values().to_vec() }
}

/// The median of every category's logarithms; small categories share one.
fn middles(sizes: &[usize], categories: &[u32], shares: &[Share]) -> Vec<f64> {
    // Values of small categories are stored at the end, together.
    let small = |size: usize| size < CATEGORY_OBSERVATIONS_MIN;
    let mut next = Vec::with_capacity(sizes.len());
    let mut filled = 0;
    for &size in sizes {
        next.push(filled);
        filled += if small(size) { 0 } else { size };
    }
    let mut logs = vec![0.0; shares.len()];
    let mut next_small = filled;
    for (share, &category) in shares.iter().zip(categories) {
        let slot =
            if small(sizes[category as usize]) { &mut next_small } else { &mut next[category as usize] };
        logs[*slot] = share.log_ratio;
        *slot += 1;
    }
    let (separate, common) = logs.split_at_mut(filled);
    let common = median(common);
    let middle = |(&size, &end): (&usize, &usize)| match small(size) {
        true => common,
        false => median(&mut separate[end - size..end]),
    };
    sizes.iter().zip(&next).map(middle).collect()
}
