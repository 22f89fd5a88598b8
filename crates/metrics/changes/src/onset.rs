//! The time of a change: the profile likelihood of the row at which one model replaces another.

use std::ops::Range;

use crate::Onset;

/// `−2 ln(1 − √0.95)`: at 95 % confidence, twice the log likelihood at the true change point is at most this much below the
/// maximum (Yao 1987: the maximum of two random walks with drift, in the limit of small steps; larger steps need less).
pub const PROFILE_DROP_95: f64 = 7.353;
/// Maximum evidence of one window in favor of either model, so that a single outlier does not decide.
const EVIDENCE_MAX: f64 = 25.0;

/// The most likely first row after a change within `rows`, and the range of rows that are not much less likely.
///
/// `evidence[k]` is the evidence of row `rows.start + k` for the model after the change against the one before: the
/// difference of their squared residuals, each over its noise variance, which is twice a log likelihood ratio. It is divided
/// by `overdispersion` ≥ 1 if residuals vary more than their noise. At least one row remains on either side.
///
/// # Panics
/// If the lengths of `evidence` and `rows` differ, or there are fewer than two rows.
pub fn onset(evidence: &[f64], rows: Range<usize>, overdispersion: f64) -> Onset {
    assert_eq!(evidence.len(), rows.len(), "a number for every row");
    assert!(rows.len() >= 2, "a row on either side of the change");
    let divisor = overdispersion.max(1.0);
    // Cost of a change at row k, up to a constant: the evidence of the rows before it for the model after.
    let mut cost = 0.0;
    let costs: Vec<f64> = evidence[..evidence.len() - 1]
        .iter()
        .map(|evidence| {
            cost += (evidence / divisor).clamp(-EVIDENCE_MAX, EVIDENCE_MAX);
            cost
        })
        .collect();
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let row = |position: usize| rows.start + 1 + position;
    let is_likely = |cost: &f64| *cost <= least + PROFILE_DROP_95;
    let best = costs.iter().position(|cost| *cost <= least).expect("the least is one of them");
    let earliest = costs.iter().position(is_likely).expect("the best is likely");
    let latest = costs.iter().rposition(is_likely).expect("the best is likely");
    Onset { row: row(best), earliest: row(earliest), latest: row(latest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_wider_when_the_evidence_is_weaker() {
        let clear = [-20.0, -20.0, -20.0, 20.0, 20.0];
        assert_eq!(onset(&clear, 10..15, 1.0), Onset { row: 13, earliest: 13, latest: 13 });
        // The evidence of rows 12 and 13 adds up to less than 7.35.
        let unclear = [-20.0, -20.0, -3.0, 4.0, 20.0];
        assert_eq!(onset(&unclear, 10..15, 1.0), Onset { row: 13, earliest: 12, latest: 14 });
        // Divided by 10 the evidence is 2 per row: rows from 11 to 14 cost at most 4 more than the best.
        assert_eq!(onset(&clear, 10..15, 10.0), Onset { row: 13, earliest: 11, latest: 14 });
    }
}
