//! Reasons for the verdict "not enough data": which kind of data is missing.

use super::context::Context;
use laggard_model::Loss;

/// Sentences about what is needed, the most basic first. `enough` says whether there were enough complete requests.
pub(crate) fn missing(context: &Context<'_>, enough: bool) -> Vec<String> {
    let (requests, survey) = (context.requests, context.survey());
    if requests.spans() == 0 {
        return vec![match requests.outside_window() {
            0 => "No span was read.".to_owned(),
            _ => "No span lies inside the requested window (--since, --until).".to_owned(),
        }];
    }
    if survey.requests == 0 {
        return vec![
            "No request is inside the requested window (--since, --until) or enters at the requested service \
             (--service)."
                .to_owned(),
        ];
    }
    let mut out: Vec<String> = unexplained(context).into_iter().chain(holes(context)).collect();
    if !enough {
        out.extend(largest_category(context));
    }
    if requests.names().replicas() <= 1 {
        out.push(
            "No replica identity: the spans name at most one replica. Set `service.instance.id` (or a pod, \
             container or host name), or replicas cannot be compared."
                .to_owned(),
        );
    }
    out
}

/// That requests are slower and nothing explains it.
pub(crate) fn unexplained(context: &Context<'_>) -> Option<String> {
    context.answer.baseline.as_ref()?.unexplained_ns?;
    Some(
        "An operation that explains why requests take longer: more requests, such as a longer window or less sampling, or a \
         longer baseline may show it."
            .to_owned(),
    )
}

/// Losses that cut off a part of the input.
const DAMAGES: [Loss; 4] =
    [Loss::TruncatedInput, Loss::CorruptCompression, Loss::CorruptSegment, Loss::CorruptLog];
/// With more than this share of incomplete requests, those that are left say too little about the others.
const PARTIAL_SHARE_MAX: f64 = 0.5;

/// What is missing from the input itself, so that nothing being slow in the rest does not make it healthy.
pub(crate) fn holes(context: &Context<'_>) -> Vec<String> {
    let (requests, survey) = (context.requests, context.survey());
    let losses = requests.losses();
    let damage = DAMAGES.into_iter().filter(|&damage| losses.count(damage) > 0);
    let mut out: Vec<String> = damage
        .map(|damage| format!("The input is damaged: {} {}.", losses.count(damage), damage.phrase()))
        .collect();
    if survey.partial > 0 && survey.partial as f64 > PARTIAL_SHARE_MAX * survey.requests as f64 {
        out.push(format!(
            "Spans are missing: {} of {} requests are incomplete{}",
            survey.partial,
            survey.requests,
            if context.answer.uses_incomplete { "." } else { " and were left out." }
        ));
    }
    let unmeasured = context.answer.unmeasured_share;
    if unmeasured > PARTIAL_SHARE_MAX {
        out.push(not_compared(unmeasured));
    }
    out
}

/// That calls may lack callees whose spans were lost; `share` is theirs of the time of all calls.
pub(crate) fn not_compared(share: f64) -> String {
    format!(
        "Spans are lost: calls that take {:.0} % of the time may lack a callee, and were not compared.",
        100.0 * share
    )
}

fn largest_category(context: &Context<'_>) -> Option<String> {
    let needed = context.settings.clouddiag.requests_min;
    let categories = context.survey().categories.values();
    let largest = categories.map(|category| category.requests.len() as u64).max()?;
    if largest < needed {
        let all: usize = context.survey().categories.values().map(|category| category.requests.len()).sum();
        let spread = match context.survey().categories.len() {
            1 => String::new(),
            shapes => format!(" ({all} complete requests have {shapes} different call trees)"),
        };
        return Some(format!(
            "The largest category has {largest} {}; {needed} are needed (--set requests-min){spread}.",
            if largest == 1 { "request" } else { "requests" }
        ));
    }
    // There are enough requests, but by their weights the effective number is too small.
    let gates = context.answer.categories.iter().map(|category| category.gate.effective_requests);
    let effective = gates.fold(0.0, f64::max);
    Some(format!(
        "The largest category's requests have weights so unequal that they are worth no more than {effective:.1} \
         of equal weight; {needed} are needed (--set requests-min)."
    ))
}
