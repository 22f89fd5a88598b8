//! Count, sum and sum of squares as exact integers, so that they add up alike in any order.

/// Count, sum and sum of squares of times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moments {
    count: u64,
    sum_ns: u128,
    squares: u128,
}

impl Moments {
    /// Adds one time, nanoseconds.
    pub fn add(&mut self, ns: u64) {
        self.merge(Moments { count: 1, sum_ns: u128::from(ns), squares: u128::from(ns) * u128::from(ns) });
    }

    /// Adds other moments; sums saturate.
    pub fn merge(&mut self, other: Moments) {
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// Number of times.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Mean, nanoseconds; 0 when empty.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// Variance with divisor `n - 1`; `None` below two times. Exact before the last division unless the
    /// squares leave 128 bits.
    pub fn variance(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let n = self.count as f64;
        let count = u128::from(self.count);
        let exact = count.checked_mul(self.squares).zip(self.sum_ns.checked_mul(self.sum_ns));
        let spread = match exact {
            Some((squares, square)) => squares.saturating_sub(square) as f64,
            None => (n * self.squares as f64 - self.sum_ns as f64 * self.sum_ns as f64).max(0.0),
        };
        Some(spread / n / (n - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        let mut moments = Moments::default();
        assert_eq!((moments.mean(), moments.variance()), (0.0, None));
        [2, 4, 4, 4, 5, 5, 7, 9].into_iter().for_each(|ns| moments.add(ns));
        assert_eq!((moments.count(), moments.mean()), (8, 5.0));
        assert_eq!(moments.variance(), Some(32.0 / 7.0));
    }

    #[test]
    fn close_times_keep_their_variance_and_huge_ones_do_not_overflow() {
        let mut close = Moments::default();
        [1_768_208_400_000_000_000, 1_768_208_400_000_000_002].into_iter().for_each(|ns| close.add(ns));
        assert_eq!(close.variance(), Some(2.0));
        let mut huge = Moments::default();
        (0..10).for_each(|_| huge.add(u64::MAX));
        assert!(huge.variance().is_some_and(|variance| variance >= 0.0));
    }
}
