//! The bulk of a site's times.

use laggard_numeric::{mad, median_of, spread_evenly};

/// The range of the bulk of some logarithms. Those beyond it count as its ends: a miss of a cache or a pause of the process
/// says little about a slowdown of all calls, but would be most of the noise.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Bulk {
    middle: f64,
    /// Half of the range's width.
    pub(crate) reach: f64,
}

/// Standard deviations (by MAD) on each side of the median.
const DEVIATIONS: f64 = 2.0;
/// Least reach: calls of one operation vary at least as much once something is wrong.
const REACH_MIN: f64 = 0.3;
/// Most logarithms of which median and MAD are taken.
const SAMPLE_MAX: usize = 2_000;

impl Bulk {
    /// Everything.
    pub(crate) const ALL: Bulk = Bulk { middle: 0.0, reach: f64::INFINITY };

    /// The bulk of `count` logarithms, by a sample of them.
    pub(crate) fn of(count: usize, log: impl FnMut(usize) -> f64) -> Bulk {
        let logs: Vec<f64> = spread_evenly(count, SAMPLE_MAX).map(log).collect();
        if logs.is_empty() {
            return Bulk::ALL;
        }
        let middle = median_of(&logs);
        Bulk { middle, reach: (DEVIATIONS * mad(&logs, middle)).max(REACH_MIN) }
    }

    /// The logarithm, or the end of the bulk that it is beyond.
    pub(crate) fn clip(self, log: f64) -> f64 {
        log.clamp(self.middle - self.reach, self.middle + self.reach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_mode_is_clipped_to_the_end_of_the_first() {
        // Nine of ten within ±0.2, one of ten at 3.
        let log = |index: usize| if index.is_multiple_of(10) { 3.0 } else { (index % 5) as f64 * 0.1 - 0.2 };
        let bulk = Bulk::of(1_000, log);
        assert!(bulk.reach < 0.5, "{bulk:?}");
        assert!(bulk.clip(3.0) < 0.6);
        assert_eq!(bulk.clip(0.1), 0.1);
        assert_eq!(Bulk::of(0, log), Bulk::ALL);
        assert_eq!(Bulk::ALL.clip(-40.0), -40.0);
    }
}
