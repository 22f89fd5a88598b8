//! Diagnoses with a baseline (other traces, another window, the rest) and slow periods without one.

use crate::simulated::THREADS;
use crate::sites::traces_of;
use laggard_diagnose::{BaselineChoice, DiagnoseSettings, diagnose};
use laggard_engine::{LocalEngine, Requests};
use laggard_model::Timestamp;
use laggard_report::{InputFacts, LinkEnd, Report, Scope, Suspect, Verdict};
use laggard_settings::SettingError;
use std::fmt::Write;

/// A small shop: `shop` calls `cart` over the network, `cart` reads its `store`; every fifth request pays as well.
struct Shop {
    /// Requests; one a second.
    requests: usize,
    /// Start of the first, seconds.
    from_s: usize,
    /// Seed of the noise.
    seed: u64,
    /// Whether the operation has a different name on each replica of `cart`, so that its requests have their own call trees.
    names_replicas: bool,
    /// The request from which on the replicas of `cart` are new ones.
    replaced_at: usize,
}

/// Factors of the times in one request.
#[derive(Clone, Copy)]
struct Factors {
    shop: f64,
    network: f64,
    cart: f64,
    store: f64,
    pay: f64,
}

const USUAL: Factors = Factors { shop: 1.0, network: 1.0, cart: 1.0, store: 1.0, pay: 1.0 };

impl Shop {
    /// `of(request, replica of cart)` returns the factors.
    fn traces(&self, of: impl Fn(usize, usize) -> Factors) -> Requests {
        let mut state = self.seed;
        let mut noisy = move |usual_ns: f64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let uniform = (state >> 33) as f64 / (1_u64 << 31) as f64;
            (usual_ns * (0.4 * (uniform - 0.5) * 3.0_f64.sqrt()).exp()) as u64
        };
        let mut text = String::new();
        for index in 0..self.requests {
            let cart_pod = index * 7 % 4;
            let factor = of(index, cart_pod);
            let [shop, network, cart, store] = [
                noisy(1e6 * factor.shop),
                noisy(4e5 * factor.network),
                noisy(2e6 * factor.cart),
                noisy(1e6 * factor.store),
            ];
            let pay = if index % 5 == 0 { noisy(5e6 * factor.pay) } else { 0 };
            let (trace, start) =
                (self.from_s * 1000 + index + 1, (self.from_s + index) as u64 * 1_000_000_000);
            let mut span = |id: &str, place: &str, from: u64, length: u64, kind: &str| {
                writeln!(text, "{trace} {id} {place} {from}..{} {kind}", from + length).expect("text grows");
            };
            let call = network + cart + store;
            span("a", "- shop/buy@shop-1", start, shop + call + pay, "server");
            let own_name = if self.names_replicas { format!("-{cart_pod}") } else { String::new() };
            span("b", &format!("a shop/call-cart{own_name}@shop-1"), start, call, "client");
            let pod =
                if index < self.replaced_at { format!("{cart_pod}") } else { format!("{cart_pod}-new") };
            span("c", &format!("b cart/add@cart-{pod}"), start + network / 2, cart + store, "server");
            span("d", &format!("c cart/read-store@cart-{pod}"), start + network / 2, store, "internal");
            if index % 5 == 0 {
                span("e", "a shop/pay@shop-1", start + call, pay, "internal");
            }
        }
        traces_of(text.lines())
    }
}

fn at(seconds: usize) -> Timestamp {
    Timestamp::from_unix_ns(seconds as i64 * 1_000_000_000)
}

/// The report of a diagnosis, after checking its invariants.
fn diagnosed(traces: &Requests, baseline: Option<&Requests>, settings: &DiagnoseSettings) -> Report {
    let engine = LocalEngine::new(THREADS);
    let report = diagnose(traces, baseline, &InputFacts::default(), settings, engine);
    let report = report.expect("settings in range");
    check(&report);
    report
}

fn json(report: &Report) -> String {
    let mut out = Vec::new();
    laggard_report::json(report, &mut out).expect("memory takes everything");
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// Checks invariants of every report.
fn check(report: &Report) {
    // NaN where the excess is within what the mean varies by.
    let shares = report.suspects.iter().map(|suspect| suspect.share).filter(|share| !share.is_nan());
    assert!(shares.sum::<f64>() <= 1.0 + 1e-9);
    for (index, suspect) in report.suspects.iter().enumerate() {
        assert_eq!(suspect.rank as usize, index + 1);
        assert!(!suspect.evidence.is_empty(), "{suspect:?}");
        let known = ["dispersion", "pattern", "peers", "baseline", "period"];
        assert!(suspect.evidence.iter().all(|word| known.contains(&word.as_str())), "{suspect:?}");
        let is_named = suspect.scope == Scope::Replicas || suspect.replicas_seen == 1;
        assert_eq!(is_named, !suspect.replicas.is_empty(), "{suspect:?}");
        assert!(!suspect.trace_ids.is_empty() && suspect.trace_ids.len() <= 5, "{suspect:?}");
        assert!(
            suspect.requests_hit <= suspect.requests_seen && (suspect.share.is_nan() || suspect.share >= 0.0),
            "{suspect:?}"
        );
    }
    for incident in &report.incidents {
        assert!(incident.time.since < incident.time.until);
        assert!(incident.suspects.iter().map(|suspect| suspect.share).sum::<f64>() <= 1.0 + 1e-9);
    }
}

fn name(suspect: &Suspect) -> String {
    format!("{} {}", suspect.service, suspect.operation)
}

fn names(report: &Report) -> Vec<String> {
    report.suspects.iter().map(name).collect()
}

fn slow_cart(_: usize, _: usize) -> Factors {
    Factors { cart: 2.0, ..USUAL }
}

const BEFORE: Shop =
    Shop { requests: 400, from_s: 0, seed: 1, names_replicas: false, replaced_at: usize::MAX };
const NOW: Shop =
    Shop { requests: 200, from_s: 100_000, seed: 5, names_replicas: false, replaced_at: usize::MAX };

#[test]
fn an_unchanged_system_is_healthy() {
    let report = diagnosed(
        &NOW.traces(|_, _| USUAL),
        Some(&BEFORE.traces(|_, _| USUAL)),
        &DiagnoseSettings::default(),
    );
    assert_eq!((report.verdict, names(&report).len()), (Verdict::Healthy, 0), "{}", report.headline);
    let baseline = report.baseline.expect("it was compared");
    assert_eq!(baseline.requests, 400);
    assert!(baseline.slower_ns.abs() < 0.05 * baseline.mean_ns, "{baseline:?}");
}

#[test]
fn an_operation_slower_than_in_the_baseline_is_named() {
    let report =
        diagnosed(&NOW.traces(slow_cart), Some(&BEFORE.traces(|_, _| USUAL)), &DiagnoseSettings::default());
    assert_eq!(names(&report), ["cart add"]);
    let suspect = &report.suspects[0];
    assert_eq!((suspect.evidence.as_slice(), suspect.scope), (&["baseline".to_owned()][..], Scope::All));
    let shift = suspect.shift.expect("it was compared");
    assert!(shift.factor_low < 2.0 && 2.0 < shift.factor_high && shift.factor_high < 2.3, "{shift:?}");
    assert_eq!(shift.baseline_calls, 400);
    assert!(suspect.share > 0.9, "{}", suspect.share);
    let baseline = report.baseline.expect("it was compared");
    let slower = baseline.window_mean_ns - baseline.mean_ns;
    assert!((baseline.slower_ns + baseline.mix_ns - slower).abs() < 1.0);
    // Twice two milliseconds.
    assert!((1.9e6..2.1e6).contains(&baseline.slower_ns), "{baseline:?}");
    assert!(report.incidents.is_empty());
}

#[test]
fn a_slow_network_is_an_edge_from_caller_to_callee() {
    let slow = |_: usize, _: usize| Factors { network: 10.0, ..USUAL };
    let report =
        diagnosed(&NOW.traces(slow), Some(&BEFORE.traces(|_, _| USUAL)), &DiagnoseSettings::default());
    let first = &report.suspects[0];
    assert_eq!(
        name(first),
        "cart add",
        "time before the callee's span is the callee's unless its others say no"
    );
    let between = first.between.as_ref().expect("it is a link");
    assert_eq!((between.caller_operation.as_str(), between.callee_operation.as_str()), ("call-cart", "add"));
    // Neither end does anything else more slowly.
    assert_eq!(between.end, LinkEnd::Unknown);
    assert!(
        report.headline.contains("either end, or what is between them, is to blame"),
        "{}",
        report.headline
    );
    assert_eq!(report.suspects.len(), 1);
}

#[test]
fn operations_absent_from_the_baseline_are_new() {
    let text = |index: usize, calls: bool| {
        let (trace, from) = (index + 1, index as u64 * 1_000_000_000);
        let retry = if calls {
            format!("{trace} b a shop/retry@s1 {from}..{} internal\n", from + 3_000_000)
        } else {
            String::new()
        };
        let length = if calls { 4_000_000 } else { 1_000_000 } + index as u64 * 7919 % 1000;
        format!("{trace} a - shop/buy@s1 {from}..{} server\n{retry}", from + length)
    };
    let all = |calls| traces_of((0..200).map(|index| text(index, calls)).collect::<String>().lines());
    let report = diagnosed(&all(true), Some(&all(false)), &DiagnoseSettings::default());
    let suspect = report.suspects.iter().find(|suspect| suspect.operation == "retry").expect("it is new");
    assert_eq!(suspect.evidence, ["baseline"]);
    assert!(suspect.shift.is_some_and(|shift| shift.factor.is_infinite() && shift.baseline_calls == 0));
    let json = json(&report);
    assert!(!json.contains("inf") && json.contains("\"factor\": null"), "{json}");
}

/// Ten minutes of an hour are slow; the baseline is the same hour.
fn hour() -> Requests {
    let slow =
        |index: usize, _: usize| if (1800..2400).contains(&index) { slow_cart(index, 0) } else { USUAL };
    Shop { requests: 3600, seed: 3, ..BEFORE }.traces(slow)
}

#[test]
fn a_window_is_compared_with_the_rest_or_another_window_of_the_same_traces() {
    let traces = hour();
    let selected = DiagnoseSettings { since: at(1800), until: at(2399), ..DiagnoseSettings::default() };
    let rest = DiagnoseSettings { baseline: BaselineChoice::Rest, ..selected.clone() };
    let within = BaselineChoice::Within { since: at(600), until: at(1799) };
    let within = DiagnoseSettings { baseline: within, ..selected.clone() };
    let overlapping = BaselineChoice::Within { since: at(1200), until: at(2999) };
    let overlapping = DiagnoseSettings { baseline: overlapping, ..selected };
    for (settings, requests) in [(&rest, 3000), (&within, 1200), (&overlapping, 1200)] {
        let report = diagnosed(&traces, None, settings);
        assert_eq!(names(&report), ["cart add"], "{requests}");
        assert_eq!(report.baseline.as_ref().expect("it was compared").requests, requests);
        assert_eq!(report.input.requests, 600);
        let onset = report.suspects[0].onset.as_ref().expect("it began inside the traces");
        let onset_ns = 1_800_000_000_000_i64;
        assert!(onset.earliest.unix_ns() <= onset_ns && onset_ns <= onset.latest.unix_ns(), "{onset:?}");
        assert!(onset.latest.since(onset.earliest).ns() < 60_000_000_000, "{onset:?}");
    }
}

#[test]
fn a_quiet_window_is_healthy_although_another_was_slow() {
    let traces = hour();
    let selected = DiagnoseSettings {
        since: at(600),
        until: at(1199),
        baseline: BaselineChoice::Rest,
        ..DiagnoseSettings::default()
    };
    let report = diagnosed(&traces, None, &selected);
    assert_eq!(names(&report), Vec::<String>::new(), "{}", report.headline);
}

#[test]
fn without_a_baseline_a_slow_period_is_an_incident() {
    let report = diagnosed(&hour(), None, &DiagnoseSettings::default());
    assert_eq!(report.incidents.len(), 1, "{:?}", report.incidents);
    let incident = &report.incidents[0];
    assert_eq!(incident.time.to_string(), "1970-01-01T00:30:00.000Z to 1970-01-01T00:40:00.000Z");
    assert_eq!(incident.suspects[0].operation, "add");
    assert!((1.7..2.3).contains(&incident.suspects[0].factor), "{incident:?}");
    let first = &report.suspects[0];
    assert_eq!(name(first), "cart add");
    assert!(first.evidence.contains(&"period".to_owned()), "{:?}", first.evidence);
    assert!(report.baseline.is_none());
}

#[test]
fn a_slow_replica_is_found_by_its_peers_unless_it_always_was_slow() {
    let one_slow = |_: usize, pod: usize| Factors { cart: if pod == 2 { 2.0 } else { 1.0 }, ..USUAL };
    let now = NOW.traces(one_slow);
    let alone = diagnosed(&now, None, &DiagnoseSettings::default());
    assert_eq!(names(&alone), ["cart add"]);
    assert_eq!(alone.suspects[0].replicas, ["cart-2"]);
    assert!(alone.suspects[0].evidence.contains(&"peers".to_owned()));
    let standing = diagnosed(&now, Some(&BEFORE.traces(one_slow)), &DiagnoseSettings::default());
    assert_eq!(names(&standing), Vec::<String>::new());
    assert!(standing.ruled_out.iter().any(|text| text.contains("`cart add`")), "{:?}", standing.ruled_out);
    let newly = diagnosed(&now, Some(&BEFORE.traces(|_, _| USUAL)), &DiagnoseSettings::default());
    assert_eq!(newly.suspects[0].replicas, ["cart-2"]);
    for word in ["peers", "baseline"] {
        assert!(newly.suspects[0].evidence.contains(&word.to_owned()), "{:?}", newly.suspects[0].evidence);
    }
}

#[test]
fn a_slow_replica_whose_requests_have_a_call_tree_of_their_own_is_named() {
    let [before, now] = [BEFORE, NOW].map(|shop| Shop { names_replicas: true, ..shop });
    let usual = before.traces(|_, _| USUAL);
    let one_slow = |_: usize, pod: usize| Factors { cart: if pod == 2 { 3.0 } else { 1.0 }, ..USUAL };
    let report = diagnosed(&now.traces(one_slow), Some(&usual), &DiagnoseSettings::default());
    let lead = &report.suspects[0];
    assert_eq!(
        (name(lead), lead.scope, &lead.replicas[..]),
        ("cart add".into(), Scope::Replicas, &["cart-2".to_owned()][..])
    );
    assert_eq!(lead.replicas_seen, 4);
    assert!((2.5..3.5).contains(&lead.culprits[0].factor), "{:?}", lead.culprits);
    let report = diagnosed(&now.traces(slow_cart), Some(&usual), &DiagnoseSettings::default());
    let lead = &report.suspects[0];
    assert_eq!((name(lead), lead.scope, lead.scope_undecided), ("cart add".into(), Scope::All, false));
}

#[test]
fn a_replica_that_is_slow_at_the_end_of_the_window_is_named() {
    let late = |index: usize, pod: usize| Factors {
        cart: if index >= 1080 && pod == 2 { 6.0 } else { 1.0 },
        ..USUAL
    };
    for names_replicas in [false, true] {
        let [before, now] =
            [Shop { requests: 2400, ..BEFORE }, Shop { requests: 1200, from_s: 10_000, ..NOW }];
        let [before, now] = [before, now].map(|shop| Shop { names_replicas, ..shop });
        let report =
            diagnosed(&now.traces(late), Some(&before.traces(|_, _| USUAL)), &DiagnoseSettings::default());
        let lead = &report.suspects[0];
        assert_eq!(
            (name(lead), lead.scope, &lead.replicas[..]),
            ("cart add".into(), Scope::Replicas, &["cart-2".to_owned()][..]),
            "{names_replicas}"
        );
    }
}

#[test]
fn calls_of_a_slow_replica_before_the_onset_are_not_hit() {
    let late = |index: usize, pod: usize| Factors {
        cart: if index >= 600 && pod == 2 { 2.0 } else { 1.0 },
        ..USUAL
    };
    let [before, now] = [Shop { requests: 2400, ..BEFORE }, Shop { requests: 1200, from_s: 2400, ..NOW }];
    let report =
        diagnosed(&now.traces(late), Some(&before.traces(|_, _| USUAL)), &DiagnoseSettings::default());
    let lead = report.suspects.first().expect("a suspect");
    assert_eq!((name(lead), &lead.replicas[..]), ("cart add".into(), &["cart-2".to_owned()][..]));
    assert!((1.8..2.2).contains(&lead.factor), "{}", lead.factor);
    assert!((1.8..2.2).contains(&lead.culprits[0].factor), "{:?}", lead.culprits);
    assert!((140..=155).contains(&lead.requests_hit), "{}", lead.requests_hit);
}

/// The replicas of the window ran in the last minutes of the baseline only, and were slow at first.
#[test]
fn a_replica_that_had_just_started_in_the_baseline_is_named() {
    let warm_up = |index: usize, _: usize| Factors {
        cart: if (3480..3570).contains(&index) { 4.0 } else { 1.0 },
        ..USUAL
    };
    let before = Shop { requests: 3600, replaced_at: 3480, ..BEFORE };
    let now = Shop { requests: 1200, from_s: 3600, replaced_at: 0, ..NOW };
    let one_slow = |_: usize, pod: usize| Factors { cart: if pod == 2 { 1.25 } else { 1.0 }, ..USUAL };
    let report =
        diagnosed(&now.traces(one_slow), Some(&before.traces(warm_up)), &DiagnoseSettings::default());
    let lead = report.suspects.first().expect("a suspect");
    assert_eq!((name(lead), &lead.replicas[..]), ("cart add".into(), &["cart-2-new".to_owned()][..]));
    assert!((75..=300).contains(&lead.requests_hit), "{}", lead.requests_hit);
}

#[test]
fn two_slower_operations_and_a_faster_one_share_the_excess() {
    let now = NOW.traces(|_, _| Factors { cart: 2.0, store: 3.0, shop: 0.2, ..USUAL });
    let report = diagnosed(&now, Some(&BEFORE.traces(|_, _| USUAL)), &DiagnoseSettings::default());
    let mut found = names(&report);
    found.sort();
    assert_eq!(found, ["cart add", "cart read-store"]);
}

#[test]
fn a_baseline_too_small_to_compare_is_reported() {
    let tiny = Shop { requests: 5, ..BEFORE }.traces(|_, _| USUAL);
    for baseline in [&tiny, &Requests::default()] {
        let report = diagnosed(&NOW.traces(slow_cart), Some(baseline), &DiagnoseSettings::default());
        assert!(report.cautions.iter().any(|text| text.contains("to compare")), "{:?}", report.cautions);
        assert!(report.suspects.iter().all(|suspect| suspect.shift.is_none()));
    }
}

#[test]
fn the_answer_does_not_depend_on_threads() {
    let (now, before) = (NOW.traces(slow_cart), BEFORE.traces(|_, _| USUAL));
    let run = |threads| -> Result<Report, SettingError> {
        let engine = LocalEngine::new(std::num::NonZeroUsize::new(threads).expect("not zero"));
        diagnose(&now, Some(&before), &InputFacts::default(), &DiagnoseSettings::default(), engine)
    };
    assert_eq!(json(&run(1).expect("in range")), json(&run(5).expect("in range")));
    assert_eq!(DiagnoseSettings::default().method.name(), "combined");
}
