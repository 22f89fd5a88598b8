//! Attributes of requests as an explanation of slowness.

use crate::simulated::THREADS;
use laggard_diagnose::{
    BaselineChoice, CompareSettings, ComparedPopulation, DiagnoseSettings, Population, compare, diagnose,
};
use laggard_engine::{Ingest, IngestSettings, LocalEngine, Requests};
use laggard_model::{
    Attribute, AttributeText, Nanos, ReplicaSource, Sampling, Sink, SpanAttributes, SpanId, SpanKind,
    SpanRecord, Status, Timestamp, TraceId,
};
use laggard_report::{Comparison, ComparisonVerdict, InputFacts, Report, SuspectAttribute};

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

/// A request of `front` that calls `cart`.
#[derive(Clone, Copy, Debug)]
struct RequestTraits {
    tenant: usize,
    is_new: bool,
    /// A random number for whatever a case needs.
    luck: f64,
    second: usize,
    /// Of three of `cart`.
    replica: usize,
}

const REQUESTS: usize = 1_500;

/// A request every second; `slow` gives the factor of the time that `cart` needs.
fn requests(seed: u64, from_s: usize, slow: impl Fn(&RequestTraits) -> f64) -> Requests {
    requests_with_errors(seed, from_s, slow, |_| false)
}

/// The same with failures of `cart` in some of them.
fn requests_with_errors(
    seed: u64,
    from_s: usize,
    slow: impl Fn(&RequestTraits) -> f64,
    fails: impl Fn(&RequestTraits) -> bool,
) -> Requests {
    requests_of_tenants(seed, from_s, slow, fails, |drawn| drawn.tenant)
}

/// The same with a different assignment of tenants.
fn requests_of_tenants(
    seed: u64,
    from_s: usize,
    slow: impl Fn(&RequestTraits) -> f64,
    fails: impl Fn(&RequestTraits) -> bool,
    tenant: impl Fn(&RequestTraits) -> usize,
) -> Requests {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + from_s as u64);
    let mut ingest = Ingest::new(IngestSettings::default());
    let text = |key: &str, service: &str, value: &str| {
        let mut text = AttributeText::default();
        text.add(Attribute { key, service, value });
        text
    };
    for index in 0..REQUESTS {
        let unit = random.unit();
        let drawn = RequestTraits {
            tenant: [0.4, 0.6, 0.75, 0.9].iter().filter(|&&until| unit >= until).count(),
            is_new: random.unit() < 0.25,
            luck: random.unit(),
            second: index,
            replica: index % 3,
        };
        let tenant = text("tenant", "", &format!("t{}", tenant(&drawn)));
        let version = text("version", "cart", if drawn.is_new { "1.4.3" } else { "1.4.2" });
        let cart_ns = (20e6 * random.noise() * slow(&drawn)) as u64;
        let front_ns = (10e6 * random.noise()) as u64 + cart_ns;
        let start = (from_s + index) as i64 * 1_000_000_000;
        let cart = format!("cart-{}", drawn.replica);
        let span = |id: u64, parent: Option<u64>, service, start, length_ns, attributes| SpanRecord {
            trace_id: TraceId::from_value((from_s + index) as u128 + 1),
            trace_text: None,
            span_id: SpanId::new(id).unwrap(),
            parent: parent.and_then(SpanId::new),
            service,
            replica: if parent.is_some() { cart.as_str() } else { service },
            replica_source: ReplicaSource::Column,
            operation: "run",
            kind: SpanKind::Server,
            status: if fails(&drawn) { Status::Error } else { Status::Unset },
            start: Timestamp::from_unix_ns(start),
            inclusive: Nanos::from_ns(length_ns),
            sampling: Sampling::default(),
            attributes,
        };
        let own = SpanAttributes { span: tenant.as_str(), ..SpanAttributes::default() };
        ingest.span(&span(1, None, "front", start, front_ns, own));
        let of_cart = SpanAttributes { resource: version.as_str(), ..SpanAttributes::default() };
        ingest.span(&span(2, Some(1), "cart", start + 5_000_000, cart_ns, of_cart));
    }
    Requests::from_traces(ingest.finish(THREADS), THREADS)
}

fn report(requests: &Requests, baseline: Option<&Requests>) -> Report {
    let settings = DiagnoseSettings { baseline: BaselineChoice::None, ..DiagnoseSettings::default() };
    diagnose(requests, baseline, &InputFacts::default(), &settings, LocalEngine::new(THREADS)).unwrap()
}

fn named(report: &Report) -> Vec<&SuspectAttribute> {
    report.suspects.iter().flat_map(|suspect| &suspect.attributes).collect()
}

fn check_named(report: &Report, key: &str, value: &str, service: Option<&str>) {
    let first = report.suspects.first().unwrap_or_else(|| panic!("no suspect: {}", report.headline));
    assert_eq!(first.service, "cart", "{}", report.headline);
    let attribute = first.attributes.first().unwrap_or_else(|| panic!("no attribute: {}", report.headline));
    let found = (attribute.key.as_str(), attribute.value.as_str(), attribute.service.as_deref());
    assert_eq!(found, (key, value, service), "{}", report.headline);
    assert!(attribute.hit_share > 0.9 && attribute.share < 0.5, "{attribute:?}");
    assert!(report.headline.contains(&format!("`{key}={value}`")), "{}", report.headline);
}

#[test]
fn a_slow_version_is_named_without_and_with_a_baseline() {
    let slow = |drawn: &RequestTraits| if drawn.is_new { 1.6 } else { 1.0 };
    let (window, usual) = (requests(1, 10_000, slow), requests(2, 0, |_| 1.0));
    check_named(&report(&window, None), "version", "1.4.3", Some("cart"));
    check_named(&report(&window, Some(&usual)), "version", "1.4.3", Some("cart"));
    assert_eq!(report(&window, None).verdict, laggard_report::Verdict::Suspects);
    // Slower all the time: no suspect, and nothing is named.
    let before = requests(3, 0, slow);
    let standing = report(&window, Some(&before));
    assert_eq!(standing.verdict, laggard_report::Verdict::Healthy, "{}", standing.headline);
}

#[test]
fn a_slow_tenant_is_named_without_and_with_a_baseline() {
    let slow = |drawn: &RequestTraits| if drawn.tenant == 1 { 1.6 } else { 1.0 };
    let (window, usual) = (requests(4, 10_000, slow), requests(5, 0, |_| 1.0));
    check_named(&report(&window, Some(&usual)), "tenant", "t1", None);
    let alone = report(&window, None);
    check_named(&alone, "tenant", "t1", None);
    // Tenants may differ by nature.
    assert_eq!(alone.verdict, laggard_report::Verdict::Tail);
}

/// A tenth more is less than what replicas and tenants may differ by, so that only the baseline shows it. The tenants
/// and replicas that are not slower are not hit.
#[test]
fn a_slightly_slower_tenant_or_replica_is_named_with_its_own_requests() {
    let tenant = |drawn: &RequestTraits| if drawn.tenant == 3 { 1.1 } else { 1.0 };
    let found = report(&requests(8, 10_000, tenant), Some(&requests(9, 0, |_| 1.0)));
    let p_value = named(&found)[0].p_value;
    assert!((1e-6..0.01).contains(&p_value), "of the times, not of whose requests are hit: {p_value}");
    check_named(&found, "tenant", "t3", None);
    let first = &found.suspects[0];
    let (hit, requests_with) = (first.requests_hit, first.attributes[0].requests);
    assert!(hit <= requests_with && hit * 10 >= requests_with * 8, "{hit} of {requests_with}");

    let replica = |drawn: &RequestTraits| if drawn.replica == 1 { 1.1 } else { 1.0 };
    let found = report(&requests(10, 10_000, replica), Some(&requests(11, 0, |_| 1.0)));
    let first = found.suspects.first().unwrap_or_else(|| panic!("no suspect: {}", found.headline));
    assert_eq!((first.service.as_str(), &first.replicas[..]), ("cart", &["cart-1".to_owned()][..]));
    let hit = first.requests_hit;
    assert!((400..=500).contains(&hit), "{hit} of 500: {}", found.headline);
}

#[test]
fn the_tenant_whose_calls_fail_is_named() {
    let fails = |drawn: &RequestTraits| drawn.tenant == 3 && drawn.luck < 0.6;
    let (window, usual) = (requests_with_errors(7, 10_000, |_| 1.0, fails), requests(8, 0, |_| 1.0));
    let report = report(&window, Some(&usual));
    check_named(&report, "tenant", "t3", None);
    assert_eq!(report.suspects[0].evidence, ["errors"]);
    assert_eq!(report.suspects[0].attributes[0].hit_share, 1.0);
}

#[test]
fn an_operation_that_is_slow_and_fails_has_the_figures_of_both() {
    let fails = |drawn: &RequestTraits| drawn.luck < 0.2;
    let (window, usual) = (requests_with_errors(9, 10_000, |_| 2.0, fails), requests(10, 0, |_| 1.0));
    let report = report(&window, Some(&usual));
    let first = &report.suspects[0];
    assert_eq!((first.service.as_str(), first.behavior.len()), ("cart", 1), "{}", report.headline);
    assert!((15e6..25e6).contains(&(first.effect_ns as f64)), "{}", first.effect_ns);
    assert!(report.headline.contains("fails in ") && report.headline.contains("slow"), "{}", report.headline);
}

fn set(requests: &Requests) -> ComparedPopulation<'_> {
    let population = Population::all(requests);
    ComparedPopulation { population, facts: InputFacts::default(), label: String::new() }
}

#[test]
fn a_comparison_names_the_tenant_that_differs() {
    let compared = |slow: &dyn Fn(&RequestTraits) -> f64| {
        let (before, after) = (requests(11, 0, |_| 1.0), requests(12, 10_000, slow));
        compare([&set(&before), &set(&after)], &CompareSettings::default(), LocalEngine::new(THREADS))
            .unwrap()
    };
    let named = |comparison: &Comparison| -> Vec<String> {
        let attributes = comparison.operations.iter().flat_map(|operation| &operation.attributes);
        attributes.map(|attribute| format!("{}={}", attribute.key, attribute.value)).collect()
    };
    let one = compared(&|drawn| if drawn.tenant == 1 { 1.6 } else { 1.0 });
    assert_eq!(named(&one), ["tenant=t1"], "{}", one.headline);
    assert!(one.headline.contains("different only for requests with tenant=t1: +1"), "{}", one.headline);
    assert_eq!(named(&compared(&|_| 1.6)), [""; 0], "all of them");
    let none = compared(&|_| 1.0);
    assert_eq!((named(&none), none.verdict), (vec![], ComparisonVerdict::Unchanged));
}

#[test]
fn rare_slow_requests_of_one_tenant_are_explained_by_it() {
    let slow = |drawn: &RequestTraits| if drawn.tenant == 2 && drawn.luck < 0.4 { 6.0 } else { 1.0 };
    check_named(&report(&requests(6, 0, slow), None), "tenant", "t2", None);
}

#[test]
fn unrelated_attributes_are_not_named() {
    for seed in 0..30 {
        let random = |drawn: &RequestTraits| if drawn.luck < 0.05 { 6.0 } else { 1.0 };
        let found = report(&requests(100 + seed, 0, random), None);
        assert!(!found.suspects.is_empty());
        assert_eq!(named(&found), Vec::<&SuspectAttribute>::new(), "seed {seed}: {}", found.headline);
        // A slow period, in which all tenants are hit alike.
        let period = |drawn: &RequestTraits| if (600..700).contains(&drawn.second) { 4.0 } else { 1.0 };
        let found = report(&requests(200 + seed, 0, period), None);
        assert!(!found.suspects.is_empty());
        assert_eq!(named(&found), Vec::<&SuspectAttribute>::new(), "seed {seed}: {}", found.headline);
    }
}

#[test]
fn a_tenant_of_all_requests_since_the_onset_is_not_named() {
    let is_late = |drawn: &RequestTraits| drawn.second >= 900;
    let slow = |drawn: &RequestTraits| if is_late(drawn) { 1.6 } else { 1.0 };
    let tenant = |drawn: &RequestTraits| if is_late(drawn) { 4 } else { drawn.tenant };
    let window = requests_of_tenants(7, 10_000, slow, |_| false, tenant);
    let found = report(&window, Some(&requests(8, 0, |_| 1.0)));
    assert!(found.suspects[0].onset.is_some(), "{}", found.headline);
    assert_eq!(named(&found), Vec::<&SuspectAttribute>::new(), "{}", found.headline);
}
