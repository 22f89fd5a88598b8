//! Accuracy of the methods that find changes, on simulated shops with known truth.
//!
//! ```text
//! cargo run --release -p laggard-experiments --example change_accuracy -- SEEDS [SCENARIO|all|sizes] [each]
//! ```
//!
//! `sizes` is twelve hours in which Home gets more expensive by a shrinking amount. `each` prints every run. An alarm is an application change or a rollback; it is right within 20 windows of a true
//! one. Names are right when they are exactly the true ones; their error is the mean of `|difference − truth|`.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use std::num::NonZeroUsize;
use std::time::Instant;

use laggard_changes::{
    Analysis, Change, ChangeKind, ChangeSettings, CherkasovaSettings, Observations, SegmentKind,
    TooLittleDataError, changes, cherkasova,
};
use laggard_numeric::Matrix;
use laggard_simulate::{ExpectedChange, ExpectedKind, TpcwRun, TpcwScenario, TpcwSettings, tpcw};

/// Maximum distance in windows between an alarm and the true change.
const NEAR: usize = 20;

#[derive(Clone, Copy, PartialEq)]
enum Judge {
    Default,
    WithoutTimes,
    Paper,
}

const JUDGES: [Judge; 3] = [Judge::Default, Judge::WithoutTimes, Judge::Paper];

/// Sums over the runs of a scenario.
#[derive(Default)]
struct Tally {
    expected: usize,
    found: usize,
    false_alarms: usize,
    named: usize,
    error_ms: f64,
    errors: usize,
    covered: usize,
    onset_off: usize,
    regions: usize,
    regions_found: usize,
    false_regions: usize,
    seconds: f64,
    runs: usize,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seeds: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(3);
    let selection = arguments.next().unwrap_or_else(|| "all".to_owned());
    let each = arguments.next().is_some();
    println!(
        "{:<20} {:<14} alarms      named  error  onset off, covered  regions    ms",
        "scenario", "method"
    );
    if selection == "sizes" {
        for extra_ms in [0.2, 0.3, 0.4, 0.5, 1.0, 2.0, 3.0, 5.0] {
            judge_all(&format!("Home +{extra_ms} ms"), seeds, each, |seed| home_dearer(seed, extra_ms));
        }
        return;
    }
    for scenario in TpcwScenario::ALL {
        if selection == "all" || selection == scenario.name() {
            judge_all(scenario.name(), seeds, each, |seed| TpcwSettings::scenario(scenario, seed));
        }
    }
}

/// The scenario of one millisecond with another size.
fn home_dearer(seed: u64, extra_ms: f64) -> TpcwSettings {
    let mut settings = TpcwSettings::scenario(TpcwScenario::OneMillisecond, seed);
    for change in settings.phases.iter_mut().flat_map(|phase| &mut phase.changes) {
        change.extra_s = extra_ms / 1e3;
    }
    settings
}

fn judge_all(name: &str, seeds: u64, each: bool, settings: impl Fn(u64) -> TpcwSettings) {
    let mut tallies: Vec<Tally> = JUDGES.iter().map(|_| Tally::default()).collect();
    for seed in 1..=seeds {
        let run = tpcw(&settings(seed)).expect("scenarios are within their ranges");
        for (judge, tally) in JUDGES.iter().zip(&mut tallies) {
            let line = tally.add(&run, *judge);
            if each {
                println!("  {name} {seed} {}: {line}", judge.name());
            }
        }
    }
    for (judge, tally) in JUDGES.iter().zip(&tallies) {
        println!("{name:<20} {:<14} {}", judge.name(), tally.line());
    }
}

/// The first front server as an analysis sees it; the time of outbound calls is subtracted (equation 6).
fn observations(run: &TpcwRun, with_times: bool) -> Observations {
    let server = &run.servers[0];
    let own = server.own.as_ref().expect("the first server is a front server");
    let types = run.transactions.len();
    let response_s: Vec<f64> = (0..own.counts.len())
        .map(|index| {
            let (outbound, count) = (&own.outbound[0], own.counts[index]);
            let calls_s = if outbound.counts[index] > 0.0 {
                outbound.counts[index] * outbound.time_s[index] / count
            } else {
                0.0
            };
            own.response_s[index] - calls_s
        })
        .collect();
    let response_s = match with_times {
        true => Matrix::from_row_major(run.windows, types, response_s),
        false => Matrix::zeros(0, 0),
    };
    Observations {
        window_s: f64::from(run.window_s),
        windows: (0..run.windows).collect(),
        counts: Matrix::from_row_major(run.windows, types, own.counts.clone()),
        utilization: server.utilization.clone(),
        response_s,
        cores: server.cores,
    }
}

impl Judge {
    fn name(self) -> &'static str {
        match self {
            Judge::Default => "default",
            Judge::WithoutTimes => "without times",
            Judge::Paper => "cherkasova",
        }
    }

    fn analyze(self, run: &TpcwRun) -> Result<Analysis, TooLittleDataError> {
        let observations = observations(run, self != Judge::WithoutTimes);
        match self {
            Judge::Paper => cherkasova(&observations, &CherkasovaSettings::default(), NonZeroUsize::MIN),
            _ => changes(&observations, &ChangeSettings::default(), NonZeroUsize::MIN),
        }
    }
}

fn is_alarm(change: &Change) -> bool {
    matches!(
        change.kind,
        ChangeKind::ApplicationChange | ChangeKind::HostChange | ChangeKind::Rollback { .. }
    )
}

fn is_expected_alarm(expected: &&ExpectedChange) -> bool {
    matches!(expected.kind, ExpectedKind::ApplicationChange | ExpectedKind::Rollback)
}

impl Tally {
    fn add(&mut self, run: &TpcwRun, judge: Judge) -> String {
        let started = Instant::now();
        let answer = judge.analyze(run);
        self.seconds += started.elapsed().as_secs_f64();
        self.runs += 1;
        let analysis = match answer {
            Ok(analysis) => analysis,
            Err(error) => return error.to_string(),
        };
        let alarms: Vec<&Change> = analysis.changes.iter().filter(|change| is_alarm(change)).collect();
        let expected: Vec<&ExpectedChange> = run.truth.expected.iter().filter(is_expected_alarm).collect();
        self.expected += expected.len();
        let mut right = 0;
        for truth in &expected {
            let near = |change: &&&Change| change.onset.row.abs_diff(truth.window) <= NEAR;
            let Some(alarm) = alarms.iter().filter(near).min_by_key(|c| c.onset.row.abs_diff(truth.window))
            else {
                continue;
            };
            right += 1;
            self.judge_alarm(run, truth, alarm);
        }
        self.found += right;
        self.false_alarms += alarms.len() - right.min(alarms.len());
        self.judge_regions(run, &analysis);
        let words: Vec<String> = analysis.changes.iter().map(|change| words(run, change)).collect();
        words.join("; ")
    }

    fn judge_alarm(&mut self, run: &TpcwRun, truth: &ExpectedChange, alarm: &Change) {
        self.onset_off += alarm.onset.row.abs_diff(truth.window);
        self.covered += usize::from((alarm.onset.earliest..=alarm.onset.latest).contains(&truth.window));
        let mut names: Vec<&String> =
            alarm.transactions.iter().map(|t| &run.transactions[t.transaction]).collect();
        let mut true_names: Vec<&String> = truth.transactions.iter().map(|t| &t.name).collect();
        names.sort();
        true_names.sort();
        self.named += usize::from(names == true_names);
        for changed in &truth.transactions {
            let is_changed =
                |t: &&laggard_changes::TransactionChange| run.transactions[t.transaction] == changed.name;
            if let Some(found) = alarm.transactions.iter().find(is_changed) {
                self.error_ms += (1e3 * (found.after_s - found.before_s) - changed.difference_ms).abs();
                self.errors += 1;
            }
        }
    }

    /// A region is found when most of its windows are in anomalous segments; one without foreign load is false.
    fn judge_regions(&mut self, run: &TpcwRun, analysis: &Analysis) {
        let anomalous =
            |segment: &&laggard_changes::Segment| matches!(segment.kind, SegmentKind::Anomalous { .. });
        let is_in = |row: usize| analysis.segments.iter().filter(anomalous).any(|s| s.rows.contains(&row));
        let true_regions: Vec<_> = run.truth.segments.iter().filter(|segment| segment.is_anomalous).collect();
        self.regions += true_regions.len();
        for region in &true_regions {
            let inside = (region.start..region.end).filter(|&row| is_in(row)).count();
            self.regions_found += usize::from(2 * inside > region.end - region.start);
        }
        let starts = analysis.changes.iter().filter(|change| change.kind == ChangeKind::AnomalyStart);
        let is_false = |change: &&Change| {
            !true_regions.iter().any(|r| change.onset.row + NEAR >= r.start && change.onset.row < r.end)
        };
        self.false_regions += starts.filter(is_false).count();
    }

    fn line(&self) -> String {
        let mean = |sum: f64, count: usize| if count > 0 { sum / count as f64 } else { f64::NAN };
        format!(
            "{:>2}/{:<2} +{:<2} false {:>2}  {:>5.2}  {:>5.1} {:>2}/{:<2}         {}/{} +{:<2} {:>5.0}",
            self.found,
            self.expected,
            self.false_alarms,
            self.named,
            mean(self.error_ms, self.errors),
            mean(self.onset_off as f64, self.found),
            self.covered,
            self.found,
            self.regions_found,
            self.regions,
            self.false_regions,
            1e3 * mean(self.seconds, self.runs),
        )
    }
}

fn words(run: &TpcwRun, change: &Change) -> String {
    let difference = |t: &laggard_changes::TransactionChange| {
        let (difference, error) = (1e3 * (t.after_s - t.before_s), 1e3 * t.standard_error_s);
        format!(" {} {difference:+.2}±{error:.2}", run.transactions[t.transaction])
    };
    let transactions: String = change.transactions.iter().map(difference).collect();
    let onset = change.onset;
    format!("{:?} {} [{}, {}]{transactions}", change.kind, onset.row, onset.earliest, onset.latest)
}
