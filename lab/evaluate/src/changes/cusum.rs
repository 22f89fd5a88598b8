//! Cumulative sums (Page, *Continuous inspection schemes*, Biometrika 41, 1954).

use super::series::{Level, Series};
use super::{ChangeAnswer, ReportedAlarm};
use crate::arm::Arm;
use laggard_changes::Observations;

/// Windows from which level and noise are learned, at the start and after every alarm.
const LEARNED: usize = 60;
/// Slack and limit in standard deviations: the textbook's values for a shift of one.
const SLACK: f64 = 0.5;
const LIMIT: f64 = 5.0;

/// Two-sided cumulative sums on one series, restarted after an alarm.
pub(super) struct Cusum {
    series: Series,
    name: String,
}

impl Cusum {
    pub(super) fn new(series: Series) -> Cusum {
        Cusum { series, name: format!("CUSUM of {}", series.title()) }
    }
}

impl Arm<Observations, ChangeAnswer> for Cusum {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer(&self, observations: &Observations) -> Result<ChangeAnswer, String> {
        let rows = alarms(&self.series.values(observations));
        let alarm =
            |row: usize| ReportedAlarm { window: observations.windows[row], ..ReportedAlarm::default() };
        Ok(ChangeAnswer { alarms: rows.into_iter().map(alarm).collect(), regions: Vec::new() })
    }
}

/// Where the sums that crossed the limit began to grow.
fn alarms(values: &[f64]) -> Vec<usize> {
    let mut alarms = Vec::new();
    let mut start = 0;
    while start + LEARNED < values.len() {
        let level = Level::from_values(&values[start..start + LEARNED]);
        let Some(onset) = first_alarm(&values[start + LEARNED..], level) else { break };
        alarms.push(start + LEARNED + onset);
        start += LEARNED + onset;
    }
    alarms
}

fn first_alarm(values: &[f64], level: Level) -> Option<usize> {
    let (mut up, mut down) = (0.0_f64, 0.0_f64);
    let (mut up_since, mut down_since) = (0, 0);
    for (index, value) in values.iter().enumerate() {
        let z = (value - level.mean) / level.deviation;
        up = (up + z - SLACK).max(0.0);
        down = (down - z - SLACK).max(0.0);
        if up > LIMIT {
            return Some(up_since);
        }
        if down > LIMIT {
            return Some(down_since);
        }
        up_since = if up == 0.0 { index + 1 } else { up_since };
        down_since = if down == 0.0 { index + 1 } else { down_since };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_detected_at_its_position_and_nothing_else_is() {
        // Alternating ±1 has deviation 1; the step is 5.
        let values: Vec<f64> = (0..200)
            .map(|index| (if index % 2 == 0 { 1.0 } else { -1.0 }) + if index < 120 { 0.0 } else { 5.0 })
            .collect();
        assert_eq!(alarms(&values), [120]);
        assert!(alarms(&values[..120]).is_empty());
    }
}
