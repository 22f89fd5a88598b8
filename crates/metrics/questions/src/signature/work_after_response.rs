//! Shares of the work of a server on which transactions use CPU after their response.
//!
//! A share is `λ` times what a transaction takes until its response, where `λ` is all of the work over the work until responses. If
//! one transaction takes longer, its own share grows by `λ` times as much, and `λ` falls, so that all other shares fall by one
//! factor. Their common factor shows this. The changed transactions then have all of the difference between the work and what the
//! same transactions took before, by the utilization law: regressions of the work on counts have no more information on it.

use super::comparison::{ComparedValues, Loads};
use laggard_report::{ComparedQuantity, TransactionSignature};

/// Unchanged types by which a common factor is known.
const UNCHANGED_MIN: usize = 3;
/// At most half of the work is done after responses. Where less than this part of a difference is found in the work, the
/// transaction waits longer.
const IN_WORK_MIN: f64 = 0.5;
/// Half the sum of the differences of the types' shares of all transactions up to which `λ` may be taken to be that of the
/// same mix.
const MIX_MAX: f64 = 0.2;
/// Rounds in which changed types and the factor of the others are found.
const ROUNDS: usize = 5;

/// A transaction of both signatures, with its shares of the work.
pub(super) struct ComparedWork<'a> {
    pub(super) sides: [&'a TransactionSignature; 2],
    pub(super) work: ComparedValues,
}

impl ComparedWork<'_> {
    /// CPU seconds of the transactions of the new signature at the cost before.
    fn usual_s(&self) -> f64 {
        self.sides[1].count * self.work.before_s
    }

    fn used_s(&self) -> f64 {
        self.sides[1].count * self.work.after_s
    }

    /// The difference if all shares are `factor` times as large for no reason of their own.
    fn own_difference_s(&self, factor: f64) -> f64 {
        self.work.after_s / factor - self.work.before_s
    }

    fn is_changed(&self, factor: f64) -> bool {
        self.work.is_passed() && self.own_difference_s(factor).abs() > self.work.detectable_s
    }
}

/// Corrects the shares of the work of all transactions of a server, if those that changed explain why the others did.
pub(super) fn correct(compared: &mut [ComparedWork<'_>], loads: Loads) {
    let Some(factor) = common_factor(compared) else { return };
    let changed = || compared.iter().filter(|one| one.is_changed(factor));
    let (usual_s, used_s): (f64, f64) =
        (compared.iter().map(ComparedWork::usual_s).sum(), compared.iter().map(ComparedWork::used_s).sum());
    let by_shares_s: f64 = changed().map(|one| one.sides[1].count * one.own_difference_s(factor)).sum();
    let part = (used_s - usual_s) / by_shares_s;
    let is_explained = (factor - 1.0) * by_shares_s < 0.0 && (IN_WORK_MIN..=1.0).contains(&part);
    if !is_explained || mix_distance(compared) > MIX_MAX || times_changed(compared, factor, loads) {
        return;
    }
    let error = loads.work_error() * usual_s / by_shares_s.abs();
    for one in compared.iter_mut().filter(|one| one.work.is_passed()) {
        let scale = if one.is_changed(factor) { part } else { 1.0 };
        let difference_s = scale * one.own_difference_s(factor);
        one.work = ComparedValues {
            quantity: ComparedQuantity::WorkDifference,
            after_s: one.work.before_s + difference_s,
            standard_error_s: scale * one.work.standard_error_s.hypot(error * difference_s / scale),
            detectable_s: scale * one.work.detectable_s,
            ..one.work
        };
    }
}

/// The factor by which the shares of unchanged types differ, if some type changed and enough did not.
fn common_factor(compared: &[ComparedWork<'_>]) -> Option<f64> {
    let ratio_of = |is_unchanged: &dyn Fn(&ComparedWork<'_>) -> bool| {
        let unchanged = || compared.iter().filter(|one| is_unchanged(one));
        unchanged().map(ComparedWork::used_s).sum::<f64>()
            / unchanged().map(ComparedWork::usual_s).sum::<f64>()
    };
    let mut factor = ratio_of(&|one| !one.work.is_passed());
    for _ in 0..ROUNDS {
        factor = ratio_of(&|one| !one.is_changed(factor));
    }
    let changed = compared.iter().filter(|one| one.is_changed(factor)).count();
    let unchanged = compared.len() - changed;
    let is_known = unchanged >= UNCHANGED_MIN.max(changed) && factor > 0.0 && factor.is_finite();
    (changed > 0 && is_known).then_some(factor)
}

/// Whether, at similar loads, the times without queueing of the types that should be unchanged followed their shares.
fn times_changed(compared: &[ComparedWork<'_>], factor: f64, loads: Loads) -> bool {
    let (mut usual_s, mut times_s) = (0.0, 0.0);
    for one in compared.iter().filter(|one| !one.is_changed(factor)) {
        let [Some(old), Some(new)] = one.sides.map(|side| side.service_time_s) else { continue };
        usual_s += one.sides[1].count * old;
        times_s += one.sides[1].count * new;
    }
    let moved = (times_s / usual_s).ln();
    loads.queue_alike() && (moved - factor.ln()).abs() < moved.abs()
}

/// Half the sum of the differences of the shares of all transactions, 0..1.
fn mix_distance(compared: &[ComparedWork<'_>]) -> f64 {
    let total = |side: usize| compared.iter().map(|one| one.sides[side].count).sum::<f64>();
    let totals = [total(0), total(1)];
    let share = |one: &ComparedWork<'_>, side: usize| one.sides[side].count / totals[side];
    0.5 * compared.iter().map(|one| (share(one, 0) - share(one, 1)).abs()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_changes::SignatureTest;

    const TEST: SignatureTest = SignatureTest { change_min: 0.05, standard_errors_min: 3.0, windows_min: 30 };

    /// 1,000 of each of five types that take 10 ms of CPU until the response, and 20 ms together after it: before
    /// and after, with the time of the first `factor` times as long and `waits` of it no CPU.
    fn differences(factor: f64, waits: f64) -> Vec<(ComparedQuantity, f64)> {
        let times = |factor: f64| [0.010 * factor, 0.010, 0.010, 0.010, 0.010];
        let side = |factor: f64, waits: f64| {
            let all: f64 = times(factor).iter().sum();
            let work = all - waits + 0.020;
            times(factor).map(|time| TransactionSignature {
                count: 1_000.0,
                work_share_s: Some(work * time / all),
                work_share_error_s: Some(0.000_05),
                ..TransactionSignature::default()
            })
        };
        let (old, new) = (side(1.0, 0.0), side(factor, waits));
        let loads = Loads { both: None, mix_distance: 0.0, trust: 0.5 };
        let compared = std::iter::zip(&old, &new).map(|(old, new)| {
            let work = loads.work([Some(old), Some(new)], &TEST).expect("both have shares");
            ComparedWork { sides: [old, new], work }
        });
        let mut compared: Vec<ComparedWork<'_>> = compared.collect();
        correct(&mut compared, loads);
        compared.iter().map(|one| (one.work.quantity, 1e3 * one.work.difference_s())).collect()
    }

    /// 70 ms of work become 80 ms. The share of the first grows from 14 ms to 26.7 ms, and the others fall to 13.3 ms.
    #[test]
    fn what_the_server_works_more_belongs_to_the_type_that_changed() {
        let rows = differences(2.0, 0.0);
        assert_eq!(rows[0].0, ComparedQuantity::WorkDifference);
        assert!((rows[0].1 - 10.0).abs() < 1e-9, "{rows:?}");
        let back = differences(0.5, 0.0);
        assert!((back[0].1 + 5.0).abs() < 1e-9, "{back:?}");
        assert!(back[1..].iter().all(|row| row.1 <= 0.7), "{back:?}");
    }

    /// 10 ms longer, of which 9 are waiting: the work says nothing about where the time goes, and shares stand.
    #[test]
    fn waiting_is_no_difference_of_the_work() {
        let rows = differences(2.0, 0.009);
        assert!(rows.iter().all(|row| row.0 == ComparedQuantity::WorkShare), "{rows:?}");
    }

    #[test]
    fn nothing_is_corrected_where_nothing_changed() {
        assert!(
            differences(1.0, 0.0)
                .iter()
                .all(|row| row.0 == ComparedQuantity::WorkShare && row.1.abs() < 1e-9)
        );
    }
}
