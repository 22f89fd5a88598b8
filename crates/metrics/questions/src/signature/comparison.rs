//! The test of one transaction in two signatures: which of its values are compared, and by how much they must differ.
//!
//! Shares of the work do not depend on the load, but nothing shows in them that waits without computing, or that slows all
//! transactions alike. Times without queueing show both, but only between similar loads. So shares are compared at any loads,
//! and times where the loads are similar.
//!
//! Shares divide all of the work in proportion to times, also CPU that transactions use after their response: where there is such
//! CPU, [`super::work_after_response`] corrects them.

use laggard_changes::SignatureTest;
use laggard_numeric::{normal_quantile, normal_upper_tail};
use laggard_report::{ComparedQuantity, ServerSignature, TransactionSignature};

/// Relative error of the comparison of shares of the work that more windows do not reduce, for each doubling of the load: the
/// constant is known to about half a percent of the CPU, which is 2.5 % of the work at 20 % load, and schedulers are no ideal
/// processor sharing. Measured; ours.
const ERROR_BY_LOAD: f64 = 0.0175;
/// Relative error of shares of the work where all of the time is queueing, and the work is of other types than before: a real
/// scheduler favors short transactions or long ones. As in the transaction model; of a measured server.
const ERROR_BY_MIX: f64 = 0.08;
/// Loads are similar if the correction for queueing differs by at most this share.
const SIMILAR_LOAD: f64 = 0.1;
/// … and what makes up the work, if not more of it than this is of other types.
const SIMILAR_MIX: f64 = 0.2;
/// If the constants differ by less than this share of the CPU, the difference is noise, and their mean is used for both sides.
const CONSTANT_WITHIN: f64 = 0.02;
/// Times contradict a difference of the work if not even this part of it is within two of their standard errors.
const AGREEING_PART: f64 = 0.5;
/// Where the work is compared as well, times are a second test of the same transaction, and longer waits: a difference of
/// times alone must be twice as large …
const TIMES_CHANGE: f64 = 2.0;
/// … and this many times as significant.
const TIMES_ERRORS: f64 = 1.4;

/// Seconds and their standard error.
pub(super) type Measured = (f64, f64);

/// The number of standard errors for each of `tests` tests, so that the probability that any of them is falsely positive is
/// that of one test at `standard_errors` (Bonferroni).
pub(super) fn standard_errors_of_each(standard_errors: f64, tests: usize) -> f64 {
    let tail = normal_upper_tail(standard_errors) / tests.max(1) as f64;
    let each = normal_quantile(tail);
    // Two digits, which the report states.
    let rounded = (100.0 * each).round() / 100.0;
    if rounded.is_finite() { rounded.max(standard_errors) } else { standard_errors }
}

/// Use of the CPU, of a server or on average of several.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct CpuUse {
    /// Mean utilization, 0..1.
    pub(super) utilization: f64,
    /// Cores of each.
    pub(super) cores: f64,
    /// What is used beside the transactions, as a share of the capacity.
    constant: f64,
}

impl CpuUse {
    /// `None` if no utilization is known.
    pub(super) fn of(servers: &[ServerSignature]) -> Option<CpuUse> {
        let known = || servers.iter().filter_map(|server| Some((server, server.utilization_mean?)));
        let count = known().count() as f64;
        let constant = |server: &ServerSignature| server.constant_percent.unwrap_or(0.0) / 100.0;
        (count > 0.0).then(|| CpuUse {
            utilization: known().map(|(_, used)| used).sum::<f64>() / count,
            cores: servers.first().map_or(1.0, |server| server.cores),
            constant: known().map(|(server, _)| constant(server)).sum::<f64>() / count,
        })
    }

    /// `ln(1 − U^c)`, with the utilization limited to that of usable windows.
    fn log_correction(self) -> f64 {
        let used = self.utilization.clamp(0.0, laggard_changes::UTILIZATION_MAX);
        (1.0 - used.powf(self.cores.max(f64::MIN_POSITIVE))).ln()
    }

    /// The factor of shares of the work if the constant is another one.
    fn factor(self, constant: f64) -> f64 {
        let (own, other) = (self.utilization - self.constant, self.utilization - constant);
        if own > 0.0 && other > 0.0 { other / own } else { 1.0 }
    }
}

/// The loads of both sides; `None` if one of them is unknown.
#[derive(Clone, Copy)]
pub(super) struct Loads {
    pub(super) both: Option<[CpuUse; 2]>,
    /// Half the sum of the differences of the types' shares of the work, 0..1.
    pub(super) mix_distance: f64,
    /// See [`super::DiffThresholds::correction_share`].
    pub(super) trust: f64,
}

/// The values of one transaction that are compared, and when they differ.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct ComparedValues {
    pub(super) quantity: ComparedQuantity,
    pub(super) before_s: f64,
    pub(super) after_s: f64,
    /// Of the difference.
    pub(super) standard_error_s: f64,
    /// A smaller difference is none.
    pub(super) detectable_s: f64,
    /// Additional difference that a different load may explain.
    pub(super) doubt_s: f64,
}

impl ComparedValues {
    pub(super) fn difference_s(&self) -> f64 {
        self.after_s - self.before_s
    }

    pub(super) fn is_passed(&self) -> bool {
        self.difference_s().abs() > self.detectable_s + self.doubt_s
    }

    /// Whether these times, at similar loads, contradict a difference of the work.
    fn contradicts(&self, work: &ComparedValues) -> bool {
        let sign = work.difference_s().signum();
        let most = sign * self.difference_s() + 2.0 * self.standard_error_s;
        most < AGREEING_PART * work.difference_s().abs()
    }
}

impl Loads {
    /// `work` is the comparison of shares of the work. `None` if the sides have no comparable values.
    pub(super) fn compare(
        self,
        work: Option<ComparedValues>,
        sides: [Option<&TransactionSignature>; 2],
        test: &SignatureTest,
    ) -> Option<ComparedValues> {
        let Some(work) = work else { return self.times(sides, test) };
        if !self.are_similar() {
            return Some(work);
        }
        let stricter = SignatureTest {
            change_min: TIMES_CHANGE * test.change_min,
            standard_errors_min: TIMES_ERRORS * test.standard_errors_min,
            ..*test
        };
        match self.times(sides, &stricter) {
            // What takes longer for certain is stated as that, whatever it does meanwhile.
            Some(times) if times.is_passed() => Some(times),
            // Where others wait longer, less of the work is in proportion to this one's times.
            Some(times) if work.is_passed() && times.contradicts(&work) => Some(times),
            _ => Some(work),
        }
    }

    /// Shares of the work. Where the constants of both sides are about the same, their mean is used for both, so that at equal
    /// loads its error cancels out in the difference.
    pub(super) fn work(
        self,
        sides: [Option<&TransactionSignature>; 2],
        test: &SignatureTest,
    ) -> Option<ComparedValues> {
        let [old, new] = sides.map(|side| side?.work_share_s.zip(side?.work_share_error_s));
        let factors = self.both.map_or([1.0; 2], |both| {
            let [old, new] = both.map(|side| side.constant);
            match (old - new).abs() < CONSTANT_WITHIN {
                true => both.map(|side| side.factor(0.5 * (old + new))),
                false => [1.0; 2],
            }
        });
        let scaled = |(seconds, error): Measured, factor: f64| (factor * seconds, factor * error);
        let (before, after) = (scaled(old?, factors[0]), scaled(new?, factors[1]));
        let floor_s = before.0 * self.work_error();
        Some(comparison(ComparedQuantity::WorkShare, [before, after], floor_s, test))
    }

    /// Times without queueing.
    fn times(
        self,
        sides: [Option<&TransactionSignature>; 2],
        test: &SignatureTest,
    ) -> Option<ComparedValues> {
        let [old, new] = sides.map(|side| side?.service_time_s.zip(side?.standard_error_s));
        let times = comparison(ComparedQuantity::Time, [old?, new?], 0.0, test);
        Some(ComparedValues {
            doubt_s: self.trust * self.queueing_difference() * times.before_s.abs(),
            ..times
        })
    }

    /// Difference of the logarithms of the corrections for queueing.
    fn queueing_difference(self) -> f64 {
        self.both.map_or(0.0, |both| {
            let [old, new] = both.map(CpuUse::log_correction);
            (old - new).abs()
        })
    }

    /// Whether transactions queue alike, so that their times without queueing can be compared.
    pub(super) fn queue_alike(self) -> bool {
        self.queueing_difference() <= SIMILAR_LOAD
    }

    fn are_similar(self) -> bool {
        self.queue_alike() && self.mix_distance <= SIMILAR_MIX
    }

    /// Relative error of shares of the work that more windows do not reduce.
    pub(super) fn work_error(self) -> f64 {
        (ERROR_BY_LOAD * self.doublings()).hypot(self.mix_error())
    }

    /// Relative error of shares of the work because of another mix.
    fn mix_error(self) -> f64 {
        let highest = self.both.map_or(0.0, |both| both[0].utilization.max(both[1].utilization));
        ERROR_BY_MIX * highest.min(1.0) * (2.0 * self.mix_distance).min(1.0)
    }

    fn doublings(self) -> f64 {
        self.both.map_or(0.0, |both| {
            let [old, new] = both.map(|side| side.utilization.max(1e-3));
            (new / old).log2().abs()
        })
    }
}

/// `floor_s` is an error of the difference in addition to those of both sides.
fn comparison(
    quantity: ComparedQuantity,
    [before, after]: [Measured; 2],
    floor_s: f64,
    test: &SignatureTest,
) -> ComparedValues {
    let standard_error_s = before.1.hypot(after.1).hypot(floor_s);
    ComparedValues {
        quantity,
        before_s: before.0,
        after_s: after.0,
        standard_error_s,
        detectable_s: (test.change_min * before.0.abs()).max(test.standard_errors_min * standard_error_s),
        doubt_s: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.82 % of one test: 2.4 standard errors. Of four: 0.205 % each, 2.87. Of fourteen: 0.059 %, 3.25.
    #[test]
    fn more_tests_need_more_standard_errors() {
        assert_eq!(standard_errors_of_each(2.4, 1), 2.4);
        assert_eq!(standard_errors_of_each(2.4, 4), 2.87);
        assert_eq!(standard_errors_of_each(2.4, 14), 3.25);
        assert_eq!(standard_errors_of_each(0.0, 1), 0.0);
        assert_eq!(standard_errors_of_each(100.0, 3), 100.0);
    }

    fn signature(time: Measured, work: Measured) -> TransactionSignature {
        TransactionSignature {
            service_time_s: Some(time.0),
            standard_error_s: Some(time.1),
            work_share_s: Some(work.0),
            work_share_error_s: Some(work.1),
            ..TransactionSignature::default()
        }
    }

    fn compared(used: [f64; 2], constants: [f64; 2], sides: [(Measured, Measured); 2]) -> ComparedValues {
        compared_with_mix(0.0, used, constants, sides)
    }

    fn compared_with_mix(
        mix_distance: f64,
        used: [f64; 2],
        constants: [f64; 2],
        sides: [(Measured, Measured); 2],
    ) -> ComparedValues {
        let side = |index: usize| CpuUse { utilization: used[index], cores: 1.0, constant: constants[index] };
        let [old, new] = sides.map(|(time, work)| signature(time, work));
        let test = SignatureTest { change_min: 0.05, standard_errors_min: 3.0, windows_min: 30 };
        let loads = Loads { both: Some([side(0), side(1)]), mix_distance, trust: 0.5 };
        let sides = [Some(&old), Some(&new)];
        loads.compare(loads.work(sides, &test), sides, &test).expect("both have values")
    }

    /// 10 ms of work at 20 % load with 2 % of constant. Another fit of the constant, 3 %, makes 9.44 ms of the same work, 170
    /// of 180: one constant for both makes 9.72 ms on both sides.
    #[test]
    fn the_error_of_the_constant_cancels_out_at_equal_load() {
        let side = |work_s: f64| ((0.012, 0.0002), (work_s, 0.0001));
        let same = compared([0.2, 0.2], [0.02, 0.03], [side(0.010), side(0.010 * 0.17 / 0.18)]);
        assert!((same.before_s - 0.010 * 0.175 / 0.18).abs() < 1e-12, "{same:?}");
        assert!(same.difference_s().abs() < 1e-12, "{same:?}");
        // Constants that differ by more are those of another process.
        let other = compared([0.2, 0.24], [0.02, 0.06], [side(0.010), side(0.010)]);
        assert!(other.difference_s().abs() < 1e-12 && other.before_s == 0.010, "{other:?}");
    }

    /// Two doublings of the load are an error of 3.5 %, and 1 % on either side 1.41 %: 3.77 % together.
    #[test]
    fn different_loads_add_an_error() {
        let side = ((0.012, 0.0001), (0.010, 0.0001));
        let different = compared([0.2, 0.8], [0.0; 2], [side, side]);
        assert!((different.standard_error_s - 3.774_917e-4).abs() < 1e-8, "{different:?}");
        assert!((different.detectable_s - 3.0 * different.standard_error_s).abs() < 1e-15);
        let equal = compared([0.5, 0.5], [0.0; 2], [side, side]);
        assert!((equal.detectable_s - 0.0005).abs() < 1e-15, "5 % are more than three errors: {equal:?}");
        // A quarter of the work moves to another type: 8 % · 0.8 · 0.5, and 1.41 % of both sides.
        let mixed = compared_with_mix(0.25, [0.8, 0.8], [0.0; 2], [side, side]);
        assert!((mixed.standard_error_s - 3.498_571e-4).abs() < 1e-8, "{mixed:?}");
    }

    #[test]
    fn longer_waits_count_although_the_work_is_the_same() {
        let (old, new) = (((0.012, 0.0002), (0.010, 0.0001)), ((0.015, 0.0002), (0.0102, 0.0001)));
        let waits = compared([0.5, 0.5], [0.0; 2], [old, new]);
        assert!(waits.is_passed() && waits.before_s == 0.012, "{waits:?}");
    }

    /// One type waits longer, so that the work of the other, in proportion to times, is a tenth less; its time is the same.
    #[test]
    fn times_that_did_not_change_contradict_a_difference_of_the_work() {
        let (old, new) = (((0.012, 0.0001), (0.010, 0.0001)), ((0.012, 0.0001), (0.009, 0.0001)));
        let same = compared([0.5, 0.5], [0.0; 2], [old, new]);
        assert!(!same.is_passed() && same.before_s == 0.012, "{same:?}");
    }
}
