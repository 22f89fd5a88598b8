//! Settings of `diagnose`.

use crate::attribute_filter::AttributeFilter;
use crate::diagnose::question::DiagnoseMethod;
use crate::selection::RequestSelection;
use laggard_localize::{CloudDiagSettings, MiSettings, PatternSettings, SiteSettings};
use laggard_model::Timestamp;
use laggard_report::Setting;
use laggard_settings::{Settings, settings};

settings! {
    group "diagnose";
    /// Method, thresholds, and which requests are diagnosed.
    #[derive(Clone, Debug)]
    pub struct DiagnoseSettings {}
    groups {
        /// Thresholds of CloudDiag, and those that every method shares: mode, kind of time, sizes, replica tests.
        clouddiag: CloudDiagSettings;
        /// Thresholds of sites; of the default method.
        sites: SiteSettings;
        /// Thresholds of latency patterns; of the default method.
        patterns: PatternSettings;
        /// Thresholds of principal components.
        pca: MiSettings;
    }
    other {
        /// Which method answers.
        method: DiagnoseMethod = DiagnoseMethod::default();
        /// Reference that the window is compared with.
        baseline: BaselineChoice = BaselineChoice::None;
        /// Requests that start before this are left out.
        since: Timestamp = Timestamp::MIN;
        /// Requests that start after this are left out.
        until: Timestamp = Timestamp::MAX;
        /// Only requests that match this.
        selection: RequestSelection = RequestSelection::default();
        /// Only requests with all of these attributes.
        attributes: Vec<AttributeFilter> = Vec::new();
        /// Sampling probability of requests that do not report theirs: above 0, at most 1.
        sampling_probability: Option<f64> = None;
        /// Most suspects reported.
        suspects_max: usize = 10;
    }
}

impl DiagnoseSettings {
    /// Name and value of every setting, for the report.
    pub(crate) fn rows(&self) -> Vec<Setting> {
        let probability = self.sampling_probability.map_or_else(String::new, |share| share.to_string());
        let attributes: Vec<String> = self.attributes.iter().map(AttributeFilter::to_string).collect();
        let first = [
            ("attribute", attributes.join(", ")),
            ("sampling-probability", probability),
            ("top", self.suspects_max.to_string()),
        ];
        let rows = self.selection.rows().into_iter().chain(first).chain(self.values());
        rows.map(|(name, value)| Setting { name: name.to_owned(), value }).collect()
    }
}

/// Reference that the window is compared with.
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
