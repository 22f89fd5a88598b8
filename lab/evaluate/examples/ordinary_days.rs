//! Verdicts on ordinary days: false suspects on days without a fault, and what is found on the same days with one.
//!
//! `ordinary_days [--seeds FIRST..LAST] [--profile NAME] [--lost P] [--loss-onset P [--one-replica]]
//! [--faults FACTOR] [--window MINUTES] [--fault MINUTES] [--kind NAME] [--list] [--oracle]`
//!
//! See [`DaysOptions`]; `--loss-onset` is [`DaysOptions::lost_later`].

#![expect(clippy::print_stdout, reason = "a command-line program")]

use laggard_evaluate::{DaysOptions, overview};

fn main() {
    if let Err(error) = overview(&options(), &mut |line| println!("{line}")) {
        panic!("{error}");
    }
}

fn options() -> DaysOptions {
    let mut options = DaysOptions::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
        match name.as_str() {
            "--seeds" => {
                let text = value();
                let (first, last) = text.split_once("..").expect("FIRST..LAST");
                options.seeds = first.parse().expect("a seed")..last.parse().expect("a seed");
            }
            "--profile" => options.profile = Some(value()),
            "--lost" => options.lost = value().parse().expect("a probability"),
            "--loss-onset" => options.lost_later = Some(value().parse().expect("a probability")),
            "--one-replica" => options.one_replica = true,
            "--faults" => options.factor = Some(value().parse().expect("a factor")),
            "--window" => options.window_min = value().parse().expect("minutes"),
            "--fault" => options.fault_min = value().parse().expect("minutes"),
            "--list" => options.list = true,
            "--kind" => options.kind = Some(value()),
            "--oracle" => options.oracle = true,
            other => panic!("unknown argument {other}"),
        }
    }
    options
}
