//! False and true positive rates of `compare`, on pairs of simulated hours of one system.
//!
//! ```sh
//! cargo run --release -p laggard-experiments --example comparison_accuracy -- 40 2000
//! ```
//!
//! Arguments: seeds, and requests per service.

#![expect(clippy::print_stdout, reason = "an example prints its answer")]

use laggard_diagnose::{CompareSettings, ComparedPopulation, Population, compare};
use laggard_engine::{Ingest, IngestSettings, LocalEngine, Requests};
use laggard_model::Sink;
use laggard_report::{Change, Comparison, InputFacts};
use laggard_simulate::{Scenario, Settings, requests};
use std::num::NonZeroUsize;

const THREADS: NonZeroUsize = NonZeroUsize::new(2).expect("two is not zero");

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let mut next = |default| arguments.next().and_then(Result::ok).unwrap_or(default);
    let (seeds, requests_per_service) = (next(20), next(2_000));
    for scenario in [Scenario::Quiet, Scenario::Uniform, Scenario::CodeBug, Scenario::CodeBugNewOperation] {
        let mut sums = Sums::default();
        for seed in 1..=u64::from(seeds) {
            let settings = Settings { requests_per_service, ..Settings::new(scenario, seed) };
            sums.add(&compared(&settings));
        }
        println!("{:<24} {seeds} pairs: {sums:?}", scenario.name());
    }
}

/// Findings over all pairs.
#[derive(Debug, Default)]
struct Sums {
    pairs_with_a_finding: u32,
    operations_tested: usize,
    operations_moved: usize,
    operations_new_or_vanished: usize,
    shapes: usize,
    paths: usize,
    means_moved: usize,
}

impl Sums {
    fn add(&mut self, found: &Comparison) {
        let count = |changes: &[Change]| {
            found.operations.iter().filter(|operation| changes.contains(&operation.change)).count()
        };
        let moved = count(&[Change::Slower, Change::Faster, Change::MoreCalls, Change::FewerCalls]);
        let new = count(&[Change::New, Change::Vanished]);
        let shapes = found.shapes.iter().filter(|shape| shape.significant).count();
        self.pairs_with_a_finding += u32::from(moved + new + shapes > 0);
        self.operations_tested += found.operations.len();
        self.operations_moved += moved;
        self.operations_new_or_vanished += new;
        self.shapes += shapes;
        self.paths += found.paths.iter().filter(|path| path.change != Change::None).count();
        self.means_moved += usize::from(found.latency.is_some_and(|latency| latency.total.p_value <= 0.01));
    }
}

fn compared(settings: &Settings) -> Comparison {
    let sets = [assembled(&settings.baseline()), assembled(settings)];
    let populations = [0, 1].map(|side| ComparedPopulation {
        population: Population::all(&sets[side]),
        facts: InputFacts::default(),
        label: ["before", "after"][side].to_owned(),
    });
    let engine = LocalEngine::new(THREADS);
    compare([&populations[0], &populations[1]], &CompareSettings::default(), engine)
        .expect("the defaults are in range")
}

fn assembled(settings: &Settings) -> Requests {
    let mut ingest = Ingest::new(IngestSettings::default());
    for request in requests(settings).expect("settings in range") {
        for call in &request.calls {
            ingest.span(&request.span(call));
        }
    }
    Requests::from_traces(ingest.finish(THREADS), THREADS)
}
