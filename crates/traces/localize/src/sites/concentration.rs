//! Whether slow requests are concentrated in a part of the window, or spread over all of it as they usually are.

use laggard_numeric::{mean, sample_std};

/// The window is cut into this many parts with equally many requests.
const PARTS: usize = 16;
/// Minimum length of a run of parts and of the rest.
const RUN_MIN: usize = 2;
const REST_MIN: usize = 4;
/// Standard errors between the rates inside and outside the run. There are about a hundred runs, and slow requests come in
/// bursts.
const ERRORS_MIN: f64 = 6.0;
/// Rate inside the run over the rate outside.
const RATE_MIN: f64 = 3.0;

/// Whether slow requests are much more frequent in one run of the window than in the rest of it. `slow` says of every
/// request, in order of start, whether it is slow.
pub fn is_concentrated(slow: &[bool]) -> bool {
    if slow.len() < PARTS {
        return false;
    }
    let counts: Vec<f64> = (0..PARTS)
        .map(|part| part * slow.len() / PARTS..(part + 1) * slow.len() / PARTS)
        .map(|range| slow[range].iter().filter(|slow| **slow).count() as f64)
        .collect();
    let runs = (0..PARTS).flat_map(|first| (first + RUN_MIN..=PARTS).map(move |end| first..end));
    runs.filter(|run| PARTS - run.len() >= REST_MIN).any(|run| {
        let inside = &counts[run.clone()];
        let outside: Vec<f64> = [&counts[..run.start], &counts[run.end..]].concat();
        let (high, low) = (mean(inside), mean(&outside));
        // Counts vary at least as much as independent requests would.
        let variance =
            |values: &[f64], mean: f64| sample_std(values).powi(2).max(mean).max(1.0) / values.len() as f64;
        high >= RATE_MIN * low
            && high - low >= ERRORS_MIN * (variance(inside, high) + variance(&outside, low)).sqrt()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every twentieth request of all, or of those in a range.
    fn every_twentieth(range: std::ops::Range<usize>) -> Vec<bool> {
        (0..4_000).map(|request| request % 20 == 0 && range.contains(&request)).collect()
    }

    #[test]
    fn slow_requests_throughout_the_window_are_not_concentrated() {
        assert!(!is_concentrated(&every_twentieth(0..4_000)));
        assert!(!is_concentrated(&[]));
        assert!(!is_concentrated(&[true; 15]));
        assert!(!is_concentrated(&[true; 4_000]));
    }

    #[test]
    fn slow_requests_that_begin_in_the_window_are_concentrated() {
        assert!(is_concentrated(&every_twentieth(2_000..4_000)));
        assert!(is_concentrated(&every_twentieth(1_000..2_000)));
    }
}
