//! Which replicas are slow: the robust test of algorithms §7.4.

use laggard_model::ReplicaId;
use laggard_numeric::{
    Weights, benjamini_hochberg, binomial_upper_tail, weighted_mann_whitney_one_vs_rest, weighted_median,
};
use std::collections::BTreeMap;

/// Calls of one operation, as input of the test.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ReplicaObservations {
    /// Replica of each call.
    pub replicas: Vec<ReplicaId>,
    /// Standardized time of each call: `(time − median)/MAD` of its position.
    pub standardized: Vec<f64>,
    /// Time of each call over the usual time at its position; 1 is usual.
    pub ratios: Vec<f64>,
    /// Whether the call's deviation counts.
    pub exceeds: Vec<bool>,
    /// Weight of each call's request; above 0, in any unit.
    pub weights: Vec<f64>,
}

/// Test result of one replica.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReplicaTest {
    /// The replica.
    pub replica: ReplicaId,
    /// Number of its calls.
    pub calls: u64,
    /// Number of its calls whose deviation counts.
    pub exceeding: u64,
    /// Rate of exceeding calls of the others, with one added to both numerator and denominator.
    pub others_rate: f64,
    /// One-sided binomial test that its calls exceed *more often* than those of the others.
    pub p_exceed: f64,
    /// One-sided Mann–Whitney test that its calls are *generally* slower than those of the others.
    pub p_shift: f64,
    /// `min(1, 2·min(p_exceed, p_shift))`; 1 when neither effect is large enough to matter.
    pub p_value: f64,
    /// `p_value` adjusted over the replicas by Benjamini–Hochberg.
    pub p_adjusted: f64,
    /// Median of its ratios over the median of all ratios.
    pub shift_factor: f64,
    /// Whether the replica is a culprit.
    pub flagged: bool,
}

/// The spread of a fault over replicas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// Some replicas differ from the others.
    Localized,
    /// None differs, and there were enough replicas and deviations to detect a difference.
    Everywhere,
    /// None differs, but there were too few replicas or deviations to decide.
    Undecided,
}

/// Replicas needed before "none differs" means everywhere.
const REPLICAS_MIN: usize = 5;
/// … and mean deviations per replica: with fewer, a replica without any may have none by chance.
const EXCEEDING_MIN: u64 = 2;

// Limit: rounds of replica tests | the last round is the result
/// Most rounds of [`test_replicas`].
const ROUNDS_MAX: usize = 16;

/// Tests every replica against all others. With enough data the smallest difference is significant, so a
/// replica must also exceed `factor_min` times as often as the others, or its median call must take `factor_min`
/// times the usual.
///
/// Several culprits mask each other, because each is compared with the others. So flagged replicas are removed and
/// the rest are tested again, until none is flagged or half of them are. A replica's
/// numbers are those of the round that flagged it, otherwise of the first round.
///
/// When calls have unequal weights, both effects (how often it exceeds, its median) are weighted. The rank test
/// is weighted too, with effective sample sizes, so that a call with a large weight adds no certainty. The
/// binomial test counts the calls that were read: slow requests that were sampled for being slow have weight 1,
/// and by weight they would be negligible regardless of their number.
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
        rest.retain(|replica| !flagged(replica));
        let again = Groups::new(&rest).test_all(&rest, level, factor_min);
        if !again.iter().any(|test| test.flagged) {
            break;
        }
        for test in again.into_iter().filter(|test| test.flagged) {
            let index = tests.iter().position(|known| known.replica == test.replica);
            tests[index.expect("the rest are among all")] = test;
        }
    }
    (spread(&tests, groups.exceeding_total), tests)
}

fn spread(tests: &[ReplicaTest], exceeding: u64) -> Spread {
    if tests.iter().any(|test| test.flagged) {
        return Spread::Localized;
    }
    let enough = tests.len() >= REPLICAS_MIN && exceeding >= EXCEEDING_MIN * tests.len() as u64;
    if enough { Spread::Everywhere } else { Spread::Undecided }
}

impl ReplicaObservations {
    fn retain(&mut self, wanted: impl Fn(ReplicaId) -> bool) {
        let keep: Vec<bool> = self.replicas.iter().map(|&replica| wanted(replica)).collect();
        let retain = |values: &mut Vec<f64>| {
            let mut flags = keep.iter();
            values.retain(|_| flags.next() == Some(&true));
        };
        retain(&mut self.standardized);
        retain(&mut self.ratios);
        retain(&mut self.weights);
        let mut flags = keep.iter();
        self.exceeds.retain(|_| flags.next() == Some(&true));
        self.replicas.retain(|&replica| wanted(replica));
    }
}

struct Groups {
    replicas: Vec<ReplicaId>,
    group_of: Vec<u32>,
    calls: Vec<u64>,
    exceeding: Vec<u64>,
    exceeding_total: u64,
    /// Weighted sums by group, when weights are unequal.
    weighted: Option<Vec<WeightedCalls>>,
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
            weighted: None,
            replicas: index.into_keys().collect(),
            group_of,
        };
        for (&group, &exceeds) in groups.group_of.iter().zip(&observed.exceeds) {
            groups.calls[group as usize] += 1;
            groups.exceeding[group as usize] += u64::from(exceeds);
            groups.exceeding_total += u64::from(exceeds);
        }
        if Weights::from_slice(&observed.weights) != Weights::Equal {
            groups.weigh(observed);
        }
        groups
    }

    fn weigh(&mut self, observed: &ReplicaObservations) {
        let mut weighted = vec![WeightedCalls::default(); self.replicas.len()];
        for ((&group, &exceeds), &weight) in
            self.group_of.iter().zip(&observed.exceeds).zip(&observed.weights)
        {
            weighted[group as usize].add(weight, exceeds);
        }
        self.weighted = Some(weighted);
    }

    /// Ratio of weighted rates: how often a group's calls exceed, over how often the others' do (with one call added to
    /// both). `None` when all weights are equal.
    fn weighted_rate_ratio(&self, group: usize) -> Option<f64> {
        let weighted = self.weighted.as_ref()?;
        let mut others = WeightedCalls::default();
        for (_, calls) in weighted.iter().enumerate().filter(|&(index, _)| index != group) {
            others.merge(calls);
        }
        let exceeding = others.exceeding_weight + weighted[group].exceeding_weight;
        let one_call = exceeding / self.exceeding_total.max(1) as f64;
        let others_rate = (others.exceeding_weight + one_call) / (others.weight + 2.0 * one_call);
        Some(weighted[group].exceeding_weight / weighted[group].weight / others_rate)
    }

    /// One round: tests every replica against all others.
    fn test_all(&self, observed: &ReplicaObservations, level: f64, factor_min: f64) -> Vec<ReplicaTest> {
        let shifts = weighted_mann_whitney_one_vs_rest(
            &observed.standardized,
            Weights::from_slice(&observed.weights),
            &self.group_of,
            self.replicas.len(),
        );
        let factors = shift_factors(self, observed);
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
        let is_often = match self.weighted_rate_ratio(group) {
            None => exceeding as f64 >= factor_min * others_rate * calls as f64,
            Some(ratio) => ratio >= factor_min,
        };
        let often = exceeding >= 2 && is_often;
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

/// Sums over the weights of some calls.
#[derive(Clone, Copy, Default)]
struct WeightedCalls {
    weight: f64,
    exceeding_weight: f64,
}

impl WeightedCalls {
    fn add(&mut self, weight: f64, exceeds: bool) {
        self.weight += weight;
        self.exceeding_weight += if exceeds { weight } else { 0.0 };
    }

    fn merge(&mut self, other: &WeightedCalls) {
        self.weight += other.weight;
        self.exceeding_weight += other.exceeding_weight;
    }
}

/// Median of each group's ratios over the median of all ratios.
fn shift_factors(groups: &Groups, observed: &ReplicaObservations) -> Vec<f64> {
    let mut by_group: Vec<(Vec<f64>, Vec<f64>)> = vec![Default::default(); groups.replicas.len()];
    for ((&group, &ratio), &weight) in groups.group_of.iter().zip(&observed.ratios).zip(&observed.weights) {
        by_group[group as usize].0.push(ratio);
        by_group[group as usize].1.push(weight);
    }
    let usual = weighted_median(&observed.ratios, Weights::from_slice(&observed.weights));
    let factor = |(ratios, weights): &(Vec<f64>, Vec<f64>)| {
        if usual > 0.0 { weighted_median(ratios, Weights::from_slice(weights)) / usual } else { 1.0 }
    };
    by_group.iter().map(factor).collect()
}
