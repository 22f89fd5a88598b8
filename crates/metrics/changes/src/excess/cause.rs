//! The cause of additional CPU use: transactions whose own time grew, or something else.

use super::reference::Reference;
use crate::signature::service_time_at;
use laggard_numeric::{mad, median_of};

/// A transaction that costs another amount of CPU.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DemandStep {
    /// Column of the type.
    pub transaction: usize,
    /// Seconds of CPU before.
    pub before_s: f64,
    /// Seconds of CPU since then.
    pub after_s: f64,
}

/// The cause of additional CPU use.
#[derive(Clone, PartialEq, Debug)]
pub enum CpuCause {
    /// These transactions, whose own times grew; the most additional CPU first.
    Transactions(Vec<DemandStep>),
    /// All transactions, by about this factor: their own times grew alike.
    AllTransactions {
        /// Time after over time before, > 1.
        factor: f64,
    },
    /// Not the transactions: their own times are as before.
    Other,
    /// Own times are not known.
    Unknown,
}

/// A time grew if it did by more than this share, beyond what most others did.
const GROWTH_MIN: f64 = 0.08;
/// … and by at least this many standard errors.
const ERRORS_MIN: f64 = 4.0;
/// Relative error of a service time that more windows do not reduce: it depends on the load.
const ERROR_FLOOR: f64 = 0.015;
/// Times must be known for this share of the transactions.
const KNOWN_MIN: f64 = 0.8;
/// Named transactions account for at least this part of the additional CPU.
const EXPLAINED_MIN: f64 = 0.4;

/// Growth of one type's own time, as a logarithm.
struct Growth {
    transaction: usize,
    size: f64,
    standard_error: f64,
    /// Transactions a window.
    count: f64,
}

pub(super) fn cause(model: &Reference<'_>, before: &[usize], after: &[usize], share: f64) -> CpuCause {
    let observations = model.observations;
    let windows = after.len() as f64;
    let counts: Vec<f64> = (0..observations.counts.cols())
        .map(|kind| after.iter().map(|&row| observations.counts.get(row, kind)).sum::<f64>() / windows)
        .collect();
    let growths: Vec<Growth> = counts
        .iter()
        .enumerate()
        .filter_map(|(kind, &count)| growth(model, before, after, kind, count))
        .collect();
    let known: f64 = growths.iter().map(|growth| growth.count).sum();
    if growths.is_empty() || known < KNOWN_MIN * counts.iter().sum::<f64>() {
        return CpuCause::Unknown;
    }
    let common = if growths.len() >= 3 { weighted_median(&growths) } else { 0.0 };
    let named: Vec<&Growth> = growths.iter().filter(|growth| growth.stands_out(common)).collect();
    let extra = |growth: &&Growth| {
        growth.count * model.demand_s(growth.transaction) * (growth.size - common).exp_m1()
    };
    let capacity = observations.window_s * observations.cores;
    let explained: f64 = named.iter().map(extra).sum::<f64>() / capacity;
    if explained >= EXPLAINED_MIN * share {
        return CpuCause::Transactions(steps(model, &named, extra, share * capacity));
    }
    let all_work: f64 = growths.iter().map(|growth| growth.count * model.demand_s(growth.transaction)).sum();
    let error = growths.iter().map(|growth| growth.standard_error).fold(f64::INFINITY, f64::min);
    let is_common = common > GROWTH_MIN.max(ERRORS_MIN * error);
    if is_common && all_work * common.exp_m1() / capacity >= EXPLAINED_MIN * share {
        return CpuCause::AllTransactions { factor: common.exp() };
    }
    CpuCause::Other
}

/// Divides the additional CPU among the named transactions, in proportion to what their times explain.
fn steps(
    model: &Reference<'_>,
    named: &[&Growth],
    extra: impl Fn(&&Growth) -> f64,
    additional_s: f64,
) -> Vec<DemandStep> {
    let all: f64 = named.iter().map(&extra).sum();
    let mut sorted: Vec<&&Growth> = named.iter().collect();
    sorted.sort_by(|a, b| extra(b).total_cmp(&extra(a)));
    let step = |growth: &&Growth| {
        let before_s = model.demand_s(growth.transaction).max(0.0);
        let after_s = before_s + additional_s * extra(growth) / all / growth.count;
        DemandStep { transaction: growth.transaction, before_s, after_s }
    };
    sorted.into_iter().map(step).collect()
}

impl Growth {
    fn stands_out(&self, common: f64) -> bool {
        let own = self.size - common;
        own > GROWTH_MIN && own > ERRORS_MIN * self.standard_error
    }
}

fn growth(
    model: &Reference<'_>,
    before: &[usize],
    after: &[usize],
    kind: usize,
    count: f64,
) -> Option<Growth> {
    let times = |rows: &[usize]| -> Vec<f64> {
        let all = rows.iter().filter_map(|&row| service_time_at(model.observations, row, kind));
        all.filter(|&time| time > 0.0).map(f64::ln).collect()
    };
    let (old, new) = (times(before), times(after));
    if old.len() < 10 || new.is_empty() {
        return None;
    }
    let center = median_of(&old);
    let deviation = mad(&old, center);
    // The scatter of a window's time is that of before: a few windows do not show their own.
    let error = 1.2533 * deviation / (new.len() as f64).sqrt();
    let standard_error = error.hypot(1.2533 * deviation / (old.len() as f64).sqrt()).hypot(ERROR_FLOOR);
    Some(Growth { transaction: kind, size: median_of(&new) - center, standard_error, count })
}

/// The median growth of a transaction.
fn weighted_median(growths: &[Growth]) -> f64 {
    let mut sorted: Vec<&Growth> = growths.iter().collect();
    sorted.sort_by(|a, b| a.size.total_cmp(&b.size));
    let half = sorted.iter().map(|growth| growth.count).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    for growth in &sorted {
        sum += growth.count;
        if sum >= half {
            return growth.size;
        }
    }
    0.0
}
