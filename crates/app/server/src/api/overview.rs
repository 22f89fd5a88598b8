//! `/api/v1/overview`: requests, errors and latency over time, and when categories were anomalous.

use super::category_latencies::{Categories, reason};
use super::data::query;
use super::latencies::Latencies;
use super::parameters::{Query, count, now, window};
use super::problem::{ApiError, ProblemDocument};
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::State;
use axum::{Extension, Json};
use laggard_engine::Requests;
use laggard_localize::CloudDiagSettings;
use laggard_model::{Fingerprint, Nanos, ServiceId, Timestamp};
use laggard_params::{Moment, Window};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Default and largest number of bins.
const BINS: usize = 60;
const BINS_MAX: usize = 1_440;

/// Services that are charted: those with the most requests.
const SERVICES_MAX: usize = 100;

/// Intervals of the window in which anomalies are searched.
const INTERVALS: i64 = 12;

/// Anomalies that are listed: the latest.
const ANOMALIES_MAX: usize = 1_000;

/// Parameters of an overview.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OverviewParameters {
    /// Where the window begins; an hour before it ends if absent.
    since: Option<Moment>,
    /// Where it ends; now if absent.
    until: Option<Moment>,
    /// Number of time bins (1 to 1440; default 60).
    #[param(minimum = 1, maximum = 1_440)]
    bins: Option<u64>,
    /// Only requests that enter at this service.
    service: Option<String>,
}

/// Services over time.
#[derive(Serialize, ToSchema)]
pub(crate) struct Overview {
    /// Start of the first bin.
    since_ns: i64,
    /// Length of a bin.
    bin_ns: u64,
    /// How many bins there are.
    bins: u64,
    /// By requests, the most first.
    services: Vec<ServiceOverTime>,
    /// Services beyond the limit.
    omitted: u64,
    /// By start.
    anomalies: Vec<Anomaly>,
}

/// Requests that enter at a service, by bin.
#[derive(Serialize, ToSchema)]
pub(crate) struct ServiceOverTime {
    name: String,
    requests: Vec<u64>,
    errors: Vec<u64>,
    p50_ns: Vec<Option<u64>>,
    p99_ns: Vec<Option<u64>>,
}

/// A time in which the latency of a category was dispersed or had a heavy tail.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct Anomaly {
    category: String,
    service: String,
    operation: String,
    since_ns: i64,
    until_ns: i64,
    reason: String,
}

/// Services over time
#[utoipa::path(
    get, path = "/api/v1/overview", tag = "data", params(OverviewParameters),
    responses((status = 200, body = Overview), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn overview(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<OverviewParameters>,
) -> Result<Json<Overview>, ApiError> {
    let window = window(parameters.since, parameters.until, now())?;
    let bins = count("bins", parameters.bins, BINS, BINS_MAX)?;
    let service = parameters.service;
    let answer = query(&state, &tenant.store, window, move |requests| {
        let bins = Bins::new(window, bins as i64);
        Ok(bins.overview(requests, service.as_deref()))
    });
    Ok(Json(answer.await?))
}

/// A window in bins of equal length.
#[derive(Clone, Copy)]
pub(super) struct Bins {
    window: Window,
    pub(super) bin_ns: i64,
    bins: i64,
}

impl Bins {
    pub(super) fn new(window: Window, bins: i64) -> Bins {
        let length = window.until.unix_ns().saturating_sub(window.since.unix_ns());
        // Both ends belong to the window.
        let bin_ns = (length / bins).saturating_add(1);
        Bins { window, bin_ns, bins }
    }

    pub(super) fn of(&self, time: Timestamp) -> usize {
        let after = time.unix_ns().saturating_sub(self.window.since.unix_ns());
        (after / self.bin_ns).clamp(0, self.bins - 1) as usize
    }

    fn overview(&self, requests: &Requests, service: Option<&str>) -> Overview {
        let (charted, omitted) = self.charted_services(requests, service);
        let names = requests.names();
        let mut chart_of: Vec<Option<usize>> = vec![None; names.services()];
        charted.iter().enumerate().for_each(|(chart, service)| chart_of[service.index()] = Some(chart));
        let mut charts = vec![vec![Latencies::default(); self.bins as usize]; charted.len()];
        for request in requests.within(self.window.since, self.window.until).iter() {
            let entered = names.service_of(request.tree().operation[0]);
            if let Some(chart) = chart_of[entered.index()] {
                charts[chart][self.of(request.start())].add(&request);
            }
        }
        let services = charted.into_iter().zip(charts);
        let services = services.map(|(id, bins)| over_time(names.service_name(id), bins)).collect();
        Overview {
            since_ns: self.window.since.unix_ns(),
            bin_ns: self.bin_ns as u64,
            bins: self.bins as u64,
            services,
            omitted,
            anomalies: self.anomalies(requests, service),
        }
    }

    /// The services with the most requests in the window, the most first, and how many others there are. Counted before anything is
    /// charted: there may be tens of thousands.
    fn charted_services(&self, requests: &Requests, service: Option<&str>) -> (Vec<ServiceId>, u64) {
        let names = requests.names();
        let mut counts = vec![0_u64; names.services()];
        for request in requests.within(self.window.since, self.window.until).iter() {
            counts[names.service_of(request.tree().operation[0]).index()] += 1;
        }
        let name = |id: ServiceId| names.service_name(id);
        let mut found: Vec<(ServiceId, u64)> = (counts.into_iter().enumerate())
            .map(|(index, count)| (ServiceId::from_index(index), count))
            .filter(|&(id, count)| count > 0 && service.is_none_or(|requested| requested == name(id)))
            .collect();
        found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| name(a.0).cmp(name(b.0))));
        let omitted = found.len().saturating_sub(SERVICES_MAX) as u64;
        found.truncate(SERVICES_MAX);
        (found.into_iter().map(|(id, _)| id).collect(), omitted)
    }

    fn anomalies(&self, requests: &Requests, service: Option<&str>) -> Vec<Anomaly> {
        let frequent = frequent_categories(requests, self.window, service);
        let intervals = Bins::new(self.window, INTERVALS);
        let mut by_category: BTreeMap<String, Vec<Anomaly>> = BTreeMap::new();
        for interval in (0..INTERVALS).map(|index| intervals.interval(index)) {
            for anomaly in anomalies_of(requests, interval, &frequent) {
                let known = by_category.entry(anomaly.category.clone()).or_default();
                match known.last_mut() {
                    // One that continues the last is the same.
                    Some(last) if last.until_ns.saturating_add(1) >= anomaly.since_ns => {
                        last.until_ns = anomaly.until_ns;
                        last.reason = anomaly.reason;
                    }
                    _ => known.push(anomaly),
                }
            }
        }
        let mut all: Vec<Anomaly> = by_category.into_values().flatten().collect();
        all.sort_by(|a, b| a.since_ns.cmp(&b.since_ns).then_with(|| a.category.cmp(&b.category)));
        let surplus = all.len().saturating_sub(ANOMALIES_MAX);
        all.split_off(surplus)
    }

    fn interval(&self, index: i64) -> Window {
        let begins = self.window.since.unix_ns().saturating_add(index.saturating_mul(self.bin_ns));
        let since = Timestamp::from_unix_ns(begins).min(self.window.until);
        let ends = since.plus(Nanos::from_ns(self.bin_ns as u64 - 1));
        Window { since, until: ends.min(self.window.until) }
    }
}

fn over_time(name: &str, bins: Vec<Latencies>) -> ServiceOverTime {
    let figures: Vec<_> = bins.into_iter().map(Latencies::figures).collect();
    ServiceOverTime {
        name: name.to_owned(),
        requests: figures.iter().map(|bin| bin.requests).collect(),
        errors: figures.iter().map(|bin| bin.errors).collect(),
        p50_ns: figures.iter().map(|bin| bin.p50_ns).collect(),
        p99_ns: figures.iter().map(|bin| bin.p99_ns).collect(),
    }
}

/// The categories with enough requests in a window to be judged in a part of it.
fn frequent_categories(requests: &Requests, window: Window, service: Option<&str>) -> HashSet<Fingerprint> {
    let names = requests.names();
    let categories = Categories::of(requests, window, |category| {
        let entry = category.positions[0].operation;
        service.is_none_or(|requested| names.operation_key(entry).service == requested)
    });
    let requests_min = CloudDiagSettings::default().requests_min;
    let frequent = categories.iter().filter(|(_, category)| category.requests() >= requests_min);
    frequent.map(|(shape, _)| shape.id).collect()
}

fn anomalies_of(requests: &Requests, interval: Window, frequent: &HashSet<Fingerprint>) -> Vec<Anomaly> {
    let names = requests.names();
    let categories = Categories::of(requests, interval, |category| frequent.contains(&category.id));
    let anomalous = categories.iter().filter_map(|(shape, category)| {
        let key = names.operation_key(shape.positions[0].operation);
        Some(Anomaly {
            category: shape.id.short(),
            service: key.service.to_owned(),
            operation: key.operation.to_owned(),
            since_ns: interval.since.unix_ns(),
            until_ns: interval.until.unix_ns(),
            reason: reason(&category.gate())?,
        })
    });
    anomalous.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_cover_the_window_with_both_its_ends() {
        let time = Timestamp::from_unix_ns;
        let bins = Bins::new(Window { since: time(100), until: time(199) }, 10);
        assert_eq!((bins.bin_ns, bins.of(time(100)), bins.of(time(109)), bins.of(time(110))), (10, 0, 0, 1));
        assert_eq!(bins.of(time(199)), 9);
        let interval = bins.interval(9);
        assert_eq!((interval.since, interval.until), (time(190), time(199)));
        let instant = Bins::new(Window { since: time(5), until: time(5) }, 60);
        assert_eq!((instant.bin_ns, instant.of(time(5))), (1, 0));
        let ever = Bins::new(Window { since: Timestamp::MIN, until: Timestamp::MAX }, 1);
        assert_eq!(ever.of(Timestamp::MAX), 0);
    }
}
