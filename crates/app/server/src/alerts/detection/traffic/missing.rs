//! Services that requests no longer reach.
//!
//! Requests that enter at a service are counted in its latest minutes and in every part of the baseline that is as long. Traffic
//! varies by the hour, so that only a fall far below the smallest of those parts counts; what is as low every day is left out.

use super::super::super::evaluate::{Finding, Recovery};
use super::super::confirmation::parts_of;
use super::super::{Compared, before, day_before};
use super::{ChangeShown, TrafficChange, finding};
use laggard_engine::Requests;
use laggard_model::{Nanos, Timestamp};
use laggard_numeric::binomial_upper_tail;
use laggard_params::Window;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Lengths of the latest part that is counted.
const LENGTHS: [Nanos; 3] = [Nanos::from_secs(300), Nanos::from_secs(600), Nanos::from_secs(900)];
/// Parts of the baseline that tell what is usual.
const PARTS_MIN: usize = 6;
/// The latest part has at most this share of the requests of the smallest part of the baseline …
const SHARE_MAX: f64 = 0.2;
/// … and is shown at this level to have less than this share of them.
const LEVEL: f64 = 1e-5;
const SHOWN_SHARE: f64 = 0.5;
/// From this share of the usual requests on they are back.
const RECOVERED_SHARE: f64 = 0.5;

/// Start of every request that enters at a service, ascending, with its operation.
struct Entries<'a> {
    by_service: BTreeMap<&'a str, Vec<(Timestamp, &'a str)>>,
    first: Option<Timestamp>,
}

impl Entries<'_> {
    fn new(requests: &Requests, window: Window) -> Entries<'_> {
        let names = requests.names();
        let mut by_service: BTreeMap<&str, Vec<(Timestamp, &str)>> = BTreeMap::new();
        for request in requests.within(window.since, window.until).iter() {
            let entry = names.operation_key(request.tree().operation[0]);
            by_service.entry(entry.service).or_default().push((request.start(), entry.operation));
        }
        by_service.values_mut().for_each(|entries| entries.sort_unstable());
        let first = by_service.values().filter_map(|entries| Some(entries.first()?.0)).min();
        Entries { by_service, first }
    }

    fn of(&self, service: &str) -> &[(Timestamp, &str)] {
        self.by_service.get(service).map_or(&[], Vec::as_slice)
    }
}

fn count(entries: &[(Timestamp, &str)], window: Window) -> u64 {
    let first = entries.partition_point(|(start, _)| *start < window.since);
    let last = entries.partition_point(|(start, _)| *start <= window.until);
    last.saturating_sub(first) as u64
}

/// Services that get far fewer requests than in any part of the baseline. `day` has the requests of the day before; it is called
/// only for a fall that is in question.
pub(in crate::alerts::detection) fn missing_requests(
    requests: &Requests,
    compared: Compared,
    day: &impl Fn(Window) -> Option<Arc<Requests>>,
    is_known: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    let entries = Entries::new(requests, compared.all());
    let Some(first) = entries.first else { return Vec::new() };
    let stored = Window { since: compared.baseline.since.max(first), ..compared.baseline };
    let fallen = |(service, own): (&&str, &Vec<(Timestamp, &str)>)| {
        let fall =
            LENGTHS.into_iter().find_map(|length| Fall::of(own, length, stored, compared.window.until))?;
        let is_news =
            is_known(service) || !fall.is_daily(service, day(day_before(compared.window)), compared.window);
        is_news.then(|| of_service(service, own, &fall, stored))
    };
    entries.by_service.iter().filter_map(fallen).collect()
}

/// How far the requests of a service fell.
struct Fall {
    length: Nanos,
    /// Those of the smallest part of the baseline.
    smallest: u64,
    /// Their mean.
    usual: f64,
    latest: u64,
    p_value: f64,
    /// The last request before the fall.
    last: Option<Timestamp>,
}

impl Fall {
    fn of(entries: &[(Timestamp, &str)], length: Nanos, baseline: Window, until: Timestamp) -> Option<Fall> {
        let parts: Vec<u64> = parts_of(baseline, length).map(|part| count(entries, part)).collect();
        if parts.len() < PARTS_MIN {
            return None;
        }
        let smallest = *parts.iter().min()?;
        let latest = count(entries, before(length, until));
        let p_value = binomial_upper_tail(smallest + latest, 1.0 / (1.0 + SHOWN_SHARE), smallest);
        let has_fallen = latest as f64 <= SHARE_MAX * smallest as f64 && p_value <= LEVEL;
        has_fallen.then(|| Fall {
            length,
            smallest,
            usual: parts.iter().sum::<u64>() as f64 / parts.len() as f64,
            latest,
            p_value,
            last: entries.last().map(|(start, _)| *start).filter(|_| latest == 0),
        })
    }

    fn share(&self) -> f64 {
        self.latest as f64 / self.usual.max(1.0)
    }

    /// Whether some part of the same time a day earlier had as few.
    fn is_daily(&self, service: &str, day: Option<Arc<Requests>>, window: Window) -> bool {
        let daily = day_before(window);
        let Some(requests) = day else { return false };
        let entries = Entries::new(&requests, daily);
        let limit = SHOWN_SHARE * self.smallest as f64;
        entries.first.is_some()
            && parts_of(daily, self.length).any(|part| count(entries.of(service), part) as f64 <= limit)
    }
}

fn of_service(service: &str, entries: &[(Timestamp, &str)], fall: &Fall, baseline: Window) -> Finding {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let usual = entries.iter().filter(|(start, _)| (baseline.since..=baseline.until).contains(start));
    usual.for_each(|(_, operation)| *counts.entry(operation).or_default() += 1);
    let mut operations: Vec<(&str, u64)> = counts.into_iter().collect();
    operations.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let shown = ChangeShown {
        rate: fall.share(),
        usual_rate: 1.0,
        p_value: fall.p_value,
        calls: fall.latest,
        onset: fall.last,
    };
    let operation = operations.first().map_or_else(String::new, |(operation, _)| (*operation).to_owned());
    Finding { operation, ..finding(TrafficChange::MissingRequests, service, shown) }
}

/// What the latest minutes say about a service that requests did not reach.
pub(super) fn missing_recovery(
    finding: &Finding,
    requests: &Requests,
    usual: Window,
    until: Timestamp,
) -> Recovery {
    let length = LENGTHS[0];
    let latest = Entries::new(requests, before(length, until));
    let earlier = Entries::new(requests, usual);
    let own = earlier.of(&finding.service);
    let parts: Vec<u64> = parts_of(usual, length).map(|part| count(own, part)).collect();
    let all: u64 = parts.iter().sum();
    if all == 0 {
        return Recovery::Unknown;
    }
    let usual = all as f64 / parts.len() as f64;
    match latest.of(&finding.service).len() as f64 >= RECOVERED_SHARE * usual {
        true => Recovery::Recovered,
        false => Recovery::StillSlow,
    }
}
