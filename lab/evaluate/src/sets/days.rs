//! Ordinary days of simulated systems: quarter hours in which nothing happens, and the same with a fault.

use super::{Group, SetKind};
use crate::calls::CaseCalls;
use crate::case::{Case, Question, Truth};
use crate::days::{JUDGED_FROM, MINUTE_S, SampledDay, with_fault};
use crate::run::Runner;
use laggard_simulate::{DayFaultKind, DaySettings, LossOnset, PROFILES};

/// Share of the spans that are lost, and how a group's name says so.
const LOST: [(f64, &str); 3] = [(0.0, ""), (0.01, ", 1 % lost"), (0.05, ", 5 % lost")];
/// Losses that begin with the first window, whether of one replica only, and how a group's name says so.
const LOST_LATER: [(f64, bool, &str); 2] = [
    (0.05, false, ", 5 % lost from the first window on"),
    (0.2, true, ", 20 % of one replica lost from the first window on"),
];
/// Time at the target over its usual time.
const FACTORS: [f64; 2] = [1.5, 1.2];

/// The windows of a day without a fault begin at these minutes.
const QUIET_STARTS: [u32; 4] = [JUDGED_FROM, 75, 90, 105];
/// Minutes of a window, of its baseline, and of a fault.
const WINDOW: u32 = 15;
const BASELINE: u32 = 60;
const FAULT: u32 = 12;
const HOURS: f64 = WINDOW as f64 / 60.0;

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
        run(&drawn, name, start, Truth::Quiet, groups, runner);
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
    let settings = with_fault(settings, kind, factor, WINDOW, FAULT);
    // Not every system can have every fault.
    let Ok(drawn) = SampledDay::draw(&settings) else { return Ok(()) };
    let Some(truth) = drawn.day.truth() else { return Ok(()) };
    let name = format!("{} seed {}", settings.profile.name, settings.seed);
    run(&drawn, name, JUDGED_FROM, Truth::Fault(truth), groups, runner);
    Ok(())
}

/// One window, alone and with the hour before as the baseline.
fn run(
    drawn: &SampledDay,
    name: String,
    start: u32,
    truth: Truth,
    groups: &GroupPair,
    runner: &mut Runner<'_>,
) {
    let target = drawn.traces(start..start + WINDOW, runner.threads());
    let baseline = drawn.traces(start - BASELINE..start, runner.threads());
    let calls = match runner.needs_calls() {
        true => CaseCalls::new(&target, Some(&baseline)),
        false => CaseCalls::default(),
    };
    let case = Case { name, target, baseline: Some(baseline), calls, truth, question: Question::Detect };
    let Some(alone) = &groups.alone else { return runner.run(&groups.compared, HOURS, case) };
    runner.run(alone, HOURS, case.without_baseline());
    runner.run_compared(alone, &groups.compared, HOURS, case);
}
