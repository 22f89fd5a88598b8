//! Questions about traces: which operations on which replicas make requests slow (`diagnose`), and what differs
//! between two sets of requests (`compare`).
//!
//! ```text
//! Requests ─ survey fold ─► categories with latencies ─ gather ─► request matrices ─ localize ─► Report
//! ```

mod attribute_filter;
mod call_collector;
mod call_gaps;
mod compare;
mod diagnose;
mod lost_calls;
mod outcome_fold;
mod population;
mod selection;
mod site_calls;
mod site_fold;
mod subject;
mod survey;
mod versions;

pub use attribute_filter::AttributeFilter;
pub use call_collector::CallCollector;
pub use compare::{
    CategorySummary, CompareSettings, ComparedPopulation, OperationSummary, PathNode, PathTimes, PathTrie,
    PopulationFold, PopulationSummary, ReplicaSummary, Sample, compare,
};
pub use diagnose::{BaselineChoice, DiagnoseMethod, DiagnoseSettings, METHODS, diagnose, diagnose_with_hits};
pub use population::{HandleMap, Population, Selected, UnionNames};
pub use selection::RequestSelection;
pub use site_fold::SiteFold;
pub use subject::{Subject, SubjectCall, service_calls, subject_calls};
pub use survey::{Survey, SurveyFold, SurveyedCategory};
