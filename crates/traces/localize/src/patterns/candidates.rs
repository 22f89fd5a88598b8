//! Prepares requests for the search: how slow each is, and its mode in every column.

use super::kinds::{AlignedColumn, align, is_time, labels};
use super::row_set::RowSet;
use super::settings::PatternSettings;
use super::table::RequestTable;
use laggard_numeric::{mad, mean, median_of};

// Limit: modes that may be conditions of a latency pattern | those that explain most are kept
/// Most candidate conditions; those that explain most are retained.
pub(super) const CANDIDATES_MAX: usize = 1024;

/// Slowness is stored in thousandths, as integers, so that sums do not depend on the order of rows.
const SLOWNESS_UNIT: f64 = 1000.0;

/// Slowness is clamped to this range: one request of an hour must not outweigh a thousand of a second.
const SLOWNESS_RANGE: (f64, f64) = (-5.0, 10.0);

/// Requests by their position among those with a latency.
pub(super) struct Requests {
    /// Row of the table of each request.
    pub(super) table_rows: Vec<usize>,
    pub(super) latencies: Vec<f64>,
    /// Logarithm of the latency in median absolute deviations from the median, in thousandths.
    pub(super) slowness: Vec<i64>,
    /// Requests by ascending latency.
    pub(super) by_latency: Vec<u32>,
    /// Columns with more than one mode.
    pub(super) columns: Vec<ColumnModes>,
    pub(super) candidates: Vec<Candidate>,
}

/// A column with more than one mode.
pub(super) struct ColumnModes {
    /// Mode of each request; [`ColumnModes::modes`] where there is no time.
    pub(super) labels: Vec<u8>,
    pub(super) modes: usize,
}

/// One mode of one column, as a condition.
pub(super) struct Candidate {
    /// Column of the table.
    pub(super) column: usize,
    /// Smallest time of the mode.
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) rows: RowSet,
    pub(super) count: usize,
}

impl Requests {
    /// `None` when all latencies are equal, or there are fewer than two patterns' worth of requests.
    pub(super) fn prepare(table: &RequestTable<'_>, settings: &PatternSettings) -> Option<Requests> {
        let table_rows: Vec<usize> =
            (0..table.latencies.len()).filter(|&row| is_time(table.latencies[row])).collect();
        if table_rows.len() < 2 * settings.rows_min {
            return None;
        }
        let pick = |values: &[f64]| table_rows.iter().map(|&row| values[row]).collect::<Vec<f64>>();
        let mut latencies = pick(table.latencies);
        let mut columns: Vec<AlignedColumn> =
            table.columns.iter().map(|times| AlignedColumn::new(pick(times), settings)).collect();
        align(&mut columns, &mut latencies, settings);
        let slowness = slowness(&latencies)?;
        let mut by_latency: Vec<u32> = (0..latencies.len() as u32).collect();
        by_latency.sort_by(|&a, &b| latencies[a as usize].total_cmp(&latencies[b as usize]));
        let mut requests = Requests {
            table_rows,
            latencies,
            slowness,
            by_latency,
            columns: Vec::new(),
            candidates: Vec::new(),
        };
        for (index, column) in columns.into_iter().enumerate() {
            requests.add_column(index, column, settings);
        }
        requests.limit_candidates();
        Some(requests)
    }

    pub(super) fn len(&self) -> usize {
        self.table_rows.len()
    }

    fn add_column(&mut self, index: usize, column: AlignedColumn, settings: &PatternSettings) {
        if column.modes == 1 {
            return;
        }
        let (aligned, modes) = labels(&column.aligned, settings);
        for mode in 0..modes {
            let rows = RowSet::of(self.len(), |row| usize::from(aligned[row]) == mode);
            let count = rows.len();
            if count < settings.rows_min || count as f64 > settings.share_max * self.len() as f64 {
                continue;
            }
            let times = rows.iter().map(|row| column.times[row]);
            let (low, high) =
                times.fold((f64::INFINITY, 0.0_f64), |(low, high), time| (low.min(time), high.max(time)));
            self.candidates.push(Candidate { column: index, low, high, rows, count });
        }
        self.columns.push(ColumnModes { labels: column.labels, modes: column.modes });
    }

    fn limit_candidates(&mut self) {
        if self.candidates.len() <= CANDIDATES_MAX {
            return;
        }
        let all = RowSet::of(self.len(), |_| true);
        let mut ranked: Vec<(f64, usize)> = self
            .candidates
            .iter()
            .enumerate()
            .map(|(index, candidate)| (self.explained(&candidate.rows, &all), index))
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut is_retained = vec![false; ranked.len()];
        for &(_, index) in &ranked[..CANDIDATES_MAX] {
            is_retained[index] = true;
        }
        let mut index = 0;
        self.candidates.retain(|_| {
            index += 1;
            is_retained[index - 1]
        });
    }

    /// Sum of squares of slowness that is explained by dividing `among` into `rows` and the others; 0 when `rows` (a
    /// subset of `among`) are not the slower part.
    ///
    /// `a b / (a + b) (mean_a - mean_b)^2`, the criterion of Otsu (1979) and of regression trees.
    pub(super) fn explained(&self, rows: &RowSet, among: &RowSet) -> f64 {
        let inside = self.total(rows);
        let all = self.total(among);
        let outside = Total { count: all.count - inside.count, slowness: all.slowness - inside.slowness };
        let difference = inside.mean() - outside.mean();
        if inside.count == 0 || outside.count == 0 || difference <= 0.0 {
            return 0.0;
        }
        let (a, b) = (inside.count as f64, outside.count as f64);
        a * b / (a + b) * difference * difference
    }

    /// Number and summed slowness of some rows.
    pub(super) fn total(&self, rows: &RowSet) -> Total {
        rows.iter().fold(Total::default(), |sum, row| Total {
            count: sum.count + 1,
            slowness: sum.slowness + self.slowness[row],
        })
    }

    /// Probability that a request of `rows` is slower than one of `others`, ties counting one half; one half when
    /// either is empty. Mann and Whitney's `U / (a b)`.
    pub(super) fn separation(&self, rows: &RowSet, others: &RowSet) -> f64 {
        let (mut doubled, mut below) = (0_u128, 0_u128);
        let same = |a: &u32, b: &u32| self.latencies[*a as usize] == self.latencies[*b as usize];
        for tied in self.by_latency.chunk_by(same) {
            let inside = tied.iter().filter(|&&row| rows.contains(row as usize)).count() as u128;
            let outside = tied.iter().filter(|&&row| others.contains(row as usize)).count() as u128;
            doubled += inside * (2 * below + outside);
            below += outside;
        }
        let pairs = rows.len() as f64 * others.len() as f64;
        if pairs == 0.0 { 0.5 } else { doubled as f64 / (2.0 * pairs) }
    }
}

/// Sums over some rows.
#[derive(Clone, Copy, Default)]
pub(super) struct Total {
    pub(super) count: usize,
    pub(super) slowness: i64,
}

impl Total {
    pub(super) fn mean(self) -> f64 {
        if self.count == 0 { 0.0 } else { self.slowness as f64 / self.count as f64 }
    }
}

/// `None` when all latencies are equal.
fn slowness(latencies: &[f64]) -> Option<Vec<i64>> {
    /// Mean absolute deviation to standard deviation of a normal sample: `sqrt(pi / 2)`.
    const MEAN_DEVIATION_TO_STANDARD: f64 = 1.2533;
    let logs: Vec<f64> = latencies.iter().map(|latency| latency.ln()).collect();
    let center = median_of(&logs);
    let mut spread = mad(&logs, center);
    if spread == 0.0 {
        // More than half of the latencies are equal.
        let deviations: Vec<f64> = logs.iter().map(|log| (log - center).abs()).collect();
        spread = MEAN_DEVIATION_TO_STANDARD * mean(&deviations);
    }
    if spread == 0.0 {
        return None;
    }
    let (least, most) = SLOWNESS_RANGE;
    Some(
        logs.iter()
            .map(|log| (((log - center) / spread).clamp(least, most) * SLOWNESS_UNIT).round() as i64)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latencies 1 to 8 with nothing known of operations.
    fn eight() -> Requests {
        let latencies: Vec<f64> = (1..=8).map(f64::from).collect();
        let table = RequestTable { columns: &[], latencies: &latencies, weights: None };
        Requests::prepare(&table, &PatternSettings { rows_min: 2, ..PatternSettings::default() }).unwrap()
    }

    #[test]
    fn separation_by_hand() {
        let requests = eight();
        let (low, high) = (RowSet::of(8, |row| row < 4), RowSet::of(8, |row| row >= 4));
        assert_eq!((requests.separation(&high, &low), requests.separation(&low, &high)), (1.0, 0.0));
        // 4 and 8 against 1, 2, 3, 5, 6, 7: 3 + 6 of 12 pairs.
        let some = RowSet::of(8, |row| row == 3 || row == 7);
        assert_eq!(requests.separation(&some, &RowSet::of(8, |_| true).without(&some)), 0.75);
        assert_eq!(requests.separation(&some, &RowSet::none(8)), 0.5);
    }

    #[test]
    fn explained_by_hand() {
        let mut requests = eight();
        requests.slowness = vec![0, 0, 0, 0, 0, 0, 3, 5];
        let all = RowSet::of(8, |_| true);
        // Means 4 and 0 of 2 and 6: 12 / 8 * 16. The other way round they are not slower.
        let slow = RowSet::of(8, |row| row >= 6);
        assert_eq!(requests.explained(&slow, &all), 24.0);
        assert_eq!(requests.explained(&all.without(&slow), &all), 0.0);
        assert_eq!(requests.explained(&RowSet::none(8), &all), 0.0);
    }

    #[test]
    fn equal_latencies_have_no_slowness() {
        assert_eq!(slowness(&[3.0; 9]), None);
        let mostly_equal = slowness(&[3.0, 3.0, 3.0, 3.0, 3.0 * 1.1]).unwrap();
        assert!(mostly_equal[..4] == [0; 4] && mostly_equal[4] > 1000);
    }
}
