//! When a change happened: the profile of the cost of two models over the row at which one takes over from the other.

use std::ops::Range;

use crate::Onset;

/// `−2 ln(1 − √0.95)`: twice the log likelihood that a true change point is below its maximum at most, at 95 % (Yao
/// 1987: the largest of two random walks with drift, in the limit of small steps; larger steps need less).
pub const PROFILE_DROP_95: f64 = 7.353;
/// One window says at most so much in favor of either model: a wild one must not decide.
const EVIDENCE_MAX: f64 = 25.0;

/// The most likely first row after a change within `rows`, and every row that is not much less likely.
///
/// `evidence[k]` is what row `rows.start + k` says for the model after the change over the one before: the difference
/// of their squared residuals, each over its noise variance, so twice a log likelihood ratio. `overdispersion` ≥ 1 divides
/// it where residuals vary more than their noise. At least one row stays on either side.
///
/// # Panics
/// If there is not one number a row, or there are fewer than two rows.
pub fn onset(evidence: &[f64], rows: Range<usize>, overdispersion: f64) -> Onset {
    assert_eq!(evidence.len(), rows.len(), "a number for every row");
    assert!(rows.len() >= 2, "a row on either side of the change");
    let divisor = overdispersion.max(1.0);
    // Cost of a change at row k, but for a constant: rows before it are charged what they say for the model after.
    let mut cost = 0.0;
    let costs: Vec<f64> = evidence[..evidence.len() - 1]
        .iter()
        .map(|said| {
            cost += (said / divisor).clamp(-EVIDENCE_MAX, EVIDENCE_MAX);
            cost
        })
        .collect();
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let at = |position: usize| rows.start + 1 + position;
    let is_likely = |cost: &f64| *cost <= least + PROFILE_DROP_95;
    let best = costs.iter().position(|cost| *cost <= least).expect("the least is one of them");
    let earliest = costs.iter().position(is_likely).expect("the best is likely");
    let latest = costs.iter().rposition(is_likely).expect("the best is likely");
    Onset { row: at(best), earliest: at(earliest), latest: at(latest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clear_windows_leave_no_doubt_and_unclear_ones_do() {
        let clear = [-20.0, -20.0, -20.0, 20.0, 20.0];
        assert_eq!(onset(&clear, 10..15, 1.0), Onset { row: 13, earliest: 13, latest: 13 });
        // Rows 12 and 13 say less than 7.35 together.
        let unclear = [-20.0, -20.0, -3.0, 4.0, 20.0];
        assert_eq!(onset(&unclear, 10..15, 1.0), Onset { row: 13, earliest: 12, latest: 14 });
        // Divided by 10 each says 2: every row costs at most 4 more than the best.
        assert_eq!(onset(&clear, 10..15, 10.0), Onset { row: 13, earliest: 11, latest: 14 });
    }
}
