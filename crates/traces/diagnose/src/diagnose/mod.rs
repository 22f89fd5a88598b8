//! Which operations on which replicas make requests slow.
//!
//! ```text
//! DiagnoseQuestion ─ one of methods/ ─► MethodAnswer ─ report/ ─► Report
//! ```

mod answer;
mod methods;
mod plural;
mod question;
mod report;
mod settings;

pub use methods::METHODS;
pub use question::DiagnoseMethod;
pub use settings::{BaselineChoice, DiagnoseSettings};

use laggard_engine::{LocalEngine, Requests};
use laggard_report::{InputFacts, Report};
use laggard_settings::{SettingError, Settings};
use question::DiagnoseQuestion;

/// Diagnoses requests, on their own or against a baseline; only some methods use one
/// ([`DiagnoseMethod::uses_baseline`]). Assembled requests may be diagnosed repeatedly, with other windows,
/// thresholds or methods.
///
/// # Errors
/// When a setting is out of its range.
pub fn diagnose(
    requests: &Requests,
    baseline: Option<&Requests>,
    facts: &InputFacts,
    settings: &DiagnoseSettings,
    engine: LocalEngine,
) -> Result<Report, SettingError> {
    settings.check()?;
    let question = DiagnoseQuestion { requests, baseline, facts, settings, engine };
    Ok(report::report(&question, &settings.method.answer(&question)))
}
