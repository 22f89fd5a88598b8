//! The rate of false alerts, and the delay until a real slow-down fires, on simulated systems:
//!
//! ```sh
//! cargo run --release -p laggard-experiments --example alert_rate -- quiet [FIRST_SEED] [SYSTEMS] [HOURS] [REQUESTS_AN_HOUR] [KEY=VALUE…]
//! cargo run --release -p laggard-experiments --example alert_rate -- fires [FIRST_SEED] [SYSTEMS] [SCENARIOS] [REQUESTS_AN_HOUR] [KEY=VALUE…]
//! cargo run --release -p laggard-experiments --example alert_rate -- days [FIRST_SEED] [SYSTEMS] [HOURS] [REQUESTS_AN_HOUR] [KEY=VALUE…]
//! cargo run --release -p laggard-experiments --example alert_rate -- files PATH… [KEY=VALUE…]
//! ```
//!
//! An evaluation a minute. Keys: `window`, `baseline` (minutes), `others` (minutes, `3,5,60`), `slower` (share), `after`, `of`, `resolve`.
//! *Knowable after*: how soon it could be detected with operation and onset given ([`oracle`]). `days` are
//! ordinary days of `profile=NAME` (of all profiles), quiet for some hours, or with `fault=KIND:FACTOR:REPLICAS` for two
//! hours or `lasts` minutes, where every service has so many replicas, and with `drift=SD` of their minutes; `files` are recorded spans, of which each alert is printed; `part=BEFORE:AFTER` evaluates only so many minutes around its start.
#![expect(clippy::print_stdout, reason = "a command-line program")]

mod oracle;
mod simulated;

use laggard_engine::LocalEngine;
use laggard_model::{Nanos, Timestamp};
use laggard_report::rfc3339;
use laggard_server::alerts::{AlertList, Detection, EvaluationSettings, Rules};
use laggard_simulate::{PROFILES, Profile, Scenario};
use oracle::known_after;
use simulated::{History, Injected, day, faulty, quiet, recorded};
use std::sync::Arc;

const MINUTE: Nanos = Nanos::from_secs(60);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (keys, plain): (Vec<&String>, Vec<&String>) = arguments.iter().partition(|text| text.contains('='));
    let argument =
        |index: usize, usual: &str| plain.get(index).map_or_else(|| usual.to_owned(), ToString::to_string);
    let keys = keys.into_iter().map(|key| key.split_once('=').expect("KEY=VALUE"));
    let (of_days, keys): (Vec<_>, Vec<_>) =
        keys.partition(|(key, _)| ["profile", "fault", "lasts", "part", "drift"].contains(key));
    let of_days =
        |requested: &str| of_days.iter().find(|(key, _)| *key == requested).map(|(_, value)| *value);
    let detection = keys.into_iter().fold(usual(), with);
    if argument(0, "quiet") == "files" {
        return print_files(&recorded(&plain[1..]), &detection);
    }
    let first: u64 = argument(1, "1").parse().expect("a seed");
    let systems: u64 = argument(2, "3").parse().expect("a number of systems");
    let rate: u32 = argument(4, "6000").parse().expect("requests an hour");
    let seeds = first..first + systems;
    match argument(0, "quiet").as_str() {
        "quiet" => {
            let hours: u32 = argument(3, "24").parse().expect("hours");
            seeds.for_each(|seed| print_quiet(&quiet(seed, hours, rate), seed, hours, &detection));
        }
        "days" => {
            let hours: u32 = argument(3, "24").parse().expect("hours");
            let parse = |text| Injected::parse(text).expect("KIND:FACTOR:REPLICAS");
            let mut fault = of_days("fault").map(|text| (text, parse(text)));
            if let (Some((_, fault)), Some(minutes)) = (&mut fault, of_days("lasts")) {
                fault.lasts_s = 60 * minutes.parse::<u32>().expect("minutes");
            }
            let drift = of_days("drift").map(|text| text.parse().expect("a standard deviation"));
            let profile = of_days("profile").map(|name| Profile::parse(name).expect("a profile"));
            let profiles = profile.map_or_else(|| PROFILES.to_vec(), |profile| vec![profile]);
            if fault.is_some() {
                print_header();
            }
            for (profile, seed) in
                profiles.iter().flat_map(|profile| seeds.clone().map(move |seed| (profile, seed)))
            {
                let fault_injected = fault.map(|(_, fault)| fault);
                let Some(mut history) = day(*profile, seed, rate, hours, fault_injected, drift) else {
                    continue;
                };
                if let Some(part) = of_days("part") {
                    only_part(&mut history, part, &detection);
                }
                match fault {
                    Some((text, _)) => {
                        print_fault(&history, &format!("{} {text}", profile.name), seed, &detection)
                    }
                    None => {
                        print!("{}, ", profile.name);
                        print_quiet(&history, seed, hours, &detection);
                    }
                }
            }
        }
        _ => {
            print_header();
            for name in argument(3, "random-device,code-bug,uniform,slow-host").split(',') {
                let scenario = Scenario::parse(name).expect("a scenario");
                seeds.clone().for_each(|seed| {
                    print_fault(&faulty(scenario, seed, rate), scenario.name(), seed, &detection)
                });
            }
        }
    }
}

/// Leaves what evaluations from `BEFORE` minutes before to `AFTER` minutes after the start of the fault need: the delay of an alert
/// takes a tenth of the time of a whole day.
fn only_part(history: &mut History, part: &str, detection: &Detection) {
    let (before, after) = part.split_once(':').expect("BEFORE:AFTER");
    let minutes = |text: &str| Nanos::from_secs(60 * text.parse::<u64>().expect("minutes"));
    let first = history.fault.since.minus(minutes(before)).minus(detection.window).minus(detection.baseline);
    history.start = history.start.max(first);
    history.end = history.end.min(history.fault.since.plus(minutes(after)));
}

fn print_header() {
    println!(
        "| fault | system | knowable after | found after | fires after | operation | incidents | alerts | resolved after its end | fired before it | also during it | wrong service |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
}

/// The default of `laggard serve`.
fn usual() -> Detection {
    Detection::from_settings(&laggard_server::AlertSettings::default())
}

fn with(detection: Detection, (key, value): (&str, &str)) -> Detection {
    let minutes = || Nanos::from_secs(60 * value.parse::<u64>().expect("minutes"));
    let count = || value.parse::<u32>().expect("a count");
    let (settings, rules) = (detection.settings, detection.rules);
    match key {
        "window" => Detection { window: minutes(), ..detection },
        "baseline" => Detection { baseline: minutes(), ..detection },
        "others" => {
            let minutes = |text: &str| Nanos::from_secs(60 * text.parse::<u64>().expect("minutes"));
            Detection { other_windows: value.split(',').map(minutes).collect(), ..detection }
        }
        "slower" => Detection {
            settings: EvaluationSettings { slower_min: value.parse().expect("a share"), ..settings },
            ..detection
        },
        "after" => Detection { rules: Rules { fire_after: count(), ..rules }, ..detection },
        "of" => Detection { rules: Rules { fire_of: count(), ..rules }, ..detection },
        "resolve" => Detection { rules: Rules { resolve_after: count(), ..rules }, ..detection },
        _ => panic!("there is no key {key}"),
    }
}

/// The result of one evaluation.
struct Step {
    at: Timestamp,
    found: usize,
    fired: Vec<String>,
}

/// Evaluates every minute, from the end of the first baseline on.
fn watch(history: &History, detection: &Detection, alerts: &mut AlertList) -> Vec<Step> {
    let first = history.start.plus(detection.window).plus(detection.baseline);
    watch_from(first, history, detection, alerts)
}

fn watch_from(
    first: Timestamp,
    history: &History,
    detection: &Detection,
    alerts: &mut AlertList,
) -> Vec<Step> {
    let engine = LocalEngine::new(laggard_system::available_threads());
    let mut steps = Vec::new();
    let mut time = first;
    while time <= history.end {
        let day = |_| Some(Arc::clone(&history.requests));
        let result = detection.evaluate(alerts, &history.requests, day, time, engine);
        let (found, changes) = match result {
            Ok(evaluation) => (evaluation.all().count(), alerts.apply(&evaluation, detection.rules, time)),
            Err(_) => (0, alerts.expire(detection.rules, time)),
        };
        if std::env::var_os("LAGGARD_VERBOSE").is_some() {
            print_fired(alerts, &changes.fired, time);
        }
        steps.push(Step { at: time, found, fired: changes.fired });
        time = time.plus(MINUTE);
    }
    steps
}

fn print_quiet(history: &History, seed: u64, hours: u32, detection: &Detection) {
    let mut alerts = AlertList::default();
    let started = std::time::Instant::now();
    let steps = watch(history, detection, &mut alerts);
    let found = steps.iter().filter(|step| step.found > 0).count();
    let fired: usize = steps.iter().map(|step| step.fired.len()).sum();
    println!(
        "system {seed}: {hours} h, {} evaluations, {found} with findings, {fired} fired in {} incidents; {:.0} ms each",
        steps.len(),
        alerts.incidents.len(),
        started.elapsed().as_secs_f64() * 1e3 / steps.len().max(1) as f64
    );
    print_alerts(&alerts);
}

/// When alerts about recorded spans fire and end.
fn print_files(history: &History, detection: &Detection) {
    let mut alerts = AlertList::default();
    let steps = watch_from(history.start.plus(MINUTE), history, detection, &mut alerts);
    println!("{} evaluations, {} incidents", steps.len(), alerts.incidents.len());
    print_alerts(&alerts);
}

/// The findings of alerts as they fire: what an alert is about may change while it lasts.
fn print_fired(alerts: &AlertList, ids: &[String], time: Timestamp) {
    for alert in alerts.firing().filter(|alert| ids.contains(&alert.id)) {
        println!("  {} fires: {:?}", rfc3339(time), alert.finding.operation());
    }
}

fn print_alerts(alerts: &AlertList) {
    let text = |ns: Option<i64>| ns.map_or("-".to_owned(), |ns| rfc3339(Timestamp::from_unix_ns(ns)));
    for alert in alerts.resolved.iter().chain(alerts.firing()) {
        let p_value = alert.finding.operation().and_then(|finding| finding.p_value);
        println!(
            "  {} to {}: {} p {p_value:?}",
            text(alert.fired_ns),
            text(alert.resolved_ns),
            alert.finding.summary()
        );
    }
}

fn print_fault(history: &History, fault_name: &str, seed: u64, detection: &Detection) {
    let mut alerts = AlertList::default();
    let steps = watch(history, detection, &mut alerts);
    let fault = history.fault;
    let minutes =
        |time: Timestamp, from: Timestamp| time.unix_ns().saturating_sub(from.unix_ns()) / 60_000_000_000;
    let text = |minutes: Option<i64>| minutes.map_or("never".to_owned(), |minutes| format!("{minutes} min"));
    let during: Vec<&Step> =
        steps.iter().filter(|step| (fault.since..=fault.until).contains(&step.at)).collect();
    let when = |is: fn(&Step) -> bool| {
        text(during.iter().find(|step| is(step)).map(|step| minutes(step.at, fault.since)))
    };
    let all: Vec<_> = alerts.resolved.iter().chain(alerts.firing()).collect();
    let early = all.iter().filter(|alert| alert.fired_ns < Some(fault.since.unix_ns())).count();
    let first = all.iter().find(|alert| alert.fired_ns >= Some(fault.since.unix_ns()));
    let again =
        steps.iter().filter(|step| step.at <= fault.until).map(|step| step.fired.len()).sum::<usize>();
    let again = again.saturating_sub(early + 1);
    let is_wrong = |service: &String| !history.culprits.is_empty() && !history.culprits.contains(service);
    let wrong = all
        .iter()
        .filter(|alert| alert.finding.operation().is_some_and(|finding| is_wrong(&finding.service)))
        .count();
    let named = first.and_then(|alert| alert.finding.operation()).map_or_else(String::new, |finding| {
        format!("{} {} (+{:.0} %)", finding.service, finding.operation, 100.0 * finding.slower)
    });
    let ended = all.iter().filter_map(|alert| alert.resolved_ns).map(Timestamp::from_unix_ns).max();
    println!(
        "| {fault_name} | {seed} | {} | {} | {} | {named} | {} | {} | {} | {early} | {again} | {wrong} |",
        known_after(history)
            .map_or_else(String::new, |(minutes, calls)| format!("{minutes} min, {calls} calls")),
        when(|step| step.found > 0),
        when(|step| !step.fired.is_empty()),
        alerts.incidents.len(),
        all.len(),
        text(ended.filter(|_| alerts.firing().next().is_none()).map(|end| minutes(end, fault.until))),
    );
    if std::env::var_os("LAGGARD_VERBOSE").is_some() {
        let evaluations: String = steps.iter().map(|step| if step.found == 0 { '.' } else { 'x' }).collect();
        println!("{evaluations}");
    }
}
