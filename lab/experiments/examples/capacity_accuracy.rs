//! Capacity answers against a simulation of the load they promise:
//!
//! ```sh
//! cargo run --release -p laggard-experiments --example capacity_accuracy -- [SEEDS]
//! ```
//!
//! A shop is observed at up to two thirds of its capacity; the answer is then simulated: so many clients, what is
//! their mean response time? A row a kind of shop and target.
#![expect(clippy::print_stdout, reason = "a command-line program")]

#[path = "../../../crates/metrics/questions/tests/it/tpcw_table.rs"]
mod tpcw_table;

use laggard_metrics_questions::{CapacitySettings, SampleFacts, WhatIfChange, capacity};
use laggard_report::CapacityAnswer;
use laggard_simulate::{Phase, TierSettings, TpcwRun, TpcwSettings, Workload, tpcw};
use tpcw_table::table;

/// A kind of shop, and how many clients it is observed with.
struct Shop {
    name: &'static str,
    servers: u16,
    cores: f64,
    clients: [u32; 4],
}

const SHOPS: [Shop; 5] = [
    Shop { name: "1 core", servers: 1, cores: 1.0, clients: [200, 450, 700, 950] },
    Shop { name: "4 cores", servers: 1, cores: 4.0, clients: [800, 1_800, 2_800, 3_300] },
    Shop { name: "quota of 1.5", servers: 1, cores: 1.5, clients: [300, 700, 1_050, 1_400] },
    Shop { name: "3 servers", servers: 3, cores: 1.0, clients: [600, 1_300, 2_000, 2_700] },
    Shop { name: "2 servers of 2", servers: 2, cores: 2.0, clients: [800, 1_800, 2_800, 3_300] },
];

fn settings(shop: &Shop, seed: u64, mix: usize, clients: &[u32], windows: u32) -> TpcwSettings {
    let phases = vec![Phase::new(windows, Workload::Steps { mix, clients: clients.to_vec() })];
    TpcwSettings {
        front: TierSettings { servers: shop.servers, cores: shop.cores },
        // Fast enough not to bind.
        database: TierSettings { servers: 1, cores: 4.0 },
        ..TpcwSettings::new(seed, phases)
    }
}

fn answer(run: &TpcwRun, target_s: f64, change: Option<&str>) -> CapacityAnswer {
    let changes = change.map(|text| WhatIfChange::parse(text).expect("a change")).into_iter().collect();
    let settings = CapacitySettings { changes, ..CapacitySettings::new(target_s) };
    let report = capacity(&table(run), &SampleFacts::default(), &settings).expect("names that are there");
    match report.what_if {
        Some(what_if) => what_if.answer,
        None => report.answer.expect("enough data"),
    }
}

/// Throughput and mean response time of an hour and more, without its first windows.
fn measured(run: &TpcwRun) -> [f64; 2] {
    let types = run.transactions.len();
    let first = run.windows / 10;
    let (mut count, mut sum) = (0.0, 0.0);
    for index in first * types..run.windows * types {
        if run.system.counts[index] > 0.0 {
            count += run.system.counts[index];
            sum += run.system.counts[index] * run.system.response_s[index];
        }
    }
    [count / ((run.windows - first) as f64 * f64::from(run.window_s)), sum / count]
}

fn main() {
    let seeds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(3);
    println!("| shop | target | clients | X model | X simulated | R simulated | error of R |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for shop in &SHOPS {
        for target_s in [0.012, 0.02, 0.05] {
            for seed in 1..=seeds {
                let run = tpcw(&settings(shop, seed, 1, &shop.clients, 160)).expect("settings in range");
                row(shop, seed, target_s, shop.name, &answer(&run, target_s, None));
            }
        }
    }
    // Observed on one core; the question is about more.
    for (change, servers, cores) in [("front.cores=4", 1, 4.0), ("front.servers=3", 3, 1.0)] {
        let run = tpcw(&settings(&SHOPS[0], 1, 1, &SHOPS[0].clients, 160)).expect("settings in range");
        let after = Shop { name: change, servers, cores, clients: [0; 4] };
        row(&after, 1, 0.02, change, &answer(&run, 0.02, Some(change)));
    }
}

fn row(shop: &Shop, seed: u64, target_s: f64, name: &str, answer: &CapacityAnswer) {
    // The mix that binds differs from that of the sessions by chance, and that of the median hardly.
    let clients = answer.clients_median.expect("clients are measured") as u32;
    let after = tpcw(&settings(shop, seed + 100, 1, &[clients], 240)).expect("settings in range");
    let [throughput, response_s] = measured(&after);
    println!(
        "| {name} | {:.0} ms | {clients} | {:.1} | {throughput:.1} | {:.1} ms | {:+.1} % |",
        1e3 * target_s,
        answer.throughput_median,
        1e3 * response_s,
        100.0 * (target_s / response_s - 1.0)
    );
}
