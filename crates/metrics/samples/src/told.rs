//! What is told of the transactions at one place.

use crate::coverage::{Coverage, Known};
use crate::groups::{Group, Place};
use crate::settings::WindowError;
use crate::stretches::usual_length;
use crate::table::{OutboundWindows, TransactionWindows};
use crate::tally::{Filling, Frame, Tally};
use crate::types::{ALL, Columns};
use laggard_model::{Loss, Losses, Nanos};
use laggard_numeric::Matrix;
use std::collections::BTreeMap;
use std::ops::Range;

/// Transactions at one place, as sums.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) transactions: Tally,
    pub(crate) calls: BTreeMap<String, Tally>,
}

/// Sums the series of one place.
pub(crate) fn tell(
    place: &Place<'_>,
    group: &Group<'_>,
    frame: &Frame<'_>,
    callees: &Columns<'_>,
    losses: &mut Losses,
) -> Told {
    let mut coverage = Coverage::new(frame.grid, frame.windows.clone());
    let mut filling = Filling::new(frame, &mut coverage, losses);
    filling.fill(&group.transactions);
    let mut transactions = filling.tally;
    let known = coverage.known();
    let partly = known.iter().filter(|&&known| known == Known::Partly).count() as u64;
    losses.add_many(Loss::PartialWindow, partly, || format!("transactions of {}", place.words()));
    transactions.settle(&known);
    let mut calls: BTreeMap<String, Tally> = BTreeMap::new();
    let mut coverage = Coverage::new(frame.grid, frame.windows.clone());
    for (callee, types) in &group.calls {
        let mut filling = Filling::new(frame, &mut coverage, losses);
        filling.fill(types);
        let name = callees.names[callees.of[callee]].clone();
        match calls.get_mut(&name) {
            Some(tally) => tally.add(&filling.tally),
            None => {
                calls.insert(name, filling.tally);
            }
        }
    }
    // Where one callee's calls are told, the others had none.
    let known = coverage.known();
    calls.values_mut().for_each(|tally| tally.settle(&known));
    Told { transactions, calls }
}

/// Whether the samples of a place are further apart than windows are long.
pub(crate) fn check_spacing(place: &Place<'_>, group: &Group<'_>, length: Nanos) -> Result<(), WindowError> {
    use crate::groups::Form;
    let counts =
        group.transactions.values().flatten().filter(|series| {
            matches!(Form::of(series.measure), Some(Form::Counts | Form::Rate | Form::Total))
        });
    let spacing = counts.filter_map(|series| usual_length(series, series.spacing_quantile(0.1))).min();
    match spacing.map(|spacing| Nanos::from_ns(spacing.unsigned_abs())) {
        Some(spacing) if is_coarse(spacing, length) => Err(WindowError::TooFine {
            length,
            spacing,
            what: format!("counts of transactions of {}", place.words()),
        }),
        _ => Ok(()),
    }
}

/// A window must hold a sample and a half at least; a little less for clocks that tremble.
pub(crate) fn is_coarse(spacing: Nanos, length: Nanos) -> bool {
    spacing.ns() as f64 > 1.5 * length.ns() as f64
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Tally) {
        for (mine, theirs) in [
            (&mut self.counts, &other.counts),
            (&mut self.seconds, &other.seconds),
            (&mut self.timed, &other.timed),
        ] {
            mine.data_mut().iter_mut().zip(theirs.data()).for_each(|(mine, theirs)| *mine += theirs);
        }
    }
}

impl Told {
    /// The windows between the first and the last that are known.
    pub(crate) fn life(&self) -> Range<usize> {
        let rows = self.transactions.counts.rows();
        let known = |&row: &usize| self.transactions.is_known(row);
        let first = (0..rows).find(known).unwrap_or(rows);
        first..(first..rows).rfind(known).map_or(first, |last| last + 1)
    }

    /// The windows `rows` of it, in the form of the table.
    pub(crate) fn windows(&self, rows: &Range<usize>) -> TransactionWindows {
        let outbound = self.calls.iter().map(|(callee, tally)| OutboundWindows {
            callee: if callee.is_empty() { ALL.to_owned() } else { callee.clone() },
            counts: cut(&tally.counts, rows),
            time_s: cut(&tally.means(), rows),
        });
        TransactionWindows {
            outbound: outbound.collect(),
            counts: cut(&self.transactions.counts, rows),
            response_s: cut(&self.transactions.means(), rows),
        }
    }
}

impl Tally {
    /// Whether a window is known.
    pub(crate) fn is_known(&self, row: usize) -> bool {
        self.counts.row(row).iter().any(|count| !count.is_nan())
    }
}

fn cut(matrix: &Matrix, rows: &Range<usize>) -> Matrix {
    let cols = matrix.cols();
    Matrix::from_row_major(rows.len(), cols, matrix.data()[rows.start * cols..rows.end * cols].to_vec())
}
