//! Which operations on which replicas make requests slow? One file per method; this one picks it.

use crate::methods::SlowMethod;
use crate::scan::Question;
use crate::gather::GatherFold;
use crate::missing::missing;
use crate::operations::suspects;
use crate::replicas::replica_suspects;
use crate::sampling;
use crate::survey::{Survey, SurveyFold, extent};
use crate::views::{categories, clocks, heat_map, latency_split, rfc3339};
use laggard_assembly::ShapeRule;
use laggard_engine::{LocalEngine, Traces};
use laggard_localize::{CloudDiagSettings, SettingsError, SiteSettings};
use laggard_localize::{CloudDiagSettings, MiSettings, SettingsError};
use laggard_model::Timestamp;
use laggard_report::{NamedCount, Report};

/// What is asked.
#[derive(Clone, Debug)]
pub struct SlowSettings {
    /// Which method answers.
    pub method: SlowMethod,
    /// Thresholds of CloudDiag, and those every method shares: mode, kind of time, sizes, replica tests.
    pub clouddiag: CloudDiagSettings,
    /// Thresholds of everything that works on sites; of the combined method.
    pub sites: SiteSettings,
    /// What the window is compared with.
    pub baseline: BaselineChoice,
    /// Thresholds of principal components.
    pub pca: MiSettings,
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

/// What the window is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BaselineChoice {
    /// Nothing.
    #[default]
    None,
    /// Requests of the baseline's traces, or of the same traces if there are no others, that start in this time.
    Within {
        /// The earliest start.
        since: Timestamp,
        /// The latest start.
        until: Timestamp,
    },
    /// Requests of the same traces that start outside the window.
    Rest,
}

impl Default for SlowSettings {
    fn default() -> SlowSettings {
        SlowSettings {
            method: SlowMethod::default(),
            clouddiag: CloudDiagSettings::default(),
            sites: SiteSettings::default(),
            baseline: BaselineChoice::None,
            pca: MiSettings::default(),
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

/// Diagnoses a data set, on its own or against earlier traces. Only the combined method compares.
///
/// # Errors
/// When a setting is out of its range.
pub fn diagnose(
    traces: &Traces,
    baseline: Option<&Traces>,
    facts: &InputFacts,
    settings: &SlowSettings,
    engine: LocalEngine,
) -> Result<Report, SettingsError> {
    settings.clouddiag.check()?;
    let question = Question { traces, baseline, facts, settings, engine };
    settings.pca.check()?;
    let question = Question { traces, facts, settings, engine };
    match settings.method {
        SlowMethod::Combined => Ok(crate::combined::diagnose(&question)),
        SlowMethod::CloudDiag => Ok(crate::clouddiag::diagnose(&question)),
        SlowMethod::Pca => Ok(crate::pca::diagnose(&question)),
    }
}
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

/// A service nobody has is a handle no operation has.
fn find_service(traces: &Traces, wanted: &str) -> ServiceId {
    let names = traces.names();
    (0..names.services())
        .map(ServiceId::from_index)
        .find(|&id| names.service_name(id) == wanted)
        .unwrap_or_else(|| ServiceId::from_index(names.services()))

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

fn report(context: &Context<'_>, facts: &InputFacts) -> Report {
    let suspects = suspects(context);
    let enough = context.found.categories.iter().any(|category| category.gate.judged);
    let verdict = match (suspects.is_empty(), enough) {
        (false, _) => Verdict::Suspects,
        (true, true) => Verdict::Healthy,
        (true, false) => Verdict::InsufficientData,
    };
    let input = input(context, facts);
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
        cautions: cautions(context, &input),
        input,
        categories: categories(context, &suspects),
        replicas: replica_suspects(context),
        ruled_out: ruled_out(context),
        missing: if verdict == Verdict::InsufficientData { missing(context) } else { vec![] },
        heat_map: heat_map(context),
        latency: latency_split(context),
        settings: settings_in_force(context.settings),
        suspects,
    };
    report.headline = headline(&report);
    report

fn window(context: &Context<'_>) -> Option<Window> {
    let (first, last, _) = extent(context.survey)?;
    Some(Window {
        since_ns: first.unix_ns(),
        until_ns: last.unix_ns(),
        since: rfc3339(first),
        until: rfc3339(last),
    })

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
        sampling: sampling::sampling(context),
        losses,

fn ruled_out(context: &Context<'_>) -> Vec<String> {
    let gates = || context.found.categories.iter().map(|category| category.gate);
    let judged = gates().filter(|gate| gate.judged).count();
    let anomalous = gates().filter(|gate| gate.anomalous).count();
    let small = context.survey.categories.len() - judged;
    let mut out = vec![];
    if judged > anomalous {
        out.push(format!(
            "No unusual dispersion of latency and no heavy tail: {} of {} judged.",
            judged - anomalous,
            counted(judged, "category", "categories")
        ));
    if small > 0 {
        let requests: usize = (context.survey.categories.values())
            .map(|category| category.requests.len())
            .filter(|&requests| (requests as u64) < context.settings.clouddiag.requests_min)
            .sum();
        out.push(format!(
            "Only summarised, for fewer than {} requests each: {} ({} in all).",
            context.settings.clouddiag.requests_min,
            counted(small, "category", "categories"),
            counted(requests, "request", "requests")
        ));
    for suspect in &context.found.suspects {
        if suspect.spread == Spread::Everywhere {
            let key = context.traces.names().operation_key(suspect.operation);
            out.push(format!(
                "No replica stands out for `{} {}`: {} were compared.",
                key.service,
                key.operation,
                suspect.cells.len()
            ));
        }
    out

/// `1 category`, `3 categories`.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })

/// When the data lie, for somebody whose window or service missed them.
fn nothing_selected(context: &Context<'_>) -> Option<String> {
    let traces = context.traces;
    if context.survey.requests > 0 || traces.spans() + traces.outside_window() == 0 {
        return None;
    let kept = traces.extent().map_or_else(String::new, |(first, last)| {
        format!(" The spans kept start between {} and {}.", rfc3339(first), rfc3339(last))
    });
    let far = match traces.outside_window() {
        0 => String::new(),
        spans => format!(" {spans} spans lie more than an hour outside the window."),
    };
    Some(format!("No request is inside the window, or enters at the service, that was asked for.{kept}{far}"))

fn cautions(context: &Context<'_>, input: &Input) -> Vec<String> {
    let mut out: Vec<String> = nothing_selected(context).into_iter().collect();
    if context.traces.kept_one_in() > 1 {
        out.push(format!(
            "Only one trace in {} was kept, to stay within the memory limit; counts are of what was kept.",
            context.traces.kept_one_in()
        ));
    sampling::cautions(&input.sampling, &mut out);
    if context.survey.partial > 0 {
        out.push(format!(
            "{} of {} requests are incomplete and were left out.",
            context.survey.partial, context.survey.requests
        ));
    if context.traces.names().replicas() <= 1 && context.traces.spans() > 0 {
        out.push("The spans name at most one replica, so replicas cannot be compared.".to_owned());
    for suspect in context.found.suspects.iter().filter(|suspect| suspect.spread == Spread::Undecided) {
        let key = context.traces.names().operation_key(suspect.operation);
        out.push(format!(
            "Whether particular replicas are to blame for `{} {}` cannot be said: {} slow calls on {} replicas are too few.",
            key.service,
            key.operation,
            suspect.excess.calls,
            suspect.cells.len()
        ));
    let left_out: usize = context.found.categories.iter().map(|category| category.columns_left_out).sum();
    if left_out > 0 {
        out.push(format!("{left_out} call-tree positions had no room in their matrix and were not judged."));
    let unconverged = context.found.categories.iter().filter(|category| !category.converged).count();
    if unconverged > 0 {
        out.push(format!("The decomposition of {unconverged} categories stopped before it converged."));
    out

fn settings_in_force(settings: &SlowSettings) -> Vec<Setting> {
    let rows = crate::settings_table::rows(settings);
    rows.into_iter().map(|(name, value)| Setting { name: name.to_owned(), value }).collect()
