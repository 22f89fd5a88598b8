//! Settings of the default method and where their defaults come from.

use super::fit::DriftBounds;
use laggard_settings::settings;

settings! {
    group "adaptive";
    /// Thresholds of the default method: which difference is relevant, and how significant it must be. Noise levels and
    /// penalties are estimated from the data.
    #[derive(Clone, PartialEq, Debug)]
    pub struct ChangeSettings {
        /// A step counts when it exceeds what does not matter by more than this many standard errors
        score_min ("score-min", "standard errors"): f64 = 5.0, within(1.0, 1e3), "the largest of 1,800 windows x 16 directions of normal noise stays below √(2 ln 28,800) = 4.5";
        /// A cut moves the CPU by at least this much of its capacity
        effect_min_percent ("effect-min", "%"): f64 = 1.0, within(0.0, 100.0), "ours: below, nothing is at stake";
        /// Windows busier than this share are left out: a full CPU no longer grows with work
        utilization_max ("utilization-max"): f64 = 0.95, within(0.1, 2.0), "ours";
        /// A shorter segment is not evaluated by itself; auto is max(10, transaction types + 1)
        segment_windows_min ("segment-windows-min", "windows"): Option<usize> = None, within(2.0, 1e6), "ours; the paper leaves it to the operator";
        /// A segment is anomalous when its best fit leaves more than this many times the usual noise
        noise_ratio_max ("noise-ratio-max"): f64 = 3.0, within(1.0, 1e6), "measured: 0.9 to 1.3 in normal segments, 8 to 12 beside a random CPU hog";
        /// A segment with a larger constant share of the CPU is anomalous
        constant_max_percent ("constant-max", "%"): f64 = 10.0, within(0.0, 100.0), "ours; the paper leaves it to the operator";
        /// A background load may drift by this share of the CPU within one model
        drift_constant_percent ("drift-constant", "%"): f64 = 0.7, within(0.0, 100.0), "measured: a wider one hides +5 ms of one type in 14 where the mix does not vary";
        /// The cost of all transactions together may drift by this share within one model
        drift_scale ("drift-scale"): f64 = 0.04, within(0.0, 0.9), "measured, as drift-constant";
        /// Two segments have one model unless its mean error is more than this multiple of that of two
        reconcile_ratio_max ("reconcile-ratio-max"): f64 = 1.5, within(1.0, 1e6), "measured";
        /// Another model adds more than this share of the CPU used to the error
        excess_error_min ("excess-error-min"): f64 = 0.02, within(0.0, 1.0), "ours";
        /// A service time changed when it did by more than this share
        service_change_min ("service-change-min"): f64 = 0.05, within(0.001, 10.0), "ours: a smaller change does not matter";
        /// How much a service time may vary with utilization alone, as a logarithm
        load_slope_max ("load-slope-max"): f64 = 1.5, within(0.0, 100.0), "measured servers: 0.4 to 1.1";
        /// Windows are joined until a type has this many transactions
        cell_transactions ("cell-transactions", "transactions"): f64 = 30.0, within(1.0, 1e6), "bias of the logarithm of the mean of N exponential times, 1/2N, is below 2 %";
        /// Service times account for at least this share of the CPU that moved, or the change has no transaction
        explained_min ("explained-min"): f64 = 0.5, within(0.0, 1.0), "ours";
    }
}

impl ChangeSettings {
    /// Limits of a drift that does not count as a change.
    pub(crate) fn drift_bounds(&self) -> DriftBounds {
        DriftBounds { constant: self.drift_constant_percent, scale: self.drift_scale }
    }

    /// Minimum number of windows of a segment to be classified, with `types` transaction types.
    pub fn windows_min(&self, types: usize) -> usize {
        self.segment_windows_min.unwrap_or_else(|| (types + 1).max(10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_settings::Settings;

    #[test]
    fn defaults_are_in_range_and_others_are_named() {
        assert_eq!(ChangeSettings::default().check(), Ok(()));
        let outlier = ChangeSettings { drift_scale: f64::NAN, ..ChangeSettings::default() };
        let text = outlier.check().expect_err("not a number").to_string();
        assert_eq!(text, "drift-scale is NaN; allowed: a number, 0 to 0.9; default: 0.04");
    }
}
