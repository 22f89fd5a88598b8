//! Two simple pattern finders to compare with.

use super::RequestMatrix;
use crate::arm::Arm;

/// The share of requests that counts as slow.
const SLOW_SHARE: f64 = 0.2;

/// One group: the slowest fifth of the requests. The share is known to it.
pub(super) struct SlowestFifth;

impl Arm<RequestMatrix, Vec<Vec<usize>>> for SlowestFifth {
    fn name(&self) -> &str {
        "slowest fifth"
    }

    fn detects(&self) -> bool {
        false
    }

    fn answer(&self, matrix: &RequestMatrix) -> Result<Vec<Vec<usize>>, String> {
        Ok(vec![slowest(matrix)])
    }
}

/// One group: the requests beyond a threshold of one column; that column and threshold which agree best, by F1,
/// with the slowest fifth.
pub(super) struct BestColumn;

impl Arm<RequestMatrix, Vec<Vec<usize>>> for BestColumn {
    fn name(&self) -> &str {
        "best column"
    }

    fn detects(&self) -> bool {
        false
    }

    fn answer(&self, matrix: &RequestMatrix) -> Result<Vec<Vec<usize>>, String> {
        let mut is_slow = vec![false; matrix.latency_ms.len()];
        slowest(matrix).into_iter().for_each(|row| is_slow[row] = true);
        let cuts = matrix.times_ms.iter().map(|times| best_cut(times, &is_slow));
        let best = cuts.enumerate().max_by(|(_, a), (_, b)| a.f1.total_cmp(&b.f1));
        let Some((column, cut)) = best else { return Ok(Vec::new()) };
        let times = &matrix.times_ms[column];
        Ok(vec![(0..times.len()).filter(|&row| times[row] >= cut.least).collect()])
    }
}

fn slowest(matrix: &RequestMatrix) -> Vec<usize> {
    let mut order: Vec<usize> = (0..matrix.latency_ms.len()).collect();
    order.sort_by(|&a, &b| matrix.latency_ms[b].total_cmp(&matrix.latency_ms[a]).then(a.cmp(&b)));
    order.truncate((SLOW_SHARE * order.len() as f64).round() as usize);
    order.sort_unstable();
    order
}

/// Rows with at least `least` are on one side.
struct Cut {
    least: f64,
    f1: f64,
}

fn best_cut(times: &[f64], is_slow: &[bool]) -> Cut {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by(|&a, &b| times[b].total_cmp(&times[a]));
    let slow = is_slow.iter().filter(|&&slow| slow).count();
    let mut best = Cut { least: f64::INFINITY, f1: 0.0 };
    let mut slow_so_far = 0;
    for (index, &row) in order.iter().enumerate() {
        slow_so_far += usize::from(is_slow[row]);
        let is_last_of_its_value = order.get(index + 1).is_none_or(|&next| times[next] < times[row]);
        let f1 = 2.0 * slow_so_far as f64 / (index + 1 + slow) as f64;
        if is_last_of_its_value && f1 > best.f1 {
            best = Cut { least: times[row], f1 };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_column_that_explains_the_slow_requests_is_selected() {
        let noise: Vec<f64> = (0..10).map(|row| f64::from(row * 7 % 10)).collect();
        let mut cause = vec![1.0; 10];
        (cause[3], cause[8]) = (50.0, 40.0);
        let latency_ms = noise.iter().zip(&cause).map(|(a, b)| a / 10.0 + b).collect();
        let matrix = RequestMatrix { latency_ms, times_ms: vec![noise, cause], ..RequestMatrix::default() };
        assert_eq!(SlowestFifth.answer(&matrix), Ok(vec![vec![3, 8]]));
        assert_eq!(BestColumn.answer(&matrix), Ok(vec![vec![3, 8]]));
    }

    #[test]
    fn an_empty_matrix_has_no_column() {
        assert_eq!(BestColumn.answer(&RequestMatrix::default()), Ok(vec![]));
    }
}
