//! Accuracy on simulated incidents with known truth:
//!
//! ```sh
//! cargo run --release -p laggard-experiments --example accuracy -- [SCENARIO|all] [FIRST_SEED] [SEEDS] [REQUESTS] [robust|paper] [METHOD]
//! ```
//!
//! Prints one Markdown row a scenario: verdict right, top operation right, precision and recall of call
//! positions (inside anomalous categories, and over all), precision and recall of replicas.
#![expect(clippy::print_stdout, reason = "a command-line program")]

use laggard_assembly::ShapeRule;
use laggard_diagnose::{DiagnoseMethod, DiagnoseSettings, METHODS, SurveyFold, diagnose};
use laggard_engine::{Ingest, IngestSettings, LocalEngine, Requests};
use laggard_localize::{CloudDiagSettings, Mode};
use laggard_model::{Sink, TraceId};
use laggard_report::{InputFacts, Report, Verdict};
use laggard_simulate::{Request, Scenario, Settings, requests};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::time::Instant;

type Suspects = BTreeSet<(String, Vec<String>)>;

/// The injected fault.
#[derive(Default)]
struct Truth {
    /// Injected time by operation, microseconds.
    operations: BTreeMap<String, f64>,
    replicas: BTreeSet<String>,
    /// Injected calls by trace: path from the entry.
    paths: HashMap<TraceId, BTreeSet<Vec<String>>>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument =
        |index: usize, default: &str| arguments.get(index).cloned().unwrap_or_else(|| default.to_owned());
    let scenarios: Vec<Scenario> = match argument(0, "all").as_str() {
        "all" => Scenario::ALL.into_iter().collect(),
        names => names.split(',').map(|name| Scenario::parse(name).expect("a scenario")).collect(),
    };
    let first: u64 = argument(1, "1").parse().expect("a seed");
    let count: u64 = argument(2, "3").parse().expect("a number of seeds");
    let sampled: u32 = argument(3, "8000").parse().expect("requests a service");
    let mode = if argument(4, "robust") == "paper" { Mode::Paper } else { Mode::Robust };
    let word = argument(5, "combined");
    let method = METHODS.iter().find(|row| row.name == word).expect("a method").method;
    println!(
        "| scenario | verdict | top-1 | positions P | positions R | R over all | replicas P | replicas R | all and only | seconds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for scenario in scenarios {
        let mut sum = Scores::default();
        for seed in first..first + count {
            let settings = Settings { requests_per_service: sampled, ..Settings::new(scenario, seed) };
            sum.add(&run(&settings, mode, method));
        }
        println!("| {} | {} |", scenario.name(), sum.row());
    }
}

#[derive(Default)]
struct Scores {
    runs: f64,
    verdict: f64,
    top: f64,
    precision: f64,
    recall: f64,
    recall_all: f64,
    replica_precision: f64,
    replica_recall: f64,
    exact: f64,
    seconds: f64,
}

impl Scores {
    fn add(&mut self, other: &Scores) {
        self.runs += 1.0;
        self.verdict += other.verdict;
        self.top += other.top;
        self.precision += other.precision;
        self.recall += other.recall;
        self.recall_all += other.recall_all;
        self.replica_precision += other.replica_precision;
        self.replica_recall += other.replica_recall;
        self.exact += other.exact;
        self.seconds += other.seconds;
    }

    fn row(&self) -> String {
        let mean = |value: f64| format!("{:.3}", value / self.runs);
        [
            format!("{}/{}", self.verdict, self.runs),
            format!("{}/{}", self.top, self.runs),
            mean(self.precision),
            mean(self.recall),
            mean(self.recall_all),
            mean(self.replica_precision),
            mean(self.replica_recall),
            format!("{}/{}", self.exact, self.runs),
            mean(self.seconds),
        ]
        .join(" | ")
    }
}

fn run(settings: &Settings, mode: Mode, method: DiagnoseMethod) -> Scores {
    let mut ingest = Ingest::new(IngestSettings::default());
    let mut truth = Truth::default();
    for request in requests(settings).expect("settings in range") {
        take(&request, &mut ingest, &mut truth);
    }
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let started = Instant::now();
    let requests = Requests::from_traces(ingest.finish(threads), threads);
    let engine = LocalEngine::new(threads);
    let slow = DiagnoseSettings {
        method,
        clouddiag: CloudDiagSettings::new(mode),
        suspects_max: 1000,
        ..Default::default()
    };
    let report = diagnose(&requests, None, &InputFacts::default(), &slow, engine).expect("settings in range");
    let seconds = started.elapsed().as_secs_f64();
    let category_of = categories_of(&requests, engine, mode);
    if std::env::var_os("LAGGARD_VERBOSE").is_some() {
        explain(settings, &truth, &report, &category_of);
    }
    Scores { seconds, ..score(&truth, &report, &category_of) }
}

fn take(request: &Request, ingest: &mut Ingest, truth: &mut Truth) {
    for call in &request.calls {
        ingest.span(&request.span(call));
        if call.injected.ns() == 0 {
            continue;
        }
        let name = |call| format!("{} {}", request.service(call), request.operation(call));
        *truth.operations.entry(name(call)).or_default() += call.injected.ns() as f64;
        truth.replicas.insert(request.replica(call).to_owned());
        let mut path = vec![name(call)];
        let mut position = call.parent;
        while let Some(parent) = position {
            let caller = &request.calls[parent as usize];
            path.push(name(caller));
            position = caller.parent;
        }
        path.reverse();
        truth.paths.entry(request.trace_id).or_default().insert(path);
    }
}

/// The category of every trace.
fn categories_of(requests: &Requests, engine: LocalEngine, mode: Mode) -> HashMap<TraceId, String> {
    let rule = if mode == Mode::Paper { ShapeRule::Exact } else { ShapeRule::Canonical };
    let shapes = requests.shapes(rule, engine.threads());
    let names = requests.names();
    let fold = SurveyFold { shapes, names, structures: None, attributes: &[], assumed_count: None };
    let survey = engine.fold(requests.all(), &fold);
    let rows = survey.categories.iter();
    rows.flat_map(|(id, category)| category.requests.iter().map(|row| (row.trace, id.short()))).collect()
}

fn score(truth: &Truth, report: &Report, category_of: &HashMap<TraceId, String>) -> Scores {
    let injected: Suspects = (truth.paths.iter())
        .flat_map(|(trace, paths)| paths.iter().map(|path| (category_of[trace].clone(), path.clone())))
        .collect();
    let anomalous: BTreeSet<&String> =
        report.categories.iter().filter(|category| category.anomalous).map(|category| &category.id).collect();
    let inside: Suspects =
        injected.iter().filter(|(category, _)| anomalous.contains(category)).cloned().collect();
    let named: Suspects = (report.suspects.iter())
        .flat_map(|suspect| {
            suspect.positions.iter().map(|position| (position.category.clone(), position.path.clone()))
        })
        .collect();
    let worst = truth.operations.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(name, _)| name.clone());
    let top = report.suspects.first().map(|first| format!("{} {}", first.service, first.operation));
    let everywhere = report.suspects.first().is_some_and(|first| first.replicas.is_empty());
    let blamed: BTreeSet<String> = report.replicas.iter().map(|row| row.replica.clone()).collect();
    // A fault on more than half of the replicas that could have it is everywhere.
    let guilty =
        if everywhere && truth.replicas.len() > 40 { BTreeSet::new() } else { truth.replicas.clone() };
    let expected = if truth.operations.is_empty() { Verdict::Healthy } else { Verdict::Suspects };
    let share = |both: usize, of: usize| if of == 0 { 1.0 } else { both as f64 / of as f64 };
    Scores {
        verdict: f64::from(u8::from(report.verdict == expected)),
        top: f64::from(u8::from(
            worst.is_none()
                || top == worst
                || truth.operations.len() > 5 && top.is_some_and(|top| truth.operations.contains_key(&top)),
        )),
        precision: share(named.intersection(&injected).count(), named.len()),
        recall: share(named.intersection(&inside).count(), inside.len()),
        recall_all: share(named.intersection(&injected).count(), injected.len()),
        replica_precision: share(blamed.intersection(&guilty).count(), blamed.len()),
        replica_recall: share(blamed.intersection(&guilty).count(), guilty.len()),
        exact: f64::from(u8::from(blamed == guilty)),
        ..Scores::default()
    }
}

fn explain(settings: &Settings, truth: &Truth, report: &Report, category_of: &HashMap<TraceId, String>) {
    println!("--- {} seed {}", settings.scenario.name(), settings.seed);
    println!(
        "truth: {:?} on {} replicas",
        truth.operations.keys().take(8).collect::<Vec<_>>(),
        truth.replicas.len()
    );
    println!(
        "categories {} anomalous {} spans {}",
        report.categories.len(),
        report.categories.iter().filter(|category| category.anomalous).count(),
        report.input.spans
    );
    for suspect in report.suspects.iter().take(12) {
        println!(
            "  {} {} {} score {} effect {} ms x{:.1} share {:.3} hit {} replicas {:?}",
            suspect.rank,
            suspect.service,
            suspect.operation,
            suspect.score,
            suspect.effect_ns / 1_000_000,
            suspect.factor,
            suspect.share,
            suspect.requests_hit,
            suspect.replicas
        );
    }
    println!("  losses {:?}", report.input.losses);
    let named: Suspects = (report.suspects.iter())
        .flat_map(|suspect| {
            suspect.positions.iter().map(|position| (position.category.clone(), position.path.clone()))
        })
        .collect();
    let mut missed: BTreeMap<(String, Vec<String>), u32> = BTreeMap::new();
    for (trace, paths) in &truth.paths {
        for path in paths {
            *missed.entry((category_of[trace].clone(), path.clone())).or_default() += 1;
        }
    }
    for ((id, path), calls) in missed.iter().filter(|(place, _)| !named.contains(*place)) {
        let category = report.categories.iter().find(|category| category.id == *id);
        let category =
            category.map(|it| (it.requests, it.anomalous, it.cv, it.tail_requests, it.tail_excess_share));
        println!("  missed {id} {category:?} injected in {calls} at {:?}", path.last());
    }
    for (id, path) in &named {
        if !missed.contains_key(&(id.clone(), path.clone())) {
            println!("  wrong {id} {:?}", path.last());
        }
    }
}
