//! How well the requests that were hit, and the effects, agree with the injected times.

use super::{distinct, mean_wall_s, of_group};
use crate::arm::{Family, Outcome};
use crate::hits::{FirstHits, HitScore};
use crate::sets::SetKind;
use std::fmt::Write;

const HEADER: &str = "
| cases | right | named | precision: mean | least | recall: mean | least | effect per call: least | most | effect per request: least | most | any suspect: precision | recall | wall s |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
";

/// A row a group.
pub(super) fn hit_table(out: &mut String, family: &Family<HitScore>, set: SetKind) {
    let all = family.in_set(set);
    out.push_str(HEADER);
    for group in distinct(&all) {
        row(out, &group.name, &of_group(&all, group));
    }
    row(out, "**all**", &all);
}

fn row(out: &mut String, title: &str, outcomes: &[&Outcome<HitScore>]) {
    let first: Vec<FirstHits> = outcomes.iter().filter_map(|outcome| outcome.score.first).collect();
    let figures = |figure: fn(&FirstHits) -> f64| first.iter().map(figure).collect::<Vec<f64>>();
    let (precision, recall) = (figures(|first| first.precision), figures(|first| first.recall));
    let (call, request) = (figures(|first| first.call_effect), figures(|first| first.request_effect));
    let any = |figure: fn(&HitScore) -> f64| {
        outcomes.iter().map(|outcome| figure(&outcome.score)).collect::<Vec<f64>>()
    };
    let right = outcomes.iter().filter(|outcome| outcome.score.is_right()).count();
    let mut cells =
        vec![format!("{right}/{}", outcomes.len()), format!("{}/{}", first.len(), outcomes.len())];
    cells.extend([mean(&precision), least(&precision), mean(&recall), least(&recall)]);
    cells.extend([least(&call), most(&call), least(&request), most(&request)]);
    cells.extend([mean(&any(|score| score.precision_any)), mean(&any(|score| score.recall_any))]);
    let _ = writeln!(out, "| {title} | {} | {:.2} |", cells.join(" | "), mean_wall_s(outcomes));
}

/// Expected and got, where precision, recall, or an effect is wrong.
pub(super) fn hit_miss(score: &HitScore) -> Option<(String, String)> {
    let expected = "precision and recall of at least 0.95, effects within 10 %".to_owned();
    let got = match score.first {
        None => format!("the operation is not among the suspects: {}", score.suspects),
        Some(first) => format!(
            "precision {:.3}, recall {:.3}, effect per call {:.2} times the injected, per request {:.2} times",
            first.precision, first.recall, first.call_effect, first.request_effect
        ),
    };
    (!score.is_right()).then_some((expected, got))
}

fn text(value: f64) -> String {
    if value.is_finite() { format!("{value:.3}") } else { "–".to_owned() }
}

fn mean(values: &[f64]) -> String {
    text(values.iter().sum::<f64>() / values.len() as f64)
}

fn least(values: &[f64]) -> String {
    text(values.iter().copied().fold(f64::INFINITY, f64::min))
}

fn most(values: &[f64]) -> String {
    text(values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}
