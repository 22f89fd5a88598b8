//! Every method over measured and simulated incidents with known truth, as one table.
//!
//! ```text
//! sets (tracebench, Online Boutique, simulator) ─► Case ─► Localizer ─► Answer ─► judge ─► Judgment ─┐
//! sets (delag) ─► RequestMatrix ─► PatternFinder ─► patterns ─► F1 ───────────────────────────────────┤
//! sets (executions) ─► ExecutionCase ─► ExecutionFinder ─► ExecutionAnswer ─► score ────────────────────┤
//! sets (tpcw, cpu-demands) ─► ChangeCase, DemandCase ─► ChangeFinder, DemandEstimator ─► scores ──────┴─► scorecard
//! ```
//!
//! Cases are found by the layout of a folder and the names of its files, so unseen cases of the same kinds are
//! measured the same way. A new method is one file and one row in [`localizers`] or [`pattern_finders`];
//! Laggard's own come from its registry.

mod calls;
mod case;
mod changes;
mod executions;
mod judge;
mod measure;
mod methods;
mod patterns;
mod run;
mod scorecard;
mod select;
mod sets;

pub use calls::{Call, CaseCalls, NameTable, RequestCalls};
pub use case::{Answer, BaselineUse, Case, Decision, Localizer, OperationName, Question, SlowPeriod, Truth};
pub use changes::{
    ChangeAnswer, ChangeCase, ChangeFinder, ChangeScore, ChangeTruth, DemandCase, DemandEstimator,
    DemandScore, Difference, EstimatedDemand, ReportedAlarm, TrueAlarm, change_finders, demand_estimators,
    pelt, score_changes, score_demands,
};
pub use executions::{
    ExecutionAnswer, ExecutionCase, ExecutionFinder, ExecutionScore, ExecutionTruth, ReportedSteps,
    execution_finders, score_executions,
};
pub use judge::{Judgment, Miss, Retrieval, judge};
pub use measure::Cost;
pub use methods::{
    FrequentItemsets, Labels, MicroRank, Spectrum, TailLatency, TraceRca, WindowSelfTime, dstar2, jaccard,
    laggard_report, localizers, mine, personalized_page_rank,
};
pub use patterns::{PatternFinder, PatternScore, RequestMatrix, pattern_finders, score_patterns};
pub use run::{
    ChangeOutcome, DemandOutcome, ExecutionOutcome, MethodRow, Options, Outcome, PatternOutcome, Results, run,
};
pub use scorecard::scorecard;
pub use sets::{Alarm, FileTruth, Group, SetKind, detection, tracebench_truth};
