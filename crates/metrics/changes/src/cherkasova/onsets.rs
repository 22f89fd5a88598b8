//! When each change happened, with an interval.

use std::f64::consts::PI;

use super::pieces::Piece;
use crate::Onset;
use crate::onset::onset;
use crate::segmentation::WindowRegression;

/// Windows on either side of a cut that take part.
const REACH: usize = 200;
/// A window so many standard deviations off the neighbor's model may belong to the anomaly beside it.
const STRAY: f64 = 4.0;
/// So many windows that do not stray end a search for those that do.
const CALM: usize = 3;

/// The cut between two adjacent pieces, and the rows that it could as well be at, at 95 %: by what each window says for the
/// model after over the one before.
pub(super) fn cut_onset(regression: &WindowRegression, before: &Piece, after: &Piece) -> Onset {
    let cut = after.rows.start;
    let rows = before.rows.start.max(cut.saturating_sub(REACH))..after.rows.end.min(cut + REACH);
    let deviation = deviation(before).hypot(deviation(after)) / 2.0_f64.sqrt();
    let old = regression.residuals(&before.fit, rows.clone());
    let new = regression.residuals(&after.fit, rows.clone());
    let said: Vec<f64> = old
        .iter()
        .zip(&new)
        .map(
            |(old, new)| {
                if deviation > 0.0 { (old / deviation).powi(2) - (new / deviation).powi(2) } else { 0.0 }
            },
        )
        .map(|said| if said.is_finite() { said } else { 0.0 })
        .collect();
    let found = onset(&said, rows, 1.0);
    // The cut itself is what the segmentation says.
    Onset { row: cut, earliest: found.earliest.min(cut), latest: found.latest.max(cut) }
}

/// The start of an anomalous region after `before`: foreign load that pauses or is small in its first windows leaves
/// them with the segment before, where they stray from its model.
pub(super) fn region_start(regression: &WindowRegression, before: Option<&Piece>, start: usize) -> Onset {
    let earliest = before.filter(|piece| piece.is_normal()).map_or(start, |piece| {
        let rows = piece.rows.start.max(start.saturating_sub(REACH))..start;
        start - straying(deviation(piece), regression.residuals(&piece.fit, rows).iter().rev())
    });
    Onset { row: start, earliest, latest: start }
}

/// The end of an anomalous region before `after`, likewise.
pub(super) fn region_end(regression: &WindowRegression, after: &Piece) -> Onset {
    let end = after.rows.start;
    if !after.is_normal() {
        return Onset { row: end, earliest: end, latest: end };
    }
    let rows = end..after.rows.end.min(end + REACH);
    let latest = end + straying(deviation(after), regression.residuals(&after.fit, rows).iter());
    Onset { row: end, earliest: end, latest: latest.min(after.rows.end - 1) }
}

/// How many of the first residuals reach to the last one that strays, calm ones between them included.
fn straying<'a>(deviation: f64, residuals: impl Iterator<Item = &'a f64>) -> usize {
    let (mut reach, mut calm) = (0, 0);
    for (at, residual) in residuals.enumerate() {
        if residual.abs() > STRAY * deviation {
            (reach, calm) = (at + 1, 0);
        } else {
            calm += 1;
        }
        if calm == CALM {
            break;
        }
    }
    reach
}

/// Standard deviation of the residuals of a piece, from their mean size as of normal ones, in percent points.
fn deviation(piece: &Piece) -> f64 {
    let used = 1 + piece.fit.percent_each.iter().filter(|each| **each > 0.0).count();
    let free = piece.rows.len().saturating_sub(used).max(1);
    (PI / 2.0).sqrt() * piece.fit.absolute / (piece.rows.len() as f64 * free as f64).sqrt()
}
