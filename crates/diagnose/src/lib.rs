//! One file per question: scan, fold, pure function, report.
//!
//! ```text
//! Traces ─ survey fold ─► categories with latencies ─ gather fold ─► request matrices ─ localize ─► Report
//! ```

mod compare;
mod gather;
mod methods;
mod operations;
mod population;
mod replicas;
mod settings_table;
mod slow;
mod survey;
mod views;

pub use compare::{
    CategorySummary, CompareSettings, CompareSettingsError, ComparedPopulation, OperationSummary, PathNode,
    PathTimes, PathTrie, PopulationFold, PopulationSummary, Sample, compare,
};
pub use gather::GatherFold;
pub use methods::{METHODS, Method};
pub use population::{HandleMap, Population, Selected, UnionNames};
pub use slow::{InputFacts, SlowSettings, diagnose};
pub use survey::{Survey, SurveyFold, SurveyedCategory};
