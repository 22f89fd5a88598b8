//! The answer of a method, in handles: the report replaces them with names.

use crate::survey::Survey;
use laggard_assembly::ShapeRule;
use laggard_localize::{CategoryCalls, DispersionGate, Excess, ReplicaCell, Site, Spread, SuspectOperation};
use laggard_model::{Fingerprint, OperationId, ReplicaId, TraceId};
use laggard_report::{
    Baseline, BehaviorChange, Between, CulpritReplica, Incident, MatrixRanks, MetRequests, Onset, PcaDetails,
    ReplicaLoad, Shift, SlowCalls, SuspectAttribute,
};

/// The result of the two passes over the requests.
pub(crate) struct SurveyResult {
    /// All categories, with their latencies.
    pub(crate) survey: Survey,
    /// Categories of enough requests, with their calls, by id; at most `rows_max` requests each.
    pub(crate) categories: Vec<CategoryCalls>,
    /// The rule by which requests were grouped into categories.
    pub(crate) rule: ShapeRule,
}

/// The answer of a method.
pub(crate) struct MethodAnswer {
    pub(crate) surveyed: SurveyResult,
    /// The most suspicious first.
    pub(crate) suspects: Vec<Suspect>,
    /// One per surveyed category, in the same order.
    pub(crate) categories: Vec<CategoryAnalysis>,
    /// Total slowdown that suspects' excess is a share of, nanoseconds; NaN if the slowdown as a whole is not measurable.
    pub(crate) excess_ns: f64,
    /// Sentences on what was tested and is normal.
    pub(crate) ruled_out: Vec<String>,
    /// Sentences on what limits trust in this answer in particular.
    pub(crate) cautions: Vec<String>,
    pub(crate) baseline: Option<Baseline>,
    /// Slow periods inside the window.
    pub(crate) incidents: Vec<Incident>,
    /// Clusters, components, and times of replicas of method `pca`.
    pub(crate) pca: Option<PcaDetails>,
    /// Whether intact calls of incomplete requests were compared.
    pub(crate) uses_incomplete: bool,
    /// Share of the time of all calls that is of calls not compared because they may lack a callee whose span was lost, 0 to 1.
    pub(crate) unmeasured_share: f64,
    /// Whether requests outside the analyzed categories were enough for an answer as well.
    pub(crate) enough: bool,
}

impl MethodAnswer {
    /// An answer without suspects.
    pub(crate) fn new(surveyed: SurveyResult) -> MethodAnswer {
        MethodAnswer {
            surveyed,
            suspects: Vec::new(),
            categories: Vec::new(),
            excess_ns: 0.0,
            ruled_out: Vec::new(),
            cautions: Vec::new(),
            baseline: None,
            incidents: Vec::new(),
            pca: None,
            uses_incomplete: false,
            unmeasured_share: 0.0,
            enough: false,
        }
    }
}

/// Kind of evidence against an operation; in the order of the report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Evidence {
    /// Some requests are slower than others of their category.
    Dispersion,
    /// Requests of a latency pattern of their own.
    Pattern,
    /// Slower on some replicas than on their peers.
    Peers,
    /// Slower than in the baseline.
    Baseline,
    /// Slower in a period than in the rest of the window.
    Period,
    /// Slower for requests with one value of an attribute than for others.
    Attribute,
    /// Fails more often.
    Errors,
    /// No longer calls another operation.
    MissingCalls,
    /// A consumer no longer processes its messages while they are looked at.
    UnprocessedMessages,
    /// Calls another operation for the first time.
    NewCalls,
    /// Calls another operation more often.
    MoreCalls,
    /// Only some replicas perform it.
    SomeReplicas,
}

impl Evidence {
    /// The name in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Evidence::Dispersion => "dispersion",
            Evidence::Pattern => "pattern",
            Evidence::Peers => "peers",
            Evidence::Baseline => "baseline",
            Evidence::Period => "period",
            Evidence::Attribute => "attribute",
            Evidence::Errors => "errors",
            Evidence::MissingCalls => "missing-calls",
            Evidence::UnprocessedMessages => "unprocessed-messages",
            Evidence::NewCalls => "new-calls",
            Evidence::MoreCalls => "more-calls",
            Evidence::SomeReplicas => "some-replicas",
        }
    }
}

/// An operation that makes requests slow.
#[derive(Clone, Debug)]
pub(crate) struct Suspect {
    pub(crate) operation: OperationId,
    /// Without duplicates, in order; empty for a method with one kind of evidence.
    pub(crate) evidence: Vec<Evidence>,
    /// Whether particular replicas are culprits.
    pub(crate) spread: Spread,
    /// Culprit replicas, the worst first; empty unless the spread is localized.
    pub(crate) culprits: Vec<ReplicaId>,
    /// Whether there are several culprits, each of which ran after the one before.
    pub(crate) in_succession: bool,
    /// All replicas that were compared.
    pub(crate) replicas: Vec<SuspectReplica>,
    /// Call-tree positions: `(category, position)`, ascending.
    pub(crate) positions: Vec<(usize, u32)>,
    /// Categories with slow requests, ascending.
    pub(crate) categories: Vec<usize>,
    pub(crate) excess: Excess,
    /// Slow requests: `(category, request)`, ascending.
    pub(crate) hit: Vec<(usize, u32)>,
    /// Whether it is slower than its peers, than in the baseline, or than in the rest of the window. Otherwise it may be what
    /// the system does all the time.
    pub(crate) stands_out: bool,
    /// The score of the report.
    pub(crate) score: f64,
    /// The caller and callee between which the time is spent, if it is neither's own.
    pub(crate) between: Option<Between>,
    /// Since when it is slow or fails, if that is known.
    pub(crate) onset: Option<Onset>,
    /// Changes of behavior apart from latency: errors, missing or new calls.
    pub(crate) behavior: Vec<BehaviorChange>,
    /// Results of comparing the suspect's sites, if they were.
    pub(crate) sites: Option<SiteFigures>,
    /// Figures of its hit calls over all requests, if the method determines them.
    pub(crate) hits: Option<HitFigures>,
    /// Attributes that its slow requests have and others do not, the most distinctive first.
    pub(crate) attributes: Vec<SuspectAttribute>,
    /// The load of its culprits, if it is uneven.
    pub(crate) load: Option<ReplicaLoad>,
}

/// An operation on one replica.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SuspectReplica {
    pub(crate) replica: ReplicaId,
    pub(crate) is_culprit: bool,
    pub(crate) calls: u64,
    pub(crate) slow_calls: u64,
    /// Adjusted p-value of its difference from its peers, if it was tested.
    pub(crate) p_value: Option<f64>,
    /// Its contribution to the score of the replica over all operations.
    pub(crate) score: u64,
    /// Sum of its slow calls' excess over the usual time, nanoseconds.
    pub(crate) excess_total_ns: f64,
    /// Median of the same excess, nanoseconds.
    pub(crate) excess_median_ns: f64,
    /// Mean time of its calls over the usual time, if it was measured.
    pub(crate) factor: Option<f64>,
}

/// Results of comparing a suspect's sites.
#[derive(Clone, Debug)]
pub(crate) struct SiteFigures {
    pub(crate) sites: Vec<Site>,
    /// Its culprits against their peers.
    pub(crate) culprits: Vec<CulpritReplica>,
    /// Comparison with the baseline.
    pub(crate) shift: Option<Shift>,
    /// How many of its calls are slow, if that is all that differs from the baseline.
    pub(crate) slow_calls: Option<SlowCalls>,
}

/// Figures of a suspect's hit calls.
#[derive(Clone, Debug)]
pub(crate) struct HitFigures {
    /// Requests with a hit call and requests that called it, over all categories.
    pub(crate) requests: RequestCounts,
    /// Median over the hit requests of the sum of their hit calls' excess over the usual time, nanoseconds.
    pub(crate) request_effect_ns: f64,
    /// Requests that called it, on a culprit where there are any.
    pub(crate) met: Option<MetRequests>,
    /// The slowest traces of hit requests.
    pub(crate) traces: Vec<TraceId>,
    /// Categories with more hits than by chance, by lost time.
    pub(crate) affected: Vec<AffectedCategory>,
    /// The effect of the hit calls in each slow period; `None` without any.
    pub(crate) in_periods: Vec<Option<Effect>>,
    /// Share of the hit calls' excess that is on replicas which had just started, 0..1.
    pub(crate) warming_up: f64,
    /// Whether most calls are hit, by less than single calls vary.
    pub(crate) by_little: bool,
    /// The hit requests: indices into the window's table of sites, ascending.
    pub(crate) hit: Vec<u32>,
    /// Their numbers among all requests that were read.
    pub(crate) numbers: Vec<u32>,
}

/// How much slower hit calls are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effect {
    /// Median of their time beyond the usual, nanoseconds.
    pub(crate) excess_ns: f64,
    /// Median of their time over the usual; infinite where nothing is usual.
    pub(crate) factor: f64,
}

/// A category with hit requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AffectedCategory {
    pub(crate) id: Fingerprint,
    /// Hit requests.
    pub(crate) requests: u64,
    /// Sum of their hit calls' excess over the usual time, weighted, nanoseconds.
    pub(crate) lost_ns: f64,
}

/// Requests of a suspect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestCounts {
    pub(crate) hit: u64,
    /// Weighted by what the requests represent before sampling.
    pub(crate) hit_estimated: f64,
    pub(crate) seen: u64,
}

/// The analysis of one category.
#[derive(Clone, Debug, Default)]
pub(crate) struct CategoryAnalysis {
    /// Statistics of its latencies, and whether it was analyzed and is anomalous.
    pub(crate) gate: DispersionGate,
    /// One per position of the call tree, if the method analyzed positions.
    pub(crate) positions: Option<Vec<PositionAnalysis>>,
    /// Ranks of its decomposed matrix, if the method reports them.
    pub(crate) ranks: Option<MatrixRanks>,
}

/// The analysis of one position.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PositionAnalysis {
    /// Requests that are slow there.
    pub(crate) slow_requests: u64,
    /// Cosine between the times and their low-rank part, where the method has one.
    pub(crate) cosine: Option<f64>,
    /// Share of the slow requests' excess that arises there, 0..1.
    pub(crate) share: f64,
}

impl Suspect {
    /// Adds what another suspect of the same operation does.
    pub(crate) fn add_behavior(&mut self, other: Suspect) {
        self.onset = self.onset.or(other.onset);
        if other.evidence.contains(&Evidence::SomeReplicas) {
            // Replicas that do not perform the operation are its peers as well.
            let known: Vec<ReplicaId> = self.replicas.iter().map(|figures| figures.replica).collect();
            let idle = other.replicas.into_iter().filter(|figures| !known.contains(&figures.replica));
            self.replicas.extend(idle);
            if self.culprits.is_empty() {
                (self.spread, self.culprits) = (other.spread, other.culprits);
            }
        }
        self.behavior.extend(other.behavior);
        self.evidence.extend(other.evidence);
        self.evidence.sort_unstable();
        self.evidence.dedup();
        self.stands_out = true;
    }

    /// A suspect of a published method: ranked by the categories it makes slow.
    pub(crate) fn from_operation(suspect: SuspectOperation, evidence: Vec<Evidence>) -> Suspect {
        Suspect {
            operation: suspect.operation,
            evidence,
            spread: suspect.spread,
            culprits: suspect.replicas,
            replicas: suspect.cells.iter().map(SuspectReplica::from_cell).collect(),
            positions: suspect.positions,
            score: suspect.categories.len() as f64,
            categories: suspect.categories,
            excess: suspect.excess,
            hit: suspect.hit,
            stands_out: true,
            between: None,
            onset: None,
            behavior: Vec::new(),
            sites: None,
            hits: None,
            attributes: Vec::new(),
            load: None,
            in_succession: false,
        }
    }
}

impl SuspectReplica {
    fn from_cell(cell: &ReplicaCell) -> SuspectReplica {
        SuspectReplica {
            replica: cell.test.replica,
            is_culprit: cell.culprit,
            calls: cell.test.calls,
            slow_calls: cell.test.exceeding,
            p_value: Some(cell.test.p_adjusted),
            score: cell.categories,
            excess_total_ns: cell.excess_total_ns,
            excess_median_ns: cell.excess_median_ns,
            factor: Some(cell.factor_mean),
        }
    }
}
