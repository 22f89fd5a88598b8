//! Step 6: the kind of a boundary, from the regression, the service times, and the demands of both sides.

use std::ops::Range;

use super::cost_comparison::{CostComparison, DemandPair, TimeBasis, TimePair};
use super::evidence::{ChangeEvidence, Explanation, sort_by_difference};
use super::proportions::{Proportions, common_ratios};
use super::relation::{Comparison, Relation};
use super::settings::ChangeSettings;
use super::shift::ServiceShift;
use laggard_numeric::median_of;

use crate::{ChangeKind, ChangedQuantity, CpuSplit, TransactionChange};

/// Number of standard errors for a change of a service time at a known cut, where no search was involved.
pub(super) const KNOWN_CUT_ERRORS: f64 = 4.0;
/// Least relevant change of the CPU that transactions take together, as a logarithm.
const CPU_MIN: f64 = 0.04;
/// … in standard errors beyond that.
const CPU_ERRORS: f64 = 4.0;
/// Part of `effect-min` below which nothing is at stake.
const EFFECT_PART: f64 = 0.5;
/// Number of standard errors within which the CPU is what the old costs predict.
const UNMOVED_ERRORS: f64 = 2.0;
/// The CPU change predicted from changed times must be this many standard errors for the CPU to confirm or refute it.
const DECIDABLE_ERRORS: f64 = 2.5;
/// Part of the predicted change of the CPU above which it confirms the times.
const CONFIRMED_PART: f64 = 0.4;
/// Types changed by one factor if the logarithms of their ratios differ by less than this, or by their errors.
const COMMON_WITHIN: f64 = 0.06;
/// Number of standard errors by which the cost of a transaction must differ to be named: of a dozen types, the largest difference
/// by chance exceeds 1.96 every other time, and 3 once in 30.
const SIGNIFICANT_ERRORS: f64 = 3.0;
/// Relative error of the formula of queueing: measured servers take up to 0.3 less, as a logarithm, at 80 % load than at 20 %,
/// whose idle shares differ by 1.4.
const QUEUEING_FORMULA_ERROR: f64 = 0.25;
/// On a slower host, times may differ from their common factor by this share: caches and memory do not slow down alike.
const HOST_WITHIN: f64 = 0.1;
/// Demands of more types than this are not compared one by one: too many vary together. Counts on both sides of the cut,
/// with all other demands in common, name them more reliably.
const SEPARABLE_TYPES: usize = 4;
/// Part of the types, and of the work, that has changed by a common factor.
const COMMON_PART: f64 = 0.8;

/// A verdict of times and CPU must not contradict the CPU by more standard errors.
const MISFIT_MAX: f64 = 4.0;

/// Whether the CPU changed as `differences` of the demands, in seconds, predict.
fn cpu_verdict(
    costs: &CostComparison,
    differences: &[(usize, f64)],
    settings: &ChangeSettings,
) -> CpuVerdict {
    let predicted = costs.log_ratio_of(differences);
    let cpu = costs.cpu;
    if predicted.abs() > DECIDABLE_ERRORS * cpu.standard_error {
        // The cost of everything may have drifted the other way at the same time.
        let most = cpu.log_ratio * predicted.signum() + settings.drift_scale;
        let least = CONFIRMED_PART * predicted.abs();
        return match cpu.log_ratio * predicted.signum() >= least {
            true => CpuVerdict::Confirmed,
            false if most < least => CpuVerdict::Refuted,
            false => CpuVerdict::Undecided,
        };
    }
    let distinct = costs.distinct(settings.service_change_min);
    let is_distinct = |&(transaction, seconds): &(usize, f64)| {
        let same = |pair: &&DemandPair| pair.transaction == transaction;
        distinct.iter().find(same).is_some_and(|pair| pair.difference_s() * seconds > 0.0)
    };
    if differences.iter().all(is_distinct) { CpuVerdict::Confirmed } else { CpuVerdict::Undecided }
}

/// Facts about a cut.
pub(super) struct CutFacts<'a> {
    pub(super) evidence: ChangeEvidence<'a>,
    pub(super) compared: Comparison,
    /// The models of both sides; `None` if a side is too short.
    pub(super) costs: Option<CostComparison>,
    /// Observation rows for service times.
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
    /// Whether a service time changes here.
    pub(super) is_event: bool,
    /// Whether the cut is only there because the load or the mix changes.
    pub(super) is_load_step: bool,
    /// Whether the CPU steps here instead of drifting.
    pub(super) is_sudden: bool,
}

/// The classification of a boundary.
pub(super) struct BoundaryVerdict {
    pub(super) kind: ChangeKind,
    pub(super) transactions: Vec<TransactionChange>,
    pub(super) cautions: Vec<String>,
    pub(super) cpu: Option<CpuSplit>,
}

impl BoundaryVerdict {
    pub(super) fn new(kind: ChangeKind, transactions: Vec<TransactionChange>) -> BoundaryVerdict {
        BoundaryVerdict { kind, transactions, cautions: Vec::new(), cpu: None }
    }

    /// `None` if the model still holds.
    pub(super) fn into_change(self) -> Option<BoundaryVerdict> {
        (self.kind != ChangeKind::WorkloadChange).then_some(self)
    }
}

/// What the CPU says about transactions whose times changed.
enum CpuVerdict {
    Confirmed,
    Refuted,
    /// Their part of the CPU is too small to say.
    Undecided,
}

impl CutFacts<'_> {
    /// The kind of the change; `None` if the interval is anomalous. `by_counts` names transactions by their counts alone, with
    /// `true` only if they explain all of it.
    pub(super) fn verdict(&self, by_counts: impl Fn(bool) -> BoundaryVerdict) -> Option<BoundaryVerdict> {
        let verdict = self.kind(by_counts)?;
        Some(BoundaryVerdict { cpu: self.costs.as_ref().map(|costs| costs.cpu), ..verdict })
    }

    fn kind(&self, by_counts: impl Fn(bool) -> BoundaryVerdict) -> Option<BoundaryVerdict> {
        let evidence = self.evidence;
        let shifts = evidence.shifts(&self.old, &self.new, KNOWN_CUT_ERRORS);
        let is_other = self.compared.relation != Relation::Same && !self.is_load_step;
        let is_constant = matches!(self.compared.relation, Relation::Constant(_)) && !self.is_load_step;
        let is_host = self.costs.as_ref().is_some_and(|costs| self.is_host(costs, &shifts));
        if is_host && !(is_constant && shifts.is_empty()) {
            return Some(BoundaryVerdict::new(ChangeKind::HostChange, Vec::new()));
        }
        let times = evidence.changed(&shifts, &self.old, &self.new);
        if !times.is_empty() && (self.is_event || is_other) {
            return Some(self.by_times(times));
        }
        if let Some(verdict) = self.costs.as_ref().and_then(|costs| self.by_proportions(costs, &shifts)) {
            return Some(verdict);
        }
        let is_constant = is_constant && !self.times_follow(&shifts);
        if !is_constant && let Some(verdict) = self.by_demands(&shifts, &by_counts) {
            return Some(verdict);
        }
        if !is_other {
            return Some(BoundaryVerdict::new(ChangeKind::WorkloadChange, Vec::new()));
        }
        match self.compared.relation {
            Relation::Same => Some(BoundaryVerdict::new(ChangeKind::WorkloadChange, Vec::new())),
            Relation::Constant(percent) if percent > evidence.settings.constant_max_percent => None,
            Relation::Constant(_) => Some(BoundaryVerdict::new(ChangeKind::Unexplained, Vec::new())),
            Relation::Model => {
                match evidence.explanation(&shifts, self.compared.excess_percent, &self.old, &self.new) {
                    Explanation::Possible(named) if !named.is_empty() => Some(self.by_times(named)),
                    _ if self.is_unmoved() => {
                        Some(BoundaryVerdict::new(ChangeKind::WorkloadChange, Vec::new()))
                    }
                    Explanation::Refuted => Some(self.without_times(by_counts)),
                    Explanation::Possible(_) | Explanation::Unknown => Some(by_counts(false)),
                }
            }
        }
    }

    /// Types whose time changed in proportion to that of the others, which queueing does not do.
    fn by_proportions(&self, costs: &CostComparison, shifts: &[ServiceShift]) -> Option<BoundaryVerdict> {
        let mut best: Option<Proportions> = None;
        for common in common_ratios(&costs.times) {
            let candidate = Proportions::new(costs, common, self.settings().service_change_min.ln_1p());
            let misfit = candidate.misfit(costs);
            if !candidate.changed.is_empty() && best.as_ref().is_none_or(|best| misfit < best.misfit(costs)) {
                best = Some(candidate);
            }
        }
        let best = best?;
        if best.changed.len() > costs.times.len().div_ceil(2) {
            return None;
        }
        match cpu_verdict(costs, &best.differences(costs), self.settings()) {
            CpuVerdict::Confirmed if best.misfit(costs) < MISFIT_MAX => {
                let changed: Vec<usize> = best.changed.iter().map(|(pair, _)| pair.transaction).collect();
                let basis = costs.basis(&changed, self.settings().drift_scale);
                let mut changes: Vec<TransactionChange> =
                    best.changed.iter().map(|(pair, _)| cost_of_time(pair, basis)).collect();
                changes.retain(is_significant);
                sort_by_difference(&mut changes);
                let is_named = !changes.is_empty();
                is_named.then(|| BoundaryVerdict::new(ChangeKind::ApplicationChange, changes))
            }
            CpuVerdict::Refuted if self.is_event => {
                // At another load, a type that waits elsewhere takes another proportion.
                let shift_of =
                    |pair: &TimePair| shifts.iter().find(|shift| shift.transaction == pair.transaction);
                let waits = best.changed.iter().filter_map(|(pair, own)| {
                    let shift = shift_of(pair)?;
                    let is_beyond_load = own.abs() > costs.queueing + self.settings().service_change_min;
                    let agrees = shift.own_size / own > 0.5 && pair.log_ratio / own > 0.3;
                    (is_beyond_load && agrees).then_some(shift)
                });
                let waits = self.evidence.described(waits, &self.old, &self.new);
                (!waits.is_empty()).then(|| BoundaryVerdict::new(ChangeKind::WaitChange, waits))
            }
            _ => None,
        }
    }

    /// The CPU changed and the service times did not: the counts may still name a transaction.
    fn without_times(&self, by_counts: impl Fn(bool) -> BoundaryVerdict) -> BoundaryVerdict {
        let named = by_counts(true);
        match named.transactions.is_empty() {
            true => BoundaryVerdict::new(ChangeKind::Unexplained, Vec::new()),
            false => named,
        }
    }

    /// Transactions whose times changed: with the CPU, or without.
    fn by_times(&self, times: Vec<TransactionChange>) -> BoundaryVerdict {
        let cpu = match &self.costs {
            Some(costs) => {
                let difference = |time: &TransactionChange| {
                    let factor = (time.after_s / time.before_s).ln();
                    (time.transaction, costs.difference_s(time.transaction, factor))
                };
                cpu_verdict(costs, &times.iter().map(difference).collect::<Vec<_>>(), self.settings())
            }
            None => CpuVerdict::Undecided,
        };
        match cpu {
            CpuVerdict::Refuted => {
                let waits: Vec<TransactionChange> =
                    times.into_iter().filter(|time| self.is_longer(time)).collect();
                let kind = if waits.is_empty() { ChangeKind::Unexplained } else { ChangeKind::WaitChange };
                BoundaryVerdict::new(kind, waits)
            }
            CpuVerdict::Undecided => BoundaryVerdict::new(ChangeKind::ApplicationChange, times),
            CpuVerdict::Confirmed => {
                let changed: Vec<usize> = times.iter().map(|time| time.transaction).collect();
                let mut costs: Vec<TransactionChange> =
                    times.iter().map(|time| self.cost(time, &changed)).collect();
                costs.retain(is_significant);
                let kind = match costs.is_empty() {
                    true => ChangeKind::WorkloadChange,
                    false => ChangeKind::ApplicationChange,
                };
                sort_by_difference(&mut costs);
                BoundaryVerdict::new(kind, costs)
            }
        }
    }

    /// Whether the time itself moved as the service time did, which also depends on the CPU use.
    fn is_longer(&self, time: &TransactionChange) -> bool {
        let pairs = self.costs.as_ref().map_or(&[][..], |costs| &costs.times);
        let own = (time.after_s / time.before_s).ln();
        let pair = pairs.iter().find(|pair| pair.transaction == time.transaction);
        pair.is_none_or(|pair| pair.log_ratio / own > 0.3)
    }

    /// The CPU that a transaction whose time changed costs, one of all that `changed`.
    fn cost(&self, time: &TransactionChange, changed: &[usize]) -> TransactionChange {
        let pair = self.costs.as_ref().and_then(|costs| {
            let pair = costs.times.iter().find(|pair| pair.transaction == time.transaction)?;
            Some((pair, costs.basis(changed, self.settings().drift_scale)))
        });
        match pair {
            Some((pair, basis)) => cost_of_time(pair, basis),
            None => TransactionChange { quantity: ChangedQuantity::CpuAndTime, ..*time },
        }
    }

    /// The CPU of the transactions changed, although one regression over both sides, or the service times, do not show
    /// it.
    fn by_demands(
        &self,
        shifts: &[ServiceShift],
        by_counts: &impl Fn(bool) -> BoundaryVerdict,
    ) -> Option<BoundaryVerdict> {
        let costs = self.costs.as_ref()?;
        if !self.has_moved(costs) || !self.is_sudden {
            return None;
        }
        // One type alone: what it costs more and what another process uses look the same, unless its time grew as well.
        if costs.demands.len() == 1 && self.times_refute(costs, shifts) {
            return Some(BoundaryVerdict::new(ChangeKind::Unexplained, Vec::new()));
        }
        let distinct = costs.distinct(self.settings().service_change_min);
        let named: Vec<&DemandPair> = distinct.iter().filter(|pair| self.is_named(pair, costs)).collect();
        if named.is_empty() || costs.demands.len() > SEPARABLE_TYPES {
            return Some(if shifts.is_empty() { by_counts(false) } else { self.without_times(by_counts) });
        }
        let quantity = |pair: &DemandPair| match time_grew(pair, costs) {
            true => ChangedQuantity::CpuAndTime,
            false => ChangedQuantity::Cpu,
        };
        let changes = named.iter().map(|pair| described(pair, quantity(pair))).collect();
        Some(BoundaryVerdict::new(ChangeKind::ApplicationChange, changes))
    }

    /// Whether a distinct demand accounts for a part of the CPU that moved, in its direction.
    fn is_named(&self, pair: &DemandPair, costs: &CostComparison) -> bool {
        let own = costs.log_ratio_of(&[(pair.transaction, pair.difference_s())]);
        own * costs.cpu.log_ratio > 0.0
    }

    /// Whether service times are known and did not follow the CPU.
    fn times_refute(&self, costs: &CostComparison, shifts: &[ServiceShift]) -> bool {
        let own = costs.cpu.log_ratio;
        shifts.iter().any(|shift| {
            let most = shift.size * own.signum() + shift.tolerance + 2.0 * shift.standard_error;
            most < 0.5 * own.abs()
        })
    }

    /// Whether a single type's time grew with the CPU: another process would not make it grow.
    fn times_follow(&self, shifts: &[ServiceShift]) -> bool {
        let Some(costs) = &self.costs else { return false };
        let own = costs.cpu.log_ratio;
        let follows = |shift: &ServiceShift| {
            shift.own_size * own.signum() > 0.3 * own.abs() + 2.0 * shift.standard_error
        };
        costs.demands.len() == 1 && shifts.iter().any(follows)
    }

    fn has_moved(&self, costs: &CostComparison) -> bool {
        let CpuSplit { log_ratio, standard_error, cost_percent, .. } = costs.cpu;
        log_ratio.abs() > CPU_MIN.max(CPU_ERRORS * standard_error)
            && cost_percent.abs() >= EFFECT_PART * self.settings().effect_min_percent
    }

    /// Whether the CPU of all transactions together is what their old costs predict. A few windows of many types fit other costs
    /// better by chance, and what is too much of one rare type is then too little of another.
    fn is_unmoved(&self) -> bool {
        self.costs.as_ref().is_some_and(|costs| is_unmoved(costs.cpu, self.settings().effect_min_percent))
    }

    /// Whether all transactions take another amount of CPU, and of time as far as times are known, by one factor.
    fn is_host(&self, costs: &CostComparison, shifts: &[ServiceShift]) -> bool {
        if costs.demands.len() < 2 || !self.has_moved(costs) || !self.is_sudden {
            return false;
        }
        if !self.demands_agree(costs) {
            return false;
        }
        if costs.times.len() < 2 {
            return shifts.is_empty() && self.several_moved(costs);
        }
        let least = HOST_WITHIN.max(self.settings().service_change_min).ln_1p();
        let common = costs.times.iter().map(|pair| pair.log_ratio).collect::<Vec<f64>>();
        let others = Proportions::new(costs, median_of(&common), least).changed.len();
        let services: Vec<f64> = costs.times.iter().map(TimePair::service_log_ratio).collect();
        let service = median_of(&services) * costs.cpu.log_ratio.signum();
        let confirmed = CONFIRMED_PART * costs.cpu.log_ratio.abs();
        let follows = service > confirmed;
        // At another load, times show that all types changed only beyond what the formula of queueing is off.
        let is_shown = service - QUEUEING_FORMULA_ERROR * costs.queueing > confirmed;
        let part = 1.0 - others as f64 / costs.times.len() as f64;
        part >= COMMON_PART && follows && (is_shown || self.several_moved(costs))
    }

    /// Whether no demand contradicts a common factor.
    fn demands_agree(&self, costs: &CostComparison) -> bool {
        let ratio = costs.cpu.log_ratio;
        let work = |pair: &DemandPair| costs.counts_after[pair.transaction] * pair.before_s;
        let agrees = |pair: &&DemandPair| {
            let error = pair.standard_error_s() / pair.before_s.min(pair.after_s);
            let own = (pair.after_s / pair.before_s).ln();
            (own - ratio).abs() <= COMMON_WITHIN.max(2.0 * error)
        };
        let all: f64 = costs.demands.iter().map(work).sum();
        let common: f64 = costs.demands.iter().filter(agrees).map(work).sum();
        common >= COMMON_PART * all
    }

    /// Whether the demands of two or more types, which do most of the work, are distinct.
    fn several_moved(&self, costs: &CostComparison) -> bool {
        let distinct = costs.distinct(CPU_MIN);
        let work = |pair: &DemandPair| costs.counts_after[pair.transaction] * pair.before_s;
        let all: f64 = costs.demands.iter().map(work).sum();
        distinct.len() >= 2 && distinct.iter().map(work).sum::<f64>() >= 0.5 * all
    }

    fn settings(&self) -> &ChangeSettings {
        self.evidence.settings
    }
}

/// Whether the CPU is the predicted one, by its error and by the least effect in percent of the capacity.
fn is_unmoved(cpu: CpuSplit, effect_min_percent: f64) -> bool {
    cpu.log_ratio.abs() <= UNMOVED_ERRORS * cpu.standard_error
        && cpu.cost_percent.abs() < EFFECT_PART * effect_min_percent
}

/// Whether the seconds differ by more than their error: at another load, a service time may move and the cost may not.
fn is_significant(change: &TransactionChange) -> bool {
    let difference_s = change.after_s - change.before_s;
    difference_s.abs() > SIGNIFICANT_ERRORS * change.standard_error_s
}

fn cost_of_time(pair: &TimePair, basis: TimeBasis) -> TransactionChange {
    let [before_s, after_s] = pair.seconds(basis);
    TransactionChange {
        transaction: pair.transaction,
        before_s,
        after_s,
        standard_error_s: after_s * pair.standard_error,
        quantity: ChangedQuantity::CpuAndTime,
    }
}

/// Whether the time of a type moved as its demand did.
fn time_grew(pair: &DemandPair, costs: &CostComparison) -> bool {
    let own = (pair.after_s / pair.before_s).ln();
    let time = costs.times.iter().find(|time| time.transaction == pair.transaction);
    time.is_some_and(|time| time.service_log_ratio() / own > CONFIRMED_PART)
}

fn described(pair: &DemandPair, quantity: ChangedQuantity) -> TransactionChange {
    TransactionChange {
        transaction: pair.transaction,
        before_s: pair.before_s,
        after_s: pair.after_s,
        standard_error_s: pair.standard_error_s(),
        quantity,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(log_ratio: f64, cost_percent: f64) -> CpuSplit {
        CpuSplit {
            before_percent: 40.0,
            after_percent: 40.0,
            load_percent: 0.0,
            mix_percent: 0.0,
            cost_percent,
            log_ratio,
            standard_error: 0.005,
        }
    }

    #[test]
    fn the_cpu_is_unmoved_within_its_error_and_below_half_of_the_least_effect() {
        assert!(is_unmoved(split(0.01, 0.4), 1.0));
        assert!(!is_unmoved(split(-0.011, -0.4), 1.0));
        assert!(!is_unmoved(split(0.01, 0.5), 1.0));
    }

    /// One type of 10 ms whose time grew by `more_s`, while the CPU of all transactions moved by `log_ratio`.
    fn verdict(more_s: f64, log_ratio: f64) -> &'static str {
        let interval = crate::Interval { low: 0.0099, high: 0.0101 };
        let demand =
            DemandPair { transaction: 0, before_s: 0.01, after_s: 0.01, before: interval, after: interval };
        let cpu = split(log_ratio, 0.0);
        let costs = CostComparison {
            cpu,
            demands: vec![demand],
            times: Vec::new(),
            counts_after: vec![100.0],
            queueing: 0.0,
        };
        let settings = ChangeSettings { drift_scale: 0.04, ..ChangeSettings::default() };
        match cpu_verdict(&costs, &[(0, more_s)], &settings) {
            CpuVerdict::Confirmed => "cost",
            CpuVerdict::Refuted => "wait",
            CpuVerdict::Undecided => "undecided",
        }
    }

    #[test]
    fn the_cpu_confirms_or_refutes_a_longer_time() {
        assert_eq!(verdict(0.003, 0.26), "cost");
        assert_eq!(verdict(0.003, 0.0), "wait");
        // The standard error is too large for a change of one percent.
        assert_eq!(verdict(0.0001, 0.0), "undecided");
    }

    #[test]
    fn a_cost_that_a_drift_may_hide_is_no_wait() {
        // A tenth more, of which the CPU shows nothing: a drift by 4 % the other way leaves 6 %, more than 40 % of it.
        assert_eq!(verdict(0.001, 0.0), "undecided");
        assert_eq!(verdict(0.001, -0.01), "wait");
        assert_eq!(verdict(0.001, 0.05), "cost");
    }
}
