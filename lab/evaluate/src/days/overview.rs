//! Verdicts of Laggard's default by kind of system, on days without a fault and on the same days with one.
//!
//! A day is assembled once and its windows are compared with the hour before by time, which is faster than the files of
//! the set of cases and is what a server does.

use super::oracle::oracle;
use super::sampled::{JUDGED_FROM, MINUTE_S, at, read, with_fault};
use super::totals::{AlarmCounts, DayTotals};
use crate::case::Question;
use crate::judge::is_first_right;
use crate::methods::answer_from_report;
use laggard_diagnose::{BaselineChoice, DiagnoseSettings, diagnose};
use laggard_engine::{LocalEngine, Requests};
use laggard_report::{InputFacts, Report, Suspect, SuspectAttribute};
use laggard_simulate::{Day, DayFaultKind, DaySettings, DayTruth, LossOnset, PROFILES, Profile};
use std::num::NonZeroUsize;
use std::ops::Range;

/// Minutes of a day without a fault.
const DAY: u32 = 120;
/// Minutes of a baseline.
const BASELINE: u32 = 60;
/// Suspects that are listed with a wrong verdict.
const LISTED: usize = 4;

/// Which days, and what is reported about them.
#[derive(Clone, Debug)]
pub struct DaysOptions {
    /// Seeds of the days.
    pub seeds: Range<u64>,
    /// Only the kind of system of this name.
    pub profile: Option<String>,
    /// Probability that a span is lost.
    pub lost: f64,
    /// The same in the judged windows only, not in their baseline.
    pub lost_later: Option<f64>,
    /// Whether only one replica loses spans later.
    pub one_replica: bool,
    /// The factor by which the target of the fault is slower; `None` for days without a fault.
    pub factor: Option<f64>,
    /// Only faults of the kind of this name.
    pub kind: Option<String>,
    /// Length of a window.
    pub window_min: u32,
    /// Length of a fault, which ends with its window at the latest. It begins three minutes after its window; in windows of
    /// 30 minutes and more in the middle.
    pub fault_min: u32,
    /// List the reports that are wrong.
    pub list: bool,
    /// Whether a test that knows the operation, the group, and the time of a fault could find it.
    pub oracle: bool,
}

impl Default for DaysOptions {
    fn default() -> DaysOptions {
        DaysOptions {
            seeds: 1..2,
            profile: None,
            lost: 0.0,
            lost_later: None,
            one_replica: false,
            factor: None,
            kind: None,
            window_min: 15,
            fault_min: 12,
            list: false,
            oracle: false,
        }
    }
}

impl DaysOptions {
    fn settings(&self, settings: DaySettings) -> DaySettings {
        let onset = |probability| LossOnset {
            probability,
            one_replica: self.one_replica,
            since_s: JUDGED_FROM * MINUTE_S,
        };
        DaySettings {
            lost_spans: self.lost,
            loss_onset: self.lost_later.map(onset),
            window_s: DAY * MINUTE_S,
            ..settings
        }
    }
}

/// Judges the days; `print` gets one line for each kind of system, one for all, and additionally requested lines.
///
/// # Errors
/// When the options are no valid days, or none at all.
pub fn overview(options: &DaysOptions, print: &mut dyn FnMut(&str)) -> Result<(), String> {
    let requested = |name: &str| options.profile.as_deref().is_none_or(|requested| requested == name);
    let profiles: Vec<Profile> = PROFILES.into_iter().filter(|profile| requested(profile.name)).collect();
    if options.seeds.is_empty() {
        return Err(format!("no seeds in {:?}: the last one is excluded", options.seeds));
    }
    if profiles.is_empty() {
        return Err(format!("there is no profile {:?}", options.profile.as_deref().unwrap_or_default()));
    }
    let mut all = DayTotals::default();
    for profile in profiles {
        let mut totals = DayTotals::default();
        for seed in options.seeds.clone() {
            let settings = options.settings(DaySettings::new(profile, seed));
            match options.factor {
                None => quiet(&settings, options, &mut totals, print)?,
                Some(factor) => faults(&settings, factor, options, &mut totals, print)?,
            }
        }
        print(&format!("{:16} {}", profile.name, totals.text(options.factor.is_some())));
        all.add(&totals);
    }
    print(&format!("{:16} {}", "all", all.text(options.factor.is_some())));
    Ok(())
}

/// A day whose requests are assembled once for all windows.
struct AssembledDay<'a> {
    settings: &'a DaySettings,
    requests: Requests,
    engine: LocalEngine,
}

impl AssembledDay<'_> {
    fn new<'a>(day: &Day, settings: &'a DaySettings, totals: &mut DayTotals) -> AssembledDay<'a> {
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let traces = read(day, day.requests(), threads);
        totals.spans += traces.buckets().iter().map(Vec::len).sum::<usize>();
        let requests = Requests::from_trace_table(&traces, threads);
        totals.requests += requests.len();
        totals.incomplete += requests.all().iter().filter(|request| !request.is_complete()).count();
        AssembledDay { settings, requests, engine: LocalEngine::new(threads) }
    }

    fn report(&self, window: &Range<u32>, with_baseline: bool) -> Result<Report, String> {
        let time_of = |minute: u32| at(self.settings, minute);
        let baseline = match with_baseline {
            true => BaselineChoice::Within {
                since: time_of(window.start - BASELINE),
                until: time_of(window.start),
            },
            false => BaselineChoice::None,
        };
        let settings = DiagnoseSettings {
            since: time_of(window.start),
            until: time_of(window.end),
            baseline,
            ..DiagnoseSettings::default()
        };
        diagnose(&self.requests, None, &InputFacts::default(), &settings, self.engine)
            .map_err(|error| error.to_string())
    }

    /// The window without and with its baseline; without a truth nothing may be named.
    fn judge(
        &self,
        window: &Range<u32>,
        truth: Option<&DayTruth>,
        totals: &mut DayTotals,
        wrong: &mut dyn FnMut(bool, &Report),
    ) -> Result<[AlarmCounts; 2], String> {
        totals.windows += 1;
        totals.minutes += window.end - window.start;
        let mut out = [AlarmCounts::default(); 2];
        for (way, with_baseline) in [false, true].into_iter().enumerate() {
            let report = self.report(window, with_baseline)?;
            let answer = answer_from_report(&report, Question::Detect);
            let first_right = truth.is_some_and(|truth| is_first_right(true, &answer, truth));
            let any = !answer.is_empty();
            out[way] = AlarmCounts { any: usize::from(any), first_right: usize::from(first_right) };
            totals.count(way, report.verdict, out[way]);
            if if truth.is_some() { !first_right } else { any } {
                wrong(with_baseline, &report);
            }
        }
        Ok(out)
    }
}

fn quiet(
    settings: &DaySettings,
    options: &DaysOptions,
    totals: &mut DayTotals,
    print: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let day = Day::new(settings).map_err(|error| error.to_string())?;
    let assembled = AssembledDay::new(&day, settings, totals);
    let minutes = options.window_min.clamp(1, DAY - JUDGED_FROM);
    for from in (JUDGED_FROM..=DAY - minutes).step_by(minutes as usize) {
        assembled.judge(&(from..from + minutes), None, totals, &mut |with_baseline, report| {
            let case = format!("minute {from} baseline {with_baseline}");
            if options.list {
                print(&listed(settings, &case, report));
            }
        })?;
    }
    Ok(())
}

fn faults(
    settings: &DaySettings,
    factor: f64,
    options: &DaysOptions,
    totals: &mut DayTotals,
    print: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let is_requested = |kind: &DayFaultKind| options.kind.as_deref().is_none_or(|name| name == kind.name());
    for kind in DayFaultKind::ALL.into_iter().filter(is_requested) {
        let settings = with_fault(settings.clone(), kind, factor, options.window_min, options.fault_min);
        // Not every system can have every fault.
        let Ok(day) = Day::new(&settings) else { continue };
        let Some(truth) = day.truth() else { continue };
        let assembled = AssembledDay::new(&day, &settings, totals);
        let window = JUDGED_FROM..JUDGED_FROM + options.window_min;
        let named = assembled.judge(&window, Some(&truth), totals, &mut |with_baseline, report| {
            let case = format!("{kind:?} {truth:?} baseline {with_baseline}");
            if options.list {
                print(&listed(&settings, &case, report));
            }
        })?;
        if let Some(oracle) = options.oracle.then(|| oracle(&day, &settings, &truth)).flatten() {
            print(&format!(
                "  oracle {} {} seed {} found {} right {} calls {} of {} factor {:.3} z {:.1}",
                kind.name(),
                settings.profile.name,
                settings.seed,
                named[1].any,
                named[1].first_right,
                oracle.calls,
                oracle.all_calls,
                oracle.factor,
                oracle.z
            ));
        }
        totals.count_kind(kind.name(), named);
    }
    Ok(())
}

fn listed(settings: &DaySettings, case: &str, report: &Report) -> String {
    let head = format!("  {} seed {} {case}: {}", settings.profile.name, settings.seed, report.headline);
    let suspects = report.suspects.iter().take(LISTED).map(suspect_text);
    std::iter::once(head).chain(suspects).collect::<Vec<String>>().join("\n")
}

fn suspect_text(suspect: &Suspect) -> String {
    let attribute = |attribute: &SuspectAttribute| {
        format!(" {}={} {:.2} of {:.2}", attribute.key, attribute.value, attribute.hit_share, attribute.share)
    };
    format!(
        "    {} {} [{}] hit {} factor {:.2} share {:.2} replicas {}{}",
        suspect.service,
        suspect.operation,
        suspect.evidence.join(","),
        suspect.requests_hit,
        suspect.factor,
        suspect.share,
        suspect.replicas.len(),
        suspect.attributes.iter().map(attribute).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(options: &DaysOptions) -> Vec<String> {
        let mut out = Vec::new();
        overview(options, &mut |line| out.push(line.to_owned())).unwrap();
        out
    }

    #[test]
    fn a_large_fault_is_found_with_a_baseline_and_listed_where_it_is_not() {
        let options = DaysOptions {
            profile: Some("small".to_owned()),
            factor: Some(3.0),
            kind: Some("operation".to_owned()),
            list: true,
            oracle: true,
            ..DaysOptions::default()
        };
        let lines = lines(&options);
        assert!(lines[0].contains("baseline false: Nothing shows"), "{lines:?}");
        assert!(lines[1].starts_with("  oracle operation small seed 1 found 1 right 1"), "{lines:?}");
        assert!(lines[2].starts_with("small               1 windows"), "{lines:?}");
        assert!(lines[2].ends_with("alone 0 (0 right), with baseline 1 (1 right)"), "{lines:?}");
    }

    #[test]
    fn options_without_a_day_are_an_error() {
        let overview = |options: &DaysOptions| overview(options, &mut |line| panic!("{line}"));
        let none = DaysOptions { seeds: 871..871, ..DaysOptions::default() };
        assert!(overview(&none).is_err_and(|error| error.contains("871..871")));
        let unknown = DaysOptions { profile: Some("tiny".to_owned()), ..DaysOptions::default() };
        assert!(overview(&unknown).is_err_and(|error| error.contains("tiny")));
    }

    #[test]
    fn windows_of_a_quiet_day_fill_its_second_hour() {
        let options = DaysOptions {
            profile: Some("small".to_owned()),
            window_min: 30,
            seeds: 2..3,
            ..DaysOptions::default()
        };
        let lines = lines(&options);
        assert!(lines[0].starts_with("small               2 windows"), "{lines:?}");
        assert!(lines[0].ends_with("false alarms an hour 0.00, 0.00"), "{lines:?}");
    }
}
