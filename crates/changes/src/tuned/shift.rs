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
