//! Step 5: shifts of service times at a row, and whether they are changes of the transaction or effects of the load.

use std::ops::Range;

use super::regression::Regression;
use super::service_series::ServiceSeries;
use super::settings::ChangeSettings;
use super::step_search::step_at;
use laggard_numeric::median;

/// Minimum number of cells on either side.
pub(super) const CELLS_MIN: usize = 10;
/// Minimum number of types to estimate the common effect of the load.
const TYPES_FOR_COMMON: usize = 4;
/// Share of the utilizations of a period excluded at either end when two periods are compared at equal load.
const OUTER_SHARE: f64 = 0.1;

/// Where one type's time changes, those of the others follow by up to this part of it, as logarithms: they share the queue, and
/// its formula is not exact.
const INDIRECT_PART: f64 = 0.1;

/// Standard deviation of normal values over the median of their distances from 0.
const DEVIATION_BY_MEDIAN: f64 = 1.4826;
/// Number of cells of either side from which the noise near a cut is estimated.
const NOISE_CELLS: usize = 100;

/// The shift of one type's service time between two periods.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServiceShift {
    pub(super) transaction: usize,
    /// Shift of the logarithm, at equal load as far as known.
    pub(super) size: f64,
    /// Shift of the logarithm without regard to other types.
    pub(super) own_size: f64,
    pub(super) standard_error: f64,
    /// Possible additional effect of the load alone, as a logarithm.
    pub(super) tolerance: f64,
    /// Whether it is a change of this transaction.
    pub(super) is_change: bool,
}

/// The shifts of all types with enough cells in both periods. A type changed when its shift exceeds `service_change_min`, and a
/// tenth of the largest shift, by `score_min` standard errors: relative to the common shift of most types, which is attributed
/// to the load, or in itself at equal utilization. Below twice that, it must also be `2 score_min` standard errors: successive
/// times are correlated, so the errors of short periods are too small.
pub(super) fn shifts(
    series: &[ServiceSeries],
    before: &Range<usize>,
    after: &Range<usize>,
    settings: &ChangeSettings,
    score_min: f64,
) -> Vec<ServiceShift> {
    let mut shifts: Vec<ServiceShift> = Vec::new();
    let mut alone: Vec<ServiceShift> = Vec::new();
    for series in series {
        let (left, right) = (series.cells(before), series.cells(after));
        if left.len() < CELLS_MIN || right.len() < CELLS_MIN {
            continue;
        }
        let noise = series.noise_near(&left, &right);
        let with_noise =
            |shift: ServiceShift| ServiceShift { standard_error: noise * shift.standard_error, ..shift };
        let at_equal_load = with_noise(shift_at_equal_load(series, &left, &right, settings));
        alone.push(at_equal_load);
        shifts.push(shift_given_load(series, &left, &right).map_or(at_equal_load, with_noise));
    }
    let common = common_shift(&shifts);
    let largest = shifts.iter().map(|shift| (shift.size - common.unwrap_or(0.0)).abs()).fold(0.0, f64::max);
    for (shift, alone) in shifts.iter_mut().zip(&alone) {
        let is_significant = |size: f64, error: f64, least: f64| {
            let beyond = size.abs() - score_min * error;
            beyond > 2.0 * least || (beyond > least && size.abs() > 2.0 * score_min * error)
        };
        let least = settings.service_change_min.max(INDIRECT_PART * largest);
        let by_itself = is_significant(alone.size, alone.standard_error, least + alone.tolerance);
        let beyond_common = common.is_some_and(|common| {
            is_significant(shift.size - common, shift.standard_error, least)
                && is_significant(shift.size, shift.standard_error, 0.0)
                && shift.size.abs() > least
        });
        shift.is_change = by_itself || beyond_common;
        (shift.tolerance, shift.own_size) = (alone.tolerance, alone.size);
        match common {
            Some(common) if !by_itself => shift.size -= common,
            Some(_) => {}
            None => (shift.size, shift.standard_error) = (alone.size, alone.standard_error),
        }
    }
    shifts
}

/// The common shift of most types; `None` if there are too few types.
fn common_shift(shifts: &[ServiceShift]) -> Option<f64> {
    let mut sizes: Vec<f64> = shifts.iter().map(|shift| shift.size).collect();
    (sizes.len() >= TYPES_FOR_COMMON).then(|| median(&mut sizes))
}

/// The shift, adjusted for a dependence on the utilization common to both periods.
fn shift_given_load(
    series: &ServiceSeries,
    left: &Range<usize>,
    right: &Range<usize>,
) -> Option<ServiceShift> {
    let step = step_at(&series.regression, left.clone(), right.clone(), 0)?;
    Some(ServiceShift {
        transaction: series.transaction,
        size: step.size,
        own_size: step.size,
        standard_error: step.standard_error,
        tolerance: 0.0,
        is_change: false,
    })
}

/// The shift among the cells whose utilization occurs in both periods; if there are none, of all cells, with a
/// tolerance for the load.
fn shift_at_equal_load(
    series: &ServiceSeries,
    left: &Range<usize>,
    right: &Range<usize>,
    settings: &ChangeSettings,
) -> ServiceShift {
    let (l, r) = (inner(&series.utilization[left.clone()]), inner(&series.utilization[right.clone()]));
    let common_load = l.0.max(r.0)..=l.1.min(r.1);
    let equal = |cells: &Range<usize>| -> Vec<usize> {
        cells.clone().filter(|&cell| common_load.contains(&series.utilization[cell])).collect()
    };
    let (mut before, mut after) = (equal(left), equal(right));
    let is_comparable = before.len().min(after.len()) >= CELLS_MIN;
    if !is_comparable {
        (before, after) = (left.clone().collect(), right.clone().collect());
    }
    let (a, b) = (series.mean(&before), series.mean(&after));
    ServiceShift {
        transaction: series.transaction,
        size: b.log - a.log,
        own_size: b.log - a.log,
        standard_error: a.standard_error.hypot(b.standard_error),
        tolerance: settings.load_slope_max * (b.utilization - a.utilization).abs(),
        is_change: false,
    }
}

/// The range of utilization without its outer shares.
fn inner(utilization: &[f64]) -> (f64, f64) {
    let mut sorted = utilization.to_vec();
    sorted.sort_by(f64::total_cmp);
    let outer = (OUTER_SHARE * sorted.len() as f64) as usize;
    (sorted[outer], sorted[sorted.len() - 1 - outer])
}

/// Weighted means over cells.
struct CellMean {
    log: f64,
    standard_error: f64,
    utilization: f64,
}

impl ServiceSeries {
    /// The cells that start within the observation rows `rows`.
    pub(super) fn cells(&self, rows: &Range<usize>) -> Range<usize> {
        let first_cell = |row: usize| self.rows.partition_point(|&first| first < row);
        first_cell(rows.start)..first_cell(rows.end)
    }

    /// By which factor the noise near a cut between two ranges of cells exceeds that of the series, at least 1. That of the series is
    /// typical of all loads; where a type is rare, or the load is high, its times vary by more.
    fn noise_near(&self, left: &Range<usize>, right: &Range<usize>) -> f64 {
        let Regression { response, weight, .. } = &self.regression;
        let near = [
            left.start.max(left.end.saturating_sub(NOISE_CELLS))..left.end,
            right.start..right.end.min(right.start + NOISE_CELLS),
        ];
        let pairs = near.into_iter().flat_map(|cells| cells.start..cells.end.saturating_sub(1));
        let difference = |cell: usize| {
            let variance = 1.0 / weight[cell] + 1.0 / weight[cell + 1];
            (response[cell + 1] - response[cell]).abs() / variance.sqrt()
        };
        let mut differences: Vec<f64> = pairs.map(difference).collect();
        (DEVIATION_BY_MEDIAN * median(&mut differences)).max(1.0)
    }

    fn mean(&self, cells: &[usize]) -> CellMean {
        let regression = &self.regression;
        let weight: f64 = cells.iter().map(|&cell| regression.weight[cell]).sum();
        let weighted_mean = |values: &[f64]| {
            cells.iter().map(|&cell| regression.weight[cell] * values[cell]).sum::<f64>() / weight
        };
        CellMean {
            log: weighted_mean(&regression.response),
            standard_error: 1.0 / weight.sqrt(),
            utilization: weighted_mean(&self.utilization),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Observations;
    use laggard_numeric::Matrix;

    /// Five types of 10 ms, 200 windows; from 100 on type 0 takes `own` times as long, and the load is `load` instead of
    /// 0.3; times grow by `1/(1 − U)` and, wrongly, another `exp(U)`.
    fn observed(types: usize, own: f64, load: f64) -> Vec<ServiceShift> {
        let busy = |t: usize| if t < 100 { 0.3 } else { load } + 0.02 * ((t * 7) % 11) as f64 / 10.0;
        let time_s = |t: usize, series: usize| {
            let own = if t >= 100 && series == 0 { own } else { 1.0 };
            0.010 * own * (1.0 + 0.02 * (((t * 3 + series) % 5) as f64 - 2.0)) * busy(t).exp()
                / (1.0 - busy(t))
        };
        let times = (0..200)
            .flat_map(|t| (0..types).map(move |series| (t, series)))
            .map(|(t, series)| time_s(t, series))
            .collect();
        let observations = Observations {
            window_s: 60.0,
            windows: (0..200).collect(),
            counts: Matrix::from_row_major(200, types, vec![50.0; 200 * types]),
            utilization: (0..200).map(busy).collect(),
            response_s: Matrix::from_row_major(200, types, times),
            cores: 1.0,
        };
        let settings = ChangeSettings::default();
        let series = |series| {
            ServiceSeries::new(&observations, series, &settings, &[true; 200]).expect("enough cells")
        };
        let series: Vec<ServiceSeries> = (0..types).map(series).collect();
        shifts(&series, &(0..100), &(100..200), &settings, 5.0)
    }

    fn changed(shifts: &[ServiceShift]) -> Vec<usize> {
        shifts.iter().filter(|shift| shift.is_change).map(|shift| shift.transaction).collect()
    }

    #[test]
    fn only_the_type_that_changed_is_reported() {
        let same_load = observed(5, 1.3, 0.3);
        assert_eq!(changed(&same_load), [0]);
        assert!((same_load[0].size - 1.3_f64.ln()).abs() < 0.02, "{same_load:?}");
        assert_eq!(changed(&observed(5, 1.05, 0.3)), [] as [usize; 0]);
        assert_eq!(changed(&observed(1, 1.3, 0.3)), [0]);
    }

    /// One type whose logarithm of the service time shifts by `size` with exactly this standard error.
    fn is_change(size: f64, standard_error: f64) -> bool {
        let cells = 200;
        let weight = 2.0 / (100.0 * standard_error * standard_error);
        let mut design = Matrix::zeros(cells, 3);
        (0..cells).for_each(|cell| design.row_mut(cell).copy_from_slice(&[1.0, 0.5, 0.25]));
        let response = (0..cells).map(|cell| if cell < 100 { -4.0 } else { -4.0 + size }).collect();
        let series = ServiceSeries {
            transaction: 0,
            rows: (0..cells).collect(),
            transactions: vec![50.0; cells],
            utilization: vec![0.5; cells],
            regression: Regression { design, response, weight: vec![weight; cells] },
        };
        let settings = ChangeSettings { service_change_min: 0.05, ..ChangeSettings::default() };
        shifts(&[series], &(0..100), &(100..200), &settings, 5.0)[0].is_change
    }

    #[test]
    fn a_small_shift_needs_twice_the_standard_errors() {
        // 0.12 is 5 errors beyond 0.05 in all three cases; it is 10 errors in the last two, and 5 beyond 0.1 in the last.
        assert!(!is_change(0.12, 0.013));
        assert!(is_change(0.12, 0.011));
        assert!(is_change(0.12, 0.003));
        // A large shift does not need them.
        assert!(is_change(0.25, 0.029));
    }

    /// One type whose cells usually vary by 0.05, but by `noise` up to cell 60; from 30 to 42 it takes 0.3 less.
    fn is_change_of_twelve(noise: f64) -> bool {
        let cells = 400;
        let mut design = Matrix::zeros(cells, 3);
        (0..cells).for_each(|cell| design.row_mut(cell).copy_from_slice(&[1.0, 0.5, 0.25]));
        let at = |cell: usize| {
            let by_chance =
                if cell < 60 { noise } else { 0.05 } * if cell.is_multiple_of(2) { 1.0 } else { -1.0 };
            by_chance - if (30..42).contains(&cell) { 0.3 } else { 0.0 }
        };
        let series = ServiceSeries {
            transaction: 0,
            rows: (0..cells).collect(),
            transactions: vec![50.0; cells],
            utilization: vec![0.5; cells],
            regression: Regression {
                design,
                response: (0..cells).map(at).collect(),
                weight: vec![1.0 / (0.05 * 0.05); cells],
            },
        };
        shifts(&[series], &(0..30), &(30..42), &ChangeSettings::default(), 5.0)[0].is_change
    }

    /// Of a rare type at low load, whose times vary by 0.2 there: −25 % for twelve cells is chance.
    #[test]
    fn the_noise_near_a_cut_counts() {
        assert!(is_change_of_twelve(0.05));
        assert!(!is_change_of_twelve(0.2));
    }

    #[test]
    fn an_effect_of_the_load_on_all_types_is_no_change() {
        // exp(0.4): every type takes 49 % longer.
        assert_eq!(changed(&observed(5, 1.0, 0.7)), [] as [usize; 0]);
        assert_eq!(changed(&observed(1, 1.0, 0.7)), [] as [usize; 0]);
    }
}
