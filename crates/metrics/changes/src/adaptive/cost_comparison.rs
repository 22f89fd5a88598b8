//! Step 5: what transactions cost in two ranges of windows, compared directly: two models, one on either side.
//!
//! One regression over both ranges cannot tell a cost that changes together with the load from a constant load: two
//! clusters of points lie on one line. Two models can, because each accounts for the work of its own range.

use std::ops::Range;

use super::settings::ChangeSettings;
use crate::linear_algebra::dot;
use crate::model::{estimate_demands, jackknife};
use crate::signature::response_at;
use crate::{Constant, CpuSplit, Interval, ModelSettings, Observations};

/// A type with fewer transactions on a side is not compared.
const TRANSACTIONS_MIN: f64 = 100.0;
/// Fewer folds of cross-validation than for a report: models are compared at every boundary.
const FOLDS: usize = 4;
/// Half the width of a 95 % interval in standard errors.
const Z_95: f64 = 1.96;
/// An unknown demand may be up to this multiple of the mean demand.
const UNKNOWN_DEMAND: f64 = 3.0;
/// Relative error of a prediction for another load that more windows do not reduce, for each doubling of the load:
/// caches, frequency, and the scheduler depend on it.
const LOAD_ERROR: f64 = 0.01;
/// Relative error of the predicted effect of another mix: demands from counts that vary together are less certain than
/// their intervals.
const MIX_ERROR: f64 = 0.3;

/// The demand of one type in both ranges, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct DemandPair {
    pub(super) transaction: usize,
    pub(super) before_s: f64,
    pub(super) after_s: f64,
    pub(super) before: Interval,
    pub(super) after: Interval,
}

/// The mean time of one type at the server in both ranges.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimePair {
    pub(super) transaction: usize,
    /// Logarithm of the mean time after over that before, queueing included.
    pub(super) log_ratio: f64,
    pub(super) standard_error: f64,
    /// CPU seconds in proportion to the times: all of the work, divided as the times are. Under processor sharing these
    /// are the demands, at any load.
    pub(super) share_s: [f64; 2],
    /// Time without queueing, by the formula of the signature: right at moderate load, also of the part of the work that
    /// the times do not include.
    pub(super) service_s: [f64; 2],
}

impl TimePair {
    /// Logarithm of the time without queueing after over that before.
    pub(super) fn service_log_ratio(&self) -> f64 {
        (self.service_s[1] / self.service_s[0]).ln()
    }

    /// Seconds before and after.
    pub(super) fn seconds(&self, basis: TimeBasis) -> [f64; 2] {
        match basis {
            TimeBasis::Service => self.service_s,
            TimeBasis::Share => self.share_s,
        }
    }
}

/// Which seconds of a [`TimePair`] are the CPU of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TimeBasis {
    /// The time without queueing.
    Service,
    /// The work in proportion to the times.
    Share,
}

/// Idle shares whose logarithms differ by less queue alike.
const QUEUEING_ALIKE: f64 = 0.25;

/// Relative error of the change of the CPU that changed times predict.
const PREDICTION_ERROR: f64 = 0.15;

/// Two ranges of windows, compared.
#[derive(Clone, Debug)]
pub(super) struct CostComparison {
    pub(super) cpu: CpuSplit,
    /// By type, of those that occur in both ranges.
    pub(super) demands: Vec<DemandPair>,
    /// By type, of those with known times in both ranges; empty unless these are most of the transactions.
    pub(super) times: Vec<TimePair>,
    /// Mean count of each type in a window of the range after.
    pub(super) counts_after: Vec<f64>,
    /// Difference of the logarithms of the mean idle shares: by as much, times may differ because of the load.
    pub(super) queueing: f64,
}

/// One range: means of a window, and its model.
#[derive(Debug)]
pub(super) struct CostSide {
    counts: Vec<f64>,
    work_s: f64,
    demand_s: Vec<f64>,
    intervals: Vec<Interval>,
    constant: Constant,
    /// CPU seconds that a window offers.
    capacity_s: f64,
    /// Logarithm of the mean time of each type and its standard error; `None` where it is unknown.
    times: Vec<Option<(f64, f64)>>,
    /// Mean time of each type without queueing; NaN where it is unknown.
    service_s: Vec<f64>,
    /// Count of each type in each window, and the work of each.
    rows: Vec<(Vec<f64>, f64)>,
}

/// CPU over a prediction, as a logarithm.
struct PredictedRatio {
    log_ratio: f64,
    standard_error: f64,
}

impl CpuSplit {
    /// Divides the change of the mean utilization: at the old demands, the total count at the old mix is the load, and
    /// the rest of the counts the mix; what remains is the cost.
    fn new(old: &CostSide, new: &CostSide, log_ratio: f64, standard_error: f64) -> CpuSplit {
        let percent = 100.0 / old.capacity_s;
        let total = |side: &CostSide| side.counts.iter().sum::<f64>();
        let usual_s = old.demands_of(&old.counts);
        let at_old_mix_s = usual_s * total(new) / total(old);
        let expected_s = old.demands_of(&new.counts);
        CpuSplit {
            before_percent: percent * old.work_s,
            after_percent: percent * new.work_s,
            load_percent: percent * (at_old_mix_s - usual_s),
            mix_percent: percent * (expected_s - at_old_mix_s),
            cost_percent: percent * (new.work_s - old.work_s - expected_s + usual_s),
            log_ratio,
            standard_error,
        }
    }
}

impl CostComparison {
    /// `None` if the prediction of one range by the other is impossible.
    pub(super) fn new(old: &CostSide, new: &CostSide) -> Option<CostComparison> {
        // Each model predicts the other range; the better prediction counts.
        let (forward, backward) = (old.predict(new)?, new.predict(old)?);
        let (log_ratio, standard_error) = match forward.standard_error <= backward.standard_error {
            true => (forward.log_ratio, forward.standard_error),
            false => (-backward.log_ratio, backward.standard_error),
        };
        let occurs = |side: &CostSide, kind: usize| side.total(kind) >= TRANSACTIONS_MIN;
        let demands = (0..old.counts.len())
            .filter(|&kind| occurs(old, kind) && occurs(new, kind))
            .map(|transaction| DemandPair {
                transaction,
                before_s: old.demand_s[transaction],
                after_s: new.demand_s[transaction],
                before: old.intervals[transaction],
                after: new.intervals[transaction],
            })
            .collect();
        let cpu = CpuSplit::new(old, new, log_ratio, standard_error);
        let idle = |side: &CostSide| (1.0 - side.work_s / side.capacity_s).max(0.02).ln();
        Some(CostComparison {
            cpu,
            demands,
            times: time_pairs(old, new),
            queueing: (idle(old) - idle(new)).abs(),
            counts_after: new.counts.clone(),
        })
    }

    /// The types whose intervals have nothing in common and that differ by more than the share `change_min`; the
    /// largest difference first.
    pub(super) fn distinct(&self, change_min: f64) -> Vec<DemandPair> {
        let mut distinct: Vec<DemandPair> =
            self.demands.iter().copied().filter(|pair| pair.is_distinct(change_min)).collect();
        distinct.sort_by(|a, b| b.difference_s().abs().total_cmp(&a.difference_s().abs()));
        distinct
    }

    /// Whether the demands do not differ as far as can be shown.
    pub(super) fn is_same(&self, settings: &ChangeSettings) -> bool {
        let is_equal =
            self.cpu.log_ratio.abs() <= settings.service_change_min.max(4.0 * self.cpu.standard_error);
        is_equal && self.distinct(settings.service_change_min).is_empty()
    }

    /// The logarithm of the ratio if the demands of some types changed by these seconds, and others did not.
    pub(super) fn log_ratio_of(&self, differences: &[(usize, f64)]) -> f64 {
        let expected: f64 =
            self.demands.iter().map(|pair| self.counts_after[pair.transaction] * pair.before_s).sum();
        let more: f64 = differences.iter().map(|(kind, seconds)| self.counts_after[*kind] * seconds).sum();
        (1.0 + more / expected.max(f64::MIN_POSITIVE)).max(0.01).ln()
    }

    /// The seconds of types that changed: without queueing, unless the two sides queue so differently that those do not account
    /// for the CPU and proportions do. Under load, the formula of queueing is too low; proportions are too high where a part of
    /// the work that did not change comes after the response.
    ///
    /// `drift` is the share by which the cost of everything may drift between the two sides.
    pub(super) fn basis(&self, changed: &[usize], drift: f64) -> TimeBasis {
        let pairs = self.times.iter().filter(|pair| changed.contains(&pair.transaction));
        let pairs: Vec<&TimePair> = pairs.collect();
        let predicted = |basis: TimeBasis| {
            let difference = |pair: &&TimePair| {
                let [before_s, after_s] = pair.seconds(basis);
                (pair.transaction, after_s - before_s)
            };
            self.log_ratio_of(&pairs.iter().map(difference).collect::<Vec<_>>())
        };
        let misfit = |basis: TimeBasis| (predicted(basis) - self.cpu.log_ratio).abs();
        let error = self.prediction_error(predicted(TimeBasis::Service)).hypot(drift);
        let accounts = misfit(TimeBasis::Service) <= error.max(misfit(TimeBasis::Share));
        if self.queueing < QUEUEING_ALIKE || accounts { TimeBasis::Service } else { TimeBasis::Share }
    }

    /// Standard error of the difference between the CPU's logarithm of the ratio and one that changed times predict.
    pub(super) fn prediction_error(&self, predicted: f64) -> f64 {
        self.cpu.standard_error.hypot(PREDICTION_ERROR * predicted)
    }

    /// The seconds by which a demand changes if it does as a time by `log_factor`: of the part of the demand that is in
    /// the time.
    pub(super) fn difference_s(&self, transaction: usize, log_factor: f64) -> f64 {
        let demand = self.demands.iter().find(|pair| pair.transaction == transaction);
        let time = self.times.iter().find(|pair| pair.transaction == transaction);
        let base = [demand.map(|pair| pair.before_s), time.map(|pair| pair.service_s[0])];
        let base_s = base.into_iter().flatten().filter(|seconds| seconds.is_finite());
        base_s.fold(f64::INFINITY, f64::min) * log_factor.exp_m1()
    }
}

impl DemandPair {
    pub(super) fn difference_s(&self) -> f64 {
        self.after_s - self.before_s
    }

    /// Standard error of the difference.
    pub(super) fn standard_error_s(&self) -> f64 {
        let half = |interval: Interval| (interval.high - interval.low) / (2.0 * Z_95);
        half(self.before).hypot(half(self.after))
    }

    fn is_distinct(&self, change_min: f64) -> bool {
        let are_disjoint = self.before.high < self.after.low || self.after.high < self.before.low;
        let smaller = self.before_s.min(self.after_s);
        are_disjoint && self.difference_s().abs() > change_min * smaller
    }
}

/// Times must be known for this share of the transactions.
const KNOWN_MIN: f64 = 0.8;
/// Relative error of the proportions of times that more windows do not reduce, and its growth with each doubling of the
/// load: schedulers are no ideal processor sharing.
const DEPARTURE: f64 = 0.01;
/// See [`DEPARTURE`].
const DEPARTURE_BY_LOAD: f64 = 0.015;

fn time_pairs(old: &CostSide, new: &CostSide) -> Vec<TimePair> {
    let shares = [old, new].map(CostSide::time_shares);
    let doublings = (new.work_s / old.work_s).log2().abs();
    let pair = |transaction: usize| {
        let ((before, before_error), (after, after_error)) =
            (old.times[transaction]?, new.times[transaction]?);
        if old.total(transaction).min(new.total(transaction)) < TRANSACTIONS_MIN {
            return None;
        }
        let counts = [old.total(transaction), new.total(transaction)];
        let sampling = sampling_error([before_error, after_error], counts);
        Some(TimePair {
            transaction,
            log_ratio: after - before,
            standard_error: sampling.hypot(DEPARTURE + DEPARTURE_BY_LOAD * doublings),
            share_s: [shares[0][transaction], shares[1][transaction]],
            service_s: [old.service_s[transaction], new.service_s[transaction]],
        })
    };
    let pairs: Vec<TimePair> = (0..old.counts.len()).filter_map(pair).collect();
    let known = |counts: &[f64]| pairs.iter().map(|pair| counts[pair.transaction]).sum::<f64>();
    let is_known = |side: &CostSide| known(&side.counts) >= KNOWN_MIN * side.counts.iter().sum::<f64>();
    if is_known(old) && is_known(new) { pairs } else { Vec::new() }
}

/// Standard error of the difference of two means with these errors and counts: with the dispersion of one transaction over both
/// sides. Of a heavy tail, a side that happens to lack large values has a low mean and a small error of its own.
fn sampling_error(errors: [f64; 2], counts: [f64; 2]) -> f64 {
    let squares = [0, 1].map(|side| (errors[side] * counts[side]).powi(2));
    let variance = squares.iter().sum::<f64>() / counts.iter().sum::<f64>();
    (variance / counts[0] + variance / counts[1]).sqrt()
}

/// Windows are joined until they have this many transactions: enough for the formula of queueing, which is for means.
const BLOCK_TRANSACTIONS: f64 = 1_000.0;

/// Mean time of each type without queueing, in blocks of windows: in a short window, the time and the utilization of the
/// same transactions are correlated, so that their product is too small.
fn service_times(observations: &Observations, ranges: &[Range<usize>]) -> Vec<f64> {
    let types = observations.counts.cols();
    let (mut sums, mut counts) = (vec![0.0; types], vec![0.0; types]);
    let mut block = (vec![0.0; types], vec![0.0; types], 0.0, 0.0);
    let mut close = |block: &mut (Vec<f64>, Vec<f64>, f64, f64)| {
        let idle = 1.0 - (block.2 / block.3).clamp(0.0, 1.0).powf(observations.cores);
        for kind in 0..types {
            sums[kind] += block.0[kind] * idle;
            counts[kind] += block.1[kind];
        }
        *block = (vec![0.0; types], vec![0.0; types], 0.0, 0.0);
    };
    let mut joined = 0.0;
    for row in ranges.iter().cloned().flatten() {
        for kind in 0..types {
            let count = observations.counts.get(row, kind);
            if let Some(time_s) = response_at(observations, row, kind).filter(|_| count > 0.0) {
                block.0[kind] += count * time_s;
                block.1[kind] += count;
            }
            joined += count;
        }
        block.2 += observations.utilization[row];
        block.3 += 1.0;
        if joined >= BLOCK_TRANSACTIONS {
            close(&mut block);
            joined = 0.0;
        }
    }
    if block.3 > 0.0 {
        close(&mut block);
    }
    sums.iter().zip(&counts).map(|(sum, count)| sum / count).collect()
}

/// The slowdown of each window: the time of its transactions over what they take on average.
fn slowdowns(observations: &Observations, rows: &[usize]) -> Vec<f64> {
    let types = observations.counts.cols();
    let known = |row: usize, kind: usize| {
        let count = observations.counts.get(row, kind);
        let time_s = response_at(observations, row, kind)?;
        (count > 0.0 && time_s > 0.0).then_some((count, count * time_s))
    };
    let mean = |kind: usize| {
        let cells = rows.iter().filter_map(|&row| known(row, kind));
        let (count, time_s) = cells.fold((0.0, 0.0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1));
        time_s / count
    };
    let means: Vec<f64> = (0..types).map(mean).collect();
    let slowdown = |&row: &usize| {
        let cells = (0..types).filter_map(|kind| known(row, kind).map(|cell| (kind, cell)));
        let (usual, time_s) =
            cells.fold((0.0, 0.0), |sum, (kind, cell)| (sum.0 + cell.0 * means[kind], sum.1 + cell.1));
        if usual > 0.0 { time_s / usual } else { 1.0 }
    };
    rows.iter().map(slowdown).collect()
}

/// Logarithm of the mean time of each type, with its error from blocks of windows. Windows count as if all were equally
/// slowed down: some types come when the load is high, and their times do not say more about themselves.
fn mean_times(observations: &Observations, ranges: &[Range<usize>]) -> Vec<Option<(f64, f64)>> {
    let rows: Vec<usize> = ranges.iter().cloned().flatten().collect();
    if observations.response_s.rows() == 0 {
        return vec![None; observations.counts.cols()];
    }
    let slowdowns = slowdowns(observations, &rows);
    let time = |kind: usize| {
        let cells: Vec<(f64, f64)> = rows
            .iter()
            .zip(&slowdowns)
            .filter_map(|(&row, slowdown)| {
                let count = observations.counts.get(row, kind);
                let time_s = response_at(observations, row, kind)? / slowdown;
                (count > 0.0 && time_s > 0.0).then_some((count, count * time_s))
            })
            .collect();
        let log_mean = |cells: &mut dyn Iterator<Item = &(f64, f64)>| {
            let (count, time_s) = cells.fold((0.0, 0.0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1));
            (count > 0.0).then(|| (time_s / count).ln())
        };
        let all = log_mean(&mut cells.iter())?;
        let covariance = jackknife(cells.len(), 1, |block| {
            let mut rest = cells[..block.start].iter().chain(&cells[block.end..]);
            Some(vec![log_mean(&mut rest)?])
        })?;
        Some((all, covariance.get(0, 0).max(0.0).sqrt()))
    };
    (0..observations.counts.cols()).map(time).collect()
}

impl CostSide {
    /// `None` if there are too few windows for a model.
    pub(super) fn new(observations: &Observations, ranges: &[Range<usize>]) -> Option<CostSide> {
        let settings = ModelSettings { folds: FOLDS, ..ModelSettings::default() };
        let fitted = estimate_demands(observations, ranges, &settings).ok()?;
        let capacity_s = observations.window_s * observations.cores;
        let row =
            |row: usize| (observations.counts.row(row).to_vec(), observations.utilization[row] * capacity_s);
        let rows: Vec<(Vec<f64>, f64)> = ranges.iter().cloned().flatten().map(row).collect();
        let windows = rows.len() as f64;
        let count = |kind: usize| rows.iter().map(|(counts, _)| counts[kind]).sum::<f64>() / windows;
        Some(CostSide {
            counts: (0..observations.counts.cols()).map(count).collect(),
            work_s: rows.iter().map(|(_, work)| work).sum::<f64>() / windows,
            demand_s: fitted.demand_s,
            intervals: fitted.demand,
            constant: fitted.constant,
            capacity_s,
            times: mean_times(observations, ranges),
            service_s: service_times(observations, ranges),
            rows,
        })
    }

    /// The CPU of another range against what the demands of this one predict for its counts.
    fn predict(&self, other: &CostSide) -> Option<PredictedRatio> {
        let expected_s = self.demands_of(&other.counts);
        let usual_s = self.demands_of(&self.counts);
        let used_s = other.work_s - self.constant.seconds_per_window;
        if !(expected_s > 0.0 && usual_s > 0.0 && used_s > 0.0) {
            return None;
        }
        let sampling = self.ratio_error(&self.demand_s)?.hypot(other.ratio_error(&self.demand_s)?);
        let total = |counts: &[f64]| counts.iter().sum::<f64>();
        let load = expected_s / usual_s;
        let percent = self.constant.interval_percent;
        let width_s = (percent.high - percent.low) / (2.0 * Z_95) / 100.0 * self.capacity_s;
        let errors = [
            sampling,
            self.mix_error(&other.counts),
            width_s * (1.0 - load).abs() / expected_s,
            LOAD_ERROR * load.log2().abs(),
            MIX_ERROR * (expected_s / usual_s * total(&self.counts) / total(&other.counts)).ln().abs(),
        ];
        Some(PredictedRatio {
            log_ratio: (used_s / expected_s).ln(),
            standard_error: errors.into_iter().fold(0.0, f64::hypot),
        })
    }

    /// Transactions of a type in all windows.
    fn total(&self, kind: usize) -> f64 {
        self.counts[kind] * self.rows.len() as f64
    }

    fn demands_of(&self, counts: &[f64]) -> f64 {
        dot(counts, &self.demand_s)
    }

    /// The work without the constant, divided among the types as their times are: `W R_i / Σ X_j R_j`.
    fn time_shares(&self) -> Vec<f64> {
        let time_s = |kind: usize| self.times[kind].map_or(0.0, |(log, _)| log.exp());
        let kinds = 0..self.counts.len();
        let present_s: f64 = kinds.clone().map(|kind| self.counts[kind] * time_s(kind)).sum();
        let work_s = self.work_s - self.constant.seconds_per_window;
        kinds.map(|kind| work_s * time_s(kind) / present_s).collect()
    }

    /// Relative standard error of work over what `demand_s` accounts for, from blocks of windows.
    fn ratio_error(&self, demand_s: &[f64]) -> Option<f64> {
        let ratio = |rows: &mut dyn Iterator<Item = &(Vec<f64>, f64)>| {
            let (mut work, mut expected) = (0.0, 0.0);
            for (counts, own) in rows {
                work += own;
                expected += dot(counts, demand_s);
            }
            (expected > 0.0).then(|| work / expected)
        };
        let all = ratio(&mut self.rows.iter())?;
        let covariance = jackknife(self.rows.len(), 1, |block| {
            let mut rest = self.rows[..block.start].iter().chain(&self.rows[block.end..]);
            Some(vec![ratio(&mut rest)? / all])
        })?;
        Some(covariance.get(0, 0).max(0.0).sqrt())
    }

    /// Relative standard error of the prediction for other counts because their mix is another one.
    fn mix_error(&self, counts: &[f64]) -> f64 {
        let (own, other) = (self.demands_of(&self.counts), self.demands_of(counts));
        let mean_s = own / self.counts.iter().sum::<f64>();
        let part = |kind: usize| {
            let interval = self.intervals[kind];
            let known = (interval.high - interval.low) / (2.0 * Z_95);
            let error = known.min(UNKNOWN_DEMAND * mean_s.max(self.demand_s[kind]));
            (counts[kind] / other - self.counts[kind] / own) * error
        };
        (0..counts.len()).map(|kind| part(kind).powi(2)).sum::<f64>().sqrt()
    }
}

#[cfg(test)]
mod tests {
    /// 100 transactions whose error of 0.2 is a dispersion of 2, and 400 with one of 10: 9 over both.
    #[test]
    fn a_short_side_without_large_values_has_the_dispersion_of_the_other() {
        let dispersion = ((40_000.0_f64 + 400.0) / 500.0).sqrt();
        let expected = dispersion * (1.0_f64 / 100.0 + 1.0 / 400.0).sqrt();
        assert!((super::sampling_error([0.2, 0.5], [100.0, 400.0]) - expected).abs() < 1e-12);
        assert!((super::sampling_error([0.1, 0.05], [100.0, 400.0]) - 0.1_f64.hypot(0.05)).abs() < 1e-12);
    }
}
