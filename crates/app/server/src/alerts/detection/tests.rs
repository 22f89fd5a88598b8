//! Evaluations of requests with known slow intervals against their baselines.

use super::super::evaluate::Recovery;
use super::super::lifecycle::AlertState;
use super::*;
use laggard_engine::{Ingest, IngestSettings};
use laggard_model::{
    ReplicaSource, Sampling, Sink, SpanAttributes, SpanId, SpanKind, SpanRecord, Status, TraceId,
};
use laggard_report::BehaviorChange;
use std::num::NonZeroUsize;
use std::sync::Arc;

const MINUTE_NS: i64 = 60_000_000_000;
const MS: i64 = 1_000_000;

/// Minutes after 2026-01-12T00:00:00Z.
pub(super) fn minute(at: i64) -> Timestamp {
    Timestamp::from_unix_ns(1_768_176_000_000_000_000 + at * MINUTE_NS)
}

/// A request every ten seconds, at `web`, which calls `db`: 4 ms, but 20 in slow minutes.
fn requests(minutes: std::ops::Range<i64>, is_slow: impl Fn(i64) -> bool) -> Arc<Requests> {
    requests_with_errors(minutes, is_slow, |_| false)
}

/// The same, and in some minutes every third call of `db` fails.
fn requests_with_errors(
    minutes: std::ops::Range<i64>,
    is_slow: impl Fn(i64) -> bool,
    fails: impl Fn(i64) -> bool,
) -> Arc<Requests> {
    requests_with(minutes, |at| is_slow(at / 6), |at| fails(at / 6) && at % 3 == 0, |_| false)
}

/// The same by the number of the request, and some call `rare` of `db` instead.
fn requests_with(
    minutes: std::ops::Range<i64>,
    is_slow: impl Fn(i64) -> bool,
    fails: impl Fn(i64) -> bool,
    is_rare: impl Fn(i64) -> bool,
) -> Arc<Requests> {
    requests_of(minutes, |at| if is_slow(at) { 20 * MS } else { 4 * MS }, fails, is_rare)
}

/// The same of some minutes, nothing slow.
fn requests_at(minutes: impl Iterator<Item = i64>) -> Arc<Requests> {
    requests_of(minutes, |_| 4 * MS, |_| false, |_| false)
}

/// The same by the time of `db`, by the number of the request.
fn requests_of(
    minutes: impl Iterator<Item = i64>,
    db_ns: impl Fn(i64) -> i64,
    fails: impl Fn(i64) -> bool,
    is_rare: impl Fn(i64) -> bool,
) -> Arc<Requests> {
    let mut ingest = Ingest::new(IngestSettings::default());
    for step in minutes.flat_map(|minute| minute * 6..minute * 6 + 6) {
        let start = minute(0).unix_ns() + step * MINUTE_NS / 6;
        let jitter = step * 7_919 % 500 * 1_000;
        let db = db_ns(step) + jitter;
        let status = if fails(step) { Status::Error } else { Status::Ok };
        let mut span = |id: u64, parent: Option<u64>, service, operation, start: i64, inclusive: i64| {
            ingest.span(&SpanRecord {
                trace_id: TraceId::from_value(step as u128 + 1),
                trace_text: None,
                span_id: SpanId::new(id).unwrap(),
                parent: parent.and_then(SpanId::new),
                service,
                operation,
                kind: SpanKind::Server,
                status,
                replica: service,
                replica_source: ReplicaSource::Host,
                start: Timestamp::from_unix_ns(start),
                inclusive: Nanos::from_ns(inclusive as u64),
                sampling: Sampling::default(),
                attributes: SpanAttributes::default(),
            });
        };
        span(1, None, "web", "buy", start, 6 * MS + db);
        span(2, Some(1), "db", if is_rare(step) { "rare" } else { "read" }, start + MS, db);
    }
    Arc::new(Requests::from_traces(ingest.finish(NonZeroUsize::MIN), NonZeroUsize::MIN))
}

pub(super) fn detection() -> Detection {
    let usual = Detection::from_settings(&crate::AlertSettings::default());
    Detection { settings: EvaluationSettings { requests_min: 50, ..usual.settings }, ..usual }
}

fn evaluation(alerts: &AlertList, requests: &Arc<Requests>, at: i64) -> Result<Evaluation, TooFewRequests> {
    let day = |_| Some(Arc::clone(requests));
    detection().evaluate(alerts, requests, day, minute(at), LocalEngine::new(NonZeroUsize::MIN))
}

fn names(evaluation: &Evaluation) -> Vec<&str> {
    evaluation.findings.iter().map(|finding| finding.operation.as_str()).collect()
}

/// Evaluations every five minutes; the state after each: `.`, `p`, `F`.
fn watch(alerts: &mut AlertList, requests: &Arc<Requests>, from: i64, to: i64) -> String {
    let mut out = String::new();
    for time_min in (from..to).step_by(5) {
        let evaluation = evaluation(alerts, requests, time_min).unwrap();
        alerts.apply(&evaluation, detection().rules, minute(time_min));
        out.push(match alerts.active.first().map(|alert| alert.state) {
            None => '.',
            Some(AlertState::Pending) => 'p',
            Some(_) => 'F',
        });
    }
    out
}

#[test]
fn slow_operations_have_findings_until_they_recover() {
    // Three hours quiet, four slow, one quiet: slow for longer than the length of the baseline.
    let requests = requests(0..480, |at| (180..420).contains(&at));
    let mut alerts = AlertList::default();
    let states = watch(&mut alerts, &requests, 140, 480);
    let first = states.find('p').unwrap();
    assert!((9..=10).contains(&first), "found within ten minutes: {states}");
    let firing = states.matches('F').count();
    assert!(states[first + 1..].starts_with(&"F".repeat(firing)), "without a gap: {states}");
    assert!((48..60).contains(&firing) && states.ends_with('.'), "and over in the end: {states}");
    let finding = alerts.resolved[0].finding.operation().unwrap();
    assert_eq!((alerts.resolved.len(), finding.operation.as_str()), (1, "read"));
    let since = alerts.resolved[0].since_ns - minute(180).unix_ns();
    assert!(since.abs() < 2 * MINUTE_NS, "slow since the onset: {} min", since / MINUTE_NS);
}

#[test]
fn failing_operations_have_findings_until_they_recover() {
    let requests = requests_with_errors(0..300, |_| false, |at| (200..240).contains(&at));
    let mut alerts = AlertList::default();
    let states = watch(&mut alerts, &requests, 140, 300);
    assert!(states.contains('F') && states.ends_with('.'), "{states}");
    let alert = &alerts.resolved[0];
    let finding = alert.finding.operation().unwrap();
    assert_eq!((alerts.resolved.len(), finding.operation.as_str()), (1, "read"));
    assert!(finding.is_failing() && finding.slower == 0.0, "{finding:?}");
    assert!(
        alert.finding.summary().starts_with("Operation `read` of `db` fails in "),
        "{}",
        alert.finding.summary()
    );
    assert_eq!(alert.ended.as_deref(), Some("it behaves as before"));
    let since = alert.since_ns - minute(200).unix_ns();
    assert!(since.abs() < 2 * MINUTE_NS, "failing since the onset: {} min", since / MINUTE_NS);
}

#[test]
fn an_operation_that_fails_for_longer_than_the_baseline_has_one_alert_until_it_recovers() {
    let end = 200 + 180;
    let requests = requests_with_errors(0..end + 40, |_| false, |at| (200..end).contains(&at));
    let mut alerts = AlertList::default();
    watch(&mut alerts, &requests, 190, end + 40);
    assert_eq!((alerts.resolved.len(), alerts.active.len()), (1, 0), "{alerts:?}");
    let after =
        Timestamp::from_unix_ns(alerts.resolved[0].resolved_ns.unwrap()).unix_ns() - minute(end).unix_ns();
    assert!(
        (0..=30 * MINUTE_NS).contains(&after),
        "one evaluation in ten minutes: {} min",
        after / MINUTE_NS
    );
}

#[test]
fn daily_slowdowns_are_not_findings() {
    const DAY: i64 = 24 * 60;
    let backup = |at: i64| (300..330).contains(&(at % DAY));
    let requests = requests(0..DAY + 400, backup);
    let alerts = AlertList::default();
    for time_min in [303, 306, 310, 320, 330, 335, 340, 350] {
        let evaluation = evaluation(&alerts, &requests, DAY + time_min).unwrap();
        assert!(evaluation.findings.is_empty(), "{time_min}: {evaluation:?}");
    }
    let only_today = self::requests(0..DAY + 400, |at| at > DAY && backup(at));
    assert_eq!(names(&evaluation(&alerts, &only_today, DAY + 320).unwrap()), ["read"]);
}

#[test]
fn yesterdays_slowdown_does_not_hide_todays() {
    const DAY: i64 = 24 * 60;
    let requests = requests(0..DAY + 400, |at| (300..330).contains(&(at % DAY)));
    let mut alerts = AlertList::default();
    let states = watch(&mut alerts, &requests, 290, 400);
    assert!(states.contains('F') && states.ends_with('.'), "it was an alert yesterday: {states}");
    assert_eq!(names(&evaluation(&alerts, &requests, DAY + 320).unwrap()), ["read"]);
}

#[test]
fn too_few_requests_are_an_error() {
    let requests = requests(0..140, |at| at > 125);
    let alerts = AlertList::default();
    assert_eq!(evaluation(&alerts, &requests, 20).unwrap_err(), TooFewRequests { window: 90, baseline: 31 });
    assert_eq!(evaluation(&alerts, &requests, 300).unwrap_err().window, 0);
}

#[test]
fn a_new_system_is_watched_as_soon_as_a_short_window_has_a_baseline() {
    let usual = detection();
    let detection =
        Detection { settings: EvaluationSettings { requests_min: 20, ..usual.settings }, ..usual };
    let evaluated = |at: i64, slow_from: i64| {
        let requests = requests(0..at, |at| at >= slow_from);
        let engine = LocalEngine::new(NonZeroUsize::MIN);
        let evaluation =
            detection.evaluate(&AlertList::default(), &requests, |_| None, minute(at), engine)?;
        Ok::<_, TooFewRequests>(
            evaluation.all().map(|(finding, ..)| finding.operation.clone()).collect::<Vec<String>>(),
        )
    };
    // The usual window of a quarter of an hour has no baseline until then.
    assert!(evaluated(8, 4).is_err(), "less before the window than in it");
    assert_eq!(evaluated(14, 9).unwrap(), ["read"]);
    assert_eq!(evaluated(14, 14).unwrap(), [""; 0]);
}

/// Whether an alert about missing requests fires, at evaluations of five minutes; `without` has the minutes without requests.
fn watch_traffic(all: std::ops::Range<i64>, without: std::ops::Range<i64>) -> (String, AlertList) {
    let stored: Vec<i64> = all.clone().filter(|at| !without.contains(at)).collect();
    let mut alerts = AlertList::default();
    let mut out = String::new();
    for time_min in (140..all.end).step_by(5) {
        let requests = requests_at(stored.iter().copied().filter(|&minute| minute < time_min));
        let engine = LocalEngine::new(NonZeroUsize::MIN);
        let day = |_| Some(Arc::clone(&requests));
        let evaluation = match without.contains(&(time_min - 1)) {
            true => detection().evaluate_traffic(&alerts, &requests, day, minute(time_min), engine),
            false => detection().evaluate(&alerts, &requests, day, minute(time_min), engine).ok(),
        };
        if let Some(evaluation) = evaluation {
            alerts.apply(&evaluation, detection().rules, minute(time_min));
        }
        out.push(if alerts.lack_requests() { 'F' } else { '.' });
    }
    (out, alerts)
}

#[test]
fn missing_requests_are_an_alert_until_they_return() {
    let (states, alerts) = watch_traffic(0..480, 200..400);
    // Found after five minutes, and fires at the second evaluation; back at 400, and resolved after five of them.
    let first = states.find('F').expect("an alert");
    assert!((200 + 5..=200 + 15).contains(&(140 + 5 * first as i64)), "{states}");
    assert!(states.trim_end_matches('.').ends_with(&"F".repeat(39)), "without a gap: {states}");
    let alert = &alerts.resolved[0];
    assert_eq!((alerts.resolved.len(), alert.ended.as_deref()), (1, Some("requests reach it again")));
    assert!((minute(200).unix_ns() - alert.since_ns) < 2 * MINUTE_NS);
    assert!(
        alert.finding.summary().starts_with("`web` gets 0 % of the requests that it usually gets"),
        "{}",
        alert.finding.summary()
    );
}

#[test]
fn half_as_many_requests_are_no_alert() {
    let half = requests_at((0..200).chain((200..320).filter(|at| at % 2 == 0)));
    let alerts = AlertList::default();
    for time_min in (205..320).step_by(5) {
        let engine = LocalEngine::new(NonZeroUsize::MIN);
        let evaluation = detection().evaluate_traffic(&alerts, &half, |_| None, minute(time_min), engine);
        assert_eq!(evaluation, None, "{time_min}");
    }
}

#[test]
fn requests_that_stop_every_day_at_this_time_are_no_alert() {
    const DAY: i64 = 24 * 60;
    let daily = requests_at((0..DAY + 310).filter(|at| !(300..330).contains(&(at % DAY))));
    let only_today = requests_at(0..DAY + 300);
    let found = |requests: &Arc<Requests>| {
        let day = |_| Some(Arc::clone(requests));
        let engine = LocalEngine::new(NonZeroUsize::MIN);
        let alerts = AlertList::default();
        detection().evaluate_traffic(&alerts, requests, day, minute(DAY + 310), engine).is_some()
    };
    assert!(!found(&daily));
    assert!(found(&only_today));
}

#[test]
fn an_alert_without_its_baseline_does_not_resolve() {
    let all = requests(0..400, |at| at >= 180);
    let mut alerts = AlertList::default();
    watch(&mut alerts, &all, 170, 200);
    assert_eq!(alerts.firing().count(), 1);
    // The quiet time was deleted; the rest is slow throughout.
    let late = requests(220..400, |_| true);
    let evaluation = evaluation(&alerts, &late, 390).unwrap();
    assert!(evaluation.findings.is_empty(), "{evaluation:?}");
    let recoveries: Vec<Recovery> = evaluation.recoveries.values().copied().collect();
    assert_eq!(recoveries, [Recovery::Unknown]);
}

#[test]
fn a_slowdown_ends_when_the_latest_calls_are_fast() {
    let requests = requests(0..400, |at| (180..300).contains(&at));
    let mut alerts = AlertList::default();
    watch(&mut alerts, &requests, 150, 300);
    let recovery = |at: i64| evaluation(&alerts, &requests, at).unwrap().recoveries.into_values().next();
    assert_eq!(recovery(299), Some(Recovery::StillSlow));
    assert_eq!(recovery(305), Some(Recovery::Recovered), "while the window still has slow minutes");
}

/// A server that is restarted evaluates the window again in which it found the slowdown.
#[test]
fn a_slowdown_is_not_over_before_there_are_later_calls() {
    let requests = requests(0..400, |at| at >= 180);
    let mut alerts = AlertList::default();
    watch(&mut alerts, &requests, 150, 200);
    let mut recovery = |evident: i64| {
        alerts.active[0].evident_until_ns = minute(evident).unix_ns();
        evaluation(&alerts, &requests, 200).unwrap().recoveries.into_values().next()
    };
    assert_eq!(
        [199, 200, 201].map(&mut recovery),
        [Some(Recovery::StillSlow), Some(Recovery::Unknown), Some(Recovery::Unknown)]
    );
}

#[test]
fn rare_calls_have_findings_in_a_longer_window() {
    // Every 45th request is slow: one in seven and a half minutes, too few in a quarter of an hour.
    let requests = requests_with(0..480, |at| at % 45 == 0 && at / 6 >= 300, |_| false, |at| at % 45 == 0);
    let mut alerts = AlertList::default();
    let states = watch(&mut alerts, &requests, 290, 420);
    let firing = alerts.firing().next().unwrap_or_else(|| panic!("{states}"));
    assert_eq!(firing.finding.operation().unwrap().operation, "rare");
    let length = firing.window.until_ns - firing.window.since_ns;
    assert_eq!(length / MINUTE_NS, 59, "found in the window of an hour");
}

#[test]
fn operations_of_one_service_are_one_finding() {
    let finding = |service: &str, operation: &str, slower: f64| Finding {
        slower,
        ..crate::alerts::lifecycle::tests::finding(&format!("{service} {operation}"))
    };
    let found = vec![finding("db", "read", 0.1), finding("cart", "add", 0.2), finding("db", "write", 0.3)];
    let joined = by_service(found);
    let operations: Vec<Vec<&str>> = joined.iter().map(|finding| finding.operations().collect()).collect();
    assert_eq!(operations, [vec!["read", "write"], vec!["add"]]);
    assert_eq!((joined[0].service.as_str(), joined[0].slower), ("db", 0.3));
}

#[test]
fn callers_of_failing_operations_are_not_findings() {
    let requests = requests(0..10, |_| false);
    let finding = crate::alerts::lifecycle::tests::finding;
    let failing = |name: &str, kind: &str| {
        let behavior = vec![BehaviorChange {
            kind: kind.to_owned(),
            callees: Vec::new(),
            rate: 0.5,
            usual_rate: 0.0,
            is_against_peers: false,
            p_value: 1e-9,
            calls: 100,
        }];
        Finding { behavior, ..finding(name) }
    };
    let (caller, callee) = (finding("web buy"), failing("db read", "errors"));
    assert!(is_explained(&caller, &callee, &requests));
    assert!(is_explained(&failing("web buy", "missing-calls"), &callee, &requests));
    assert!(!is_explained(&failing("web buy", "errors"), &callee, &requests), "errors start there, too");
    assert!(!is_explained(&finding("cart add"), &callee, &requests), "it does not call what fails");
    assert!(!is_explained(&finding("db read"), &failing("web buy", "errors"), &requests), "a callee");
    assert!(!is_explained(&caller, &finding("db read"), &requests), "nothing fails");
    let seldom = Finding { requests_hit: 5, ..callee };
    assert!(!is_explained(&caller, &seldom, &requests), "it fails in too few of the slow requests");
}

#[test]
fn a_large_slowdown_is_confirmed_within_minutes() {
    let requests = requests(0..260, |at| at >= 240);
    let (mut alerts, mut states) = (AlertList::default(), String::new());
    for time_min in 236..250 {
        let evaluation = evaluation(&alerts, &requests, time_min).unwrap();
        alerts.apply(&evaluation, detection().rules, minute(time_min));
        states.push(if alerts.firing().next().is_some() { 'F' } else { '.' });
    }
    let fired = states.find('F').unwrap_or_else(|| panic!("{states}"));
    assert!((5..=10).contains(&fired), "a quarter of an hour is not needed: {states}");
}

#[test]
fn a_few_minutes_are_no_evidence_of_a_small_slowdown() {
    // Of the usual window, an hour here, a quarter of an hour is too little.
    let findings = |percent: i64| {
        let db_ns = |at: i64| 4 * MS * if at >= 230 * 6 { percent } else { 100 } / 100;
        let requests = requests_of(0..246, db_ns, |_| false, |_| false);
        let settings = EvaluationSettings { requests_min: 15, ..detection().settings };
        let (window, other_windows) = (Nanos::from_secs(3_600), vec![Nanos::from_secs(900)]);
        let short = Detection { window, other_windows, settings, ..detection() };
        let (alerts, engine) = (AlertList::default(), LocalEngine::new(NonZeroUsize::MIN));
        let evaluation = short.evaluate(&alerts, &requests, |_| None, minute(244), engine).unwrap();
        evaluation.all().count()
    };
    assert_eq!(findings(150), 0);
    assert!(findings(300) > 0, "three times as long is beyond that");
}

#[test]
fn an_uncertain_finding_keeps_open_only_an_alert_about_its_own_operation() {
    use crate::alerts::lifecycle::tests::{evaluated, finding, rules, time};
    let (requests, detection) = (requests(0..250, |_| false), detection());
    let is_retained = |operation: &str, alert: &str| {
        let mut alerts = AlertList::default();
        for minute in 0..3 {
            alerts.apply(&evaluated(&[alert], minute), rules(), time(minute));
        }
        assert_eq!(alerts.firing().count(), 1);
        let engine = LocalEngine::new(NonZeroUsize::MIN);
        let study =
            Study { detection: &detection, alerts: &alerts, requests: &requests, end: minute(245), engine };
        let uncertain = Finding { slower: 0.1, p_value: Some(0.04), ..finding(operation) };
        !study.lasting(vec![uncertain], detection.compared(minute(245)), &|_| None).is_empty()
    };
    assert!(is_retained("read", "read"));
    assert!(!is_retained("rare", "read"), "another operation of the service");
}

#[test]
fn a_few_calls_of_the_slower_mode_confirm_nothing() {
    let detection = detection();
    let is_confirmed = |latest_ns: i64| {
        // One call in two minutes, every fourth of which takes ten times as long; in each mode, up to three times as long as another.
        let db_ns = |at: i64| {
            let mode = match at {
                at if at >= 231 * 6 => latest_ns,
                at if at / 12 % 4 == 0 => 40 * MS,
                _ => 4 * MS,
            };
            mode + 2 * mode * (at * 7_919 % 1_000) / 1_000
        };
        let requests = requests_of(0..250, db_ns, |_| false, |at| at % 12 == 0);
        let (alerts, engine) = (AlertList::default(), LocalEngine::new(NonZeroUsize::MIN));
        let study =
            Study { detection: &detection, alerts: &alerts, requests: &requests, end: minute(245), engine };
        let finding = Finding { replicas: Vec::new(), ..crate::alerts::lifecycle::tests::finding("rare") };
        study.is_confirmed(&finding, detection.compared(minute(245)))
    };
    assert!(!is_confirmed(40 * MS));
    assert!(is_confirmed(400 * MS));
}

#[test]
fn an_operation_with_mostly_slower_calls_is_its_own_finding() {
    let finding = Finding {
        slower: 0.012,
        factor: Some(1.3),
        p_value: Some(1e-5),
        ..crate::alerts::lifecycle::tests::finding("read")
    };
    assert!(finding.is_slower_by_itself(0.05));
    let hardly_noticed = Finding { slower: 0.004, ..finding.clone() };
    assert!(!hardly_noticed.is_slower_by_itself(0.05));
    assert!(Finding { p_value: Some(1e-7), ..hardly_noticed }.is_slower_by_itself(0.05), "beyond doubt");
    assert!(!finding.is_slower_by_itself(0.2), "in proportion to what is asked of requests");
    assert!(!Finding { factor: Some(1.1), ..finding.clone() }.is_slower_by_itself(0.05));
    assert!(
        !Finding { requests_hit: 40, ..finding.clone() }.is_slower_by_itself(0.05),
        "of 100 that call it"
    );
    assert!(!Finding { p_value: None, ..finding }.is_certain(1.0), "without a test");
}

#[test]
fn a_few_slow_calls_are_an_alert_until_they_end() {
    // One call in ten takes five times as long: neither the median nor the level changes much.
    let is_slow = |at: i64| (180 * 6..270 * 6).contains(&at) && at * 7 % 10 == 0;
    let requests = requests_with(0..330, is_slow, |_| false, |_| false);
    let mut alerts = AlertList::default();
    let states = watch(&mut alerts, &requests, 140, 330);
    let first = states.find('F').unwrap_or_else(|| panic!("{states}"));
    // An evaluation every five minutes, so that the fault lasts up to the 26th.
    assert!(first <= 13 && states[first..].starts_with(&"F".repeat(26 - first)), "without a gap: {states}");
    assert!(states.ends_with('.') && alerts.resolved.len() == 1, "and over in the end: {states}");
}

/// For an hour, the window of an hour shows a slowdown of 40 minutes that is over. It is evaluated every five minutes, some of which come
/// before the alert is resolved.
#[test]
fn a_resolved_slowdown_does_not_fire_again() {
    for end_min in 218..223 {
        let requests = requests(0..260, |at| (180..end_min).contains(&at));
        let (mut alerts, mut states) = (AlertList::default(), String::new());
        for time_min in 180..260 {
            let evaluation = evaluation(&alerts, &requests, time_min).unwrap();
            alerts.apply(&evaluation, detection().rules, minute(time_min));
            states.push(if alerts.firing().next().is_some() { 'F' } else { '.' });
        }
        assert_eq!((alerts.resolved.len(), alerts.active.len()), (1, 0), "{end_min}: {states}");
    }
}
