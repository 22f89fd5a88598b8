//! Step 6: groups the intervals by model, and determines the boundaries between them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::cost_comparison::{CostComparison, CostSide};
use super::evidence::ChangeEvidence;
use super::fit::thinned;
use super::intervals::{CutInterval, CutIntervalKind, LARGE_CONSTANT};
use super::relation::{Comparison, Relation, WindowSets};
use super::sudden::is_sudden;
use super::verdict::{BoundaryVerdict, CutFacts, KNOWN_CUT_ERRORS};
use crate::{ChangeKind, CpuSplit, Observations, TransactionChange, nnls_model};

/// A change of service times within this number of windows of a cut is the same event.
const NEAR: usize = 10;
/// Number of windows of either side from which models are compared: the nearest.
const NEAREST: usize = 300;

/// Maximum number of windows compared: of longer groups and segments every k-th window is used, to bound the time.
const COMPARED_MAX: usize = 2_000;

/// Windows of one model.
#[derive(Clone, Debug)]
pub(super) struct ModelGroup {
    /// Indices of its intervals, increasing.
    pub(super) intervals: Vec<usize>,
    /// Their regression rows.
    pub(super) rows: Vec<Range<usize>>,
}

/// The boundary between a normal interval and the next one.
#[derive(Clone, Debug)]
pub(super) struct Boundary {
    /// Index of the interval before.
    pub(super) before: usize,
    /// Index of the interval after.
    pub(super) after: usize,
    /// `None` if one model holds on both sides.
    pub(super) kind: Option<ChangeKind>,
    pub(super) error_ratio: f64,
    pub(super) transactions: Vec<TransactionChange>,
    pub(super) cautions: Vec<String>,
    pub(super) cpu: Option<CpuSplit>,
}

/// Groups and the boundaries between them.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    pub(super) groups: Vec<ModelGroup>,
    pub(super) boundaries: Vec<Boundary>,
}

/// State of the walk over the intervals.
struct TimelineWalk<'a> {
    evidence: ChangeEvidence<'a>,
    timeline: Timeline,
    /// The group with the current model.
    current: usize,
    /// First observation row of the current model.
    since: usize,
    /// Models by their regression rows; `None` where there are too few.
    sides: RefCell<HashMap<Vec<usize>, Rc<Option<CostSide>>>>,
}

/// Walks over the normal intervals from left to right. An interval that differs from the current group only by a large
/// constant load becomes anomalous.
pub(super) fn timeline(evidence: ChangeEvidence<'_>, intervals: &mut [CutInterval]) -> Timeline {
    let normal: Vec<usize> =
        (0..intervals.len()).filter(|&index| intervals[index].kind == CutIntervalKind::Normal).collect();
    let Some(&first) = normal.first() else { return Timeline::default() };
    let start = evidence.observed(&intervals[first].rows).start;
    let group = ModelGroup { intervals: vec![first], rows: vec![intervals[first].rows.clone()] };
    let timeline = Timeline { groups: vec![group], boundaries: Vec::new() };
    let mut walk = TimelineWalk { evidence, timeline, current: 0, since: start, sides: RefCell::default() };
    let mut before = first;
    for &after in &normal[1..] {
        if walk.step(intervals, before, after) {
            before = after;
        } else {
            intervals[after].kind = CutIntervalKind::Anomalous(LARGE_CONSTANT);
        }
    }
    walk.timeline
}

impl TimelineWalk<'_> {
    /// Classifies interval `after`; false if it is anomalous.
    fn step(&mut self, intervals: &[CutInterval], before: usize, after: usize) -> bool {
        let rows = intervals[after].rows.clone();
        // After an anomaly, a step of the load is one of the anomaly, and not between the two intervals compared.
        let is_load_step = intervals[after].is_load_step && after == before + 1;
        let judged = if is_load_step { rows.clone() } else { with_load_steps(intervals, after) };
        let compared = self.compare(self.current, &judged);
        let observed = self.evidence.observed(&judged);
        let (old, new) = (self.since..observed.start, observed.start..self.until(observed.clone()));
        let facts = CutFacts {
            evidence: self.evidence,
            compared,
            costs: self.costs(self.current, &judged),
            old,
            new: new.clone(),
            is_event: self.is_event(intervals[before].rows.end, observed.start),
            is_load_step,
            is_sudden: intervals[after].is_load_step
                || (after == before + 1 && is_sudden(self.evidence, &intervals[before].rows, &judged)),
        };
        let Some(verdict) = facts.verdict(|is_alone| self.by_counts(&judged, is_alone)) else { return false };
        let cpu = verdict.cpu;
        let Some(verdict) = verdict.into_change() else {
            self.join(self.current, after, rows);
            self.bound(before, after, &compared, None, cpu);
            return true;
        };
        self.since = observed.start;
        let earlier = self.earlier_group(&judged, &new);
        let kind = match (earlier, verdict.kind) {
            (Some(to), ChangeKind::ApplicationChange | ChangeKind::HostChange) => ChangeKind::Rollback { to },
            (_, kind) => kind,
        };
        match earlier {
            Some(to) => self.join(to, after, rows),
            None => {
                self.timeline.groups.push(ModelGroup { intervals: vec![after], rows: vec![rows] });
                self.current = self.timeline.groups.len() - 1;
            }
        }
        self.bound(before, after, &compared, Some(BoundaryVerdict { kind, ..verdict }), cpu);
        true
    }

    /// The models of the nearest windows of a group and of an interval.
    fn costs(&self, group: usize, rows: &Range<usize>) -> Option<CostComparison> {
        let of_group = self.timeline.groups[group].rows.iter().cloned().flatten();
        let mut before: Vec<usize> = of_group.filter(|&row| row < rows.start).collect();
        before = before.split_off(before.len().saturating_sub(NEAREST));
        let (before, after) = (self.side(before), self.side(rows.clone().take(NEAREST).collect()));
        CostComparison::new(before.as_ref().as_ref()?, after.as_ref().as_ref()?)
    }

    /// The model of regression rows: fitted once, because the windows after one boundary are often those before the next.
    fn side(&self, rows: Vec<usize>) -> Rc<Option<CostSide>> {
        let fit = |rows: &[usize]| {
            let all = &self.evidence.design.rows;
            let ranges: Vec<Range<usize>> = rows.iter().map(|&row| all[row]..all[row] + 1).collect();
            Rc::new(CostSide::new(self.evidence.observations, &ranges))
        };
        let mut sides = self.sides.borrow_mut();
        Rc::clone(sides.entry(rows).or_insert_with_key(|rows| fit(rows)))
    }

    fn compare(&self, group: usize, rows: &Range<usize>) -> Comparison {
        let ChangeEvidence { design, settings, .. } = self.evidence;
        let group = thinned(&self.timeline.groups[group].rows, COMPARED_MAX);
        let segment = thinned(std::slice::from_ref(rows), COMPARED_MAX);
        WindowSets { design, settings, group: &group, segment: &segment }.compare()
    }

    /// Whether service times change near the beginning of an interval.
    fn is_event(&self, end_before: usize, start: usize) -> bool {
        let from = self.evidence.design.rows[end_before.min(self.evidence.design.rows.len() - 1)];
        let near = from.saturating_sub(NEAR)..=start + NEAR;
        self.evidence.services.events.iter().any(|event| near.contains(event))
    }

    /// The last observation row for service times after the start of `rows`: up to their next change.
    fn until(&self, rows: Range<usize>) -> usize {
        let next = self.evidence.services.events.iter().find(|&&event| event > rows.start + NEAR);
        next.copied()
            .unwrap_or(self.evidence.observations.utilization.len())
            .max(rows.end.min(rows.start + NEAR))
    }

    fn by_counts(&self, rows: &Range<usize>, is_alone: bool) -> BoundaryVerdict {
        let evidence = self.evidence;
        let group = &self.timeline.groups[self.current].rows;
        let demands = demands(
            evidence.observations,
            &group.iter().map(|rows| evidence.observed(rows)).collect::<Vec<_>>(),
        );
        let before = thinned(group, COMPARED_MAX);
        let after = thinned(std::slice::from_ref(rows), COMPARED_MAX);
        let transactions = evidence.named_by_counts(&before, &after, &demands, is_alone);
        let mut cautions = Vec::new();
        if transactions.is_empty() {
            cautions.push(
                "The CPU cost of transactions changed, but the counts do not show which ones: they vary together, or the \
                 cost of all of them changed."
                    .to_owned(),
            );
        }
        BoundaryVerdict { cautions, ..BoundaryVerdict::new(ChangeKind::ApplicationChange, transactions) }
    }

    /// The latest earlier group whose model and service times hold for an interval.
    fn earlier_group(&self, rows: &Range<usize>, new: &Range<usize>) -> Option<usize> {
        (0..self.timeline.groups.len()).rev().filter(|&group| group != self.current).find(|&group| {
            let longest = self.timeline.groups[group].rows.iter().max_by_key(|rows| rows.len());
            let Some(longest) = longest else { return false };
            let old = self.evidence.observed(longest);
            let shifts = self.evidence.shifts(&old, new, KNOWN_CUT_ERRORS);
            shifts.iter().all(|shift| !shift.is_change)
                && self.compare(group, rows).relation == Relation::Same
                && self.costs(group, rows).is_none_or(|costs| costs.is_same(self.evidence.settings))
        })
    }

    fn join(&mut self, group: usize, interval: usize, rows: Range<usize>) {
        self.current = group;
        self.timeline.groups[group].intervals.push(interval);
        self.timeline.groups[group].rows.push(rows);
    }

    fn bound(
        &mut self,
        before: usize,
        after: usize,
        compared: &Comparison,
        verdict: Option<BoundaryVerdict>,
        cpu: Option<CpuSplit>,
    ) {
        let (kind, transactions, cautions) = match verdict {
            Some(verdict) => (Some(verdict.kind), verdict.transactions, verdict.cautions),
            None => (None, Vec::new(), Vec::new()),
        };
        let error_ratio = compared.error_ratio;
        let boundary = Boundary { before, after, kind, error_ratio, transactions, cautions, cpu };
        self.timeline.boundaries.push(boundary);
    }
}

/// The rows of an interval and of those after it that are only cut off because the load or the mix changes: no cost changes
/// there as far as one regression shows, and a few windows at one load often do not tell a constant from a cost.
fn with_load_steps(intervals: &[CutInterval], first: usize) -> Range<usize> {
    let is_joined = |next: &&CutInterval| next.kind == CutIntervalKind::Normal && next.is_load_step;
    let joined = intervals[first + 1..].iter().take_while(is_joined);
    let rows = &intervals[first].rows;
    rows.start..joined.last().map_or(rows.end, |last| last.rows.end)
}

/// Demands of a group in seconds; 0 if there are too few windows.
fn demands(observations: &Observations, rows: &[Range<usize>]) -> Vec<f64> {
    match nnls_model(observations, rows) {
        Ok(model) => model.demand_s,
        Err(_) => vec![0.0; observations.counts.cols()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_judged_with_those_cut_off_by_steps_of_the_load() {
        let interval = |rows: Range<usize>, is_load_step| CutInterval {
            rows,
            kind: CutIntervalKind::Normal,
            is_load_step,
        };
        let mut intervals = vec![
            interval(0..50, false),
            interval(50..80, false),
            interval(80..110, true),
            interval(110..150, true),
            interval(150..200, false),
        ];
        assert_eq!(with_load_steps(&intervals, 1), 50..150);
        assert_eq!(with_load_steps(&intervals, 4), 150..200);
        intervals[2].kind = CutIntervalKind::Anomalous(LARGE_CONSTANT);
        assert_eq!(with_load_steps(&intervals, 1), 50..80);
    }
}
