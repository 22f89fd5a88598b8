//! Sets of rows as bits.

/// A set of row indices below a fixed number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RowSet {
    words: Vec<u64>,
}

impl RowSet {
    /// No row of `rows`.
    pub(super) fn none(rows: usize) -> RowSet {
        RowSet { words: vec![0; rows.div_ceil(64)] }
    }

    /// The rows for which `holds`.
    pub(super) fn of(rows: usize, holds: impl Fn(usize) -> bool) -> RowSet {
        let mut set = RowSet::none(rows);
        for row in (0..rows).filter(|&row| holds(row)) {
            set.insert(row);
        }
        set
    }

    pub(super) fn insert(&mut self, row: usize) {
        self.words[row / 64] |= 1 << (row % 64);
    }

    pub(super) fn contains(&self, row: usize) -> bool {
        self.words[row / 64] >> (row % 64) & 1 == 1
    }

    pub(super) fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// How many rows are in both.
    pub(super) fn common(&self, other: &RowSet) -> usize {
        self.words.iter().zip(&other.words).map(|(a, b)| (a & b).count_ones() as usize).sum()
    }

    /// How many rows of `within` are in exactly one of the two sets.
    pub(super) fn differing(&self, other: &RowSet, within: &RowSet) -> usize {
        let words = self.words.iter().zip(&other.words).zip(&within.words);
        words.map(|((a, b), inside)| ((a ^ b) & inside).count_ones() as usize).sum()
    }

    pub(super) fn and(&self, other: &RowSet) -> RowSet {
        RowSet { words: self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect() }
    }

    pub(super) fn without(&self, other: &RowSet) -> RowSet {
        RowSet { words: self.words.iter().zip(&other.words).map(|(a, b)| a & !b).collect() }
    }

    /// Members, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                if rest == 0 {
                    return None;
                }
                rest &= rest - 1;
                Some(index * 64 + bit)
            })
        })
    }
}

/// Phi coefficient of two sets among `total` rows, from -1 to 1; 0 when either is empty or everything.
///
/// `common` is the size of the intersection. Yule 1912; the same number is Matthews's correlation coefficient.
pub(super) fn phi(common: usize, first: usize, second: usize, total: usize) -> f64 {
    let (common, a, b, n) = (common as f64, first as f64, second as f64, total as f64);
    let scale = a * (n - a) * b * (n - b);
    if scale > 0.0 { (common * n - a * b) / scale.sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_sets_can_be_combined() {
        let even = RowSet::of(130, |row| row % 2 == 0);
        let high = RowSet::of(130, |row| row >= 126);
        assert_eq!((even.len(), high.len(), even.common(&high)), (65, 4, 2));
        assert_eq!(even.and(&high).iter().collect::<Vec<_>>(), [126, 128]);
        assert_eq!(high.without(&even).iter().collect::<Vec<_>>(), [127, 129]);
        assert_eq!(even.differing(&high, &high), 2);
        assert!(even.contains(128) && !even.contains(129));
    }

    #[test]
    fn phi_by_hand() {
        // 2 of 4 rows each: equal, disjoint, and half in common.
        assert_eq!([2, 0, 1].map(|common| phi(common, 2, 2, 4)), [1.0, -1.0, 0.0]);
        assert_eq!((phi(0, 0, 2, 4), phi(4, 4, 4, 4)), (0.0, 0.0));
        // Half of a small set: near 1 / sqrt(2).
        assert!((phi(500, 500, 1000, 1_000_000) - 0.5_f64.sqrt()).abs() < 1e-3);
    }
}
