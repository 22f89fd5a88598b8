//! Invariants of the machine.

use super::*;
use laggard_model::{EventKind, KernelEvent, KernelTime, Tid};
use std::collections::HashMap;

fn events(scenario: &KernelScenario) -> (Vec<KernelEvent>, KernelRun) {
    let mut events = Vec::new();
    let run = simulate_kernel(scenario, |event, _| events.push(*event));
    (events, run)
}

fn scenarios() -> Vec<KernelScenario> {
    let faults = [
        KernelFault::None,
        KernelFault::CpuQuota { ns: 10_000_000 },
        KernelFault::SlowServer { extra_ns: 1_000_000 },
        KernelFault::HeldLock { extra_ns: 3_000_000 },
    ];
    let scenario = |(seed, fault): (u64, KernelFault)| KernelScenario {
        seed,
        fault,
        cpus: 1 + (seed % 3) as u16,
        clients: 1 + (seed % 2) as u32,
        executions: 20,
        ..KernelScenario::default()
    };
    (1..).zip(faults).map(scenario).collect()
}

#[test]
fn the_same_scenario_gives_the_same_events() {
    for scenario in scenarios() {
        let (first, run) = events(&scenario);
        assert_eq!(first, events(&scenario).0);
        assert_eq!(run.events as usize, first.len());
        assert_eq!(run.executions.len(), 20);
        let other = KernelScenario { seed: scenario.seed + 100, ..scenario };
        assert_ne!(first, events(&other).0);
    }
}

/// A thread that leaves a CPU ran on it, no thread runs on two, and each CPU's records are by the thread it runs.
#[test]
fn cpus_switch_between_threads_in_order_of_time() {
    for scenario in scenarios() {
        let mut running: HashMap<u16, Tid> = HashMap::new();
        let mut last = KernelTime::default();
        for event in events(&scenario).0 {
            assert!(event.time >= last, "in order of time");
            last = event.time;
            let now = running.entry(event.cpu.0).or_default();
            assert_eq!(event.recorded, Some(*now), "{event:?}");
            if let EventKind::Switch { prev, next, .. } = event.kind {
                assert_eq!(prev, *now);
                *now = next;
                let on = running.values().filter(|&&tid| tid == next && tid != Tid::IDLE).count();
                assert!(on <= 1, "{next:?} runs twice");
            }
        }
    }
}

#[test]
fn affected_executions_take_longer() {
    let fault = KernelFault::SlowServer { extra_ns: 1_000_000 };
    let scenario = KernelScenario {
        fault,
        hit_share: 0.5,
        executions: 60,
        kinds: vec![ExecutionKind::Query],
        ..KernelScenario::default()
    };
    let executions = events(&scenario).1.executions;
    let mean = |is_hit: bool| {
        let answers: Vec<u64> = executions
            .iter()
            .filter(|execution| execution.is_hit == is_hit)
            .map(|execution| execution.spent.answer)
            .collect();
        answers.iter().sum::<u64>() / answers.len() as u64
    };
    // Twelve questions, one millisecond more each.
    assert!(mean(true) > mean(false) + 11_000_000);
}
