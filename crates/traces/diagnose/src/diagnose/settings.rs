//! Settings of `diagnose`.

use crate::diagnose::question::DiagnoseMethod;
use laggard_localize::{CloudDiagSettings, MiSettings, PatternSettings, SiteSettings};
use laggard_model::Timestamp;

/// Method, thresholds, window and baseline.
#[derive(Clone, Debug)]
pub struct DiagnoseSettings {
    /// The method.
    pub method: DiagnoseMethod,
    /// Thresholds of CloudDiag, and those every method shares: mode, kind of time, sizes, replica tests.
    pub clouddiag: CloudDiagSettings,
    /// Thresholds of principal components.
    pub pca: MiSettings,
    /// Thresholds of latency patterns; of the combined method.
    pub patterns: PatternSettings,
    /// Thresholds of everything that works on sites; of the combined method.
    pub sites: SiteSettings,
    /// What the window is compared with.
    pub baseline: BaselineChoice,
    /// Requests that start before this are left out.
    pub since: Timestamp,
    /// Requests that start after this are left out.
    pub until: Timestamp,
    /// Only requests that enter at this service.
    pub service: Option<String>,
    /// Sampling probability of requests that do not record one: above 0, at most 1.
    pub sampling_probability: Option<f64>,
    /// Most suspects reported.
    pub suspects_max: usize,
}

/// What the window is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BaselineChoice {
    /// Nothing.
    #[default]
    None,
    /// Requests of the baseline's traces, or of the same traces if there are no others, that start in this time.
    Within {
        /// The earliest start.
        since: Timestamp,
        /// The latest start.
        until: Timestamp,
    },
    /// Requests of the same traces that start outside the window.
    Rest,
}

impl Default for DiagnoseSettings {
    fn default() -> DiagnoseSettings {
        DiagnoseSettings {
            method: DiagnoseMethod::default(),
            clouddiag: CloudDiagSettings::default(),
            pca: MiSettings::default(),
            patterns: PatternSettings::default(),
            sites: SiteSettings::default(),
            baseline: BaselineChoice::None,
            since: Timestamp::MIN,
            until: Timestamp::MAX,
            service: None,
            sampling_probability: None,
            suspects_max: 10,
        }
    }
}
