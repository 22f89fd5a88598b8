//! Estimated demands of measured runs with known truth, or of simulated queues.
//!
//! ```text
//! cargo run --release -p laggard-experiments --example demands -- FOLDER [SECONDS PER WINDOW] [WINDOWS PER INTERVAL]
//! cargo run --release -p laggard-experiments --example demands -- --simulated SEEDS
//! ```
//!
//! FOLDER has the layout of `cpu-demands`: `utilLL-expE/` with `*UTILIZATION*`, `*THROUGHPUT*` and `*RESPONSE*` CSV
//! files of one-second samples, and `demands.csv`.

#![expect(clippy::print_stdout, reason = "it is what an example is for")]
#![expect(dead_code, reason = "the tests use more of the shared modules")]

#[path = "../../../crates/metrics/changes/tests/it/accuracy.rs"]
mod accuracy;
#[path = "../../../crates/metrics/changes/tests/it/measured.rs"]
mod measured;
#[path = "../../../crates/metrics/changes/tests/it/queue.rs"]
mod queue;
#[path = "../../../crates/metrics/changes/tests/it/situations.rs"]
mod situations;

use accuracy::{Errors, mean};
use std::collections::BTreeMap;
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).and_then(|argument| argument.parse().ok());
    match arguments.first().map(String::as_str) {
        Some("--simulated") => simulated(number(1).unwrap_or(3) as u64),
        Some(folder) => measured(Path::new(folder), number(1).unwrap_or(10), number(2)),
        None => {
            println!("usage: demands FOLDER [SECONDS PER WINDOW] [WINDOWS PER INTERVAL] | --simulated SEEDS")
        }
    }
}

fn measured(folder: &Path, seconds: usize, interval_windows: Option<usize>) {
    let mut by_load: BTreeMap<u32, Errors> = BTreeMap::new();
    println!(
        "| run | type | truth ms | least squares ms | estimate ms | interval ms | error % | estimator |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for run in measured::runs(folder, seconds) {
        let rows = run.observations.windows.len();
        let length = interval_windows.unwrap_or(rows);
        let errors = by_load.entry(run.load).or_default();
        for start in (0..=rows.saturating_sub(length)).step_by(length) {
            let fit = errors.add(&run.observations, start..start + length, &run.demand_s);
            for (j, truth) in run.demand_s.iter().enumerate() {
                let (found, interval) = (fit.model.demand_s[j], fit.report.demand[j]);
                println!(
                    "| {} | {j} | {:.1} | {:.1} | {:.1} | {:.1} to {:.1} | {:+.1} | {} |",
                    run.name,
                    1e3 * truth,
                    1e3 * fit.report.least_squares.demand_s[j],
                    1e3 * found,
                    1e3 * interval.low,
                    1e3 * interval.high,
                    100.0 * (found / truth - 1.0),
                    fit.report.estimator.name()
                );
            }
        }
    }
    println!();
    summary(by_load.into_iter().map(|(load, errors)| (format!("{load} %"), errors)));
}

fn simulated(seeds: u64) {
    let loads = [20_u32, 50, 80];
    let cases =
        situations::all().into_iter().flat_map(|situation| loads.map(|load| (situation.clone(), load)));
    summary(cases.map(|(situation, load)| {
        let mut errors = Errors::default();
        for seed in 0..seeds {
            for types in 1..=4 {
                let (queue, truth) = situation.queue(f64::from(load) / 100.0, types, seed);
                errors.add(&queue.observe(360, 10.0), 0..360, &truth);
            }
        }
        (format!("{}, {load} %", situation.name), errors)
    }));
}

fn summary(rows: impl Iterator<Item = (String, Errors)>) {
    println!(
        "| | demands | least squares % | … without constant % | selected % | covered | half width of the interval % |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, errors) in rows {
        println!(
            "| {name} | {} | {:.1} | {:.1} | {:.1} | {:.0} % | {:.0} |",
            errors.selected.len(),
            mean(&errors.least_squares),
            mean(&errors.without_constant),
            mean(&errors.selected),
            100.0 * errors.coverage(),
            mean(&errors.half_width)
        );
    }
}
