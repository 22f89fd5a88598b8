//! Limitations of the result.

use laggard_numeric::median_of;

use super::CherkasovaSettings;
use super::fitted_segments::FittedSegment;
use super::verdicts::is_alarm;
use crate::segmentation::{Segmentation, WindowRegression};
use crate::{Change, ChangeKind, Observations};

/// A segment this many times as long as the minimum shows the noise rather than the flexibility of its fit.
const LONG_SEGMENT: usize = 4;
/// ε should be at least this multiple of the noise (specification 4.4).
const FLOOR_FACTOR: f64 = 1.2;

/// Cautions about ε and the noise.
pub(super) fn error_cautions(
    settings: &CherkasovaSettings,
    regression: &WindowRegression,
    segmentation: &Segmentation,
    fitted_segments: &[FittedSegment],
) -> Vec<String> {
    let mut cautions = Vec::new();
    let allowed = settings.error_max_percent;
    if !segmentation.within_budget {
        cautions.push(format!(
            "No segmentation is within the allowed error of {allowed} %; the finest is shown."
        ));
    }
    let long = LONG_SEGMENT * settings.windows_min(regression.types());
    let errors: Vec<f64> = fitted_segments
        .iter()
        .filter(|fitted_segment| fitted_segment.rows.len() >= long)
        .map(|fitted_segment| fitted_segment.fit.error_percent())
        .collect();
    if errors.is_empty() {
        if regression.windows() >= long {
            let one = regression.fit(std::slice::from_ref(&(0..regression.windows()))).error_percent();
            cautions.push(format!(
                "No segment is {long} windows long, so how noisy the data are cannot be told; if time falls to pieces, \
                 the allowed error of {allowed} % is probably below the noise. One model for all windows has an error of \
                 {one:.1} %."
            ));
        }
        return cautions;
    }
    let floor = median_of(&errors);
    if allowed < FLOOR_FACTOR * floor {
        cautions.push(format!(
            "The allowed error of {allowed} % is close to the noise of {floor:.2} %: cuts may be false. Allow at least \
             {:.1} %.",
            FLOOR_FACTOR * floor
        ));
    }
    cautions
}

/// The caution that no segment has a stable model.
pub(super) fn no_stable_model(windows: usize) -> String {
    format!("No stable model: only {windows} windows are in segments that transactions explain.")
}

/// Cautions about the changes.
pub(super) fn change_cautions(observations: &Observations, changes: &[Change]) -> Vec<String> {
    let is = |of: fn(&Change) -> bool| changes.iter().filter(|change| of(change)).count();
    let unnamed = is(|change| is_alarm(change) && change.transactions.is_empty());
    let unexplained = is(|change| change.kind == ChangeKind::Unexplained);
    let mut cautions = Vec::new();
    if unnamed > 0 && observations.response_s.rows() == 0 {
        cautions.push("Without response times it cannot be told which transactions changed.".to_owned());
    } else if unnamed > 0 {
        cautions.push(format!(
            "{unnamed} changes of the model have too few windows with response times to name transactions."
        ));
    }
    if unexplained > 0 {
        cautions.push(format!(
            "{unexplained} changes of the resource model are explained by no transaction: their own times did not change."
        ));
    }
    cautions
}
