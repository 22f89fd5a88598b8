//! Changes of the mean by PELT (Killick, Fearnhead, Eckley, *Optimal detection of changepoints with a linear
//! computational cost*, JASA 107, 2012).

use super::series::{Series, noise_deviation};
use super::{ChangeAnswer, ReportedAlarm};
use crate::arm::Arm;
use laggard_changes::Observations;

/// Penalty of a change in squared deviations: three times the logarithm of the number of windows, between BIC and
/// the modified BIC.
const PENALTY_LOG: f64 = 3.0;
/// Segments are not shorter than this.
const SEGMENT_MIN: usize = 10;

/// PELT with a Gaussian cost on one series; every change of its mean is an alarm.
pub(super) struct MeanChanges {
    series: Series,
    name: String,
}

impl MeanChanges {
    pub(super) fn new(series: Series) -> MeanChanges {
        MeanChanges { series, name: format!("PELT on {}", series.title()) }
    }
}

impl Arm<Observations, ChangeAnswer> for MeanChanges {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer(&self, observations: &Observations) -> Result<ChangeAnswer, String> {
        let values = self.series.values(observations);
        let noise = noise_deviation(&values);
        let penalty = PENALTY_LOG * (values.len().max(2) as f64).ln() * noise * noise;
        let cuts = pelt(&values, penalty, SEGMENT_MIN);
        let alarm =
            |row: usize| ReportedAlarm { window: observations.windows[row], ..ReportedAlarm::default() };
        Ok(ChangeAnswer { alarms: cuts.into_iter().map(alarm).collect(), regions: Vec::new() })
    }
}

/// First rows of all segments but the first, for the least sum of squares around the segments' means plus `penalty`
/// a segment, of segments of at least `segment_min` rows.
pub fn pelt(values: &[f64], penalty: f64, segment_min: usize) -> Vec<usize> {
    let segment_min = segment_min.max(1);
    let (sums, squares) = (prefix(values, |value| value), prefix(values, |value| value * value));
    let cost = |from: usize, to: usize| {
        let (sum, count) = (sums[to] - sums[from], (to - from) as f64);
        (squares[to] - squares[from] - sum * sum / count).max(0.0)
    };
    let mut best = vec![f64::INFINITY; values.len() + 1];
    let mut from = vec![0; values.len() + 1];
    best[0] = -penalty;
    let mut candidates = Vec::new();
    for to in segment_min..=values.len() {
        let newest = to - segment_min;
        if best[newest].is_finite() {
            candidates.push(newest);
        }
        let costs: Vec<f64> =
            candidates.iter().map(|&start| best[start] + cost(start, to) + penalty).collect();
        for (&start, &total) in candidates.iter().zip(&costs) {
            if total < best[to] {
                (best[to], from[to]) = (total, start);
            }
        }
        let mut costs = costs.iter();
        candidates.retain(|_| costs.next().is_some_and(|total| total - penalty <= best[to]));
    }
    let mut cuts = Vec::new();
    let mut index = from[values.len()];
    while index > 0 {
        cuts.push(index);
        index = from[index];
    }
    cuts.reverse();
    cuts
}

fn prefix(values: &[f64], value_of: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut sums = vec![0.0; values.len() + 1];
    for (index, &value) in values.iter().enumerate() {
        sums[index + 1] = sums[index] + value_of(value);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All segmentations, without pruning.
    fn exhaustive(values: &[f64], penalty: f64, segment_min: usize) -> f64 {
        let cost = |part: &[f64]| {
            let mean = part.iter().sum::<f64>() / part.len() as f64;
            part.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
        };
        let mut best = vec![f64::INFINITY; values.len() + 1];
        best[0] = -penalty;
        for to in 1..=values.len() {
            for from in 0..to.saturating_sub(segment_min - 1) {
                best[to] = best[to].min(best[from] + cost(&values[from..to]) + penalty);
            }
        }
        best[values.len()]
    }

    fn total(values: &[f64], cuts: &[usize], penalty: f64) -> f64 {
        let ends = cuts.iter().copied().chain([values.len()]);
        let mut start = 0;
        ends.map(|end| {
            let part = &values[std::mem::replace(&mut start, end)..end];
            let mean = part.iter().sum::<f64>() / part.len() as f64;
            part.iter().map(|value| (value - mean).powi(2)).sum::<f64>() + penalty
        })
        .sum::<f64>()
            - penalty
    }

    #[test]
    fn steps_are_found_and_pruning_loses_nothing() {
        let level = |index: usize| [0.0, 3.0, 1.0][index / 20];
        let wobble = |index: usize| ((index * 37 % 11) as f64 - 5.0) / 10.0;
        let values: Vec<f64> = (0..60).map(|index| level(index) + wobble(index)).collect();
        assert_eq!(pelt(&values, 3.0, 5), [20, 40]);
        assert_eq!(pelt(&values, 1e9, 5), [0; 0]);
        for penalty in [0.01, 0.1, 1.0, 10.0] {
            let least = total(&values, &pelt(&values, penalty, 3), penalty);
            assert!((least - exhaustive(&values, penalty, 3)).abs() < 1e-9, "penalty {penalty}");
        }
        assert!(pelt(&[], 1.0, 5).is_empty() && pelt(&[1.0, 2.0], 1.0, 5).is_empty());
    }
}
