//! Utilization and signature of a scenario of the shop by phase, against the truth.
//!
//! ```text
//! cargo run --release -p laggard-experiments --example tpcw -- tpcw 1
//! ```
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use laggard_simulate::{SegmentTruth, TpcwRun, TpcwScenario, TpcwSettings, tpcw};
use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "tpcw".to_owned());
    let seed = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let Some(scenario) = TpcwScenario::parse(&name) else {
        let names: Vec<&str> = TpcwScenario::ALL.iter().map(|scenario| scenario.name()).collect();
        println!("scenarios: {}", names.join(", "));
        return;
    };
    let started = Instant::now();
    let run = tpcw(&TpcwSettings::scenario(scenario, seed)).expect("scenarios are within their ranges");
    let transactions: f64 = run.system.counts.iter().sum();
    println!(
        "{:.2} s for {transactions} transactions in {} windows",
        started.elapsed().as_secs_f64(),
        run.windows
    );
    for segment in &run.truth.segments {
        describe(&run, segment);
    }
    for change in &run.truth.expected {
        println!("window {:>5} {:?} {:?}", change.window, change.kind, change.transactions);
    }
}

/// Range of the utilizations, and of `R_front (1 − U)` over the true service time, by type.
fn describe(run: &TpcwRun, segment: &SegmentTruth) {
    println!("{:>5}..{:<5} {}", segment.start, segment.end, segment.workload);
    for server in &run.servers {
        let mut values = server.utilization[segment.start..segment.end].to_vec();
        values.sort_by(f64::total_cmp);
        let quantile = |share: f64| 100.0 * values[(share * (values.len() - 1) as f64) as usize];
        println!(
            "   {:>8}  U {:.1} [{:.1} {:.1} {:.1}] {:.1} %",
            server.server,
            quantile(0.0),
            quantile(0.1),
            quantile(0.5),
            quantile(0.9),
            quantile(1.0)
        );
    }
    let types = run.transactions.len();
    for (kind, truth) in run.truth.transactions.iter().enumerate() {
        let front = &run.servers[0];
        let (Some(own), cores) = (&front.own, front.cores) else { continue };
        let mut signature: Vec<f64> = (segment.start..segment.end)
            .filter(|window| own.counts[window * types + kind] >= 5.0)
            .map(|window| {
                let (index, outbound) = (window * types + kind, &own.outbound[0]);
                let calls_s = outbound.counts[index] * outbound.time_s[index];
                let front_s =
                    own.response_s[index] - if calls_s > 0.0 { calls_s / own.counts[index] } else { 0.0 };
                1_000.0 * front_s * (1.0 - front.utilization[window].powf(cores))
            })
            .collect();
        signature.sort_by(f64::total_cmp);
        if let Some(median) = signature.get(signature.len() / 2) {
            let mean = signature.iter().sum::<f64>() / signature.len() as f64;
            let (name, service) = (&truth.name, truth.service_ms);
            println!(
                "   {name:>22}  S {median:.3} mean {mean:.3} ms, at first {service:.3} ms; {:+.2} %",
                100.0 * (median / service - 1.0)
            );
        }
    }
}
