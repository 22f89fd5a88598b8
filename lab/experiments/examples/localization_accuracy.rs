//! How much of injected faults localization reports, and how much else.
//!
//! ```text
//! cargo run --release -p laggard-experiments --example localization_accuracy -- KINDS
//! ```
#![expect(clippy::print_stdout, reason = "it prints a table")]

#[path = "../../../crates/kernel/align/tests/it/generated.rs"]
mod generated;

use generated::{InjectedFault, Pooling, run};
use laggard_align::localize::{LocalizeRules, LocalizeSettings};

fn main() {
    let kinds = std::env::args().nth(1).and_then(|kinds| kinds.parse().ok()).unwrap_or(20);
    println!(
        "| rules | fault | jitter | together | injected steps reported | reported time unrelated | executions without finding |"
    );
    println!("|---|---|---|---|---|---|---|");
    let faults = [
        InjectedFault::None,
        InjectedFault::ExtraWaits,
        InjectedFault::LongWait,
        InjectedFault::Quota,
        InjectedFault::SplitByQuota,
        InjectedFault::MovedWait,
    ];
    for rules in [LocalizeRules::Robust, LocalizeRules::Paper] {
        for fault in faults {
            for rate in [0.03, 0.08] {
                print_rows(rules, fault, rate, kinds);
            }
        }
    }
}

fn print_rows(rules: LocalizeRules, fault: InjectedFault, rate: f64, kinds: u64) {
    let settings = LocalizeSettings { rules, ..LocalizeSettings::default() };
    for together in [Pooling::Separate, Pooling::Together] {
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
