//! Which replicas make a site slow: a search for the set that explains the times best.
//!
//! Testing each replica against the rest fails where it matters most: with 40 % of the replicas slow, the rest
//! is slow too, and a replica that works with a slow one looks slow. So a *set* is searched, by a model with two
//! levels: an observation is slow if any replica that took part in it is a culprit, otherwise normal.
//!
//! ```text
//! log time = level of its category + (any of its replicas in S ? slow : normal) + noise
//! ```
//!
//! S grows by the replica that raises the likelihood most, shrinks by those that turn out not to be needed, and
//! is accepted if the gain exceeds the penalty (extended Bayesian information criterion, Chen & Chen,
//! *Biometrika* 95, 2008): `½ ln n` per replica, `ln C(H, k)` for selecting k of H, and a margin.

use crate::sites::moments::{Moments, log_likelihood};
use laggard_model::ReplicaId;
use laggard_numeric::{benjamini_hochberg, mad, median, normal_upper_tail, spread_evenly};
use laggard_settings::settings;
use std::collections::BTreeMap;

settings! {
    group "combined";
    /// Thresholds of the search.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct CulpritSettings {
        /// A culprit replica takes at least this factor of its peers' time
        factor_min ("culprit-factor-min"): f64 = 1.3, within(1.0, 1e6), "ours: replicas differ by 10 % or 20 % without a fault";
        /// Level of the test of each culprit after Benjamini–Hochberg over all replicas
        level ("culprit-level"): f64 = 0.01, within(0.0, 1.0), "ours";
        /// What the gain in log likelihood has to exceed beside the cost of the choice
        margin ("culprit-margin"): f64 = 5.0, at_least(0.0), "ours: odds of about 150 to 1, since observations are not independent";
        /// Fewest observations of a comparison
        observations_min ("culprit-observations-min", "observations"): usize = 20, at_least(1.0), "ours";
    }
}

/// One observation: the log of its time minus the usual of its category, and the replicas involved.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Share {
    /// Index into the list of sets.
    pub set: u32,
    /// Natural logarithm of the time over the usual time.
    pub log_ratio: f64,
}

/// A replica that makes a site slow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Culprit {
    /// The replica.
    pub replica: ReplicaId,
    /// Time of the replica's observations over that of normal ones (geometric means).
    pub factor: f64,
    /// Lower end of the 95 % interval of the factor.
    pub factor_low: f64,
    /// Upper end of the 95 % interval of the factor.
    pub factor_high: f64,
    /// Observations of the replica without any other culprit.
    pub observations: u64,
    /// p-value of the likelihood-ratio test of the model with the replica against the one without it, adjusted over all
    /// replicas.
    pub p_adjusted: f64,
}

/// Finds the culprits among the replicas in `sets`, the largest factor first; empty when there is none.
/// `choices` is the number of sites searched, which raises the required gain. `O(R · K · S)` for R replicas,
/// K culprits and S distinct sets.
pub fn find_culprits(
    shares: &[Share],
    sets: &[Vec<ReplicaId>],
    choices: usize,
    settings: &CulpritSettings,
) -> Vec<Culprit> {
    if shares.len() < settings.observations_min {
        return Vec::new();
    }
    Search::new(shares, sets).culprits(choices, settings)
}

/// Number of calls of one replica, and of slow ones among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplicaRate {
    /// The replica.
    pub replica: ReplicaId,
    /// Number of its calls.
    pub calls: u64,
    /// Number of its slow calls.
    pub slow: u64,
}

/// Minimum factor between the rates of slow calls of a culprit and of the others.
const RATE_FACTOR_MIN: f64 = 3.0;

/// Finds the replicas on which slow calls are frequent while they are rare on the others: the same search with
/// one rate for culprits and one for the others instead of two levels of time. Factors are of the rates.
pub fn find_frequent_culprits(rates: &[ReplicaRate], settings: &CulpritSettings) -> Vec<Culprit> {
    let sets: Vec<Vec<ReplicaId>> = rates.iter().map(|rate| vec![rate.replica]).collect();
    let moments = rates.iter().map(|rate| {
        let slow = rate.slow.min(rate.calls) as f64;
        Moments { count: rate.calls as f64, sum: slow, squares: slow }
    });
    let search = Search::over(moments.collect(), &sets, Model::Rates);
    let settings = CulpritSettings { factor_min: RATE_FACTOR_MIN, ..*settings };
    search.culprits(1, &settings)
}

/// The distribution assumed for the observations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Model {
    /// Log times around one of two levels, with equal Gaussian noise.
    Times,
    /// Slow or not, at one of two rates.
    Rates,
}

pub(crate) struct Search {
    model: Model,
    replicas: Vec<ReplicaId>,
    /// Moments of the observations of every distinct set.
    sets: Vec<Moments>,
    /// Indices of the sets that contain a replica, by replica.
    member: Vec<Vec<u32>>,
    total: Moments,
}

/// Log ratios further than this many MAD from the median are clamped: one outlier must not decide.
const WINSOR_MAD: f64 = 8.0;
/// Sample size for median and MAD, which is enough for a precision of 1 % of the spread.
const WINSOR_SHARES_MAX: usize = 16_384;
/// Minimum spread: with times that hardly vary any difference would be significant.
const SPREAD_MIN: f64 = 0.01;

/// Log ratios relative to their median, clamped.
pub(crate) struct Winsorized {
    middle: f64,
    reach: f64,
}

impl Winsorized {
    pub(crate) fn of(shares: &[Share]) -> Winsorized {
        let sampled = spread_evenly(shares.len(), WINSOR_SHARES_MAX);
        let mut values: Vec<f64> = sampled.map(|index| shares[index].log_ratio).collect();
        let middle = median(&mut values);
        Winsorized { middle, reach: WINSOR_MAD * mad(&values, middle).max(SPREAD_MIN) }
    }

    pub(crate) fn moments(&self, share: &Share) -> Moments {
        let value = (share.log_ratio - self.middle).clamp(-self.reach, self.reach);
        Moments { count: 1.0, sum: value, squares: value * value }
    }
}

impl Search {
    fn new(shares: &[Share], sets: &[Vec<ReplicaId>]) -> Search {
        let values = Winsorized::of(shares);
        let mut moments = vec![Moments::default(); sets.len()];
        shares.iter().for_each(|share| moments[share.set as usize].add(values.moments(share)));
        Search::from_times(moments, sets)
    }

    /// Over the moments of the log times of each set.
    pub(crate) fn from_times(moments: Vec<Moments>, sets: &[Vec<ReplicaId>]) -> Search {
        Search::over(moments, sets, Model::Times)
    }

    fn over(moments: Vec<Moments>, sets: &[Vec<ReplicaId>], model: Model) -> Search {
        let mut member: BTreeMap<ReplicaId, Vec<u32>> = BTreeMap::new();
        let mut total = Moments::default();
        for (set, moments) in moments.iter().enumerate().filter(|(_, moments)| moments.count > 0.0) {
            total.add(*moments);
            for &replica in &sets[set] {
                member.entry(replica).or_default().push(set as u32);
            }
        }
        let (replicas, member) = member.into_iter().unzip();
        Search { model, replicas, sets: moments, member, total }
    }

    pub(crate) fn culprits(&self, choices: usize, settings: &CulpritSettings) -> Vec<Culprit> {
        let replicas = self.replicas.len();
        if replicas < 2 {
            return Vec::new();
        }
        let cost = |size: usize| 0.5 * self.total.count.ln() * size as f64 + ln_choose(replicas, size);
        let mut selected = self.grow(&cost);
        self.shrink(&mut selected, &cost);
        let gain = self.gain(&self.touched(&selected));
        if selected.is_empty() || gain < cost(selected.len()) + (choices.max(1) as f64).ln() + settings.margin
        {
            return Vec::new();
        }
        self.confirm(selected, settings)
    }

    fn touched(&self, selected: &[usize]) -> Touched {
        let mut touched = Touched { sets: vec![0; self.sets.len()], moments: Moments::default() };
        selected.iter().for_each(|&replica| touched.add(self, replica));
        touched
    }

    /// Log likelihood over that of one level for all; negative when the touched sets are not the slower ones.
    fn gain(&self, touched: &Touched) -> f64 {
        self.gain_of(touched.moments)
    }

    fn gain_of(&self, slow: Moments) -> f64 {
        let normal = self.total.minus(slow);
        if slow.count < 0.5 || normal.count < 0.5 {
            return 0.0;
        }
        if slow.mean() <= normal.mean() {
            return -1.0;
        }
        if self.model == Model::Rates {
            return log_likelihood(slow) + log_likelihood(normal) - log_likelihood(self.total);
        }
        let n = self.total.count;
        let floor = n * SPREAD_MIN * SPREAD_MIN;
        let before = self.total.residual().max(floor);
        let after = (slow.residual() + normal.residual()).max(floor);
        0.5 * n * (before / after).ln()
    }

    /// Repeatedly adds the replica with the largest gain; returns the best prefix.
    fn grow(&self, cost: &impl Fn(usize) -> f64) -> Vec<usize> {
        // With more than half of many replicas slow, normal and slow replicas cannot be distinguished.
        let largest = (self.replicas.len() * 3 / 5).max(1);
        let mut touched = self.touched(&[]);
        let mut selected = Vec::new();
        let mut best = (0.0, 0);
        while selected.len() < largest {
            let gains = (0..self.replicas.len()).filter(|candidate| !selected.contains(candidate));
            let gains = gains.map(|candidate| (self.gain_of(touched.with(self, candidate)), candidate));
            let next = gains.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            let Some((gain, candidate)) = next else { break };
            if gain <= 0.0 {
                break;
            }
            touched.add(self, candidate);
            selected.push(candidate);
            if gain - cost(selected.len()) > best.0 {
                best = (gain - cost(selected.len()), selected.len());
            }
        }
        selected.truncate(best.1);
        selected
    }

    /// Removes replicas that were added early and are not needed once the others are in.
    fn shrink(&self, selected: &mut Vec<usize>, cost: &impl Fn(usize) -> f64) {
        while selected.len() > 1 {
            let gain = self.gain(&self.touched(selected)) - cost(selected.len());
            let without = (0..selected.len()).map(|index| {
                let rest: Vec<usize> = selected
                    .iter()
                    .enumerate()
                    .filter(|&(other, _)| other != index)
                    .map(|(_, &r)| r)
                    .collect();
                (self.gain(&self.touched(&rest)) - cost(rest.len()), index)
            });
            let best = without.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            match best {
                Some((better, index)) if better > gain => selected.remove(index),
                _ => return,
            };
        }
    }

    /// Tests each selected replica and measures its effect.
    fn confirm(&self, selected: Vec<usize>, settings: &CulpritSettings) -> Vec<Culprit> {
        let touched = self.touched(&selected);
        let gain = self.gain(&touched);
        let normal = self.total.minus(touched.moments);
        let spread =
            ((touched.moments.residual() + normal.residual()) / self.total.count).sqrt().max(SPREAD_MIN);
        let mut p_values = vec![1.0; self.replicas.len()];
        for &replica in &selected {
            let rest: Vec<usize> = selected.iter().copied().filter(|&other| other != replica).collect();
            let worth = gain - self.gain(&self.touched(&rest)).max(0.0);
            p_values[replica] = 2.0 * normal_upper_tail((2.0 * worth.max(0.0)).sqrt());
        }
        let adjusted = benjamini_hochberg(&p_values);
        let mut culprits: Vec<Culprit> = selected
            .iter()
            .map(|&replica| self.culprit(replica, &touched, normal, spread, adjusted[replica]))
            .filter(|culprit| culprit.p_adjusted <= settings.level && culprit.factor >= settings.factor_min)
            .collect();
        culprits.sort_by(|a, b| b.factor.total_cmp(&a.factor).then(a.replica.cmp(&b.replica)));
        culprits
    }

    fn culprit(&self, replica: usize, touched: &Touched, normal: Moments, spread: f64, p: f64) -> Culprit {
        let mut alone = Moments::default();
        let mut all = Moments::default();
        for &set in &self.member[replica] {
            all.add(self.sets[set as usize]);
            if touched.sets[set as usize] == 1 {
                alone.add(self.sets[set as usize]);
            }
        }
        let exclusive = if alone.count > 0.0 { alone } else { all };
        let (effect, error) = match self.model {
            Model::Times => {
                let error = spread * (1.0 / exclusive.count + 1.0 / normal.count.max(1.0)).sqrt();
                (exclusive.mean() - normal.mean(), 1.96 * error)
            }
            // Log of the ratio of two rates, with half a slow call added to each.
            Model::Rates => {
                let (slow, others) = (exclusive.sum + 0.5, normal.sum + 0.5);
                let effect = (slow / exclusive.count).ln() - (others / normal.count.max(1.0)).ln();
                (effect, 1.96 * (1.0 / slow + 1.0 / others).sqrt())
            }
        };
        Culprit {
            replica: self.replicas[replica],
            factor: rounded(effect.exp()),
            factor_low: rounded((effect - error).exp()),
            factor_high: rounded((effect + error).exp()),
            observations: exclusive.count as u64,
            p_adjusted: rounded(p),
        }
    }
}

/// Number of culprits in each set, and the moments of the sets with any.
struct Touched {
    sets: Vec<u32>,
    moments: Moments,
}

impl Touched {
    fn add(&mut self, search: &Search, replica: usize) {
        for &set in &search.member[replica] {
            if self.sets[set as usize] == 0 {
                self.moments.add(search.sets[set as usize]);
            }
            self.sets[set as usize] += 1;
        }
    }

    /// The moments if this replica were a culprit as well.
    fn with(&self, search: &Search, replica: usize) -> Moments {
        let mut moments = self.moments;
        for &set in search.member[replica].iter().filter(|&&set| self.sets[set as usize] == 0) {
            moments.add(search.sets[set as usize]);
        }
        moments
    }
}

/// Rounded to nine significant digits: the last digits of sums over replicas depend on the order of the replicas'
/// handles, which depends on the order in which inputs were read.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powi(8 - value.abs().log10().floor() as i32);
    if scale.is_finite() && scale > 0.0 { (value * scale).round() / scale } else { 0.0 }
}

/// `ln C(n, k)`.
fn ln_choose(n: usize, k: usize) -> f64 {
    (0..k.min(n - k.min(n))).map(|i| ((n - i) as f64 / (i + 1) as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replica(index: usize) -> ReplicaId {
        ReplicaId::from_index(index)
    }

    /// Noise without a random generator: a fixed low-discrepancy sequence, spread ±0.3.
    fn noise(index: usize) -> f64 {
        ((index as f64 * 0.618_033_988_75).fract() - 0.5) * 0.6
    }

    /// Pipelines of three out of `replicas`, slow by `effect` when a replica below `bad` is in it.
    fn pipelines(
        count: usize,
        replicas: usize,
        bad: usize,
        effect: f64,
    ) -> (Vec<Share>, Vec<Vec<ReplicaId>>) {
        let mut sets = Vec::new();
        let mut shares = Vec::new();
        let mut state = 1_u64;
        let mut draw = move |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for index in 0..count {
            let mut set: Vec<ReplicaId> = (0..3).map(|_| replica(draw(replicas))).collect();
            set.sort_unstable();
            set.dedup();
            let slow = set.iter().any(|replica| replica.index() < bad);
            sets.push(set);
            shares
                .push(Share { set: index as u32, log_ratio: noise(index) + if slow { effect } else { 0.0 } });
        }
        (shares, sets)
    }

    fn culprit_indices(shares: &[Share], sets: &[Vec<ReplicaId>]) -> Vec<usize> {
        let culprits = find_culprits(shares, sets, 1, &CulpritSettings::default());
        let mut culprits: Vec<usize> = culprits.iter().map(|culprit| culprit.replica.index()).collect();
        culprits.sort_unstable();
        culprits
    }

    #[test]
    fn slow_pipeline_members_are_distinguished_from_their_neighbors() {
        for bad in [1, 5, 20] {
            let (shares, sets) = pipelines(700, 50, bad, 0.8);
            assert_eq!(culprit_indices(&shares, &sets), (0..bad).collect::<Vec<_>>());
        }
    }

    #[test]
    fn without_a_slow_replica_there_is_no_culprit() {
        let (shares, sets) = pipelines(700, 50, 0, 0.0);
        assert_eq!(culprit_indices(&shares, &sets), []);
        let (everywhere, sets) = pipelines(700, 50, 50, 0.8);
        assert_eq!(culprit_indices(&everywhere, &sets), []);
    }

    #[test]
    fn one_of_two_and_forty_of_a_hundred() {
        for (replicas, bad) in [(2, 1), (100, 40), (200, 10)] {
            let sets: Vec<Vec<ReplicaId>> = (0..replicas).map(|index| vec![replica(index)]).collect();
            let shares: Vec<Share> = (0..20 * replicas)
                .map(|index| {
                    let effect = if index % replicas < bad { 0.7 } else { 0.0 };
                    Share { set: (index % replicas) as u32, log_ratio: noise(index) + effect }
                })
                .collect();
            assert_eq!(culprit_indices(&shares, &sets), (0..bad).collect::<Vec<_>>(), "{bad} of {replicas}");
        }
    }

    #[test]
    fn small_differences_are_no_fault_however_certain() {
        let sets = vec![vec![replica(0)], vec![replica(1)]];
        let shares: Vec<Share> = (0..4000)
            .map(|index| Share {
                set: index % 2,
                log_ratio: noise(index as usize) + f64::from(index % 2) * 0.15,
            })
            .collect();
        assert_eq!(culprit_indices(&shares, &sets), []);
    }

    #[test]
    fn factors_and_intervals_are_those_of_the_model() {
        let (shares, sets) = pipelines(700, 50, 2, 2.0_f64.ln());
        let culprits = find_culprits(&shares, &sets, 1, &CulpritSettings::default());
        assert_eq!(culprits.len(), 2);
        for culprit in culprits {
            assert!((1.7..2.3).contains(&culprit.factor), "{culprit:?}");
            assert!(culprit.factor_low < culprit.factor && culprit.factor < culprit.factor_high);
            assert!(culprit.p_adjusted < 1e-6);
        }
    }

    #[test]
    fn a_few_slow_calls_concentrated_on_few_replicas_are_significant() {
        let rates = |slow: &dyn Fn(usize) -> u64| -> Vec<ReplicaRate> {
            (0..60)
                .map(|index| ReplicaRate { replica: replica(index), calls: 80, slow: slow(index) })
                .collect()
        };
        let exceeding = |rates: &[ReplicaRate]| -> Vec<usize> {
            let culprits = find_frequent_culprits(rates, &CulpritSettings::default());
            let mut culprits: Vec<usize> = culprits.iter().map(|culprit| culprit.replica.index()).collect();
            culprits.sort_unstable();
            culprits
        };
        assert_eq!(exceeding(&rates(&|index| [4, 3, 3].get(index).copied().unwrap_or(0))), [0, 1, 2]);
        assert_eq!(exceeding(&rates(&|index| u64::from(index < 8))), [], "one slow call each is chance");
        assert_eq!(exceeding(&rates(&|index| 3 + (index as u64 * 7) % 5)), [], "slow everywhere");
        assert_eq!(exceeding(&[]), []);
    }

    #[test]
    fn the_penalty_grows_with_the_number_of_combinations() {
        assert!((ln_choose(5, 2) - 10.0_f64.ln()).abs() < 1e-12);
        assert!((ln_choose(50, 20) - ln_choose(50, 30)).abs() < 1e-9);
        assert_eq!(ln_choose(7, 7), 0.0);
    }

    #[test]
    fn too_few_observations_give_no_culprit() {
        assert_eq!(find_culprits(&[], &[], 0, &CulpritSettings::default()), []);
        let single = vec![vec![replica(3)]];
        let shares = vec![Share { set: 0, log_ratio: 1.0 }; 50];
        assert_eq!(find_culprits(&shares, &single, 1, &CulpritSettings::default()), []);
    }
}
