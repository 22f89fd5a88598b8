//! Each group of a pool against all the others.

use super::{Alternative, TwoSamples, asymptotic};
use crate::ranks::{PooledValue, rank_pool};

/// One-sided asymptotic p-values ("the group's values are larger") of each group against all other
/// values, in the order of the groups.
///
/// `groups[i]`, below `group_count`, is the group of `values[i]`; a value of any other group
/// belongs to the rest of all. The pool is ranked once: `O(N log N + group_count)`. A group that is
/// empty or has no rest gives 1. Each entry equals [`mann_whitney_asymptotic`] of that group.
///
/// [`mann_whitney_asymptotic`]: crate::mann_whitney_asymptotic
///
/// # Panics
/// If `values` and `groups` differ in length.
pub fn mann_whitney_one_vs_rest(values: &[f64], groups: &[u32], group_count: usize) -> Vec<f64> {
    assert_eq!(values.len(), groups.len(), "one group for each value");
    let pool = values.iter().zip(groups).map(|(&value, &group)| PooledValue { value, group }).collect();
    let ranks = rank_pool(pool, group_count);
    let samples = ranks.counts.iter().zip(&ranks.doubled_rank_sums).map(|(&count, &doubled)| TwoSamples {
        n1: count,
        n2: ranks.total - count,
        doubled_rank_sum: doubled,
        tie_term: ranks.tie_term,
    });
    samples.map(|group| asymptotic::test(&group, Alternative::Greater).p_value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mann_whitney_asymptotic;

    #[test]
    fn each_group_as_if_tested_alone() {
        let values = [5.0, 1.0, 2.0, 9.0, 9.0, 2.0, 7.0];
        let groups = [0, 1, 1, 0, 7, 3, 3];
        let p = mann_whitney_one_vs_rest(&values, &groups, 4);
        let first = mann_whitney_asymptotic(&[5.0, 9.0], &[1.0, 2.0, 9.0, 2.0, 7.0], Alternative::Greater);
        assert_eq!((p[0], p[2], p.len()), (first.p_value, 1.0, 4));
    }

    #[test]
    fn a_group_without_a_rest() {
        assert_eq!(mann_whitney_one_vs_rest(&[1.0, 2.0], &[0, 0], 2), [1.0, 1.0]);
        assert!(mann_whitney_one_vs_rest(&[], &[], 0).is_empty());
    }
}
