//! Which operations on which replicas make requests slow.
//!
//! ```text
//! DiagnoseQuestion ─ one of methods/ ─► MethodAnswer ─ report/ ─► Report
//! ```

mod answer;
pub(crate) mod methods;
mod plural;
mod question;
mod report;
mod settings;

pub use methods::METHODS;
pub use question::DiagnoseMethod;
pub use settings::{BaselineChoice, DiagnoseSettings};

use laggard_engine::{LocalEngine, Requests};
use laggard_model::TraceId;
use laggard_report::{InputFacts, Report};
use laggard_settings::{SettingError, Settings};
use question::DiagnoseQuestion;

/// Diagnoses requests, on their own or against a baseline; only some methods use one
/// ([`DiagnoseMethod::uses_baseline`]). Assembled requests may be diagnosed repeatedly, with other windows,
/// thresholds or methods.
///
/// # Errors
/// When a setting is out of its range, or the selection names what does not exist.
pub fn diagnose(
    requests: &Requests,
    baseline: Option<&Requests>,
    facts: &InputFacts,
    settings: &DiagnoseSettings,
    engine: LocalEngine,
) -> Result<Report, SettingError> {
    Ok(diagnose_with_hits(requests, baseline, facts, settings, engine)?.0)
}

/// Like [`diagnose`], with the traces of the requests that each suspect hit, to measure precision and recall; none for methods
/// that do not judge single calls.
///
/// # Errors
/// When a setting is out of its range, or the selection names what does not exist.
pub fn diagnose_with_hits(
    requests: &Requests,
    baseline: Option<&Requests>,
    facts: &InputFacts,
    settings: &DiagnoseSettings,
    engine: LocalEngine,
) -> Result<(Report, Vec<Vec<TraceId>>), SettingError> {
    settings.check()?;
    let question = DiagnoseQuestion { requests, baseline, facts, settings, engine };
    question.check_selection()?;
    let answer = settings.method.answer(&question);
    let trace = |&number: &u32| requests.request(number as usize).trace();
    let hits = (answer.suspects.iter())
        .map(|suspect| suspect.hits.iter().flat_map(|hits| &hits.numbers).map(trace).collect())
        .collect();
    Ok((report::report(&question, &answer), hits))
}
