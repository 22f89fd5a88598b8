//! Is a category anomalous? Dispersion of its latency (CloudDiag §4.1) and, in robust mode, its tail.

use crate::settings::{CloudDiagSettings, Mode};
use laggard_numeric::{coefficient_of_variation, mad, median_of};

/// What the gate saw in one category.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Gate {
    /// Coefficient of variation, divisor `m − 1`; 0 below two requests.
    pub cv: f64,
    /// Median latency, nanoseconds.
    pub median_ns: f64,
    /// MAD of the latency, nanoseconds.
    pub mad_ns: f64,
    /// Latency above which a request is in the tail, nanoseconds.
    pub tail_limit_ns: f64,
    /// Requests in the tail.
    pub tail_requests: u64,
    /// Share of all latency that tail requests spend beyond the median, 0..1.
    pub tail_excess_share: f64,
    /// Whether enough requests were there to judge.
    pub judged: bool,
    /// Whether the category is anomalous.
    pub anomalous: bool,
}

/// Judges a category by its latencies (nanoseconds).
///
/// `CV = std/mean > cv_min`; in robust mode also a tail excess, because `CV > 1` needs a giant tail: on log
/// latency a request is in the tail above `median + tail_mad·MAD`, and the tail must be numerous enough and
/// hold enough of the total latency (algorithms §3.1).
pub fn gate(latencies_ns: &[f64], settings: &CloudDiagSettings) -> Gate {
    let mut out = Gate { cv: coefficient_of_variation(latencies_ns), ..Gate::default() };
    out.median_ns = median_of(latencies_ns);
    out.mad_ns = mad(latencies_ns, out.median_ns);
    measure_tail(latencies_ns, settings, &mut out);
    out.judged = latencies_ns.len() as u64 >= settings.requests_min;
    let by_cv = out.cv > settings.cv_min;
    let by_tail = settings.mode == Mode::Robust
        && out.tail_requests >= settings.tail_requests_min
        && out.tail_requests as f64 >= settings.tail_share_min * latencies_ns.len() as f64
        && out.tail_excess_share >= settings.tail_excess_min;
    out.anomalous = out.judged && (by_cv || by_tail);
    out
}

fn measure_tail(latencies_ns: &[f64], settings: &CloudDiagSettings, out: &mut Gate) {
    let logs: Vec<f64> = latencies_ns.iter().map(|&latency| latency.max(1.0).ln()).collect();
    let median_log = median_of(&logs);
    let limit = median_log + settings.tail_mad * mad(&logs, median_log);
    out.tail_limit_ns = limit.exp();
    let mut excess = 0.0;
    for (&latency, _) in latencies_ns.iter().zip(&logs).filter(|&(_, &log)| log > limit) {
        out.tail_requests += 1;
        excess += latency - out.median_ns;
    }
    let total: f64 = latencies_ns.iter().sum();
    out.tail_excess_share = if total > 0.0 { excess / total } else { 0.0 };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_latency_is_not_anomalous() {
        let seen = gate(&[5.0; 100], &CloudDiagSettings::default());
        assert_eq!((seen.cv, seen.tail_requests, seen.anomalous), (0.0, 0, false));
    }

    #[test]
    fn a_mild_tail_passes_the_tail_gate_but_not_the_papers() {
        let mut latencies: Vec<f64> = (0..95).map(|i| 100.0 + f64::from(i % 10)).collect();
        latencies.extend([300.0; 5]);
        assert!(gate(&latencies, &CloudDiagSettings::new(Mode::Robust)).anomalous);
        let paper = gate(&latencies, &CloudDiagSettings::new(Mode::Paper));
        assert!(paper.cv < 1.0 && !paper.anomalous);
    }

    #[test]
    fn few_requests_are_not_judged() {
        let seen = gate(&[1.0, 1.0, 1.0, 1000.0], &CloudDiagSettings::default());
        assert!(!seen.judged && !seen.anomalous);
    }
}
