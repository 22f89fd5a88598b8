//! Simple methods without kinds and alignment.

use super::{ExecutionAnswer, ExecutionCase};
use crate::arm::Arm;
use laggard_align::{StateSequence, state_vectors, states_of};
use laggard_numeric::{mad, median_of};

/// Executions whose total time is an outlier among all normal ones: `log t > median + 3.5 MAD`.
pub(super) struct TotalTime;

/// Executions whose time in some state is an outlier among all normal ones: `log(1 + t) > median + 3.5 MAD`.
pub(super) struct TimeByState;

/// Iglewicz and Hoaglin, *How to detect and handle outliers*, 1993.
const DEVIATION: f64 = 3.5;

fn is_outlier(value: f64, normal: &[f64]) -> bool {
    let logs: Vec<f64> = normal.iter().map(|value| value.ln_1p()).collect();
    let median = median_of(&logs);
    value.ln_1p() > median + DEVIATION * mad(&logs, median)
}

fn answer(flagged: Vec<usize>) -> ExecutionAnswer {
    ExecutionAnswer { is_alarm: !flagged.is_empty(), flagged, ..ExecutionAnswer::default() }
}

impl Arm<ExecutionCase, ExecutionAnswer> for TotalTime {
    fn name(&self) -> &str {
        "total time"
    }

    fn answer(&self, case: &ExecutionCase) -> Result<ExecutionAnswer, String> {
        let normal: Vec<f64> = case.normal.iter().map(StateSequence::total_us).collect();
        let is_flagged = |&index: &usize| is_outlier(case.sample[index].total_us(), &normal);
        Ok(answer((0..case.sample.len()).filter(is_flagged).collect()))
    }
}

impl Arm<ExecutionCase, ExecutionAnswer> for TimeByState {
    fn name(&self) -> &str {
        "time by state"
    }

    fn answer(&self, case: &ExecutionCase) -> Result<ExecutionAnswer, String> {
        let sets = [&case.normal, &case.sample].map(|set| set.iter().collect::<Vec<&StateSequence>>());
        let states = states_of(&sets[0], &sets[1], case.alphabet_len);
        let [normal, sample] = sets.map(|set| state_vectors(&set, &states).times_us);
        let columns: Vec<Vec<f64>> = (0..states.len()).map(|index| normal.column(index).collect()).collect();
        let is_flagged = |&index: &usize| {
            columns.iter().enumerate().any(|(column, values)| is_outlier(sample.get(index, column), values))
        };
        Ok(answer((0..case.sample.len()).filter(is_flagged).collect()))
    }
}
