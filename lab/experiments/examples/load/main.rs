//! Sends OTLP spans over gRPC as fast as they are acknowledged, to any receiver, and counts.
//!
//! ```text
//! cargo run --release -p laggard-experiments --example load -- 127.0.0.1:4317 --seconds 20 --connections 4 --streams 4
//! ```
//!
//! Prints one line of JSON. A span counts once its message was answered with `grpc-status: 0`; rejected ones are counted
//! separately. Messages are made before the clock starts; only trace ids, and times if requested, are new in each.

mod spans;
mod stream;

use spans::{SPANS_A_MESSAGE, Template};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Options of the run.
struct Arguments {
    address: SocketAddr,
    seconds: u64,
    /// Maximum number of spans; 0 for no limit.
    spans: u64,
    connections: usize,
    streams: usize,
    /// Where random ids start, so that two runs do not send the same traces.
    seed: u64,
}

/// Counts of all connections.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) acknowledged: AtomicU64,
    pub(crate) messages: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Messages answered with a status to retry later.
    pub(crate) deferred: AtomicU64,
    /// Messages answered otherwise.
    pub(crate) failed: AtomicU64,
}

fn main() -> Result<(), String> {
    let arguments = read_arguments()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(run(&arguments))
}

fn read_arguments() -> Result<Arguments, String> {
    let usage = "load ADDRESS [--seconds N] [--spans N] [--connections N] [--streams N] [--seed N]";
    let mut words = std::env::args().skip(1);
    let address = words.next().and_then(|text| text.parse().ok()).ok_or(usage)?;
    let mut arguments = Arguments { address, seconds: 10, spans: 0, connections: 4, streams: 4, seed: 1 };
    while let Some(name) = words.next() {
        let value: u64 = words.next().and_then(|text| text.parse().ok()).ok_or(usage)?;
        match name.as_str() {
            "--seconds" => arguments.seconds = value,
            "--spans" => arguments.spans = value,
            "--connections" => arguments.connections = value as usize,
            "--streams" => arguments.streams = value as usize,
            "--seed" => arguments.seed = value,
            _ => return Err(usage.to_owned()),
        }
    }
    Ok(arguments)
}

async fn run(arguments: &Arguments) -> Result<(), String> {
    let templates: Arc<[Template]> = (0..8).map(|index| Template::new(arguments.seed + index)).collect();
    let counts = Arc::new(Counts::default());
    let started = Instant::now();
    let until = started + Duration::from_secs(arguments.seconds);
    let budget = Arc::new(AtomicU64::new(match arguments.spans {
        0 => u64::MAX,
        spans => spans.div_ceil(SPANS_A_MESSAGE as u64),
    }));
    let mut tasks = Vec::new();
    for connection in 0..arguments.connections {
        let sender = stream::connect(arguments.address).await?;
        for index in 0..arguments.streams {
            let lane = stream::Lane {
                sender: sender.clone(),
                templates: Arc::clone(&templates),
                counts: Arc::clone(&counts),
                budget: Arc::clone(&budget),
                until,
                number: arguments.seed << 32 | ((connection * arguments.streams + index) as u64) << 24,
            };
            tasks.push(tokio::spawn(lane.run()));
        }
    }
    for task in tasks {
        task.await.map_err(|error| error.to_string())??;
    }
    report(&counts, started.elapsed());
    Ok(())
}

#[expect(clippy::print_stdout, reason = "this is its answer")]
fn report(counts: &Counts, elapsed: Duration) {
    let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (spans, seconds) = (get(&counts.acknowledged), elapsed.as_secs_f64());
    println!(
        "{{\"spans\":{spans},\"seconds\":{seconds:.3},\"spans_per_second\":{:.0},\"messages\":{},\"bytes\":{},\"deferred\":{},\"failed\":{}}}",
        spans as f64 / seconds,
        get(&counts.messages),
        get(&counts.bytes),
        get(&counts.deferred),
        get(&counts.failed)
    );
}
