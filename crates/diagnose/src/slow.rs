//! Which operations on which replicas make requests slow? One file per method; this one picks it.

use crate::methods::SlowMethod;
use crate::scan::Question;
use laggard_engine::{LocalEngine, Traces};
use laggard_localize::{CloudDiagSettings, SettingsError};
use laggard_model::Timestamp;
use laggard_report::{NamedCount, Report};
use laggard_localize::{
    CategoryCalls, CategoryPosition, CloudDiag, CloudDiagSettings, Mode, SettingsError, Spread, cloud_diag,
};
use laggard_model::{AdjustedCount, Fingerprint, Loss, OperationId, ServiceId, Timestamp};
use laggard_report::{Input, NamedCount, Report, SCHEMA_VERSION, Setting, Verdict, Window, headline};
use std::collections::BTreeMap;

/// What is asked.
#[derive(Clone, Debug)]
pub struct SlowSettings {
    /// Which method answers.
    pub method: SlowMethod,
    /// Thresholds of CloudDiag, and those every method shares: mode, kind of time, sizes, replica tests.
    pub clouddiag: CloudDiagSettings,
    /// Requests that start before this are left out.
    pub since: Timestamp,
    /// Requests that start after this are left out.
    pub until: Timestamp,
    /// Only requests that enter at this service.
    pub service: Option<String>,
    /// Sampling probability of requests that do not tell theirs: above 0, at most 1.
    pub sampling_probability: Option<f64>,
    /// Most suspects reported.
    pub suspects_max: usize,
}

impl Default for SlowSettings {
    fn default() -> SlowSettings {
        SlowSettings {
            method: SlowMethod::default(),
            clouddiag: CloudDiagSettings::default(),
            since: Timestamp::MIN,
            until: Timestamp::MAX,
            service: None,
            sampling_probability: None,
            suspects_max: 10,
        }
    }
}

/// What only the reader of the input knows.
#[derive(Clone, Debug, Default)]
pub struct InputFacts {
    /// Inputs read.
    pub files: u64,
    /// Bytes read, before decompression.
    pub bytes: u64,
    /// Formats recognised.
    pub formats: Vec<NamedCount>,
}

/// Diagnoses a data set.
///
/// # Errors
/// When a setting is out of its range.
pub fn diagnose(
    traces: &Traces,
    facts: &InputFacts,
    settings: &SlowSettings,
    engine: LocalEngine,
) -> Result<Report, SettingsError> {
    settings.clouddiag.check()?;
    let question = Question { traces, facts, settings, engine };
    match settings.method {
        SlowMethod::CloudDiag => Ok(crate::clouddiag::diagnose(&question)),
    let names = traces.names();
    let operations: Vec<OperationId> = (0..names.operations()).map(OperationId::from_index).collect();
    let fingerprints: Vec<Fingerprint> = operations.iter().map(|&id| names.fingerprint(id)).collect();
    let services: Vec<ServiceId> = operations.iter().map(|&id| names.service_of(id)).collect();
    let service = settings.service.as_deref().map(|wanted| find_service(traces, wanted));
    let fold = SurveyFold {
        rule: match settings.clouddiag.mode {
            Mode::Robust => ShapeRule::Canonical,
            Mode::Paper => ShapeRule::Exact,
        },
        operations: &fingerprints,
        services: &services,
        since: settings.since,
        until: settings.until,
        service,
        assumed_count: settings.sampling_probability.and_then(AdjustedCount::of_probability),
    };
    let mut survey = engine.fold(traces, &fold);
    let wanted = wanted_categories(&survey, settings);
    let gather = GatherFold { survey: &fold, wanted: &wanted, time: settings.clouddiag.time };
    let mut judged = engine.fold(traces, &gather);
    let thinned: usize = judged.iter_mut().map(|category| category.thin(settings.clouddiag.rows_max)).sum();
    survey.losses.add_many(Loss::RowLimit, thinned as u64, String::new);
    let found = cloud_diag(&judged, &settings.clouddiag, engine.threads());
    let context = Context { traces, settings, survey: &survey, categories: &judged, found: &found };
    Ok(report(&context, facts))
}

/// A service nobody has is a handle no operation has.
fn find_service(traces: &Traces, wanted: &str) -> ServiceId {
    let names = traces.names();
    (0..names.services())
        .map(ServiceId::from_index)
        .find(|&id| names.service_name(id) == wanted)
        .unwrap_or_else(|| ServiceId::from_index(names.services()))
}

fn wanted_categories(
    survey: &Survey,
    settings: &SlowSettings,
) -> BTreeMap<Fingerprint, Vec<CategoryPosition>> {
    survey
        .categories
        .iter()
        .filter(|(_, category)| category.requests.len() as u64 >= settings.clouddiag.requests_min)
        .map(|(&id, category)| {
            let positions = category.positions.iter();
            let positions =
                positions.map(|at| CategoryPosition { operation: at.operation, parent: at.parent }).collect();
            (id, positions)
        })
        .collect()
}

fn report(context: &Context<'_>, facts: &InputFacts) -> Report {
    let suspects = suspects(context);
    let enough = context.found.categories.iter().any(|category| category.gate.judged);
    let verdict = match (suspects.is_empty(), enough) {
        (false, _) => Verdict::Suspects,
        (true, true) => Verdict::Healthy,
        (true, false) => Verdict::InsufficientData,
    };
    let mut report = Report {
        schema_version: SCHEMA_VERSION,
        verdict,
        headline: String::new(),
        method: "clouddiag".to_owned(),
        mode: match context.settings.clouddiag.mode {
            Mode::Robust => "robust".to_owned(),
            Mode::Paper => "paper".to_owned(),
        },
        window: window(context),
        input: input(context, facts),
        categories: categories(context, &suspects),
        replicas: replica_suspects(context),
        ruled_out: ruled_out(context),
        cautions: cautions(context),
        heat_map: heat_map(context),
        latency: latency_split(context),
        settings: settings_in_force(context.settings),
        suspects,
    };
    report.headline = headline(&report);
    report
}

fn window(context: &Context<'_>) -> Option<Window> {
    let (first, last, _) = extent(context.survey)?;
    Some(Window {
        since_ns: first.unix_ns(),
        until_ns: last.unix_ns(),
        since: rfc3339(first),
        until: rfc3339(last),
    })
}

fn input(context: &Context<'_>, facts: &InputFacts) -> Input {
    let traces = context.traces;
    let mut losses = traces.losses().clone();
    losses.merge(&context.survey.losses);
    Input {
        files: facts.files,
        bytes: facts.bytes,
        spans: traces.spans(),
        call_records: traces.call_records(),
        traces: context.survey.traces,
        requests: context.survey.requests,
        services: traces.names().services() as u64,
        operations: traces.names().operations() as u64,
        replicas: traces.names().replicas() as u64,
        formats: facts.formats.clone(),
        replica_identity: traces
            .identities()
            .map(|(source, count)| NamedCount { name: source.name().to_owned(), count })
            .collect(),
        clocks: clocks(context),
        losses,
    }
}
