//! The default: all available evidence, merged into one list of suspects.
//!
//! ```text
//! CloudDiag ── some requests are slower than others of their shape ─┐
//! patterns ─── some requests share operations that are slow ────────┤
//! peers ────── some replicas are slower than others ────────────────┤  merge by operation, rank by
//! baseline ─── slower than before ──────────────────────────────────┤  time on the critical path
//! periods ──── slower than in the rest of the window ───────────────┘
//! ```

mod dispersion;
mod incidents;
mod merge;
mod patterns;
mod site_study;
mod sites;

use crate::diagnose::answer::{MethodAnswer, Suspect};
use crate::diagnose::methods::published::clouddiag;
use crate::diagnose::plural::counted;
use crate::diagnose::question::{DiagnoseMethod, DiagnoseQuestion};
use laggard_localize::cloud_diag;
use laggard_model::MethodRow;
use laggard_report::{Baseline, Window, rfc3339};
use site_study::SiteStudy;
use std::collections::BTreeSet;

pub(crate) const ROW: MethodRow<DiagnoseMethod> = MethodRow {
    method: DiagnoseMethod::new("combined", true, diagnose),
    name: "combined",
    question: "Which operations on which replicas make requests slow, since when, and against what?",
    reads: "spans or call logs; optionally a baseline",
    source: "this project, from published methods",
    manual: "docs/manual/methods/combined.md",
};

fn diagnose(question: &DiagnoseQuestion<'_>) -> MethodAnswer {
    let settings = &question.settings.clouddiag;
    let surveyed = question.survey(settings.requests_min);
    let cloud_diag = cloud_diag(&surveyed.categories, settings, question.engine.threads());
    let study = SiteStudy::new(question);
    let mut ruled_out = clouddiag::ruled_out(question, &surveyed, &cloud_diag);
    let mut cautions = clouddiag::cautions(&cloud_diag);
    cautions.extend(small_baseline(&study, question));
    cautions.extend(requests_left_out(&study));

    let dispersed = dispersion::suspects(cloud_diag.suspects);
    let patterned = patterns::suspects(&surveyed.categories, &question.settings.patterns, question.engine);
    let evidence = merge::evidence_by_operation(&dispersed, &patterned, &study);
    let (suspects, unchanged) =
        dispersion::without_unchanged(first_of_each(dispersed, patterned), question, &study);
    ruled_out.extend(unchanged.iter().map(|suspect| {
        let operation = study.operation_text(suspect.operation);
        format!("Some calls of `{operation}` are slow, but no more than in the baseline.")
    }));
    let suspects = (suspects.into_iter())
        .map(|suspect| dispersion::with_frequent_culprits(suspect, &question.settings.sites.culprits))
        .map(|suspect| Suspect { between: sites::link_of(&study, suspect.operation), ..suspect })
        .collect();
    let suspects = merge::merge_evidence(suspects, sites::suspects(question, &surveyed, &study), evidence);
    ruled_out.extend(study.standing.iter().map(|&operation| {
        let operation = study.operation_text(operation);
        format!("Replicas of `{operation}` differ, but they did so in the baseline as well.")
    }));

    let excess_ns = study.change.map_or(cloud_diag.excess_ns, |change| change.slower_ns.max(0.0));
    let largest = suspects.iter().map(|suspect| suspect.excess.total_ns).fold(0.0, f64::max);
    MethodAnswer {
        categories: cloud_diag.categories.iter().map(clouddiag::category_analysis).collect(),
        excess_ns: excess_ns.max(largest),
        suspects,
        ruled_out,
        cautions,
        baseline: baseline(&study),
        incidents: incidents::incidents(&study),
        enough: study.window.requests.len() >= question.settings.sites.culprits.observations_min,
        ..MethodAnswer::new(surveyed)
    }
}

/// CloudDiag's suspects, then pattern suspects of other operations: CloudDiag's are more detailed.
fn first_of_each(dispersed: Vec<Suspect>, patterned: Vec<Suspect>) -> Vec<Suspect> {
    let known: BTreeSet<_> = dispersed.iter().map(|suspect| suspect.operation).collect();
    let others = patterned.into_iter().filter(|suspect| !known.contains(&suspect.operation));
    dispersed.into_iter().chain(others).collect()
}

fn small_baseline(study: &SiteStudy, question: &DiagnoseQuestion<'_>) -> Option<String> {
    let requests = study.baseline.as_ref()?.requests.len();
    let needed = question.settings.sites.change.requests_min;
    (requests < needed).then(|| {
        format!(
            "The baseline has {}; {needed} are needed to compare.",
            counted(requests, "request", "requests")
        )
    })
}

fn requests_left_out(study: &SiteStudy) -> Option<String> {
    (study.left_out > 0).then(|| {
        format!(
            "{} in slow periods outside the window {} left out of the baseline.",
            counted(study.left_out, "request", "requests"),
            if study.left_out == 1 { "was" } else { "were" }
        )
    })
}

fn baseline(study: &SiteStudy) -> Option<Baseline> {
    let (table, change) = (study.baseline.as_ref()?, study.change?);
    let window = table.requests.first().zip(table.requests.last()).map(|(first, last)| Window {
        since_ns: first.start.unix_ns(),
        until_ns: last.start.unix_ns(),
        since: rfc3339(first.start),
        until: rfc3339(last.start),
    });
    Some(Baseline {
        requests: table.requests.len() as u64,
        window,
        mean_ns: change.baseline_mean_ns,
        window_mean_ns: change.window_mean_ns,
        slower_ns: change.slower_mean_ns,
        mix_ns: change.mix_mean_ns,
    })
}
