//! Settings of the published method and where their defaults come from.

use std::fmt;

/// The paper's form, or the form changed where the paper's step fails on plausible data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CherkasovaMode {
    /// The default.
    #[default]
    Robust,
    /// The closest reading of the paper that works.
    Paper,
}

/// Thresholds of Cherkasova et al. 2009.
#[derive(Clone, PartialEq, Debug)]
pub struct CherkasovaSettings {
    /// Paper or robust.
    pub mode: CherkasovaMode,
    /// Allowed error ε: `100 · Σ|e| / Σu` in percent (3; §5.2. The metric is ours: the paper defines none).
    pub error_max_percent: f64,
    /// A segment of fewer windows is anomalous; `None` means `max(10, n + 1)` for `n` transaction types (the
    /// paper leaves it to the operator).
    pub segment_windows_min: Option<usize>,
    /// A segment with a larger constant `C₀` in percent of the CPU is anomalous (10; the paper leaves it to
    /// the operator).
    pub constant_max_percent: f64,
    /// Robust: two segments have one model only if its error is at most this multiple of that of two (1.5;
    /// measured: the same application gives up to 1.22, +5 ms on one of 14 types 2.05 or more).
    pub reconcile_ratio_max: f64,
    /// Up to so many windows every cut is considered (5,000); beyond, cuts on a grid, then refined.
    pub exact_windows_max: usize,
    /// The grid's step in windows (5); larger where [`CherkasovaSettings::grid_points_max`] demands.
    pub grid_step: usize,
    /// Most points of the grid (10,000): the search keeps four bytes for every pair of them.
    pub grid_points_max: usize,
}

impl CherkasovaSettings {
    /// The defaults of a mode.
    pub fn new(mode: CherkasovaMode) -> CherkasovaSettings {
        CherkasovaSettings {
            mode,
            error_max_percent: 3.0,
            segment_windows_min: None,
            constant_max_percent: 10.0,
            reconcile_ratio_max: 1.5,
            exact_windows_max: 5_000,
            grid_step: 5,
            grid_points_max: 10_000,
        }
    }

    /// Checks every value against its range.
    ///
    /// # Errors
    /// Names the first setting out of range, its value and the range.
    pub fn check(&self) -> Result<(), CherkasovaSettingsError> {
        let windows_min = self.segment_windows_min.unwrap_or(2) as f64;
        let rows = [
            ("error-max", self.error_max_percent, 0.01, 100.0),
            ("segment-windows-min", windows_min, 2.0, 1e6),
            ("constant-max", self.constant_max_percent, 0.0, 100.0),
            ("reconcile-ratio-max", self.reconcile_ratio_max, 1.0, f64::MAX),
            ("exact-windows-max", self.exact_windows_max as f64, 10.0, 20_000.0),
            ("grid-step", self.grid_step as f64, 2.0, 1_000.0),
            ("grid-points-max", self.grid_points_max as f64, 10.0, 20_000.0),
        ];
        for (name, value, low, high) in rows {
            if !(low..=high).contains(&value) {
                return Err(CherkasovaSettingsError { name, value, low, high });
            }
        }
        Ok(())
    }

    /// Fewest windows of a segment that is judged, with `types` transaction types.
    pub fn windows_min(&self, types: usize) -> usize {
        self.segment_windows_min.unwrap_or_else(|| (types + 1).max(10))
    }
}

impl Default for CherkasovaSettings {
    fn default() -> CherkasovaSettings {
        CherkasovaSettings::new(CherkasovaMode::Robust)
    }
}

/// A setting is out of its range.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CherkasovaSettingsError {
    name: &'static str,
    value: f64,
    low: f64,
    high: f64,
}

impl fmt::Display for CherkasovaSettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{} is {}; it must be at least {}", self.name, self.value, self.low)?;
        if self.high < f64::MAX { write!(f, " and at most {}", self.high) } else { Ok(()) }
    }
}

impl std::error::Error for CherkasovaSettingsError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_in_range_and_others_are_named() {
        assert_eq!(CherkasovaSettings::default().check(), Ok(()));
        let strict = CherkasovaSettings { error_max_percent: f64::NAN, ..CherkasovaSettings::default() };
        assert!(strict.check().expect_err("not a number").to_string().starts_with("--error-max is NaN"));
        let short = CherkasovaSettings { segment_windows_min: Some(1), ..CherkasovaSettings::default() };
        let text = short.check().expect_err("too short").to_string();
        assert_eq!(text, "--segment-windows-min is 1; it must be at least 2 and at most 1000000");
    }

    #[test]
    fn a_segment_takes_more_windows_than_coefficients() {
        assert_eq!(CherkasovaSettings::default().windows_min(3), 10);
        assert_eq!(CherkasovaSettings::default().windows_min(14), 15);
    }
}
