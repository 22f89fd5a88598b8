//! All requests of a tenant: pure, without clock or files.

use super::agents::AgentList;
use super::request::{RecordingReason, RecordingRequest, RecordingState};
use super::rule::{RecordingRequestError, RecordingRule};
use laggard_model::{Nanos, Timestamp};
use laggard_params::Window;
use laggard_report::rfc3339;

// Limit: recordings and their requests, per tenant | the oldest that are not pending are forgotten
/// Most requests of a tenant.
const REQUESTS_MAX: usize = 5_000;

/// Most hosts of one request: a culprit and a healthy peer.
const HOSTS_MAX: usize = 2;

/// The time that `recordings.per_hour` counts.
const HOUR: Nanos = Nanos::from_secs(3_600);

/// How long after the interval an agent may upload it.
const PENDING_MAX: Nanos = Nanos::from_secs(600);

/// How far in the future an interval may end.
const AHEAD_MAX: Nanos = Nanos::from_secs(60);

/// The requests of a tenant, in the order in which they were made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct RequestList {
    pub(super) requests: Vec<RecordingRequest>,
}

impl RequestList {
    pub(super) fn get(&self, id: &str) -> Option<&RecordingRequest> {
        self.requests.iter().find(|request| request.id == id)
    }

    /// Requests the recordings of hosts, all of them or none. What is requested already (for the same incident; by hand:
    /// pending for the same interval) is returned and counts once.
    pub(super) fn request(
        &mut self,
        (rule, agents): (&RecordingRule, &AgentList),
        hosts: &[String],
        (window, reason): (Window, &RecordingReason),
        now: Timestamp,
    ) -> Result<Vec<RecordingRequest>, RecordingRequestError> {
        if hosts.is_empty() || hosts.len() > HOSTS_MAX {
            return Err(RecordingRequestError::Hosts(hosts.len()));
        }
        let mut requested: Vec<RecordingRequest> = Vec::new();
        let mut new: Vec<RecordingRequest> = Vec::new();
        for host in hosts {
            let known = self.requests.iter().find(|request| match &reason.incident {
                Some(_) => request.host == *host && request.incident == reason.incident,
                None => request.is_pending() && request.is_of(host, window),
            });
            let request = match known.or(new.iter().find(|request| request.host == *host)) {
                Some(known) => known.clone(),
                None => {
                    check(rule, agents, host, window, now)?;
                    let request = RecordingRequest::new(host, window, reason, now);
                    new.push(request.clone());
                    request
                }
            };
            requested.push(request);
        }
        let lately = now.minus(HOUR).unix_ns();
        let count = self.requests.iter().filter(|request| request.requested_ns > lately).count();
        if !new.is_empty() && count + new.len() > rule.per_hour {
            return Err(RecordingRequestError::TooMany(rule.per_hour));
        }
        self.requests.extend(new);
        Ok(requested)
    }

    /// The pending requests of a host.
    pub(super) fn pending(&self, host: &str) -> Vec<RecordingRequest> {
        let pending = self.requests.iter().filter(|request| request.host == host && request.is_pending());
        pending.cloned().collect()
    }

    /// Ends a pending request; others stay as they are.
    pub(super) fn end(&mut self, id: &str, state: RecordingState) {
        if let Some(request) =
            self.requests.iter_mut().find(|request| request.id == id && request.is_pending())
        {
            request.state = state;
        }
    }

    /// Whether time alone changes nothing: no request waits, and none is too old.
    pub(super) fn is_settled(&self, rule: &RecordingRule, now: Timestamp) -> bool {
        let oldest = now.minus(rule.keep_for).unix_ns();
        self.requests.iter().all(|request| !request.is_pending() && request.requested_ns >= oldest)
    }

    /// Ends requests that wait for too long, deletes recordings that are too old or, the oldest first, too many, and forgets
    /// requests of no use.
    pub(super) fn expire(&mut self, rule: &RecordingRule, now: Timestamp) {
        for request in &mut self.requests {
            if request.is_pending() && request.until().plus(PENDING_MAX) < now {
                let why = "no agent sent it within ten minutes".to_owned();
                request.state = RecordingState::Missed { why };
            }
        }
        let oldest = now.minus(rule.keep_for).unix_ns();
        let beyond = self.requests.len().saturating_sub(REQUESTS_MAX);
        let mut number = 0;
        self.requests.retain(|request| {
            number += 1;
            request.is_pending() || (request.requested_ns >= oldest && number > beyond)
        });
        let mut bytes: u64 = self.requests.iter().map(RecordingRequest::bytes).sum();
        for request in &mut self.requests {
            if bytes > rule.keep_bytes && request.bytes() > 0 {
                bytes -= request.bytes();
                request.state = RecordingState::Deleted;
            }
        }
    }
}

fn check(
    rule: &RecordingRule,
    agents: &AgentList,
    host: &str,
    window: Window,
    now: Timestamp,
) -> Result<(), RecordingRequestError> {
    if !rule.is_present() {
        return Err(RecordingRequestError::NoRule);
    }
    if !rule.allows(host) {
        return Err(RecordingRequestError::HostNotAllowed(host.to_owned()));
    }
    let interval = |reason: String| Err(RecordingRequestError::Interval(reason));
    let length = window.until.since(window.since).non_negative().unwrap_or(Nanos::ZERO);
    if length == Nanos::ZERO {
        return interval("since must be before until".to_owned());
    }
    if length > rule.length.nanos() {
        return interval(format!(
            "the interval is {:.1} s long; recordings.length allows {}",
            length.as_ms() / 1e3,
            rule.length
        ));
    }
    if window.until > now.plus(AHEAD_MAX) {
        return interval(format!("until is {}, more than a minute from now", rfc3339(window.until)));
    }
    agents.check(host, now)
}

#[cfg(test)]
mod tests {
    use super::super::agents::AgentStatus;
    use super::*;
    use crate::settings::{Length, RecordingSettings, Size};

    const SECOND: i64 = 1_000_000_000;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_unix_ns(1_768_208_400 * SECOND + second * SECOND)
    }

    fn window(since: i64, until: i64) -> Window {
        Window { since: time(since), until: time(until) }
    }

    fn rule(change: impl FnOnce(&mut RecordingSettings)) -> RecordingRule {
        let mut settings = RecordingSettings {
            hosts: vec!["web-*".to_owned()],
            per_hour: 3,
            length: Length::from_secs(30),
            ..RecordingSettings::default()
        };
        change(&mut settings);
        RecordingRule::new(&settings)
    }

    fn agents(now: i64) -> AgentList {
        let mut agents = AgentList::default();
        for (host, recording) in [("web-1", true), ("web-2", true), ("web-3", false), ("db-1", true)] {
            let polled_ns = time(now).unix_ns();
            agents.polled(AgentStatus {
                host: host.to_owned(),
                polled_ns,
                recording,
                note: "no tracefs".to_owned(),
            });
        }
        agents
    }

    fn incident(id: &str) -> RecordingReason {
        RecordingReason { incident: Some(id.to_owned()), text: "web is slow".to_owned() }
    }

    fn hosts(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn without_a_rule_nothing_is_requested() {
        let mut list = RequestList::default();
        let none = RecordingRule::new(&RecordingSettings::default());
        let subject = (window(0, 10), &incident("a"));
        let refused = list.request((&none, &agents(10)), &hosts(&["web-1"]), subject, time(10));
        assert_eq!(refused, Err(RecordingRequestError::NoRule));
        assert_eq!(list, RequestList::default());
    }

    #[test]
    fn recording_requests_stay_within_the_rule() {
        let (rule, agents, all) = (rule(|_| {}), agents(100), window(70, 100));
        for (names, window, now, reason) in [
            (&["web-1"][..], all, 100, None),
            (&["web-1", "web-2"], all, 100, None),
            (&[], all, 100, Some("0 hosts")),
            (&["web-1", "web-2", "web-4"], all, 100, Some("3 hosts")),
            (&["db-1"], all, 100, Some("\"db-1\" may not record")),
            (&["web-1", "db-1"], all, 100, Some("may not record")),
            (&["web-4"], all, 100, Some("no agent of \"web-4\"")),
            (&["web-1"], all, 161, Some("no agent of \"web-1\"")),
            (&["web-3"], all, 100, Some("does not record: no tracefs")),
            (&["web-1"], window_of(69, 100), 100, Some("recordings.length allows")),
            (&["web-1"], window_of(100, 100), 100, Some("since must be before until")),
            (&["web-1"], window_of(140, 161), 100, Some("more than a minute")),
        ] {
            let mut list = RequestList::default();
            let made = list.request((&rule, &agents), &hosts(names), (window, &incident("a")), time(now));
            match reason {
                None => assert_eq!(made.unwrap(), list.requests, "{names:?}"),
                Some(reason) => {
                    let error = made.unwrap_err().to_string();
                    assert!(error.contains(reason), "{error}");
                    assert_eq!(list, RequestList::default(), "{names:?}");
                }
            }
        }
    }

    fn window_of(since: i64, until: i64) -> Window {
        window(since, until)
    }

    #[test]
    fn an_incident_is_requested_once_and_the_hour_has_a_limit() {
        let (rule, agents, mut list) = (rule(|_| {}), agents(100), RequestList::default());
        let mut request = |names: &[&str], id: &str, now: i64| {
            let subject = (window(now - 10, now), incident(id));
            list.request((&rule, &agents), &hosts(names), (subject.0, &subject.1), time(now))
        };
        let first = request(&["web-1", "web-2"], "a", 100).unwrap();
        assert_eq!(request(&["web-1", "web-2"], "a", 130).unwrap(), first);
        assert_eq!(request(&["web-1", "web-2"], "b", 130), Err(RecordingRequestError::TooMany(3)));
        assert_eq!(request(&["web-1"], "b", 130).unwrap().len(), 1);
        assert_eq!(request(&["web-1"], "c", 140), Err(RecordingRequestError::TooMany(3)));
        // A known request does not count against the limit.
        assert_eq!(request(&["web-2"], "a", 140).unwrap(), first[1..]);
        assert_eq!(list.requests.len(), 3);
        let (later, agents) = (3_600 + 101, self::agents(3_600 + 101));
        let subject = (window(later - 10, later), incident("c"));
        let made = list.request((&rule, &agents), &hosts(&["web-1"]), (subject.0, &subject.1), time(later));
        assert_eq!(made.unwrap().len(), 1);
    }

    #[test]
    fn the_same_host_twice_is_one_request() {
        let (rule, agents, mut list) = (rule(|_| {}), agents(100), RequestList::default());
        let by_hand = RecordingReason { incident: None, text: String::new() };
        let mut request = |names: &[&str]| {
            list.request((&rule, &agents), &hosts(names), (window(90, 100), &by_hand), time(100)).unwrap()
        };
        let made = request(&["web-1", "web-1"]);
        assert_eq!(made[0], made[1]);
        assert_eq!(request(&["web-1"]), made[..1]);
        assert_eq!(list.requests.len(), 1);
    }

    fn stored(list: &mut RequestList, bytes: u64) {
        let ids: Vec<String> = list.requests.iter().map(|request| request.id.clone()).collect();
        ids.iter().for_each(|id| list.end(id, RecordingState::Stored { bytes, stored_ns: 0 }));
    }

    #[test]
    fn requests_expire_and_the_oldest_recordings_make_space() {
        let limits = |settings: &mut RecordingSettings| {
            settings.per_hour = 100;
            settings.keep_bytes = Size(250);
            settings.keep_for = Length::from_secs(7_200);
        };
        let (rule, mut list) = (rule(limits), RequestList::default());
        for minute in 0..4 {
            let now = minute * 60 + 60;
            let subject = (window(now - 10, now), incident(&minute.to_string()));
            list.request((&rule, &agents(now)), &hosts(&["web-1"]), (subject.0, &subject.1), time(now))
                .unwrap();
        }
        let before = list.clone();
        list.expire(&rule, time(300));
        assert_eq!(list, before, "nothing is too old, and nothing is stored");
        list.expire(&rule, time(661));
        let states: Vec<bool> = list.requests.iter().map(RecordingRequest::is_pending).collect();
        assert_eq!(states, [false, true, true, true], "ten minutes after its interval");
        stored(&mut list, 100);
        list.expire(&rule, time(700));
        let bytes: Vec<u64> = list.requests.iter().map(RecordingRequest::bytes).collect();
        assert_eq!(bytes, [0, 0, 100, 100], "the oldest was deleted");
        assert_eq!(list.requests[1].state, RecordingState::Deleted);
        list.end(&list.requests[1].id.clone(), RecordingState::Pending);
        assert_eq!(list.requests[1].state, RecordingState::Deleted, "what has ended stays so");
        assert!(list.is_settled(&rule, time(701)) && !list.is_settled(&rule, time(7_200 + 200)));
        list.expire(&rule, time(7_200 + 200));
        assert_eq!(list.requests.len(), 1, "{list:?}");
    }
}
