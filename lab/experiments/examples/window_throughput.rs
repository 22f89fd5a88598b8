//! How fast samples become windows: `cargo run --release -p laggard-experiments --example window_throughput -- 10000000`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use laggard_model::{Measure, Nanos, SampleRecord, Sink, Timestamp};
use laggard_samples::{SampleTable, WindowSettings};
use std::time::Instant;

/// Servers, and transaction types at each, of the wide table that is drawn.
const SERVERS: usize = 10;
const TYPES: usize = 14;

fn main() {
    let samples: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    for measure in [Measure::Transactions, Measure::TransactionsTotal, Measure::Completion] {
        let seconds = samples / (SERVERS * (TYPES + 1));
        let began = Instant::now();
        let table = fill(seconds, measure);
        let read = began.elapsed();
        let count = table.samples();
        let settings = WindowSettings { length: Nanos::from_secs(60), ..WindowSettings::default() };
        let windows = table.finish(&settings).map_or(0, |table| table.windows);
        let whole = began.elapsed();
        println!(
            "{measure:?}: {count} samples read in {:.2} s, {windows} windows after {:.2} s: {:.1} million a second",
            read.as_secs_f64(),
            whole.as_secs_f64(),
            count as f64 / whole.as_secs_f64() / 1e6
        );
    }
}

fn fill(seconds: usize, measure: Measure) -> SampleTable {
    let servers: Vec<String> = (0..SERVERS).map(|index| format!("app-{index}")).collect();
    let types: Vec<String> = (0..TYPES).map(|index| format!("GET /page/{index}")).collect();
    let mut table = SampleTable::default();
    for second in 0..seconds {
        for server in &servers {
            let time = Timestamp::from_unix_ns((1_700_000_000 + second as i64) * 1_000_000_000);
            let record = SampleRecord {
                time,
                measure: Measure::Utilization,
                server,
                tier: "app",
                transaction: "",
                callee: "",
                value: 0.4,
            };
            table.sample(&record);
            for transaction in &types {
                table.sample(&SampleRecord { measure, transaction, value: second as f64, ..record });
            }
        }
    }
    table
}
