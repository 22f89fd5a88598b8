//! Capacity answers against a simulation of the load they promise:
//!
//! ```sh
//! cargo run --release -p laggard-experiments --example capacity_accuracy -- [SEEDS]
//! ```
//!
//! A shop is observed at up to two thirds of its capacity; the answer is then simulated: so many clients, what is
//! their mean response time? And the other way round: with a few percent fewer and more clients, where is the response time that of
//! the target? A row a kind of shop and target.
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
    println!(
        "| shop | target | clients | X model | X simulated | R simulated | error of R | error of clients |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
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

/// Steps of clients around the answer.
const STEP: f64 = 0.02;
/// So many steps at most in one direction.
const STEPS_MAX: i32 = 5;

/// How far the clients of the answer are from those with whom the simulated response time, that of the answer being `response_s`, is
/// the target's; `None` beyond [`STEPS_MAX`].
fn clients_error(target_s: f64, response_s: f64, simulated: impl Fn(f64) -> f64) -> Option<f64> {
    let direction = if response_s < target_s { 1 } else { -1 };
    let mut last = response_s;
    for step in 1..=STEPS_MAX {
        let next = simulated(1.0 + f64::from(direction * step) * STEP);
        if (next - target_s) * f64::from(direction) >= 0.0 {
            let part = (target_s / last).ln() / (next / last).ln();
            let true_share = 1.0 + f64::from(direction) * STEP * (f64::from(step - 1) + part);
            return Some(1.0 / true_share - 1.0);
        }
        last = next;
    }
    None
}

fn row(shop: &Shop, seed: u64, target_s: f64, name: &str, answer: &CapacityAnswer) {
    // The mix that binds differs from that of the sessions by chance, and that of the median hardly.
    let clients = answer.clients_median.expect("clients are measured");
    let simulated = |share: f64| {
        let clients = (clients * share).round() as u32;
        measured(&tpcw(&settings(shop, seed + 100, 1, &[clients], 240)).expect("settings in range"))
    };
    let [throughput, response_s] = simulated(1.0);
    let error = clients_error(target_s, response_s, |share| simulated(share)[1]);
    let error = error.map_or_else(|| "more than 10 %".to_owned(), |error| format!("{:+.1} %", 100.0 * error));
    println!(
        "| {name} | {:.0} ms | {clients:.0} | {:.1} | {throughput:.1} | {:.1} ms | {:+.1} % | {error} |",
        1e3 * target_s,
        answer.throughput_median,
        1e3 * response_s,
        100.0 * (target_s / response_s - 1.0)
    );
}
