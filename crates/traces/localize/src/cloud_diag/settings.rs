//! Settings of CloudDiag and where their defaults come from.

use laggard_settings::{Choice, settings};

/// Variant of a published method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// The paper's method, changed where one of its steps fails on plausible data.
    #[default]
    Robust,
    /// The closest implementable reading of the paper.
    Paper,
}

impl Choice for Mode {
    const CHOICES: &'static [(&'static str, Mode)] = &[("robust", Mode::Robust), ("paper", Mode::Paper)];
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

impl Choice for TimeKind {
    const CHOICES: &'static [(&'static str, TimeKind)] =
        &[("self", TimeKind::SelfTime), ("inclusive", TimeKind::Inclusive)];
}

/// Whether single entries or whole columns of the sparse part `E` of a request matrix are nonzero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sparsity {
    /// Entries: robust PCA.
    #[default]
    Entries,
    /// Columns, hence positions: outlier pursuit (Xu, Caramanis, Sanghavi 2010).
    Columns,
}

impl Choice for Sparsity {
    const CHOICES: &'static [(&'static str, Sparsity)] =
        &[("entries", Sparsity::Entries), ("columns", Sparsity::Columns)];
}

settings! {
    group "clouddiag";
    /// Thresholds of CloudDiag; other methods share its mode, sizes, tails, and replica tests.
    #[derive(Clone, PartialEq, Debug)]
    pub struct CloudDiagSettings {
        /// The paper's form, or the form changed where the paper's step fails on plausible data
        mode ("mode"): Mode = Mode::Robust, choice(), "measured";
        /// Which time of a call is analyzed; with inclusive every ancestor repeats the culprit's delay
        time ("time"): TimeKind = TimeKind::SelfTime, choice(), "measured";
        /// A category is anomalous when the coefficient of variation of its latency is above this
        cv_min ("cv-min"): f64 = 1.0, at_least(0.0), "Mi 2013, section 4.1";
        /// Robust: a request is in the tail when its log latency is above the median by more than this
        tail_mad ("tail-mad", "MAD"): f64 = 3.5, at_least(0.0), "usual cut for the modified z-score; measured";
        /// Fewest requests of a tail
        tail_requests_min ("tail-requests-min", "requests"): u64 = 3, at_least(0.0), "measured";
        /// A tail has at least this share of the requests
        tail_share_min ("tail-share-min"): f64 = 0.005, within(0.0, 1.0), "measured";
        /// At least this share of all latency is excess of the tail
        tail_excess_min ("tail-excess-min"): f64 = 0.05, within(0.0, 1.0), "measured";
        /// A position is flagged when its cosine is below this; with mode=paper the default is 0.5
        cosine_max ("cosine-max"): f64 = 0.8, within(0.0, 1.0), "measured, with share and support; paper: section 5.2.4";
        /// Robust: a flagged position holds more than this share of the slow requests' excess
        share_min ("share-min"): f64 = 0.03, within(0.0, 1.0), "measured";
        /// Robust: fewest requests that exceed at a flagged position
        support_min ("support-min", "requests"): u64 = 2, at_least(0.0), "measured";
        /// A deviation counts when it is above the median of its column by more than this
        exceed_mad ("exceed-mad", "MAD"): f64 = 5.0, at_least(0.0), "ours";
        /// A deviation also has to be above this multiple of the median of its column
        exceed_median ("exceed-median"): f64 = 0.5, at_least(0.0), "ours";
        /// Level of the replica tests after Benjamini–Hochberg
        replica_level ("replica-level"): f64 = 0.01, within(0.0, 1.0), "ours";
        /// A culprit replica is this factor slower than its peers, or exceeds this many times as often
        replica_factor_min ("replica-factor-min"): f64 = 1.25, at_least(1.0), "ours";
        /// Robust: a replica that is always slow takes at least this factor of its peers' time
        peer_factor_min ("peer-factor-min"): f64 = 1.3, at_least(1.0), "ours";
        /// Level of the comparison with peers after Benjamini–Hochberg over all operations and replicas
        peer_level ("peer-level"): f64 = 0.001, within(0.0, 1.0), "ours: it tests everything, slow or not";
        /// Categories with fewer requests are only summarized
        requests_min ("requests-min", "requests"): u64 = 10, at_least(2.0), "ours";
        /// Most rows of a request matrix; more requests are thinned evenly
        rows_max ("rows-max", "rows"): usize = 20_000, within(10.0, 1e7), "cost";
        /// Most values of all request matrices together; the largest matrices lose rows first
        values_max ("values-max", "values"): usize = 4_000_000, within(1000.0, 1e9), "cost: bounds time and memory for any window";
        /// Most columns of a request matrix; those with the largest excess are used
        columns_max ("columns-max", "columns"): usize = 256, within(2.0, 2048.0), "cost";
        /// What the sparse part of a request matrix has few of: entries (robust PCA) or columns (outlier pursuit)
        sparsity ("sparsity"): Sparsity = Sparsity::Entries, choice(), "Mi 2013, section 4.2, describes both; measured";
        /// Robust PCA: growth of the penalty
        growth ("growth"): f64 = 1.5, within(1.01, 10.0), "Lin et al. 2009";
        /// Robust PCA: relative residual to stop at; with mode=paper the default is 1e-7
        tolerance ("tolerance"): f64 = 1e-5, within(1e-12, 0.1), "1e-7: Lin et al. 2009; 1e-5 changes no decision and saves a quarter of the iterations";
        /// Robust PCA: most iterations
        iterations_max ("iterations-max", "iterations"): u32 = 1000, within(1.0, 1e6), "Lin et al. 2009";
    }
}

impl CloudDiagSettings {
    /// The defaults of a mode.
    pub fn new(mode: Mode) -> CloudDiagSettings {
        let robust = CloudDiagSettings::default();
        match mode {
            Mode::Robust => robust,
            Mode::Paper => CloudDiagSettings { mode, cosine_max: 0.5, tolerance: 1e-7, ..robust },
        }
    }
}
