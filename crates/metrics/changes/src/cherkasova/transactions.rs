//! Which transactions explain a change of the model: from their service times (the signature of the paper), or from the
//! counts if there are no response times.

use std::ops::Range;

use laggard_numeric::Matrix;

use super::reconcile::ModelGroup;
use crate::adaptive::Regression;
use crate::naming::{Conclusive, type_steps};
use crate::segmentation::WindowRegression;
use crate::{
    ChangeSettings, ChangedQuantity, Observations, ServiceTime, SignatureTest, TransactionChange, signature,
    signature_changes,
};

/// Minimum share of the transactions with known service times on both sides to conclude that none changed.
const COVERAGE_MIN: f64 = 0.9;

/// Whether service times explain a change of the model.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Explanation {
    /// These changed, the largest difference first.
    Named(Vec<TransactionChange>),
    /// Nearly all transactions are known on both sides, and none changed.
    NoneChanged,
    /// Too few transactions are known.
    Unknown,
}

/// Explains the change from the model of the group `before` to that of `after`. Only rows of the group before `after` are
/// used, since a group may continue after a rollback.
pub(super) fn explain(observations: &Observations, before: &ModelGroup, after: &Range<usize>) -> Explanation {
    let earlier = earlier(before, after);
    let later = std::slice::from_ref(after);
    let test = SignatureTest::default();
    let (old, new) = (signature(observations, &earlier), signature(observations, later));
    let changes: Vec<TransactionChange> = signature_changes(&old, &new, test)
        .into_iter()
        .map(|change| TransactionChange {
            transaction: change.transaction,
            before_s: change.before.seconds,
            after_s: change.after.seconds,
            standard_error_s: change.standard_error_s(),
            quantity: ChangedQuantity::Time,
        })
        .collect();
    if !changes.is_empty() {
        return Explanation::Named(changes);
    }
    let is_known = |times: &[Option<ServiceTime>], transaction: usize| {
        times[transaction].is_some_and(|time| time.windows >= test.windows_min)
    };
    let is_comparable = |transaction: usize| is_known(&old, transaction) && is_known(&new, transaction);
    let is_covered = covered_share(observations, after, is_comparable) >= COVERAGE_MIN;
    if is_covered { Explanation::NoneChanged } else { Explanation::Unknown }
}

fn earlier(before: &ModelGroup, after: &Range<usize>) -> Vec<Range<usize>> {
    before.rows.iter().filter(|rows| rows.end <= after.start).cloned().collect()
}

/// Share of the transactions in `rows` whose type satisfies `is_known`.
fn covered_share(observations: &Observations, rows: &Range<usize>, is_known: impl Fn(usize) -> bool) -> f64 {
    let (mut all, mut known) = (0.0, 0.0);
    for row in rows.clone() {
        for (transaction, &count) in observations.counts.row(row).iter().enumerate() {
            all += count;
            known += if is_known(transaction) { count } else { 0.0 };
        }
    }
    if all > 0.0 { known / all } else { 0.0 }
}

/// The types whose demand changed, from counts and utilization alone; `O(T n²)`.
pub(super) fn by_counts(
    observations: &Observations,
    regression: &WindowRegression,
    before: &ModelGroup,
    after: &Range<usize>,
) -> Vec<TransactionChange> {
    let own = regression.fit(std::slice::from_ref(after));
    let windows = before.rows.iter().map(ExactSizeIterator::len).sum::<usize>() + after.len();
    // Standard deviation from the mean size of normal residuals.
    let deviation = 1.2533 * (before.fit.absolute + own.absolute) / windows as f64;
    if deviation <= 0.0 || !deviation.is_finite() {
        return Vec::new();
    }
    let types = observations.counts.cols();
    let seconds = observations.window_s * observations.cores / 100.0;
    let stacked = count_regression(observations, deviation);
    let drift = ChangeSettings::default().drift_bounds();
    let naming = type_steps(
        &stacked,
        &earlier(before, after),
        std::slice::from_ref(after),
        1..1 + types,
        drift,
        Conclusive::Clear,
    );
    let described = naming.steps.iter().map(|step| {
        let transaction = step.column - 1;
        let before_s = before.fit.percent_each[transaction] * seconds;
        TransactionChange {
            transaction,
            before_s,
            after_s: (before_s + step.size * seconds).max(0.0),
            standard_error_s: step.standard_error * seconds,
            quantity: ChangedQuantity::Cpu,
        }
    });
    let mut changes: Vec<TransactionChange> =
        described.filter(|change| change.standard_error_s.is_finite()).collect();
    let size = |change: &TransactionChange| (change.after_s - change.before_s).abs();
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.transaction.cmp(&b.transaction)));
    changes
}

/// The regression of utilization in percent on a constant and the counts, with the same noise in every window.
fn count_regression(observations: &Observations, deviation: f64) -> Regression {
    let (windows, types) = (observations.utilization.len(), observations.counts.cols());
    let mut design = Matrix::zeros(windows, types + 1);
    for row in 0..windows {
        let row_values = design.row_mut(row);
        row_values[0] = 1.0;
        row_values[1..].copy_from_slice(observations.counts.row(row));
    }
    let response = observations.utilization.iter().map(|utilization| 100.0 * utilization).collect();
    Regression { design, response, weight: vec![1.0 / (deviation * deviation); windows] }
}
