//! Speed and memory of graphs and critical paths over simulated events:
//! `cargo run --release -p laggard-experiments --example graph_throughput -- 10000000`.
#![expect(clippy::print_stdout, reason = "an example prints what it measured")]

mod simulation;

use laggard_kernel_graph::{ExecutionGraph, GraphBuilder, GraphSettings, HostId, Window, WorkerState};
use laggard_model::{KernelTexts, Losses};
use simulation::{SimulatedExecution, Simulation};
use std::time::Instant;

fn main() {
    let events: u64 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(10_000_000);
    let watch = Watch::start();
    let mut texts = KernelTexts::default();
    let mut simulation = Simulation::new(&mut texts);
    let check = (0..events).fold(0, |sum, _| sum ^ simulation.next_event().time.ns());
    println!("{events} events made: {} (check {check:x})", watch.describe());

    let watch = Watch::start();
    let mut texts = KernelTexts::default();
    let mut simulation = Simulation::new(&mut texts);
    let mut builder = GraphBuilder::new(GraphSettings::default(), HostId(0));
    for _ in 0..events {
        builder.push(&simulation.next_event(), &texts);
    }
    let mut losses = Losses::none();
    let graph = builder.finish(&mut losses);
    println!("the same made once more, and their graph: {}", watch.describe());
    let paths = Watch::start();
    walk(&graph, &simulation.executions);
    println!("{} paths: {}", simulation.executions.len(), paths.describe());
    println!("events, graph and paths: {}", watch.describe());
    let counts = graph.counts();
    println!(
        "{} workers, {} vertices, {} wake-ups, {losses:?}; peak memory {} MB",
        counts.workers,
        counts.vertices,
        counts.vertical,
        peak_memory_kb() / 1024
    );
}

/// Measures time by the clock, and time on the CPU (which other programs do not prolong).
struct Watch {
    began: Instant,
    cpu_ns: u64,
}

impl Watch {
    fn start() -> Watch {
        Watch { began: Instant::now(), cpu_ns: cpu_ns() }
    }

    fn describe(&self) -> String {
        let cpu = (cpu_ns() - self.cpu_ns) as f64 / 1e9;
        format!("{:.2} s, {cpu:.2} s of them on the CPU", self.began.elapsed().as_secs_f64())
    }
}

/// Nanoseconds that this thread has spent on a CPU, by the kernel's count; 0 if it is not available.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// The critical paths of all executions.
fn walk(graph: &ExecutionGraph, executions: &[SimulatedExecution]) {
    let (mut segments, mut unresolved, mut ns) = (0, 0, [0; WorkerState::ALL.len()]);
    for execution in executions {
        let worker = graph.worker_of(HostId(0), execution.tid, execution.from);
        let window = Window { from: execution.from, to: execution.to };
        let Some(worker) = worker else { continue };
        let path = graph.critical_path(worker, window);
        segments += path.segments.len();
        unresolved += path.unresolved;
        for segment in &path.segments {
            ns[segment.state as usize] += segment.window.ns();
        }
    }
    println!("{segments} segments, {unresolved} waits unresolved, ms by state:");
    let shares = WorkerState::ALL.iter().zip(ns).filter(|(_, ns)| *ns > 0);
    let shares: Vec<String> =
        shares.map(|(state, ns)| format!("{} {:.0}", state.name(), ns as f64 / 1e6)).collect();
    println!("  {}", shares.join(", "));
}

/// The most memory this program has held, by the kernel's count; 0 if it is not available.
fn peak_memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|kb| kb.parse().ok()).unwrap_or(0)
}
