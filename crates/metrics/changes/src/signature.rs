//! The application signature: the time of each transaction at the server without queueing (Cherkasova et al. 2009,
//! equations 7–9), and its changes between two periods.

use std::ops::Range;

use laggard_numeric::{mad, median_of, student_quantile_95};

use crate::Observations;
use crate::model::jackknife_of_blocks;

/// Minimum number of transactions of a type in a window to be used (specification: 5; the mean of fewer is too noisy).
pub const COUNT_MIN: f64 = 5.0;
/// Windows with a higher utilization are not used: `1/(1−U)` diverges, and with it the rounding of `U`.
pub const UTILIZATION_MAX: f64 = 0.95;
/// Maximum number of blocks for the errors of shares of the work: differences are tested by them, and those of 20 blocks are
/// themselves off by 16 %. Shares hardly depend on queueing, which lasts longer than a window.
const SHARE_BLOCKS_MAX: usize = 60;
/// Standard error of a median over that of a mean in a normal sample, `√(π/2)`.
const MEDIAN_OVER_MEAN: f64 = 1.2533;

/// The time of one transaction type at the server without queueing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ServiceTime {
    /// `S = median of R · (1 − U^c)` over the windows, in seconds.
    pub seconds: f64,
    /// `1.2533 · MAD / √windows`, in seconds.
    pub standard_error_s: f64,
    /// Number of windows used.
    pub windows: usize,
}

/// Thresholds of the comparison of two periods; a change exceeds all of them (specification 4.8).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SignatureTest {
    /// Minimum change as a share of the time before (0.10).
    pub change_min: f64,
    /// Minimum change in standard errors (3).
    pub standard_errors_min: f64,
    /// Minimum number of windows of each period (30).
    pub windows_min: usize,
}

impl Default for SignatureTest {
    fn default() -> SignatureTest {
        SignatureTest { change_min: 0.10, standard_errors_min: 3.0, windows_min: 30 }
    }
}

/// A difference of a transaction's service time between two periods.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ServiceTimeChange {
    /// The column of the type.
    pub transaction: usize,
    /// Before.
    pub before: ServiceTime,
    /// After.
    pub after: ServiceTime,
}

/// `S · (1 − U^c)⁻¹ = R`, solved for S: the time without queueing of a transaction that took `response_s`, for `c`
/// cores behind one queue (first order in M/M/c; exact for one core). A CPU quota counts as the cores it allows. The
/// utilization is cut to 0..1.
pub fn service_time(response_s: f64, utilization: f64, cores: f64) -> f64 {
    response_s * (1.0 - utilization.clamp(0.0, 1.0).powf(cores))
}

/// The service time of transaction `transaction` in window `row`, in seconds, if the window is used: at least [`COUNT_MIN`]
/// transactions, a utilization below [`UTILIZATION_MAX`], a response time ≥ 0.
pub fn service_time_at(observations: &Observations, row: usize, transaction: usize) -> Option<f64> {
    let response = response_at(observations, row, transaction)?;
    let has_enough = observations.counts.get(row, transaction) >= COUNT_MIN;
    has_enough.then(|| service_time(response, observations.utilization[row], observations.cores))
}

/// The response time, where it is known and the server was not saturated.
pub(crate) fn response_at(observations: &Observations, row: usize, transaction: usize) -> Option<f64> {
    let known = row < observations.response_s.rows() && transaction < observations.response_s.cols();
    if !known || observations.utilization[row] >= UTILIZATION_MAX {
        return None;
    }
    let response = observations.response_s.get(row, transaction);
    (response.is_finite() && response >= 0.0).then_some(response)
}

/// The signature of the windows in `ranges`, by transaction type; `None` if no window is used.
pub fn signature(observations: &Observations, ranges: &[Range<usize>]) -> Vec<Option<ServiceTime>> {
    let service_time_of = |transaction: usize| {
        let rows = ranges.iter().cloned().flatten();
        let times: Vec<f64> =
            rows.filter_map(|row| service_time_at(observations, row, transaction)).collect();
        median_time(&times)
    };
    (0..observations.counts.cols()).map(service_time_of).collect()
}

/// CPU seconds of a transaction of each type: the work of the windows without the constant, divided in proportion to the
/// mean times, `S_i = W R_i / Σ X_j R_j`. Under processor sharing, where queueing slows all types by one factor, it does
/// not depend on the load. `None` unless the times of all types that occur are known. Errors are of a block jackknife.
pub fn work_shares(
    observations: &Observations,
    ranges: &[Range<usize>],
    constant_percent: f64,
) -> Vec<Option<ServiceTime>> {
    let types = observations.counts.cols();
    let rows: Vec<usize> = ranges
        .iter()
        .cloned()
        .flatten()
        .filter(|&row| observations.utilization[row] < UTILIZATION_MAX)
        .collect();
    let occurring: Vec<usize> =
        (0..types).filter(|&kind| rows.iter().any(|&row| observations.counts.get(row, kind) > 0.0)).collect();
    let shares = |rows: &mut dyn Iterator<Item = &usize>| -> Option<Vec<f64>> {
        let (mut work, mut counts) = (0.0, vec![0.0; types]);
        let (mut timed, mut time_s) = (vec![0.0; types], vec![0.0; types]);
        for &row in rows {
            let used = observations.utilization[row] - constant_percent / 100.0;
            work += used * observations.window_s * observations.cores;
            for &kind in &occurring {
                let count = observations.counts.get(row, kind);
                counts[kind] += count;
                if let Some(time) = response_at(observations, row, kind).filter(|_| count > 0.0) {
                    timed[kind] += count;
                    time_s[kind] += count * time;
                }
            }
        }
        if occurring.iter().any(|&kind| timed[kind] <= 0.0) || work <= 0.0 {
            return None;
        }
        let mean = |kind: usize| time_s[kind] / timed[kind];
        let present: f64 = occurring.iter().map(|&kind| counts[kind] * mean(kind)).sum();
        Some(occurring.iter().map(|&kind| work * mean(kind) / present).collect())
    };
    let unknown = || vec![None; types];
    let Some(all) = shares(&mut rows.iter()) else { return unknown() };
    let covariance = jackknife_of_blocks(rows.len(), all.len(), SHARE_BLOCKS_MAX, |block| {
        shares(&mut rows[..block.start].iter().chain(&rows[block.end..]))
    });
    let Some(covariance) = covariance else { return unknown() };
    let mut out = unknown();
    for (index, &kind) in occurring.iter().enumerate() {
        out[kind] = Some(ServiceTime {
            seconds: all[index],
            standard_error_s: covariance.get(index, index).max(0.0).sqrt(),
            windows: rows.len(),
        });
    }
    out
}

fn median_time(times: &[f64]) -> Option<ServiceTime> {
    if times.is_empty() {
        return None;
    }
    let seconds = median_of(times);
    let standard_error_s = MEDIAN_OVER_MEAN * mad(times, seconds) / (times.len() as f64).sqrt();
    Some(ServiceTime { seconds, standard_error_s, windows: times.len() })
}

/// The transactions whose signature differs between two periods; the largest difference in seconds first.
pub fn signature_changes(
    before: &[Option<ServiceTime>],
    after: &[Option<ServiceTime>],
    test: SignatureTest,
) -> Vec<ServiceTimeChange> {
    let pairs = before.iter().zip(after).enumerate();
    let mut changes: Vec<ServiceTimeChange> = pairs
        .filter_map(|(transaction, (before, after))| {
            let change = ServiceTimeChange { transaction, before: (*before)?, after: (*after)? };
            change.passes(test).then_some(change)
        })
        .collect();
    changes.sort_by(|a, b| b.difference_s().abs().total_cmp(&a.difference_s().abs()));
    changes
}

impl ServiceTimeChange {
    /// After minus before, in seconds.
    pub fn difference_s(&self) -> f64 {
        self.after.seconds - self.before.seconds
    }

    /// Standard error of the difference in seconds.
    pub fn standard_error_s(&self) -> f64 {
        self.before.standard_error_s.hypot(self.after.standard_error_s)
    }

    fn passes(&self, test: SignatureTest) -> bool {
        let enough = self.before.windows.min(self.after.windows) >= test.windows_min;
        let difference = self.difference_s().abs();
        enough
            && difference > test.change_min * self.before.seconds
            && difference > test.standard_errors_min * self.standard_error_s()
    }
}

/// The dependence of the service times of one transaction on utilization. It should be 0: a slope that is significantly
/// different from 0 means another number of cores, or another bottleneck.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LoadSlope {
    /// Seconds per unit of utilization (0..1).
    pub slope_s: f64,
    /// Its standard error in seconds.
    pub standard_error_s: f64,
    /// Number of windows used.
    pub windows: usize,
}

impl LoadSlope {
    /// Whether it differs from 0 at 5 % (two-sided t test).
    pub fn is_significant(&self) -> bool {
        let degrees = self.windows.saturating_sub(2) as f64;
        degrees >= 1.0 && self.slope_s.abs() > student_quantile_95(degrees) * self.standard_error_s
    }
}

/// Regresses `S_{i,t}` on `U_t` over the windows in `ranges`; `None` if fewer than three windows are used, or the
/// utilization does not vary.
pub fn load_slope(
    observations: &Observations,
    ranges: &[Range<usize>],
    transaction: usize,
) -> Option<LoadSlope> {
    let rows = ranges.iter().cloned().flatten();
    let points: Vec<(f64, f64)> = rows
        .filter_map(|row| {
            Some((observations.utilization[row], service_time_at(observations, row, transaction)?))
        })
        .collect();
    let windows = points.len();
    if windows < 3 {
        return None;
    }
    let n = windows as f64;
    let mean_u = points.iter().map(|p| p.0).sum::<f64>() / n;
    let mean_s = points.iter().map(|p| p.1).sum::<f64>() / n;
    let spread: f64 = points.iter().map(|p| (p.0 - mean_u).powi(2)).sum();
    if spread <= f64::EPSILON * n * mean_u * mean_u {
        return None;
    }
    let slope_s = points.iter().map(|p| (p.0 - mean_u) * (p.1 - mean_s)).sum::<f64>() / spread;
    let sse: f64 = points.iter().map(|p| (p.1 - mean_s - slope_s * (p.0 - mean_u)).powi(2)).sum();
    Some(LoadSlope { slope_s, standard_error_s: (sse / (n - 2.0) / spread).sqrt(), windows })
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_numeric::Matrix;

    /// One type; `(count, response in ms, utilization)` a window.
    fn observed(windows: &[(f64, f64, f64)], cores: f64) -> Observations {
        let column = |service_time_of: &dyn Fn(&(f64, f64, f64)) -> f64| {
            Matrix::from_row_major(windows.len(), 1, windows.iter().map(service_time_of).collect())
        };
        Observations {
            window_s: 60.0,
            windows: (0..windows.len()).collect(),
            counts: column(&|w| w.0),
            utilization: windows.iter().map(|w| w.2).collect(),
            response_s: column(&|w| w.1 / 1e3),
            cores,
        }
    }

    #[test]
    fn the_signature_is_the_median_of_the_usable_windows() {
        // 10 · 0.5 = 5, 8 · 0.75 = 6, 10 · 0.7 = 7; the others have too few transactions, a saturated CPU, or no response time.
        let windows = [
            (5.0, 10.0, 0.5),
            (9.0, 8.0, 0.25),
            (6.0, 10.0, 0.3),
            (4.0, 99.0, 0.1),
            (9.0, 99.0, 0.96),
            (9.0, f64::NAN, 0.1),
        ];
        let service_time = signature(&observed(&windows, 1.0), std::slice::from_ref(&(0..6)))[0]
            .expect("three windows are used");
        assert!((service_time.seconds - 0.006).abs() < 1e-12, "{service_time:?}");
        // MAD = 1.4826 · 1 ms; 1.2533 · 1.4826 / √3.
        assert!((service_time.standard_error_s - 0.001_072_8).abs() < 1e-6, "{service_time:?}");
        assert_eq!(service_time.windows, 3);
        assert_eq!(signature(&observed(&windows, 1.0), std::slice::from_ref(&(3..6))), [None]);
    }

    #[test]
    fn several_cores_and_quotas_queue_later() {
        // 10 ms · (1 − 0.5²) and 10 ms · (1 − 0.5^1.5).
        assert!((service_time(0.010, 0.5, 2.0) - 0.0075).abs() < 1e-12);
        assert!((service_time(0.010, 0.5, 1.5) - 0.006_464_466).abs() < 1e-9);
        assert_eq!(service_time(0.010, 1.2, 1.0), 0.0);
    }

    #[test]
    fn a_change_is_large_significant_and_in_enough_windows() {
        let time = |ms: f64, error_ms: f64, windows| {
            Some(ServiceTime { seconds: ms / 1e3, standard_error_s: error_ms / 1e3, windows })
        };
        let before = [time(2.0, 0.1, 30), time(2.0, 0.1, 30), time(2.0, 0.1, 30), time(2.0, 0.01, 30), None];
        let after = [
            time(3.0, 0.1, 30),
            time(2.4, 0.1, 30),
            time(3.0, 0.1, 29),
            time(2.19, 0.01, 30),
            time(9.0, 0.1, 99),
        ];
        let changes = signature_changes(&before, &after, SignatureTest::default());
        let named: Vec<usize> = changes.iter().map(|change| change.transaction).collect();
        // Type 1: 0.4 < 3 · 0.14. Type 2: too few windows. Type 3: not more than a tenth. Type 4: unknown before.
        assert_eq!(named, [0]);
        assert!((changes[0].difference_s() - 0.001).abs() < 1e-12);
    }

    #[test]
    fn a_wrong_number_of_cores_shows_as_a_slope() {
        // True times of 2 cores, R = S / (1 − U²), declared as 1 core: S' = S (1 − U)/(1 − U²) = S / (1 + U).
        let window = |t: usize| {
            let u = 0.1 + 0.02 * (t % 40) as f64;
            (50.0, 4.0 / (1.0 - u * u) * (1.0 + 0.01 * ((t % 7) as f64 - 3.0)), u)
        };
        let windows: Vec<_> = (0..120).map(window).collect();
        let wrong = load_slope(&observed(&windows, 1.0), std::slice::from_ref(&(0..120)), 0).expect("varies");
        assert!(wrong.is_significant() && wrong.slope_s < 0.0, "{wrong:?}");
        let right = load_slope(&observed(&windows, 2.0), std::slice::from_ref(&(0..120)), 0).expect("varies");
        assert!(!right.is_significant(), "{right:?}");
        assert_eq!(load_slope(&observed(&windows, 1.0), std::slice::from_ref(&(0..2)), 0), None);
        assert_eq!(load_slope(&observed(&[(9.0, 1.0, 0.5); 5], 1.0), std::slice::from_ref(&(0..5)), 0), None);
    }
}
