//! The report of a method's answer: everything that does not depend on the method.

mod categories;
mod clocks;
mod context;
mod events;
mod heat_map;
mod latency;
mod missing;
mod replicas;
mod sampling;
mod suspects;

use crate::diagnose::answer::MethodAnswer;
use crate::diagnose::question::DiagnoseQuestion;
use crate::selection::waits_for_work_in;
use crate::survey::extent;
use context::Context;
use laggard_localize::{Mode, Spread};
use laggard_report::{
    Input, NamedCount, OtherEvidence, Report, SCHEMA_VERSION, Verdict, Window, headline, rfc3339,
};

/// The report of an answer.
pub(crate) fn report(question: &DiagnoseQuestion<'_>, answer: &MethodAnswer) -> Report {
    let context = &Context { question, answer };
    let events = events::SystemEvents::new(context);
    let suspects = suspects::suspects(context, &events);
    let enough = context.answer.categories.iter().any(|category| category.gate.judged);
    // What was lost may be what was slow: input with holes is never declared healthy.
    let enough = enough || context.answer.enough;
    // Nor are requests that are certainly slower.
    let is_explained = missing::unexplained(context).is_none();
    let verdict = match (suspects.first(), enough && is_explained && missing::holes(context).is_empty()) {
        (Some(lead), _) if lead.stands_out => Verdict::Suspects,
        (_, false) => Verdict::InsufficientData,
        (Some(_), true) => Verdict::Tail,
        (None, true) => Verdict::Healthy,
    };
    let input = input(context);
    let (categories, categories_omitted) = categories::categories(context, &suspects);
    let mut report = Report {
        schema_version: SCHEMA_VERSION,
        verdict,
        headline: String::new(),
        method: context.settings.method.name().to_owned(),
        mode: match context.settings.clouddiag.mode {
            Mode::Robust => "robust".to_owned(),
            Mode::Paper => "paper".to_owned(),
        },
        window: window(context),
        cautions: cautions(context, &input),
        input,
        categories,
        categories_omitted,
        events: events.in_report(window(context)),
        replicas: replicas::replica_suspects(context),
        ruled_out: ruled_out(context),
        missing: if verdict == Verdict::InsufficientData {
            missing::missing(context, enough)
        } else {
            vec![]
        },
        baseline: context.answer.baseline.clone(),
        automatic_baseline: None,
        cause: None,
        clauses: vec![],
        incidents: context.answer.incidents.clone(),
        heat_map: heat_map::heat_map(context),
        latency: latency::latency_split(context),
        pca: context.answer.pca.clone(),
        settings: context.settings.rows(),
        suspects,
    };
    report.headline = headline(&report);
    report.conclude(OtherEvidence::default());
    report
}

/// From this share of the time on, calls that were not compared are mentioned.
const UNMEASURED_SHARE_MIN: f64 = 0.1;

fn window(context: &Context<'_>) -> Option<Window> {
    let (first, last, _) = extent(context.survey())?;
    Some(Window { since: first, until: last })
}

fn input(context: &Context<'_>) -> Input {
    let (requests, facts) = (context.requests, context.facts);
    let read = requests.counts_within(context.settings.since, context.settings.until);
    let mut losses = requests.losses();
    losses.merge(&context.survey().losses);
    Input {
        files: facts.files,
        bytes: facts.bytes,
        spilled_bytes: facts.spilled_bytes,
        spans: read.spans,
        call_records: requests.call_records(),
        traces: read.traces,
        requests: context.survey().requests - context.survey().partial,
        services: requests.names().services() as u64,
        operations: requests.names().operations() as u64,
        replicas: requests.names().replicas() as u64,
        formats: facts.formats.clone(),
        replica_identity: requests
            .identities()
            .map(|(source, count)| NamedCount { name: source.name().to_owned(), count })
            .collect(),
        clocks: clocks::clocks(context),
        sampling: sampling::sampling(context),
        losses,
    }
}

/// Statements of the method, then operations that are equally slow on every replica.
fn ruled_out(context: &Context<'_>) -> Vec<String> {
    let mut out = context.answer.ruled_out.clone();
    for suspect in context
        .answer
        .suspects
        .iter()
        .filter(|suspect| suspect.spread == Spread::Everywhere && suspect.replicas.len() > 1)
    {
        out.push(format!(
            "No replica differs from the others for `{}`: {} were compared.",
            context.operation_text(suspect.operation),
            suspect.replicas.len()
        ));
    }
    let waits = waits_for_work_in(&context.requests.within(context.settings.since, context.settings.until));
    if waits > 0 {
        out.push(format!(
            "{waits} blocking {} no requests: they wait until there is work.",
            if waits == 1 { "read of a queue is" } else { "reads of queues are" }
        ));
    }
    out
}

/// The time range of the data, for a window or service without requests.
fn nothing_selected(context: &Context<'_>) -> Option<String> {
    let requests = context.requests;
    if context.survey().requests > 0 || requests.spans() + requests.outside_window() == 0 {
        return None;
    }
    let stored_range = requests.extent().map_or_else(String::new, |(first, last)| {
        format!(" The stored spans start between {} and {}.", rfc3339(first), rfc3339(last))
    });
    let far = match requests.outside_window() {
        0 => String::new(),
        spans => format!(" {spans} spans lie more than an hour outside the window."),
    };
    Some(format!(
        "No request matches --since, --until, --service, --operation, --category and --attribute.{stored_range}{far}"
    ))
}

fn cautions(context: &Context<'_>, input: &Input) -> Vec<String> {
    let mut out: Vec<String> = nothing_selected(context).into_iter().collect();
    if context.requests.thinning_factor() > 1 {
        out.push(format!(
            "Only one trace in {} was retained, to stay within the memory limit; counts are of retained traces.",
            context.requests.thinning_factor()
        ));
    }
    out.extend(context.requests.thinning().map(sampling::thinned));
    sampling::cautions(&input.sampling, &mut out);
    if context.survey().partial > 0 {
        out.push(format!(
            "{} of {} requests are incomplete{}",
            context.survey().partial,
            context.survey().requests,
            match context.answer.uses_incomplete {
                true => ": only their intact calls were compared, and they are not counted.",
                false => " and were left out.",
            }
        ));
    }
    if context.answer.unmeasured_share >= UNMEASURED_SHARE_MIN {
        out.push(missing::not_compared(context.answer.unmeasured_share));
    }
    if context.requests.names().replicas() <= 1 && context.requests.spans() > 0 {
        out.push("The spans name at most one replica, so replicas cannot be compared.".to_owned());
    }
    for suspect in context
        .answer
        .suspects
        .iter()
        .filter(|suspect| suspect.spread == Spread::Undecided && suspect.replicas.len() > 1)
    {
        out.push(format!(
            "Whether particular replicas cause `{}` cannot be decided: {} slow calls on {} replicas are too few.",
            context.operation_text(suspect.operation),
            suspect.excess.calls,
            suspect.replicas.len()
        ));
    }
    out.extend(context.answer.cautions.iter().cloned());
    out
}
