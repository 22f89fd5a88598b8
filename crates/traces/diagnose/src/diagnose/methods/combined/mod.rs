//! The default: all available evidence, merged into one list of suspects.
//!
//! ```text
//! CloudDiag ── some requests are slower than others of their shape ─┐
//! patterns ─── some requests share operations that are slow ────────┤
//! peers ────── some replicas are slower than others ────────────────┤  merge by operation, rank by
//! baseline ─── slower than before ──────────────────────────────────┤  time on the critical path
//! periods ──── slower than in the rest of the window ───────────────┤
//! attributes ─ slower for some tenants, versions, zones ────────────┤
//! failures ─── fails or stops early more often than before ─────────┤
//! some ─────── performed by some replicas only ─────────────────────┘
//! ```

pub(crate) mod attributes;
mod clocks;
mod dispersion;
mod errors_alone;
mod failures;
mod hits;
mod incidents;
mod load;
mod measured;
mod merge;
mod patterns;
mod reference;
mod site_study;
mod sites;
mod slow_periods;
mod slow_replicas;
mod some_replicas;

use crate::diagnose::answer::{Evidence, MethodAnswer, SurveyResult, Suspect};
use crate::diagnose::methods::published::clouddiag;
use crate::diagnose::plural::counted;
use crate::diagnose::question::{DiagnoseMethod, DiagnoseQuestion};
use failures::OutcomeStudy;
use laggard_localize::{
    CloudDiag, FirstCalls, LatencyChange, Spread, are_steadily_slower, cloud_diag_with_small, is_concentrated,
};
use laggard_model::{MethodRow, ReplicaId, Timestamp};
use laggard_report::{Baseline, WidespreadSlowdown, Window};
use measured::measured_categories;
use site_study::SiteStudy;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

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
    let study = SiteStudy::new(question);
    // The smallest categories count as well: they are judged with similar ones.
    let surveyed = question.survey(1);
    let measured = measured_categories(&surveyed, &study, question);
    let cloud_diag = cloud_diag_with_small(&measured, settings, question.engine.threads());
    let mut ruled_out: Vec<String> = clouddiag::ruled_out(&cloud_diag).into_iter().collect();
    ruled_out.extend(small_categories(question, &surveyed, &cloud_diag));
    let mut cautions = clouddiag::cautions(&cloud_diag);
    cautions.extend(small_baseline(&study, question).into_iter().chain(requests_left_out(&study)));

    let dispersed = dispersion::suspects(cloud_diag.suspects);
    let patterned = patterns::suspects(&measured, &question.settings.patterns, question.engine);
    let evidence = merge::evidence_by_operation(&dispersed, &patterned, &study);
    let found = first_of_each(dispersed, patterned);
    let (found, unchanged) = dispersion::without_unchanged(found, question, &study);
    ruled_out.extend(unchanged.iter().map(|suspect| unchanged_text(&study, suspect)));
    let found = (found.into_iter())
        .map(|suspect| dispersion::with_frequent_culprits(suspect, &question.settings.sites.culprits))
        .map(|suspect| Suspect { between: sites::link_of(&study, suspect.operation), ..suspect })
        .collect();
    let mut suspects = merge::merge_evidence(found, sites::suspects(question, &surveyed, &study), evidence);
    for suspect in &mut suspects {
        // When slow calls are frequent on every replica, none differs from the others.
        if suspect.sites.is_none() && suspect.culprits.len() >= suspect.replicas.len().max(2) {
            *suspect = on_all_replicas(suspect);
        }
        suspect.stands_out = stands_out(suspect, &surveyed, &study, question);
    }
    ruled_out.extend(study.standing.iter().map(|&operation| {
        let operation = study.operation_text(operation);
        format!("Replicas of `{operation}` differ, but they did so in the baseline as well.")
    }));

    // A mean that varies as usual measures nothing: then suspects are compared with each other only.
    let measured = |change: LatencyChange| if change.is_unusual { change.slower_ns.max(0.0) } else { 0.0 };
    let excess_ns = study.change.map_or(cloud_diag.excess_ns, measured);
    let is_measured = study.change.is_none_or(|change| change.is_unusual);
    let excess_ns = suspects.iter().map(|suspect| suspect.excess.total_ns).fold(excess_ns, f64::max);
    drop_small(&mut suspects, question.settings.sites.share_min * excess_ns);
    order(&mut suspects, &study);
    let mut suspects = with_hits(&suspects, question, &surveyed, &study);
    ruled_out.extend(without_levels(&mut suspects, question, &study));
    ruled_out.extend(without_cold_starts(&mut suspects, &study));
    let outcomes = OutcomeStudy::new(question, &surveyed, &study);
    let failures = failures::find(&outcomes);
    let mut suspects = failures::join(suspects, failures, &surveyed);
    attributes::name_attributes(&mut suspects, &study, &question.settings.sites);
    cautions
        .extend(incidents::unnamed(&study, &suspects).into_iter().chain(outcomes.frequent_errors(&suspects)));
    suspects.iter_mut().for_each(|suspect| sites::describe_culprits(&study, suspect));
    load::set_loads(&mut suspects, &outcomes);
    let excess_ns = suspects.iter().map(|suspect| suspect.excess.total_ns).fold(excess_ns, f64::max);
    MethodAnswer {
        categories: cloud_diag.categories.iter().map(clouddiag::category_analysis).collect(),
        excess_ns: if is_measured { excess_ns } else { f64::NAN },
        ruled_out,
        cautions,
        baseline: baseline(question, &study, &suspects),
        incidents: incidents::incidents(&study, &suspects),
        suspects,
        uses_incomplete: study.uses_incomplete(),
        unmeasured_share: study.unmeasured_share(),
        enough: study.window.requests.len() >= question.settings.sites.culprits.observations_min,
        ..MethodAnswer::new(surveyed)
    }
}

fn unchanged_text(study: &SiteStudy, suspect: &Suspect) -> String {
    let operation = study.operation_text(suspect.operation);
    format!("Some calls of `{operation}` are slow, but no more than in the baseline.")
}

/// Those that stand out first, then the largest excess; of a slowdown of most operations, what is beyond it counts. Calls
/// between the same two services count together: one slow link slows all of them.
fn order(suspects: &mut [Suspect], study: &SiteStudy) {
    let beyond = |suspect: &Suspect| {
        let factor = suspect.excess.median_factor;
        suspect.excess.total_ns * study.widespread.map_or(1.0, |slowdown| slowdown.share_beyond(factor))
    };
    let mut by_link: BTreeMap<(bool, String, String), f64> = BTreeMap::new();
    for suspect in suspects.iter() {
        if let Some(link) = services_linked(suspect) {
            *by_link.entry(link).or_default() += beyond(suspect);
        }
    }
    let with_link =
        |suspect: &Suspect| services_linked(suspect).map_or_else(|| beyond(suspect), |link| by_link[&link]);
    suspects.sort_by(|a, b| {
        (b.stands_out.cmp(&a.stands_out))
            .then(with_link(b).total_cmp(&with_link(a)))
            .then(beyond(b).total_cmp(&beyond(a)))
            .then_with(|| study.operation_text(a.operation).cmp(&study.operation_text(b.operation)))
    });
}

/// Removes suspects with less than this excess; those with the same single culprit count together.
fn drop_small(suspects: &mut Vec<Suspect>, excess_min_ns: f64) {
    let machines = excess_by_machine(suspects);
    let together = |suspect: &Suspect| only_culprit(suspect).map_or(0.0, |replica| machines[&replica]);
    suspects.retain(|suspect| suspect.excess.total_ns.max(together(suspect)) >= excess_min_ns);
}

/// The excess of all suspects with the same single culprit: a slow machine slows each of its operations a little.
fn excess_by_machine(suspects: &[Suspect]) -> BTreeMap<ReplicaId, f64> {
    let mut sums: BTreeMap<ReplicaId, f64> = BTreeMap::new();
    for suspect in suspects {
        if let Some(replica) = only_culprit(suspect) {
            *sums.entry(replica).or_default() += suspect.excess.total_ns;
        }
    }
    sums
}

fn only_culprit(suspect: &Suspect) -> Option<ReplicaId> {
    match suspect.culprits.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

/// Whether the suspect stands out, and the services of caller and callee, if it is found at their link.
fn services_linked(suspect: &Suspect) -> Option<(bool, String, String)> {
    suspect.sites.as_ref()?;
    let between = suspect.between.as_ref()?;
    Some((suspect.stands_out, between.caller_service.clone(), between.callee_service.clone()))
}

/// Suspects with the figures of their hit calls. What makes hardly any request slow is no suspect: the mean of calls with two
/// modes moves with their shares.
fn with_hits(
    suspects: &[Suspect],
    question: &DiagnoseQuestion<'_>,
    surveyed: &SurveyResult,
    study: &SiteStudy,
) -> Vec<Suspect> {
    if suspects.is_empty() {
        return Vec::new();
    }
    let first_calls = FirstCalls::new(&study.window, study.baseline.as_ref(), question.engine.threads());
    let hits =
        hits::HitStudy { question, surveyed, study, first_calls, earlier_first_calls: OnceLock::new() };
    let hit_min = question.settings.sites.change.hit_min as u64;
    let has_enough =
        |suspect: &Suspect| suspect.hits.as_ref().is_none_or(|hits| hits.requests.hit >= hit_min);
    let mut suspects = question.engine.map(suspects, |suspect| {
        let found = hits.with_hits(suspect.clone());
        let is_slower = suspect.evidence.contains(&Evidence::Baseline) && !suspect.culprits.is_empty();
        // What is slower than in the baseline is slow, whatever another finder says about replicas.
        if has_enough(&found) || !is_slower { found } else { hits.with_hits(on_all_replicas(suspect)) }
    });
    suspects.retain(has_enough);
    suspects
}

/// The suspect without its culprits.
fn on_all_replicas(suspect: &Suspect) -> Suspect {
    let mut suspect = Suspect { culprits: Vec::new(), spread: Spread::Everywhere, ..suspect.clone() };
    suspect.replicas.iter_mut().for_each(|replica| replica.is_culprit = false);
    suspect
}

/// Removes suspects that a comparison with a baseline has to judge; returns a sentence for each.
fn without_levels(
    suspects: &mut Vec<Suspect>,
    question: &DiagnoseQuestion<'_>,
    study: &SiteStudy,
) -> Vec<String> {
    let is_compared = study.is_compared(question);
    let levels = suspects.extract_if(.., |suspect| is_compared && differs_in_level_only(suspect));
    levels.map(|suspect| unchanged_text(study, &suspect)).collect()
}

/// Whether some requests are slower than others of their kind only because most calls take a little longer than in the baseline:
/// the comparison with the baseline knows how much such levels vary, and did not find it.
fn differs_in_level_only(suspect: &Suspect) -> bool {
    let is_of_requests = |kind: &Evidence| matches!(kind, Evidence::Dispersion | Evidence::Pattern);
    (suspect.culprits.is_empty() || suspect.replicas.len() < 2)
        && suspect.evidence.iter().all(is_of_requests)
        && suspect.hits.as_ref().is_some_and(|hits| hits.by_little)
}

/// A suspect is a cold start if replicas that had just started have this share of its hit calls' excess.
const COLD_START_SHARE: f64 = 0.5;

/// Removes suspects that are cold starts; returns a sentence for each.
fn without_cold_starts(suspects: &mut Vec<Suspect>, study: &SiteStudy) -> Vec<String> {
    let is_cold_start =
        |suspect: &Suspect| suspect.hits.as_ref().is_some_and(|hits| hits.warming_up >= COLD_START_SHARE);
    let cold_starts = suspects.extract_if(.., |suspect| is_cold_start(suspect));
    cold_starts
        .map(|suspect| {
            let operation = study.operation_text(suspect.operation);
            format!("Calls of `{operation}` are slow on replicas that had just started.")
        })
        .collect()
}

/// Whether a suspect is slower than it should be: than its peers, its past, or the rest of the window. Slow requests that
/// come all the time, on every replica alike, may be what the system always does. In a comparison with a baseline, what
/// is as usual was left out before. Tenants differ by nature, versions and zones of one service should not.
fn stands_out(
    suspect: &Suspect,
    surveyed: &SurveyResult,
    study: &SiteStudy,
    question: &DiagnoseQuestion<'_>,
) -> bool {
    let compares = |kind: &Evidence| matches!(kind, Evidence::Peers | Evidence::Baseline | Evidence::Period);
    let is_slower = study.is_compared(question)
        || suspect.evidence.iter().any(compares)
        || (suspect.spread == Spread::Localized && differs_steadily(suspect, study))
        || attributes::differs_by_service(study, suspect.operation)
        || is_concentrated(&slow_in_order(suspect, surveyed));
    is_slower && !clocks::may_explain(suspect, study, question)
}

/// Whether the suspect's culprits are slower than the other replicas throughout the window.
fn differs_steadily(suspect: &Suspect, study: &SiteStudy) -> bool {
    let factor = suspect.excess.median_factor.max(1.0).sqrt();
    are_steadily_slower(&study.window, suspect.operation, &suspect.culprits, factor)
}

/// Whether each request of the suspect's categories is slow, in order of start.
fn slow_in_order(suspect: &Suspect, surveyed: &SurveyResult) -> Vec<bool> {
    let hit: BTreeSet<(usize, u32)> = suspect.hit.iter().copied().collect();
    let mut requests: Vec<(Timestamp, bool)> = (suspect.categories.iter())
        .flat_map(|&category| {
            let rows = surveyed.categories[category].requests.iter().enumerate();
            let hit = &hit;
            rows.map(move |(row, request)| (request.start, hit.contains(&(category, row as u32))))
        })
        .collect();
    requests.sort_by_key(|&(start, _)| start);
    requests.into_iter().map(|(_, slow)| slow).collect()
}

/// CloudDiag's suspects, then pattern suspects of other operations: CloudDiag's are more detailed.
fn first_of_each(dispersed: Vec<Suspect>, patterned: Vec<Suspect>) -> Vec<Suspect> {
    let known: BTreeSet<_> = dispersed.iter().map(|suspect| suspect.operation).collect();
    let others = patterned.into_iter().filter(|suspect| !known.contains(&suspect.operation));
    dispersed.into_iter().chain(others).collect()
}

/// Categories with few requests: those that were judged with similar ones, and those whose dispersion was not judged.
fn small_categories(
    question: &DiagnoseQuestion<'_>,
    surveyed: &SurveyResult,
    cloud_diag: &CloudDiag,
) -> Vec<String> {
    let fewest = question.settings.clouddiag.requests_min;
    let count = |judged: bool| {
        let small = surveyed.categories.iter().zip(&cloud_diag.categories).filter(|(category, finding)| {
            (category.requests.len() as u64) < fewest && finding.gate.judged == judged
        });
        small.fold((0, 0), |(categories, requests), (category, _)| {
            (categories + 1, requests + category.requests.len())
        })
    };
    let text = |(categories, requests): (usize, usize)| {
        format!(
            "{} ({} in total)",
            counted(categories, "category", "categories"),
            counted(requests, "request", "requests")
        )
    };
    let (joined, alone) = (count(true), count(false));
    let joined = (joined.0 > 0).then(|| {
        format!(
            "With fewer than {fewest} requests each, judged by the calls that they share with a similar category: {}.",
            text(joined)
        )
    });
    let alone = (alone.0 > 0).then(|| {
        format!(
            "Too few requests to judge the dispersion of their latencies, and not joined to a similar category: {}.",
            text(alone)
        )
    });
    joined.into_iter().chain(alone).collect()
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

/// Suspects explain a slowdown if they have at least this part of it.
const EXPLAINED_PART_MIN: f64 = 0.5;

/// What no suspect explains of the time that requests take longer, nanoseconds per request, if it is most of it and requests are
/// certainly slower. The time that callers wait for failed calls or repeat them is not measured, so that failures explain all.
fn unexplained_ns(change: &LatencyChange, suspects: &[Suspect]) -> Option<f64> {
    if !change.is_certain || suspects.iter().any(|suspect| !suspect.behavior.is_empty()) {
        return None;
    }
    let explained: f64 = suspects.iter().map(|suspect| suspect.excess.total_ns).sum();
    let part = explained / change.slower_ns;
    (part < EXPLAINED_PART_MIN).then_some((1.0 - part) * change.slower_mean_ns)
}

fn baseline(question: &DiagnoseQuestion<'_>, study: &SiteStudy, suspects: &[Suspect]) -> Option<Baseline> {
    let (table, change) = (study.baseline.as_ref()?, study.change?);
    let window = table
        .requests
        .first()
        .zip(table.requests.last())
        .map(|(first, last)| Window { since: first.start, until: last.start });
    Some(Baseline {
        requests: study.baseline_requests as u64,
        spans: study.baseline_spans(question),
        window,
        mean_ns: change.baseline_mean_ns,
        window_mean_ns: change.window_mean_ns,
        slower_ns: change.slower_mean_ns,
        mix_ns: change.mix_mean_ns,
        unexplained_ns: unexplained_ns(&change, suspects),
        widespread_slowdown: study.widespread.map(|slowdown| WidespreadSlowdown {
            slower: slowdown.slower as u64,
            compared: slowdown.compared as u64,
            factor: slowdown.factor,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significantly_slower_requests_without_suspects_are_unexplained() {
        let change = |is_certain| LatencyChange {
            slower_ns: 8e9,
            slower_mean_ns: 8e6,
            is_certain,
            ..LatencyChange::default()
        };
        assert_eq!(unexplained_ns(&change(true), &[]), Some(8e6));
        assert_eq!(unexplained_ns(&change(false), &[]), None);
    }
}
