//! Counts and times by window and type, of transactions or of the calls to one callee.

use crate::counters::{birth, increments};
use crate::coverage::{Coverage, WindowKnown};
use crate::grid::Grid;
use crate::groups::SeriesForm;
use crate::points::{Point, Series};
use crate::sample_intervals::{sample_intervals, shortest, usual_length};
use laggard_model::Losses;
use laggard_numeric::Matrix;
use std::collections::BTreeMap;
use std::ops::Range;

/// The windows of the table, and the columns of its types.
#[derive(Clone, Debug)]
pub(crate) struct TableFrame<'s> {
    pub(crate) grid: Grid,
    pub(crate) windows: Range<i64>,
    /// Column of each type; several when types are pooled.
    pub(crate) columns: BTreeMap<&'s str, usize>,
    /// Number of columns.
    pub(crate) types: usize,
}

impl TableFrame<'_> {
    pub(crate) fn rows(&self) -> usize {
        (self.windows.end - self.windows.start) as usize
    }
}

/// Sums by window and type.
#[derive(Clone, Debug)]
pub(crate) struct WindowSums {
    /// How many completed, `T x n`.
    pub(crate) counts: Matrix,
    /// Sum of the known times in seconds, `T x n`.
    pub(crate) seconds: Matrix,
    /// Number of transactions with known times, `T x n`.
    pub(crate) timed: Matrix,
}

/// Fills a tally and what it covers.
pub(crate) struct WindowFiller<'f, 's> {
    pub(crate) frame: &'f TableFrame<'s>,
    pub(crate) sums: WindowSums,
    pub(crate) coverage: &'f mut Coverage,
    pub(crate) losses: &'f mut Losses,
    /// Sums of one type, by window, and which of them were touched.
    count: Vec<f64>,
    time: Vec<f64>,
    timed: Vec<f64>,
    touched: Range<usize>,
}

impl<'f, 's> WindowFiller<'f, 's> {
    pub(crate) fn new(frame: &'f TableFrame<'s>, coverage: &'f mut Coverage, losses: &'f mut Losses) -> Self {
        let zeros = || Matrix::zeros(frame.rows(), frame.types);
        WindowFiller {
            frame,
            sums: WindowSums { counts: zeros(), seconds: zeros(), timed: zeros() },
            coverage,
            losses,
            count: vec![0.0; frame.rows()],
            time: vec![0.0; frame.rows()],
            timed: vec![0.0; frame.rows()],
            touched: frame.rows()..0,
        }
    }

    /// Adds the series of every type.
    pub(crate) fn fill(&mut self, types: &BTreeMap<&'s str, Vec<&'s Series>>) {
        let counts = || types.values().flatten().copied().filter(|series| form(series).is_count());
        let shortest = shortest(counts().filter(|series| form(series) == SeriesForm::Counts));
        self.coverage.is_continuous |=
            counts().any(|series| matches!(form(series), SeriesForm::Total | SeriesForm::Rate));
        // Counters that appear late start at 0 only if others were read, so all are examined first.
        for series in counts().filter(|series| form(series) == SeriesForm::Total) {
            let (coverage, length) = (&mut *self.coverage, self.frame.grid.length().ns() as i64);
            increments(
                series,
                length,
                |_| false,
                &mut Losses::none(),
                |increment| {
                    coverage.cover(increment.from, increment.to);
                },
            );
        }
        for (name, series) in types {
            let Some(&column) = self.frame.columns.get(name) else { continue };
            self.fill_type(series, shortest);
            self.flush(column);
        }
    }

    fn fill_type(&mut self, series: &[&Series], shortest: Option<i64>) {
        let has = |expected: SeriesForm| series.iter().any(|series| form(series) == expected);
        let with_form =
            |expected: SeriesForm| series.iter().copied().filter(move |series| form(series) == expected);
        // If recorded in several kinds, the first is used.
        let counted = [SeriesForm::Counts, SeriesForm::Total, SeriesForm::Rate, SeriesForm::Event]
            .into_iter()
            .find(|&form| has(form));
        for series in counted.into_iter().flat_map(with_form) {
            self.count_series(series, shortest);
        }
        let timed = [SeriesForm::Seconds, SeriesForm::SecondsTotal, SeriesForm::Mean]
            .into_iter()
            .find(|&form| has(form));
        let siblings: Vec<&Series> = counted.into_iter().flat_map(with_form).collect();
        for series in timed.into_iter().flat_map(with_form) {
            match timed {
                Some(SeriesForm::Mean) => self.time_means(series, &siblings, shortest),
                _ => self.time_sums(series, shortest),
            }
        }
        if matches!(timed, Some(SeriesForm::Seconds | SeriesForm::SecondsTotal)) {
            self.time_all_counted();
        }
    }

    fn count_series(&mut self, series: &Series, shortest: Option<i64>) {
        match form(series) {
            SeriesForm::Total => self.spread_counter(series, SumTarget::Counts),
            SeriesForm::Event => self.count_events(series),
            other => {
                let length = self.length_of(series, shortest);
                for interval in sample_intervals(&series.points, length) {
                    if interval.value.is_nan() {
                        self.coverage.mark_unknown(interval.from, interval.to);
                        continue;
                    }
                    let seconds = (interval.to - interval.from) as f64 / 1e9;
                    let mass =
                        if other == SeriesForm::Rate { interval.value * seconds } else { interval.value };
                    self.coverage.cover(interval.from, interval.to);
                    self.spread(interval.from, interval.to, mass, SumTarget::Counts);
                }
            }
        }
    }

    fn count_events(&mut self, series: &Series) {
        for point in &series.points {
            let window = self.frame.grid.window_of(point.ns);
            self.coverage.event(point.ns);
            if !self.frame.windows.contains(&window) {
                continue;
            }
            let row = (window - self.frame.windows.start) as usize;
            self.touch(row);
            self.count[row] += 1.0;
            if !point.value.is_nan() {
                self.time[row] += point.value;
                self.timed[row] += 1.0;
            }
        }
    }

    /// Times that are sums.
    fn time_sums(&mut self, series: &Series, shortest: Option<i64>) {
        if form(series) == SeriesForm::SecondsTotal {
            return self.spread_counter(series, SumTarget::Time);
        }
        let length = self.length_of(series, shortest);
        for interval in sample_intervals(&series.points, length).filter(|interval| !interval.value.is_nan()) {
            self.spread(interval.from, interval.to, interval.value, SumTarget::Time);
        }
    }

    /// Sums of times refer to all counted transactions.
    fn time_all_counted(&mut self) {
        for row in self.touched.clone() {
            self.timed[row] = if self.time[row] > 0.0 { self.count[row] } else { 0.0 };
        }
    }

    /// Means are weighted by the transactions of the same instant, or equally without such counts.
    fn time_means(&mut self, series: &Series, siblings: &[&Series], shortest: Option<i64>) {
        let paired: Vec<&[Point]> = siblings
            .iter()
            .filter(|series| matches!(form(series), SeriesForm::Counts | SeriesForm::Rate))
            .map(|series| series.points.as_slice())
            .collect();
        let length = self.length_of(series, shortest);
        let mut next = vec![0; paired.len()];
        for interval in sample_intervals(&series.points, length) {
            let weight = match paired.is_empty() {
                true => 1.0,
                false => paired
                    .iter()
                    .zip(&mut next)
                    .map(|(points, next)| value_at(points, next, interval.from))
                    .sum(),
            };
            if weight > 0.0 {
                self.spread(interval.from, interval.to, weight * interval.value, SumTarget::Time);
                self.spread(interval.from, interval.to, weight, SumTarget::Timed);
            }
        }
    }

    fn spread_counter(&mut self, series: &Series, target: SumTarget) {
        let spacing = series.spacing().unwrap_or_else(|| self.frame.grid.length().ns() as i64);
        let window_ns = self.frame.grid.length().ns() as i64;
        let mut grown = Vec::new();
        let coverage = &*self.coverage;
        increments(
            series,
            window_ns,
            |ns| coverage.covers(ns),
            self.losses,
            |increment| grown.push(increment),
        );
        grown.extend(birth(series, spacing, |ns| coverage.covers(ns)));
        for increment in grown {
            self.spread(increment.from, increment.to, increment.mass, target);
        }
    }

    fn spread(&mut self, from: i64, to: i64, mass: f64, target: SumTarget) {
        let sums = match target {
            SumTarget::Counts => &mut self.count,
            SumTarget::Time => &mut self.time,
            SumTarget::Timed => &mut self.timed,
        };
        let touched = &mut self.touched;
        self.frame.grid.overlaps(from, to, &self.frame.windows, |row, share| {
            sums[row] += mass * share;
            *touched = touched.start.min(row)..touched.end.max(row + 1);
        });
    }

    fn touch(&mut self, row: usize) {
        self.touched = self.touched.start.min(row)..self.touched.end.max(row + 1);
    }

    fn length_of(&self, series: &Series, shortest: Option<i64>) -> i64 {
        usual_length(series, shortest).unwrap_or_else(|| self.frame.grid.length().ns() as i64)
    }

    /// Adds the sums of a type to its column.
    fn flush(&mut self, column: usize) {
        let touched = std::mem::replace(&mut self.touched, self.frame.rows()..0);
        for row in touched {
            for (matrix, sums) in [
                (&mut self.sums.counts, &mut self.count),
                (&mut self.sums.seconds, &mut self.time),
                (&mut self.sums.timed, &mut self.timed),
            ] {
                matrix.row_mut(row)[column] += sums[row];
                sums[row] = 0.0;
            }
        }
    }
}

/// Target of an added mass.
#[derive(Clone, Copy)]
enum SumTarget {
    Counts,
    Time,
    Timed,
}

impl WindowSums {
    /// Extrapolates partly known windows, and sets unknown ones to NaN in every column.
    pub(crate) fn finalize(&mut self, known: &[WindowKnown]) {
        for (row, known) in known.iter().enumerate() {
            let factor = match *known {
                WindowKnown::Share(share) => 1.0 / share,
                WindowKnown::Partly | WindowKnown::Gap => f64::NAN,
            };
            if factor != 1.0 {
                self.counts.row_mut(row).iter_mut().for_each(|count| *count *= factor);
            }
            if factor.is_nan() {
                self.timed.row_mut(row).fill(0.0);
            }
        }
    }

    /// Mean times in seconds, `T x n`; NaN where none is known.
    pub(crate) fn means(&self) -> Matrix {
        let means = self.seconds.data().iter().zip(self.timed.data());
        let means = means.map(|(&seconds, &timed)| if timed > 0.0 { seconds / timed } else { f64::NAN });
        Matrix::from_row_major(self.seconds.rows(), self.seconds.cols(), means.collect())
    }
}

/// The value of a series at an instant, searching forward from index `next`; 0 when there is none.
fn value_at(points: &[Point], next: &mut usize, ns: i64) -> f64 {
    while points.get(*next).is_some_and(|point| point.ns < ns) {
        *next += 1;
    }
    points.get(*next).filter(|point| point.ns == ns && !point.value.is_nan()).map_or(0.0, |point| point.value)
}

fn form(series: &Series) -> SeriesForm {
    SeriesForm::from_measure(series.measure)
        .expect("only series about transactions and calls are filed under types")
}
