//! Step 6, test: whether one model describes two sets of windows.

use std::ops::Range;

use super::design::Design;
use super::fit::{Drift, DriftBounds, Fit, FitPart, length};
use super::settings::ChangeSettings;

/// Maximum number of rounds of fitting the common model and the drift alternately.
const ROUNDS_MAX: usize = 60;
/// Rounds end when the constant changes by less than this, in percent, and the scale by a hundredth of it.
const SETTLED: f64 = 0.01;
/// A difference of two fits is significant from this number of standard deviations above its expectation.
const DEVIATIONS: f64 = 5.0;
/// Minimum advantage in `Σ e²/variance` for one explanation to be preferred.
const PREFERENCE: f64 = 10.0;

/// How a segment relates to an earlier group of windows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Relation {
    /// One model, possibly with a negligible drift.
    Same,
    /// The same model with an additional constant load, in percent of the CPU.
    Constant(f64),
    /// Another model.
    Model,
}

/// The comparison of a segment with a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comparison {
    pub(super) relation: Relation,
    /// `Σ|e_joint| / (Σ|e_group| + Σ|e_segment|)`.
    pub(super) error_ratio: f64,
    /// Mean residual of one model for both, in the segment minus in the group, in percent of the CPU. The
    /// part of the change that this model absorbs is not included.
    pub(super) excess_percent: f64,
}

/// Two sets of windows.
pub(super) struct WindowSets<'a> {
    pub(super) design: &'a Design,
    pub(super) settings: &'a ChangeSettings,
    pub(super) group: &'a [Range<usize>],
    pub(super) segment: &'a [Range<usize>],
}

/// One model for both sets of windows, and the drift of the segment.
struct JointFit {
    fit: Fit,
    drift: Drift,
}

impl WindowSets<'_> {
    /// Compares. One model holds if, with a drift within the settings, its error on either side is at most
    /// `reconcile_ratio_max` times that of a separate fit, or within noise, or negligible.
    pub(super) fn compare(&self) -> Comparison {
        let free = f64::INFINITY;
        let part = |rows| [FitPart { rows, drift: Drift::NONE }];
        let group = self.design.fit(&part(self.group), free);
        let segment = self.design.fit(&part(self.segment), free);
        let constant_max = self.settings.constant_max_percent.max(0.0);
        let bounds = self.settings.drift_bounds();
        let joint = self.joint(bounds, constant_max);
        let (error_ratio, excess_percent) = self.joint_errors(&group, &segment, constant_max);
        let relation = if self.is_enough(&joint, &group, &segment) {
            Relation::Same
        } else {
            self.constant_or_model(bounds, constant_max, &group, &segment)
        };
        Comparison { relation, error_ratio, excess_percent }
    }

    /// Tests whether a different constant alone explains the segment, better than a different cost of all transactions does.
    fn constant_or_model(
        &self,
        bounds: DriftBounds,
        constant_max: f64,
        group: &Fit,
        segment: &Fit,
    ) -> Relation {
        let constant = self.joint(DriftBounds { constant: f64::INFINITY, ..bounds }, constant_max);
        let scale = self.joint(DriftBounds { scale: f64::INFINITY, ..bounds }, constant_max);
        let unexplained = |joint: &JointFit| {
            self.design.misfit(&joint.fit, joint.drift, self.segment).square
                + self.design.misfit(&joint.fit, Drift::NONE, self.group).square
        };
        let prefers = unexplained(&constant) + PREFERENCE < unexplained(&scale);
        if prefers && self.is_enough(&constant, group, segment) {
            return Relation::Constant(constant.drift.constant);
        }
        Relation::Model
    }

    /// A common model and the drift of the segment, fitted alternately.
    fn joint(&self, bounds: DriftBounds, constant_max: f64) -> JointFit {
        // The rounds run on a compressed regression, which has about as many rows as columns.
        let few = self.design.regression.columns() + 1;
        let (group, segment) =
            (Vec::from([Range { start: 0, end: few }]), vec![Range { start: few, end: 2 * few }]);
        let design = &self.design.compressed(&[self.group, self.segment]);
        let small = WindowSets { design, settings: self.settings, group: &group, segment: &segment };
        let mut drift = Drift::NONE;
        let mut fit = small.fit_joint(drift, constant_max);
        for _ in 0..ROUNDS_MAX {
            let next = design.drift(&fit, small.segment, bounds);
            fit = small.fit_joint(next, constant_max);
            let moved = (next.constant - drift.constant).abs().max(100.0 * (next.scale - drift.scale).abs());
            drift = next;
            if moved < SETTLED {
                break;
            }
        }
        JointFit { drift: design.drift(&fit, small.segment, bounds), fit }
    }

    fn fit_joint(&self, drift: Drift, constant_max: f64) -> Fit {
        let parts = [FitPart { rows: self.group, drift: Drift::NONE }, FitPart { rows: self.segment, drift }];
        self.design.fit(&parts, constant_max)
    }

    fn is_enough(&self, joint: &JointFit, group: &Fit, segment: &Fit) -> bool {
        self.holds(joint, Drift::NONE, self.group, group)
            && self.holds(joint, joint.drift, self.segment, segment)
    }

    /// Whether the joint model is good enough for the windows of one side.
    fn holds(&self, joint: &JointFit, drift: Drift, rows: &[Range<usize>], own: &Fit) -> bool {
        let joint_misfit = self.design.misfit(&joint.fit, drift, rows);
        let own_absolute = self.design.own_absolute(own, rows);
        if joint_misfit.absolute <= self.settings.reconcile_ratio_max * own_absolute {
            return true;
        }
        let used: f64 = rows.iter().cloned().flatten().map(|row| self.design.regression.response[row]).sum();
        if joint_misfit.absolute - own_absolute <= self.settings.excess_error_min * used {
            return true;
        }
        let degrees = self.design.regression.columns() as f64;
        let least = self.design.misfit(own, Drift::NONE, rows).square;
        joint_misfit.square - least <= degrees + DEVIATIONS * (2.0 * degrees).sqrt()
    }

    /// The paper's error ratio, and the mean residual of one model in the segment minus that in the group.
    fn joint_errors(&self, group: &Fit, segment: &Fit, constant_max: f64) -> (f64, f64) {
        let absolute = |fit: &Fit, rows| self.design.misfit(fit, Drift::NONE, rows).absolute;
        let plain = self.fit_joint(Drift::NONE, f64::INFINITY);
        let together = absolute(&plain, self.group) + absolute(&plain, self.segment);
        let difference = absolute(group, self.group) + absolute(segment, self.segment);
        let bound = self.fit_joint(Drift::NONE, constant_max);
        let excess = self.mean_residual(&bound, self.segment) - self.mean_residual(&bound, self.group);
        (if difference > 0.0 { together / difference } else { f64::NAN }, excess)
    }

    fn mean_residual(&self, fit: &Fit, rows: &[Range<usize>]) -> f64 {
        let sum: f64 =
            rows.iter().cloned().flatten().map(|row| self.design.residual(fit, Drift::NONE, row)).sum();
        sum / length(rows).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Observations;
    use laggard_numeric::Matrix;

    /// One type of 10 ms: 100 windows at 600 to 1,600 transactions a minute, then 60 at 900 to 2,400 that cost
    /// `factor` times as much, plus `background` percent more constant load. Noise −0.3, 0, 0.3 % in turn.
    fn relation(factor: f64, background: f64) -> Comparison {
        let window = |t: usize| {
            let (level, factor, background) =
                if t < 100 { (1.0, 1.0, 2.0) } else { (1.5, factor, 2.0 + background) };
            let count = level * (600.0 + 100.0 * ((t * 7) % 11) as f64);
            (count, (background + count * factor * 0.010 / 0.60 + 0.3 * ((t % 3) as f64 - 1.0)) / 100.0)
        };
        let windows: Vec<(f64, f64)> = (0..160).map(window).collect();
        let observations = Observations {
            window_s: 60.0,
            windows: (0..160).collect(),
            counts: Matrix::from_row_major(160, 1, windows.iter().map(|window| window.0).collect()),
            utilization: windows.iter().map(|window| window.1).collect(),
            response_s: Matrix::zeros(0, 0),
            cores: 1.0,
        };
        let settings = ChangeSettings::default();
        let design = Design::new(&observations, &settings);
        let (group, segment) =
            (Vec::from([Range { start: 0, end: 100 }]), Vec::from([Range { start: 100, end: 160 }]));
        WindowSets { design: &design, settings: &settings, group: &group, segment: &segment }.compare()
    }

    #[test]
    fn more_load_and_a_small_drift_keep_the_model() {
        let moved = relation(1.0, 0.0);
        assert_eq!(moved.relation, Relation::Same);
        assert!((moved.error_ratio - 1.0).abs() < 0.05, "{moved:?}");
        assert_eq!(relation(1.03, 0.4).relation, Relation::Same);
    }

    #[test]
    fn foreign_load_changes_the_constant_and_costlier_transactions_change_the_model() {
        let Relation::Constant(percent) = relation(1.0, 15.0).relation else {
            panic!("{:?}", relation(1.0, 15.0))
        };
        assert!((percent - 15.0).abs() < 0.7, "{percent}");
        let costlier = relation(1.3, 0.0);
        assert_eq!(costlier.relation, Relation::Model);
        assert!(costlier.excess_percent > 1.0 && costlier.error_ratio > 1.5, "{costlier:?}");
        assert_eq!(relation(0.7, 0.0).relation, Relation::Model);
    }
}
