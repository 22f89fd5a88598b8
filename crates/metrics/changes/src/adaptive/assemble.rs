//! Step 7: assembles the analysis from intervals, groups, and boundaries: exact cuts, segments, and changes in order of
//! time.

use std::ops::Range;

use super::evidence::ChangeEvidence;
use super::fit::{Drift, Fit, FitPart};
use super::intervals::{CutInterval, CutIntervalKind, TOO_SHORT, UNEXPLAINED};
use super::timeline::{Boundary, Timeline};
use super::turning_point::turning_point;
use crate::{Analysis, Change, ChangeKind, Group, Onset, Segment, SegmentKind, TransactionModel, nnls_model};

/// Minimum total variation distance of two mixes for a workload change: a tenth of the transactions.
const MIX_MOVED: f64 = 0.1;

/// A boundary with its exact onset, in observation rows.
struct DatedBoundary {
    boundary: Boundary,
    onset: Onset,
    /// Whether an anomalous region lies between its intervals.
    is_across: bool,
}

pub(super) fn assemble(
    evidence: ChangeEvidence<'_>,
    mut intervals: Vec<CutInterval>,
    timeline: Timeline,
) -> Analysis {
    let dated: Vec<DatedBoundary> =
        timeline.boundaries.iter().map(|boundary| date(evidence, &mut intervals, boundary.clone())).collect();
    let merged = merge(evidence, &intervals, &timeline, &dated);
    let segments: Vec<Segment> = merged.iter().map(|interval| segment(evidence, interval)).collect();
    let groups = groups(evidence, &merged, timeline.groups.len());
    let mut changes = region_changes(evidence, &intervals);
    changes.extend(dated.iter().filter_map(|dated| change(evidence, &intervals, dated)));
    changes.sort_by_key(|change| (change.onset.row, order(change.kind)));
    let cautions = cautions(evidence, &segments, &dated);
    Analysis { segments, groups, changes, cautions }
}

/// Dates a boundary exactly, and moves the cut between adjacent intervals there.
fn date(evidence: ChangeEvidence<'_>, intervals: &mut [CutInterval], boundary: Boundary) -> DatedBoundary {
    let (before, after) = (boundary.before, boundary.after);
    let is_across = after != before + 1;
    let start = evidence.observed(&intervals[after].rows).start;
    if is_across {
        let earliest = evidence.observed(&intervals[before].rows).end.min(start);
        return DatedBoundary { boundary, onset: Onset { row: start, earliest, latest: start }, is_across };
    }
    if boundary.kind.is_none() {
        return DatedBoundary {
            boundary,
            onset: Onset { row: start, earliest: start, latest: start },
            is_across,
        };
    }
    let turn = turning_point(evidence, &intervals[before].rows, &intervals[after].rows, &boundary);
    (intervals[before].rows.end, intervals[after].rows.start) = (turn.row, turn.row);
    let rows = &evidence.design.rows;
    let onset = Onset { row: rows[turn.row], earliest: rows[turn.earliest], latest: rows[turn.latest] };
    DatedBoundary { boundary, onset, is_across }
}

/// An interval of the result with its group.
#[derive(Clone)]
struct MergedInterval {
    rows: Range<usize>,
    kind: SegmentKind,
}

/// Joins neighbors without a reported boundary between them.
fn merge(
    evidence: ChangeEvidence<'_>,
    intervals: &[CutInterval],
    timeline: &Timeline,
    dated: &[DatedBoundary],
) -> Vec<MergedInterval> {
    let mut merged: Vec<MergedInterval> = Vec::new();
    for (index, interval) in intervals.iter().enumerate() {
        let kind = match interval.kind {
            CutIntervalKind::Normal => SegmentKind::Normal { group: group_of(timeline, index) },
            CutIntervalKind::Anomalous(reason) => SegmentKind::Anomalous { reason },
            CutIntervalKind::Pending => SegmentKind::Pending,
        };
        let is_reported = dated
            .iter()
            .any(|dated| dated.boundary.after == index && is_reported(evidence, intervals, dated));
        match merged.last_mut().filter(|last| is_same(&last.kind, &kind) && !is_reported) {
            Some(last) => {
                last.rows.end = interval.rows.end;
                if last.kind != kind {
                    last.kind = SegmentKind::Anomalous { reason: UNEXPLAINED };
                }
            }
            None => merged.push(MergedInterval { rows: interval.rows.clone(), kind }),
        }
    }
    merged
}

fn group_of(timeline: &Timeline, interval: usize) -> usize {
    timeline
        .groups
        .iter()
        .position(|group| group.intervals.contains(&interval))
        .expect("every normal interval has a group")
}

fn is_same(a: &SegmentKind, b: &SegmentKind) -> bool {
    let are_anomalous =
        matches!(a, SegmentKind::Anomalous { .. }) && matches!(b, SegmentKind::Anomalous { .. });
    a == b || are_anomalous
}

/// Whether a boundary is reported: the model changed, or the mix changed while it held.
fn is_reported(evidence: ChangeEvidence<'_>, intervals: &[CutInterval], dated: &DatedBoundary) -> bool {
    dated.boundary.kind.is_some() || (!dated.is_across && mix_moved(evidence, intervals, &dated.boundary))
}

fn mix_moved(evidence: ChangeEvidence<'_>, intervals: &[CutInterval], boundary: &Boundary) -> bool {
    let before = mix(evidence, &intervals[boundary.before].rows);
    let after = mix(evidence, &intervals[boundary.after].rows);
    0.5 * before.iter().zip(&after).map(|(a, b)| (a - b).abs()).sum::<f64>() > MIX_MOVED
}

/// Share of each type in the transactions of a range.
fn mix(evidence: ChangeEvidence<'_>, rows: &Range<usize>) -> Vec<f64> {
    let counts = &evidence.observations.counts;
    let total = |transaction| -> f64 {
        rows.clone().map(|row| counts.get(evidence.design.rows[row], transaction)).sum()
    };
    let sums: Vec<f64> = (0..counts.cols()).map(total).collect();
    let total: f64 = sums.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    sums.into_iter().map(|sum| sum / total).collect()
}

fn segment(evidence: ChangeEvidence<'_>, interval: &MergedInterval) -> Segment {
    let rows = evidence.observed(&interval.rows);
    Segment {
        model: model(evidence, std::slice::from_ref(&interval.rows)),
        rows,
        kind: interval.kind.clone(),
    }
}

fn groups(evidence: ChangeEvidence<'_>, merged: &[MergedInterval], count: usize) -> Vec<Group> {
    let fitted_group = |group: usize| {
        let is_member = |interval: &MergedInterval| interval.kind == SegmentKind::Normal { group };
        let segments: Vec<usize> = (0..merged.len()).filter(|&index| is_member(&merged[index])).collect();
        let rows: Vec<Range<usize>> = segments.iter().map(|&index| merged[index].rows.clone()).collect();
        Group { model: model(evidence, &rows), segments }
    };
    (0..count).map(fitted_group).collect()
}

/// The model of ranges of regression rows, with standard errors if there are enough windows.
fn model(evidence: ChangeEvidence<'_>, rows: &[Range<usize>]) -> TransactionModel {
    let observed: Vec<Range<usize>> = rows.iter().map(|rows| evidence.observed(rows)).collect();
    nnls_model(evidence.observations, &observed).unwrap_or_else(|_| short_model(evidence, rows))
}

/// The fit of fewer windows than coefficients, without standard errors.
fn short_model(evidence: ChangeEvidence<'_>, rows: &[Range<usize>]) -> TransactionModel {
    let design = evidence.design;
    let fit: Fit = design.fit(&[FitPart { rows, drift: Drift::NONE }], f64::INFINITY);
    let seconds = evidence.observations.window_s * evidence.observations.cores / 100.0;
    let mut demand_s = vec![0.0; evidence.observations.counts.cols()];
    for (k, &transaction) in design.types.iter().enumerate() {
        demand_s[transaction] = fit.coefficients[1 + k] / design.scale[1 + k] * seconds;
    }
    let used: f64 = rows.iter().cloned().flatten().map(|row| design.regression.response[row]).sum();
    TransactionModel {
        constant_percent: fit.coefficients[0],
        standard_error_s: vec![f64::NAN; demand_s.len()],
        demand_s,
        condition: f64::INFINITY,
        error: design.misfit(&fit, Drift::NONE, rows).absolute / used.max(f64::MIN_POSITIVE),
    }
}

fn region_changes(evidence: ChangeEvidence<'_>, intervals: &[CutInterval]) -> Vec<Change> {
    let is_anomalous = |index: usize| matches!(intervals[index].kind, CutIntervalKind::Anomalous(_));
    let mut changes = Vec::new();
    for (index, interval) in intervals.iter().enumerate() {
        let row = evidence.observed(&interval.rows).start;
        let onset = Onset { row, earliest: row, latest: row };
        let follows = index > 0 && is_anomalous(index - 1);
        let kind = match (follows, is_anomalous(index)) {
            (false, true) => ChangeKind::AnomalyStart,
            (true, false) => ChangeKind::AnomalyEnd,
            _ => continue,
        };
        changes.push(Change { kind, onset, error_ratio: f64::NAN, transactions: Vec::new(), cpu: None });
    }
    changes
}

fn change(evidence: ChangeEvidence<'_>, intervals: &[CutInterval], dated: &DatedBoundary) -> Option<Change> {
    let boundary = &dated.boundary;
    let moved = || (is_reported(evidence, intervals, dated)).then_some(ChangeKind::WorkloadChange);
    Some(Change {
        kind: boundary.kind.or_else(moved)?,
        onset: dated.onset,
        error_ratio: boundary.error_ratio,
        transactions: boundary.transactions.clone(),
        cpu: boundary.cpu,
    })
}

/// Order of changes at one row: the end of an anomaly comes first.
fn order(kind: ChangeKind) -> u8 {
    match kind {
        ChangeKind::AnomalyEnd => 0,
        ChangeKind::WorkloadChange | ChangeKind::Unexplained => 1,
        ChangeKind::ApplicationChange
        | ChangeKind::WaitChange
        | ChangeKind::HostChange
        | ChangeKind::Rollback { .. } => 2,
        ChangeKind::AnomalyStart => 3,
    }
}

fn cautions(evidence: ChangeEvidence<'_>, segments: &[Segment], dated: &[DatedBoundary]) -> Vec<String> {
    let mut cautions: Vec<String> = dated.iter().flat_map(|dated| dated.boundary.cautions.clone()).collect();
    let saturated = evidence.observations.utilization.len() - evidence.design.rows.len();
    if saturated > 0 {
        cautions.push(format!(
            "{saturated} windows are left out because the CPU is saturated in them or directly beside them: its use does not \
             grow with what completes."
        ));
    }
    if evidence.services.series.is_empty() {
        cautions.push(
            "Without response times there is no signature: changes below about a tenth of the CPU used cannot be \
             distinguished from a drifting background, and the transactions named come from their counts alone."
                .to_owned(),
        );
    }
    if !segments.iter().any(|segment| matches!(segment.kind, SegmentKind::Normal { .. })) {
        cautions.push(format!("No interval has a stable model ({TOO_SHORT}, or {UNEXPLAINED})."));
    }
    if dated.iter().any(|dated| dated.boundary.kind == Some(ChangeKind::Unexplained)) {
        cautions.push("The resource model changed, and no transaction explains it.".to_owned());
    }
    cautions
}
