//! Groups the segments that have one model: the same application under different workloads.

use std::ops::Range;

use super::CherkasovaSettings;
use super::fitted_segments::FittedSegment;
use crate::segmentation::{WindowFit, WindowRegression, error_percent};

/// Relative precision of utilization: smaller errors count as this in ratios.
const ERROR_FLOOR: f64 = 0.001;

/// Segments with one model.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ModelGroup {
    /// Indices of its segments, increasing.
    pub(super) segments: Vec<usize>,
    pub(super) rows: Vec<Range<usize>>,
    /// The fit to all of them.
    pub(super) fit: WindowFit,
}

/// How a normal segment relates to the group before it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct ReconcileStep {
    pub(super) segment: usize,
    /// The group it is in.
    pub(super) group: usize,
    pub(super) outcome: ReconcileOutcome,
    /// Error of one model with the current group over that of two; NaN for the first segment.
    pub(super) ratio: f64,
    /// Relative absolute error of that one model in percent; NaN for the first segment.
    pub(super) joint_error: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReconcileOutcome {
    /// The first normal segment of all.
    First,
    /// The current model still holds.
    Same,
    /// Neither the current model nor any earlier one holds.
    New,
    /// An earlier group's model holds again.
    Earlier,
}

/// Groups in order of first appearance, and how each normal segment was assigned.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Reconciled {
    pub(super) groups: Vec<ModelGroup>,
    pub(super) steps: Vec<ReconcileStep>,
}

/// Groups the normal segments from left to right: each joins the current group if one model describes both (section 4.3, step
/// 3). Otherwise, if the variant allows it, the earlier group with the smallest error ratio, if one model describes both.
pub(super) fn reconcile(
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    segments: &[FittedSegment],
) -> Reconciled {
    let mut out = Reconciled { groups: Vec::new(), steps: Vec::new() };
    for (index, segment) in segments.iter().enumerate().filter(|(_, segment)| segment.is_normal()) {
        let step = match out.steps.last().copied() {
            None => ReconcileStep {
                segment: index,
                group: 0,
                outcome: ReconcileOutcome::First,
                ratio: f64::NAN,
                joint_error: f64::NAN,
            },
            Some(last) => find_group(regression, settings, &out.groups, last.group, index, segment),
        };
        out.steps.push(step);
        match out.groups.get_mut(step.group) {
            Some(group) => group.extend(regression, index, segment),
            None => out.groups.push(ModelGroup::new(index, segment)),
        }
    }
    out
}

impl ModelGroup {
    fn new(index: usize, segment: &FittedSegment) -> ModelGroup {
        ModelGroup { segments: vec![index], rows: vec![segment.rows.clone()], fit: segment.fit.clone() }
    }

    fn extend(&mut self, regression: &WindowRegression, index: usize, segment: &FittedSegment) {
        self.segments.push(index);
        self.rows.push(segment.rows.clone());
        self.fit = regression.fit(&self.rows);
    }
}

/// The group of a segment when `current` is the current group.
fn find_group(
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    groups: &[ModelGroup],
    current: usize,
    index: usize,
    segment: &FittedSegment,
) -> ReconcileStep {
    let variant = settings.mode.variant();
    let now = JointModel::new(regression, &groups[current], segment);
    let step = |group, outcome| ReconcileStep {
        segment: index,
        group,
        outcome,
        ratio: now.ratio,
        joint_error: now.error,
    };
    if variant.accepts(&now, settings) {
        return step(current, ReconcileOutcome::Same);
    }
    if !variant.allows_rollback() {
        return step(groups.len(), ReconcileOutcome::New);
    }
    let others = (0..groups.len()).filter(|&group| group != current);
    let joint = |group| (group, JointModel::new(regression, &groups[group], segment));
    let holding = others.map(joint).filter(|(_, joint)| variant.accepts(joint, settings));
    match holding.min_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio)) {
        Some((group, _)) => step(group, ReconcileOutcome::Earlier),
        None => step(groups.len(), ReconcileOutcome::New),
    }
}

/// One model for a group and a segment.
pub(super) struct JointModel {
    /// Error of one model over that of two.
    pub(super) ratio: f64,
    /// Relative absolute error of one model, in percent.
    pub(super) error: f64,
    /// Relative absolute error of two models, in percent.
    pub(super) separate_error: f64,
}

impl JointModel {
    fn new(regression: &WindowRegression, group: &ModelGroup, segment: &FittedSegment) -> JointModel {
        let rows: Vec<Range<usize>> = group.rows.iter().chain([&segment.rows]).cloned().collect();
        let joint = regression.fit(&rows);
        let separate = group.fit.absolute + segment.fit.absolute;
        let floor = ERROR_FLOOR * joint.load;
        let ratio = if joint.absolute > floor { joint.absolute / separate.max(floor) } else { 1.0 };
        JointModel {
            ratio,
            error: joint.error_percent(),
            separate_error: error_percent(separate, group.fit.load + segment.fit.load),
        }
    }
}
