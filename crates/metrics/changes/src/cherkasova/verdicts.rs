//! Verdicts at the cuts, from groups and anomalous regions.

use super::fitted_segments::{FittedSegment, group_model};
use super::reconcile::{ModelGroup, ReconcileOutcome, ReconcileStep, Reconciled};
use super::transactions::{Explanation, by_counts, explain};
use super::{CherkasovaSettings, onsets};
use crate::segmentation::WindowRegression;
use crate::{Change, ChangeKind, Group, Observations, Onset, Segment};

/// The segments of the result.
pub(super) fn segments(
    observations: &Observations,
    segments: &[FittedSegment],
    reconciled: &Reconciled,
) -> Vec<Segment> {
    let group =
        |index: usize| reconciled.steps.iter().find(|step| step.segment == index).map(|step| step.group);
    segments
        .iter()
        .enumerate()
        .map(|(index, segment)| segment.to_segment(observations, group(index)))
        .collect()
}

/// The groups of the result.
pub(super) fn groups(observations: &Observations, reconciled: &Reconciled) -> Vec<Group> {
    let group = |group: &ModelGroup| Group {
        segments: group.segments.clone(),
        model: group_model(observations, &group.rows, &group.fit),
    };
    reconciled.groups.iter().map(group).collect()
}

/// The changes at the cuts, in order of time.
pub(super) fn changes(
    observations: &Observations,
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    segments: &[FittedSegment],
    reconciled: &Reconciled,
) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut before: Option<&ReconcileStep> = None;
    for (index, segment) in segments.iter().enumerate() {
        let previous = index.checked_sub(1).map(|previous| &segments[previous]);
        let after_anomaly = previous.is_some_and(FittedSegment::is_anomalous);
        if segment.is_anomalous() && !after_anomaly {
            let onset = onsets::region_start(regression, previous, segment.rows.start);
            changes.push(plain(ChangeKind::AnomalyStart, onset, f64::NAN));
        }
        if !segment.is_anomalous() && after_anomaly {
            changes.push(plain(ChangeKind::AnomalyEnd, onsets::region_end(regression, segment), f64::NAN));
        }
        let Some(step) = reconciled.steps.iter().find(|step| step.segment == index) else { continue };
        if let Some(before) = before {
            let cut = CutContext { observations, regression, settings, segments, reconciled, before, step };
            changes.extend(cut.verdict());
        }
        before = Some(step);
    }
    changes
}

/// Names the transactions of alarms by the counts, where response times named none.
pub(super) fn name_by_counts(
    observations: &Observations,
    regression: &WindowRegression,
    segments: &[FittedSegment],
    reconciled: &Reconciled,
    changes: &mut [Change],
) {
    for change in changes.iter_mut().filter(|change| change.transactions.is_empty() && is_alarm(change)) {
        let starts_here = |pair: &&[ReconcileStep]| segments[pair[1].segment].rows.start == change.onset.row;
        let Some([before, step]) = reconciled.steps.windows(2).find(starts_here) else { continue };
        let (group, rows) = (&reconciled.groups[before.group], &segments[step.segment].rows);
        change.transactions = by_counts(observations, regression, group, rows);
    }
}

/// Whether the application itself changed.
pub(super) fn is_alarm(change: &Change) -> bool {
    matches!(change.kind, ChangeKind::ApplicationChange | ChangeKind::Rollback { .. })
}

/// Two successive normal segments, possibly with anomalies between them.
struct CutContext<'a> {
    observations: &'a Observations,
    regression: &'a WindowRegression,
    settings: &'a CherkasovaSettings,
    segments: &'a [FittedSegment],
    reconciled: &'a Reconciled,
    before: &'a ReconcileStep,
    step: &'a ReconcileStep,
}

impl CutContext<'_> {
    fn verdict(&self) -> Option<Change> {
        let adjacent = self.before.segment + 1 == self.step.segment;
        let kind = match self.step.outcome {
            // The same model holds before and after an anomaly.
            ReconcileOutcome::First => return None,
            ReconcileOutcome::Same if !adjacent => return None,
            ReconcileOutcome::Same => {
                return Some(plain(ChangeKind::WorkloadChange, self.onset(), self.step.ratio));
            }
            ReconcileOutcome::New => ChangeKind::ApplicationChange,
            ReconcileOutcome::Earlier => ChangeKind::Rollback { to: self.step.group },
        };
        let rows = &self.segments[self.step.segment].rows;
        let group = &self.reconciled.groups[self.before.group];
        let change = plain(kind, self.onset(), self.step.ratio);
        Some(match explain(self.observations, group, rows) {
            Explanation::Named(transactions) => Change { transactions, ..change },
            Explanation::NoneChanged => {
                Change { kind: self.settings.mode.variant().without_evidence(kind), ..change }
            }
            Explanation::Unknown => change,
        })
    }

    fn onset(&self) -> Onset {
        let (before, after) = (&self.segments[self.before.segment], &self.segments[self.step.segment]);
        if before.rows.end == after.rows.start {
            return onsets::cut_onset(self.regression, before, after);
        }
        // The change happened at an unknown time during an anomaly.
        Onset { row: after.rows.start, earliest: before.rows.end, latest: after.rows.start }
    }
}

fn plain(kind: ChangeKind, onset: Onset, error_ratio: f64) -> Change {
    Change { kind, onset, error_ratio, transactions: Vec::new(), cpu: None }
}
