//! The times that have a signature of their own.

use laggard_model::{Fingerprint, Nanos, Timestamp};
use laggard_report::{SystemEvent, SystemEventKind};

/// A time that has a signature: of a release of one service, or of a day of the whole system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SignaturePeriod {
    /// The service that was deployed; empty for a day.
    pub(super) service: String,
    /// Its version; empty for a day.
    pub(super) version: String,
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
}

const MINUTE: Nanos = Nanos::from_secs(60);
const DAY: Nanos = Nanos::from_secs(86_400);
/// Replicas are replaced one by one, and caches are cold at first.
const SETTLING: Nanos = Nanos::from_secs(5 * 60);
/// Samples arrive late.
const LATE: Nanos = Nanos::from_secs(2 * 60);
/// A signature needs 30 windows of a minute at least.
const LENGTH_MIN: Nanos = Nanos::from_secs(31 * 60);
/// Periods that began longer ago are not made up for after a restart.
const LOOK_BACK: Nanos = Nanos::from_secs(3 * 86_400);

impl SignaturePeriod {
    /// The same for the same release, or the same day.
    pub(super) fn id(&self) -> String {
        let name = format!("{}\0{}\0{}", self.service, self.version, self.since.unix_ns());
        Fingerprint::from_bytes(name.as_bytes()).short()
    }

    /// Whether all its samples have arrived.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.until.plus(LATE) <= now
    }

    /// As far as it has passed.
    pub(super) fn so_far(mut self, now: Timestamp) -> SignaturePeriod {
        self.until = self.until.min(minute_of(now.minus(LATE)));
        self
    }

    fn length(&self) -> i64 {
        self.until.since(self.since).ns()
    }
}

/// The periods up to now that are long enough: each release until the next of its service, a day at most; and the last whole days
/// (UTC). A release that still runs has a period that is not over.
pub(super) fn periods(events: &[SystemEvent], now: Timestamp) -> Vec<SignaturePeriod> {
    let deployments: Vec<&SystemEvent> = events
        .iter()
        .filter(|event| event.kind == SystemEventKind::Deployment && event.version.is_some())
        .collect();
    let release = |(index, event): (usize, &&SystemEvent)| {
        let since = minute_of(event.at().plus(SETTLING).plus(MINUTE));
        let next = deployments[index + 1..].iter().find(|next| next.service == event.service);
        let until = next.map_or(Timestamp::MAX, |next| minute_of(next.at())).min(since.plus(DAY));
        let version = event.version.clone().unwrap_or_default();
        SignaturePeriod { service: event.service.clone(), version, since, until }
    };
    let releases = deployments.iter().enumerate().map(release);
    let today = now.unix_ns().div_euclid(DAY.ns() as i64);
    let days = (today - 2..today).map(|day| {
        let since = Timestamp::from_unix_ns(day * DAY.ns() as i64);
        SignaturePeriod { service: String::new(), version: String::new(), since, until: since.plus(DAY) }
    });
    let is_long_enough = |period: &SignaturePeriod| {
        let passed = period.clone().so_far(now);
        period.since >= now.minus(LOOK_BACK) && passed.length() >= LENGTH_MIN.ns() as i64
    };
    releases.chain(days).filter(is_long_enough).collect()
}

fn minute_of(time: Timestamp) -> Timestamp {
    let minute = MINUTE.ns() as i64;
    Timestamp::from_unix_ns(time.unix_ns().div_euclid(minute) * minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000_000;

    fn deployment(service: &str, version: &str, at: i64) -> SystemEvent {
        SystemEvent {
            version: Some(version.to_owned()),
            ..SystemEvent::declared(
                SystemEventKind::Deployment,
                service.to_owned(),
                Timestamp::from_unix_ns(at),
            )
        }
    }

    #[test]
    fn a_release_lasts_until_the_next_of_its_service_and_a_short_one_has_no_period() {
        let start = 1_000 * 24 * HOUR;
        let events = [
            deployment("cart", "1", start),
            deployment("shop", "7", start + HOUR / 3),
            deployment("cart", "2", start + 3 * HOUR),
            deployment("cart", "3", start + 3 * HOUR + HOUR / 2),
        ];
        let now = Timestamp::from_unix_ns(start + 40 * HOUR);
        let mut all = periods(&events, now);
        all.retain(|period| !period.service.is_empty());
        let found: Vec<(&str, i64, bool)> = all
            .iter()
            .map(|period| (&*period.version, period.length() / (HOUR / 60), period.is_over(now)))
            .collect();
        assert_eq!(found, [("1", 174, true), ("7", 1_440, true), ("3", 1_440, true)], "minutes");
        assert!(
            periods(&events, Timestamp::from_unix_ns(start + 120 * HOUR))
                .iter()
                .all(|period| period.service.is_empty())
        );
    }
}
