//! One file per question: scan, fold, pure function, report.
//!
//! ```text
//! Traces ─ survey fold ─► categories with latencies ─ gather fold ─► request matrices ─ localize ─► Report
//! ```

mod gather;
mod methods;
mod missing;
mod operations;
mod replicas;
mod sampling;
mod settings_table;
mod slow;
mod survey;
mod views;

pub use gather::GatherFold;
pub use methods::{METHODS, Method};
pub use slow::{InputFacts, SlowSettings, diagnose};
pub use survey::{Survey, SurveyFold, SurveyedCategory};
