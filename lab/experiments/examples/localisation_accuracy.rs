//! How much of injected faults localisation tells, and how much else.
//!
//! ```text
//! cargo run --release -p laggard-experiments --example localisation_accuracy -- KINDS
//! ```
#![expect(clippy::print_stdout, reason = "it prints a table")]

#[path = "../../../crates/kernel/align/tests/it/generated.rs"]
mod generated;

use generated::{Fault, Together, run};
use laggard_align::localise::{LocaliseRules, LocaliseSettings};

fn main() {
    let kinds = std::env::args().nth(1).and_then(|kinds| kinds.parse().ok()).unwrap_or(20);
    println!(
        "| rules | fault | jitter | together | injected steps told | told time unrelated | executions without finding |"
    );
    println!("|---|---|---|---|---|---|---|");
    let faults = [
        Fault::None,
        Fault::ExtraWaits,
        Fault::LongWait,
        Fault::Quota,
        Fault::SplitByQuota,
        Fault::MovedWait,
    ];
    for rules in [LocaliseRules::Robust, LocaliseRules::Paper] {
        for fault in faults {
            for rate in [0.03, 0.08] {
                print_rows(rules, fault, rate, kinds);
            }
        }
    }
}

fn print_rows(rules: LocaliseRules, fault: Fault, rate: f64, kinds: u64) {
    let settings = LocaliseSettings { rules, ..LocaliseSettings::default() };
    for together in [Together::No, Together::Yes] {
        let tally = run(fault, rate, kinds, together, &settings);
        println!(
            "| {rules:?} | {fault:?} | {rate} | {together:?} | {:.2} | {:.3} | {}/{} |",
            tally.recall(),
            tally.unrelated(),
            tally.quiet,
            tally.executions
        );
    }
}
