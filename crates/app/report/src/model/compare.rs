//! The comparison of two sets of requests. Field names and meanings are schema version 1.

use crate::{Input, Setting, Window};
use serde::Serialize;
use utoipa::ToSchema;

/// Version of the comparison's JSON schema. Fields may be added within a version; none is removed or changes
/// meaning.
pub const COMPARISON_SCHEMA_VERSION: u32 = 1;

/// Differences between two sets of requests, *before* and *after*.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Always `comparison`: which report this is.
    pub kind: &'static str,
    /// The answer in one word.
    pub verdict: ComparisonVerdict,
    /// The answer in one sentence.
    pub headline: String,
    /// The first set.
    pub before: ComparedSet,
    /// The second set.
    pub after: ComparedSet,
    /// The change of the mean latency over all requests, in parts; `None` when a set has no complete request.
    pub latency: Option<LatencyChange>,
    /// The same for every operation that requests enter at, the most requests first.
    pub entries: Vec<EntryChange>,
    /// Every operation: those that changed first, by the size of what they add to a request.
    pub operations: Vec<OperationChange>,
    /// Call-tree shapes that are new, have vanished, or whose share changed; the most requests first.
    pub shapes: Vec<ShapeChange>,
    /// Shapes in both sets together, changed or not.
    pub shapes_seen: u64,
    /// All call paths of both sets, in depth-first pre-order: the differential call tree.
    pub paths: Vec<PathChange>,
    /// Parts that are alike, or could not be tested; whole sentences.
    pub ruled_out: Vec<String>,
    /// Limitations of the answer; whole sentences.
    pub cautions: Vec<String>,
    /// Every setting used.
    pub settings: Vec<Setting>,
}

/// The answer in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonVerdict {
    /// Requests or operations take longer than before.
    Slower,
    /// They take less time than before.
    Faster,
    /// Something else differs: call trees, calls per request, the mix, or times in both directions.
    Changed,
    /// There was enough data, and no difference beyond chance.
    Unchanged,
    /// There was too little data to say.
    InsufficientData,
}

/// One of the two sets.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ComparedSet {
    /// Its source, or its window.
    pub label: String,
    /// The time its complete requests cover.
    pub window: Option<Window>,
    /// The input and its losses. `requests` counts those that are compared: complete ones in the window.
    pub input: Input,
}

/// The change of a mean latency. The four parts sum to the total.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, ToSchema)]
pub struct LatencyChange {
    /// Mean latency before, nanoseconds.
    pub before_ns: f64,
    /// Mean latency after.
    pub after_ns: f64,
    /// After minus before.
    pub total: LatencyPart,
    /// Requests with the same call tree take longer.
    pub same_requests: LatencyPart,
    /// Other requests came: shares of call trees that are in both sets moved.
    pub mix: LatencyPart,
    /// Call trees that are only after.
    pub new_shapes: LatencyPart,
    /// Call trees that are only before.
    pub vanished_shapes: LatencyPart,
}

/// A part of a change of mean latency, with its 95 % interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, ToSchema)]
pub struct LatencyPart {
    /// Nanoseconds of mean latency.
    pub change_ns: f64,
    /// Lower end of the 95 % interval.
    pub low_ns: f64,
    /// Upper end.
    pub high_ns: f64,
    /// Two-sided p-value of no change.
    pub p_value: f64,
}

/// The change of requests that enter at one operation.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EntryChange {
    /// Service.
    pub service: String,
    /// Operation.
    pub operation: String,
    /// Complete requests before.
    pub requests_before: u64,
    /// Complete requests after.
    pub requests_after: u64,
    /// Their mean latency; `None` when one of the sets has none.
    pub latency: Option<LatencyChange>,
    /// Whether requests of the same call trees take longer or less time, beyond chance (Benjamini–Hochberg over all entries) and by
    /// `change-min`.
    pub change: Change,
}

/// Change of something that is in both sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Takes longer.
    Slower,
    /// Takes less time.
    Faster,
    /// Is called more often by the requests that call it.
    MoreCalls,
    /// Is called less often by the requests that call it.
    FewerCalls,
    /// Only after, beyond chance.
    New,
    /// Only before, beyond chance.
    Vanished,
    /// No difference beyond chance.
    None,
}

/// One operation before and after.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OperationChange {
    /// Service.
    pub service: String,
    /// Operation.
    pub operation: String,
    /// Span kind, empty when not given.
    pub kind: String,
    /// How it changed.
    pub change: Change,
    /// Figures before.
    pub before: OperationFigures,
    /// Figures after.
    pub after: OperationFigures,
    /// Change of its self time in a request, the mean over all requests of the set, nanoseconds.
    pub change_per_request_ns: f64,
    /// Self time per call, tested among requests of the same kind; `None` when there is nothing to compare.
    pub time: Option<MeasuredShift>,
    /// Calls per request that calls it, tested among requests with the same entry.
    pub calls: Option<MeasuredShift>,
    /// Replicas with enough requests in both sets to be compared with themselves.
    pub replicas_compared: u64,
    /// Those whose time per call changed beyond chance, the largest part of the change first.
    pub replicas: Vec<ReplicaChange>,
    /// Attributes whose requests changed while the others did not, the largest change first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<AttributeChange>,
}

/// Requests with one value of an attribute at one operation, before and after.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct AttributeChange {
    /// `version`, `zone`, `tenant`, `account`, or the configured name.
    pub key: String,
    /// Value.
    pub value: String,
    /// The service that it describes; missing for an attribute of the request itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// `slower` or `faster`.
    pub change: Change,
    /// Requests with it that were compared, before.
    pub compared_before: u64,
    /// The same after.
    pub compared_after: u64,
    /// Share of their calls that moved, 0..1.
    pub moved_share: f64,
    /// Median difference of the calls that moved, after minus before, among requests of the same kind, nanoseconds.
    pub shift_ns: f64,
    /// Median time per call before, nanoseconds.
    pub median_before_ns: f64,
    /// Two-sided p-value of the rank test, after Benjamini–Hochberg over all values at all operations.
    pub p_value: f64,
}

/// One operation on one replica, compared with itself.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ReplicaChange {
    /// The replica.
    pub replica: String,
    /// `slower` or `faster`.
    pub change: Change,
    /// Its calls before.
    pub calls_before: u64,
    /// Its calls after.
    pub calls_after: u64,
    /// Its share of the operation's calls after, 0..1.
    pub calls_share: f64,
    /// Share of its calls that moved, 0..1.
    pub moved_share: f64,
    /// Median difference of the calls that moved, after minus before, among requests of the same kind, nanoseconds.
    pub shift_ns: f64,
    /// Median time per call before, nanoseconds.
    pub median_before_ns: f64,
    /// Two-sided p-value of the rank test, after Benjamini–Hochberg over all replicas of all operations.
    pub p_value: f64,
}

/// Counts and means of one operation in one set.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, ToSchema)]
pub struct OperationFigures {
    /// Requests that call it.
    pub requests: u64,
    /// Calls.
    pub calls: u64,
    /// Mean self time of a call, nanoseconds.
    pub self_per_call_ns: f64,
    /// Mean self time in a request that calls it, nanoseconds.
    pub self_per_request_ns: f64,
    /// Mean calls of a request that calls it.
    pub calls_per_request: f64,
}

/// A tested difference.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, ToSchema)]
pub struct MeasuredShift {
    /// Median before of the requests that were compared; nanoseconds or calls.
    pub median_before: f64,
    /// Median after.
    pub median_after: f64,
    /// Median difference of two requests of the same kind, after minus before.
    pub shift: f64,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Median ratio of two requests of the same kind, after over before.
    pub ratio: Option<f64>,
    /// Chance that a request after exceeds one before, ties as one half.
    pub effect: f64,
    /// Two-sided p-value of the rank test, after Benjamini–Hochberg over all operations.
    pub p_value: f64,
    /// `category` or `entry`: which requests count as of the same kind.
    pub compared_within: &'static str,
    /// Whether it is beyond chance and large enough to be called a change.
    pub significant: bool,
}

/// Change of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShapeFate {
    /// Only after.
    New,
    /// Only before.
    Vanished,
    /// A larger share of the requests.
    Grown,
    /// A smaller share.
    Shrunk,
}

/// A call-tree shape that is not as frequent as before.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ShapeChange {
    /// The category's stable id.
    pub id: String,
    /// The entry's service.
    pub service: String,
    /// The entry's operation.
    pub operation: String,
    /// How it changed.
    pub fate: ShapeFate,
    /// Its requests before.
    pub requests_before: u64,
    /// Its requests after.
    pub requests_after: u64,
    /// Mean latency before, nanoseconds; `None` when it is not there.
    pub latency_before_ns: Option<f64>,
    /// Mean latency after.
    pub latency_after_ns: Option<f64>,
    /// Fisher's exact test of its share, after Benjamini–Hochberg over all shapes.
    pub p_value: f64,
    /// Whether that is beyond chance.
    pub significant: bool,
    /// The shape of the other set that has most paths in common; only for new and vanished shapes.
    pub nearest: Option<String>,
    /// Common paths over all paths of the two, 0..1.
    pub similarity: Option<f64>,
    /// Differences from the nearest.
    pub differences: Vec<ShapeDifference>,
    /// Example traces.
    pub trace_ids: Vec<String>,
}

/// One difference between a shape and the nearest of the other set.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ShapeDifference {
    /// Operations from the entry to the call, each `service operation`.
    pub path: Vec<String>,
    /// Calls per request before; 0 when the call was added.
    pub calls_before: f64,
    /// Calls per request after; 0 when it is gone.
    pub calls_after: f64,
}

/// One call path before and after.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PathChange {
    /// Position of the caller in the list; `None` for an entry.
    pub parent: Option<u32>,
    /// Service; empty for pooled calls.
    pub service: String,
    /// Operation; `(other)` for calls that had no room of their own.
    pub operation: String,
    /// Span kind, empty when not given.
    pub kind: String,
    /// Figures before.
    pub before: PathFigures,
    /// Figures after.
    pub after: PathFigures,
    /// Share of the change of all self time per request that arises here, signed; `None` when that change is
    /// below a hundredth.
    pub share: Option<f64>,
    /// Rank test of the self time per call or, of a path in one set only, Fisher's exact test of the requests
    /// that have it; after Benjamini–Hochberg over all paths. `None` for pooled calls.
    pub p_value: Option<f64>,
    /// How it changed: by this test or, if the path moved the same way, by that of its operation.
    pub change: Change,
}

/// One call path in one set.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, ToSchema)]
pub struct PathFigures {
    /// Requests that have it.
    pub requests: u64,
    /// Calls.
    pub calls: u64,
    /// Self time here in a request that enters at the same operation, mean, nanoseconds.
    pub self_ns: f64,
    /// The same with everything called from here.
    pub tree_ns: f64,
    /// Median self time of a call, to about 3 %.
    pub self_p50_ns: u64,
}
