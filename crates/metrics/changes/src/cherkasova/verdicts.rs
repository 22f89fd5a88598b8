//! From groups and anomalous regions to what happened at the cuts.

use super::fitted_segments::{FittedSegment, group_model};
use super::reconcile::{ModelGroup, ReconcileOutcome, ReconcileStep, Reconciled};
use super::transactions::{Explanation, by_counts, explain};
use super::{CherkasovaMode, CherkasovaSettings, onsets};
use crate::segmentation::WindowRegression;
use crate::{Change, ChangeKind, Group, Observations, Onset, Segment};

/// The pieces as the answer has them.
pub(super) fn segments(
    observations: &Observations,
    fitted_segments: &[FittedSegment],
    reconciled: &Reconciled,
) -> Vec<Segment> {
    let group = |index: usize| {
        reconciled.steps.iter().find(|step| step.fitted_segment == index).map(|step| step.group)
    };
    fitted_segments
        .iter()
        .enumerate()
        .map(|(index, fitted_segment)| fitted_segment.segment(observations, group(index)))
        .collect()
}

/// The groups as the answer has them.
pub(super) fn groups(observations: &Observations, reconciled: &Reconciled) -> Vec<Group> {
    let group = |group: &ModelGroup| Group {
        segments: group.fitted_segments.clone(),
        model: group_model(observations, &group.rows, &group.fit),
    };
    reconciled.groups.iter().map(group).collect()
}

/// What happened, in order of time.
pub(super) fn changes(
    observations: &Observations,
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    fitted_segments: &[FittedSegment],
    reconciled: &Reconciled,
) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut before: Option<&ReconcileStep> = None;
    for (index, fitted_segment) in fitted_segments.iter().enumerate() {
        let previous = index.checked_sub(1).map(|previous| &fitted_segments[previous]);
        let after_anomaly = previous.is_some_and(FittedSegment::is_anomalous);
        if fitted_segment.is_anomalous() && !after_anomaly {
            let onset = onsets::region_start(regression, previous, fitted_segment.rows.start);
            changes.push(plain(ChangeKind::AnomalyStart, onset, f64::NAN));
        }
        if !fitted_segment.is_anomalous() && after_anomaly {
            changes.push(plain(
                ChangeKind::AnomalyEnd,
                onsets::region_end(regression, fitted_segment),
                f64::NAN,
            ));
        }
        let Some(step) = reconciled.steps.iter().find(|step| step.fitted_segment == index) else { continue };
        if let Some(before) = before {
            let cut =
                CutContext { observations, regression, settings, fitted_segments, reconciled, before, step };
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
    fitted_segments: &[FittedSegment],
    reconciled: &Reconciled,
    changes: &mut [Change],
) {
    for change in changes.iter_mut().filter(|change| change.transactions.is_empty() && is_alarm(change)) {
        let starts_here =
            |pair: &&[ReconcileStep]| fitted_segments[pair[1].fitted_segment].rows.start == change.onset.row;
        let Some([before, step]) = reconciled.steps.windows(2).find(starts_here) else { continue };
        let (group, rows) = (&reconciled.groups[before.group], &fitted_segments[step.fitted_segment].rows);
        change.transactions = by_counts(observations, regression, group, rows);
    }
}

/// Whether the application itself changed.
pub(super) fn is_alarm(change: &Change) -> bool {
    matches!(change.kind, ChangeKind::ApplicationChange | ChangeKind::Rollback { .. })
}

/// A normal piece after another, anomalies between them or not.
struct CutContext<'a> {
    observations: &'a Observations,
    regression: &'a WindowRegression,
    settings: &'a CherkasovaSettings,
    fitted_segments: &'a [FittedSegment],
    reconciled: &'a Reconciled,
    before: &'a ReconcileStep,
    step: &'a ReconcileStep,
}

impl CutContext<'_> {
    fn verdict(&self) -> Option<Change> {
        let adjacent = self.before.fitted_segment + 1 == self.step.fitted_segment;
        let kind = match self.step.outcome {
            // Across an anomaly that the model outlived there is nothing to tell.
            ReconcileOutcome::First => return None,
            ReconcileOutcome::Same if !adjacent => return None,
            ReconcileOutcome::Same => {
                return Some(plain(ChangeKind::WorkloadChange, self.onset(), self.step.ratio));
            }
            ReconcileOutcome::New => ChangeKind::ApplicationChange,
            ReconcileOutcome::Earlier => ChangeKind::Rollback { to: self.step.group },
        };
        let rows = &self.fitted_segments[self.step.fitted_segment].rows;
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
        let (before, after) = (
            &self.fitted_segments[self.before.fitted_segment],
            &self.fitted_segments[self.step.fitted_segment],
        );
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
