//! From sites that are slower than in the baseline, or slower on some replicas, to suspect operations.

use crate::failures::FailureSettings;
use crate::sites::attributes::AttributeSettings;
use crate::sites::blame::{End, LinkExcess, MeanExcess, blame_ends, culprits_end};
use crate::sites::change::{ChangeSettings, SiteChange, compare_sites};
use crate::sites::culprits::{Culprit, CulpritSettings};
use crate::sites::incidents::ScanSettings;
use crate::sites::peers::{UnevenSite, find_uneven_sites};
use crate::sites::replica_change::find_changed_replicas;
use crate::sites::slow_share::SlowCalls;
use crate::sites::table::{Site, SiteTable};
use laggard_model::{OperationId, ReplicaId, ServiceId};
use laggard_numeric::median_of;
use laggard_settings::settings;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

settings! {
    group "combined";
    /// Thresholds of everything that uses sites.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct SiteSettings {
        /// A suspect holds at least this share of the slowdown
        share_min ("site-share-min"): f64 = 0.03, within(0.0, 1.0), "ours";
        /// Replicas that are slower than their peers add at least this share to the latency of all requests
        uneven_share_min ("uneven-share-min"): f64 = 0.01, within(0.0, 1.0), "ours";
    }
    groups {
        /// The comparison with a baseline.
        change: ChangeSettings;
        /// The tests of attributes.
        attributes: AttributeSettings;
        /// The search for culprit replicas.
        culprits: CulpritSettings;
        /// The search for slow periods.
        scan: ScanSettings;
        /// The search for operations that fail or stop early.
        failures: FailureSettings;
    }
}

/// An operation that makes requests slow, by its sites.
#[derive(Clone, PartialEq, Debug)]
pub struct SiteSuspect {
    /// The operation to blame.
    pub operation: OperationId,
    /// Sites where the time is spent, by descending excess.
    pub sites: Vec<Site>,
    /// Comparison of the first site with its baseline, if there is one.
    pub shift: Option<Shift>,
    /// How many calls of the first site are slow, if that is all that differs from the baseline.
    pub slow_calls: Option<SlowCalls>,
    /// Culprit replicas, the largest factor first; empty when there is none.
    pub culprits: Vec<Culprit>,
    /// Excess time on the critical path, weighted, nanoseconds.
    pub excess_ns: f64,
    /// Typical excess of a slow call over the usual time, nanoseconds.
    pub effect_ns: f64,
    /// Time of slow calls over the usual time.
    pub factor: f64,
    /// Requests made slow, growing: indices into the table's requests.
    pub hit: Vec<u32>,
    /// Whether the first site is a link, and nothing shows which end of it is the cause; then `operation` is the callee.
    pub is_end_unknown: bool,
}

/// Comparison of a site with its baseline.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shift {
    /// Time of a call over the expected time; infinite for a site that is not in the baseline.
    pub factor: f64,
    /// Lower end of the 95 % interval.
    pub factor_low: f64,
    /// Upper end of the 95 % interval.
    pub factor_high: f64,
    /// p-value adjusted over all sites.
    pub p_adjusted: f64,
    /// Calls in the baseline.
    pub baseline_calls: u64,
}

/// An operation that takes longer in the window than in the baseline.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Shifted {
    /// Operations to blame, by descending excess.
    pub suspects: Vec<SiteSuspect>,
    /// A slowdown of most operations at once.
    pub widespread: Option<WidespreadSlowdown>,
}

/// Most operations take longer at once: the cause is what they share, such as a machine, a network, or a database.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WidespreadSlowdown {
    /// Operations that take longer than in the baseline.
    pub slower: usize,
    /// Operations with enough calls to compare.
    pub compared: usize,
    /// Median factor of the compared operations' sites.
    pub factor: f64,
}

/// A widespread slowdown concerns at least this many operations, half of those compared …
const WIDESPREAD_COMPARED_MIN: usize = 6;
/// … and this median factor: everything becomes a little slower with the load.
const WIDESPREAD_FACTOR_MIN: f64 = 1.15;
/// Calls of a compared site, in the window and in the baseline.
const WIDESPREAD_CALLS_MIN: u64 = 20;

impl WidespreadSlowdown {
    fn of(changes: &[SiteChange]) -> Option<WidespreadSlowdown> {
        let enough = |change: &&SiteChange| change.calls.min(change.baseline_calls) >= WIDESPREAD_CALLS_MIN;
        let mut operations: BTreeMap<OperationId, bool> = BTreeMap::new();
        for change in changes.iter().filter(enough) {
            let is_slower = change.slower && change.slow_calls.is_none();
            *operations.entry(change.site.operation()).or_default() |= is_slower;
        }
        let factors: Vec<f64> = changes.iter().filter(enough).map(|change| change.factor).collect();
        let slowdown = WidespreadSlowdown {
            slower: operations.values().filter(|slower| **slower).count(),
            compared: operations.len(),
            factor: median_of(&factors),
        };
        let is_widespread = slowdown.compared >= WIDESPREAD_COMPARED_MIN
            && 2 * slowdown.slower >= slowdown.compared
            && slowdown.factor >= WIDESPREAD_FACTOR_MIN;
        is_widespread.then_some(slowdown)
    }

    /// The part of an excess that remains when the factor of all operations is taken away, 0 to 1.
    pub fn share_beyond(&self, factor: f64) -> f64 {
        if factor.is_infinite() {
            return 1.0;
        }
        ((factor / self.factor - 1.0) / (factor - 1.0).max(1e-9)).clamp(0.0, 1.0)
    }
}

/// Operations that take longer in the window than in the baseline. `services` holds the service of every operation, by
/// handle.
pub fn shifted_suspects(
    baseline: &SiteTable,
    window: &SiteTable,
    services: &[ServiceId],
    settings: &SiteSettings,
    threads: NonZeroUsize,
) -> Shifted {
    let changes = compare_sites(baseline, window, services, &settings.change, threads);
    let ends = blame(&changes, services);
    let slower = changes.iter().filter(|change| change.slower);
    let suspects = slower.map(|change| SiteSuspect {
        operation: blamed(change.site, &ends, services),
        sites: vec![change.site],
        // The factor is that of all calls, not of the slow ones.
        shift: change.slow_calls.is_none().then_some(Shift {
            factor: change.factor,
            factor_low: change.factor_low,
            factor_high: change.factor_high,
            p_adjusted: change.p_adjusted,
            baseline_calls: change.baseline_calls,
        }),
        slow_calls: change.slow_calls,
        culprits: if change.is_new() { only_homes(window, change, services) } else { Vec::new() },
        excess_ns: change.path_excess_ns,
        effect_ns: change.excess_ns,
        factor: change.factor,
        hit: change.hit.clone(),
        is_end_unknown: end(change.site, &ends, services) == Some(End::Undecided),
    });
    Shifted { suspects: join_suspects(suspects.collect()), widespread: WidespreadSlowdown::of(&changes) }
}

/// Mean calls per replica needed before a replica without calls counts as one that does not run a new operation.
const CALLS_A_REPLICA_MIN: usize = 5;

/// The replicas that run a new operation, if others of its service do not: a rollout in progress.
fn only_homes(window: &SiteTable, change: &SiteChange, services: &[ServiceId]) -> Vec<Culprit> {
    let operation = change.site.operation();
    let service = services[operation.index()];
    let of_service = |other: OperationId| services[other.index()] == service;
    let serving: BTreeSet<ReplicaId> =
        window.homes.iter().filter(|(other, _)| of_service(*other)).map(|&(_, replica)| replica).collect();
    let homes: BTreeSet<ReplicaId> = window.homes_of(operation).collect();
    if homes.len() == serving.len() || (change.calls as usize) < CALLS_A_REPLICA_MIN * serving.len() {
        return Vec::new();
    }
    let culprit = |&replica: &ReplicaId| Culprit {
        replica,
        factor: change.factor,
        factor_low: change.factor_low,
        factor_high: change.factor_high,
        observations: change.calls / homes.len() as u64,
        p_adjusted: change.p_adjusted,
    };
    homes.iter().map(culprit).collect()
}

/// Operations that are slower on some replicas than on others.
pub fn uneven_suspects(
    window: &SiteTable,
    settings: &SiteSettings,
    threads: NonZeroUsize,
) -> Vec<SiteSuspect> {
    let least = settings.uneven_share_min * window.latency_total_ns();
    let uneven = find_uneven_sites(window, &settings.culprits, threads);
    let by_replica = excess_by_replica(&uneven);
    let all_of = |culprit: &Culprit| by_replica[&culprit.replica];
    let is_large = |site: &UnevenSite| {
        site.excess_ns >= least || site.culprits.iter().any(|culprit| all_of(culprit) >= least)
    };
    let large = uneven.into_iter().filter(is_large);
    join_suspects(large.map(|site| uneven_suspect(window, site)).collect())
}

/// The excess of each replica at all sites at which it alone is the culprit: a slow machine slows each of its operations a
/// little.
fn excess_by_replica(uneven: &[UnevenSite]) -> BTreeMap<ReplicaId, f64> {
    let mut sums: BTreeMap<ReplicaId, f64> = BTreeMap::new();
    for site in uneven {
        for culprit in &site.culprits {
            let own = if site.culprits.len() == 1 { site.excess_ns } else { 0.0 };
            *sums.entry(culprit.replica).or_default() += own;
        }
    }
    sums
}

/// Operations that became slower on some replicas than on others since the baseline.
pub fn changed_replica_suspects(
    baseline: &SiteTable,
    window: &SiteTable,
    settings: &SiteSettings,
    threads: NonZeroUsize,
) -> Vec<SiteSuspect> {
    let changed = find_changed_replicas(baseline, window, &settings.culprits, threads);
    join_suspects(changed.into_iter().map(|site| uneven_suspect(window, site)).collect())
}

fn uneven_suspect(window: &SiteTable, uneven: UnevenSite) -> SiteSuspect {
    let (operation, is_end_unknown) = match uneven.site {
        Site::Operation(operation) | Site::Chain(operation) => (operation, false),
        Site::Link { caller, callee } => match culprits_end(window, uneven.site, &uneven.culprits) {
            End::Caller => (caller, false),
            End::Callee => (callee, false),
            End::Undecided => (callee, true),
        },
    };
    let factor = uneven.culprits.iter().map(|culprit| culprit.factor).sum::<f64>()
        / uneven.culprits.len().max(1) as f64;
    SiteSuspect {
        operation,
        sites: vec![uneven.site],
        shift: None,
        slow_calls: None,
        excess_ns: uneven.excess_ns,
        effect_ns: uneven.excess_ns / (uneven.observations.max(1) as f64),
        factor,
        culprits: uneven.culprits,
        hit: uneven.requests,
        is_end_unknown,
    }
}

/// Merges suspects of different periods: excesses of one operation are added; descending by excess.
pub fn add_up_suspects(suspects: Vec<SiteSuspect>) -> Vec<SiteSuspect> {
    let mut sums: BTreeMap<OperationId, f64> = BTreeMap::new();
    for suspect in &suspects {
        *sums.entry(suspect.operation).or_default() += suspect.excess_ns;
    }
    let mut joined = join_suspects(suspects);
    joined.iter_mut().for_each(|suspect| suspect.excess_ns = sums[&suspect.operation]);
    join_suspects(joined)
}

/// Merges suspects of one operation: the numbers are those of the one with the largest excess; descending by excess.
pub fn join_suspects(mut suspects: Vec<SiteSuspect>) -> Vec<SiteSuspect> {
    let order = |suspects: &mut Vec<SiteSuspect>| {
        suspects.sort_by(|a, b| {
            b.excess_ns
                .total_cmp(&a.excess_ns)
                .then(a.operation.cmp(&b.operation))
                .then(a.sites.cmp(&b.sites))
        });
    };
    order(&mut suspects);
    decide_ends(&mut suspects);
    order(&mut suspects);
    let mut joined: BTreeMap<OperationId, SiteSuspect> = BTreeMap::new();
    for suspect in suspects {
        let Some(known) = joined.get_mut(&suspect.operation) else {
            joined.insert(suspect.operation, suspect);
            continue;
        };
        join(known, suspect);
    }
    let mut out: Vec<SiteSuspect> = joined.into_values().collect();
    order(&mut out);
    out
}

/// Where the replicas of a suspect show which end of a link is slow, it is that end for every suspect of the link: the first of several.
fn decide_ends(suspects: &mut [SiteSuspect]) {
    let mut decided: BTreeMap<Site, OperationId> = BTreeMap::new();
    for suspect in suspects.iter().filter(|suspect| !suspect.is_end_unknown && !suspect.culprits.is_empty()) {
        for &site in &suspect.sites {
            decided.entry(site).or_insert(suspect.operation);
        }
    }
    for suspect in suspects.iter_mut().filter(|suspect| suspect.is_end_unknown) {
        if let Some(&operation) = suspect.sites.first().and_then(|site| decided.get(site)) {
            (suspect.operation, suspect.is_end_unknown) = (operation, false);
        }
    }
}

fn join(known: &mut SiteSuspect, other: SiteSuspect) {
    let same_site = other.sites.iter().any(|site| known.sites.contains(site));
    for site in other.sites {
        if !known.sites.contains(&site) {
            known.sites.push(site);
        }
    }
    for culprit in other.culprits {
        if !known.culprits.iter().any(|known| known.replica == culprit.replica) {
            known.culprits.push(culprit);
        }
    }
    known.shift = known.shift.or(other.shift);
    known.slow_calls = known.slow_calls.or(other.slow_calls);
    known.is_end_unknown &= other.is_end_unknown;
    // The same time, once against peers and once against the baseline, counts once.
    known.excess_ns =
        if same_site { known.excess_ns.max(other.excess_ns) } else { known.excess_ns + other.excess_ns };
    known.hit.extend(other.hit);
    known.hit.sort_unstable();
    known.hit.dedup();
}

/// The end of the links between two services that causes their slowness.
fn blame(changes: &[SiteChange], services: &[ServiceId]) -> BTreeMap<(ServiceId, ServiceId), End> {
    let mut pairs: BTreeMap<(ServiceId, ServiceId), MeanExcess> = BTreeMap::new();
    let mut own: BTreeMap<ServiceId, MeanExcess> = BTreeMap::new();
    let service = |operation: OperationId| services[operation.index()];
    for change in changes {
        let excess = MeanExcess { calls: change.calls as f64, mean_ns: change.excess_ns };
        match change.site {
            Site::Link { caller, callee } => {
                pairs.entry((service(caller), service(callee))).or_default().add(excess);
            }
            Site::Operation(operation) if !change.is_new() => {
                own.entry(service(operation)).or_default().add(excess)
            }
            Site::Operation(_) | Site::Chain(_) => {}
        }
    }
    let links: Vec<LinkExcess> =
        pairs.iter().map(|(&(caller, callee), &excess)| LinkExcess { caller, callee, excess }).collect();
    pairs.into_keys().zip(blame_ends(&links, &own)).collect()
}

/// The end of a link that causes its slowness; `None` for other sites.
fn end(site: Site, ends: &BTreeMap<(ServiceId, ServiceId), End>, services: &[ServiceId]) -> Option<End> {
    let Site::Link { caller, callee } = site else { return None };
    ends.get(&(services[caller.index()], services[callee.index()])).copied()
}

fn blamed(site: Site, ends: &BTreeMap<(ServiceId, ServiceId), End>, services: &[ServiceId]) -> OperationId {
    match site {
        Site::Operation(operation) | Site::Chain(operation) => operation,
        Site::Link { caller, .. } if end(site, ends, services) == Some(End::Caller) => caller,
        Site::Link { callee, .. } => callee,
    }
}
