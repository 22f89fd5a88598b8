//! Earlier incidents about the same, and whether they come at regular times.

use super::super::lifecycle::{Alert, AlertList};
use super::IncidentRecord;
use jiff::tz::TimeZone;
use laggard_model::Timestamp;
use laggard_report::{Certainty, Clause, ClauseKind, EvidenceSource, minute};

/// So many earlier incidents at regular times make a pattern.
const PATTERN_MIN: usize = 2;
/// How far from the same time of day an incident may begin.
const SAME_TIME_MINUTES: i64 = 30;
const DAY_MINUTES: i64 = 24 * 60;
const MINUTE_NS: i64 = 60_000_000_000;

/// Earlier incidents about the same operation, server, or replica.
pub(super) fn clause(list: &AlertList, incident: &IncidentRecord) -> Option<Clause> {
    let lead = list.of_incident(incident).next()?;
    let earlier: Vec<&IncidentRecord> = list
        .all_incidents()
        .filter(|other| other.id != incident.id && other.since_ns < incident.since_ns)
        .filter(|other| list.of_incident(other).any(|alert| is_same_suspect(alert, lead)))
        .collect();
    let last = earlier.iter().max_by_key(|other| other.since_ns)?;
    let times: Vec<i64> = earlier.iter().map(|other| other.since_ns).collect();
    let lasted = last.closed_ns.map(|closed| (closed - last.since_ns).max(0) / MINUTE_NS);
    let lasted = lasted.map_or_else(String::new, |minutes| format!(" and lasted {minutes} minutes"));
    let date = minute(Timestamp::from_unix_ns(last.since_ns));
    let mut text = match earlier.len() {
        1 => format!("The same was an incident once before: it began at {date}{lasted}."),
        several => {
            format!("The same was an incident {several} times before: the last began at {date}{lasted}.")
        }
    };
    if let Some(pattern) = pattern(&times, incident.since_ns) {
        text.push_str(&format!(" It comes back {pattern}."));
    }
    Some(Clause {
        kind: ClauseKind::History,
        text,
        certainty: Certainty::Shown,
        sources: vec![EvidenceSource::History],
    })
}

/// The same operation, on the same replica if it is slow on some; or the same resource of a server.
fn is_same_suspect(one: &Alert, other: &Alert) -> bool {
    match (one.finding.operation(), other.finding.operation()) {
        (Some(one), Some(other)) => {
            let is_operation = one.operations().any(|operation| operation == other.operation);
            let is_replica = one.replicas.is_empty()
                || other.replicas.is_empty()
                || one.replicas.iter().any(|replica| other.replicas.contains(replica));
            one.service == other.service && is_operation && is_replica
        }
        _ => one.finding.is_about_the_same(&other.finding),
    }
}

/// `each Wednesday at about 15:00 UTC`: where this and all but a few earlier ones began at the same time of the week, or of the
/// day.
fn pattern(earlier: &[i64], now: i64) -> Option<String> {
    let at = moment(now);
    let near = |period: i64| {
        earlier.iter().filter(move |time| {
            let minutes = (now - **time) / MINUTE_NS;
            let off = minutes.rem_euclid(period);
            minutes >= period / 2 && off.min(period - off) <= SAME_TIME_MINUTES
        })
    };
    let days = |period: i64| {
        let mut days: Vec<i64> =
            near(period).map(|time| (now - time + MINUTE_NS * period / 2) / (MINUTE_NS * period)).collect();
        days.sort_unstable();
        days.dedup();
        days.len()
    };
    let time = at.strftime("%H:%M").to_string();
    // A daily job is also weekly: daily comes first, where most days had it.
    let is_daily = days(DAY_MINUTES) >= PATTERN_MIN && 2 * days(DAY_MINUTES) > days_known(earlier, now);
    let is_weekly = days(7 * DAY_MINUTES) >= PATTERN_MIN;
    let most = |period: i64| 2 * near(period).count() > earlier.len();
    if is_daily && most(DAY_MINUTES) {
        return Some(format!("each day at about {time} UTC"));
    }
    (is_weekly && most(7 * DAY_MINUTES)).then(|| format!("each {} at about {time} UTC", at.strftime("%A")))
}

/// Days since the first.
fn days_known(earlier: &[i64], now: i64) -> usize {
    let first = earlier.iter().min().copied().unwrap_or(now);
    ((now - first) / (DAY_MINUTES * MINUTE_NS)).max(1) as usize
}

fn moment(ns: i64) -> jiff::ZonedDateTime {
    let time =
        jiff::Timestamp::from_nanosecond(i128::from(ns)).expect("64 bits of nanoseconds are within range");
    time.to_zoned_datetime(TimeZone::UTC)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_NS: i64 = DAY_MINUTES * MINUTE_NS;
    /// 2026-01-14T15:00:00Z, a Wednesday.
    const WEDNESDAY: i64 = 1_768_402_800_000_000_000;

    fn before(days: &[i64]) -> Vec<i64> {
        // A few minutes off, as jobs are.
        days.iter().map(|day| WEDNESDAY - day * DAY_NS + (day % 5) * 3 * MINUTE_NS).collect()
    }

    #[test]
    fn incidents_at_the_same_time_of_day_are_a_pattern() {
        let pattern = |days: &[i64]| pattern(&before(days), WEDNESDAY);
        assert_eq!(pattern(&[7, 14, 21]).unwrap(), "each Wednesday at about 15:00 UTC");
        assert_eq!(pattern(&[1, 2, 3, 4]).unwrap(), "each day at about 15:00 UTC");
        assert_eq!(pattern(&[7]), None, "once is no pattern");
        assert_eq!(pattern(&[1, 9, 17, 30]), None, "the same time of day, but seldom");
        assert_eq!(pattern(&[]), None);
        let other_times: Vec<i64> =
            (1..6).map(|day| WEDNESDAY - day * DAY_NS - day * 97 * MINUTE_NS).collect();
        assert_eq!(super::pattern(&other_times, WEDNESDAY), None);
    }
}
