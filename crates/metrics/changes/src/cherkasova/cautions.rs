//! Limitations of the result.

use laggard_numeric::median_of;

use super::CherkasovaSettings;
use super::fitted_segments::FittedSegment;
use super::verdicts::is_alarm;
use crate::segmentation::{Segmentation, WindowRegression};
use crate::{Change, ChangeKind, Observations};

/// The error of a segment this many times as long as the minimum is noise; shorter segments are overfitted.
const LONG_SEGMENT: usize = 4;
/// ε should be at least this multiple of the noise (specification 4.4).
const FLOOR_FACTOR: f64 = 1.2;

/// Cautions about ε and the noise.
pub(super) fn error_cautions(
    settings: &CherkasovaSettings,
    regression: &WindowRegression,
    segmentation: &Segmentation,
    segments: &[FittedSegment],
) -> Vec<String> {
    let mut cautions = Vec::new();
    let error_max = settings.error_max_percent;
    if !segmentation.within_budget {
        cautions.push(format!(
            "No segmentation is within the allowed error of {error_max} %; the finest is shown."
        ));
    }
    let long = LONG_SEGMENT * settings.windows_min(regression.types());
    let errors: Vec<f64> = segments
        .iter()
        .filter(|segment| segment.rows.len() >= long)
        .map(|segment| segment.fit.error_percent())
        .collect();
    if errors.is_empty() {
        if regression.windows() >= long {
            let single_error =
                regression.fit(std::slice::from_ref(&(0..regression.windows()))).error_percent();
            cautions.push(format!(
                "No segment is {long} windows long, so the noise of the data cannot be estimated; if there are many \
                 short segments, the allowed error of {error_max} % is probably below the noise. One model for all \
                 windows has an error of {single_error:.1} %."
            ));
        }
        return cautions;
    }
    let floor = median_of(&errors);
    if error_max < FLOOR_FACTOR * floor {
        cautions.push(format!(
            "The allowed error of {error_max} % is close to the noise of {floor:.2} %: cuts may be false. Allow at least \
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
    let count = |is_counted: fn(&Change) -> bool| changes.iter().filter(|change| is_counted(change)).count();
    let unnamed = count(|change| is_alarm(change) && change.transactions.is_empty());
    let unexplained = count(|change| change.kind == ChangeKind::Unexplained);
    let mut cautions = Vec::new();
    if unnamed > 0 && observations.response_s.rows() == 0 {
        cautions.push("Without response times it is unknown which transactions changed.".to_owned());
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
