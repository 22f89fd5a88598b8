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
        let rows: Vec<usize> =
            (0..utilization.len()).filter(|&row| utilization[row] < settings.utilization_max).collect();
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
