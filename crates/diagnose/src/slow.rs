//! Which operations on which replicas make requests slow? One file per method; this one picks it.

use crate::methods::SlowMethod;
use crate::scan::Question;
use laggard_engine::{LocalEngine, Traces};
use laggard_localize::{CloudDiagSettings, MiSettings, SettingsError};
use laggard_model::Timestamp;
use laggard_report::{NamedCount, Report};

/// What is asked.
#[derive(Clone, Debug)]
pub struct SlowSettings {
    /// Which method answers.
    pub method: SlowMethod,
    /// Thresholds of CloudDiag, and those every method shares: mode, kind of time, sizes, replica tests.
    pub clouddiag: CloudDiagSettings,
    /// Thresholds of principal components.
    pub pca: MiSettings,
    /// Requests that start before this are left out.
    pub since: Timestamp,
    /// Requests that start after this are left out.
    pub until: Timestamp,
    /// Only requests that enter at this service.
    pub service: Option<String>,
    /// Most suspects reported.
    pub suspects_max: usize,
}

impl Default for SlowSettings {
    fn default() -> SlowSettings {
        SlowSettings {
            method: SlowMethod::default(),
            clouddiag: CloudDiagSettings::default(),
            pca: MiSettings::default(),
            since: Timestamp::MIN,
            until: Timestamp::MAX,
            service: None,
            suspects_max: 10,
        }
    }
}

/// What only the reader of the input knows.
#[derive(Clone, Debug, Default)]
pub struct InputFacts {
    /// Inputs read.
    pub files: u64,
    /// Bytes read, before decompression.
    pub bytes: u64,
    /// Formats recognised.
    pub formats: Vec<NamedCount>,
}

/// Diagnoses a data set.
///
/// # Errors
/// When a setting is out of its range.
pub fn diagnose(
    traces: &Traces,
    facts: &InputFacts,
    settings: &SlowSettings,
    engine: LocalEngine,
) -> Result<Report, SettingsError> {
    settings.clouddiag.check()?;
    settings.pca.check()?;
    let question = Question { traces, facts, settings, engine };
    match settings.method {
        SlowMethod::CloudDiag => Ok(crate::clouddiag::diagnose(&question)),
        SlowMethod::Pca => Ok(crate::pca::diagnose(&question)),
    }
}
