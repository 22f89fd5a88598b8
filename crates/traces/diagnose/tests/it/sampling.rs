//! Sampling weights: an incident with all requests and after sampling.

use crate::simulated::{THREADS, incident_of};
use laggard_diagnose::{DiagnoseSettings, diagnose};
use laggard_engine::{Ingest, IngestSettings, LocalEngine, Requests};
use laggard_model::{AdjustedCount, Nanos, Sampling, Sink, SpanRecord, TailSampler, WeightSource};
use laggard_report::{InputFacts, Report, Verdict};
use laggard_simulate::{Request, Scenario, Settings, requests};

fn settings(requests_per_service: u32) -> Settings {
    Settings { requests_per_service, categories_per_service: 2, ..Settings::new(Scenario::Bursts, 4) }
}

/// The requests for which `keep` returns sampling information, with it.
fn sampled(requests_per_service: u32, keep: impl Fn(&Request) -> Option<Sampling>) -> Requests {
    let mut ingest = Ingest::new(IngestSettings::default());
    for request in requests(&settings(requests_per_service)).expect("settings in range") {
        let Some(sampling) = keep(&request) else { continue };
        for call in &request.calls {
            ingest.span(&SpanRecord { sampling, ..request.span(call) });
        }
    }
    Requests::from_traces(ingest.finish(THREADS), THREADS)
}

fn report(traces: &Requests, settings: &DiagnoseSettings) -> Report {
    diagnose(traces, None, &InputFacts::default(), settings, LocalEngine::new(THREADS))
        .expect("settings in range")
}

fn weighing(count: f64) -> Sampling {
    let adjusted_count = AdjustedCount::new(count);
    Sampling { adjusted_count, source: WeightSource::Threshold, tail_sampler: None }
}

fn top(report: &Report) -> (&str, &str) {
    let first = report.suspects.first().expect("a suspect");
    (&first.service, &first.operation)
}

/// All slow requests are sampled, and one in four of the others by a digest of their id.
fn tail_sampled(request: &Request) -> Option<Sampling> {
    if request.calls[0].inclusive > Nanos::from_ns(50_000_000) {
        return Some(weighing(1.0));
    }
    let mixed = (request.trace_id.value() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 62 == 0).then(|| weighing(4.0))
}

#[test]
fn weights_correct_counts_and_medians_of_tail_sampled_traces() {
    let defaults = DiagnoseSettings::default();
    let whole = report(&sampled(800, |_| Some(Sampling::default())), &defaults);
    let sample = sampled(800, tail_sampled);
    let weighted = report(&sample, &defaults);
    let unweighted =
        report(&sampled(800, |request| tail_sampled(request).map(|_| Sampling::default())), &defaults);
    let all = whole.input.requests as f64;
    let sampling = &weighted.input.sampling;
    assert!(weighted.input.requests as f64 <= 0.7 * all);
    assert!(
        (sampling.requests_estimated / all - 1.0).abs() < 0.05,
        "{} of {all}",
        sampling.requests_estimated
    );
    assert_eq!((sampling.known_share, sampling.weight_min, sampling.weight_max), (1.0, 1.0, 4.0));
    assert_eq!(unweighted.input.sampling.requests_estimated, unweighted.input.requests as f64);
    // The median of every category: far too high without weights.
    let (mut far, mut farther) = (0.0, 0.0);
    for category in &whole.categories {
        let error = |report: &Report| {
            let found = report.categories.iter().find(|other| other.id == category.id).expect("the category");
            (found.latency_p50_ns as f64 / category.latency_p50_ns as f64).ln().abs()
        };
        far += error(&weighted);
        farther += error(&unweighted);
    }
    assert!(far < 0.5 * farther, "{far} {farther}");
    assert_eq!(top(&weighted), top(&whole));
}

#[test]
fn one_weight_for_all_changes_only_the_estimates() {
    let defaults = DiagnoseSettings::default();
    let plain = report(&sampled(200, |_| Some(Sampling::default())), &defaults);
    let recorded = report(&sampled(200, |_| Some(weighing(20.0))), &defaults);
    let assumed = DiagnoseSettings { sampling_probability: Some(0.05), ..DiagnoseSettings::default() };
    let assumed = report(&sampled(200, |_| Some(Sampling::default())), &assumed);
    for other in [&recorded, &assumed] {
        assert_eq!(other.headline, plain.headline);
        assert_eq!(other.input.sampling.requests_estimated, 20.0 * plain.input.requests as f64);
        assert_eq!(other.input.sampling.requests_effective, plain.input.requests as f64);
        for (a, b) in plain.suspects.iter().zip(&other.suspects) {
            assert_eq!((a.share, a.factor, a.effect_ns), (b.share, b.factor, b.effect_ns));
            assert_eq!(b.requests_hit_estimated, 20.0 * a.requests_hit as f64);
        }
        assert_eq!(plain.suspects.len(), other.suspects.len());
    }
    assert_eq!((recorded.input.sampling.known_share, assumed.input.sampling.known_share), (1.0, 0.0));
}

#[test]
fn marks_of_tail_sampling_are_reported() {
    let marked = Sampling { tail_sampler: Some(TailSampler::Collector), ..Sampling::default() };
    let found = report(&sampled(200, |_| Some(marked)), &DiagnoseSettings::default());
    assert_eq!(found.input.sampling.tail_samplers[0].count, found.input.spans);
    assert!(
        found.cautions.iter().any(|caution| caution.contains("tail-based sampling")),
        "{:?}",
        found.cautions
    );
}

#[test]
fn too_little_data_lists_what_is_missing() {
    let first = requests(&settings(200)).expect("settings in range").next().expect("a request").trace_id;
    let found = report(
        &sampled(200, |request| (request.trace_id == first).then(Sampling::default)),
        &DiagnoseSettings::default(),
    );
    assert_eq!(found.verdict, Verdict::InsufficientData);
    assert_eq!(found.missing, ["The largest category has 1 request; 10 are needed (--set requests-min)."]);
    let empty = report(&sampled(200, |_| None), &DiagnoseSettings::default());
    assert_eq!(empty.missing, ["No span was read."]);
    let enough = report(&sampled(200, |_| Some(Sampling::default())), &DiagnoseSettings::default());
    assert!(enough.missing.is_empty());
}

/// One trace in ten of an hour, by a digest of its id.
fn one_in_ten(settings: &Settings) -> Requests {
    let is_kept = |request: &Request| {
        (request.trace_id.value() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32 < (1 << 32) / 10
    };
    incident_of(settings, is_kept).traces
}

/// A sampled hour of a scenario and another without it, as window and baseline: `(window, baseline)`.
fn sampled_hour(scenario: Scenario, seed: u64, requests_per_service: u32) -> (Requests, Requests) {
    let settings = Settings { requests_per_service, ..Settings::new(scenario, seed) };
    (one_in_ten(&settings), one_in_ten(&settings.baseline()))
}

fn compared(window: &Requests, baseline: &Requests) -> Report {
    let (facts, settings) = (InputFacts::default(), DiagnoseSettings::default());
    diagnose(window, Some(baseline), &facts, &settings, LocalEngine::new(THREADS)).expect("settings in range")
}

#[test]
fn a_tenth_of_the_traces_of_a_slow_hour_is_right_or_not_enough() {
    let cases = [
        (Scenario::CodeBug, 1, 3_000, ("mail-logic", "CheckAccess")),
        (Scenario::CodeBug, 2, 3_000, ("mail-logic", "CheckAccess")),
        (Scenario::Uniform, 1, 8_000, ("metadata", "ReadEntry")),
    ];
    for (scenario, seed, requests, truth) in cases {
        let (window, baseline) = sampled_hour(scenario, seed, requests);
        let found = compared(&window, &baseline);
        let is_right = found.verdict == Verdict::Suspects && top(&found) == truth;
        assert!(is_right || found.verdict == Verdict::InsufficientData, "{scenario:?}: {}", found.headline);
    }
}

#[test]
fn a_tenth_of_the_traces_of_a_quiet_hour_is_healthy_or_not_enough() {
    for seed in [2, 3] {
        let (window, baseline) = sampled_hour(Scenario::Quiet, seed, 3_000);
        let found = compared(&window, &baseline);
        let is_quiet = matches!(found.verdict, Verdict::Healthy | Verdict::InsufficientData);
        assert!(is_quiet, "{}", found.headline);
    }
}
