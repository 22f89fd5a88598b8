//! Method and thresholds of a change report.

use crate::methods::ChangeMethod;
use crate::sample_summary::seconds;
use laggard_changes::{
    Analysis, ChangeSettings, CherkasovaSettings, Observations, TooLittleDataError, cherkasova,
};
use laggard_model::Nanos;
use laggard_report::Setting;
use laggard_settings::{Settings, settings};
use std::num::NonZeroUsize;

settings! {
    group "changes";
    /// Method and thresholds.
    #[derive(Clone, PartialEq, Debug)]
    pub struct ChangesSettings {
        /// Maximum number of transaction types; rarer ones are pooled
        types_max ("types-max", "types"): usize = 20, within(1.0, 100.0), "each costs a coefficient; models with more cannot be distinguished from minutes of data";
    }
    groups {
        /// Thresholds of the default method.
        adaptive: ChangeSettings;
        /// Thresholds of the published method.
        cherkasova: CherkasovaSettings;
    }
    other {
        /// The method.
        method: ChangeMethod = ChangeMethod::default();
    }
}

impl ChangesSettings {
    /// Every setting of the method under its command-line name.
    pub(super) fn rows(&self, window: Nanos) -> Vec<Setting> {
        let first = [
            ("method", self.method.name().to_owned()),
            ("window", format!("{}s", seconds(window))),
            ("types-max", self.types_max.to_string()),
        ];
        let of_method = match self.method {
            ChangeMethod::Adaptive => self.adaptive.values(),
            ChangeMethod::Cherkasova => self.cherkasova.values(),
        };
        let rows = first.into_iter().chain(of_method);
        rows.map(|(name, value)| Setting { name: name.to_owned(), value }).collect()
    }

    /// Runs the method. With fewer windows than two segments a change cannot be detected, which is an error.
    pub(super) fn analyze(
        &self,
        observations: &Observations,
        threads: NonZeroUsize,
    ) -> Result<Analysis, TooLittleDataError> {
        let (available, types) = (observations.utilization.len(), observations.counts.cols());
        let segment = match self.method {
            ChangeMethod::Adaptive => self.adaptive.windows_min(types),
            ChangeMethod::Cherkasova => self.cherkasova.windows_min(types),
        };
        let needed = segment.saturating_mul(2);
        if available < needed {
            return Err(TooLittleDataError::Windows { available, needed });
        }
        match self.method {
            ChangeMethod::Adaptive => laggard_changes::changes(observations, &self.adaptive, threads),
            ChangeMethod::Cherkasova => cherkasova(observations, &self.cherkasova, threads),
        }
    }
}
