//! The report of `diagnose` as data.

use crate::instants::instants;
use crate::{
    AutomaticBaseline, Baseline, Between, Cause, Clause, Input, MatrixRanks, MetRequests, PcaDetails,
    ReplicaLoad,
};
use crate::{SuspectEvent, SystemEvent};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Version of the JSON schema. Fields may be added within a version; none is removed or changes meaning.
pub const SCHEMA_VERSION: u32 = 2;

/// The answer to one question over one input.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The verdict in one word.
    pub verdict: Verdict,
    /// The answer in a sentence or two; names stand in backticks.
    pub headline: String,
    /// Name of the method that gave it (`laggard methods`).
    pub method: String,
    /// The method's mode: `robust` or `paper`.
    pub mode: String,
    /// The time the data cover, or the requested window.
    pub window: Option<Window>,
    /// The input and its losses.
    pub input: Input,
    /// Request categories, the most requests first: at most 2,000, and those that were tested.
    pub categories: Vec<Category>,
    /// Number of further categories, if not all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub categories_omitted: Option<u64>,
    /// Operations that make requests slow, the most suspicious first.
    pub suspects: Vec<Suspect>,
    /// The class of cause that the evidence supports, with the verdict `suspects`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The verdict `suspects` in single statements, as in an incident of `laggard serve`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clauses: Vec<Clause>,
    /// Replicas that stand out from their peers over all operations, the most suspicious first.
    pub replicas: Vec<ReplicaSuspect>,
    /// Findings without a problem, and tests that were not possible, with the reason; whole sentences.
    pub ruled_out: Vec<String>,
    /// Limitations of the answer; whole sentences.
    pub cautions: Vec<String>,
    /// The baseline of the comparison, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// The baseline that a server chose because the question named none; absent if it named one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automatic_baseline: Option<AutomaticBaseline>,
    /// Periods inside the window in which requests were slower than in the rest of it, in order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incidents: Vec<Incident>,
    /// Deployments and other changes of the system in the window or shortly before it, in order of time; at most 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<SystemEvent>,
    /// With the verdict `insufficient-data`: what would have been needed; whole sentences, the most basic first.
    pub missing: Vec<String>,
    /// Mean excess self time by operation (rows) and replica (columns), for the suspects and a few of their
    /// neighbors.
    pub heat_map: Option<ReplicaHeatMap>,
    /// Latencies of requests that a suspect hit and of those none did.
    pub latency: Option<LatencySplit>,
    /// With method `pca`: clusters, components, and times of replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pca: Option<PcaDetails>,
    /// Every setting used, so that the run can be repeated.
    pub settings: Vec<Setting>,
}

/// The answer in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// At least one operation is slower than it should be.
    Suspects,
    /// Some requests are slower than others, and suspects explain them, but nothing shows that this is new.
    Tail,
    /// There was enough data, and nothing stands out.
    Healthy,
    /// There was too little intact data to say.
    InsufficientData,
}

instants! {
    /// A span of time; both ends as nanoseconds since the Unix epoch and as RFC 3339 text.
    pub struct Window {
        /// Its start: of the earliest request, unless the object that holds it says otherwise.
        pub since,
        /// Its end: the start of the latest request, unless the object that holds it says otherwise.
        pub until,
    }

    /// When something began, as nanoseconds since the Unix epoch and as RFC 3339 text.
    pub struct Onset {
        /// The most likely time, in nanoseconds since the Unix epoch.
        pub at,
        /// Start of the 95 % interval.
        pub earliest,
        /// Its end.
        pub latest,
    }
}

/// A request category: requests with the same call tree.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Category {
    /// Stable id: twelve hexadecimal digits.
    pub id: String,
    /// The entry's service.
    pub service: String,
    /// The entry's operation.
    pub operation: String,
    /// Complete requests.
    pub requests: u64,
    /// How many requests these represent: the sum of their weights.
    pub requests_estimated: f64,
    /// Coefficient of variation of the latency.
    pub cv: f64,
    /// Whether the dispersion or the tail gate selected it.
    pub anomalous: bool,
    /// Whether it had enough requests to be tested.
    pub analyzed: bool,
    /// Median latency.
    pub latency_p50_ns: u64,
    /// 99th percentile of the latency (nearest rank).
    pub latency_p99_ns: u64,
    /// Requests beyond the tail gate's limit.
    pub tail_requests: u64,
    /// Share of the category's total latency that tail requests spend beyond the median, 0..1.
    pub tail_excess_share: f64,
    /// With method `clouddiag`: ranks of the request matrix and its parts, if it was decomposed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<MatrixRanks>,
    /// The call tree in depth-first pre-order; only for categories that hold a suspect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tree: Vec<TreeNode>,
}

/// One position of a category's call tree.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TreeNode {
    /// Position of the parent; `None` for the entry.
    pub parent: Option<u32>,
    /// Service.
    pub service: String,
    /// Operation.
    pub operation: String,
    /// Median self time over the category's requests.
    pub self_p50_ns: u64,
    /// 99th percentile of the self time.
    pub self_p99_ns: u64,
    /// Mean number of calls at this position per request (1 unless it is a loop).
    pub calls_mean: f64,
    /// Rank of the suspect found here, if any.
    pub suspect: Option<u32>,
    /// Requests of the category that are slow here.
    pub slow_requests: u64,
    /// Cosine between the position's times and their low-rank part, 0..1; small means suspicious.
    pub cosine: Option<f64>,
    /// Share of the slow requests' excess latency that arises here, 0..1.
    pub share: Option<f64>,
}

/// An operation that makes requests slow.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Suspect {
    /// 1 is the most suspicious.
    pub rank: u32,
    /// Service.
    pub service: String,
    /// Operation.
    pub operation: String,
    /// Span kind, empty when not given.
    pub kind: String,
    /// `replicas`: some replicas stand out; `all`: none does, or there is only one.
    pub scope: Scope,
    /// Those replicas, the worst first; with scope `all` the only replica that ran it, or empty if there are several.
    pub replicas: Vec<String>,
    /// Replicas that ran it at all; 0 when not known.
    pub replicas_seen: u64,
    /// With scope `replicas`: whether these are several, each of which ran after the one before, so that one at a time is slow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_succession: bool,
    /// With scope `all`: whether there was too little to say that no replica stands out.
    pub scope_undecided: bool,
    /// Whether it is slower than its peers, than in the baseline, or than in the rest of the window; else it may be usual.
    pub stands_out: bool,
    /// What suspects are ordered by, those that stand out first; larger is more suspicious. Method `combined`: seconds of excess
    /// time; of operations that only fail or return early, seconds that the requests they hit took, and these precede the
    /// suspects that they explain. Other methods: number of anomalous categories in which the operation is flagged.
    pub score: f64,
    /// Median over the slow calls of their time beyond the usual time of such calls, in nanoseconds of self time. Method
    /// `combined`: a call is slow when it takes longer than normal calls of its category at a false discovery rate of 2 % (5 %
    /// where at least 100 are slow), or when all calls of its replica, or since the onset, are slower than normal ones.
    pub effect_ns: u64,
    /// Median over the hit requests of the sum of their slow calls' time beyond the usual, in nanoseconds.
    pub request_effect_ns: u64,
    /// Median over the slow calls of their time over the usual time.
    pub factor: f64,
    /// Share of all slow requests' excess latency that this operation explains, 0..1; all shares sum to at most 1. NaN (null)
    /// where the mean latency of requests is not unusual compared with the baseline's, so that there is no excess to measure.
    pub share: f64,
    /// Requests with a slow call of it; for an operation that only fails or makes other calls, those in which it does.
    pub requests_hit: u64,
    /// How many requests these represent: the sum of their weights.
    pub requests_hit_estimated: f64,
    /// Requests that called it at all.
    pub requests_seen: u64,
    /// The requests that met it, where calls were compared: method `combined`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub met: Option<MetRequests>,
    /// Ids of the analyzed categories in which it made more requests slow than by chance.
    pub categories: Vec<String>,
    /// All categories in which it made more requests slow than by chance, the most lost time first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub affected: Vec<AffectedCategory>,
    /// Call-tree positions it was flagged at.
    pub positions: Vec<Position>,
    /// The slowest example traces, at most five.
    pub trace_ids: Vec<String>,
    /// Where the time is spent, if not simply in the operation's own work: in the call from one operation to
    /// another (network, queueing, and the caller's work around the call).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<Between>,
    /// What it does that it did not do before, or that other replicas do not do, apart from taking longer: it fails, no longer
    /// calls other operations, calls them for the first time or more often, or only some replicas perform it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behavior: Vec<BehaviorChange>,
    /// What speaks against it: `dispersion` (some requests are slower than others of their kind), `pattern`
    /// (some are slow in the same way, apart from the others), `peers` (some replicas are slower than others),
    /// `baseline` (slower than in the baseline), `period` (slower in some periods than in the rest of the window), `attribute`
    /// (slower for requests with one value of an attribute than for others), `errors` (fails more often), `missing-calls` (no
    /// longer makes calls: it returns early), `unprocessed-messages` (it has not processed messages to it, or not yet),
    /// `new-calls` and `more-calls` (calls other operations for the first time, or more often), `some-replicas` (only some
    /// replicas perform it, although the others run its callers).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// How much slower each culprit replica is than its peers, where they were compared; the strongest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub culprits: Vec<CulpritReplica>,
    /// How it compares with the baseline, or with the rest of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shift: Option<Shift>,
    /// How many of its calls are slow, if that is all that differs from the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_calls: Option<SlowCalls>,
    /// Since when it is slow or fails, if that lies inside the window and the data say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub onset: Option<Onset>,
    /// Changes of its service or of one that it calls that fit its onset; the nearest first, at most five.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<SuspectEvent>,
    /// Attributes that the requests hit have and others do not, or whose requests are slower there; the most
    /// distinctive first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<SuspectAttribute>,
    /// That its `replicas` receive an uneven share of its calls, if they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<ReplicaLoad>,
}

/// An attribute of the requests that a suspect hits, compared with the other requests that call it.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct SuspectAttribute {
    /// `version`, `zone`, `route`, `tenant`, `account`, or the configured name.
    pub key: String,
    /// Value.
    pub value: String,
    /// The service that it describes; missing for an attribute of the request itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Requests hit that have it.
    pub requests_hit: u64,
    /// Requests that call the operation and have it.
    pub requests: u64,
    /// Share of the requests hit that have it, 0..1.
    pub hit_share: f64,
    /// Share of all requests that call the operation that have it, 0..1.
    pub share: f64,
    /// Time that requests with it spend there over the time of the others, where it was compared; else missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// p-value adjusted over all tested values.
    pub p_value: f64,
}

/// A category in which a suspect made requests slow.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct AffectedCategory {
    /// The category's id.
    pub category: String,
    /// Its requests with a slow call of the suspect.
    pub requests_hit: u64,
    /// Sum of these calls' time beyond the usual, weighted, in nanoseconds; 0 for failures and changed calls.
    pub lost_ns: u64,
}

/// How an operation behaves differently, apart from the time it takes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct BehaviorChange {
    /// `errors`, `missing-calls`, `unprocessed-messages`, `new-calls`, `more-calls` or `some-replicas`; in alerts also
    /// `missing-requests`, `uneven-requests`, and `interrupted-replica`.
    pub kind: String,
    /// The operations that it calls less or more often, the largest difference first; of `unprocessed-messages` the one that sends
    /// them; empty for errors and `some-replicas`.
    pub callees: Vec<Callee>,
    /// Share of its calls that fail by themselves, or that call the first callee; for `more-calls`, calls of the first callee
    /// per call; for `unprocessed-messages`, the share of messages that it processed; for `some-replicas`, the share of its callers' calls on the suspect's replicas that perform it; for
    /// `missing-requests`, the requests that enter at the service, as a share of the usual ones.
    pub rate: f64,
    /// The same in the baseline, or on the other replicas.
    pub usual_rate: f64,
    /// Whether `usual_rate` is that of the other replicas.
    pub is_against_peers: bool,
    /// p-value of the difference, adjusted over everything compared (Benjamini–Hochberg).
    pub p_value: f64,
    /// Its calls that were counted; for `some-replicas`, its callers' calls.
    pub calls: u64,
}

/// An operation that is called.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Callee {
    /// Service.
    pub service: String,
    /// Operation.
    pub operation: String,
}

/// A replica against its peers.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct CulpritReplica {
    /// The replica's name.
    pub replica: String,
    /// Time of its calls over that of calls in which no culprit took part; `null` when only it runs the operation.
    pub factor: f64,
    /// Lower end of the 95 % interval.
    pub factor_low: f64,
    /// Upper end.
    pub factor_high: f64,
    /// p-value, adjusted over the replicas compared (Benjamini–Hochberg).
    pub p_value: f64,
    /// Its observations in which no other culprit took part.
    pub observations: u64,
}

/// Time of a call now over the time of such calls before.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, ToSchema)]
pub struct Shift {
    /// Time of a call over the time of such calls before; `null` when it was never called before.
    pub factor: f64,
    /// Lower end of its 95 % interval.
    pub factor_low: f64,
    /// Upper end.
    pub factor_high: f64,
    /// p-value of "slower than before", adjusted over everything compared (Benjamini–Hochberg).
    pub p_value: f64,
    /// Calls before.
    pub baseline_calls: u64,
}

/// Shares of calls that are slow: that take longer than nearly all calls before.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, ToSchema)]
pub struct SlowCalls {
    /// In the window, 0 to 1.
    pub share: f64,
    /// Before, 0 to 1.
    pub usual_share: f64,
    /// p-value of "at least twice as many as before", adjusted over everything compared (Benjamini–Hochberg).
    pub p_value: f64,
}

/// A period in which requests were slower than in the rest of the window: from the start of its first slow minute (or
/// longer bin) to the end of its last one.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Incident {
    /// From the start of its first slow minute (or longer bin) to the end of its last one.
    #[serde(flatten)]
    pub time: Window,
    /// The largest excess of a bin over the usual latency of the requests concerned; 1 is twice as long.
    pub excess_share: f64,
    /// When it began, more closely, if the data say so.
    pub onset: Option<Onset>,
    /// Its suspects, the most excess first; at most five.
    pub suspects: Vec<IncidentSuspect>,
}

/// A suspect of an incident.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct IncidentSuspect {
    /// Service to blame.
    pub service: String,
    /// Operation to blame.
    pub operation: String,
    /// Where the time was spent, if not in the operation's own work.
    pub between: Option<Between>,
    /// Time of a call over the time outside incidents; `null` for operations never called there.
    pub factor: f64,
    /// Mean time of a call beyond that, nanoseconds.
    pub effect_ns: u64,
    /// Share of the incident's excess, 0..1.
    pub share: f64,
}

/// A position in a category's call tree.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Position {
    /// The category's id.
    pub category: String,
    /// Index into the category's `tree`.
    pub position: u32,
    /// Operations from the entry to here, each `service operation`.
    pub path: Vec<String>,
}

/// Whether particular replicas are to blame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Some replicas stand out.
    Replicas,
    /// None does: the operation is slow everywhere it runs (or runs on one replica only).
    All,
}

/// A replica that stands out from its peers.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReplicaSuspect {
    /// 1 is the most suspicious.
    pub rank: u32,
    /// The replica's name.
    pub replica: String,
    /// The service it serves; the one with the largest score when there are several.
    pub service: String,
    /// Number of (category, operation) pairs in which it is implicated. Larger is more suspicious.
    pub score: f64,
    /// Median over its slow calls of their time beyond the usual, in nanoseconds of self time.
    pub effect_ns: u64,
    /// The smallest adjusted p-value over its operations; `None` where none was tested.
    pub p_value: Option<f64>,
    /// Slow calls of the implicated operations on it, as for the suspects.
    pub slow_calls: u64,
    /// All its calls of those operations.
    pub calls: u64,
    /// Its implicated operations, `service operation`.
    pub operations: Vec<String>,
}

/// Mean excess self time by operation (rows) and replica (columns).
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReplicaHeatMap {
    /// Row names, `service operation`.
    pub operations: Vec<String>,
    /// Column names.
    pub replicas: Vec<String>,
    /// Replicas that had no room in the map.
    pub replicas_omitted: u64,
    /// Row-major cells; `None` where the replica never ran the operation.
    pub cells: Vec<Option<ReplicaHeatCell>>,
}

/// One cell of a [`ReplicaHeatMap`].
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct ReplicaHeatCell {
    /// Calls.
    pub calls: u64,
    /// Slow calls, as for the suspects.
    pub slow: u64,
    /// Geometric mean of self times over the operation's usual self time; 1 is usual, `None` where it was not measured.
    pub factor: Option<f64>,
    /// Whether the replica test flagged this cell.
    pub flagged: bool,
}

/// Two latency histograms over common bins.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct LatencySplit {
    /// Bin edges in nanoseconds, growing; one more than bins, evenly spaced in the logarithm.
    pub edges_ns: Vec<f64>,
    /// Requests per bin that a suspect made slow.
    pub hit: Vec<u64>,
    /// Requests per bin that none did.
    pub unhit: Vec<u64>,
}

/// A setting used.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Setting {
    /// The command-line flag without dashes.
    pub name: String,
    /// Its value as text.
    pub value: String,
}
