//! Sums of the transactions of one server or of the system.

use crate::coverage::{Coverage, WindowKnown};
use crate::groups::{SeriesForm, ServerKey, ServerSeries};
use crate::sample_intervals::usual_length;
use crate::table::{OutboundWindows, TransactionWindows};
use crate::types::{ALL, Columns};
use crate::window_sums::{TableFrame, WindowFiller, WindowSums};
use laggard_model::{Loss, Losses, Nanos};
use laggard_numeric::Matrix;
use std::collections::BTreeMap;
use std::ops::Range;

/// Transactions of one server or of the system, as sums by window and type.
#[derive(Clone, Debug)]
pub(crate) struct TransactionSums {
    pub(crate) transactions: WindowSums,
    pub(crate) calls: BTreeMap<String, WindowSums>,
}

/// Sums the series of one server.
pub(crate) fn sum_transactions(
    server_key: &ServerKey<'_>,
    group: &ServerSeries<'_>,
    frame: &TableFrame<'_>,
    callees: &Columns<'_>,
    losses: &mut Losses,
) -> TransactionSums {
    let mut coverage = Coverage::new(frame.grid, frame.windows.clone());
    let mut filler = WindowFiller::new(frame, &mut coverage, losses);
    filler.fill(&group.transactions);
    let mut transactions = filler.sums;
    let known = coverage.known();
    let partly = known.iter().filter(|&&known| known == WindowKnown::Partly).count() as u64;
    losses.add_many(Loss::PartialWindow, partly, || format!("transactions of {}", server_key.description()));
    transactions.finalize(&known);
    let mut calls: BTreeMap<String, WindowSums> = BTreeMap::new();
    let mut coverage = Coverage::new(frame.grid, frame.windows.clone());
    for (callee, types) in &group.calls {
        let mut filler = WindowFiller::new(frame, &mut coverage, losses);
        filler.fill(types);
        let name = callees.names[callees.by_name[callee]].clone();
        match calls.get_mut(&name) {
            Some(sums) => sums.add(&filler.sums),
            None => {
                calls.insert(name, filler.sums);
            }
        }
    }
    // If calls to one callee are known in a window, the other callees had none.
    let known = coverage.known();
    calls.values_mut().for_each(|sums| sums.finalize(&known));
    TransactionSums { transactions, calls }
}

/// How far apart a server's counts of transactions are.
pub(crate) fn counts_spacing(group: &ServerSeries<'_>) -> Option<Nanos> {
    let counts = group.transactions.values().flatten().filter(|series| {
        matches!(
            SeriesForm::from_measure(series.measure),
            Some(SeriesForm::Counts | SeriesForm::Rate | SeriesForm::Total)
        )
    });
    let spacing = counts.filter_map(|series| usual_length(series, series.spacing_quantile(0.1))).min()?;
    Some(Nanos::from_ns(spacing.unsigned_abs()))
}

/// A window must hold a sample and a half at least; slightly less to allow for clock jitter.
pub(crate) fn is_coarse(spacing: Nanos, length: Nanos) -> bool {
    spacing.ns() as f64 > 1.5 * length.ns() as f64
}

impl WindowSums {
    pub(crate) fn add(&mut self, other: &WindowSums) {
        for (mine, theirs) in [
            (&mut self.counts, &other.counts),
            (&mut self.seconds, &other.seconds),
            (&mut self.timed, &other.timed),
        ] {
            mine.data_mut().iter_mut().zip(theirs.data()).for_each(|(mine, theirs)| *mine += theirs);
        }
    }
}

impl TransactionSums {
    /// The range from the first to the last known window.
    pub(crate) fn known_rows(&self) -> Range<usize> {
        let rows = self.transactions.counts.rows();
        let known = |&row: &usize| self.transactions.is_known(row);
        let first = (0..rows).find(known).unwrap_or(rows);
        first..(first..rows).rfind(known).map_or(first, |last| last + 1)
    }

    /// The windows `rows`, as in the table.
    pub(crate) fn into_windows(self, rows: &Range<usize>) -> TransactionWindows {
        let outbound = self.calls.into_iter().map(|(callee, sums)| OutboundWindows {
            callee: if callee.is_empty() { ALL.to_owned() } else { callee },
            time_s: rows_of(sums.means(), rows),
            counts: rows_of(sums.counts, rows),
        });
        TransactionWindows {
            outbound: outbound.collect(),
            response_s: rows_of(self.transactions.means(), rows),
            counts: rows_of(self.transactions.counts, rows),
        }
    }
}

impl WindowSums {
    /// Whether a window is known.
    pub(crate) fn is_known(&self, row: usize) -> bool {
        self.counts.row(row).iter().any(|count| !count.is_nan())
    }
}

fn rows_of(matrix: Matrix, rows: &Range<usize>) -> Matrix {
    if *rows == (0..matrix.rows()) {
        return matrix;
    }
    let cols = matrix.cols();
    Matrix::from_row_major(rows.len(), cols, matrix.data()[rows.start * cols..rows.end * cols].to_vec())
}
