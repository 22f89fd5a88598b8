//! Settings of Mi's method and where their defaults come from.

use crate::settings::SettingsError;

/// Thresholds that only this method has. Those it shares with CloudDiag (mode, sizes, gate, replica tests)
/// are in [`CloudDiagSettings`](crate::CloudDiagSettings).
#[derive(Clone, PartialEq, Debug)]
pub struct MiSettings {
    /// α: clusters are major, largest first, until they hold more than this share of the requests (0.75; Mi
    /// 2012, Table 1).
    pub coverage: f64,
    /// γ: the normal subspace holds at least this share of the variance (0.95; Table 1).
    pub variance: f64,
    /// β: a request is anomalous when its squared prediction error is beyond the limit that normal ones exceed
    /// with this probability (0.05; Table 1).
    pub row_level: f64,
    /// λ: level of the tests of columns; in robust mode after Benjamini–Hochberg (0.05; Table 1).
    pub column_level: f64,
    /// Robust: least share of the anomalous requests' excess that arises at a flagged position (0.10).
    pub excess_share_min: f64,
}

impl Default for MiSettings {
    fn default() -> MiSettings {
        MiSettings {
            coverage: 0.75,
            variance: 0.95,
            row_level: 0.05,
            column_level: 0.05,
            excess_share_min: 0.1,
        }
    }
}

impl MiSettings {
    /// Checks every value against its range.
    ///
    /// # Errors
    /// Names the first setting out of range, its value and the range.
    pub fn check(&self) -> Result<(), SettingsError> {
        let rows = [
            ("pca-coverage", self.coverage, 0.0, 1.0),
            ("pca-variance", self.variance, 0.01, 1.0),
            ("pca-row-level", self.row_level, 1e-9, 0.5),
            ("pca-column-level", self.column_level, 0.0, 1.0),
            ("pca-share-min", self.excess_share_min, 0.0, 1.0),
        ];
        match rows.into_iter().find(|(_, value, low, high)| !(low..=high).contains(&value)) {
            Some((name, value, low, high)) => Err(SettingsError { name, value, low, high }),
            None => Ok(()),
        }
    }
}
