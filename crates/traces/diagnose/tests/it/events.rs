//! Deployments near the onset of a suspect are named only when they fit.

use crate::simulated::THREADS;
use laggard_diagnose::{BaselineChoice, DiagnoseSettings, diagnose};
use laggard_engine::{Ingest, IngestSettings, LocalEngine, Requests};
use laggard_model::{
    Attribute, AttributeText, Nanos, ReplicaSource, Sampling, Sink, SpanAttributes, SpanId, SpanKind,
    SpanRecord, Status, Timestamp, TraceId,
};
use laggard_report::{
    InputFacts, ReplicasRunning, Report, SuspectEvent, SystemEvent, SystemEventKind, SystemEventSource,
    Verdict,
};

/// A small generator, so that a case depends on nothing else.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as f64) / (1_u64 << 31) as f64
    }

    /// About 1, with a standard deviation of a tenth.
    fn noise(&mut self) -> f64 {
        1.0 + 0.1 * ((0..12).map(|_| self.unit()).sum::<f64>() - 6.0)
    }
}

/// Seconds of the data, with two requests each, and replicas of `cart`.
const SECONDS: i64 = 1_500;
const REPLICAS: usize = 6;

/// Requests of `front`, which calls `cart`: the version and the factor of the time of each replica of `cart` at a second.
fn requests(
    seed: u64,
    version: impl Fn(usize, i64) -> &'static str,
    slow: impl Fn(usize, i64) -> f64,
) -> Requests {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut ingest = Ingest::new(IngestSettings::default());
    for index in 0..2 * SECONDS {
        let second = index / 2;
        let replica = (random.unit() * REPLICAS as f64) as usize;
        let mut text = AttributeText::default();
        text.add(Attribute { key: "version", service: "cart", value: version(replica, second) });
        let cart_ns = (20e6 * random.noise() * slow(replica, second)) as u64;
        let front_ns = (10e6 * random.noise()) as u64 + cart_ns;
        let start = index * 500_000_000;
        let name = format!("cart-{replica}");
        let span = |id: u64, parent: Option<u64>, service, start, length_ns, resource| SpanRecord {
            trace_id: TraceId::from_value(index as u128 + 1),
            trace_text: None,
            span_id: SpanId::new(id).unwrap(),
            parent: parent.and_then(SpanId::new),
            service,
            replica: if parent.is_some() { name.as_str() } else { service },
            replica_source: ReplicaSource::Column,
            operation: "run",
            kind: SpanKind::Server,
            status: Status::Unset,
            start: Timestamp::from_unix_ns(start),
            inclusive: Nanos::from_ns(length_ns),
            sampling: Sampling::default(),
            attributes: SpanAttributes { resource, ..SpanAttributes::default() },
        };
        ingest.span(&span(1, None, "front", start, front_ns, ""));
        ingest.span(&span(2, Some(1), "cart", start + 5_000_000, cart_ns, text.as_str()));
    }
    Requests::from_traces(ingest.finish(THREADS), THREADS)
}

/// The version of the first `replicas` from a second on.
fn deployed(replicas: usize, since: i64) -> impl Fn(usize, i64) -> &'static str {
    move |replica, second| if replica < replicas && second >= since { "1.4.3" } else { "1.4.2" }
}

/// The first `replicas` are slow from a second on.
fn slow(replicas: usize, since: i64) -> impl Fn(usize, i64) -> f64 {
    move |replica, second| if replica < replicas && second >= since { 2.5 } else { 1.0 }
}

/// The diagnosis of the time from a second on, against the time before it.
fn report(requests: &Requests, from: i64, events: Vec<SystemEvent>) -> Report {
    let facts = InputFacts { events, ..InputFacts::default() };
    let since = Timestamp::from_unix_ns(from * 1_000_000_000);
    let until = since.minus(Nanos::from_ns(1));
    let baseline = BaselineChoice::Within { since: Timestamp::MIN, until };
    let settings = DiagnoseSettings { since, baseline, ..DiagnoseSettings::default() };
    diagnose(requests, None, &facts, &settings, LocalEngine::new(THREADS)).unwrap()
}

fn declared(service: &str, version: &str, second: i64) -> SystemEvent {
    let time = Timestamp::from_unix_ns(second * 1_000_000_000);
    SystemEvent {
        version: Some(version.to_owned()),
        ..SystemEvent::declared(SystemEventKind::Deployment, service.to_owned(), time)
    }
}

fn second_of(event: &SystemEvent) -> i64 {
    event.at().unix_ns() / 1_000_000_000
}

#[track_caller]
fn of_cart(report: &Report) -> &[SuspectEvent] {
    let suspect = report.suspects.first().unwrap_or_else(|| panic!("{}", report.headline));
    assert_eq!(suspect.service, "cart");
    &suspect.events
}

#[track_caller]
fn says_nothing(report: &Report) {
    assert!(report.suspects.iter().all(|suspect| suspect.events.is_empty()), "{:?}", report.suspects);
    assert!(
        !report.headline.contains("deployed") && !report.headline.contains("seen"),
        "{}",
        report.headline
    );
}

const SEEDS: std::ops::RangeInclusive<u64> = 1..=10;

#[test]
fn a_version_that_is_slow_from_its_first_request_on_is_named() {
    for seed in SEEDS {
        for replicas in [3, REPLICAS] {
            let report =
                report(&requests(seed, deployed(replicas, 600), slow(replicas, 600)), 500, Vec::new());
            let [near] = of_cart(&report) else { panic!("{seed}: {:?}", report.suspects[0].events) };
            assert_eq!(
                (near.event.version.as_deref(), near.event.source),
                (Some("1.4.3"), SystemEventSource::Spans)
            );
            assert!((600..620).contains(&second_of(&near.event)), "{seed}: {:?}", near.event);
            let running = ReplicasRunning { replicas: replicas as u64, of: REPLICAS as u64 };
            assert_eq!(near.event.running, Some(running), "{seed}");
            if replicas < REPLICAS {
                let suspected = report.suspects[0].replicas.len() as u64;
                let all = Some(ReplicasRunning { replicas: suspected, of: suspected });
                assert_eq!(near.suspected_running, all, "{seed}");
            }
            assert!(
                report.headline.contains("version `1.4.3` of `cart` was first seen"),
                "{}",
                report.headline
            );
            assert!(report.headline.contains("Timing alone does not prove a cause."), "{}", report.headline);
        }
    }
}

#[test]
fn deployments_after_a_fault_or_long_before_it_are_not_named() {
    for seed in SEEDS {
        for (deployment, fault) in [(900, 400), (700, 500), (100, 900)] {
            for replicas in [3, REPLICAS] {
                let requests = requests(seed, deployed(replicas, deployment), slow(replicas, fault));
                let report = report(&requests, fault - 100, vec![declared("cart", "1.4.3", deployment)]);
                assert_eq!(report.verdict, Verdict::Suspects, "{seed}");
                says_nothing(&report);
            }
        }
    }
}

#[test]
fn deployments_on_quiet_days_are_not_named() {
    for seed in SEEDS {
        let requests = requests(seed, deployed(REPLICAS, 600), |_, _| 1.0);
        let report = report(&requests, 500, vec![declared("front", "7", 700)]);
        assert_eq!(report.verdict, Verdict::Healthy, "{seed}: {}", report.headline);
        says_nothing(&report);
        let seconds: Vec<i64> = report.events.iter().map(second_of).collect();
        assert!(seconds.len() == 2 && (600..620).contains(&seconds[0]) && seconds[1] == 700, "{seconds:?}");
    }
}

#[test]
fn versions_that_coexist_from_the_start_are_not_a_deployment() {
    for seed in SEEDS {
        let report = report(&requests(seed, deployed(1, 0), slow(1, 600)), 500, Vec::new());
        assert_eq!(report.events, [], "{seed}");
        says_nothing(&report);
    }
}

#[test]
fn a_version_that_the_slow_replicas_do_not_run_is_not_named() {
    for seed in SEEDS {
        let others = |replica: usize, second: i64| deployed(3, 600)(REPLICAS - 1 - replica, second);
        let report = report(&requests(seed, others, slow(3, 640)), 500, vec![declared("cart", "1.4.3", 600)]);
        assert!(
            !of_cart(&report).iter().any(|near| near.event.version.is_some()),
            "{seed}: {}",
            report.headline
        );
        assert_eq!(report.events.len(), 1, "{seed}: it is listed");
    }
}

#[test]
fn only_deployments_of_the_service_and_of_those_it_calls_are_named() {
    let requests = requests(11, |_, _| "1.4.2", slow(3, 600));
    let events = vec![declared("stock", "2", 590), declared("front", "3", 595)];
    says_nothing(&report(&requests, 500, events));
    let whole = SystemEvent::declared(
        SystemEventKind::Configuration,
        String::new(),
        Timestamp::from_unix_ns(500_000_000_000),
    );
    let events = vec![declared("cart", "1.4.2-fix", 560), declared("stock", "2", 590), whole];
    let both = report(&requests, 500, events);
    let near: Vec<&str> = of_cart(&both).iter().map(|near| near.event.service.as_str()).collect();
    assert_eq!(near, ["cart", ""], "both fit, so both are named, the nearer first");
}

/// A server knows versions from before the requests that it diagnoses.
#[test]
fn a_version_that_was_rolled_back_is_not_named() {
    let requests = requests(13, |_, _| "1.4.2", slow(3, 600));
    let seen = |version| SystemEvent { source: SystemEventSource::Spans, ..declared("cart", version, 590) };
    says_nothing(&report(&requests, 500, vec![seen("1.4.3")]));
    assert_eq!(of_cart(&report(&requests, 500, vec![seen("1.4.2")])).len(), 1);
}

#[test]
fn a_declared_deployment_and_its_first_spans_are_one_event() {
    let requests = requests(12, deployed(3, 600), slow(3, 600));
    let report = report(&requests, 500, vec![declared("cart", "1.4.3", 570)]);
    let [near] = of_cart(&report) else { panic!("{:?}", report.suspects[0].events) };
    assert_eq!((second_of(&near.event), near.event.source), (570, SystemEventSource::Declared));
    assert_eq!(near.event.running, Some(ReplicasRunning { replicas: 3, of: 6 }));
    assert!((20.0..45.0).contains(&near.before_s), "{near:?}");
    assert_eq!(report.events.len(), 1);
}
