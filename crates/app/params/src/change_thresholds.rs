//! The thresholds of the methods that look for changes, by their names. What is left out is `None`.

use laggard_changes::{ChangeSettings, CherkasovaMode, CherkasovaSettings};
use laggard_metrics_questions::{ChangeMethod, ChangesSettings};
use serde::{Deserialize, Serialize};

/// Form of the published method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "flags", derive(clap::ValueEnum))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
enum CherkasovaModeName {
    /// Changed where the paper's step fails on plausible data
    Robust,
    /// The closest reading of the paper that works
    Paper,
}

/// Thresholds of `laggard changes`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "flags", derive(clap::Args))]
#[cfg_attr(feature = "flags", group(skip))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case", default)]
#[cfg_attr(
    feature = "flags",
    command(
        next_help_heading = "Thresholds of adaptive (docs/manual/methods/changes.md) and cherkasova (docs/manual/methods/cherkasova.md)"
    )
)]
pub struct ChangeThresholds {
    /// Most transaction types kept apart; rarer ones are pooled [default: 20]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N"))]
    types_max: Option<usize>,
    /// A segment with fewer windows is not judged by itself [default: max(10, types + 1)]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N"))]
    segment_windows_min: Option<usize>,
    /// A segment with a larger constant, in percent of the CPU, is anomalous [default: 10]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    constant_max: Option<f64>,
    /// Two segments have one model unless its error is more than X times that of two [default: 1.5]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    reconcile_ratio_max: Option<f64>,
    /// adaptive: a step counts beyond X standard errors [default: 5]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    score_min: Option<f64>,
    /// … and from X percent of the CPU on [default: 1]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    effect_min: Option<f64>,
    /// adaptive: windows busier than this share are left out [default: 0.95]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    utilization_max: Option<f64>,
    /// adaptive: a segment is anomalous with more than X times the usual noise [default: 3]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    noise_ratio_max: Option<f64>,
    /// adaptive: a background load may drift by X percent of the CPU … [default: 0.7]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    drift_constant: Option<f64>,
    /// … and the cost of all transactions by this share, within one model [default: 0.04]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    drift_scale: Option<f64>,
    /// adaptive: another model adds more than this share of the CPU used to the error [default: 0.02]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    excess_error_min: Option<f64>,
    /// adaptive: a service time changed when it did by more than this share [default: 0.1]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    service_change_min: Option<f64>,
    /// adaptive: how much a service time may vary with utilization alone, as a logarithm [default: 1.5]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    load_slope_max: Option<f64>,
    /// adaptive: windows are joined until a type has X transactions [default: 30]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    cell_transactions: Option<f64>,
    /// adaptive: service times account for at least this share of the CPU that moved [default: 0.5]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    explained_min: Option<f64>,
    /// cherkasova: the paper's form or the robust form [default: robust]
    #[cfg_attr(feature = "flags", arg(long, value_enum))]
    mode: Option<CherkasovaModeName>,
    /// cherkasova: allowed error in percent (the paper's ε) [default: 3]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X", visible_alias = "epsilon"))]
    #[serde(alias = "epsilon")]
    error_max: Option<f64>,
    /// cherkasova: up to N windows every cut is considered [default: 5000]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N"))]
    exact_windows_max: Option<usize>,
    /// cherkasova: beyond, cuts on a grid of N windows, then refined [default: 5]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N"))]
    grid_step: Option<usize>,
    /// cherkasova: most points of the grid [default: 10000]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N"))]
    grid_points_max: Option<usize>,
}

impl ChangeThresholds {
    /// The settings they make; not checked yet.
    pub fn settings(&self, method: ChangeMethod) -> ChangesSettings {
        let default = ChangesSettings::default();
        ChangesSettings {
            method,
            types_max: self.types_max.unwrap_or(default.types_max),
            adaptive: self.adaptive(),
            cherkasova: self.cherkasova(),
        }
    }

    fn adaptive(&self) -> ChangeSettings {
        let mut out = ChangeSettings::default();
        let rows = [
            (&mut out.score_min, self.score_min),
            (&mut out.effect_min_percent, self.effect_min),
            (&mut out.utilization_max, self.utilization_max),
            (&mut out.noise_ratio_max, self.noise_ratio_max),
            (&mut out.constant_max_percent, self.constant_max),
            (&mut out.drift_constant_percent, self.drift_constant),
            (&mut out.drift_scale, self.drift_scale),
            (&mut out.reconcile_ratio_max, self.reconcile_ratio_max),
            (&mut out.excess_error_min, self.excess_error_min),
            (&mut out.service_change_min, self.service_change_min),
            (&mut out.load_slope_max, self.load_slope_max),
            (&mut out.cell_transactions, self.cell_transactions),
            (&mut out.explained_min, self.explained_min),
        ];
        for (setting, given) in rows {
            *setting = given.unwrap_or(*setting);
        }
        out.segment_windows_min = self.segment_windows_min;
        out
    }

    fn cherkasova(&self) -> CherkasovaSettings {
        let mode = match self.mode {
            Some(CherkasovaModeName::Paper) => CherkasovaMode::Paper,
            _ => CherkasovaMode::Robust,
        };
        let default = CherkasovaSettings::new(mode);
        CherkasovaSettings {
            mode,
            error_max_percent: self.error_max.unwrap_or(default.error_max_percent),
            segment_windows_min: self.segment_windows_min,
            constant_max_percent: self.constant_max.unwrap_or(default.constant_max_percent),
            reconcile_ratio_max: self.reconcile_ratio_max.unwrap_or(default.reconcile_ratio_max),
            exact_windows_max: self.exact_windows_max.unwrap_or(default.exact_windows_max),
            grid_step: self.grid_step.unwrap_or(default.grid_step),
            grid_points_max: self.grid_points_max.unwrap_or(default.grid_points_max),
        }
    }
}
