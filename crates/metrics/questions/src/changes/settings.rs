//! Method and thresholds of a question about changes.

use crate::methods::ChangeMethod;
use crate::sample_summary::seconds;
use laggard_changes::{
    Analysis, ChangeSettings, ChangeSettingsError, CherkasovaMode, CherkasovaSettings,
    CherkasovaSettingsError, Observations, TooLittleDataError, cherkasova,
};
use laggard_model::Nanos;
use laggard_report::Setting;
use std::fmt;
use std::num::NonZeroUsize;

/// Method and thresholds.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangesSettings {
    /// Which method.
    pub method: ChangeMethod,
    /// Most transaction types kept apart; rarer ones are pooled (20: each costs a coefficient, and models with more
    /// cannot be told apart from minutes of data).
    pub types_max: usize,
    /// Thresholds of the default method.
    pub adaptive: ChangeSettings,
    /// Thresholds of the published method.
    pub cherkasova: CherkasovaSettings,
}

/// A setting is out of its range; says which, and what is allowed.
#[derive(Clone, PartialEq, Debug)]
pub enum ChangesSettingsError {
    /// Of the default method.
    Adaptive(ChangeSettingsError),
    /// Of the published method.
    Cherkasova(CherkasovaSettingsError),
    /// The number of transaction types.
    Types(usize),
}

impl fmt::Display for ChangesSettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangesSettingsError::Adaptive(error) => error.fmt(f),
            ChangesSettingsError::Cherkasova(error) => error.fmt(f),
            ChangesSettingsError::Types(given) => {
                write!(f, "--types-max is {given}; it must be at least 1 and at most 100")
            }
        }
    }
}

impl std::error::Error for ChangesSettingsError {}

impl Default for ChangesSettings {
    fn default() -> ChangesSettings {
        ChangesSettings {
            method: ChangeMethod::default(),
            types_max: 20,
            adaptive: ChangeSettings::default(),
            cherkasova: CherkasovaSettings::default(),
        }
    }
}

impl ChangesSettings {
    /// Checks every range of the method that is asked.
    ///
    /// # Errors
    /// The first setting out of its range.
    pub fn check(&self) -> Result<(), ChangesSettingsError> {
        if !(1..=100).contains(&self.types_max) {
            return Err(ChangesSettingsError::Types(self.types_max));
        }
        match self.method {
            ChangeMethod::Adaptive => self.adaptive.check().map_err(ChangesSettingsError::Adaptive),
            ChangeMethod::Cherkasova => self.cherkasova.check().map_err(ChangesSettingsError::Cherkasova),
        }
    }

    /// Every setting of the method under its command-line name.
    pub(super) fn rows(&self, window: Nanos) -> Vec<Setting> {
        let mut rows = vec![
            ("method", self.method.name().to_owned()),
            ("window", format!("{}s", seconds(window))),
            ("types-max", self.types_max.to_string()),
        ];
        rows.extend(match self.method {
            ChangeMethod::Adaptive => adaptive_rows(&self.adaptive),
            ChangeMethod::Cherkasova => cherkasova_rows(&self.cherkasova),
        });
        rows.into_iter().map(|(name, value)| Setting { name: name.to_owned(), value }).collect()
    }

    /// Asks the method. Less than two segments' worth of windows can show no change, and so cannot show that there was
    /// none.
    pub(super) fn analyze(
        &self,
        observations: &Observations,
        threads: NonZeroUsize,
    ) -> Result<Analysis, TooLittleDataError> {
        let (given, types) = (observations.utilization.len(), observations.counts.cols());
        let segment = match self.method {
            ChangeMethod::Adaptive => self.adaptive.windows_min(types),
            ChangeMethod::Cherkasova => self.cherkasova.windows_min(types),
        };
        let needed = segment.saturating_mul(2);
        if given < needed {
            return Err(TooLittleDataError::Windows { given, needed });
        }
        match self.method {
            ChangeMethod::Adaptive => laggard_changes::changes(observations, &self.adaptive, threads),
            ChangeMethod::Cherkasova => cherkasova(observations, &self.cherkasova, threads),
        }
    }
}

/// How many windows a segment needs, where that follows from the number of transaction types.
fn windows_min(given: Option<usize>) -> String {
    given.map_or_else(|| "max(10, types + 1)".to_owned(), |windows| windows.to_string())
}

fn adaptive_rows(of: &ChangeSettings) -> Vec<(&'static str, String)> {
    vec![
        ("score-min", of.score_min.to_string()),
        ("effect-min", of.effect_min_percent.to_string()),
        ("utilization-max", of.utilization_max.to_string()),
        ("segment-windows-min", windows_min(of.segment_windows_min)),
        ("noise-ratio-max", of.noise_ratio_max.to_string()),
        ("constant-max", of.constant_max_percent.to_string()),
        ("drift-constant", of.drift_constant_percent.to_string()),
        ("drift-scale", of.drift_scale.to_string()),
        ("reconcile-ratio-max", of.reconcile_ratio_max.to_string()),
        ("excess-error-min", of.excess_error_min.to_string()),
        ("service-change-min", of.service_change_min.to_string()),
        ("load-slope-max", of.load_slope_max.to_string()),
        ("cell-transactions", of.cell_transactions.to_string()),
        ("explained-min", of.explained_min.to_string()),
    ]
}

fn cherkasova_rows(of: &CherkasovaSettings) -> Vec<(&'static str, String)> {
    let mode = match of.mode {
        CherkasovaMode::Robust => "robust",
        CherkasovaMode::Paper => "paper",
    };
    vec![
        ("mode", mode.to_owned()),
        ("error-max", of.error_max_percent.to_string()),
        ("segment-windows-min", windows_min(of.segment_windows_min)),
        ("constant-max", of.constant_max_percent.to_string()),
        ("reconcile-ratio-max", of.reconcile_ratio_max.to_string()),
        ("exact-windows-max", of.exact_windows_max.to_string()),
        ("grid-step", of.grid_step.to_string()),
        ("grid-points-max", of.grid_points_max.to_string()),
    ]
}
