//! Affected requests of the simulated incidents and their additional time.

use super::{Group, SetKind};
use crate::case::OperationName;
use crate::hits::{HitCase, HitTruth};
use crate::run::Runner;
use laggard_engine::{Ingest, IngestSettings, Traces};
use laggard_model::Sink;
use laggard_simulate::{FaultScope, Scenario, Settings, requests};
use std::num::NonZeroUsize;
use std::sync::Arc;

pub(super) fn visit(runner: &mut Runner<'_>) -> Result<(), String> {
    if !runner.has_hit_finders() {
        return Ok(());
    }
    let with_fault = Scenario::ALL.into_iter().filter(|scenario| scenario.scope() != FaultScope::None);
    let incidents = with_fault.map(|scenario| {
        let settings = Settings { requests_per_service: runner.requests(), ..Settings::new(scenario, 1) };
        (scenario.name(), settings)
    });
    let incidents: Vec<(&str, Settings)> = incidents.chain([("demo", Settings::demo())]).collect();
    for (title, incident) in incidents {
        let alone = Group::new(SetKind::RequestsHit, title);
        let compared = Group::new(SetKind::RequestsHit, &format!("{title}, with baseline"));
        if !runner.wants(&alone) && !runner.wants(&compared) {
            continue;
        }
        for seed in runner.seeds() {
            let settings = Settings { seed, ..incident.clone() };
            let (target, truth) = draw(&settings, runner.threads())?;
            let (baseline, _) = draw(&settings.baseline(), runner.threads())?;
            let name = format!("seed {seed}");
            let case = HitCase { name, target: Arc::new(target), baseline: None, truth: Arc::new(truth) };
            if !settings.scenario.needs_baseline() {
                runner.find_hits(&alone, &case);
            }
            runner.find_hits(&compared, &HitCase { baseline: Some(Arc::new(baseline)), ..case });
        }
    }
    Ok(())
}

fn draw(settings: &Settings, threads: NonZeroUsize) -> Result<(Traces, HitTruth), String> {
    let mut ingest = Ingest::new(IngestSettings::default());
    let mut truth = HitTruth::new();
    for request in requests(settings).map_err(|error| error.to_string())? {
        for call in &request.calls {
            ingest.span(&request.span(call));
            if call.injected.ns() == 0 {
                continue;
            }
            let name = OperationName::new(request.service(call), request.operation(call));
            let injected = truth.entry(name).or_default();
            let extra_ns = call.injected.ns() as f64;
            injected.calls_ns.push(extra_ns);
            *injected.requests_ns.entry(request.trace_id).or_default() += extra_ns;
        }
    }
    Ok((ingest.finish(threads), truth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn injected_times_are_counted_by_call_and_by_request() {
        let settings = Settings { requests_per_service: 80, ..Settings::new(Scenario::OneOfTwo, 3) };
        let (_, truth) = draw(&settings, NonZeroUsize::MIN).unwrap();
        let injected = &truth[&OperationName::new("front-end", "RouteRequest")];
        assert_eq!(truth.len(), 1);
        let [calls, requests]: [f64; 2] =
            [injected.calls_ns.iter().sum(), injected.requests_ns.values().sum()];
        assert!(calls > 0.0 && (calls - requests).abs() < 1.0);
    }
}
