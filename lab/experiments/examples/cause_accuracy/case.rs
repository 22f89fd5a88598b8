//! One simulated incident, and what is concluded from it.

use super::cpu::Cpu;
use super::kinds::{FAULT_S, ForeignOn, Kind, LENGTH_S, MINUTE_S, Operations};
use laggard_diagnose::{BaselineChoice, DiagnoseSettings, diagnose};
use laggard_engine::{Ingest, IngestSettings, LocalEngine, Requests};
use laggard_metrics_questions::{ChangesQuestion, ChangesSettings, SampleFacts, add_span_samples, changes};
use laggard_model::{Nanos, Sink, Timestamp};
use laggard_report::{ChangeReport, InputFacts, KernelDiagnosis, OtherEvidence, Report};
use laggard_samples::{SampleLimits, SampleTable, WindowSettings};
use laggard_simulate::{Day, DayFault, DaySettings, DayTruth, Profile};

/// Time at the target of a fault over its usual time; share of calls that fail.
const FACTOR: f64 = 2.0;
const FAILING_SHARE: f64 = 0.5;

pub(crate) struct Case {
    truth: DayTruth,
    requests: Requests,
    changes: ChangeReport,
    kernel: Option<KernelDiagnosis>,
    window: (Timestamp, Timestamp),
    start: Timestamp,
}

/// Reports on a case by traces alone, and with everything else.
pub(crate) struct Reports {
    pub(crate) alone: Report,
    pub(crate) joint: Report,
}

impl Case {
    /// `None` for a system that has no place for the fault.
    pub(crate) fn draw(kind: &Kind, profile: Profile, seed: u64) -> Option<Case> {
        let fault = DayFault {
            kind: kind.fault,
            seed,
            factor: FACTOR,
            share: FAILING_SHARE,
            since_s: FAULT_S,
            until_s: LENGTH_S,
        };
        let settings =
            DaySettings { window_s: LENGTH_S, fault: Some(fault), ..DaySettings::new(profile, seed) };
        let day = Day::new(&settings).ok()?;
        let truth = day.truth()?;
        let is_query = truth.operation.1.starts_with("SELECT");
        let is_wanted = match kind.operations {
            Operations::All => true,
            Operations::Queries => is_query,
            Operations::OwnWork => !is_query,
        };
        if !is_wanted {
            return None;
        }
        let start = Timestamp::from_unix_ns(settings.start_unix_ns);
        let mut ingest = Ingest::new(IngestSettings::default());
        let mut cpu = Cpu::new(start);
        for request in day.requests() {
            for span in &request.spans {
                ingest.span(&request.record(span, &day));
            }
            cpu.add(&request, &day, kind.uses_cpu);
        }
        // A release gives a slow replica another name.
        let culprits = &truth.replicas;
        let foreign_on: Vec<String> = match kind.foreign_on {
            ForeignOn::Culprit => culprits.clone(),
            ForeignOn::Elsewhere => {
                let mut serving = cpu.replicas_during_fault();
                serving.find(|name| !culprits.contains(name)).cloned().into_iter().collect()
            }
        };
        let threads = laggard_system::available_threads();
        let engine = LocalEngine::new(threads);
        let requests = Requests::from_traces(ingest.finish(threads), threads);
        let mut table = SampleTable::new(SampleLimits::default());
        cpu.samples(&mut table, &foreign_on, kind.foreign);
        let length = Nanos::from_secs(u64::from(MINUTE_S));
        add_span_samples(requests.all(), None, length, &mut table, engine);
        let table = table.finish(&WindowSettings::default()).expect("there are samples");
        let (facts, settings) = (SampleFacts::default(), ChangesSettings::default());
        let question =
            ChangesQuestion { table: &table, facts: &facts, deployments: &[], settings: &settings, threads };
        let changes = changes(&question).expect("the default settings are in their ranges");
        let time = |seconds: u32| start.plus(Nanos::from_secs(u64::from(seconds)));
        let kernel = kind.recording.map(|recording| recording.diagnose(seed));
        let window = (time(FAULT_S - 3 * MINUTE_S), time(LENGTH_S));
        Some(Case { truth, requests, changes, kernel, window, start })
    }

    pub(crate) fn reports(&self) -> Reports {
        let (since, until) = self.window;
        let baseline = BaselineChoice::Within { since: self.start, until: since.minus(Nanos::from_ns(1)) };
        let settings = DiagnoseSettings { since, until, baseline, ..DiagnoseSettings::default() };
        let engine = LocalEngine::new(laggard_system::available_threads());
        let alone = diagnose(&self.requests, None, &InputFacts::default(), &settings, engine);
        let alone = alone.expect("the default settings are in their ranges");
        let mut joint = alone.clone();
        joint.conclude(OtherEvidence {
            changes: Some(&self.changes),
            kernel: self.kernel.as_ref(),
            events_known: false,
        });
        Reports { alone, joint }
    }

    /// Whether the first clause is about the true operation and replica, or the true caller and callee.
    pub(crate) fn is_first_clause_right(&self, report: &Report) -> bool {
        let lead = report.suspects.iter().find(|suspect| suspect.stands_out);
        let (Some(lead), Some(clause)) = (lead, report.clauses.first()) else { return false };
        let (service, operation) = &self.truth.operation;
        let is_right = match (&self.truth.caller, &lead.between) {
            (Some(caller), Some(between)) => (&between.caller_service, &lead.service) == (&caller.0, service),
            // Without spans of clients, the time of a call between services is time of the caller.
            (Some(caller), None) => lead.service == caller.0,
            _ => (&lead.service, &lead.operation) == (service, operation),
        };
        let replicas = &self.truth.replicas;
        let is_replica = replicas.is_empty() || lead.replicas.iter().any(|name| replicas.contains(name));
        is_right && is_replica && clause.text.contains(lead.operation.split(' ').next().unwrap_or_default())
    }

    /// The truth, for people.
    pub(crate) fn truth_text(&self) -> String {
        format!("{:?}", self.truth)
    }
}
