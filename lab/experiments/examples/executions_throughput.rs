//! Speed of what reads a kernel trace beside the graph: finder of executions and statistics, over a simulated
//! machine's events.
//!
//! `cargo run --release -p laggard-experiments --example executions_throughput -- 20000` (executions)

#![expect(clippy::print_stdout, reason = "an example prints what it measures")]

use laggard_kernel_graph::{Delimiter, ExecutionFinder, TraceStatistics};
use laggard_model::{KernelEvent, Losses};
use laggard_simulate_kernel::{KernelScenario, simulate_kernel};
use std::time::Instant;

/// Most events of the simulation in memory.
const EVENTS_MAX: usize = 10_000_000;

fn main() {
    let executions = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(20_000);
    let scenario = KernelScenario { executions, clients: 4, cpus: 4, ..KernelScenario::default() };
    let mut events: Vec<KernelEvent> = Vec::new();
    let begin = Instant::now();
    let run = simulate_kernel(&scenario, |event, _| {
        if events.len() < EVENTS_MAX {
            events.push(*event);
        }
    });
    let texts = run.texts;
    report("simulated and stored", events.len(), begin);

    for delimiter in ["auto", "marker", "process", "thread:client"] {
        let begin = Instant::now();
        let mut finder = ExecutionFinder::new(Delimiter::parse(delimiter).expect("a delimiter"));
        events.iter().for_each(|event| finder.push(event, &texts));
        let found = finder.finish(&mut Losses::none());
        report(&format!("{delimiter}: {} executions", found.executions.len()), events.len(), begin);
    }
    let begin = Instant::now();
    let mut statistics = TraceStatistics::default();
    events.iter().for_each(|event| statistics.push(event, &texts));
    let summary = statistics.finish(&texts, 10);
    report(&format!("statistics: {} threads", summary.threads), events.len(), begin);
}

fn report(what: &str, events: usize, begin: Instant) {
    let seconds = begin.elapsed().as_secs_f64();
    println!("{what}: {events} events in {seconds:.2} s, {:.1} M events/s", events as f64 / seconds / 1e6);
}
