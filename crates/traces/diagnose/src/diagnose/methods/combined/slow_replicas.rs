//! Which replicas of a suspect are slow, from its calls over their usual time.
//!
//! Peers are compared over the whole window and among requests of one category. That comparison misses a replica that became
//! slow near the end of the window, and replicas whose requests have call trees of their own. Here each call counts against the
//! usual time of its category, from the suspect's onset on, and each replica against its own past.

use super::hits::{HitStudy, LeveledCall};
use super::reference::Reference;
use super::site_study::SiteStudy;
use crate::diagnose::answer::Suspect;
use crate::diagnose::question::DiagnoseQuestion;
use crate::site_calls::SiteCall;
use laggard_localize::{CulpritSettings, ReplicaObservations, Site, Spread, test_replicas};
use laggard_model::{OperationId, ReplicaId};
use laggard_numeric::{binomial_upper_tail, mad, mean, median_of, normal_upper_tail, sample_std};
use laggard_report::CulpritReplica;
use std::collections::{BTreeMap, BTreeSet};

/// Standard errors that the least factor must be for a replica with it to be noticed.
const NOTICED_ERRORS: f64 = 4.0;
/// Logarithms are clipped at this many MAD from their median.
const CLAMP_MAD: f64 = 8.0;
/// Replicas are slow alike if each is slow by at least this part of the slowest one's logarithm.
const ALIKE_PART: f64 = 0.5;
/// Standard errors between a replica and a limit.
const ALIKE_ERRORS: f64 = 3.0;
/// Level of the test that a replica has too few calls that are hit to be slow like the others, over all replicas.
const ALIKE_LEVEL: f64 = 0.05;
/// Fewest calls of a replica in the baseline that make a past of its own.
const PAST_CALLS_MIN: usize = 20;

/// What the calls of each replica say about where the operation is slow.
#[derive(Clone, PartialEq, Debug)]
enum SlowReplicas {
    /// Only these, with the p-value of each.
    Only(Vec<(ReplicaId, f64)>),
    /// Each of them.
    All,
    /// Some may not be.
    Unknown,
}

impl HitStudy<'_> {
    /// All calls of a suspect in the window, with their levels. Sets its culprits where only the calls over their usual times
    /// show them, and whether it is slow on every replica.
    pub(super) fn calls_on_slow_replicas(&self, suspect: &mut Suspect, sites: &[Site]) -> Vec<LeveledCall> {
        if suspect.spread == Spread::Localized {
            let has_more = self.add_slow_replicas(suspect, sites);
            let reference = if has_more { Reference::SameGroup } else { self.reference(suspect) };
            return self.calls(suspect, sites, reference);
        }
        let reference = self.reference(suspect);
        let calls = self.calls(suspect, sites, reference);
        let by_replica = self.by_replica(suspect, &calls);
        let settings = &self.question.settings.sites.culprits;
        if suspect.spread == Spread::Undecided && would_be_noticed(&by_replica, settings.factor_min) {
            suspect.spread = Spread::Everywhere;
        }
        // Other references are the window's own calls: a replica with a call tree of its own is usual by them.
        if reference != Reference::Baseline || by_replica.len() < 2 {
            return calls;
        }
        let past = Past::new(self.study, self.question, suspect.operation, sites);
        match slow_replicas(&by_replica, &past, settings) {
            SlowReplicas::All => suspect.spread = Spread::Everywhere,
            SlowReplicas::Unknown => suspect.spread = Spread::Undecided,
            SlowReplicas::Only(slow) => {
                self.localize(suspect, &slow, &by_replica);
                return self.calls(suspect, sites, Reference::SameGroup);
            }
        }
        calls
    }

    /// Adds replicas that are slow like the suspect's culprits: each was compared with its peers, among which the other slow ones are. Returns
    /// whether there were any; not without a baseline.
    fn add_slow_replicas(&self, suspect: &mut Suspect, sites: &[Site]) -> bool {
        let anywhere = Suspect { culprits: Vec::new(), spread: Spread::Undecided, ..suspect.clone() };
        if self.reference(&anywhere) != Reference::Baseline {
            return false;
        }
        let by_replica = self.by_replica(&anywhere, &self.calls(&anywhere, sites, Reference::Baseline));
        let past = Past::new(self.study, self.question, suspect.operation, sites);
        let SlowReplicas::Only(slow) =
            slow_replicas(&by_replica, &past, &self.question.settings.sites.culprits)
        else {
            return false;
        };
        let is_slow = |culprit: &ReplicaId| slow.iter().any(|(replica, _)| replica == culprit);
        let has_more = slow.len() > suspect.culprits.len() && suspect.culprits.iter().all(is_slow);
        if has_more {
            self.localize(suspect, &slow, &by_replica);
        }
        has_more
    }

    /// Makes these replicas the suspect's culprits. Their factors are set when their calls are known.
    fn localize(
        &self,
        suspect: &mut Suspect,
        slow: &[(ReplicaId, f64)],
        by_replica: &BTreeMap<ReplicaId, Vec<LeveledCall>>,
    ) {
        suspect.spread = Spread::Localized;
        suspect.culprits = slow.iter().map(|&(replica, _)| replica).collect();
        let names = self.study.union.names();
        let culprit = |&(replica, p_value): &(ReplicaId, f64)| CulpritReplica {
            replica: names.replica_name(replica).to_owned(),
            factor: suspect.excess.median_factor,
            factor_low: suspect.excess.median_factor,
            factor_high: suspect.excess.median_factor,
            p_value,
            observations: by_replica[&replica].len() as u64,
        };
        if let Some(figures) = &mut suspect.sites {
            figures.culprits = slow.iter().map(culprit).collect();
        }
    }
}

/// Compares the replicas of a suspect by their judged calls. `by_replica` has the calls of every replica.
fn slow_replicas(
    by_replica: &BTreeMap<ReplicaId, Vec<LeveledCall>>,
    past: &Past,
    settings: &CulpritSettings,
) -> SlowReplicas {
    let judged = |calls: &[LeveledCall]| -> Vec<LeveledCall> {
        calls.iter().filter(|call| call.is_judged && call.usual_ns > 0.0).copied().collect()
    };
    let calls: BTreeMap<ReplicaId, Vec<LeveledCall>> =
        by_replica.iter().map(|(&replica, calls)| (replica, judged(calls))).collect();
    if calls.len() < 2 || calls.values().any(|calls| calls.len() < settings.observations_min) {
        return SlowReplicas::Unknown;
    }
    let levels: BTreeMap<ReplicaId, MeanLog> = (calls.iter())
        .map(|(&replica, calls)| {
            let logs: Vec<f64> = calls.iter().map(LeveledCall::log_ratio).collect();
            (replica, MeanLog::of(&logs).since(past.level(replica)))
        })
        .collect();
    let limit = ALIKE_PART * levels.values().map(|level| level.mean).fold(0.0, f64::max);
    let hit = |calls: &[LeveledCall]| calls.iter().filter(|call| call.is_hit).count();
    let counts: Vec<(usize, usize)> = calls.values().map(|calls| (calls.len(), hit(calls))).collect();
    let few_hits = calls.keys().zip(have_few_hits(&counts)).filter(|(_, few)| *few);
    let few_hits: BTreeSet<ReplicaId> = few_hits.map(|(&replica, _)| replica).collect();
    let is_usual = |replica: &ReplicaId, level: &MeanLog| level.is_below(limit) || few_hits.contains(replica);
    let is_slow = |replica: &ReplicaId, level: &MeanLog| {
        level.is_above(0.0) && level.mean >= limit && !few_hits.contains(replica)
    };
    if levels.iter().all(|(replica, level)| level.is_above(0.0) && !is_usual(replica, level)) {
        return SlowReplicas::All;
    }
    if !levels.iter().all(|(replica, level)| is_slow(replica, level) || is_usual(replica, level)) {
        return SlowReplicas::Unknown;
    }
    let (_, tests) = test_replicas(&observations(&calls), settings.level, settings.factor_min);
    let named: BTreeMap<ReplicaId, f64> =
        tests.iter().filter(|test| test.flagged).map(|test| (test.replica, test.p_adjusted)).collect();
    // The test may miss one of two that are slow, since the other one is among its peers. Its own past shows it.
    let slow: Vec<(ReplicaId, f64)> = (levels.iter())
        .filter(|(replica, level)| is_slow(replica, level))
        .map(|(&replica, level)| (replica, named.get(&replica).copied().unwrap_or_else(|| level.p_value())))
        .collect();
    let is_in_slow = |replica: &ReplicaId| slow.iter().any(|(other, _)| other == replica);
    let agree = !named.is_empty() && named.keys().all(is_in_slow);
    if agree { SlowReplicas::Only(slow) } else { SlowReplicas::Unknown }
}

/// Which replicas have less than [`ALIKE_PART`] of the other replicas' share of calls that are hit, by calls and hit calls of each. Where
/// only a part of the calls is slow, means differ less than these shares.
fn have_few_hits(counts: &[(usize, usize)]) -> Vec<bool> {
    let (all, all_hit) = counts.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    let has_few = |&(own, own_hit): &(usize, usize)| {
        let share = ALIKE_PART * (all_hit - own_hit) as f64 / (all - own) as f64;
        let p = binomial_upper_tail(own as u64, 1.0 - share, (own - own_hit) as u64);
        p * (counts.len() as f64) < ALIKE_LEVEL
    };
    counts.iter().map(has_few).collect()
}

/// Mean logarithm of time over usual time, with its standard error.
#[derive(Clone, Copy, Default)]
struct MeanLog {
    mean: f64,
    error: f64,
}

impl MeanLog {
    fn of(logs: &[f64]) -> MeanLog {
        MeanLog { mean: mean(logs), error: sample_std(logs) / (logs.len() as f64).sqrt() }
    }

    fn since(self, past: MeanLog) -> MeanLog {
        MeanLog { mean: self.mean - past.mean, error: self.error.hypot(past.error) }
    }

    fn is_above(&self, limit: f64) -> bool {
        self.mean - ALIKE_ERRORS * self.error > limit
    }

    /// That it is not above 0.
    fn p_value(&self) -> f64 {
        normal_upper_tail(self.mean / self.error.max(f64::MIN_POSITIVE))
    }

    fn is_below(&self, limit: f64) -> bool {
        self.mean + ALIKE_ERRORS * self.error < limit
    }
}

/// Levels of an operation's replicas in the baseline. They are not 0: times have long tails, and replicas differ.
pub(super) struct Past {
    by_replica: BTreeMap<ReplicaId, MeanLog>,
    all: MeanLog,
}

impl Past {
    pub(super) fn new(
        study: &SiteStudy,
        question: &DiagnoseQuestion<'_>,
        operation: OperationId,
        sites: &[Site],
    ) -> Past {
        let mut by_replica: BTreeMap<ReplicaId, Vec<f64>> = BTreeMap::new();
        let mut all: Vec<f64> = Vec::new();
        if let Some(table) = &study.baseline {
            let homes: BTreeSet<ReplicaId> = table.homes_of(operation).collect();
            for &site in sites {
                let calls = study.baseline_calls(question, site);
                let category = |call: &SiteCall| table.requests[call.request as usize].category;
                let mut times: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
                for call in &calls {
                    times.entry(category(call)).or_default().push(f64::from(call.time_ns.max(1.0)));
                }
                let usual: BTreeMap<u32, f64> =
                    times.into_iter().map(|(category, times)| (category, median_of(&times))).collect();
                for call in &calls {
                    let log = (f64::from(call.time_ns.max(1.0)) / usual[&category(call)]).ln();
                    all.push(log);
                    for &replica in table.sets[call.set as usize].iter().filter(|one| homes.contains(one)) {
                        by_replica.entry(replica).or_default().push(log);
                    }
                }
            }
        }
        let level = |logs: &[f64]| (logs.len() >= PAST_CALLS_MIN).then(|| MeanLog::of(logs));
        Past {
            all: level(&all).unwrap_or_default(),
            by_replica: (by_replica.into_iter())
                .filter_map(|(replica, logs)| Some((replica, level(&logs)?)))
                .collect(),
        }
    }

    /// A replica that is new was like any other.
    fn level(&self, replica: ReplicaId) -> MeanLog {
        self.by_replica.get(&replica).copied().unwrap_or(self.all)
    }
}

fn observations(calls: &BTreeMap<ReplicaId, Vec<LeveledCall>>) -> ReplicaObservations {
    let each = || calls.iter().flat_map(|(&replica, calls)| calls.iter().map(move |call| (replica, call)));
    let logs: Vec<f64> = each().map(|(_, call)| call.log_ratio()).collect();
    let center = median_of(&logs);
    let scale = mad(&logs, center).max(f64::MIN_POSITIVE);
    ReplicaObservations {
        replicas: each().map(|(replica, _)| replica).collect(),
        standardized: logs.iter().map(|log| (log - center) / scale).collect(),
        ratios: logs.iter().map(|log| log.exp()).collect(),
        exceeds: each().map(|(_, call)| call.is_hit).collect(),
        weights: vec![1.0; logs.len()],
    }
}

/// Whether any replica whose calls take `factor_min` times the others' would have been noticed.
fn would_be_noticed(by_replica: &BTreeMap<ReplicaId, Vec<LeveledCall>>, factor_min: f64) -> bool {
    let logs = by_replica.values().flatten().filter(|call| call.usual_ns > 0.0).map(LeveledCall::log_ratio);
    let mut logs: Vec<f64> = logs.collect();
    if logs.len() < 2 || by_replica.len() < 2 {
        return false;
    }
    let middle = median_of(&logs);
    let reach = CLAMP_MAD * mad(&logs, middle);
    logs.iter_mut().for_each(|log| *log = log.clamp(middle - reach, middle + reach));
    let (all, spread) = (logs.len() as f64, sample_std(&logs));
    by_replica.values().all(|calls| {
        let own = calls.len() as f64;
        let error = spread * (1.0 / own + 1.0 / (all - own).max(1.0)).sqrt();
        factor_min.ln() >= NOTICED_ERRORS * error
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many calls of a millisecond and a half, in turn shorter and longer, of which some take ten times as long.
    fn calls(count: usize, slow: usize) -> Vec<LeveledCall> {
        let call = |index: usize| {
            let factor = if index < slow { 10.0 } else { 1.0 };
            LeveledCall {
                call: SiteCall {
                    request: index as u32,
                    set: 0,
                    time_ns: factor * (1.0 + (index % 7) as f32 / 6.0) * 1e6,
                },
                usual_ns: 1.5e6,
                usual_mean_ns: 1.5e6,
                is_judged: true,
                is_hit: index < slow,
                probability: factor / 10.0,
            }
        };
        (0..count).map(call).collect()
    }

    /// Half of the calls on one replica, a third on another, hardly any on the third: a fault of the bookstore's `blocking-random`.
    #[test]
    fn a_replica_with_fewer_slow_calls_than_another_is_slow_as_well() {
        let past = Past { by_replica: BTreeMap::new(), all: MeanLog::default() };
        let slow = |counts: [(usize, usize); 3]| {
            let by_replica = (0..).map(ReplicaId::from_index).zip(counts.map(|(all, slow)| calls(all, slow)));
            match slow_replicas(&by_replica.collect(), &past, &CulpritSettings::default()) {
                SlowReplicas::Only(slow) => slow.into_iter().map(|(replica, _)| replica.index()).collect(),
                SlowReplicas::All => vec![0, 1, 2],
                SlowReplicas::Unknown => Vec::new(),
            }
        };
        assert_eq!(slow([(99, 50), (102, 3), (83, 31)]), [0, 2]);
        assert_eq!(slow([(99, 50), (102, 3), (83, 2)]), [0]);
        assert_eq!(slow([(99, 50), (102, 42), (83, 31)]), [0, 1, 2]);
        // Too few calls to tell.
        assert_eq!(slow([(99, 50), (102, 3), (25, 4)]), [0; 0]);
    }

    /// Of a fault of two of three replicas, while other programs made all of them slower.
    #[test]
    fn a_replica_with_hardly_any_slow_call_is_not_slow_like_the_others() {
        assert_eq!(have_few_hits(&[(57, 17), (34, 0), (43, 20)]), [false, true, false]);
        assert_eq!(have_few_hits(&[(57, 17), (34, 9), (43, 20)]), [false; 3]);
        // Too few calls to tell.
        assert_eq!(have_few_hits(&[(14, 4), (8, 0), (11, 5)]), [false; 3]);
        // A third of the other's share; half of it.
        assert_eq!(have_few_hits(&[(1000, 100), (1000, 33)]), [false, true]);
        assert_eq!(have_few_hits(&[(1000, 100), (1000, 50)]), [false; 2]);
        assert_eq!(have_few_hits(&[(20, 0), (30, 0)]), [false; 2]);
    }
}
