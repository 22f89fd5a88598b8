//! From groups and anomalous regions to what happened at the cuts.

use super::pieces::{Piece, transaction_model};
use super::reconcile::{Outcome, Reconciled, Step};
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
    let group = |group: &super::reconcile::ModelGroup| Group {
        segments: group.pieces.clone(),
        model: transaction_model(observations, &group.fit),
    };
    reconciled.groups.iter().map(group).collect()
}

/// What happened, in order of time.
pub(super) fn changes(
    observations: &Observations,
    regression: &WindowRegression,
    pieces: &[Piece],
    reconciled: &Reconciled,
) -> Vec<Change> {
    let _ = (observations, regression);
    let mut changes = Vec::new();
    let mut before: Option<usize> = None;
    for (at, piece) in pieces.iter().enumerate() {
        if piece.is_anomalous() {
            if at == 0 || !pieces[at - 1].is_anomalous() {
                changes.push(change(ChangeKind::AnomalyStart, exactly(piece.rows.start), f64::NAN));
            }
            continue;
        }
        if at > 0 && pieces[at - 1].is_anomalous() {
            changes.push(change(ChangeKind::AnomalyEnd, exactly(piece.rows.start), f64::NAN));
        }
        let Some(step) = reconciled.steps.iter().find(|step| step.piece == at) else { continue };
        changes.extend(verdict(pieces, before, step));
        before = Some(at);
    }
    changes
}

/// The verdict on a normal piece after the normal piece `before`.
fn verdict(pieces: &[Piece], before: Option<usize>, step: &Step) -> Option<Change> {
    let before = before?;
    let adjacent = before + 1 == step.piece;
    let kind = match step.outcome {
        // Across an anomaly that the model outlived there is nothing to tell.
        Outcome::First => return None,
        Outcome::Same if !adjacent => return None,
        Outcome::Same => ChangeKind::WorkloadChange,
        Outcome::New => ChangeKind::ApplicationChange,
        Outcome::Earlier => ChangeKind::Rollback { to: step.group },
    };
    let row = pieces[step.piece].rows.start;
    // Within an anomaly nobody can tell when.
    let onset = Onset { row, earliest: pieces[before].rows.end, latest: row };
    Some(change(kind, onset, step.ratio))
}

fn exactly(row: usize) -> Onset {
    Onset { row, earliest: row, latest: row }
}

fn change(kind: ChangeKind, onset: Onset, error_ratio: f64) -> Change {
    Change { kind, onset, error_ratio, transactions: Vec::new() }
}
