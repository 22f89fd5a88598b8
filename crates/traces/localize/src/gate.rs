//! Is a category anomalous? Dispersion of its latency (CloudDiag §4.1) and, in robust mode, its tail.

use crate::settings::{CloudDiagSettings, Mode};
use laggard_numeric::{
    Weights, effective_sample_size, weighted_coefficient_of_variation, weighted_mad, weighted_median,
};

/// What the gate saw in one category.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct DispersionGate {
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
    /// Effective sample size of the requests: their number when they weigh alike.
    pub effective_requests: f64,
    /// Whether enough requests were there to judge.
    pub judged: bool,
    /// Whether the category is anomalous.
    pub anomalous: bool,
}

/// Judges a category by its latencies (nanoseconds), each of which stands for itself: see [`gate_weighted`].
pub fn gate(latencies_ns: &[f64], settings: &CloudDiagSettings) -> DispersionGate {
    gate_weighted(latencies_ns, Weights::Equal, settings)
}

/// Judges a category by its latencies (nanoseconds) and what each stands for.
///
/// `CV = std/mean > cv_min`; in robust mode also a tail excess, because `CV > 1` needs a giant tail: on log
/// latency a request is in the tail above `median + tail_mad·MAD`, and the tail must be numerous enough and
/// hold enough of the total latency (algorithms §3.1).
///
/// Weights enter the CV, median, MAD and both shares. Evidence is what was read: the tail must be numerous by
/// requests read, and there must be enough requests by their effective sample size.
pub fn gate_weighted(
    latencies_ns: &[f64],
    weights: Weights<'_>,
    settings: &CloudDiagSettings,
) -> DispersionGate {
    let mut out = DispersionGate {
        cv: weighted_coefficient_of_variation(latencies_ns, weights),
        ..DispersionGate::default()
    };
    out.median_ns = weighted_median(latencies_ns, weights);
    out.mad_ns = weighted_mad(latencies_ns, weights, out.median_ns);
    let tail_share = measure_tail(latencies_ns, weights, settings, &mut out);
    out.effective_requests = match weights {
        Weights::Equal => latencies_ns.len() as f64,
        Weights::Each(each) => effective_sample_size(each),
    };
    out.judged = out.effective_requests >= settings.requests_min as f64;
    let by_cv = out.cv > settings.cv_min;
    let by_tail = settings.mode == Mode::Robust
        && out.tail_requests >= settings.tail_requests_min
        && tail_share.weight >= settings.tail_share_min * tail_share.of
        && out.tail_excess_share >= settings.tail_excess_min;
    out.anomalous = out.judged && (by_cv || by_tail);
    out
}

/// Weight of the tail, and of all requests.
struct TailWeight {
    weight: f64,
    of: f64,
}

fn measure_tail(
    latencies_ns: &[f64],
    weights: Weights<'_>,
    settings: &CloudDiagSettings,
    out: &mut DispersionGate,
) -> TailWeight {
    let logs: Vec<f64> = latencies_ns.iter().map(|&latency| latency.max(1.0).ln()).collect();
    let median_log = weighted_median(&logs, weights);
    let limit = median_log + settings.tail_mad * weighted_mad(&logs, weights, median_log);
    out.tail_limit_ns = limit.exp();
    let (mut excess, mut total) = (0.0, 0.0);
    let mut tail = TailWeight { weight: 0.0, of: 0.0 };
    for (at, (&latency, &log)) in latencies_ns.iter().zip(&logs).enumerate() {
        let weight = weights.at(at);
        total += weight * latency;
        tail.of += weight;
        if log > limit {
            out.tail_requests += 1;
            tail.weight += weight;
            excess += weight * (latency - out.median_ns);
        }
    }
    out.tail_excess_share = if total > 0.0 { excess / total } else { 0.0 };
    tail
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

    /// Nine usual requests that stand for a hundred each, and three slow ones that were kept for being slow.
    #[test]
    fn slow_requests_that_stand_for_themselves_do_not_make_a_tail() {
        let mut latencies: Vec<f64> = (0..97).map(|i| 100.0 + f64::from(i % 10)).collect();
        latencies.extend([300.0; 8]);
        let mut weights = vec![100.0; 97];
        weights.extend([1.0; 8]);
        let settings = CloudDiagSettings::default();
        let (plain, weighted) = (
            gate(&latencies, &settings),
            gate_weighted(&latencies, Weights::from_slice(&weights), &settings),
        );
        assert!(plain.anomalous && !weighted.anomalous && weighted.judged);
        assert_eq!((plain.tail_requests, weighted.tail_requests), (8, 8));
        assert!(weighted.effective_requests > 97.0 && weighted.effective_requests < 98.0);
        let rare = [1e6, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert!(!gate_weighted(&latencies[..11], Weights::from_slice(&rare), &settings).judged);
    }

    #[test]
    fn few_requests_are_not_judged() {
        let seen = gate(&[1.0, 1.0, 1.0, 1000.0], &CloudDiagSettings::default());
        assert!(!seen.judged && !seen.anomalous);
    }
}
