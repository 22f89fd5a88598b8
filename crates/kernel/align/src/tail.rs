//! The probability of values in the upper tail of a sample, and beyond its maximum.

/// Share of the scores in the tail, and their minimum and maximum number.
const TAIL_SHARE: f64 = 0.25;
const TAIL_MIN: usize = 4;
const TAIL_MAX: usize = 40;

/// Minimum mean excess over the threshold, in scale units: with tied scores, larger values must remain possible.
const MEAN_EXCESS_MIN: f64 = 0.4;

/// Upper tail of a distribution of scores, from a sample of it: the largest quarter is modeled as exponential above its
/// threshold. For a new score the *predictive* probability is returned, which accounts for the mean excess being itself
/// an estimate from `k` values `e`: `k/n * (1 + x / sum e)^-k` at `x` above the threshold.
///
/// In scores of log times an exponential tail is a power law of times: the tail of waiting on a busy machine.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct EmpiricalTail {
    /// Ascending.
    scores: Vec<f64>,
    threshold: f64,
    count: usize,
    excess_sum: f64,
}

impl EmpiricalTail {
    /// From finite scores; `None` if there are too few.
    pub(crate) fn new(mut scores: Vec<f64>) -> Option<EmpiricalTail> {
        if scores.len() <= TAIL_MIN {
            return None;
        }
        scores.sort_by(f64::total_cmp);
        let count = ((scores.len() as f64 * TAIL_SHARE) as usize).clamp(TAIL_MIN, TAIL_MAX);
        let first = scores.len() - count;
        let threshold = scores[first - 1];
        let sum: f64 = scores[first..].iter().map(|score| score - threshold).sum();
        Some(EmpiricalTail { threshold, count, excess_sum: sum.max(MEAN_EXCESS_MIN * count as f64), scores })
    }

    /// Probability of a score at least as large.
    pub(crate) fn p_value(&self, score: f64) -> f64 {
        let total = self.scores.len() as f64;
        if score <= self.threshold {
            let at_least = self.scores.len() - self.scores.partition_point(|&seen| seen < score);
            return (at_least + 1) as f64 / (total + 1.0);
        }
        let excess = (score - self.threshold) / self.excess_sum;
        self.count as f64 / total * (1.0 + excess).powi(-(self.count as i32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_of_sixteen_scores() {
        // 16 scores: the largest 4 are 13..16 over a threshold of 12: excesses 1 + 2 + 3 + 4.
        let tail = EmpiricalTail::new((1..=16).map(f64::from).collect()).unwrap();
        assert_eq!((tail.threshold, tail.count, tail.excess_sum), (12.0, 4, 10.0));
        assert_eq!(tail.p_value(9.0), 9.0 / 17.0);
        assert!((tail.p_value(22.0) - 0.25 / 16.0).abs() < 1e-15);
        assert_eq!(EmpiricalTail::new(vec![1.0; 4]), None);
    }

    #[test]
    fn values_beyond_tied_scores_remain_possible() {
        let tail = EmpiricalTail::new(vec![0.0; 100]).unwrap();
        assert_eq!(tail.p_value(0.0), 1.0);
        assert!(tail.p_value(1.0) > 0.01 && tail.p_value(1e9) < 1e-9);
    }
}
