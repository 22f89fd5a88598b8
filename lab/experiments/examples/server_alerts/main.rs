//! Alerts about servers on simulated shops with known truth, window by window: false alarms, misses, delays, and what people are
//! notified of.
//!
//! ```sh
//! cargo run --release -p laggard-experiments --example server_alerts -- shop SCENARIO[,…] [FIRST_SEED] [SEEDS] [each]
//! cargo run --release -p laggard-experiments --example server_alerts -- fill [FIRST_SEED] [SEEDS]
//! ```
//!
//! `shop` evaluates every minute of every server of the scenario; `each` prints every alert. `fill` has memory that fills
//! up, and memory that only seems to.
#![expect(clippy::print_stdout, reason = "a command-line program")]

mod fill;
mod shop;

use laggard_model::{Nanos, Timestamp};
use laggard_server::alerts::{
    Alert, AlertKind, AlertList, Detection, IncidentState, ServerDetection, notify_at_once,
};
use laggard_simulate::{SegmentTruth, TpcwRun, TpcwScenario, TpcwSettings, tpcw};
use shop::table;

/// Windows before the first evaluation.
const FIRST: usize = 120;
/// Minutes after a fault within which an alert must end.
const END_MAX: usize = 15;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|text| text != "each").collect();
    let number =
        |index: usize, usual: u64| arguments.get(index).map_or(usual, |text| text.parse().expect("a number"));
    match arguments.first().map(String::as_str) {
        Some("fill") => fill::print(number(1, 1), number(2, 9)),
        _ => {
            let usual =
                "tpcw,tpcw-one-ms,tpcw-rollback,tpcw-foreign,tpcw-quiet,tpcw-drift,tpcw-cache,tpcw-diurnal";
            let names = arguments.get(1).map_or(usual, String::as_str);
            let (first, seeds) = (number(2, 1), number(3, 9));
            println!(
                "| scenario | faults | detected | windows until it fires | wrong kind | ended late | ended early | sent twice | end sent early | end sent late | false alarms | server hours |"
            );
            println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
            for name in names.split(',') {
                print_scenario(TpcwScenario::parse(name).expect("a scenario"), first..first + seeds);
            }
        }
    }
}

/// The defaults of `laggard serve`.
pub(crate) fn usual() -> ServerDetection {
    let settings = laggard_server::AlertSettings::default();
    ServerDetection::from_settings(&settings, Detection::from_settings(&settings).rules)
}

/// A fault of the first tier, in windows.
struct Fault {
    start: usize,
    end: usize,
    kind: AlertKind,
}

/// Segments in a row that are faulty in the same way.
fn faults(segments: &[SegmentTruth]) -> Vec<Fault> {
    let mut out: Vec<Fault> = Vec::new();
    let first = segments.first().map(|segment| segment.application);
    for segment in segments {
        let kind = match segment {
            segment if segment.is_anomalous => AlertKind::UnexplainedCpu,
            segment if Some(segment.application) != first => AlertKind::HigherCost,
            _ => continue,
        };
        match out.last_mut() {
            Some(last) if last.end == segment.start && last.kind == kind => last.end = segment.end,
            _ => out.push(Fault { start: segment.start, end: segment.end, kind }),
        }
    }
    out
}

/// Sums over the runs of a scenario.
#[derive(Default)]
struct Tally {
    faults: usize,
    delays: Vec<usize>,
    wrong_kind: usize,
    ended_late: usize,
    ended_early: usize,
    /// Messages that an incident is open, beyond the first of each fault.
    sent_twice: usize,
    /// Messages that an incident is over although the fault lasts, and those later than [`END_MAX`] after it.
    end_sent_early: usize,
    end_sent_late: usize,
    false_alarms: usize,
    hours: f64,
}

fn print_scenario(scenario: TpcwScenario, seeds: std::ops::Range<u64>) {
    let mut tally = Tally::default();
    let each = std::env::args().any(|text| text == "each");
    for seed in seeds {
        let run = tpcw(&TpcwSettings::scenario(scenario, seed)).expect("scenarios are within their ranges");
        let (alerts, messages) = watch(&run);
        tally.add(&run, &alerts);
        tally.add_messages(&run, &messages);
        for message in messages.iter().filter(|_| each) {
            println!("  {} {seed}: window {}: {:?}", scenario.name(), message.window, message.state);
        }
        for alert in alerts.iter().filter(|_| each) {
            let (fired, over) = times(&run, alert);
            println!("  {} {seed}: window {fired} to {over:?}: {}", scenario.name(), alert.finding.summary());
        }
    }
    tally.delays.sort_unstable();
    let middle = tally.delays.get(tally.delays.len() / 2);
    let delays = middle.map_or_else(String::new, |middle| {
        format!("{middle} (worst {})", tally.delays.last().copied().unwrap_or_default())
    });
    println!(
        "| {} | {} | {} | {delays} | {} | {} | {} | {} | {} | {} | {} | {:.0} |",
        scenario.name(),
        tally.faults,
        tally.delays.len(),
        tally.wrong_kind,
        tally.ended_late,
        tally.ended_early,
        tally.sent_twice,
        tally.end_sent_early,
        tally.end_sent_late,
        tally.false_alarms,
        tally.hours
    );
}

/// A message about an incident that servers of the first tier opened.
struct Message {
    window: usize,
    state: IncidentState,
}

/// Every alert that fired, and the messages that people get.
fn watch(run: &TpcwRun) -> (Vec<Alert>, Vec<Message>) {
    let detection = usual();
    let settings = laggard_server::AlertSettings::default();
    let mut messages = Vec::new();
    let mut alerts = AlertList::default();
    let window = Nanos::from_secs(u64::from(run.window_s));
    for windows in FIRST..=run.windows {
        let first = windows.saturating_sub(shop::WINDOWS_MAX);
        let end = Timestamp::from_unix_ns(run.since_unix_ns + windows as i64 * window.ns() as i64);
        // As far back as the server reads.
        let since = detection.since(&alerts, end);
        let known = since.since(Timestamp::from_unix_ns(run.since_unix_ns)).ns().max(0) / window.ns() as i64;
        let table = table(run, first.min(known as usize)..windows);
        let evaluation = detection.evaluate(&alerts, Some(&table), &[], end);
        alerts.apply_servers(&evaluation, detection.rules, end);
        for (id, state) in notify_at_once(&mut alerts, &settings, end) {
            let incident = alerts.incidents.iter().find(|incident| incident.id == id);
            let lead = incident.and_then(|incident| incident.alerts.first()).expect("it was just sent");
            let mut all = alerts.active.iter().chain(&alerts.resolved);
            let lead = all.find(|alert| alert.id == *lead).and_then(|alert| alert.finding.server());
            if lead.is_some_and(|finding| finding.tier == "front") {
                messages.push(Message { window: windows, state });
            }
        }
    }
    let mut all = alerts.resolved;
    all.extend(alerts.active.into_iter().filter(|alert| alert.fired_ns.is_some()));
    (all, messages)
}

/// The window in which an alert fired, and the one in which it was over.
fn times(run: &TpcwRun, alert: &Alert) -> (usize, Option<usize>) {
    let window = |ns: i64| ((ns - run.since_unix_ns) / (i64::from(run.window_s) * 1_000_000_000)) as usize;
    (window(alert.fired_ns.unwrap_or(alert.first_ns)), alert.resolved_ns.map(window))
}

impl Tally {
    fn add(&mut self, run: &TpcwRun, alerts: &[Alert]) {
        self.hours += (run.windows - FIRST) as f64 / 60.0 * run.servers.len() as f64;
        let mut counted = vec![false; alerts.len()];
        for fault in faults(&run.truth.segments) {
            self.faults += 1;
            let of_front =
                |alert: &Alert| alert.finding.server().is_some_and(|finding| finding.tier == "front");
            let during = alerts.iter().enumerate().filter(|(_, alert)| {
                let fired = times(run, alert).0;
                of_front(alert) && fired > fault.start && fired <= fault.end
            });
            let mut first = None;
            for (step, alert) in during {
                counted[step] = true;
                let (fired, over) = times(run, alert);
                first = first.or(Some(fired - fault.start));
                self.wrong_kind += usize::from(alert.kind() != fault.kind);
                self.ended_early += usize::from(over.is_some_and(|over| over < fault.end));
                let is_late =
                    over.map_or(fault.end + END_MAX < run.windows, |over| over > fault.end + END_MAX);
                self.ended_late += usize::from(is_late);
            }
            self.delays.extend(first);
        }
        self.false_alarms += counted.iter().filter(|counted| !**counted).count();
    }

    fn add_messages(&mut self, run: &TpcwRun, messages: &[Message]) {
        let faults = faults(&run.truth.segments);
        for (fault, next) in faults.iter().zip(faults.iter().skip(1).map(Some).chain([None])) {
            let until = next.map_or(run.windows, |next| next.start);
            let of_fault: Vec<&Message> =
                messages.iter().filter(|message| (fault.start..=until).contains(&message.window)).collect();
            let opened = of_fault.iter().filter(|message| message.state == IncidentState::Open).count();
            self.sent_twice += opened.saturating_sub(1);
            let mut ends = of_fault.iter().filter(|message| message.state == IncidentState::Closed);
            self.end_sent_early += ends.clone().filter(|message| message.window < fault.end).count();
            let is_known = fault.end + END_MAX < until;
            let in_time = |message: &&&Message| (fault.end..=fault.end + END_MAX).contains(&message.window);
            let is_late = opened > 0 && is_known && !ends.any(|message| in_time(&message));
            self.end_sent_late += usize::from(is_late);
        }
    }
}
