//! Laggard's own methods, by their rows in the registry.

use crate::arm::Arm;
use crate::case::{Answer, Case, FirstSuspect, Localizer, OperationName, Question, SlowPeriod};
use laggard_diagnose::{DiagnoseMethod, DiagnoseSettings, METHODS, diagnose};
use laggard_engine::{
    Count, LocalEngine, RequestSlice, Requests, SliceFacts, StartRange, Take, Traces, UnitFold,
};
use laggard_model::Timestamp;
use laggard_report::{
    Between, Incident, InputFacts, ReplicaSuspect, Report, Suspect, SuspectAttribute, Verdict,
};
use std::num::NonZeroUsize;

/// More than anybody reads, so that precision sees everything that is named.
const SUSPECTS_MAX: usize = 1_000;

/// A method of the registry.
pub(super) struct Laggard {
    /// The word for `--method`.
    pub(super) name: &'static str,
    /// Most calls that are diagnosed; requests are left out beyond, as from a store.
    pub(super) calls_max: Option<u64>,
}

impl Laggard {
    /// Runs the product on traces, with default settings.
    fn report(&self, target: &Traces, baseline: Option<&Traces>) -> Result<Report, String> {
        let row = METHODS.iter().find(|row| row.name == self.name).ok_or("no such method")?;
        let settings = DiagnoseSettings {
            method: row.method,
            suspects_max: SUSPECTS_MAX,
            ..DiagnoseSettings::default()
        };
        let baseline = baseline.filter(|_| row.method.uses_baseline());
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let (target, baseline) = match self.calls_max {
            None => {
                let requests = |traces: &Traces| Requests::from_trace_table(traces, threads);
                (requests(target), baseline.map(requests))
            }
            Some(calls_max) => requests_within(target, baseline, calls_max, threads),
        };
        let engine = LocalEngine::new(threads);
        diagnose(&target, baseline.as_ref(), &InputFacts::default(), &settings, engine)
            .map_err(|error| error.to_string())
    }
}

/// The requests of a window and its baseline as two rounds over a store take them: those of frequent kinds are left out of both until
/// all their calls are within the limit.
fn requests_within(
    target: &Traces,
    baseline: Option<&Traces>,
    calls_max: u64,
    threads: NonZeroUsize,
) -> (Requests, Option<Requests>) {
    let slice = |traces: &Traces| {
        let (names, rows) = (traces.names().clone(), traces.buckets().concat());
        RequestSlice::assemble(names, rows, traces.attributes(), SliceFacts::default())
    };
    let always: Vec<StartRange> = vec![Timestamp::MIN..=Timestamp::MAX];
    let count = Count { read: always.clone(), windows: always.clone() };
    let (target, baseline) = (slice(target), baseline.map(slice));
    let mut all = count.unit(&target);
    baseline.iter().for_each(|slice| count.merge(&mut all, count.unit(slice)));
    let take = Take { read: always, levels: all.levels(calls_max) };
    let requests = |slice: &RequestSlice| {
        Requests::from_selected(take.unit(slice), &take, (&count, &count.unit(slice)), threads)
    };
    (requests(&target), baseline.as_ref().map(requests))
}

impl Localizer for Laggard {
    fn decides(&self) -> bool {
        true
    }

    fn uses_baseline(&self) -> bool {
        DiagnoseMethod::from_name(self.name).is_some_and(DiagnoseMethod::uses_baseline)
    }

    fn slow_periods(&self, traces: &Traces) -> Option<Result<Vec<SlowPeriod>, String>> {
        let reports_times = self.name == DiagnoseMethod::default().name();
        let report = reports_times.then(|| self.report(traces, None))?;
        Some(report.map(|report| report.incidents.iter().map(slow_period).collect()))
    }
}

impl Arm<Case, Answer> for Laggard {
    fn name(&self) -> &str {
        self.name
    }

    fn is_laggard(&self) -> bool {
        true
    }

    fn answer(&self, case: &Case) -> Result<Answer, String> {
        let report = self.report(&case.target, case.baseline.as_deref())?;
        Ok(answer_from_report(&report, case.question))
    }
}

/// Operations and replicas that a report names.
pub(crate) fn answer_from_report(report: &Report, question: Question) -> Answer {
    let mut answer = Answer { sentence: report.headline.clone(), ..Answer::default() };
    // A tail that may be usual is an explanation, not an alarm.
    if question == Question::Detect && report.verdict != Verdict::Suspects {
        return answer;
    }
    answer.first = report.suspects.first().map(first_suspect).unwrap_or_default();
    for suspect in &report.suspects {
        let name = OperationName::new(&suspect.service, &suspect.operation);
        if !answer.operations.contains(&name) {
            answer.operations.push(name);
        }
        answer.reasons.push(of_operation(suspect));
    }
    for suspect in &report.replicas {
        if !answer.replicas.contains(&suspect.replica) {
            answer.replicas.push(suspect.replica.clone());
        }
        answer.reasons.push(of_replica(suspect));
    }
    answer
}

fn first_suspect(suspect: &Suspect) -> FirstSuspect {
    let ends = |between: &Between| (between.caller_service.clone(), between.callee_service.clone());
    let attribute = |attribute: &SuspectAttribute| (attribute.key.clone(), attribute.value.clone());
    FirstSuspect {
        replicas: suspect.replicas.clone(),
        between: suspect.between.as_ref().map(ends),
        attributes: suspect.attributes.iter().map(attribute).collect(),
    }
}

fn slow_period(incident: &Incident) -> SlowPeriod {
    let mut services: Vec<String> = Vec::new();
    for suspect in &incident.suspects {
        if !services.contains(&suspect.service) {
            services.push(suspect.service.clone());
        }
    }
    SlowPeriod { since_ns: incident.time.since.unix_ns(), until_ns: incident.time.until.unix_ns(), services }
}

fn of_operation(suspect: &Suspect) -> String {
    let name = OperationName::new(&suspect.service, &suspect.operation);
    let shift = suspect.shift.map_or_else(String::new, |shift| {
        format!("; {:.2} times the usual, p {:.1e}", shift.factor, shift.p_value)
    });
    let replicas = match suspect.replicas.len() {
        0 => String::new(),
        _ => format!("; on {}", suspect.replicas.join(" ")),
    };
    let evidence = suspect.evidence.join(" ");
    format!("{name} ({evidence}; slow calls {:.2} times the usual{shift}{replicas})", suspect.factor)
}

fn of_replica(suspect: &ReplicaSuspect) -> String {
    let p = suspect.p_value.map_or_else(|| "not tested".to_owned(), |p| format!("p {p:.1e}"));
    format!("{} ({p})", suspect.replica)
}
