//! How probable a value beyond all that were seen is.

/// Share of the scores that make the tail, and least and most of them.
const TAIL_SHARE: f64 = 0.25;
const TAIL_MIN: usize = 4;
const TAIL_MAX: usize = 40;

/// Least mean excess over the threshold, in scale units: tied scores must not promise that nothing larger comes.
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
    /// Of these scores (finite); `None` when there are too few to say anything.
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
    fn hand_worked() {
        // 16 scores: the largest 4 are 13..16 over a threshold of 12: excesses 1 + 2 + 3 + 4.
        let tail = EmpiricalTail::new((1..=16).map(f64::from).collect()).unwrap();
        assert_eq!((tail.threshold, tail.count, tail.excess_sum), (12.0, 4, 10.0));
        assert_eq!(tail.p_value(9.0), 9.0 / 17.0);
        assert!((tail.p_value(22.0) - 0.25 / 16.0).abs() < 1e-15);
        assert_eq!(EmpiricalTail::new(vec![1.0; 4]), None);
    }

    #[test]
    fn ties_promise_nothing() {
        let tail = EmpiricalTail::new(vec![0.0; 100]).unwrap();
        assert_eq!(tail.p_value(0.0), 1.0);
        assert!(tail.p_value(1.0) > 0.01 && tail.p_value(1e9) < 1e-9);
    }
}
