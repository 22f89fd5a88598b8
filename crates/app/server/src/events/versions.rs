//! Versions of services on received spans. A version that was certainly not there before becomes an event; the first version
//! of a service does not.

use laggard_engine::Batch;
use laggard_model::{AttributeSetId, Nanos, ServiceId, SpanRow, Timestamp, TraceId, attributes_in};
use laggard_report::{SystemEvent, SystemEventKind, SystemEventSource};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// The attribute with the version of a service.
const VERSION: &str = "version";

/// How improbable it must be that a version was missing from earlier traces by chance, as `-ln p`: one in a million. The same
/// as in a diagnosis.
const ABSENCE_MIN: f64 = 13.8;

/// Traces with a version before it counts.
const TRACES_MIN: u64 = 5;

/// How far the clocks of senders may be ahead.
const AHEAD_MAX: Nanos = Nanos::from_secs(300);

/// Spans of exporters that wait and retry arrive late: what started this long ago is judged, in the order of time.
const DELAY: Nanos = Nanos::from_secs(60);

/// Spans are counted by intervals of this length.
const INTERVAL_NS: i64 = 10_000_000_000;

/// Intervals that wait to be judged; with more, they are judged at once.
const WAITING_MAX: usize = 20_000;

// Limit: services, and versions of each, that are watched for deployments | the one seen last longest ago is forgotten
/// Most services.
const SERVICES_MAX: usize = 2_000;
/// Most versions of a service.
const VERSIONS_MAX: usize = 100;

/// The versions of all services of a tenant.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct KnownVersions {
    services: BTreeMap<Box<str>, ServiceHistory>,
    /// Counts that are not judged yet.
    #[serde(skip)]
    waiting: CountsByInterval,
}

/// Traces by interval, service, and version.
type CountsByInterval = BTreeMap<i64, BTreeMap<Box<str>, BTreeMap<Box<str>, VersionCount>>>;

/// The versions of one service.
#[derive(Default, Serialize, Deserialize)]
struct ServiceHistory {
    /// Intervals up to this one were judged: what arrives of them later does not show when a version began.
    judged_until: i64,
    versions: BTreeMap<Box<str>, KnownVersion>,
}

/// State of a known version. Times are of spans, in nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct KnownVersion {
    first_ns: i64,
    last_ns: i64,
    /// Traces with it. A trace that arrives in several messages counts several times, for every version alike.
    traces: u64,
    /// Traces with other versions in intervals before its first one.
    others_before: u64,
    /// Traces with any version of the service since then, those with this version included.
    all_since: u64,
    /// Whether it is an event already.
    is_reported: bool,
}

/// Traces with a version, of one message or interval.
#[derive(Clone, Copy)]
struct VersionCount {
    first_ns: i64,
    last_ns: i64,
    traces: u64,
}

/// The versions in one message.
#[derive(Default)]
pub(crate) struct ObservedVersions {
    counts: CountsByInterval,
}

impl ObservedVersions {
    /// The versions that the spans of a message report.
    pub(crate) fn of(batch: &Batch) -> ObservedVersions {
        let mut observed = ObservedVersions::default();
        let mut reported = reported_versions(batch);
        // Every message is searched, so nothing is hashed, and names are only copied for each version.
        let mut counted: Vec<(ServiceId, &str, i64)> = Vec::new();
        for run in batch.spans.chunk_by(|a, b| a.trace == b.trace) {
            let begin = reported.partition_point(|version| version.trace < run[0].trace);
            let of_trace = reported[begin..].iter_mut().take_while(|version| version.trace == run[0].trace);
            for version in of_trace.filter(|version| !version.is_counted) {
                let of_service = |span: &&SpanRow| batch.names.service_of(span.operation) == version.service;
                if let Some(span) = run.iter().find(of_service) {
                    version.is_counted = true;
                    counted.push((version.service, version.text, span.start.unix_ns()));
                }
            }
        }
        counted.sort_unstable();
        let interval = |at_ns: i64| at_ns.div_euclid(INTERVAL_NS);
        for same in counted.chunk_by(|a, b| (a.0, a.1, interval(a.2)) == (b.0, b.1, interval(b.2))) {
            let (service, version, first_ns) = same[0];
            let count = VersionCount { first_ns, last_ns: same[same.len() - 1].2, traces: same.len() as u64 };
            observed.add(batch.names.service_name(service), version, count);
        }
        observed
    }

    /// Adds traces of one interval.
    fn add(&mut self, service: &str, version: &str, count: VersionCount) {
        let services = self.counts.entry(count.first_ns.div_euclid(INTERVAL_NS)).or_default();
        count.add_to(services.entry(service.into()).or_default(), version.into());
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

/// A version of a service, in the attributes of a trace.
struct ReportedVersion<'a> {
    trace: TraceId,
    service: ServiceId,
    text: &'a str,
    is_counted: bool,
}

/// The versions in the attributes of a message, by trace, each once.
fn reported_versions(batch: &Batch) -> Vec<ReportedVersion<'_>> {
    if batch.attributes.is_empty() {
        return Vec::new();
    }
    let names = &batch.names;
    let services: HashMap<&str, ServiceId> =
        (0..names.services()).map(ServiceId::from_index).map(|id| (names.service_name(id), id)).collect();
    let of_set = |index: usize| -> Vec<(ServiceId, &str)> {
        let attributes = attributes_in(names.attribute_set_text(AttributeSetId::from_index(index)));
        let versions =
            attributes.filter(|attribute| attribute.key == VERSION && !attribute.service.is_empty());
        versions.filter_map(|version| Some((*services.get(version.service)?, version.value))).collect()
    };
    let sets: Vec<Vec<(ServiceId, &str)>> = (0..names.attribute_sets()).map(of_set).collect();
    let of_trace = |(trace, set): &(TraceId, AttributeSetId)| {
        let trace = *trace;
        sets[set.index()].iter().map(move |&(service, text)| (trace, service, text))
    };
    let mut found: Vec<(TraceId, ServiceId, &str)> = batch.attributes.iter().flat_map(of_trace).collect();
    found.sort_unstable();
    found.dedup();
    let version = |(trace, service, text)| ReportedVersion { trace, service, text, is_counted: false };
    found.into_iter().map(version).collect()
}

impl VersionCount {
    fn add_to(self, versions: &mut BTreeMap<Box<str>, VersionCount>, version: Box<str>) {
        let known = versions.entry(version).or_insert(VersionCount { traces: 0, ..self });
        known.first_ns = known.first_ns.min(self.first_ns);
        known.last_ns = known.last_ns.max(self.last_ns);
        known.traces += self.traces;
    }
}

impl KnownVersions {
    /// Adds what a message reports.
    pub(super) fn add(&mut self, observed: ObservedVersions, now: Timestamp) {
        let future = now.plus(AHEAD_MAX).unix_ns().div_euclid(INTERVAL_NS);
        for (interval, services) in observed.counts.into_iter().filter(|(interval, _)| *interval <= future) {
            let waiting = self.waiting.entry(interval).or_default();
            for (service, versions) in services {
                let known = waiting.entry(service).or_default();
                versions.into_iter().for_each(|(version, count)| count.add_to(known, version));
            }
        }
        if self.waiting.len() > WAITING_MAX {
            self.judge_until(future);
        }
    }

    /// Versions that are new and not reported yet, as events; afterwards they are reported.
    pub(super) fn new_events(&mut self, now: Timestamp) -> Vec<SystemEvent> {
        self.judge_until(now.minus(DELAY).unix_ns().div_euclid(INTERVAL_NS) - 1);
        let mut events = Vec::new();
        for (service, history) in &mut self.services {
            let firsts: Vec<i64> = history.versions.values().map(|known| known.first_ns).collect();
            let unreported = history.versions.iter_mut().filter(|(_, known)| !known.is_reported);
            for (version, known) in unreported {
                let is_first = firsts.iter().all(|first| *first >= known.first_ns);
                if is_first || !known.is_new() {
                    continue;
                }
                known.is_reported = true;
                let time = Timestamp::from_unix_ns(known.first_ns);
                events.push(SystemEvent {
                    version: Some(version.as_ref().into()),
                    source: SystemEventSource::Spans,
                    ..SystemEvent::declared(SystemEventKind::Deployment, service.as_ref().into(), time)
                });
            }
        }
        events
    }

    fn judge_until(&mut self, last: i64) {
        while let Some(interval) = self.waiting.first_entry().filter(|entry| *entry.key() <= last) {
            let (interval, services) = interval.remove_entry();
            for (service, versions) in services {
                self.evict_for(&service);
                self.services.entry(service).or_default().judge(versions, interval);
            }
        }
    }

    fn evict_for(&mut self, service: &str) {
        if self.services.contains_key(service) || self.services.len() < SERVICES_MAX {
            return;
        }
        let last = |history: &ServiceHistory| history.versions.values().map(|known| known.last_ns).max();
        let oldest = self.services.iter().min_by_key(|(_, history)| last(history));
        if let Some(oldest) = oldest.map(|(service, _)| service.clone()) {
            self.services.remove(&oldest);
        }
    }
}

impl ServiceHistory {
    /// Counts the versions of an interval. Those of the same interval are not known to precede each other.
    fn judge(&mut self, versions: BTreeMap<Box<str>, VersionCount>, interval: i64) {
        let is_late = interval <= self.judged_until;
        let before: u64 = self.versions.values().map(|known| known.traces).sum();
        let all: u64 = versions.values().map(|count| count.traces).sum();
        for (version, count) in versions {
            if !self.versions.contains_key(&version) {
                self.make_way();
            }
            let known = self.versions.entry(version).or_insert(KnownVersion {
                first_ns: count.first_ns,
                last_ns: count.last_ns,
                traces: 0,
                others_before: if is_late { 0 } else { before },
                all_since: 0,
                is_reported: false,
            });
            known.first_ns = known.first_ns.min(count.first_ns);
            known.last_ns = known.last_ns.max(count.last_ns);
            known.traces += count.traces;
        }
        self.versions.values_mut().for_each(|known| known.all_since += all);
        self.judged_until = self.judged_until.max(interval);
    }

    fn make_way(&mut self) {
        if self.versions.len() < VERSIONS_MAX {
            return;
        }
        let oldest = self.versions.iter().min_by_key(|(_, known)| known.last_ns);
        if let Some(oldest) = oldest.map(|(version, _)| version.clone()) {
            self.versions.remove(&oldest);
        }
    }
}

impl KnownVersion {
    /// Whether it is certain that it was not there before it was first seen.
    fn is_new(&self) -> bool {
        // By the rule of succession: it is never certain that every trace has it.
        let share = self.traces as f64 / (self.all_since + 1) as f64;
        self.traces >= TRACES_MIN && -(self.others_before as f64) * (-share).ln_1p() >= ABSENCE_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::{
        Attribute, AttributeText, ReplicaSource, Sampling, Sink, SpanAttributes, SpanId, SpanKind,
        SpanRecord, Status,
    };
    use std::collections::HashSet;

    const NOW: Timestamp = Timestamp::from_unix_ns(1_768_208_400_000_000_000);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_unix_ns(NOW.unix_ns() - 10_000_000_000_000 + second * 1_000_000_000)
    }

    fn one_trace(version: &str, start: Timestamp) -> ObservedVersions {
        let mut observed = ObservedVersions::default();
        let at_ns = start.unix_ns();
        observed.add("cart", version, VersionCount { first_ns: at_ns, last_ns: at_ns, traces: 1 });
        observed
    }

    /// Traces of `cart`, one a second, with a version each.
    fn observe(
        known: &mut KnownVersions,
        seconds: std::ops::Range<i64>,
        version: impl Fn(i64) -> &'static str,
    ) {
        for second in seconds {
            known.add(one_trace(version(second), at(second)), NOW);
        }
    }

    /// Spans of two services, of traces in any order; a version of a service is in the attributes of all of its spans, or of one.
    fn message() -> Batch {
        let mut batch = Batch::default();
        for number in 0..200_u64 {
            let (trace, service) = (1 + number * number % 23, ["cart", "web", "old"][number as usize % 3]);
            let mut resource = AttributeText::default();
            let version = ["1", "2", ""][number as usize % 7 % 3];
            if !version.is_empty() && service != "old" {
                resource.add(Attribute { key: VERSION, service, value: version });
            }
            batch.span(&SpanRecord {
                trace_id: TraceId::from_value(trace.into()),
                trace_text: None,
                span_id: SpanId::new(1 + number).unwrap(),
                parent: None,
                service,
                operation: "call",
                kind: SpanKind::Server,
                status: Status::Ok,
                replica: service,
                replica_source: ReplicaSource::Host,
                start: at(number as i64 % 17),
                inclusive: Nanos::from_ns(1),
                sampling: Sampling::default(),
                attributes: SpanAttributes { resource: resource.as_str(), ..SpanAttributes::default() },
            });
        }
        batch
    }

    #[test]
    fn each_version_of_a_trace_is_counted_once() {
        let batch = message();
        let mut expected: BTreeMap<(i64, &str, &str), u64> = BTreeMap::new();
        let mut seen = HashSet::new();
        for span in &batch.spans {
            let service = batch.names.operation_key(span.operation).service;
            for (_, set) in batch.attributes.iter().filter(|(trace, _)| *trace == span.trace) {
                let attributes = attributes_in(batch.names.attribute_set_text(*set));
                for version in attributes.filter(|attribute| attribute.service == service) {
                    if seen.insert((span.trace, service, version.value)) {
                        let interval = span.start.unix_ns().div_euclid(INTERVAL_NS);
                        *expected.entry((interval, service, version.value)).or_default() += 1;
                    }
                }
            }
        }
        let observed = ObservedVersions::of(&batch);
        let mut found = BTreeMap::new();
        for (interval, services) in &observed.counts {
            for (service, versions) in services {
                found.extend(versions.iter().map(|(version, count)| {
                    assert!(count.first_ns <= count.last_ns);
                    assert_eq!(count.first_ns.div_euclid(INTERVAL_NS), *interval);
                    ((*interval, &**service, &**version), count.traces)
                }));
            }
        }
        assert!(expected.len() > 6, "{expected:?}");
        assert_eq!(found, expected);
    }

    #[test]
    fn only_the_second_version_is_an_event_and_only_once() {
        let mut known = KnownVersions::default();
        observe(&mut known, 0..500, |_| "1");
        assert_eq!(known.new_events(NOW), []);
        observe(&mut known, 500..520, |second| if second % 2 == 0 { "1" } else { "2" });
        let events = known.new_events(NOW);
        assert_eq!((events.len(), events[0].version.as_deref()), (1, Some("2")));
        assert_eq!((events[0].service.as_str(), events[0].at()), ("cart", at(501)));
        observe(&mut known, 520..900, |_| "2");
        observe(&mut known, 900..1_000, |_| "1");
        assert_eq!(known.new_events(NOW), [], "neither again nor when the old one returns");
    }

    #[test]
    fn versions_running_from_the_start_are_not_events() {
        for share in [2, 10, 40] {
            let mut known = KnownVersions::default();
            observe(&mut known, 0..2_000, |second| if second % share == share - 1 { "2" } else { "1" });
            assert_eq!(known.new_events(NOW), [], "one in {share}");
        }
    }

    #[test]
    fn a_version_with_a_small_share_needs_more_history() {
        let after = |before: i64| {
            let mut known = KnownVersions::default();
            observe(&mut known, 0..before, |_| "1");
            observe(&mut known, before..before + 1_000, |second| if second % 50 == 0 { "2" } else { "1" });
            known.new_events(NOW).len()
        };
        assert_eq!((after(300), after(1_000)), (0, 1), "1,000 x -ln(1 - 0.02) is 20");
    }

    #[test]
    fn late_spans_are_not_a_deployment() {
        let mut known = KnownVersions::default();
        observe(&mut known, 5_000..6_000, |_| "2");
        assert_eq!(known.new_events(NOW), []);
        observe(&mut known, 0..1_000, |_| "1");
        assert_eq!(known.new_events(NOW), [], "older data, sent later");
        let mut known = KnownVersions::default();
        observe(&mut known, 0..1_000, |_| "1");
        assert_eq!(known.new_events(NOW), []);
        observe(&mut known, 3..900, |_| "2");
        assert_eq!(known.new_events(NOW), [], "an exporter that could not send for a while");
    }

    #[test]
    fn an_exporter_may_send_a_minute_later_than_others() {
        let mut known = KnownVersions::default();
        observe(&mut known, 9_900..9_999, |_| "1");
        assert_eq!(known.new_events(at(9_999)), []);
        observe(&mut known, 9_945..9_999, |_| "2");
        assert_eq!(known.new_events(at(10_100)).len(), 1, "the order of arrival does not matter");
        let mut known = KnownVersions::default();
        observe(&mut known, 9_900..9_999, |_| "1");
        observe(&mut known, 9_901..9_999, |_| "2");
        assert_eq!(known.new_events(NOW.plus(Nanos::from_secs(100))), []);
    }

    #[test]
    fn spans_of_the_future_are_ignored_and_versions_are_bounded() {
        let mut known = KnownVersions::default();
        known.add(one_trace("9", NOW.plus(Nanos::from_secs(3_600))), NOW);
        assert!(known.waiting.is_empty());
        for number in 0..1_000 {
            known.add(one_trace(&number.to_string(), at(number)), NOW);
        }
        known.judge_until(i64::MAX);
        assert_eq!(known.services["cart"].versions.len(), VERSIONS_MAX);
        assert!(known.services["cart"].versions.contains_key("999"));
    }

    #[test]
    fn known_versions_survive_a_restart() {
        let mut known = KnownVersions::default();
        observe(&mut known, 0..500, |_| "1");
        known.judge_until(i64::MAX);
        let text = serde_json::to_string(&known).unwrap();
        let mut known: KnownVersions = serde_json::from_str(&text).unwrap();
        observe(&mut known, 600..700, |_| "2");
        assert_eq!(known.new_events(NOW).len(), 1);
    }
}
