//! Memory and file systems that will be full.

use super::super::finding::{FullTime, ServerEvidence, ServerFinding, ServerSubject};
use super::super::lifecycle::AlertList;
use super::{ServerEvaluation, firing};
use laggard_metrics_questions::{FillTrend, UsePoint, fill_trend};
use laggard_model::{Nanos, Timestamp};
use laggard_samples::StorageUse;

/// Without newer points than this, nothing is known.
const AGE_MAX: Nanos = Nanos::from_secs(1_200);

pub(super) fn evaluate(
    alerts: &AlertList,
    resource: &StorageUse,
    end: Timestamp,
    evaluation: &mut ServerEvaluation,
) {
    let key = &resource.key;
    let kind = if key.device.is_some() { "disk" } else { "memory" };
    let device = key.device.clone().unwrap_or_default();
    let subject =
        ServerSubject { device: device.clone(), ..ServerSubject::new(kind, &key.tier, &key.server) };
    let is_recent = resource.points.last().is_some_and(|(at, _)| *at >= end.minus(AGE_MAX));
    if !is_recent {
        return;
    }
    let is_known = firing(alerts, &subject).is_some();
    let seconds = |time: Timestamp| time.since(end).ns() as f64 / 1e9;
    let points = resource.points.iter().map(|&(at, used)| UsePoint { time_s: seconds(at), used });
    let trend = fill_trend(&points.collect::<Vec<UsePoint>>(), is_known);
    let finding = trend.map(|trend| {
        let full = full_time(&trend, device, end);
        let evidence =
            if kind == "disk" { ServerEvidence::DiskFull(full) } else { ServerEvidence::MemoryFull(full) };
        let onset = seconds_before(end, trend.observed_s);
        ServerFinding { server: key.server.clone(), tier: key.tier.clone(), evidence, onset_ns: Some(onset) }
    });
    evaluation.add(subject, finding);
}

fn full_time(trend: &FillTrend, device: String, end: Timestamp) -> FullTime {
    let time_of = |left_s: f64| seconds_before(end, -left_s);
    FullTime {
        device,
        used: trend.used,
        growth_an_hour: 3_600.0 * trend.slope,
        full_ns: time_of(trend.left_s),
        earliest_ns: time_of(trend.left_min_s),
        latest_ns: trend.left_max_s.map(time_of),
    }
}

/// Rounded to a minute, which is more precise than any slope.
fn seconds_before(end: Timestamp, seconds: f64) -> i64 {
    const MINUTE_NS: i64 = 60_000_000_000;
    let ns = end.unix_ns().saturating_sub((1e9 * seconds) as i64);
    ns.div_euclid(MINUTE_NS).saturating_mul(MINUTE_NS)
}
