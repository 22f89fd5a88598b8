//! Sums from which a mean, a spread or a rate is computed.

/// Count, sum and sum of squares.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Moments {
    pub(crate) count: f64,
    pub(crate) sum: f64,
    pub(crate) squares: f64,
}

impl Moments {
    pub(crate) fn add(&mut self, other: Moments) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    pub(crate) fn minus(self, other: Moments) -> Moments {
        Moments {
            count: self.count - other.count,
            sum: self.sum - other.sum,
            squares: self.squares - other.squares,
        }
    }

    pub(crate) fn mean(self) -> f64 {
        if self.count > 0.0 { self.sum / self.count } else { 0.0 }
    }

    /// Sum of squares around the mean.
    pub(crate) fn residual(self) -> f64 {
        if self.count > 0.0 { (self.squares - self.sum * self.sum / self.count).max(0.0) } else { 0.0 }
    }
}

/// Log likelihood of slow calls at their observed rate.
pub(crate) fn log_likelihood(calls: Moments) -> f64 {
    let part = |count: f64| if count > 0.0 { count * (count / calls.count).ln() } else { 0.0 };
    part(calls.sum) + part(calls.count - calls.sum)
}
