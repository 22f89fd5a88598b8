//! The input of a report on traces: files, spans, and losses.

use crate::numbers;
use laggard_model::Losses;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

/// The input.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Input {
    /// Inputs read.
    pub files: u64,
    /// Bytes read, before decompression.
    pub bytes: u64,
    /// Bytes that were written to a temporary file meanwhile, because the spans did not fit in memory; left out if none were.
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(required = false)]
    pub spilled_bytes: u64,
    /// Spans read (call-log inputs: calls rebuilt); if the baseline is part of the same input, those of requests that start
    /// in the window.
    pub spans: u64,
    /// Call-log records read.
    pub call_records: u64,
    /// Traces of these spans.
    pub traces: u64,
    /// Complete requests inside the window; incomplete ones are among the losses.
    pub requests: u64,
    /// Distinct services, operations and replicas.
    pub services: u64,
    /// Distinct operations.
    pub operations: u64,
    /// Distinct replicas.
    pub replicas: u64,
    /// Formats recognized, with the number of inputs of each.
    pub formats: Vec<NamedCount>,
    /// Sources of replica names, with the number of spans each named.
    pub replica_identity: Vec<NamedCount>,
    /// Agreement of the clocks of hosts that called each other, bounded by the calls between them.
    pub clocks: Clocks,
    /// How many requests the sampled ones represent.
    pub sampling: Sampling,
    /// Losses, repairs, and mistrusted records: one field per cause that occurred.
    #[serde(serialize_with = "losses")]
    #[schema(value_type = std::collections::BTreeMap<String, LossRow>)]
    pub losses: Losses,
}

/// A name with a count.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct NamedCount {
    /// The attribute, or the field of the trace state.
    pub name: String,
    /// How many.
    pub count: u64,
}

/// How many requests the complete ones represent. A request's weight (OpenTelemetry's adjusted count) is the reciprocal
/// of the probability with which it was sampled; 1 where that is not known.
#[derive(Clone, PartialEq, Debug, Default, Serialize, ToSchema)]
pub struct Sampling {
    /// Complete requests read.
    pub requests: u64,
    /// Share of them that carry their weight, 0..1.
    pub known_share: f64,
    /// The smallest weight; 1 where none is known.
    pub weight_min: f64,
    /// The largest weight.
    pub weight_max: f64,
    /// Sum of all weights: how many requests there were, by estimate.
    pub requests_estimated: f64,
    /// Effective sample size: how many requests of equal weight would carry as much information.
    pub requests_effective: f64,
    /// Where weights come from, with the number of spans of each source.
    pub sources: Vec<NamedCount>,
    /// Tail-based samplers that left their mark, with the number of spans that bear it.
    pub tail_samplers: Vec<NamedCount>,
}

/// Agreement of the clocks of hosts that called each other, bounded by the calls between them.
#[derive(Clone, PartialEq, Debug, Default, Serialize, ToSchema)]
pub struct Clocks {
    /// Pairs of hosts with at least one synchronous call between them.
    pub pairs: u64,
    /// Pairs whose calls are consistent with equal clocks.
    pub agreeing_pairs: u64,
    /// The largest disagreement that the calls prove, in nanoseconds (a lower bound).
    pub max_proven_skew_ns: u64,
    /// The pair that proves it: caller and callee replica.
    pub worst_pair: Option<[String; 2]>,
    /// Over the agreeing pairs, the largest skew their calls leave possible (an upper bound).
    pub max_possible_skew_ns: u64,
}

/// How often something was lost, repaired, or doubtful.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct LossRow {
    /// Occurrences.
    pub count: u64,
    /// The first occurrence; may be empty.
    pub example: String,
}

pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What was written to a temporary file, as a further sentence; nothing if nothing was.
pub(crate) fn spilled(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        bytes => format!(
            " The spans did not fit in memory: {} were written to a temporary file meanwhile.",
            numbers::bytes(bytes)
        ),
    }
}

/// `{"cause": {"count": n, "example": "..."}}`
pub(crate) fn losses<S: Serializer>(losses: &Losses, serializer: S) -> Result<S::Ok, S::Error> {
    let row = |loss: &laggard_model::LossCount| LossRow { count: loss.count, example: loss.example.clone() };
    serializer.collect_map(losses.iter().map(|(loss, found)| (loss.name(), row(found))))
}
