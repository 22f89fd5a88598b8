//! Laggard's own pattern finder, with its default settings.

use super::RequestMatrix;
use crate::arm::Arm;
use laggard_localize::{PatternSettings, RequestTable, latency_patterns};

/// The rows of every pattern are one group.
pub(super) struct LatencyPatterns;

impl Arm<RequestMatrix, Vec<Vec<usize>>> for LatencyPatterns {
    fn name(&self) -> &str {
        "latency patterns"
    }

    fn is_laggard(&self) -> bool {
        true
    }

    fn answer(&self, matrix: &RequestMatrix) -> Result<Vec<Vec<usize>>, String> {
        let columns: Vec<&[f64]> = matrix.times_ms.iter().map(Vec::as_slice).collect();
        let table = RequestTable { columns: &columns, latencies: &matrix.latency_ms, weights: None };
        let found =
            latency_patterns(&table, &PatternSettings::default()).map_err(|error| error.to_string())?;
        Ok(found.patterns.into_iter().map(|pattern| pattern.rows).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fifth_request_waits_for_one_call() {
        let call: Vec<f64> =
            (0..500).map(|row| if row % 5 == 0 { 50.0 } else { 10.0 } + f64::from(row % 4)).collect();
        let latency_ms = call.iter().enumerate().map(|(row, time)| 30.0 + (row % 7) as f64 + time).collect();
        let matrix = RequestMatrix { latency_ms, times_ms: vec![call], ..RequestMatrix::default() };
        let every_fifth: Vec<usize> = (0..500).step_by(5).collect();
        assert_eq!(LatencyPatterns.answer(&matrix), Ok(vec![every_fifth]));
    }

    #[test]
    fn an_invalid_matrix_is_rejected() {
        let matrix =
            RequestMatrix { latency_ms: vec![1.0], times_ms: vec![vec![]], ..RequestMatrix::default() };
        assert!(LatencyPatterns.answer(&matrix).is_err());
    }
}
