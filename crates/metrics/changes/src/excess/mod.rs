//! Whether the last windows of a server use more CPU than their transactions did before, tested window by window.
//!
//! A segment of the complete analysis ([`changes`](crate::changes)) needs as many windows as there are transaction
//! types, so it cannot say anything within a few windows. Here a model of a reference period predicts the last windows,
//! and what it leaves is compared with what it left in the reference period itself, in intervals of the same length that
//! the model did not know (`usual`). So drift, correlated noise, and recurring jobs count as usual.
//!
//! 1. `reference`: demands from counts, with the proportions of response times as prior.
//! 2. `usual`: means of residuals over 3 to 60 windows, in blocks left out of the fit.
//! 3. `cause`: transactions whose own time grew, or something that no transaction explains.

mod cause;
mod reference;
mod usual;

pub use cause::{CpuCause, DemandStep};

use crate::Observations;
use crate::error::TooLittleDataError;
use laggard_settings::settings;
use reference::Reference;
use usual::UsualMeans;

settings! {
    group "excess";
    /// When CPU counts as more than before.
    #[derive(Clone, PartialEq, Debug)]
    pub struct ExcessSettings {
        /// Least additional CPU, of the server's capacity
        share_min ("excess-share-min"): f64 = 0.02, within(0.001, 1.0), "ours: below, little is at stake";
        /// Least additional CPU, of what the transactions used to take
        relative_min ("excess-relative-min"): f64 = 0.05, within(0.0, 10.0), "measured: hardware and data drift by 3 %";
        /// The additional CPU is more than this many times its usual variation
        score_min ("excess-score-min", "standard errors"): f64 = 8.0, within(1.0, 1e3), "measured: 6 has false alarms with a cache that warms up, 8 has none";
        /// … and this many times the maximum of the reference period
        usual_factor ("excess-usual-factor"): f64 = 1.25, within(1.0, 100.0), "ours: what happened before is usual";
        /// Windows that the reference period needs; also at least three for each transaction type
        reference_windows_min ("excess-reference-min", "windows"): usize = 150, within(20.0, 1e5), "measured: with less, a change of the mix is an excess";
    }
}

/// Lengths of the intervals that are tested, in windows.
pub const EXCESS_LENGTHS: [usize; 6] = [3, 5, 10, 15, 30, 60];

/// A known excess lasts until the mean of so many windows is below half of it.
const HELD_WINDOWS: usize = 5;
/// See [`HELD_WINDOWS`].
const HELD_PART: f64 = 0.5;

/// An excess that is known already: what it was when it was tested last.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KnownExcess {
    /// First window, as a row of the observations.
    pub onset: usize,
    /// Share of the capacity.
    pub share: f64,
    /// Share of what the transactions used to take, if it grows with the load; else absent.
    pub relative: Option<f64>,
}

/// The CPU of the last windows against the reference period.
#[derive(Clone, PartialEq, Debug)]
pub struct CpuExcess {
    /// First window of the excess, as a row of the observations.
    pub onset: usize,
    /// Additional CPU since then, as a share of the capacity; negative for less.
    pub share: f64,
    /// The same as a share of what the transactions used to take.
    pub relative: f64,
    /// Standard error of the share.
    pub standard_error: f64,
    /// Greatest ratio of a mean to its usual variation, of all lengths.
    pub score: f64,
    /// Whether it is relevant and significant: enough for a new alert.
    pub is_new: bool,
    /// Whether the known excess is not over.
    pub is_held: bool,
    /// The cause of additional CPU use.
    pub cause: CpuCause,
}

/// Tests the last windows, `recent`, against the windows of `reference`, both rows of the observations in order of
/// time. With a known excess, `recent` begins no earlier than it.
///
/// # Errors
/// When the reference or the last windows are too few, or the numbers unusable.
pub fn cpu_excess(
    observations: &Observations,
    reference: &[usize],
    recent: &[usize],
    known: Option<KnownExcess>,
    settings: &ExcessSettings,
) -> Result<CpuExcess, TooLittleDataError> {
    let types = observations.counts.cols();
    let needed = settings.reference_windows_min.max(3 * (types + 1));
    TooLittleDataError::check(observations, needed + HELD_WINDOWS)?;
    if reference.len() < needed || recent.len() < EXCESS_LENGTHS[0] {
        return Err(TooLittleDataError::Windows { available: reference.len(), needed });
    }
    let model = Reference::fit(observations, reference)
        .ok_or(TooLittleDataError::NoTransactions { types, windows: reference.len() })?;
    let usual = UsualMeans::new(&model);
    let rows = recent;
    let mut best: Option<TestedMean> = None;
    for &length in EXCESS_LENGTHS.iter().filter(|&&length| length <= rows.len()) {
        let candidate = TestedMean::new(&model, &usual, &rows[rows.len() - length..], settings);
        if best.as_ref().is_none_or(|best| candidate.rank() > best.rank()) {
            best = Some(candidate);
        }
    }
    let best = best.expect("the shortest length fits");
    // An excess that has ended is not a new one.
    let latest = TestedMean::new(&model, &usual, &rows[rows.len() - EXCESS_LENGTHS[0]..], settings);
    let held = TestedMean::new(&model, &usual, &rows[rows.len().saturating_sub(HELD_WINDOWS)..], settings);
    let latest_onset = rows[rows.len() - EXCESS_LENGTHS[0]];
    let onset = known.map_or_else(|| onset(&model, rows, &best), |known| known.onset.min(latest_onset));
    let since: Vec<usize> = rows.iter().copied().filter(|&row| row >= onset).collect();
    let mean =
        |value: &dyn Fn(usize) -> f64| since.iter().map(|&row| value(row)).sum::<f64>() / since.len() as f64;
    let share = mean(&|row| model.residual(row));
    Ok(CpuExcess {
        onset,
        share,
        relative: share / mean(&|row| model.predicted(row)).max(0.001),
        standard_error: best.standard_error,
        score: best.score,
        is_new: best.is_new && latest.share >= HELD_PART * best.share_min,
        is_held: known.is_some_and(|known| held.share >= HELD_PART * known.share_at(held.predicted)),
        cause: cause::cause(&model, reference, &since, share),
    })
}

/// The mean residual of the last windows of one length.
struct TestedMean {
    length: usize,
    share: f64,
    predicted: f64,
    standard_error: f64,
    score: f64,
    share_min: f64,
    is_new: bool,
}

impl TestedMean {
    fn new(
        model: &Reference<'_>,
        usual: &UsualMeans,
        rows: &[usize],
        settings: &ExcessSettings,
    ) -> TestedMean {
        let windows = rows.len() as f64;
        let mean = |value: &dyn Fn(usize) -> f64| rows.iter().map(|&row| value(row)).sum::<f64>() / windows;
        let share = mean(&|row| model.residual(row));
        let weight = mean(&|row| model.spread(row));
        let variation = usual.variation(rows.len());
        let standard_error = (variation.deviation * weight).hypot(model.prediction_error(rows));
        let predicted = mean(&|row| model.predicted(row)).max(0.0);
        let share_min = settings.share_min.max(settings.relative_min * predicted);
        let score = share / standard_error;
        // A job of constant size stands out more at low load.
        let largest = (variation.largest * weight).max(variation.largest_share);
        let is_usual = share <= settings.usual_factor * largest;
        TestedMean {
            length: rows.len(),
            share,
            predicted,
            standard_error,
            score,
            share_min,
            is_new: score >= settings.score_min && share >= share_min && !is_usual,
        }
    }

    fn rank(&self) -> (bool, f64) {
        (self.is_new, self.score)
    }
}

impl KnownExcess {
    /// Its share of the capacity at another load.
    fn share_at(&self, predicted: f64) -> f64 {
        self.relative.map_or(self.share, |relative| relative * predicted)
    }
}

/// The row from which on the residuals fit the new level better than the old one.
fn onset(model: &Reference<'_>, rows: &[usize], best: &TestedMean) -> usize {
    let (mut sum, mut most, mut onset) = (0.0, f64::NEG_INFINITY, rows[rows.len() - best.length]);
    for &row in rows.iter().rev() {
        sum += (model.residual(row) - best.share / 2.0) / model.spread(row).powi(2);
        if sum > most {
            (most, onset) = (sum, row);
        }
    }
    onset
}
