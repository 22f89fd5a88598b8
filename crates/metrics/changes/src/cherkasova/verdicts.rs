//! From groups and anomalous regions to what happened at the cuts.

use super::pieces::{Piece, group_model};
use super::reconcile::{ModelGroup, Outcome, Reconciled, Step};
use super::transactions::{Explanation, by_counts, explain};
use super::{CherkasovaMode, CherkasovaSettings, onsets};
use crate::segmentation::WindowRegression;
use crate::{Change, ChangeKind, Group, Observations, Onset, Segment};

/// The pieces as the answer has them.
pub(super) fn segments(
    observations: &Observations,
    pieces: &[Piece],
    reconciled: &Reconciled,
) -> Vec<Segment> {
    let group = |at: usize| reconciled.steps.iter().find(|step| step.piece == at).map(|step| step.group);
    pieces.iter().enumerate().map(|(at, piece)| piece.segment(observations, group(at))).collect()
}

/// The groups as the answer has them.
pub(super) fn groups(observations: &Observations, reconciled: &Reconciled) -> Vec<Group> {
    let group = |group: &ModelGroup| Group {
        segments: group.pieces.clone(),
        model: group_model(observations, &group.rows, &group.fit),
    };
    reconciled.groups.iter().map(group).collect()
}

/// What happened, in order of time.
pub(super) fn changes(
    observations: &Observations,
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    pieces: &[Piece],
    reconciled: &Reconciled,
) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut before: Option<&Step> = None;
    for (at, piece) in pieces.iter().enumerate() {
        let previous = at.checked_sub(1).map(|previous| &pieces[previous]);
        let after_anomaly = previous.is_some_and(Piece::is_anomalous);
        if piece.is_anomalous() && !after_anomaly {
            let onset = onsets::region_start(regression, previous, piece.rows.start);
            changes.push(plain(ChangeKind::AnomalyStart, onset, f64::NAN));
        }
        if !piece.is_anomalous() && after_anomaly {
            changes.push(plain(ChangeKind::AnomalyEnd, onsets::region_end(regression, piece), f64::NAN));
        }
        let Some(step) = reconciled.steps.iter().find(|step| step.piece == at) else { continue };
        if let Some(before) = before {
            let cut = Cut { observations, regression, settings, pieces, reconciled, before, step };
            changes.extend(cut.verdict());
        }
        before = Some(step);
    }
    changes
}

/// Names the transactions of alarms that response times did not name by the counts.
pub(super) fn name_by_counts(
    observations: &Observations,
    regression: &WindowRegression,
    pieces: &[Piece],
    reconciled: &Reconciled,
    changes: &mut [Change],
) {
    for change in changes.iter_mut().filter(|change| change.transactions.is_empty() && is_alarm(change)) {
        let starts_here = |pair: &&[Step]| pieces[pair[1].piece].rows.start == change.onset.row;
        let Some([before, step]) = reconciled.steps.windows(2).find(starts_here) else { continue };
        let (group, rows) = (&reconciled.groups[before.group], &pieces[step.piece].rows);
        change.transactions = by_counts(observations, regression, group, rows);
    }
}

/// Whether the application itself changed.
pub(super) fn is_alarm(change: &Change) -> bool {
    matches!(change.kind, ChangeKind::ApplicationChange | ChangeKind::Rollback { .. })
}

/// A normal piece after another, anomalies between them or not.
struct Cut<'a> {
    observations: &'a Observations,
    regression: &'a WindowRegression,
    settings: &'a CherkasovaSettings,
    pieces: &'a [Piece],
    reconciled: &'a Reconciled,
    before: &'a Step,
    step: &'a Step,
}

impl Cut<'_> {
    fn verdict(&self) -> Option<Change> {
        let adjacent = self.before.piece + 1 == self.step.piece;
        let kind = match self.step.outcome {
            // Across an anomaly that the model outlived there is nothing to tell.
            Outcome::First => return None,
            Outcome::Same if !adjacent => return None,
            Outcome::Same => return Some(plain(ChangeKind::WorkloadChange, self.onset(), self.step.ratio)),
            Outcome::New => ChangeKind::ApplicationChange,
            Outcome::Earlier => ChangeKind::Rollback { to: self.step.group },
        };
        let rows = &self.pieces[self.step.piece].rows;
        let group = &self.reconciled.groups[self.before.group];
        let change = plain(kind, self.onset(), self.step.ratio);
        Some(match explain(self.observations, group, rows) {
            Explanation::Named(transactions) => Change { transactions, ..change },
            Explanation::NoneChanged if self.settings.mode == CherkasovaMode::Robust => {
                Change { kind: ChangeKind::Unexplained, ..change }
            }
            Explanation::NoneChanged | Explanation::Unknown => change,
        })
    }

    fn onset(&self) -> Onset {
        let (before, after) = (&self.pieces[self.before.piece], &self.pieces[self.step.piece]);
        if before.rows.end == after.rows.start {
            return onsets::cut_onset(self.regression, before, after);
        }
        // Within an anomaly nobody can tell when.
        Onset { row: after.rows.start, earliest: before.rows.end, latest: after.rows.start }
    }
}

fn plain(kind: ChangeKind, onset: Onset, error_ratio: f64) -> Change {
    Change { kind, onset, error_ratio, transactions: Vec::new() }
}
