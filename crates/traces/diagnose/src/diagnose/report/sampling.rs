//! What requests stand for, and whether they were chosen for being slow.

use super::context::Context;
use laggard_localize::RequestRow;
use laggard_numeric::effective_sample_size;
use laggard_report::{NamedCount, Sampling};

/// What is known of the sampling.
pub(crate) fn sampling(context: &Context<'_>) -> Sampling {
    let survey = context.survey();
    let rows = || survey.categories.values().flat_map(|category| &category.requests);
    let weights: Vec<f64> = rows().map(|row| f64::from(row.weight)).collect();
    let named = |name: &str, count: u64| NamedCount { name: name.to_owned(), count };
    Sampling {
        requests: weights.len() as u64,
        known_share: survey.weights_told as f64 / weights.len().max(1) as f64,
        weight_min: weights.iter().copied().reduce(f64::min).unwrap_or(1.0),
        weight_max: weights.iter().copied().reduce(f64::max).unwrap_or(1.0),
        requests_estimated: weights.iter().sum(),
        requests_effective: effective_sample_size(&weights),
        sources: context
            .requests
            .weight_sources()
            .map(|(source, spans)| named(source.name(), spans))
            .collect(),
        tail_samplers: (context.requests.tail_samplers())
            .map(|(sampler, spans)| named(sampler.name(), spans))
            .collect(),
    }
}

/// How many requests some requests stand for.
pub(crate) fn estimated<'r>(requests: impl IntoIterator<Item = &'r RequestRow>) -> f64 {
    // A sum of nothing is -0.
    requests.into_iter().fold(0.0, |sum, request| sum + f64::from(request.weight))
}

/// Below this share of the requests the effective sample size is worth a word.
const EFFECTIVE_SHARE: f64 = 0.5;

/// What sampling does to the answer; whole sentences.
pub(crate) fn cautions(sampling: &Sampling, out: &mut Vec<String>) {
    out.extend(tail_based(sampling));
    let untold = sampling.requests as f64 * (1.0 - sampling.known_share);
    if sampling.weight_max > sampling.weight_min && sampling.known_share > 0.0 && untold.round() > 0.0 {
        out.push(format!(
            "{untold:.0} of {} requests do not tell how many they stand for and count as {}, beside others that \
             stand for up to {}.",
            sampling.requests,
            number(sampling.weight_min),
            number(sampling.weight_max)
        ));
    }
    if sampling.requests_effective < EFFECTIVE_SHARE * sampling.requests as f64 {
        out.push(format!(
            "Requests stand for {} to {} each: {} unequal ones tell no more than {:.0} equal ones would.",
            number(sampling.weight_min),
            number(sampling.weight_max),
            sampling.requests,
            sampling.requests_effective
        ));
    }
}

fn tail_based(sampling: &Sampling) -> Option<String> {
    if sampling.tail_samplers.is_empty() {
        return None;
    }
    let marks = sampling.tail_samplers.iter().map(|row| format!("{}: {} spans", row.name, row.count));
    let marks: Vec<String> = marks.collect();
    let consequence = if sampling.requests > 0 && sampling.known_share >= 1.0 {
        "weights are known and taken into account, but what the sampler never keeps is not seen"
    } else {
        "counts, medians and shares are of what was kept, and slow requests are probably kept more often than \
         others"
    };
    Some(format!(
        "Traces were chosen after they were complete (tail-based sampling; {}): {consequence}.",
        marks.join(", ")
    ))
}

/// A weight without digits that say nothing.
fn number(weight: f64) -> String {
    if weight < 100.0 { format!("{}", (weight * 100.0).round() / 100.0) } else { format!("{weight:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(known_share: f64, weight_max: f64, effective: f64) -> Sampling {
        Sampling {
            requests: 100,
            known_share,
            weight_min: 1.0,
            weight_max,
            requests_estimated: 500.0,
            requests_effective: effective,
            sources: vec![],
            tail_samplers: vec![],
        }
    }

    fn said(sampling: &Sampling) -> Vec<String> {
        let mut out = Vec::new();
        cautions(sampling, &mut out);
        out
    }

    #[test]
    fn nothing_is_said_where_nothing_was_sampled_or_all_alike() {
        assert!(said(&known(0.0, 1.0, 100.0)).is_empty());
        assert!(said(&known(1.0, 10.0, 90.0)).is_empty());
        assert!(said(&Sampling::default()).is_empty());
    }

    #[test]
    fn unknown_weights_beside_known_ones_and_very_unequal_ones() {
        let both = said(&known(0.75, 99.994, 12.3));
        assert_eq!(both.len(), 2, "{both:?}");
        assert!(both[0].starts_with("25 of 100 requests do not tell"), "{}", both[0]);
        assert!(both[1].contains("no more than 12 equal ones"), "{}", both[1]);
    }

    #[test]
    fn tail_based_sampling_is_told_whether_weights_are_known_or_not() {
        let tail_samplers = vec![NamedCount { name: "Refinery".to_owned(), count: 7 }];
        let marked = |share| Sampling { tail_samplers: tail_samplers.clone(), ..known(share, 1.0, 100.0) };
        assert!(
            said(&marked(0.0))[0]
                .contains("Refinery: 7 spans): counts, medians and shares are of what was kept")
        );
        assert!(said(&marked(1.0))[0].contains("weights are known"));
    }
}
