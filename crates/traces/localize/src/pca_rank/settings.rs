//! Settings of Mi's method and where their defaults come from.

use laggard_settings::settings;

settings! {
    group "pca";
    /// Thresholds of this method only. Those it shares with CloudDiag (mode, sizes, gate, replica tests)
    /// are in [`CloudDiagSettings`](crate::CloudDiagSettings).
    #[derive(Clone, PartialEq, Debug)]
    pub struct MiSettings {
        /// α: clusters are major, largest first, until they hold more than this share of the requests
        coverage ("pca-coverage"): f64 = 0.75, within(0.0, 1.0), "Mi 2012, Table 1";
        /// γ: the normal subspace holds at least this share of the variance
        variance ("pca-variance"): f64 = 0.95, within(0.01, 1.0), "Mi 2012, Table 1";
        /// β: probability that a normal request is beyond the limit of its squared prediction error
        row_level ("pca-row-level"): f64 = 0.05, within(1e-9, 0.5), "Mi 2012, Table 1";
        /// λ: level of the tests of positions; in robust mode after Benjamini–Hochberg
        column_level ("pca-column-level"): f64 = 0.05, within(0.0, 1.0), "Mi 2012, Table 1";
        /// Robust: a flagged position holds at least this share of the anomalous requests' excess
        excess_share_min ("pca-share-min"): f64 = 0.1, within(0.0, 1.0), "measured";
    }
}
