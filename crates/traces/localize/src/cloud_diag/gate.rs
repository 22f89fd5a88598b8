//! Whether a category is anomalous: by the dispersion of its latency (CloudDiag §4.1) and, in robust mode, by its tail.

use super::settings::CloudDiagSettings;
use laggard_numeric::{
    Weights, effective_sample_size, weighted_coefficient_of_variation, weighted_mad, weighted_median,
};

/// The latency statistics of one category, and the decision.
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
    /// Effective sample size of the requests: their number when all weights are equal.
    pub effective_requests: f64,
    /// Whether there were enough requests.
    pub judged: bool,
    /// Whether the category is anomalous.
    pub anomalous: bool,
}

/// Judges a category by its latencies (nanoseconds), each with weight 1: see [`gate_weighted`].
pub fn gate(latencies_ns: &[f64], settings: &CloudDiagSettings) -> DispersionGate {
    gate_weighted(latencies_ns, Weights::Equal, settings)
}

/// Judges a category by its latencies (nanoseconds) and their weights.
///
/// `CV = std/mean > cv_min`; in robust mode also a tail excess, because `CV > 1` needs a giant tail: on log
/// latency a request is in the tail above `median + tail_mad·MAD`, and the tail must be numerous enough and
/// hold enough of the total latency (algorithms §3.1).
///
/// Weights enter the CV, median, MAD and both shares. Evidence counts unweighted: the tail must have enough
/// requests that were read, and the effective sample size of all requests must be large enough.
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
    let by_tail = settings.mode.steps().judges_tail
        && out.tail_requests >= settings.tail_requests_min
        && tail_share.weight >= settings.tail_share_min * tail_share.total
        && out.tail_excess_share >= settings.tail_excess_min;
    out.anomalous = out.judged && (by_cv || by_tail);
    out
}

/// Weight of the tail, and of all requests, in one unit.
struct TailWeight {
    weight: f64,
    total: f64,
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
    let mut tail = TailWeight { weight: 0.0, total: 0.0 };
    for (index, (&latency, &log)) in latencies_ns.iter().zip(&logs).enumerate() {
        let weight = weights.at(index);
        total += weight * latency;
        tail.total += weight;
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
    use super::super::settings::Mode;
    use super::*;

    #[test]
    fn constant_latency_is_not_anomalous() {
        let verdict = gate(&[5.0; 100], &CloudDiagSettings::default());
        assert_eq!((verdict.cv, verdict.tail_requests, verdict.anomalous), (0.0, 0, false));
    }

    #[test]
    fn a_mild_tail_is_anomalous_in_robust_mode_only() {
        let mut latencies: Vec<f64> = (0..95).map(|i| 100.0 + f64::from(i % 10)).collect();
        latencies.extend([300.0; 5]);
        assert!(gate(&latencies, &CloudDiagSettings::new(Mode::Robust)).anomalous);
        let paper = gate(&latencies, &CloudDiagSettings::new(Mode::Paper));
        assert!(paper.cv < 1.0 && !paper.anomalous);
    }

    /// Nine usual requests that represent a hundred each, and three slow ones that were sampled for being slow.
    #[test]
    fn slow_requests_with_weight_one_do_not_make_a_tail() {
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
    fn few_requests_are_not_tested() {
        let verdict = gate(&[1.0, 1.0, 1.0, 1000.0], &CloudDiagSettings::default());
        assert!(!verdict.judged && !verdict.anomalous);
    }
}
