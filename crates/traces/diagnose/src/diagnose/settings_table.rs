//! Settings as name and value, for the report.

use crate::diagnose::settings::DiagnoseSettings;
use laggard_localize::TimeKind;

/// Every threshold under its command-line name.
pub(crate) fn rows(settings: &DiagnoseSettings) -> Vec<(&'static str, String)> {
    let found = &settings.clouddiag;
    let time = match found.time {
        TimeKind::SelfTime => "self",
        TimeKind::Inclusive => "inclusive",
    };
    vec![
        ("service", settings.service.clone().unwrap_or_default()),
        ("sampling-probability", settings.sampling_probability.map_or_else(String::new, |it| it.to_string())),
        ("top", settings.suspects_max.to_string()),
        ("time", time.to_owned()),
        ("cv-min", found.cv_min.to_string()),
        ("tail-mad", found.tail_mad.to_string()),
        ("tail-requests-min", found.tail_requests_min.to_string()),
        ("tail-share-min", found.tail_share_min.to_string()),
        ("tail-excess-min", found.tail_excess_min.to_string()),
        ("cosine-max", found.cosine_max.to_string()),
        ("share-min", found.share_min.to_string()),
        ("support-min", found.support_min.to_string()),
        ("exceed-mad", found.exceed_mad.to_string()),
        ("exceed-median", found.exceed_median.to_string()),
        ("replica-level", found.replica_level.to_string()),
        ("replica-factor-min", found.replica_factor_min.to_string()),
        ("peer-factor-min", found.peer_factor_min.to_string()),
        ("peer-level", found.peer_level.to_string()),
        ("requests-min", found.requests_min.to_string()),
        ("rows-max", found.rows_max.to_string()),
        ("values-max", found.values_max.to_string()),
        ("columns-max", found.columns_max.to_string()),
        ("growth", found.growth.to_string()),
        ("tolerance", format!("{:e}", found.tolerance)),
        ("iterations-max", found.iterations_max.to_string()),
        ("site-fdr", settings.sites.change.level.to_string()),
        ("site-factor-min", settings.sites.change.factor_min.to_string()),
        ("site-share-min", settings.sites.share_min.to_string()),
        ("site-concern-min", settings.sites.concern_min.to_string()),
        ("culprit-factor-min", settings.sites.culprits.factor_min.to_string()),
        ("culprit-level", settings.sites.culprits.level.to_string()),
        ("period-bin", (settings.sites.scan.bin.ns() / 1_000_000_000).to_string()),
        ("period-mad", settings.sites.scan.mad_min.to_string()),
        ("period-factor-min", settings.sites.scan.factor_min.to_string()),
        ("period-excess-min", settings.sites.scan.excess_min.to_string()),
        ("pattern-share-max", format!("{:.3}", settings.patterns.share_max)),
        ("pattern-separation-min", settings.patterns.separation_min.to_string()),
        ("pattern-excess-min", settings.patterns.excess_min.to_string()),
        ("pattern-level", settings.patterns.level.to_string()),
        ("pca-coverage", settings.pca.coverage.to_string()),
        ("pca-variance", settings.pca.variance.to_string()),
        ("pca-row-level", settings.pca.row_level.to_string()),
        ("pca-column-level", settings.pca.column_level.to_string()),
        ("pca-share-min", settings.pca.excess_share_min.to_string()),
    ]
}
