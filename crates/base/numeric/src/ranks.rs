//! Mid-ranks of a pool of values.

/// Sums that rank tests need, computed by one sort of the pool.
pub(crate) struct PooledRanks {
    /// Twice the sum of the mid-ranks (1-based) of each group; doubled, so that it is an integer
    /// (below 2^64 for fewer than 2^31 values).
    pub(crate) doubled_rank_sums: Vec<u64>,
    /// How many values each group has.
    pub(crate) counts: Vec<u64>,
    /// `sum of t^3 - t` over the runs of `t` equal values.
    pub(crate) tie_term: f64,
    /// How many values there are in all.
    pub(crate) total: u64,
}

/// One value of the pool and the group it counts for.
#[derive(Clone, Copy)]
pub(crate) struct PooledValue {
    pub(crate) value: f64,
    pub(crate) group: u32,
}

/// Ranks the pool: equal values share the mean of the ranks they occupy (Lehmann, *Nonparametrics*).
///
/// A value whose group is not below `group_count` takes its rank but is summed nowhere.
/// Time `O(N log N)`. A NaN is ranked above every number.
pub(crate) fn rank_pool(mut pool: Vec<PooledValue>, group_count: usize) -> PooledRanks {
    pool.sort_unstable_by(|a, b| a.value.total_cmp(&b.value));
    let mut ranks = PooledRanks {
        doubled_rank_sums: vec![0; group_count],
        counts: vec![0; group_count],
        tie_term: 0.0,
        total: pool.len() as u64,
    };
    let mut before = 0_u64;
    for run in pool.chunk_by(|a, b| a.value == b.value) {
        let length = run.len() as u64;
        let doubled_mid_rank = 2 * before + length + 1;
        ranks.add_run(run, doubled_mid_rank);
        before += length;
    }
    ranks
}

impl PooledRanks {
    fn add_run(&mut self, run: &[PooledValue], doubled_mid_rank: u64) {
        for member in run {
            let group = member.group as usize;
            if group < self.counts.len() {
                self.doubled_rank_sums[group] += doubled_mid_rank;
                self.counts[group] += 1;
            }
        }
        let t = run.len() as f64;
        self.tie_term += t * t * t - t;
    }
}

/// Two groups of values as one pool: `first` is group 0, `second` is group 1.
pub(crate) fn pool_of_two(first: &[f64], second: &[f64]) -> Vec<PooledValue> {
    let tagged = |values: &[f64], group| {
        values.iter().map(move |&value| PooledValue { value, group }).collect::<Vec<_>>()
    };
    let mut pool = tagged(first, 0);
    pool.extend(tagged(second, 1));
    pool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_ranks() {
        // Pool 1 2 2 2 5: ranks 1, 3, 3, 3, 5.
        let ranks = rank_pool(pool_of_two(&[2.0, 5.0], &[2.0, 1.0, 2.0]), 2);
        assert_eq!(ranks.doubled_rank_sums, [16, 14]);
        assert_eq!((ranks.tie_term, ranks.total), (24.0, 5));
    }

    #[test]
    fn the_two_zeros_are_tied() {
        assert_eq!(rank_pool(pool_of_two(&[-0.0], &[0.0]), 2).doubled_rank_sums, [3, 3]);
    }
}
