//! Ordinary days of simulated systems: quarter hours in which nothing happens, and the same with a fault.

use super::{Group, SetKind};
use crate::calls::CaseCalls;
use crate::case::{Case, Question, Truth};
use crate::run::Runner;
use laggard_engine::{Ingest, IngestSettings, Traces};
use laggard_model::{Nanos, Sink, Timestamp};
use laggard_simulate::{Day, DayFault, DayFaultKind, DayRequest, DaySettings, LossOnset, PROFILES};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

/// Share of the spans that are lost, and how a group's name says so.
const LOST: [(f64, &str); 3] = [(0.0, ""), (0.01, ", 1 % lost"), (0.05, ", 5 % lost")];
/// Losses that begin with the first window, whether of one replica only, and how a group's name says so.
const LOST_LATER: [(f64, bool, &str); 2] = [
    (0.05, false, ", 5 % lost from the first window on"),
    (0.2, true, ", 20 % of one replica lost from the first window on"),
];
/// Time at the target over its usual time.
const FACTORS: [f64; 2] = [1.5, 1.2];

const MINUTE_S: u32 = 60;
/// The windows of a day without a fault begin at these minutes.
const QUIET_STARTS: [u32; 4] = [60, 75, 90, 105];
/// The window of a day with a fault begins at this minute.
const FAULT_START: u32 = 60;
const WINDOW: u32 = 15;
const BASELINE: u32 = 60;
const HOURS: f64 = WINDOW as f64 / 60.0;
/// The minutes in which the fault is there, and the share of the calls that fail or stop short.
const FAULT_MINUTES: Range<u32> = 63..75;
const FAILING_SHARE: f64 = 0.5;

/// The groups of cases without and with a baseline.
struct GroupPair {
    /// Not every case is judged without a baseline.
    alone: Option<Group>,
    compared: Group,
}

impl GroupPair {
    fn new(name: &str, is_alone_too: bool) -> GroupPair {
        GroupPair {
            alone: is_alone_too.then(|| Group::new(SetKind::Days, name)),
            compared: Group::new(SetKind::Days, &format!("{name}, with baseline")),
        }
    }

    fn is_wanted(&self, runner: &Runner<'_>) -> bool {
        runner.wants(&self.compared) || self.alone.as_ref().is_some_and(|alone| runner.wants(alone))
    }
}

pub(super) fn visit(runner: &mut Runner<'_>) -> Result<(), String> {
    for (lost, title) in LOST {
        let groups = GroupPair::new(&format!("quiet{title}"), true);
        if groups.is_wanted(runner) {
            each_day(lost, runner, &mut |settings, runner| quiet(settings, &groups, runner))?;
        }
    }
    for (probability, one_replica, title) in LOST_LATER {
        let groups = GroupPair::new(&format!("quiet{title}"), true);
        let onset = LossOnset { probability, one_replica, since_s: QUIET_STARTS[0] * MINUTE_S };
        if groups.is_wanted(runner) {
            each_day(0.0, runner, &mut |settings, runner| {
                quiet(DaySettings { loss_onset: Some(onset), ..settings }, &groups, runner)
            })?;
        }
    }
    for kind in DayFaultKind::ALL {
        for factor in FACTORS.into_iter().take(if kind.is_slow() { FACTORS.len() } else { 1 }) {
            let strength = if kind.is_slow() { format!(" {factor} times as slow") } else { String::new() };
            for (lost, title) in LOST {
                let groups = GroupPair::new(&format!("{}{strength}{title}", kind.name()), lost == 0.0);
                if groups.is_wanted(runner) {
                    each_day(lost, runner, &mut |settings, runner| {
                        faulty(settings, kind, factor, &groups, runner)
                    })?;
                }
            }
        }
    }
    Ok(())
}

fn each_day(
    lost_spans: f64,
    runner: &mut Runner<'_>,
    run: &mut dyn FnMut(DaySettings, &mut Runner<'_>) -> Result<(), String>,
) -> Result<(), String> {
    for profile in PROFILES {
        if !runner.wants_profile(profile.name) {
            continue;
        }
        for seed in runner.seeds() {
            run(DaySettings { lost_spans, ..DaySettings::new(profile, seed) }, runner)?;
        }
    }
    Ok(())
}

fn quiet(settings: DaySettings, groups: &GroupPair, runner: &mut Runner<'_>) -> Result<(), String> {
    let settings = DaySettings { window_s: 120 * MINUTE_S, ..settings };
    let drawn = SampledDay::draw(&settings)?;
    for start in QUIET_STARTS {
        let name = format!("{} seed {} minute {start}", settings.profile.name, settings.seed);
        drawn.run(name, start, &Truth::Quiet, groups, runner);
    }
    Ok(())
}

fn faulty(
    settings: DaySettings,
    kind: DayFaultKind,
    factor: f64,
    groups: &GroupPair,
    runner: &mut Runner<'_>,
) -> Result<(), String> {
    let fault = DayFault {
        kind,
        seed: settings.seed,
        factor,
        share: FAILING_SHARE,
        since_s: FAULT_MINUTES.start * MINUTE_S,
        until_s: FAULT_MINUTES.end * MINUTE_S,
    };
    let settings =
        DaySettings { fault: Some(fault), window_s: (FAULT_START + WINDOW) * MINUTE_S, ..settings };
    // Not every system can have every fault.
    let Ok(drawn) = SampledDay::draw(&settings) else { return Ok(()) };
    let Some(truth) = drawn.day.truth() else { return Ok(()) };
    let name = format!("{} seed {}", settings.profile.name, settings.seed);
    drawn.run(name, FAULT_START, &Truth::Fault(truth), groups, runner);
    Ok(())
}

/// A day with its requests, by start.
struct SampledDay {
    day: Day,
    start: Timestamp,
    requests: Vec<DayRequest>,
}

impl SampledDay {
    fn draw(settings: &DaySettings) -> Result<SampledDay, String> {
        let day = Day::new(settings).map_err(|error| error.to_string())?;
        let requests = day.requests().collect();
        Ok(SampledDay { day, start: Timestamp::from_unix_ns(settings.start_unix_ns), requests })
    }

    /// The requests that start in some minutes, as read from a file.
    fn traces(&self, minutes: Range<u32>, threads: NonZeroUsize) -> Arc<Traces> {
        let at = |minute: u32| self.start.plus(Nanos::from_secs(u64::from(minute * MINUTE_S)));
        let index = |time: Timestamp| self.requests.partition_point(|request| request.start < time);
        let mut ingest = Ingest::new(IngestSettings::default());
        for request in &self.requests[index(at(minutes.start))..index(at(minutes.end))] {
            request.spans.iter().for_each(|span| ingest.span(&request.record(span, &self.day)));
        }
        Arc::new(ingest.finish(threads))
    }

    /// One window, alone and with the hour before as the baseline.
    fn run(&self, name: String, start: u32, truth: &Truth, groups: &GroupPair, runner: &mut Runner<'_>) {
        let target = self.traces(start..start + WINDOW, runner.threads());
        let baseline = self.traces(start - BASELINE..start, runner.threads());
        let calls = match runner.needs_calls() {
            true => CaseCalls::new(&target, Some(&baseline)),
            false => CaseCalls::default(),
        };
        let (truth, question) = (truth.clone(), Question::Detect);
        let case = Case { name, target, baseline: Some(baseline), calls, truth, question };
        let Some(alone) = &groups.alone else { return runner.run(&groups.compared, HOURS, case) };
        runner.run(alone, HOURS, case.without_baseline());
        runner.run_compared(alone, &groups.compared, HOURS, case);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_simulate::Profile;

    #[test]
    fn a_window_has_the_requests_that_start_in_its_minutes() {
        let settings = DaySettings { window_s: 180, ..DaySettings::new(Profile::parse("small").unwrap(), 1) };
        let drawn = SampledDay::draw(&settings).unwrap();
        let spans = |minutes| {
            let traces = drawn.traces(minutes, NonZeroUsize::MIN);
            crate::select::each_trace(&traces).map(<[_]>::len).sum::<usize>()
        };
        let all: usize = drawn.requests.iter().map(|request| request.spans.len()).sum();
        assert!(spans(1..2) > 0);
        assert_eq!((spans(0..3), spans(0..1) + spans(1..2) + spans(2..3)), (all, all));
    }
}
