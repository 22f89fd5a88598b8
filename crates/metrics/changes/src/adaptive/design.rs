//! Step 1: sets up the regression: selects windows and types, scales columns, and estimates the noise.

use laggard_numeric::Matrix;

use super::noise::noise_variances;
use super::regression::Regression;
use super::settings::ChangeSettings;
use crate::Observations;

/// Types with fewer transactions in total have no measurable effect on the CPU and are ignored.
const TRANSACTIONS_MIN: f64 = 30.0;
/// Maximum number of columns for single types; the counts of the others are summed, since the cost of a test is cubic.
const TYPES_MAX: usize = 40;

/// The regression `100 U = C₀ + Σ N_i c_i` over the windows that are not saturated.
#[derive(Clone, Debug)]
pub(super) struct Design {
    /// Design matrix (column 0 is 1, the others counts over their largest), utilization in percent, and one over the
    /// noise variance in percent².
    pub(super) regression: Regression,
    /// The observation row of each regression row, increasing.
    pub(super) rows: Vec<usize>,
    /// Transaction types with a column of their own: column `1 + k` is type `types[k]`.
    pub(super) types: Vec<usize>,
    /// Largest count of each column.
    pub(super) scale: Vec<f64>,
}

impl Design {
    pub(super) fn new(observations: &Observations, settings: &ChangeSettings) -> Design {
        let utilization = &observations.utilization;
        let rows = unsaturated(observations, settings.utilization_max);
        let (types, rest) = select_types(&observations.counts, &rows);
        let columns = 1 + types.len() + usize::from(!rest.is_empty());
        let mut design = Matrix::zeros(rows.len(), columns);
        for (index, &row) in rows.iter().enumerate() {
            let counts = observations.counts.row(row);
            let target = design.row_mut(index);
            target[0] = 1.0;
            types.iter().enumerate().for_each(|(k, &transaction)| target[1 + k] = counts[transaction]);
            if !rest.is_empty() {
                target[columns - 1] = rest.iter().map(|&transaction| counts[transaction]).sum();
            }
        }
        let scale = scale_columns(&mut design);
        let response: Vec<f64> = rows.iter().map(|&row| 100.0 * utilization[row]).collect();
        let weight = vec![1.0; rows.len()];
        let mut regression = Regression { design, response, weight };
        let variances = noise_variances(&regression);
        regression.weight = variances.iter().map(|variance| 1.0 / variance).collect();
        Design { regression, rows, types, scale }
    }

    /// Columns of the regression that represent demands.
    pub(super) fn demands(&self) -> usize {
        self.regression.columns() - 1
    }

    /// Standard deviation of the noise of regression row `row`, in percent.
    pub(super) fn noise(&self, row: usize) -> f64 {
        1.0 / self.regression.weight[row].sqrt()
    }
}

/// The rows whose CPU grows with what completes in them: not busier than `most`, and not directly before or after such a window.
/// While a queue builds up the CPU works on transactions that complete later, and the first of its minutes are part of the window
/// before. Of a server that is saturated again and again, so that this would leave less than half, all windows below `most`.
fn unsaturated(observations: &Observations, most: f64) -> Vec<usize> {
    let windows = &observations.windows;
    let is_busy = |row: usize| observations.utilization[row] >= most;
    let is_beside = |row: usize, other: usize| windows[row].abs_diff(windows[other]) == 1 && is_busy(other);
    let is_near = |row: usize| {
        (row > 0 && is_beside(row, row - 1)) || (row + 1 < windows.len() && is_beside(row, row + 1))
    };
    let below: Vec<usize> = (0..windows.len()).filter(|&row| !is_busy(row)).collect();
    let separate: Vec<usize> = below.iter().copied().filter(|&row| !is_near(row)).collect();
    if 2 * separate.len() >= below.len() { separate } else { below }
}

/// The types with a column of their own, and those that share one.
fn select_types(counts: &Matrix, rows: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let total = |transaction: usize| rows.iter().map(|&row| counts.get(row, transaction)).sum::<f64>();
    let mut types: Vec<(usize, f64)> =
        (0..counts.cols()).map(|transaction| (transaction, total(transaction))).collect();
    types.retain(|&(_, transactions)| transactions > 0.0);
    if types.iter().any(|&(_, transactions)| transactions >= TRANSACTIONS_MIN) {
        types.retain(|&(_, transactions)| transactions >= TRANSACTIONS_MIN);
    }
    types.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut rest: Vec<usize> = types.iter().skip(TYPES_MAX).map(|&(transaction, _)| transaction).collect();
    types.truncate(TYPES_MAX);
    let mut own: Vec<usize> = types.into_iter().map(|(transaction, _)| transaction).collect();
    own.sort_unstable();
    rest.sort_unstable();
    (own, rest)
}

/// Divides every column by its largest value, and returns those.
fn scale_columns(design: &mut Matrix) -> Vec<f64> {
    let largest = |column: usize| design.column(column).fold(0.0_f64, |a, b| a.max(b));
    let scale: Vec<f64> = (0..design.cols()).map(|column| largest(column).max(f64::MIN_POSITIVE)).collect();
    for row in 0..design.rows() {
        design.row_mut(row).iter_mut().zip(&scale).for_each(|(value, largest)| *value /= largest);
    }
    scale
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(utilization: &[f64], windows: Vec<usize>) -> Vec<usize> {
        let count = utilization.len();
        let observations = Observations {
            window_s: 60.0,
            windows,
            counts: Matrix::zeros(count, 1),
            utilization: utilization.to_vec(),
            response_s: Matrix::zeros(0, 0),
            cores: 1.0,
        };
        unsaturated(&observations, 0.95)
    }

    #[test]
    fn windows_beside_saturated_ones_do_not_count() {
        let used = [0.5, 0.5, 0.7, 1.0, 0.99, 0.8, 0.5, 0.5];
        assert_eq!(rows(&used, (0..8).collect()), [0, 1, 6, 7]);
        // The windows directly after are missing.
        assert_eq!(rows(&used, vec![0, 1, 2, 3, 4, 15, 16, 17]), [0, 1, 5, 6, 7]);
        // It is saturated all the time.
        let often = [0.9, 0.96, 0.9, 0.9, 0.97, 0.9, 0.9, 0.99];
        assert_eq!(rows(&often, (0..8).collect()), [0, 2, 3, 5, 6]);
    }
}
