//! Thresholds of the methods of `diagnose`. Defaults depend on the mode, so what is left out is `None`.

use laggard_localize::{CloudDiagSettings, MiSettings, Mode, PatternSettings, SiteSettings, TimeKind};
use laggard_model::Nanos;
use serde::{Deserialize, Serialize};

/// Form of CloudDiag.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "flags", derive(clap::ValueEnum))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
enum ModeName {
    /// Changed where the paper's step fails on plausible data
    #[default]
    Robust,
    /// The closest reading of the paper that works
    Paper,
}

/// Kind of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "flags", derive(clap::ValueEnum))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
enum TimeName {
    /// Time not spent in callees
    #[default]
    #[serde(rename = "self")]
    #[cfg_attr(feature = "flags", value(name = "self"))]
    SelfTime,
    /// Time from invocation to return; ancestors repeat the culprit's delay
    Inclusive,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "flags", derive(clap::Args))]
#[cfg_attr(feature = "flags", group(skip))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case", default)]
/// Thresholds of CloudDiag, which other methods share.
#[cfg_attr(
    feature = "flags",
    command(next_help_heading = "Thresholds of CloudDiag (docs/manual/methods/clouddiag.md)")
)]
pub struct Thresholds {
    /// The paper's form or the robust form
    #[cfg_attr(feature = "flags", arg(long, value_enum, default_value_t = ModeName::Robust))]
    mode: ModeName,
    /// Which time of a call is analyzed
    #[cfg_attr(feature = "flags", arg(long, value_enum, default_value_t = TimeName::SelfTime))]
    time: TimeName,
    /// A category is anomalous above this coefficient of variation of latency [default: 1]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    cv_min: Option<f64>,
    /// … or with a tail: requests beyond median + X MAD of the log latency [default: 3.5]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    tail_mad: Option<f64>,
    /// … at least N of them [default: 3]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N"))]
    tail_requests_min: Option<u64>,
    /// … at least this share of the requests [default: 0.005]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    tail_share_min: Option<f64>,
    /// … holding at least this share of all latency as excess [default: 0.05]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    tail_excess_min: Option<f64>,
    /// A position is flagged below this cosine [default: 0.8; paper 0.5]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    cosine_max: Option<f64>,
    /// … and above this share of the slow requests' excess [default: 0.03]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    share_min: Option<f64>,
    /// … with at least N slow requests there [default: 2]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N"))]
    support_min: Option<u64>,
    /// A deviation counts above X MAD of its column … [default: 5]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    exceed_mad: Option<f64>,
    /// … and above X times its median [default: 0.5]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    exceed_median: Option<f64>,
    /// Level of the replica tests after Benjamini–Hochberg [default: 0.01]
    #[cfg_attr(feature = "flags", arg(long, value_name = "P"))]
    replica_level: Option<f64>,
    /// … with at least this factor between a replica and its peers [default: 1.25]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    replica_factor_min: Option<f64>,
    /// A replica that is always slow is named from this factor on [default: 1.3]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    peer_factor_min: Option<f64>,
    /// … at this level after Benjamini–Hochberg [default: 0.001]
    #[cfg_attr(feature = "flags", arg(long, value_name = "P"))]
    peer_level: Option<f64>,
    /// Categories with fewer requests are only summarized [default: 10]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N"))]
    requests_min: Option<u64>,
    /// Most rows of a request matrix [default: 20000]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N"))]
    rows_max: Option<usize>,
    /// Most values of all request matrices together [default: 4000000]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N"))]
    values_max: Option<usize>,
    /// Most columns of a request matrix [default: 256]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N"))]
    columns_max: Option<usize>,
    /// Robust PCA: growth of the penalty [default: 1.5]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    growth: Option<f64>,
    /// Robust PCA: relative residual to stop at [default: 1e-5; paper 1e-7]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    tolerance: Option<f64>,
    /// Robust PCA: most iterations [default: 1000]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N"))]
    iterations_max: Option<u32>,
}

impl Thresholds {
    /// The settings they make; not checked yet.
    pub fn settings(&self) -> CloudDiagSettings {
        let mode = match self.mode {
            ModeName::Robust => Mode::Robust,
            ModeName::Paper => Mode::Paper,
        };
        let time = match self.time {
            TimeName::SelfTime => TimeKind::SelfTime,
            TimeName::Inclusive => TimeKind::Inclusive,
        };
        let default = CloudDiagSettings::new(mode);
        CloudDiagSettings {
            mode,
            time,
            cv_min: self.cv_min.unwrap_or(default.cv_min),
            tail_mad: self.tail_mad.unwrap_or(default.tail_mad),
            tail_requests_min: self.tail_requests_min.unwrap_or(default.tail_requests_min),
            tail_share_min: self.tail_share_min.unwrap_or(default.tail_share_min),
            tail_excess_min: self.tail_excess_min.unwrap_or(default.tail_excess_min),
            cosine_max: self.cosine_max.unwrap_or(default.cosine_max),
            share_min: self.share_min.unwrap_or(default.share_min),
            support_min: self.support_min.unwrap_or(default.support_min),
            exceed_mad: self.exceed_mad.unwrap_or(default.exceed_mad),
            exceed_median: self.exceed_median.unwrap_or(default.exceed_median),
            replica_level: self.replica_level.unwrap_or(default.replica_level),
            replica_factor_min: self.replica_factor_min.unwrap_or(default.replica_factor_min),
            peer_factor_min: self.peer_factor_min.unwrap_or(default.peer_factor_min),
            peer_level: self.peer_level.unwrap_or(default.peer_level),
            requests_min: self.requests_min.unwrap_or(default.requests_min),
            rows_max: self.rows_max.unwrap_or(default.rows_max),
            values_max: self.values_max.unwrap_or(default.values_max),
            columns_max: self.columns_max.unwrap_or(default.columns_max),
            growth: self.growth.unwrap_or(default.growth),
            tolerance: self.tolerance.unwrap_or(default.tolerance),
            iterations_max: self.iterations_max.unwrap_or(default.iterations_max),
        }
    }
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "flags", derive(clap::Args))]
#[cfg_attr(feature = "flags", group(skip))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case", default)]
#[cfg_attr(
    feature = "flags",
    command(
        next_help_heading = "Thresholds of pca (docs/manual/methods/pca.md); it shares those of modes, sizes, tails and replicas"
    )
)]
/// Thresholds of the method `pca` that are its own.
pub struct PcaThresholds {
    /// Clusters of call trees are major until they hold more than this share of the requests (α) [default: 0.75]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    pca_coverage: Option<f64>,
    /// Share of the variance in the normal subspace (γ) [default: 0.95]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    pca_variance: Option<f64>,
    /// Probability that a normal request is beyond the limit of its prediction error (β) [default: 0.05]
    #[cfg_attr(feature = "flags", arg(long, value_name = "P"))]
    pca_row_level: Option<f64>,
    /// Level of the tests of positions (λ) [default: 0.05]
    #[cfg_attr(feature = "flags", arg(long, value_name = "P"))]
    pca_column_level: Option<f64>,
    /// A flagged position holds at least this share of the anomalous requests' excess [default: 0.1]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    pca_share_min: Option<f64>,
}

impl PcaThresholds {
    /// The settings they make; not checked yet.
    pub fn settings(&self) -> MiSettings {
        let default = MiSettings::default();
        MiSettings {
            coverage: self.pca_coverage.unwrap_or(default.coverage),
            variance: self.pca_variance.unwrap_or(default.variance),
            row_level: self.pca_row_level.unwrap_or(default.row_level),
            column_level: self.pca_column_level.unwrap_or(default.column_level),
            excess_share_min: self.pca_share_min.unwrap_or(default.excess_share_min),
        }
    }
}

/// Thresholds of the combined method that are its own.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "flags", derive(clap::Args))]
#[cfg_attr(feature = "flags", group(skip))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case", default)]
#[cfg_attr(
    feature = "flags",
    command(
        next_help_heading = "Thresholds of combined (docs/manual/methods/combined.md); it shares those of clouddiag"
    )
)]
pub struct SiteThresholds {
    /// False discovery rate of the comparison with a baseline [default: 0.05]
    #[cfg_attr(feature = "flags", arg(long, value_name = "P"))]
    site_fdr: Option<f64>,
    /// … of sites that take more than this factor of their time in the baseline [default: 1.03]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    site_factor_min: Option<f64>,
    /// A suspect holds at least this share of the slowdown, or of the latency of all requests [default: 0.01]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    site_share_min: Option<f64>,
    /// In a window that is short against its baseline, suspects add this share to the requests concerned [default: 0.1]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    site_concern_min: Option<f64>,
    /// A culprit replica takes at least this factor of its peers' time [default: 1.3]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    culprit_factor_min: Option<f64>,
    /// … at this level after Benjamini–Hochberg [default: 0.01]
    #[cfg_attr(feature = "flags", arg(long, value_name = "P"))]
    culprit_level: Option<f64>,
    /// Seconds of a bin in the search for slow periods [default: 60]
    #[cfg_attr(feature = "flags", arg(long, value_name = "S"))]
    period_bin: Option<u64>,
    /// In a slow bin, sites are above their usual by X MAD … [default: 6]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    period_mad: Option<f64>,
    /// … and by this factor [default: 1.3]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    period_factor_min: Option<f64>,
    /// … and add this share to the latency of the requests concerned [default: 0.25]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    period_excess_min: Option<f64>,
    /// A mode with more than this share of the requests is no degradation [default: 0.333]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    pattern_share_max: Option<f64>,
    /// Requests of a pattern are slower than others with this probability [default: 0.9]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    pattern_separation_min: Option<f64>,
    /// … and by this share of the latency [default: 0.05]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    pattern_excess_min: Option<f64>,
    /// Level of the test of a pattern against chance [default: 0.001]
    #[cfg_attr(feature = "flags", arg(long, value_name = "P"))]
    pattern_level: Option<f64>,
}

impl SiteThresholds {
    /// The settings they make; not checked yet.
    pub fn settings(&self) -> SiteSettings {
        let mut out = SiteSettings::default();
        let rows = [
            (&mut out.change.level, self.site_fdr),
            (&mut out.change.factor_min, self.site_factor_min),
            (&mut out.share_min, self.site_share_min),
            (&mut out.concern_min, self.site_concern_min),
            (&mut out.culprits.factor_min, self.culprit_factor_min),
            (&mut out.culprits.level, self.culprit_level),
            (&mut out.scan.mad_min, self.period_mad),
            (&mut out.scan.factor_min, self.period_factor_min),
            (&mut out.scan.excess_min, self.period_excess_min),
        ];
        for (setting, given) in rows {
            *setting = given.unwrap_or(*setting);
        }
        out.scan.bin = self.period_bin.map_or(out.scan.bin, Nanos::from_secs);
        out
    }

    /// The settings of latency patterns; not checked yet.
    pub fn patterns(&self) -> PatternSettings {
        let default = PatternSettings::default();
        PatternSettings {
            share_max: self.pattern_share_max.unwrap_or(default.share_max),
            separation_min: self.pattern_separation_min.unwrap_or(default.separation_min),
            excess_min: self.pattern_excess_min.unwrap_or(default.excess_min),
            level: self.pattern_level.unwrap_or(default.level),
            ..default
        }
    }
}
