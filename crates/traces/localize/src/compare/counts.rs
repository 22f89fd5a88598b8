//! Whether a share changed: Fisher's exact test.

/// Two-sided p-value of Fisher's exact test (*J. R. Stat. Soc.* 85, 1922) for `hits_a` of `all_a` against
/// `hits_b` of `all_b`: the probability, given the margins, of all tables that are not more likely than this
/// one. 1 when a set is empty. Hits are capped at the size of the set.
///
/// Walks the hypergeometric distribution outwards from its mode, by ratios of neighboring terms, so no
/// factorial is computed; time grows with the distance of the table from the mode plus the distribution's
/// standard deviation.
pub fn fisher_exact(hits_a: u64, all_a: u64, hits_b: u64, all_b: u64) -> f64 {
    let (hits_a, hits_b) = (hits_a.min(all_a), hits_b.min(all_b));
    if all_a == 0 || all_b == 0 {
        return 1.0;
    }
    let table = Margins { all_a, all_b, hits: hits_a + hits_b };
    let mode = table.mode();
    // Ties with the observed table differ by rounding only.
    let limit = table.weight_from(mode, hits_a) * (1.0 + 1e-7);
    let (mut total, mut extreme) = (0.0, 0.0);
    let mut count = |weight: f64| {
        total += weight;
        if weight <= limit {
            extreme += weight;
        }
    };
    table.walk(mode, Direction::Up, &mut count);
    table.walk(mode, Direction::Down, &mut count);
    count(1.0);
    (extreme / total).clamp(0.0, 1.0)
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Up,
    Down,
}

/// The margins of the table: the sizes of the two sets and all hits.
struct Margins {
    all_a: u64,
    all_b: u64,
    hits: u64,
}

impl Margins {
    fn least(&self) -> u64 {
        self.hits.saturating_sub(self.all_b)
    }

    fn most(&self) -> u64 {
        self.hits.min(self.all_a)
    }

    fn mode(&self) -> u64 {
        let exact = (self.hits as f64 + 1.0) * (self.all_a as f64 + 1.0)
            / (self.all_a as f64 + self.all_b as f64 + 2.0);
        (exact as u64).clamp(self.least(), self.most())
    }

    /// `P(k + 1) / P(k)` of k hits in the first set.
    fn ratio(&self, k: u64) -> f64 {
        let up = (self.hits - k) as f64 * (self.all_a - k) as f64;
        let down = (k as f64 + 1.0) * (self.all_b as f64 - self.hits as f64 + k as f64 + 1.0);
        up / down
    }

    /// The weight of a table, relative to the mode.
    fn weight_from(&self, mode: u64, k: u64) -> f64 {
        if k >= mode {
            (mode..k).map(|hits| self.ratio(hits)).product()
        } else {
            (k..mode).map(|hits| 1.0 / self.ratio(hits)).product()
        }
    }

    fn walk(&self, mode: u64, direction: Direction, count: &mut impl FnMut(f64)) {
        let (mut k, mut weight) = (mode, 1.0);
        loop {
            match direction {
                Direction::Up if k < self.most() => {
                    weight *= self.ratio(k);
                    k += 1;
                }
                Direction::Down if k > self.least() => {
                    k -= 1;
                    weight /= self.ratio(k);
                }
                _ => return,
            }
            count(weight);
            if weight == 0.0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of R's `fisher.test` for the same tables (also by hand for the first two).
    #[test]
    fn known_tables() {
        let cases = [
            // Fisher's tea: 3 of 4 against 1 of 4: (16 + 1 + 16 + 1) / 70.
            ((3, 4, 1, 4), 34.0 / 70.0),
            ((4, 4, 0, 4), 2.0 / 70.0),
            ((0, 10, 0, 10), 1.0),
            ((8, 10, 1, 6), 0.034_965_034_965_034_97),
        ];
        for ((a, all_a, b, all_b), wanted) in cases {
            let p = fisher_exact(a, all_a, b, all_b);
            assert!((p - wanted).abs() < 1e-12, "{a}/{all_a} {b}/{all_b}: {p} is not {wanted}");
            assert!((fisher_exact(b, all_b, a, all_a) - p).abs() < 1e-12, "it is symmetric");
        }
    }

    #[test]
    fn extremes_stay_probabilities() {
        for case in [(0, 0, 1, 1), (5, 1, 0, 1), (0, 1, 0, 1), (1_000_000, 1_000_000, 0, 1_000_000)] {
            let p = fisher_exact(case.0, case.1, case.2, case.3);
            assert!((0.0..=1.0).contains(&p), "{case:?}: {p}");
        }
        assert!(fisher_exact(50_000, 100_000, 40_000, 100_000) < 1e-100);
        assert!(fisher_exact(50_000, 100_000, 50_000, 100_000) > 0.99);
    }
}
