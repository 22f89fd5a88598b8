//! Which replicas? The robust test of algorithms §7.4.

use laggard_model::ReplicaId;
use laggard_numeric::{benjamini_hochberg, binomial_upper_tail, mann_whitney_one_vs_rest, median, median_of};
use std::collections::BTreeMap;

/// Calls of one operation, for the test.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ReplicaObservations {
    /// Where each call ran.
    pub replicas: Vec<ReplicaId>,
    /// Standardised time of each call: `(time − median)/MAD` of its position.
    pub standardised: Vec<f64>,
    /// Time of each call over the usual time at its position; 1 is usual.
    pub ratios: Vec<f64>,
    /// Whether the call's deviation counts.
    pub exceeds: Vec<bool>,
}

/// What the test says of one replica.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReplicaTest {
    /// The replica.
    pub replica: ReplicaId,
    /// Its calls.
    pub calls: u64,
    /// Its calls whose deviation counts.
    pub exceeding: u64,
    /// Rate of exceeding among the others, with one added to either side.
    pub others_rate: f64,
    /// One-sided binomial: it is *sometimes* terrible more often than the others.
    pub p_exceed: f64,
    /// One-sided Mann–Whitney: it is *always* a bit slow against the others.
    pub p_shift: f64,
    /// `min(1, 2·min(p_exceed, p_shift))`; 1 when neither effect is large enough to matter.
    pub p_value: f64,
    /// Adjusted over the replicas by Benjamini–Hochberg.
    pub p_adjusted: f64,
    /// Median of its ratios over the median of all ratios.
    pub shift_factor: f64,
    /// Whether it stands out.
    pub flagged: bool,
}

/// The spread of a fault over replicas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// Some replicas stand out.
    Localised,
    /// None does, and there were enough replicas and deviations for one to do so.
    Everywhere,
    /// None does, but there were too few replicas or deviations to say.
    Undecided,
}

/// Replicas needed before "none stands out" means everywhere.
const REPLICAS_MIN: usize = 5;
/// … and deviations a replica, on average: with fewer, replicas that have none may have been lucky.
const EXCEEDING_MIN: u64 = 2;

/// Rounds of [`test_replicas`].
const ROUNDS_MAX: usize = 16;

/// Tests every replica against all others. With enough data the faintest difference is significant, so a
/// replica must also exceed `factor_min` times as often as the others, or its median call take `factor_min`
/// times the usual.
///
/// Several culprits mask each other, because each is among the others of the next. So replicas that stand
/// out are set aside and the rest are tested again, until none stands out or half of them do. A replica's
/// numbers are those of the round that flagged it, else of the first.
pub fn test_replicas(
    observed: &ReplicaObservations,
    level: f64,
    factor_min: f64,
) -> (Spread, Vec<ReplicaTest>) {
    let groups = Groups::new(observed);
    let mut tests = groups.test_all(observed, level, factor_min);
    let mut rest = observed.clone();
    for _ in 0..ROUNDS_MAX {
        let flagged = |replica: ReplicaId| tests.iter().any(|test| test.flagged && test.replica == replica);
        let left = tests.iter().filter(|test| !test.flagged).count();
        if left == tests.len() || left * 2 <= tests.len() {
            break;
        }
        rest.keep(|replica| !flagged(replica));
        let again = Groups::new(&rest).test_all(&rest, level, factor_min);
        if !again.iter().any(|test| test.flagged) {
            break;
        }
        for test in again.into_iter().filter(|test| test.flagged) {
            let at = tests.iter().position(|known| known.replica == test.replica);
            tests[at.expect("the rest are among all")] = test;
        }
    }
    (spread(&tests, groups.exceeding_total), tests)
}

fn spread(tests: &[ReplicaTest], exceeding: u64) -> Spread {
    if tests.iter().any(|test| test.flagged) {
        return Spread::Localised;
    }
    let enough = tests.len() >= REPLICAS_MIN && exceeding >= EXCEEDING_MIN * tests.len() as u64;
    if enough { Spread::Everywhere } else { Spread::Undecided }
}

impl ReplicaObservations {
    fn keep(&mut self, wanted: impl Fn(ReplicaId) -> bool) {
        let keep: Vec<bool> = self.replicas.iter().map(|&replica| wanted(replica)).collect();
        let retain = |values: &mut Vec<f64>| {
            let mut at = keep.iter();
            values.retain(|_| at.next() == Some(&true));
        };
        retain(&mut self.standardised);
        retain(&mut self.ratios);
        let mut at = keep.iter();
        self.exceeds.retain(|_| at.next() == Some(&true));
        self.replicas.retain(|&replica| wanted(replica));
    }
}

struct Groups {
    replicas: Vec<ReplicaId>,
    group_of: Vec<u32>,
    calls: Vec<u64>,
    exceeding: Vec<u64>,
    exceeding_total: u64,
}

impl Groups {
    fn new(observed: &ReplicaObservations) -> Groups {
        let mut index: BTreeMap<ReplicaId, u32> = BTreeMap::new();
        for &replica in &observed.replicas {
            index.entry(replica).or_default();
        }
        for (number, group) in index.values_mut().enumerate() {
            *group = number as u32;
        }
        let group_of: Vec<u32> = observed.replicas.iter().map(|replica| index[replica]).collect();
        let mut groups = Groups {
            calls: vec![0; index.len()],
            exceeding: vec![0; index.len()],
            exceeding_total: 0,
            replicas: index.into_keys().collect(),
            group_of,
        };
        for (&group, &exceeds) in groups.group_of.iter().zip(&observed.exceeds) {
            groups.calls[group as usize] += 1;
            groups.exceeding[group as usize] += u64::from(exceeds);
            groups.exceeding_total += u64::from(exceeds);
        }
        groups
    }

    /// One round: every replica against all others.
    fn test_all(&self, observed: &ReplicaObservations, level: f64, factor_min: f64) -> Vec<ReplicaTest> {
        let shifts = mann_whitney_one_vs_rest(&observed.standardised, &self.group_of, self.replicas.len());
        let factors = shift_factors(self, &observed.ratios);
        let mut tests: Vec<ReplicaTest> = (0..self.replicas.len())
            .map(|group| self.test(group, shifts[group], factors[group], factor_min))
            .collect();
        let p_values: Vec<f64> = tests.iter().map(|test| test.p_value).collect();
        for (test, adjusted) in tests.iter_mut().zip(benjamini_hochberg(&p_values)) {
            test.p_adjusted = adjusted;
            test.flagged = adjusted <= level;
        }
        tests
    }

    fn test(&self, group: usize, p_shift: f64, shift_factor: f64, factor_min: f64) -> ReplicaTest {
        let (calls, exceeding) = (self.calls[group], self.exceeding[group]);
        let others = self.group_of.len() as u64 - calls;
        let others_rate = (self.exceeding_total - exceeding + 1) as f64 / (others + 2) as f64;
        let alone = others == 0;
        let p_exceed = if alone { 1.0 } else { binomial_upper_tail(calls, others_rate, exceeding) };
        let often = exceeding >= 2 && exceeding as f64 >= factor_min * others_rate * calls as f64;
        let matters = often || shift_factor >= factor_min;
        ReplicaTest {
            replica: self.replicas[group],
            calls,
            exceeding,
            others_rate,
            p_exceed,
            p_shift,
            p_value: if matters { (2.0 * p_exceed.min(p_shift)).min(1.0) } else { 1.0 },
            p_adjusted: 1.0,
            shift_factor,
            flagged: false,
        }
    }
}

/// Median of each group's ratios over the median of all ratios.
fn shift_factors(groups: &Groups, ratios: &[f64]) -> Vec<f64> {
    let mut own: Vec<Vec<f64>> = vec![Vec::new(); groups.replicas.len()];
    for (&group, &ratio) in groups.group_of.iter().zip(ratios) {
        own[group as usize].push(ratio);
    }
    let usual = median_of(ratios);
    own.iter_mut().map(|ratios| if usual > 0.0 { median(ratios) / usual } else { 1.0 }).collect()
}
