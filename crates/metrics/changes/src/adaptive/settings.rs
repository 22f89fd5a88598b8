//! Settings of the default method and where their defaults come from.

use std::fmt;

use super::fit::DriftBounds;

/// Thresholds of the default method. None of them is a noise level or a penalty: those come from the data. They say
/// what difference matters, and how sure a difference must be.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangeSettings {
    /// A step counts when it is more than so many standard errors beyond what does not matter (5: the largest of
    /// 1,800 windows x 16 directions of pure normal noise stays below √(2 ln 28,800) = 4.5).
    pub score_min: f64,
    /// A cut moves the CPU by at least so many percent of its capacity (1; ours: below, nothing is at stake).
    pub effect_min_percent: f64,
    /// Windows busier than this share are left out (0.95; specification 4.8): a full CPU no longer grows with work.
    pub utilization_max: f64,
    /// A shorter segment is not judged by itself; `None` means `max(10, n + 1)` windows for `n` transaction types
    /// (specification 4.5).
    pub segment_windows_min: Option<usize>,
    /// A segment is anomalous when its best fit leaves more than so many times the usual noise (3; measured: 0.9 to
    /// 1.3 in normal segments, 8 to 12 beside a random CPU hog).
    pub noise_ratio_max: f64,
    /// More constant CPU than this, in percent, is foreign (10; the paper leaves it to the operator).
    pub constant_max_percent: f64,
    /// A background load may drift by so many percent of the CPU (0.7: a few tenths; measured: a wider one hides +5 ms of
    /// one type in 14 where the mix does not vary) …
    pub drift_constant_percent: f64,
    /// … and the cost of all transactions together by this share (0.04; measured, as above) without being another
    /// model.
    pub drift_scale: f64,
    /// Two segments have one model unless its mean error is more than this multiple of what each leaves by itself
    /// (1.5; specification 4.6).
    pub reconcile_ratio_max: f64,
    /// … and unless it adds more than this share of the CPU used to the error (0.02; ours).
    pub excess_error_min: f64,
    /// A transaction's service time changed when it did by more than this share (0.10; specification 4.8).
    pub service_change_min: f64,
    /// How much a service time may vary, as a logarithm by unit of utilization, only because the load is another
    /// (1.5; measured servers: 0.4 to 1.1).
    pub load_slope_max: f64,
    /// Windows are joined until a type has so many transactions (30: the logarithm of the mean of `N` exponential
    /// times is biased by `1/2N`, below 2 % here).
    pub cell_transactions: f64,
    /// Service times must account for at least this share of the CPU that moved, or the change has no transaction (0.5;
    /// ours).
    pub explained_min: f64,
}

impl Default for ChangeSettings {
    fn default() -> ChangeSettings {
        ChangeSettings {
            score_min: 5.0,
            effect_min_percent: 1.0,
            utilization_max: 0.95,
            segment_windows_min: None,
            noise_ratio_max: 3.0,
            constant_max_percent: 10.0,
            drift_constant_percent: 0.7,
            drift_scale: 0.04,
            reconcile_ratio_max: 1.5,
            excess_error_min: 0.02,
            service_change_min: 0.10,
            load_slope_max: 1.5,
            cell_transactions: 30.0,
            explained_min: 0.5,
        }
    }
}

impl ChangeSettings {
    /// Checks every value against its range.
    ///
    /// # Errors
    /// Names the first setting out of range, its value and the range.
    pub fn check(&self) -> Result<(), ChangeSettingsError> {
        let rows = [
            ("score-min", self.score_min, 1.0, 1e3),
            ("effect-min", self.effect_min_percent, 0.0, 100.0),
            ("utilization-max", self.utilization_max, 0.1, 2.0),
            ("segment-windows-min", self.segment_windows_min.unwrap_or(2) as f64, 2.0, 1e6),
            ("noise-ratio-max", self.noise_ratio_max, 1.0, 1e6),
            ("constant-max", self.constant_max_percent, 0.0, 100.0),
            ("drift-constant", self.drift_constant_percent, 0.0, 100.0),
            ("drift-scale", self.drift_scale, 0.0, 0.9),
            ("reconcile-ratio-max", self.reconcile_ratio_max, 1.0, 1e6),
            ("excess-error-min", self.excess_error_min, 0.0, 1.0),
            ("service-change-min", self.service_change_min, 0.001, 10.0),
            ("load-slope-max", self.load_slope_max, 0.0, 100.0),
            ("cell-transactions", self.cell_transactions, 1.0, 1e6),
            ("explained-min", self.explained_min, 0.0, 1.0),
        ];
        for (name, value, low, high) in rows {
            if !(low..=high).contains(&value) {
                return Err(ChangeSettingsError { name, value, low, high });
            }
        }
        Ok(())
    }

    /// The drift that is no change.
    pub(crate) fn drift_bounds(&self) -> DriftBounds {
        DriftBounds { constant: self.drift_constant_percent, scale: self.drift_scale }
    }

    /// Fewest windows of a segment that is judged, with `types` transaction types.
    pub fn windows_min(&self, types: usize) -> usize {
        self.segment_windows_min.unwrap_or_else(|| (types + 1).max(10))
    }
}

/// A setting is out of its range.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ChangeSettingsError {
    name: &'static str,
    value: f64,
    low: f64,
    high: f64,
}

impl fmt::Display for ChangeSettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "--{} is {}; it must be at least {} and at most {}",
            self.name, self.value, self.low, self.high
        )
    }
}

impl std::error::Error for ChangeSettingsError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_in_range_and_others_are_named() {
        assert_eq!(ChangeSettings::default().check(), Ok(()));
        let outlier = ChangeSettings { drift_scale: f64::NAN, ..ChangeSettings::default() };
        let text = outlier.check().expect_err("not a number").to_string();
        assert_eq!(text, "--drift-scale is NaN; it must be at least 0 and at most 0.9");
    }
}
