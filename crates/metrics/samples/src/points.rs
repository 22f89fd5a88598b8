//! One series: its names and its points.

use laggard_model::{Loss, Losses, Measure, SampleRecord, Timestamp};
use std::fmt;

/// One sample of a series.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Point {
    /// Nanoseconds since the Unix epoch.
    pub(crate) ns: i64,
    /// In the measure's unit.
    pub(crate) value: f64,
}

/// One measure of one server, type and callee.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Series {
    pub(crate) measure: Measure,
    pub(crate) server: Box<str>,
    pub(crate) tier: Box<str>,
    pub(crate) transaction: Box<str>,
    pub(crate) callee: Box<str>,
    /// In the order of arrival; after [`Series::tidy`] sorted by time.
    pub(crate) points: Vec<Point>,
    /// The names as bytes.
    pub(crate) key: Box<[u8]>,
    /// Points when it was last tidied.
    pub(crate) tidied: usize,
    /// The series whose sample came after this one's last time.
    pub(crate) follower: u32,
}

impl Series {
    pub(crate) fn new(record: &SampleRecord<'_>, key: &[u8]) -> Series {
        Series {
            measure: record.measure,
            server: record.server.into(),
            tier: record.tier.into(),
            transaction: record.transaction.into(),
            callee: record.callee.into(),
            points: Vec::new(),
            key: key.into(),
            tidied: 0,
            follower: u32::MAX,
        }
    }

    /// A record with the names of this series.
    pub(crate) fn record(&self) -> SampleRecord<'_> {
        SampleRecord {
            time: Timestamp::from_unix_ns(0),
            measure: self.measure,
            server: &self.server,
            tier: &self.tier,
            transaction: &self.transaction,
            callee: &self.callee,
            value: 0.0,
        }
    }

    /// Sorts points, retains the first of several at one instant, and drops invalid values. If the measure covers an
    /// interval, an invalid value becomes NaN, because the interval is then unknown.
    pub(crate) fn tidy(&mut self, losses: &mut Losses) {
        if self.tidied == self.points.len() {
            return;
        }
        if !self.points.is_sorted_by_key(|point| point.ns) {
            // Stable, so that the first of one instant is the first that was read.
            self.points.sort_by_key(|point| point.ns);
        }
        if self.measure != Measure::Completion {
            let all = self.points.len();
            self.points.dedup_by_key(|point| point.ns);
            let doubled = (all - self.points.len()) as u64;
            losses.add_many(Loss::DuplicateSample, doubled, || self.to_string());
        }
        let invalid = self.points.iter_mut().fold(0, |count, point| {
            let possible = point.value >= 0.0 && point.value.is_finite();
            let natural = point.value.is_nan() && nan_means_none(self.measure);
            if !possible {
                point.value = f64::NAN;
            }
            count + u64::from(!possible && !natural)
        });
        losses.add_many(Loss::InvalidSample, invalid, || self.to_string());
        if !covers_an_interval(self.measure) && self.measure != Measure::Completion {
            self.points.retain(|point| !point.value.is_nan());
        }
        self.tidied = self.points.len();
    }

    /// Median distance of successive points in ns, of at most [`SPACING_SAMPLE`] of them; `None` below two.
    pub(crate) fn spacing(&self) -> Option<i64> {
        self.spacing_quantile(0.5)
    }

    /// A quantile (0..1) of the distances of successive points.
    pub(crate) fn spacing_quantile(&self, share: f64) -> Option<i64> {
        let step = self.points.len().div_ceil(SPACING_SAMPLE).max(1);
        let pairs = self.points.windows(2).step_by(step);
        let mut gaps: Vec<i64> = pairs.map(|pair| pair[1].ns.saturating_sub(pair[0].ns)).collect();
        if gaps.is_empty() {
            return None;
        }
        let index = ((gaps.len() - 1) as f64 * share) as usize;
        Some(*gaps.select_nth_unstable(index).1).filter(|&gap| gap > 0)
    }
}

/// Maximum number of points examined to determine the spacing of a series.
pub(crate) const SPACING_SAMPLE: usize = 4096;

/// Whether NaN means that nothing completed rather than a failure.
const fn nan_means_none(measure: Measure) -> bool {
    matches!(measure, Measure::ResponseTime | Measure::CallTime | Measure::Completion)
}

/// Whether a value covers the time from its instant to that of the next.
pub(crate) const fn covers_an_interval(measure: Measure) -> bool {
    use Measure::{CallSeconds, Calls, ResponseSeconds, TransactionRate, Transactions, Utilization};
    matches!(measure, Transactions | TransactionRate | ResponseSeconds | Calls | CallSeconds | Utilization)
}

impl fmt::Display for Series {
    /// `Transactions of Home at web-1`: for examples of losses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.measure)?;
        for (word, name) in
            [("of", &self.transaction), ("to", &self.callee), ("at", &self.server), ("in tier", &self.tier)]
        {
            if !name.is_empty() {
                write!(f, " {word} {name}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(measure: Measure, points: &[(i64, f64)]) -> Series {
        let record = SampleRecord {
            time: Timestamp::from_unix_ns(0),
            measure,
            server: "web-1",
            tier: "",
            transaction: "Home",
            callee: "",
            value: 0.0,
        };
        let points = points.iter().map(|&(ns, value)| Point { ns, value }).collect();
        Series { points, ..Series::new(&record, &[]) }
    }

    #[test]
    fn the_first_point_of_an_instant_is_used_and_invalid_values_removed() {
        let mut losses = Losses::none();
        let points = [(5, 1.0), (3, 2.0), (5, 9.0), (4, f64::NAN), (6, -1.0), (7, f64::INFINITY)];
        let mut counter = series(Measure::TransactionsTotal, &points);
        counter.tidy(&mut losses);
        let remaining: Vec<(i64, f64)> = counter.points.iter().map(|point| (point.ns, point.value)).collect();
        assert_eq!(remaining, [(3, 2.0), (5, 1.0)]);
        assert_eq!((losses.count(Loss::DuplicateSample), losses.count(Loss::InvalidSample)), (1, 3));
        let mut counts = series(Measure::Transactions, &points);
        counts.tidy(&mut losses);
        assert_eq!(counts.points.len(), 5, "what cannot be stays as unknown");
        assert_eq!(counts.to_string(), "Transactions of Home at web-1");
    }

    #[test]
    fn completions_at_one_instant_are_separate_transactions() {
        let mut losses = Losses::none();
        let mut log = series(Measure::Completion, &[(5, 1.0), (5, 1.0), (4, f64::NAN)]);
        log.tidy(&mut losses);
        assert_eq!(log.points.len(), 3);
        assert!(losses.is_empty());
    }

    #[test]
    fn spacing_is_the_median_distance() {
        assert_eq!(
            series(Measure::Clients, &[(0, 1.0), (10, 1.0), (20, 1.0), (90, 1.0)]).spacing(),
            Some(10)
        );
        assert_eq!(series(Measure::Clients, &[(0, 1.0)]).spacing(), None);
    }
}
