//! One file per question: scan, fold, pure function, report.
//!
//! ```text
//! Requests ─ survey fold ─► categories with latencies ─ gather ─► request matrices ─ localize ─► Report
//! ```

mod clouddiag;
mod combined;
mod combined_patterns;
mod combined_sites;
mod compare;
mod diagnose;
mod findings;
mod gather;
mod methods;
mod missing;
mod operations;
mod pca;
mod population;
mod replicas;
mod report;
mod sampling;
mod scan;
mod settings_table;
mod site_fold;
mod survey;
mod views;

pub use compare::{
    CategorySummary, CompareSettings, CompareSettingsError, ComparedPopulation, OperationSummary, PathNode,
    PathTimes, PathTrie, PopulationFold, PopulationSummary, Sample, compare,
};
pub use diagnose::{BaselineChoice, DiagnoseSettings, diagnose};
pub use gather::Gather;
pub use methods::{DiagnoseMethod, METHODS};
pub use population::{HandleMap, Population, Selected, UnionNames};
pub use site_fold::SiteFold;
pub use survey::{Survey, SurveyFold, SurveyedCategory};
