//! What is missing when there is too little data for an answer.

use super::context::Context;

/// Sentences about what is needed, the most basic first.
pub(crate) fn missing(context: &Context<'_>) -> Vec<String> {
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
    let mut out = vec![];
    if survey.partial == survey.requests {
        out.push(format!("No request is complete: spans of each of the {} are missing.", survey.requests));
    }
    out.extend(largest_category(context));
    if requests.names().replicas() <= 1 {
        out.push(
            "No replica identity: the spans name at most one replica. Set `service.instance.id` (or a pod, \
             container or host name), or replicas cannot be compared."
                .to_owned(),
        );
    }
    out
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
