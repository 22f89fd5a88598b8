//! Settings of the published method and where their defaults come from.

use laggard_settings::{Choice, settings};

/// The paper's rules, or rules that are changed where a step of the paper fails on plausible data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CherkasovaMode {
    /// Changed where a step of the paper fails on plausible data; the default.
    #[default]
    Robust,
    /// The closest reading of the paper that works.
    Paper,
}

impl Choice for CherkasovaMode {
    const CHOICES: &'static [(&'static str, CherkasovaMode)] =
        &[("robust", CherkasovaMode::Robust), ("paper", CherkasovaMode::Paper)];
}

settings! {
    group "cherkasova";
    /// Thresholds of Cherkasova et al. 2009.
    #[derive(Clone, PartialEq, Debug)]
    pub struct CherkasovaSettings {
        /// The paper's form, or the form changed where the paper's step fails on plausible data
        mode ("mode"): CherkasovaMode = CherkasovaMode::Robust, choice(), "measured";
        /// Allowed error, the paper's ε: 100 · Σ|e| / Σu
        error_max_percent ("error-max", "%"): f64 = 3.0, within(0.01, 100.0), "section 5.2; the metric is ours, the paper defines none";
        /// A segment of fewer windows is anomalous; auto is max(10, transaction types + 1)
        segment_windows_min ("segment-windows-min", "windows"): Option<usize> = None, within(2.0, 1e6), "ours; the paper leaves it to the operator";
        /// A segment with a larger constant share of the CPU is anomalous
        constant_max_percent ("constant-max", "%"): f64 = 10.0, within(0.0, 100.0), "ours; the paper leaves it to the operator";
        /// Robust: two segments have one model only if its error is at most this multiple of that of two
        reconcile_ratio_max ("reconcile-ratio-max"): f64 = 1.5, at_least(1.0), "measured: one application up to 1.22, +5 ms on one of 14 types 2.05 or more";
        /// Up to this many windows, every cut is considered; beyond, cuts on a grid are, and then refined
        exact_windows_max ("exact-windows-max", "windows"): usize = 5_000, within(10.0, 20_000.0), "memory: 2 bytes times its square";
        /// Step of the grid, larger where grid-points-max demands it
        grid_step ("grid-step", "windows"): usize = 5, within(2.0, 1_000.0), "cost";
        /// Most points of the grid
        grid_points_max ("grid-points-max", "points"): usize = 10_000, within(10.0, 20_000.0), "memory: 4 bytes for every pair, 200 MB";
    }
}

impl CherkasovaSettings {
    /// The defaults of a mode.
    pub fn new(mode: CherkasovaMode) -> CherkasovaSettings {
        CherkasovaSettings { mode, ..CherkasovaSettings::default() }
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
        assert_eq!(CherkasovaSettings::default().check(), Ok(()));
        let strict = CherkasovaSettings { error_max_percent: f64::NAN, ..CherkasovaSettings::default() };
        assert!(strict.check().expect_err("not a number").to_string().starts_with("error-max is NaN"));
        let short = CherkasovaSettings { segment_windows_min: Some(1), ..CherkasovaSettings::default() };
        let text = short.check().expect_err("too short").to_string();
        let allowed = "auto or a whole number, 2 to 1000000";
        assert_eq!(text, format!("segment-windows-min is 1; allowed: {allowed}; default: auto"));
    }

    #[test]
    fn a_segment_needs_more_windows_than_coefficients() {
        assert_eq!(CherkasovaSettings::default().windows_min(3), 10);
        assert_eq!(CherkasovaSettings::default().windows_min(14), 15);
    }
}
