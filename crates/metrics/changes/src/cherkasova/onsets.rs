//! Onset of each change, with its confidence interval.

use std::f64::consts::PI;

use super::fitted_segments::FittedSegment;
use crate::Onset;
use crate::onset::onset;
use crate::segmentation::WindowRegression;

/// Number of windows used on either side of a cut.
const REACH: usize = 200;
/// A window this many standard deviations off the neighbor's model may belong to the adjacent anomaly.
const STRAY_DEVIATIONS: f64 = 4.0;
/// Number of successive normal windows that ends the search for stray ones.
const NORMAL_RUN: usize = 3;

/// The cut between two adjacent segments and its 95 % interval, from each window's likelihood under the model after
/// over that before.
pub(super) fn cut_onset(
    regression: &WindowRegression,
    before: &FittedSegment,
    after: &FittedSegment,
) -> Onset {
    let cut = after.rows.start;
    let rows = before.rows.start.max(cut.saturating_sub(REACH))..after.rows.end.min(cut + REACH);
    let deviation = deviation(before).hypot(deviation(after)) / 2.0_f64.sqrt();
    let old = regression.residuals(&before.fit, rows.clone());
    let new = regression.residuals(&after.fit, rows.clone());
    let evidence: Vec<f64> = old
        .iter()
        .zip(&new)
        .map(
            |(old, new)| {
                if deviation > 0.0 { (old / deviation).powi(2) - (new / deviation).powi(2) } else { 0.0 }
            },
        )
        .map(|evidence| if evidence.is_finite() { evidence } else { 0.0 })
        .collect();
    let interval = onset(&evidence, rows, 1.0);
    // The cut itself is that of the segmentation.
    Onset { row: cut, earliest: interval.earliest.min(cut), latest: interval.latest.max(cut) }
}

/// The start of an anomalous region after `before`. If the unexplained load is small in its first windows, they may be
/// part of the segment before and deviate from its model; the interval includes them.
pub(super) fn region_start(
    regression: &WindowRegression,
    before: Option<&FittedSegment>,
    start: usize,
) -> Onset {
    let earliest = before.filter(|segment| segment.is_normal()).map_or(start, |segment| {
        let rows = segment.rows.start.max(start.saturating_sub(REACH))..start;
        start - straying(deviation(segment), regression.residuals(&segment.fit, rows).iter().rev())
    });
    Onset { row: start, earliest, latest: start }
}

/// The end of an anomalous region before `after`, likewise.
pub(super) fn region_end(regression: &WindowRegression, after: &FittedSegment) -> Onset {
    let end = after.rows.start;
    if !after.is_normal() {
        return Onset { row: end, earliest: end, latest: end };
    }
    let rows = end..after.rows.end.min(end + REACH);
    let latest = end + straying(deviation(after), regression.residuals(&after.fit, rows).iter());
    Onset { row: end, earliest: end, latest: latest.min(after.rows.end - 1) }
}

/// Number of residuals up to the last stray one, including normal ones before it.
fn straying<'a>(deviation: f64, residuals: impl Iterator<Item = &'a f64>) -> usize {
    let (mut reach, mut normal) = (0, 0);
    for (index, residual) in residuals.enumerate() {
        if residual.abs() > STRAY_DEVIATIONS * deviation {
            (reach, normal) = (index + 1, 0);
        } else {
            normal += 1;
        }
        if normal == NORMAL_RUN {
            break;
        }
    }
    reach
}

/// Standard deviation of a segment's residuals in percentage points, from their mean absolute value, assuming a normal
/// distribution.
fn deviation(segment: &FittedSegment) -> f64 {
    let used = 1 + segment.fit.percent_each.iter().filter(|each| **each > 0.0).count();
    let free = segment.rows.len().saturating_sub(used).max(1);
    (PI / 2.0).sqrt() * segment.fit.absolute / (segment.rows.len() as f64 * free as f64).sqrt()
}
