//! Simulated incidents: the truth is known exactly.

use super::{Group, SetKind};
use crate::calls::CaseCalls;
use crate::case::{Case, OperationName, Question, Truth};
use crate::run::Runner;
use laggard_engine::{Ingest, IngestSettings, Traces};
use laggard_model::Sink;
use laggard_simulate::{FaultScope, Request, Scenario, Settings, requests};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// The scenarios, and whether each is also run without a baseline.
const SCENARIOS: [(Scenario, Alone); 13] = [
    (Scenario::ThreadPool, Alone::Too),
    (Scenario::RandomDevice, Alone::Too),
    (Scenario::Bursts, Alone::Too),
    (Scenario::Misconfiguration, Alone::Too),
    (Scenario::Failover, Alone::Too),
    (Scenario::CodeBug, Alone::Too),
    (Scenario::CodeBugNewOperation, Alone::Too),
    (Scenario::LoadImbalance, Alone::Too),
    (Scenario::Uniform, Alone::Never),
    (Scenario::OneOfTwo, Alone::Too),
    (Scenario::FortyOfHundred, Alone::Too),
    (Scenario::Quiet, Alone::Too),
    (Scenario::HeavyTail, Alone::Too),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Alone {
    Too,
    /// Without a baseline there is nothing to see.
    Never,
}

/// An operation with less than this share of the injected time is no culprit that must be accepted.
const CULPRIT_SHARE: f64 = 0.05;
const HOURS: f64 = 1.0;

pub(super) fn visit(runner: &mut Runner<'_>) -> Result<(), String> {
    for (scenario, alone) in SCENARIOS {
        let without = Group::new(SetKind::Simulator, scenario.name());
        let with = Group::new(SetKind::Simulator, &format!("{}, with baseline", scenario.name()));
        let wanted_alone = alone == Alone::Too && runner.wants(&without);
        if !wanted_alone && !runner.wants(&with) {
            continue;
        }
        for seed in runner.seeds() {
            let case = simulate(scenario, seed, runner)?;
            if wanted_alone {
                runner.run(&without, HOURS, case.without_baseline());
            }
            runner.run_compared(&without, &with, HOURS, case);
        }
    }
    Ok(())
}

fn simulate(scenario: Scenario, seed: u64, runner: &Runner<'_>) -> Result<Case, String> {
    let settings = Settings { requests_per_service: runner.requests(), ..Settings::new(scenario, seed) };
    let threads = runner.threads();
    let before = baseline(&settings);
    let (now, usual) = std::thread::scope(|scope| {
        let usual = scope.spawn(|| draw(&before, threads));
        (draw(&settings, threads), usual.join().expect("drawing does not panic"))
    });
    let ((target, truth), (usual, _)) = (now?, usual?);
    let calls = match runner.needs_calls() {
        true => CaseCalls::new(&target, Some(&usual)),
        false => CaseCalls::default(),
    };
    let (target, baseline) = (Arc::new(target), Some(Arc::new(usual)));
    let question = if truth == Truth::Quiet { Question::Detect } else { Question::Explain };
    Ok(Case { name: format!("seed {seed}"), target, baseline, calls, truth, question })
}

/// The quiet hour before. Where there is no fault, the hour before had none of the same kind.
fn baseline(settings: &Settings) -> Settings {
    let quiet = settings.baseline();
    match settings.scenario {
        Scenario::HeavyTail => Settings { scenario: Scenario::HeavyTail, ..quiet },
        _ => quiet,
    }
}

fn draw(settings: &Settings, threads: NonZeroUsize) -> Result<(Traces, Truth), String> {
    let mut ingest = Ingest::new(IngestSettings::default());
    let mut injected = Injected::default();
    for request in requests(settings).map_err(|error| error.to_string())? {
        take(&request, &mut ingest, &mut injected);
    }
    Ok((ingest.finish(threads), injected.truth(settings.scenario.scope())))
}

#[derive(Default)]
struct Injected {
    operations_ns: BTreeMap<OperationName, u64>,
    replicas: BTreeSet<String>,
}

impl Injected {
    fn truth(self, scope: FaultScope) -> Truth {
        let all: u64 = self.operations_ns.values().sum();
        if all == 0 {
            return Truth::Quiet;
        }
        let least = CULPRIT_SHARE * all as f64;
        let culprits = self.operations_ns.into_iter().filter(|&(_, ns)| ns as f64 >= least);
        let replicas = if scope == FaultScope::All { BTreeSet::new() } else { self.replicas };
        Truth::Operations { culprits: culprits.map(|(name, _)| name).collect(), replicas }
    }
}

fn take(request: &Request, ingest: &mut Ingest, injected: &mut Injected) {
    for call in &request.calls {
        ingest.span(&request.span(call));
        if call.injected.ns() > 0 {
            let name = OperationName::new(request.service(call), request.operation(call));
            *injected.operations_ns.entry(name).or_default() += call.injected.ns();
            injected.replicas.insert(request.replica(call).to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(scenario: Scenario) -> Settings {
        Settings { requests_per_service: 80, ..Settings::new(scenario, 3) }
    }

    #[test]
    fn the_truth_equals_the_injected_faults() {
        let (_, truth) = draw(&small(Scenario::OneOfTwo), NonZeroUsize::MIN).unwrap();
        let Truth::Operations { culprits, replicas } = truth else { panic!("{truth:?}") };
        assert_eq!(culprits, BTreeSet::from([OperationName::new("front-end", "RouteRequest")]));
        assert_eq!(replicas.len(), 1);
        let (_, everywhere) = draw(&small(Scenario::Uniform), NonZeroUsize::MIN).unwrap();
        assert!(matches!(everywhere, Truth::Operations { replicas, .. } if replicas.is_empty()));
        assert_eq!(draw(&small(Scenario::HeavyTail), NonZeroUsize::MIN).unwrap().1, Truth::Quiet);
    }

    #[test]
    fn heavy_tails_are_compared_with_heavy_tails() {
        let settings = small(Scenario::HeavyTail);
        let before = baseline(&settings);
        assert_eq!(before.scenario, Scenario::HeavyTail);
        assert_ne!(before.run, settings.run);
        assert_eq!(baseline(&small(Scenario::CodeBug)).scenario, Scenario::Quiet);
    }
}
