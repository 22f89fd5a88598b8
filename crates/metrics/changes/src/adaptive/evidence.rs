//! Step 5: evidence from service times and counts for a change between two ranges of windows.

use std::ops::Range;

use super::design::Design;
use super::service_events::ServiceTimes;
use super::settings::ChangeSettings;
use super::shift::ServiceShift;
use crate::naming::{Conclusive, TypeStep, type_steps};
use crate::signature::signature;
use crate::{ChangedQuantity, Observations, ServiceTime, TransactionChange};

/// Minimum share of transactions with known times to refute a change.
const COVERAGE_MIN: f64 = 0.8;
/// Width of the bound on what service times explain, in standard errors.
const BOUND_ERRORS: f64 = 2.0;
/// A shift of a type contributes to the explanation if it exceeds this number of standard errors.
const PART_ERRORS: f64 = 4.0;

/// Maximum variance of the residuals, over the usual noise, for a change that counts alone name.
const OVERDISPERSION_MAX: f64 = 1.5;

/// Maximum ratio of the demands after and before of a type that counts name although its time did not move: its additional work
/// would come after the response. Where more would be needed, the counts of a rare type stand in for those of another.
const WORK_AFTER_RESPONSE_MAX: f64 = 4.0;

/// Number of standard errors by which a demand that counts name may be below zero. Where it is further below, the type stands in for
/// another whose counts vary with it.
const POSSIBLE_ERRORS: f64 = 2.0;

/// The inputs of the evidence.
#[derive(Clone, Copy)]
pub(super) struct ChangeEvidence<'a> {
    pub(super) observations: &'a Observations,
    pub(super) design: &'a Design,
    pub(super) services: &'a ServiceTimes,
    pub(super) settings: &'a ChangeSettings,
}

/// Whether service times explain a change of the CPU use.
pub(super) enum Explanation {
    /// Too few service times are known.
    Unknown,
    /// They may explain it; these transactions changed.
    Possible(Vec<TransactionChange>),
    /// They do not explain it.
    Refuted,
}

impl ChangeEvidence<'_> {
    /// Observation rows of a range of regression rows, including saturated ones in between.
    pub(super) fn observed(&self, rows: &Range<usize>) -> Range<usize> {
        let all = &self.design.rows;
        let start = if rows.start == 0 { 0 } else { all[rows.start] };
        let end = all.get(rows.end).copied().unwrap_or(self.observations.utilization.len());
        start..end
    }

    /// The shifts of service times from one range of observation rows to another.
    pub(super) fn shifts(
        &self,
        before: &Range<usize>,
        after: &Range<usize>,
        score_min: f64,
    ) -> Vec<ServiceShift> {
        self.services.shifts(before, after, self.settings, score_min)
    }

    /// The transactions whose service time changed, the largest difference first.
    pub(super) fn changed(
        &self,
        shifts: &[ServiceShift],
        before: &Range<usize>,
        after: &Range<usize>,
    ) -> Vec<TransactionChange> {
        let changed = shifts.iter().filter(|shift| shift.is_change);
        self.described(changed, before, after)
    }

    /// The transactions of `shifts` with their service times, the largest difference first.
    pub(super) fn described<'s>(
        &self,
        shifts: impl Iterator<Item = &'s ServiceShift>,
        before: &Range<usize>,
        after: &Range<usize>,
    ) -> Vec<TransactionChange> {
        let old = signature(self.observations, std::slice::from_ref(before));
        let new = signature(self.observations, std::slice::from_ref(after));
        let mut changes: Vec<TransactionChange> =
            shifts.map(|shift| change(shift, old[shift.transaction], new[shift.transaction])).collect();
        sort_by_difference(&mut changes);
        changes
    }

    /// Whether the shifts may explain a change of the utilization by `excess_percent`.
    pub(super) fn explanation(
        &self,
        shifts: &[ServiceShift],
        excess_percent: f64,
        before: &Range<usize>,
        after: &Range<usize>,
    ) -> Explanation {
        let observations = self.observations;
        let old = signature(observations, std::slice::from_ref(before));
        let windows = after.len().max(1) as f64;
        let mean = |transaction: usize| {
            after.clone().map(|row| observations.counts.get(row, transaction)).sum::<f64>() / windows
        };
        let total: f64 = (0..observations.counts.cols()).map(mean).sum();
        let known: f64 = shifts.iter().map(|shift| mean(shift.transaction)).sum();
        if shifts.is_empty() || known < COVERAGE_MIN * total {
            return Explanation::Unknown;
        }
        let percent = 100.0 / (observations.window_s * observations.cores);
        let (mut explained, mut variance) = (0.0, 0.0);
        for shift in shifts {
            let Some(old) = old[shift.transaction] else { continue };
            let weight = percent * mean(shift.transaction) * old.seconds;
            explained += weight * shift.size.exp_m1();
            variance += (weight * shift.standard_error * shift.size.exp()).powi(2);
        }
        let bound = explained * excess_percent.signum() + BOUND_ERRORS * variance.sqrt();
        if bound < self.settings.explained_min * excess_percent.abs() {
            return Explanation::Refuted;
        }
        let takes_part =
            |shift: &&ServiceShift| shift.size * excess_percent.signum() > PART_ERRORS * shift.standard_error;
        Explanation::Possible(self.described(shifts.iter().filter(takes_part), before, after))
    }

    /// The transactions whose demand changed, from counts and utilization; none if those are not conclusive or name a demand
    /// below zero, and with `is_alone` none unless they explain the utilization as well as it usually is, by a plausible demand:
    /// times do not confirm them.
    pub(super) fn named_by_counts(
        &self,
        before: &[Range<usize>],
        after: &[Range<usize>],
        old_demand_s: &[f64],
        is_alone: bool,
    ) -> Vec<TransactionChange> {
        let singles = 1..1 + self.design.types.len();
        let conclusive = if is_alone { Conclusive::Probable(&self.design.scale) } else { Conclusive::Clear };
        let bounds = self.settings.drift_bounds();
        let naming = type_steps(&self.design.regression, before, after, singles, bounds, conclusive);
        if is_alone && naming.overdispersion > OVERDISPERSION_MAX {
            return Vec::new();
        }
        let seconds = self.observations.window_s * self.observations.cores / 100.0;
        let unit = |step: &TypeStep| seconds / self.design.scale[step.column];
        let is_possible = |step: &TypeStep| {
            let most = step.size + POSSIBLE_ERRORS * step.standard_error;
            most * unit(step) >= -old_demand_s[self.design.types[step.column - 1]]
        };
        if !naming.steps.iter().all(is_possible) {
            return Vec::new();
        }
        let described = naming.steps.iter().map(|step| {
            let transaction = self.design.types[step.column - 1];
            let unit = unit(step);
            let before_s = old_demand_s[transaction];
            TransactionChange {
                transaction,
                before_s,
                after_s: (before_s + step.size * unit).max(0.0),
                standard_error_s: step.standard_error * unit,
                quantity: ChangedQuantity::Cpu,
            }
        });
        let mut changes: Vec<TransactionChange> = described.collect();
        if is_alone && changes.iter().any(|change| change.after_s > WORK_AFTER_RESPONSE_MAX * change.before_s)
        {
            return Vec::new();
        }
        sort_by_difference(&mut changes);
        changes
    }
}

fn change(shift: &ServiceShift, old: Option<ServiceTime>, new: Option<ServiceTime>) -> TransactionChange {
    let before_s = old.map_or(f64::NAN, |old| old.seconds);
    let after_s = new.map_or(before_s * shift.size.exp(), |new| new.seconds);
    TransactionChange {
        transaction: shift.transaction,
        before_s,
        after_s,
        standard_error_s: after_s * shift.standard_error,
        quantity: ChangedQuantity::Time,
    }
}

pub(super) fn sort_by_difference(changes: &mut [TransactionChange]) {
    let size = |change: &TransactionChange| (change.after_s - change.before_s).abs();
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.transaction.cmp(&b.transaction)));
}
