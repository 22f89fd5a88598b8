//! By how much service times shift at a row, and whether that is a change of the transaction or only of the load.

use std::ops::Range;

use super::scan::step_at;
use super::service::ServiceSeries;
use super::settings::ChangeSettings;
use laggard_numeric::median;

/// Fewest cells on either side.
pub(super) const CELLS_MIN: usize = 10;
/// From so many types on, what most of them do tells what the load does to all.
const TYPES_FOR_COMMON: usize = 4;
/// Share of the utilizations of a period left out at either end where two periods are compared at equal load.
const OUTER_SHARE: f64 = 0.1;

/// The shift of one type's service time between two periods.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    pub(super) transaction: usize,
    /// Of the logarithm, at equal load as far as the data tell.
    pub(super) size: f64,
    pub(super) standard_error: f64,
    /// What the load alone may do to it beyond, as a logarithm.
    pub(super) tolerance: f64,
    /// Whether it is a change of this transaction.
    pub(super) is_change: bool,
}

/// The shifts of all types with enough cells in both periods. A type changed when its shift is more than
/// `service_change_min`, and so by `score_min` standard errors: beside the common shift of most types, which is the
/// load's doing, or by itself at equal utilization.
pub(super) fn shifts(
    series: &[ServiceSeries],
    before: &Range<usize>,
    after: &Range<usize>,
    settings: &ChangeSettings,
    score_min: f64,
) -> Vec<Shift> {
    let mut shifts: Vec<Shift> = Vec::new();
    let mut alone: Vec<Shift> = Vec::new();
    for of in series {
        let (left, right) = (of.cells(before), of.cells(after));
        if left.len() < CELLS_MIN || right.len() < CELLS_MIN {
            continue;
        }
        alone.push(at_equal_load(of, &left, &right, settings));
        shifts.push(
            given_load(of, &left, &right).unwrap_or_else(|| at_equal_load(of, &left, &right, settings)),
        );
    }
    let common = common_shift(&shifts);
    for (shift, alone) in shifts.iter_mut().zip(&alone) {
        let is_clear = |size: f64, error: f64, least: f64| size.abs() > least + score_min * error;
        let least = settings.service_change_min;
        let by_itself = is_clear(alone.size, alone.standard_error, least + alone.tolerance);
        let beside = common.is_some_and(|common| {
            is_clear(shift.size - common, shift.standard_error, least)
                && is_clear(shift.size, shift.standard_error, 0.0)
                && shift.size.abs() > least
        });
        shift.is_change = by_itself || beside;
        shift.tolerance = alone.tolerance;
        match common {
            Some(common) if !by_itself => shift.size -= common,
            Some(_) => {}
            None => (shift.size, shift.standard_error) = (alone.size, alone.standard_error),
        }
    }
    shifts
}

/// What most types do; none where there are too few to tell.
fn common_shift(shifts: &[Shift]) -> Option<f64> {
    let mut sizes: Vec<f64> = shifts.iter().map(|shift| shift.size).collect();
    (sizes.len() >= TYPES_FOR_COMMON).then(|| median(&mut sizes))
}

/// The shift given any dependence on the utilization that both periods share.
fn given_load(of: &ServiceSeries, left: &Range<usize>, right: &Range<usize>) -> Option<Shift> {
    let step = step_at(&of.regression, left.clone(), right.clone(), 0)?;
    Some(Shift {
        transaction: of.transaction,
        size: step.size,
        standard_error: step.standard_error,
        tolerance: 0.0,
        is_change: false,
    })
}

/// The shift among the cells whose utilization occurs in both periods; where none does, of all cells, with a
/// tolerance for the load.
fn at_equal_load(
    of: &ServiceSeries,
    left: &Range<usize>,
    right: &Range<usize>,
    settings: &ChangeSettings,
) -> Shift {
    let (l, r) = (inner(&of.utilization[left.clone()]), inner(&of.utilization[right.clone()]));
    let both = l.0.max(r.0)..=l.1.min(r.1);
    let equal = |cells: &Range<usize>| -> Vec<usize> {
        cells.clone().filter(|&cell| both.contains(&of.utilization[cell])).collect()
    };
    let (mut before, mut after) = (equal(left), equal(right));
    let is_comparable = before.len().min(after.len()) >= CELLS_MIN;
    if !is_comparable {
        (before, after) = (left.clone().collect(), right.clone().collect());
    }
    let (a, b) = (of.mean(&before), of.mean(&after));
    Shift {
        transaction: of.transaction,
        size: b.log - a.log,
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
        let at = |row: usize| self.rows.partition_point(|&first| first < row);
        at(rows.start)..at(rows.end)
    }

    fn mean(&self, cells: &[usize]) -> CellMean {
        let regression = &self.regression;
        let weight: f64 = cells.iter().map(|&cell| regression.weight[cell]).sum();
        let of = |values: &[f64]| {
            cells.iter().map(|&cell| regression.weight[cell] * values[cell]).sum::<f64>() / weight
        };
        CellMean {
            log: of(&regression.response),
            standard_error: 1.0 / weight.sqrt(),
            utilization: of(&self.utilization),
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
    fn observed(types: usize, own: f64, load: f64) -> Vec<Shift> {
        let busy = |t: usize| if t < 100 { 0.3 } else { load } + 0.02 * ((t * 7) % 11) as f64 / 10.0;
        let time_s = |t: usize, of: usize| {
            let own = if t >= 100 && of == 0 { own } else { 1.0 };
            0.010 * own * (1.0 + 0.02 * (((t * 3 + of) % 5) as f64 - 2.0)) * busy(t).exp() / (1.0 - busy(t))
        };
        let times =
            (0..200).flat_map(|t| (0..types).map(move |of| (t, of))).map(|(t, of)| time_s(t, of)).collect();
        let observations = Observations {
            window_s: 60.0,
            windows: (0..200).collect(),
            counts: Matrix::from_row_major(200, types, vec![50.0; 200 * types]),
            utilization: (0..200).map(busy).collect(),
            response_s: Matrix::from_row_major(200, types, times),
            cores: 1.0,
        };
        let settings = ChangeSettings::default();
        let series =
            |of| ServiceSeries::new(&observations, of, &settings, &[true; 200]).expect("enough cells");
        let series: Vec<ServiceSeries> = (0..types).map(series).collect();
        shifts(&series, &(0..100), &(100..200), &settings, 5.0)
    }

    fn changed(shifts: &[Shift]) -> Vec<usize> {
        shifts.iter().filter(|shift| shift.is_change).map(|shift| shift.transaction).collect()
    }

    #[test]
    fn the_type_that_changed_and_no_other() {
        let same_load = observed(5, 1.3, 0.3);
        assert_eq!(changed(&same_load), [0]);
        assert!((same_load[0].size - 1.3_f64.ln()).abs() < 0.02, "{same_load:?}");
        assert_eq!(changed(&observed(5, 1.05, 0.3)), [] as [usize; 0]);
        assert_eq!(changed(&observed(1, 1.3, 0.3)), [0]);
    }

    #[test]
    fn what_the_load_does_to_all_is_nobodys_change() {
        // exp(0.4) is 49 % more, of every type.
        assert_eq!(changed(&observed(5, 1.0, 0.7)), [] as [usize; 0]);
        assert_eq!(changed(&observed(1, 1.0, 0.7)), [] as [usize; 0]);
    }
}
