//! Every method over measured and simulated incidents with known truth, as one table.
//!
//! ```text
//! sets (tracebench, Online Boutique, simulator, days) ─► Case ─► Localizer ─► Answer ─► judge ─┐
//! sets (delag) ─► RequestMatrix ─► groups of requests ─► score ──────────────────────────┤
//! sets (executions) ─► ExecutionCase ─► ExecutionAnswer ─► score ────────────────────────┼─► scorecard
//! sets (requests hit) ─► HitCase ─► HitSuspect ─► score ─────────────────────────────────┤
//! sets (tpcw, cpu-demands) ─► Observations ─► changes, demands ─► scores ────────────────┘
//! ```
//!
//! A method is an [`Arm`] from a case without its truth to an answer; [`Family`] runs all arms of one kind of question.
//! Cases are recognized by the layout of a folder and the names of its files, so unseen cases of the same kinds are
//! measured the same way. A new method is one file and one row in the list of its family; Laggard's own come from its
//! registry.

mod arm;
mod calls;
mod case;
mod changes;
mod days;
mod executions;
mod group;
mod hits;
mod judge;
mod measure;
mod methods;
mod patterns;
mod results;
mod run;
mod scorecard;
mod select;
mod sets;

pub use arm::{Arm, Arms, Family, MethodRow, Outcome};
pub use calls::{Call, CaseCalls, NameTable, RequestCalls};
pub use case::{Answer, Case, FirstSuspect, Localizer, OperationName, Question, SlowPeriod, Truth};
pub use changes::{
    ChangeAnswer, ChangeCase, ChangeScore, ChangeTruth, DemandCase, DemandScore, Difference, EstimatedDemand,
    ReportedAlarm, TrueAlarm, change_finders, demand_estimators, pelt, score_changes, score_demands,
};
pub use days::{DaysOptions, overview};
pub use executions::{
    ExecutionAnswer, ExecutionCase, ExecutionScore, ExecutionTruth, ReportedSteps, execution_finders,
    score_executions,
};
pub use hits::{FirstHits, HitCase, HitScore, HitSuspect, HitTruth, InjectedTimes, hit_finders, score_hits};
pub use judge::{Judgment, Miss, Retrieval, judge};
pub use measure::Cost;
pub use methods::{
    FrequentItemsets, Labels, MicroRank, Spectrum, TailLatency, TraceRca, WindowSelfTime, dstar2, jaccard,
    localizers, mine, personalized_page_rank,
};
pub use patterns::{PatternScore, RequestMatrix, pattern_finders, score_patterns};
pub use results::{GroupScore, LocalizerScore, Results};
pub use run::{Options, run};
pub use scorecard::{misses_page, scorecard};
pub use sets::{Alarm, FileTruth, Group, SetKind, Shop, detection, read_traces, tracebench_truth};
