//! How likely each call of a suspect was hit, by its p-value and by how many calls of its category were hit.
//!
//! The two-groups model (Efron, *Large-Scale Inference*, Cambridge University Press 2010): p-values of normal calls are
//! uniform, those of hit calls have one distribution in all categories, and each category has its own share of hit calls.
//! Distribution and shares are estimated from each other by the EM algorithm. Normal calls are those that are no longer than
//! nine of ten (Storey, *Journal of the Royal Statistical Society B* 64, 2002); hit calls that are no longer either cannot be
//! told from them.

use std::collections::HashMap;

/// Calls with larger p-values count as normal.
const NORMAL_P_MIN: f64 = 0.1;
/// Bins of smaller p-values; the last one has all that are smaller still.
const BINS: usize = 40;
/// Over so many bins p-values halve.
const BINS_PER_HALVING: f64 = 2.0;
/// The share of hit calls of all categories counts like this many calls of a category.
const SHARED_CALLS: f64 = 20.0;
/// Fewer hit calls do not show which categories have them: all have the same share then.
const MANY_HITS: f64 = 100.0;
/// Steps of the EM algorithm.
const STEPS: usize = 30;

/// Counts or densities: first of normal calls, then by bin.
type ByBin = [f64; BINS + 1];

/// A call that can be hit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TestedCall {
    /// Number of its category.
    pub(crate) category: u32,
    /// Probability that a normal call takes at least as long.
    pub(crate) p_value: f64,
}

/// The estimated model.
pub(crate) struct HitProbabilities {
    /// Row of every category with calls, by its number.
    rows: HashMap<u32, usize>,
    /// Share of hit calls, by row.
    shares: Vec<f64>,
    /// Calls, by row.
    calls: Vec<f64>,
    /// Density of hit calls over that of normal ones, growing.
    ratios: ByBin,
    /// Expected number of hit calls.
    hits: f64,
}

impl HitProbabilities {
    pub(crate) fn estimate(calls: impl Iterator<Item = TestedCall>) -> HitProbabilities {
        let mut rows: HashMap<u32, usize> = HashMap::new();
        let mut counts: Vec<ByBin> = Vec::new();
        for call in calls {
            let row = *rows.entry(call.category).or_insert(counts.len());
            if row == counts.len() {
                counts.push([0.0; BINS + 1]);
            }
            counts[row][bin(call.p_value)] += 1.0;
        }
        let mut all = [0.0; BINS + 1];
        counts.iter().for_each(|own| all.iter_mut().zip(own).for_each(|(sum, count)| *sum += count));
        let calls: f64 = all.iter().sum();
        let own_calls: Vec<f64> = counts.iter().map(|own| own.iter().sum()).collect();
        let normal = ((all[0] + 1.0) / (1.0 - NORMAL_P_MIN)).min(calls);
        let excess: ByBin = std::array::from_fn(|bin| match bin {
            0 => 0.0,
            _ => (all[bin] - normal * normal_density(bin)).max(0.0),
        });
        let share = excess.iter().sum::<f64>() / calls.max(1.0);
        let mut model = HitProbabilities {
            rows,
            shares: vec![share; counts.len()],
            calls: own_calls,
            ratios: ratios(&excess),
            hits: excess.iter().sum(),
        };
        for _ in 0..STEPS {
            model.step(&counts, calls);
        }
        model
    }

    /// One step of the EM algorithm.
    fn step(&mut self, counts: &[ByBin], calls: f64) {
        let mut hit = [0.0; BINS + 1];
        let mut hit_calls = Vec::with_capacity(counts.len());
        for (&share, own) in self.shares.iter().zip(counts) {
            let own_hit: ByBin = std::array::from_fn(|bin| own[bin] * self.in_bin(share, bin));
            hit.iter_mut().zip(own_hit).for_each(|(sum, count)| *sum += count);
            hit_calls.push(own_hit.iter().sum::<f64>());
        }
        self.hits = hit.iter().sum();
        let overall = self.hits / calls.max(1.0);
        let has_own = self.has_many_hits();
        let share = |(hit, own): (&f64, &f64)| match has_own {
            true => (hit + SHARED_CALLS * overall) / (own + SHARED_CALLS),
            false => overall,
        };
        self.shares = hit_calls.iter().zip(&self.calls).map(share).collect();
        self.ratios = ratios(&hit);
    }

    /// Whether enough calls are hit to show which categories have them.
    pub(crate) fn has_many_hits(&self) -> bool {
        self.hits >= MANY_HITS
    }

    /// Expected number of normal calls that are hit with at least a probability.
    pub(crate) fn false_hits(&self, least: f64) -> f64 {
        let of_category = |(&share, calls): (&f64, &f64)| {
            let first = (1..=BINS).find(|&bin| self.in_bin(share, bin) >= least);
            first.map_or(0.0, |first| calls * (1.0 - share) * largest_p_value(first))
        };
        self.shares.iter().zip(&self.calls).map(of_category).sum()
    }

    /// The probability that a call was hit, 0 to 1.
    pub(crate) fn probability(&self, call: TestedCall) -> f64 {
        let share = self.rows.get(&call.category).map_or(0.0, |&row| self.shares[row]);
        self.in_bin(share, bin(call.p_value))
    }

    fn in_bin(&self, share: f64, bin: usize) -> f64 {
        let hit = share * self.ratios[bin];
        if hit > 0.0 { hit / (hit + 1.0 - share) } else { 0.0 }
    }
}

fn bin(p_value: f64) -> usize {
    if p_value > NORMAL_P_MIN {
        return 0;
    }
    let halvings = (NORMAL_P_MIN / p_value.max(f64::MIN_POSITIVE)).log2();
    1 + ((BINS_PER_HALVING * halvings) as usize).min(BINS - 1)
}

/// Upper edge of a bin of small p-values.
fn largest_p_value(bin: usize) -> f64 {
    NORMAL_P_MIN * (-((bin - 1) as f64) / BINS_PER_HALVING).exp2()
}

/// Share of normal calls in a bin.
fn normal_density(bin: usize) -> f64 {
    match bin {
        0 => 1.0 - NORMAL_P_MIN,
        BINS => largest_p_value(BINS),
        _ => largest_p_value(bin) - largest_p_value(bin + 1),
    }
}

/// Densities of hit calls over those of normal ones, from hit calls by bin: a longer call is at least as likely to be hit
/// (isotonic regression: neighboring bins in the wrong order are pooled).
fn ratios(hit: &ByBin) -> ByBin {
    let all: f64 = hit.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut pooled: Vec<(f64, f64, usize)> = Vec::with_capacity(BINS);
    for bin in 1..=BINS {
        let mut last = (hit[bin] / all, normal_density(bin), 1);
        while let Some(&(hit, normal, bins)) =
            pooled.last().filter(|(hit, normal, _)| hit * last.1 > last.0 * normal)
        {
            last = (last.0 + hit, last.1 + normal, last.2 + bins);
            pooled.pop();
        }
        pooled.push(last);
    }
    let mut out = [0.0; BINS + 1];
    let values = pooled.iter().flat_map(|&(hit, normal, bins)| std::iter::repeat_n(hit / normal, bins));
    out[1..].iter_mut().zip(values).for_each(|(ratio, value)| *ratio = value);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(category: u32, p_value: f64) -> TestedCall {
        TestedCall { category, p_value }
    }

    /// Normal calls of a category: p-values at equal distances.
    fn normal(category: u32, calls: u32) -> impl Iterator<Item = TestedCall> {
        (0..calls).map(move |at| call(category, (f64::from(at) + 0.5) / f64::from(calls)))
    }

    #[test]
    fn the_same_time_is_a_hit_in_a_category_with_many_hits_and_none_in_others() {
        let hit = (0..200).map(|at| call(7, 0.02 / (1.0 + f64::from(at))));
        let calls = (0..20).flat_map(|category| normal(category, 300)).chain(hit);
        let model = HitProbabilities::estimate(calls);
        // Three hit calls and one normal one of the category have p-values between 0.0035 and 0.0071.
        let own = model.probability(call(7, 0.005));
        assert!((own - 0.75).abs() < 0.05, "{own}");
        assert!(model.probability(call(8, 0.005)) < 0.1, "{}", model.probability(call(8, 0.005)));
        assert!(model.probability(call(7, 0.5)).abs() < 1e-12);
        assert!((150.0..250.0).contains(&model.hits), "{}", model.hits);
    }

    #[test]
    fn normal_calls_are_not_probably_hit() {
        let model = HitProbabilities::estimate((0..20).flat_map(|category| normal(category, 300)));
        assert!(!model.has_many_hits() && model.probability(call(3, 0.002)) < 0.5, "{}", model.hits);
        let none = HitProbabilities::estimate(std::iter::empty());
        assert_eq!((none.probability(call(0, 1e-9)), none.false_hits(0.5)), (0.0, 0.0));
    }

    /// With the probability of a half: all p-values up to the edge of the last bin with such a probability.
    #[test]
    fn false_hits_are_the_normal_calls_with_small_p_values() {
        let hit = (0..50).map(|at| call(0, 1e-6 / (1.0 + f64::from(at))));
        let model = HitProbabilities::estimate(normal(0, 10_000).chain(hit));
        let expected = model.false_hits(0.5);
        let edges = (0..=BINS).map(|bin| 10_000.0 * largest_p_value(bin.max(1)));
        assert!(edges.fold(f64::INFINITY, |near, edge| near.min((edge - expected).abs())) < 0.02 * expected);
        assert!(expected < 1.0, "{expected}");
    }

    #[test]
    fn a_longer_call_is_at_least_as_probably_hit() {
        let p_values = [0.09, 0.04, 0.04, 0.04, 0.02, 0.01, 1e-3, 1e-3, 1e-5, 1e-9, 0.0];
        let model = HitProbabilities::estimate(p_values.map(|p_value| call(0, p_value)).into_iter());
        let probabilities = (0..=BINS).map(|bin| model.in_bin(model.shares[0], bin)).collect::<Vec<f64>>();
        assert!(probabilities.is_sorted() && probabilities[BINS] > 0.5, "{probabilities:?}");
    }
}
