//! Weights of sampled requests, and tail-based sampling.

use super::context::Context;
use laggard_engine::Thinning;
use laggard_localize::RequestRow;
use laggard_numeric::effective_sample_size;
use laggard_report::{NamedCount, Sampling};

/// Statistics of the weights.
pub(crate) fn sampling(context: &Context<'_>) -> Sampling {
    let survey = context.survey();
    let rows = || survey.categories.values().flat_map(|category| &category.requests);
    let weights: Vec<f64> = rows().map(|row| f64::from(row.weight)).collect();
    let named = |name: &str, count: u64| NamedCount { name: name.to_owned(), count };
    Sampling {
        requests: weights.len() as u64,
        known_share: survey.weights_known as f64 / weights.len().max(1) as f64,
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

/// How requests were selected from more than fit in memory.
pub(crate) fn thinned(thinning: &Thinning) -> String {
    let Thinning { all, selected, one_in_most, .. } = thinning;
    format!(
        "Only {} of {} requests, with {} of {} calls, were compared, to stay within the limit of calls: of frequent kinds of \
         requests one in 2 to {one_in_most}, selected by a hash of each; rare kinds are complete. Counts are of those that were \
         compared.",
        selected.requests, all.requests, selected.calls, all.calls
    )
}

/// Sum of weights.
pub(crate) fn estimated<'r>(requests: impl IntoIterator<Item = &'r RequestRow>) -> f64 {
    // A sum of nothing is -0.
    requests.into_iter().fold(0.0, |sum, request| sum + f64::from(request.weight))
}

/// Below this share of the requests the effective sample size is reported.
const EFFECTIVE_SHARE: f64 = 0.5;

/// Effects of sampling on the answer; sentences.
pub(crate) fn cautions(sampling: &Sampling, out: &mut Vec<String>) {
    out.extend(tail_based(sampling));
    let unknown = sampling.requests as f64 * (1.0 - sampling.known_share);
    if sampling.weight_max > sampling.weight_min && sampling.known_share > 0.0 && unknown.round() > 0.0 {
        out.push(format!(
            "{unknown:.0} of {} requests have no known weight and count as {}, beside others with weights up to \
             {}.",
            sampling.requests,
            number(sampling.weight_min),
            number(sampling.weight_max)
        ));
    }
    if sampling.requests_effective < EFFECTIVE_SHARE * sampling.requests as f64 {
        out.push(format!(
            "Weights of requests are between {} and {}: {} requests are worth no more than {:.0} of equal weight.",
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
        "weights are known and taken into account, but requests that the sampler always drops are missing"
    } else {
        "counts, medians and shares are of sampled requests, and slow requests are probably sampled more often than \
         others"
    };
    Some(format!(
        "Traces were sampled after they were complete (tail-based sampling; {}): {consequence}.",
        marks.join(", ")
    ))
}

/// A weight with at most two decimals.
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

    fn sentences(sampling: &Sampling) -> Vec<String> {
        let mut out = Vec::new();
        cautions(sampling, &mut out);
        out
    }

    #[test]
    fn equal_weights_need_no_caution() {
        assert!(sentences(&known(0.0, 1.0, 100.0)).is_empty());
        assert!(sentences(&known(1.0, 10.0, 90.0)).is_empty());
        assert!(sentences(&Sampling::default()).is_empty());
    }

    #[test]
    fn unknown_weights_beside_known_ones_and_very_unequal_ones() {
        let cautions = sentences(&known(0.75, 99.994, 12.3));
        assert_eq!(cautions.len(), 2, "{cautions:?}");
        assert!(cautions[0].starts_with("25 of 100 requests have no known weight"), "{}", cautions[0]);
        assert!(cautions[1].contains("no more than 12 of equal weight"), "{}", cautions[1]);
    }

    #[test]
    fn tail_based_sampling_is_reported_with_or_without_known_weights() {
        let tail_samplers = vec![NamedCount { name: "Refinery".to_owned(), count: 7 }];
        let marked = |share| Sampling { tail_samplers: tail_samplers.clone(), ..known(share, 1.0, 100.0) };
        assert!(
            sentences(&marked(0.0))[0]
                .contains("Refinery: 7 spans): counts, medians and shares are of sampled requests")
        );
        assert!(sentences(&marked(1.0))[0].contains("weights are known"));
    }
}
