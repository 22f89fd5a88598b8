//! Frequent sets of items among abnormal requests.

use std::collections::BTreeMap;

/// Sets are mined up to this many items, and up to this number of sets: larger sets only repeat smaller ones.
const ITEMS_MAX: usize = 3;
const SETS_MAX: usize = 50_000;

/// Which requests have which items.
#[derive(Clone, Debug, Default)]
pub struct FrequentItemsets {
    /// The items of every set, ascending.
    pub items: Vec<Vec<u32>>,
    /// By set: abnormal requests that have all its items.
    pub abnormal: Vec<u32>,
    /// By set: requests that have all its items.
    pub all: Vec<u32>,
}

/// The Jaccard index of the requests with a set of items and the abnormal ones, from support (the share of the
/// abnormal that have the set) and confidence (the share of those with the set that are abnormal), both in (0, 1].
pub fn jaccard(support: f64, confidence: f64) -> f64 {
    /// Keeps reciprocals finite, as the authors do.
    const LEAST: f64 = 1e-4;
    1.0 / (1.0 / support.max(LEAST) + 1.0 / confidence.max(LEAST) - 1.0)
}

/// A set of requests, one bit each.
type Bits = Vec<u64>;

/// Mines the sets of items that at least a share of the abnormal requests have, by growing size. `requests` holds
/// the distinct items of every request; `abnormal` selects those that count. Any miner (FP-growth in the paper) finds the
/// same sets; this one intersects sets of requests level by level.
pub fn mine(requests: &[Vec<u32>], abnormal: &[bool], support_min: f64) -> FrequentItemsets {
    let words = requests.len().div_ceil(64);
    let mut having: BTreeMap<u32, Bits> = BTreeMap::new();
    let mut failing: Bits = vec![0; words];
    for (index, items) in requests.iter().enumerate() {
        for &item in items {
            having.entry(item).or_insert_with(|| vec![0; words])[index / 64] |= 1 << (index % 64);
        }
        failing[index / 64] |= u64::from(abnormal[index]) << (index % 64);
    }
    let needed = (support_min * f64::from(ones(&failing))).max(1.0);
    let is_frequent = |bits: &Bits| f64::from(ones(&intersection(bits, &failing))) >= needed;
    having.retain(|_, bits| is_frequent(bits));
    let mut level: Vec<(Vec<u32>, Bits)> =
        having.iter().map(|(&item, bits)| (vec![item], bits.clone())).collect();
    let mut out = FrequentItemsets::default();
    for _ in 0..ITEMS_MAX {
        for (items, bits) in &level {
            out.items.push(items.clone());
            out.abnormal.push(ones(&intersection(bits, &failing)));
            out.all.push(ones(bits));
        }
        level = grown(&level, &having, SETS_MAX.saturating_sub(out.items.len()), is_frequent);
    }
    out
}

/// Every set with one more item behind its last, if that is frequent.
fn grown(
    level: &[(Vec<u32>, Bits)],
    having: &BTreeMap<u32, Bits>,
    room: usize,
    is_frequent: impl Fn(&Bits) -> bool,
) -> Vec<(Vec<u32>, Bits)> {
    let mut out = Vec::new();
    for (items, bits) in level {
        let last = items.last().copied().unwrap_or(0);
        for (&item, with_item) in having.range(last + 1..) {
            if out.len() == room {
                return out;
            }
            let bits = intersection(bits, with_item);
            if is_frequent(&bits) {
                out.push((items.iter().copied().chain([item]).collect(), bits));
            }
        }
    }
    out
}

fn intersection(a: &Bits, b: &Bits) -> Bits {
    a.iter().zip(b).map(|(a, b)| a & b).collect()
}

fn ones(bits: &Bits) -> u32 {
    bits.iter().map(|word| word.count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_with_their_counts_by_hand() {
        // Abnormal: {1,2}, {1,2}, {1,3}. Normal: {1}, {2}.
        let requests = [vec![1, 2], vec![1, 2], vec![1, 3], vec![1], vec![2]];
        let mined = mine(&requests, &[true, true, true, false, false], 0.5);
        // Item 3 is in a third of the abnormal only.
        assert_eq!(mined.items, [vec![1], vec![2], vec![1, 2]]);
        assert_eq!(mined.abnormal, [3, 2, 2]);
        assert_eq!(mined.all, [4, 3, 2]);
    }

    #[test]
    fn jaccard_is_intersection_over_union() {
        // {2}: 2 of 3 abnormal have it, 2 of the 3 that have it are abnormal: 2 / (3 + 3 - 2).
        assert!((jaccard(2.0 / 3.0, 2.0 / 3.0) - 0.5).abs() < 1e-12);
        assert_eq!(jaccard(1.0, 1.0), 1.0);
    }
}
