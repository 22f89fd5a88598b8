//! Verdicts on ordinary days: false suspects on days without a fault, and what is found on the same days with one.
//!
//! `ordinary_days [--seeds FIRST..LAST] [--profile NAME] [--lost P] [--loss-onset P [--one-replica]]
//! [--faults FACTOR] [--window MINUTES] [--fault MINUTES] [--kind NAME] [--list] [--oracle]`
//!
//! `--loss-onset` loses spans in the judged windows only, not in their baseline. Windows are 15 minutes long. A fault begins three minutes after its window does and lasts for 12, or ends with the window;
//! in windows of 30 minutes and more, it begins in the middle.

#![expect(clippy::print_stdout, reason = "a command-line program")]

mod oracle;

use laggard_diagnose::{BaselineChoice, DiagnoseSettings, diagnose};
use laggard_engine::{Ingest, IngestSettings, LocalEngine, Requests};
use laggard_model::{Nanos, Sink, Timestamp};
use laggard_report::{InputFacts, Report, Suspect, SuspectAttribute, Verdict};
use laggard_simulate::{Day, DayFault, DayFaultKind, DaySettings, DayTruth, LossOnset, PROFILES};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

const MINUTE_S: u32 = 60;

struct Options {
    seeds: std::ops::Range<u64>,
    profile: Option<String>,
    lost: f64,
    loss_onset: Option<f64>,
    one_replica: bool,
    factor: Option<f64>,
    window_min: u32,
    fault_min: u32,
    list: bool,
    oracle: bool,
    kind: Option<String>,
}

fn options() -> Options {
    let mut options = Options {
        seeds: 1..2,
        profile: None,
        lost: 0.0,
        loss_onset: None,
        one_replica: false,
        factor: None,
        window_min: 15,
        fault_min: 12,
        list: false,
        oracle: false,
        kind: None,
    };
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
            "--loss-onset" => options.loss_onset = Some(value().parse().expect("a probability")),
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

fn main() {
    let options = options();
    let profiles =
        PROFILES.iter().filter(|profile| options.profile.as_ref().is_none_or(|name| name == profile.name));
    let mut total = Counts::default();
    for profile in profiles {
        let mut counts = Counts::default();
        for seed in options.seeds.clone() {
            let settings = DaySettings {
                lost_spans: options.lost,
                loss_onset: options.loss_onset.map(|probability| LossOnset {
                    probability,
                    one_replica: options.one_replica,
                    since_s: 60 * MINUTE_S,
                }),
                window_s: 120 * MINUTE_S,
                ..DaySettings::new(*profile, seed)
            };
            match options.factor {
                None => quiet(&settings, &options, &mut counts),
                Some(factor) => faults(&settings, factor, &options, &mut counts),
            }
        }
        println!("{:16} {}", profile.name, counts.text(options.factor.is_some()));
        total.add(&counts);
    }
    println!("{:16} {}", "all", total.text(options.factor.is_some()));
}

/// Windows of two kinds: without and with a baseline.
#[derive(Default)]
struct Counts {
    windows: usize,
    suspects: [usize; 2],
    insufficient: [usize; 2],
    first_right: [usize; 2],
    spans: u64,
    requests: u64,
    incomplete: u64,
    by_kind: BTreeMap<&'static str, [usize; 5]>,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.windows += other.windows;
        self.spans += other.spans;
        self.requests += other.requests;
        self.incomplete += other.incomplete;
        for at in 0..2 {
            self.suspects[at] += other.suspects[at];
            self.insufficient[at] += other.insufficient[at];
            self.first_right[at] += other.first_right[at];
        }
        for (kind, counts) in &other.by_kind {
            let own = self.by_kind.entry(kind).or_default();
            (0..5).for_each(|at| own[at] += counts[at]);
        }
    }

    fn text(&self, faults: bool) -> String {
        let mut out = format!(
            "{:4} windows, {:8} spans; suspects alone {:3}, with baseline {:3}; insufficient {:3}, {:3}; incomplete {:.1} %",
            self.windows,
            self.spans,
            self.suspects[0],
            self.suspects[1],
            self.insufficient[0],
            self.insufficient[1],
            100.0 * self.incomplete as f64 / self.requests.max(1) as f64
        );
        if faults {
            out += &format!(
                "; first right alone {:3}, with baseline {:3}",
                self.first_right[0], self.first_right[1]
            );
            for (kind, [n, s0, r0, s1, r1]) in &self.by_kind {
                out += &format!(
                    "\n    {kind:13} {n:3}: alone {s0} ({r0} right), with baseline {s1} ({r1} right)"
                );
            }
        }
        out
    }
}

struct Data {
    requests: Requests,
    start: Timestamp,
    engine: LocalEngine,
}

fn load(day: &Day, settings: &DaySettings, counts: &mut Counts) -> Data {
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut ingest = Ingest::new(IngestSettings::default());
    for request in day.requests() {
        counts.spans += request.spans.len() as u64;
        for span in &request.spans {
            ingest.span(&request.record(span, day));
        }
    }
    let traces = ingest.finish(threads);
    let requests = Requests::from_trace_table(&traces, threads);
    counts.requests += requests.len() as u64;
    counts.incomplete += requests.all().iter().filter(|request| !request.is_complete()).count() as u64;
    Data {
        requests,
        start: Timestamp::from_unix_ns(settings.start_unix_ns),
        engine: LocalEngine::new(threads),
    }
}

impl Data {
    fn report(&self, from_min: u32, window_min: u32, with_baseline: bool) -> Report {
        let at = |minute: u32| self.start.plus(Nanos::from_secs(u64::from(minute * MINUTE_S)));
        let baseline = match with_baseline {
            true => BaselineChoice::Within { since: at(from_min - 60), until: at(from_min) },
            false => BaselineChoice::None,
        };
        let settings = DiagnoseSettings {
            since: at(from_min),
            until: at(from_min + window_min),
            baseline,
            ..DiagnoseSettings::default()
        };
        diagnose(&self.requests, None, &InputFacts::default(), &settings, self.engine)
            .expect("defaults are valid")
    }
}

fn quiet(settings: &DaySettings, options: &Options, counts: &mut Counts) {
    let day = Day::new(settings).expect("a valid day");
    let data = load(&day, settings, counts);
    for from in (60..=120 - options.window_min).step_by(options.window_min as usize) {
        counts.windows += 1;
        for (at, with_baseline) in [false, true].into_iter().enumerate() {
            let report = data.report(from, options.window_min, with_baseline);
            count(&report, at, counts);
            if options.list && report.verdict == Verdict::Suspects {
                print_report(
                    &format!(
                        "{} seed {} minute {from} baseline {with_baseline}",
                        settings.profile.name, settings.seed
                    ),
                    &report,
                );
            }
        }
    }
}

fn count(report: &Report, at: usize, counts: &mut Counts) {
    counts.suspects[at] += usize::from(report.verdict == Verdict::Suspects);
    counts.insufficient[at] += usize::from(report.verdict == Verdict::InsufficientData);
}

fn print_report(case: &str, report: &Report) {
    println!("  {case}: {}", report.headline);
    for suspect in report.suspects.iter().take(4) {
        println!(
            "    {} {} [{}] hit {} factor {:.2} share {:.2} replicas {}{}",
            suspect.service,
            suspect.operation,
            suspect.evidence.join(","),
            suspect.requests_hit,
            suspect.factor,
            suspect.share,
            suspect.replicas.len(),
            attributes_text(suspect)
        );
    }
}

fn attributes_text(suspect: &Suspect) -> String {
    let attribute = |one: &SuspectAttribute| {
        format!(" {}={} {:.2} of {:.2}", one.key, one.value, one.hit_share, one.share)
    };
    suspect.attributes.iter().map(attribute).collect()
}

fn faults(settings: &DaySettings, factor: f64, options: &Options, counts: &mut Counts) {
    let end_min = 60 + options.window_min;
    let begin_min = 60 + if options.window_min < 30 { 3 } else { options.window_min / 2 };
    let wanted = |kind: &DayFaultKind| options.kind.as_ref().is_none_or(|name| name == kind.name());
    for kind in DayFaultKind::ALL.into_iter().filter(wanted) {
        let fault = DayFault {
            kind,
            seed: settings.seed,
            factor,
            share: 0.5,
            since_s: begin_min * MINUTE_S,
            until_s: end_min.min(begin_min + options.fault_min) * MINUTE_S,
        };
        let settings = DaySettings { fault: Some(fault), window_s: end_min * MINUTE_S, ..settings.clone() };
        let Ok(day) = Day::new(&settings) else { continue };
        let truth = day.truth().expect("a fault");
        let data = load(&day, &settings, counts);
        counts.windows += 1;
        let mut row = [1, 0, 0, 0, 0];
        for (at, with_baseline) in [false, true].into_iter().enumerate() {
            let report = data.report(60, options.window_min, with_baseline);
            count(&report, at, counts);
            let right = is_right(&report, &truth);
            counts.first_right[at] += usize::from(right);
            row[1 + 2 * at] = usize::from(report.verdict == Verdict::Suspects);
            row[2 + 2 * at] = usize::from(right);
            if options.list && !right {
                print_report(
                    &format!(
                        "{} seed {} {kind:?} {truth:?} baseline {with_baseline}",
                        settings.profile.name, settings.seed
                    ),
                    &report,
                );
            }
        }
        if options.oracle {
            let oracle = oracle::oracle(&day, &settings, &truth);
            println!(
                "  oracle {} {} seed {} found {} right {} calls {} of {} factor {:.3} z {:.1}",
                kind.name(),
                settings.profile.name,
                settings.seed,
                row[3],
                row[4],
                oracle.calls,
                oracle.all_calls,
                oracle.factor,
                oracle.z
            );
        }
        let own = counts.by_kind.entry(kind.name()).or_default();
        (0..5).for_each(|at| own[at] += row[at]);
    }
}

/// Whether the first suspect is the target: its operation, and its replica or tenant where there is one.
fn is_right(report: &Report, truth: &DayTruth) -> bool {
    let Some(first) = report.suspects.first() else { return false };
    let is =
        |(service, operation): &(String, String)| *service == first.service && *operation == first.operation;
    let operation = match &truth.caller {
        None => is(&truth.operation),
        // All calls between the two services are slow; without spans of clients, that is time of the caller.
        Some(caller) => match &first.between {
            None => first.service == caller.0,
            Some(between) => {
                (&between.caller_service, &between.callee_service) == (&caller.0, &truth.operation.0)
            }
        },
    };
    let tenant = truth.tenant.as_ref().is_none_or(|tenant| {
        first.attributes.iter().any(|attribute| attribute.key == "tenant" && attribute.value == *tenant)
    });
    operation
        && tenant
        && (truth.replicas.is_empty()
            || first.replicas.iter().any(|replica| truth.replicas.contains(replica)))
}
