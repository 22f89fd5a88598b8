//! Histograms with common bins, and the distance of two of them.

/// How many bins, and on which scale, a sample is counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinRule {
    /// Equal widths, `⌈√N⌉` bins.
    SquareRoot,
    /// Equal widths of the logarithm, `⌈log₂ N + 1⌉` bins (Sturges 1926): one giant value does not push all
    /// others into one bin. Values below 1 count as 1.
    LogSturges,
}

/// Bins of equal width over a sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HistogramBins {
    rule: BinRule,
    low: f64,
    width: f64,
    count: usize,
}

impl HistogramBins {
    /// Bins over the range of all values together; one bin if there are none or all are equal.
    pub fn from_values(values: impl Iterator<Item = f64>, rule: BinRule) -> HistogramBins {
        let (mut low, mut high, mut number) = (f64::INFINITY, f64::NEG_INFINITY, 0_u64);
        for value in values.map(|value| scaled(value, rule)) {
            low = low.min(value);
            high = high.max(value);
            number += 1;
        }
        let range = high - low;
        if number == 0 || range <= 0.0 || !range.is_finite() {
            let low = if low.is_finite() { low } else { 0.0 };
            return HistogramBins { rule, low, width: 0.0, count: 1 };
        }
        let count = match rule {
            BinRule::SquareRoot => (number as f64).sqrt().ceil(),
            BinRule::LogSturges => ((number as f64).log2() + 1.0).ceil(),
        };
        HistogramBins { rule, low, width: range / count, count: count as usize }
    }

    /// How many there are, at least 1.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Ends of the bins, growing, in the unit of the values; one more than bins. Both ends of the only bin are equal.
    pub fn edges(&self) -> Vec<f64> {
        let edge = |index: usize| self.low + self.width * index as f64;
        let value = |scaled: f64| match self.rule {
            BinRule::SquareRoot => scaled,
            BinRule::LogSturges => scaled.exp(),
        };
        (0..=self.count).map(|index| value(edge(index))).collect()
    }

    /// Share of the values in each bin; all 0 for an empty sample. A value outside the range counts in the
    /// bin next to it.
    pub fn shares(&self, values: &[f64]) -> Vec<f64> {
        let mut counts = vec![0_u64; self.count];
        for &value in values {
            counts[self.bin_of(value)] += 1;
        }
        let total = values.len().max(1) as f64;
        counts.iter().map(|&count| count as f64 / total).collect()
    }

    fn bin_of(&self, value: f64) -> usize {
        if self.count == 1 {
            return 0;
        }
        // A float becomes an integer by saturation, so what lies below goes into the first bin.
        (((scaled(value, self.rule) - self.low) / self.width) as usize).min(self.count - 1)
    }
}

fn scaled(value: f64, rule: BinRule) -> f64 {
    match rule {
        BinRule::SquareRoot => value,
        BinRule::LogSturges => value.max(1.0).ln(),
    }
}

/// The Jensen–Shannon distance of two distributions over the same bins: the root of the divergence in nats,
/// 0 to `√ln 2`, a metric (Lin 1991; Endres and Schindelin 2003).
///
/// # Panics
/// If the numbers of bins differ.
pub fn jensen_shannon_distance(p: &[f64], q: &[f64]) -> f64 {
    assert_eq!(p.len(), q.len(), "distributions over the same bins");
    let mut divergence = 0.0;
    for (&p, &q) in p.iter().zip(q) {
        let middle = 0.5 * (p + q);
        divergence += 0.5 * (surprise(p, middle) + surprise(q, middle));
    }
    divergence.max(0.0).sqrt()
}

/// `p ln(p / middle)`, 0 at `p = 0`.
fn surprise(p: f64, middle: f64) -> f64 {
    if p > 0.0 { p * (p / middle).ln() } else { 0.0 }
}

/// How much a distribution differs from others over the same bins.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Dissimilarity {
    /// Mean Jensen–Shannon distance to the others, 0 to `√ln 2`; 0 without others.
    pub distance: f64,
    /// Its distances to all others over all distances of all (Mi et al. 2012, Eq. 4), 0..1:
    /// `ratio_j = Σ_k d(j,k) / Σ_j Σ_k d(j,k)`. The ratios sum to 1; each is `1/H` when nothing differs, and nears one
    /// half for a single one that deviates.
    pub ratio: f64,
}

/// The dissimilarity of each of `H` distributions. Time `O(H² · bins)`.
pub fn dissimilarities(distributions: &[Vec<f64>]) -> Vec<Dissimilarity> {
    let mut sums = vec![0.0; distributions.len()];
    for j in 0..distributions.len() {
        for k in j + 1..distributions.len() {
            let distance = jensen_shannon_distance(&distributions[j], &distributions[k]);
            sums[j] += distance;
            sums[k] += distance;
        }
    }
    let total: f64 = sums.iter().sum();
    let even = 1.0 / distributions.len().max(1) as f64;
    let others = distributions.len().saturating_sub(1).max(1) as f64;
    let dissimilarity = |&sum: &f64| Dissimilarity {
        distance: sum / others,
        ratio: if total > 0.0 { sum / total } else { even },
    };
    sums.iter().map(dissimilarity).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_by_hand() {
        // Nine values 0 to 8: 3 bins of 8/3.
        let values: Vec<f64> = (0..9).map(f64::from).collect();
        let bins = HistogramBins::from_values(values.iter().copied(), BinRule::SquareRoot);
        assert_eq!(bins.shares(&values), [3.0 / 9.0; 3]);
        assert_eq!(bins.shares(&[-5.0, 99.0]), [0.5, 0.0, 0.5]);
        // Four values over three decades: ceil(log2 4 + 1) = 3 bins of one decade.
        let decades = [1.0, 10.5, 110.0, 1000.0];
        let bins = HistogramBins::from_values(decades.into_iter(), BinRule::LogSturges);
        assert_eq!(bins.shares(&decades), [0.25, 0.25, 0.5]);
    }

    #[test]
    fn degenerate_samples_have_one_bin() {
        for values in [&[][..], &[5.0, 5.0], &[f64::INFINITY, 1.0]] {
            assert_eq!(HistogramBins::from_values(values.iter().copied(), BinRule::SquareRoot).count(), 1);
        }
        assert_eq!(HistogramBins::from_values([].into_iter(), BinRule::LogSturges).shares(&[]), [0.0]);
    }

    #[test]
    fn distances_of_extremes() {
        assert_eq!(jensen_shannon_distance(&[0.3, 0.7], &[0.3, 0.7]), 0.0);
        let distance = jensen_shannon_distance(&[1.0, 0.0], &[0.0, 1.0]);
        assert!((distance - 2.0_f64.ln().sqrt()).abs() < 1e-15);
    }

    #[test]
    fn the_outlier_of_four_has_half_of_the_distance() {
        let mut distributions = vec![vec![1.0, 0.0]; 3];
        distributions.push(vec![0.0, 1.0]);
        let distance_max = 2.0_f64.ln().sqrt();
        let expected = [1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0, 0.5].into_iter();
        for (found, expected) in dissimilarities(&distributions).iter().zip(expected) {
            assert!((found.ratio - expected).abs() < 1e-15);
            // The odd one is that far from all three, each of the others from one of three.
            assert!((found.distance - 2.0 * expected * distance_max).abs() < 1e-15);
        }
        let ratios = |distributions: &[Vec<f64>]| -> Vec<f64> {
            dissimilarities(distributions).iter().map(|found| found.ratio).collect()
        };
        assert_eq!(ratios(&distributions[..2]), [0.5, 0.5]);
        assert_eq!(ratios(&[vec![1.0]]), [1.0]);
        assert!(ratios(&[]).is_empty());
    }

    #[test]
    fn edges_enclose_the_values() {
        let bins = HistogramBins::from_values([1.0, 5.0, 9.0, 2.0].into_iter(), BinRule::SquareRoot);
        assert_eq!(bins.edges(), [1.0, 5.0, 9.0]);
        let edges = HistogramBins::from_values([1.0, 8.0].into_iter(), BinRule::LogSturges).edges();
        for (found, expected) in edges.iter().zip([1.0, 8.0_f64.sqrt(), 8.0]) {
            assert!((found - expected).abs() < 1e-12);
        }
        assert_eq!(HistogramBins::from_values([7.0].into_iter(), BinRule::SquareRoot).edges(), [7.0, 7.0]);
    }
}
