//! One file per question: scan, fold, pure function, report.
//!
//! ```text
//! Traces ─ survey fold ─► categories with latencies ─ gather fold ─► request matrices ─ localize ─► Report
//! ```

mod clouddiag;
mod findings;
mod gather;
mod methods;
mod operations;
mod pca;
mod replicas;
mod report;
mod scan;
mod settings_table;
mod slow;
mod survey;
mod views;

pub use gather::GatherFold;
pub use methods::{METHODS, Method, SlowMethod};
pub use slow::{InputFacts, SlowSettings, diagnose};
pub use survey::{Survey, SurveyFold, SurveyedCategory};
