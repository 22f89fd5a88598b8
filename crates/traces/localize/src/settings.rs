//! Settings of CloudDiag and where their defaults come from.

use std::fmt;

/// The paper's form, or the form changed where the paper's step fails on plausible data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// The default.
    #[default]
    Robust,
    /// The closest reading of the paper that works.
    Paper,
}

/// Which time of a call is analyzed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimeKind {
    /// Time not spent in callees.
    #[default]
    SelfTime,
    /// Time from invocation to return. Every ancestor repeats the culprit's delay; for comparison only.
    Inclusive,
}

/// Thresholds. All comparisons are as written in the field's text.
#[derive(Clone, PartialEq, Debug)]
pub struct CloudDiagSettings {
    /// Paper or robust.
    pub mode: Mode,
    /// A category is anomalous when the coefficient of variation of its latency is above this (CloudDiag §4.1: 1).
    pub cv_min: f64,
    /// Tail gate, robust only: a request is in the tail when its log latency is above median + this many MAD (3.5).
    pub tail_mad: f64,
    /// Tail gate: at least so many requests in the tail (3).
    pub tail_requests_min: u64,
    /// Tail gate: at least this share of the requests in the tail (0.005).
    pub tail_share_min: f64,
    /// Tail gate: at least this share of all latency is excess of the tail (0.05).
    pub tail_excess_min: f64,
    /// A position is flagged when its cosine is below this (paper 0.5, §5.2.4; robust 0.8).
    pub cosine_max: f64,
    /// Robust: and it holds more than this share of the slow requests' excess (0.03).
    pub share_min: f64,
    /// Robust: and at least so many requests exceed there (2).
    pub support_min: u64,
    /// A deviation counts when it is above this many MAD of its column (5) …
    pub exceed_mad: f64,
    /// … and above this multiple of the column's median (0.5).
    pub exceed_median: f64,
    /// Level of the replica tests after Benjamini–Hochberg (0.01).
    pub replica_level: f64,
    /// A replica must also be this factor slower, or exceed this many times as often, as its peers (1.25).
    pub replica_factor_min: f64,
    /// Robust: a replica that is slow all the time is looked for among all operations when its calls take at
    /// least this factor of its peers' (1.3).
    pub peer_factor_min: f64,
    /// Level of that comparison after Benjamini–Hochberg over all operations and replicas (0.001: it looks
    /// everywhere, whether or not requests are slow).
    pub peer_level: f64,
    /// Categories with fewer requests are only summarized (10).
    pub requests_min: u64,
    /// Matrices have at most so many rows (20,000); more requests are thinned evenly.
    pub rows_max: usize,
    /// All matrices together have at most so many values (4,000,000); the largest lose rows first. It bounds time
    /// and memory whatever the length of the window.
    pub values_max: usize,
    /// Matrices have at most so many columns (256); beyond, those with the largest excess are kept.
    pub columns_max: usize,
    /// Robust PCA: growth of the penalty (1.5; Lin et al. 2009).
    pub growth: f64,
    /// Robust PCA: relative residual at which it stops (1e-7 paper; 1e-5 is enough for every decision here).
    pub tolerance: f64,
    /// Robust PCA: most iterations (1,000).
    pub iterations_max: u32,
    /// Self or inclusive time.
    pub time: TimeKind,
}

impl CloudDiagSettings {
    /// The defaults of a mode.
    pub fn new(mode: Mode) -> CloudDiagSettings {
        let robust = mode == Mode::Robust;
        CloudDiagSettings {
            mode,
            cv_min: 1.0,
            tail_mad: 3.5,
            tail_requests_min: 3,
            tail_share_min: 0.005,
            tail_excess_min: 0.05,
            cosine_max: if robust { 0.8 } else { 0.5 },
            share_min: 0.03,
            support_min: 2,
            exceed_mad: 5.0,
            exceed_median: 0.5,
            replica_level: 0.01,
            replica_factor_min: 1.25,
            peer_factor_min: 1.3,
            peer_level: 0.001,
            requests_min: 10,
            rows_max: 20_000,
            values_max: 4_000_000,
            columns_max: 256,
            growth: 1.5,
            tolerance: if robust { 1e-5 } else { 1e-7 },
            iterations_max: 1000,
            time: TimeKind::SelfTime,
        }
    }

    /// Checks every value against its range.
    ///
    /// # Errors
    /// Names the first setting out of range, its value and the range.
    pub fn check(&self) -> Result<(), SettingsError> {
        let rows = [
            ("cv-min", self.cv_min, 0.0, f64::MAX),
            ("tail-mad", self.tail_mad, 0.0, f64::MAX),
            ("tail-share-min", self.tail_share_min, 0.0, 1.0),
            ("tail-excess-min", self.tail_excess_min, 0.0, 1.0),
            ("cosine-max", self.cosine_max, 0.0, 1.0),
            ("share-min", self.share_min, 0.0, 1.0),
            ("exceed-mad", self.exceed_mad, 0.0, f64::MAX),
            ("exceed-median", self.exceed_median, 0.0, f64::MAX),
            ("replica-level", self.replica_level, 0.0, 1.0),
            ("replica-factor-min", self.replica_factor_min, 1.0, f64::MAX),
            ("peer-factor-min", self.peer_factor_min, 1.0, f64::MAX),
            ("peer-level", self.peer_level, 0.0, 1.0),
            ("requests-min", self.requests_min as f64, 2.0, f64::MAX),
            ("rows-max", self.rows_max as f64, 10.0, 1e7),
            ("values-max", self.values_max as f64, 1000.0, 1e9),
            ("columns-max", self.columns_max as f64, 2.0, 2048.0),
            ("growth", self.growth, 1.01, 10.0),
            ("tolerance", self.tolerance, 1e-12, 0.1),
            ("iterations-max", f64::from(self.iterations_max), 1.0, 1e6),
        ];
        for (name, value, low, high) in rows {
            if !(low..=high).contains(&value) {
                return Err(SettingsError { name, value, low, high });
            }
        }
        Ok(())
    }
}

impl Default for CloudDiagSettings {
    fn default() -> CloudDiagSettings {
        CloudDiagSettings::new(Mode::Robust)
    }
}

/// A setting is out of its range.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SettingsError {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl SettingsError {
    pub(crate) const fn new(name: &'static str, value: f64, low: f64, high: f64) -> SettingsError {
        SettingsError { name, value, low, high }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{} is {}; it must be at least {}", self.name, self.value, self.low)?;
        if self.high < f64::MAX { write!(f, " and at most {}", self.high) } else { Ok(()) }
    }
}

impl std::error::Error for SettingsError {}
