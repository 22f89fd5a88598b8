//! Selects some indices of many, evenly spread, to bound the cost of methods on large inputs.

/// Increasing indices of `keep` out of `all` items: one from each of `keep` intervals of equal length, at an
/// offset that is pseudo-random but always the same. Every k-th would not do: where replicas alternate, all selected
/// items could be of one replica. All indices when `keep` is 0 or not less than `all`.
pub fn spread_evenly(all: usize, keep: usize) -> impl ExactSizeIterator<Item = usize> {
    let keep = if keep == 0 { all } else { keep.min(all) };
    (0..keep).map(move |interval| {
        let end = |interval: usize| (interval as u128 * all as u128 / keep as u128) as usize;
        let (from, to) = (end(interval), end(interval + 1));
        from + (scrambled(interval as u64) % (to - from) as u64) as usize
    })
}

/// The finalizer of splitmix64 (Steele, Lea & Flood, *OOPSLA* 2014).
fn scrambled(word: u64) -> u64 {
    let word = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_index_of_each_interval_in_order() {
        for (all, keep) in [(0, 5), (1, 1), (10, 3), (10, 9), (20_001, 20_000), (1000, 7)] {
            let indices: Vec<usize> = spread_evenly(all, keep).collect();
            assert_eq!(indices.len(), keep.min(all));
            assert!(indices.is_sorted_by(|a, b| a < b) && indices.iter().all(|&index| index < all));
            let largest = indices.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
            assert!(largest <= 2 * all.div_ceil(keep), "{all} {keep}: {largest}");
        }
        assert_eq!(spread_evenly(4, 4).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(spread_evenly(3, 0).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn alternating_items_are_retained_in_equal_parts() {
        let mut retained = [0; 8];
        spread_evenly(80_000, 10_000).for_each(|index| retained[index % 8] += 1);
        assert!(retained.iter().all(|&count| (1100..1400).contains(&count)), "{retained:?}");
    }
}
