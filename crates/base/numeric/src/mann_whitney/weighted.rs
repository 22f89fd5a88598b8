//! Each group of a pool against all the others, where values have weights.

use super::mann_whitney_one_vs_rest;
use crate::normal_upper_tail;
use crate::weighted::Weights;

/// [`mann_whitney_one_vs_rest`] of a sample with weights, approximate.
///
/// The effect `A` is the share of weighted pairs (one of the group, one of the rest) in which the group's value
/// is the larger, ties as one half. It is tested as if both sides had as many values as their effective sample
/// sizes `n1` and `n2` say ([Kish](crate::effective_sample_size)): `U = A n1 n2`, with the usual variance, tie
/// correction and continuity correction. So a heavy value moves the effect and adds no certainty. With equal
/// weights the answer is that of the unweighted test, bit for bit. `O(N log N + group_count)`.
///
/// # Panics
/// If `values` and `groups` or weights differ in length.
pub fn weighted_mann_whitney_one_vs_rest(
    values: &[f64],
    weights: Weights<'_>,
    groups: &[u32],
    group_count: usize,
) -> Vec<f64> {
    let Weights::Each(weights) = weights else {
        return mann_whitney_one_vs_rest(values, groups, group_count);
    };
    assert!(values.len() == groups.len() && values.len() == weights.len(), "one group and weight a value");
    let mut pool: Vec<GroupMember> = (values.iter().zip(groups).zip(weights))
        .map(|((&value, &group), &weight)| GroupMember { value, group, weight })
        .collect();
    pool.sort_unstable_by(|a, b| a.value.total_cmp(&b.value).then(a.weight.total_cmp(&b.weight)));
    let sides = SampleSides::new(&pool, group_count);
    (0..group_count).map(|group| sides.p_value(&sides.groups[group])).collect()
}

#[derive(Clone, Copy)]
struct GroupMember {
    value: f64,
    group: u32,
    weight: f64,
}

/// Sums over some members.
#[derive(Clone, Copy, Default)]
struct SampleSide {
    weight: f64,
    weight_squares: f64,
    /// Sum of each weight times the weight below its value, and half of that at its value.
    rank_sum: f64,
}

/// The pool and its groups.
struct SampleSides {
    all: SampleSide,
    groups: Vec<SampleSide>,
    /// Sum of the shares of all weight that runs of equal values hold, and of their cubes.
    tied_shares: f64,
    tied_cubes: f64,
}

impl SampleSides {
    fn new(pool: &[GroupMember], group_count: usize) -> SampleSides {
        let groups = vec![SampleSide::default(); group_count];
        let mut sides = SampleSides { all: SampleSide::default(), groups, tied_shares: 0.0, tied_cubes: 0.0 };
        let total: f64 = pool.iter().map(|member| member.weight).sum();
        let mut below = 0.0;
        for run in pool.chunk_by(|a, b| a.value == b.value) {
            let tied: f64 = run.iter().map(|member| member.weight).sum();
            for member in run {
                sides.all.add(member.weight, below + tied / 2.0);
                if let Some(side) = sides.groups.get_mut(member.group as usize) {
                    side.add(member.weight, below + tied / 2.0);
                }
            }
            below += tied;
            if run.len() > 1 {
                sides.tied_shares += tied / total;
                sides.tied_cubes += (tied / total).powi(3);
            }
        }
        sides
    }

    /// One-sided: the group's values are larger.
    fn p_value(&self, group: &SampleSide) -> f64 {
        let rest = SampleSide {
            weight: self.all.weight - group.weight,
            weight_squares: self.all.weight_squares - group.weight_squares,
            rank_sum: 0.0,
        };
        // A remainder from rounding counts as 0.
        if group.weight <= 0.0 || rest.weight <= 1e-12 * self.all.weight {
            return 1.0;
        }
        let (n1, n2) = (group.effective_size(), rest.effective_size());
        // Among themselves the group's members hold half of their weight squared.
        let effect = (group.rank_sum - group.weight * group.weight / 2.0) / (group.weight * rest.weight);
        let (pairs, total) = (n1 * n2, n1 + n2);
        let tie_term = (self.tied_cubes * total.powi(3) - self.tied_shares * total).max(0.0);
        let ties = tie_term / (total * (total - 1.0));
        let variance = pairs / 12.0 * (total + 1.0 - ties);
        if variance.is_nan() || variance <= 1e-9 * pairs {
            return 1.0;
        }
        normal_upper_tail((effect * pairs - pairs / 2.0 - 0.5) / variance.sqrt()).clamp(0.0, 1.0)
    }
}

impl SampleSide {
    fn add(&mut self, weight: f64, rank: f64) {
        self.weight += weight;
        self.weight_squares += weight * weight;
        self.rank_sum += weight * rank;
    }

    fn effective_size(&self) -> f64 {
        self.weight * self.weight / self.weight_squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_equal_weights_give_nearly_the_unweighted_test() {
        let values = [5.0, 1.0, 2.0, 9.0, 9.0, 2.0, 7.0, 2.0];
        let groups = [0, 1, 1, 0, 7, 2, 2, 1];
        let mut weights = [10.0; 8];
        weights[0] += 1e-9;
        let plain = mann_whitney_one_vs_rest(&values, &groups, 4);
        let weighted = weighted_mann_whitney_one_vs_rest(&values, Weights::from_slice(&weights), &groups, 4);
        for (a, b) in plain.iter().zip(&weighted) {
            assert!((a - b).abs() < 1e-6, "{plain:?} {weighted:?}");
        }
    }

    #[test]
    fn weights_do_not_add_certainty() {
        // The group's two heavy values are the largest of all; the group has an effective size of two values.
        let values: Vec<f64> = (0..52).map(f64::from).collect();
        let mut weights = vec![1.0; 50];
        weights.extend([1000.0, 1001.0]);
        let groups: Vec<u32> = (0..52).map(|index| u32::from(index < 50)).collect();
        let p = weighted_mann_whitney_one_vs_rest(&values, Weights::from_slice(&weights), &groups, 2)[0];
        let two_alone = mann_whitney_one_vs_rest(&values, &groups, 2)[0];
        assert!((p / two_alone - 1.0).abs() < 0.05, "{p} {two_alone}");
    }

    #[test]
    fn groups_without_values_or_without_a_rest() {
        let weights = Weights::Each(&[1.0, 2.0]);
        assert_eq!(weighted_mann_whitney_one_vs_rest(&[1.0, 2.0], weights, &[0, 0], 2), [1.0, 1.0]);
        assert_eq!(weighted_mann_whitney_one_vs_rest(&[3.0, 3.0], weights, &[0, 1], 2), [1.0, 1.0]);
    }

    /// Values and weights drawn without regard to the group: at level 0.05 about one test in twenty rejects.
    #[test]
    fn the_significance_level_holds_with_unequal_weights() {
        let mut state = 7_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1_u64 << 31) as f64
        };
        let mut rejected = 0;
        for _ in 0..1000 {
            let values: Vec<f64> = (0..80).map(|_| draw()).collect();
            let weights: Vec<f64> = (0..80).map(|_| if draw() < 0.5 { 1.0 } else { 10.0 }).collect();
            let groups: Vec<u32> = (0..80).map(|index| u32::from(index >= 25)).collect();
            let p = weighted_mann_whitney_one_vs_rest(&values, Weights::from_slice(&weights), &groups, 1)[0];
            rejected += u32::from(p <= 0.05);
        }
        assert!((25..=70).contains(&rejected), "{rejected} of 1000");
    }
}
