//! Operations that fail, return early, or make other calls than before.

use crate::simulated::THREADS;
use crate::sites::traces_of;
use laggard_diagnose::{DiagnoseSettings, Population, Subject, diagnose, subject_calls};
use laggard_engine::{LocalEngine, Requests};
use laggard_report::{InputFacts, Report, Verdict};
use std::fmt::Write;

/// Behavior of `cart` in a request.
#[derive(Clone, Copy)]
enum Cart {
    /// Reads its `store` this many times.
    Reads(u64),
    /// Reads it once, which takes twenty times as long.
    ReadsSlowly,
    /// Returns at once with an error.
    Fails,
}

/// `shop` calls `cart` over the network on one of three replicas, `cart` checks the session and reads its `store`; a
/// request a second, from a second on. `cart` returns what `cart` does, by request and replica.
fn shop(from: usize, requests: usize, cart: impl Fn(usize, usize) -> Cart) -> Requests {
    traces_of(shop_spans(from, requests, cart).lines())
}

fn shop_spans(from: usize, requests: usize, cart: impl Fn(usize, usize) -> Cart) -> String {
    let mut state = from as u64 + 1;
    let mut noisy = move |usual_ns: f64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let uniform = (state >> 33) as f64 / (1_u64 << 31) as f64;
        (usual_ns * (0.4 * (uniform - 0.5) * 3.0_f64.sqrt()).exp()) as u64
    };
    let mut text = String::new();
    for request in 0..requests {
        let (trace, start) = (1 + from + request, (from + request) as u64 * 1_000_000_000);
        let pod = request * 7 % 3;
        let doing = cart(request, pod);
        let reads = match doing {
            Cart::Reads(reads) => (0..reads).map(|_| noisy(1e6)).collect(),
            Cart::ReadsSlowly => vec![noisy(2e7)],
            Cart::Fails => Vec::new(),
        };
        let error = if matches!(doing, Cart::Fails) { "error" } else { "" };
        let (own, check) = (noisy(if error.is_empty() { 1e6 } else { 1e5 }), noisy(2e5));
        let calls = if error.is_empty() { check + reads.iter().sum::<u64>() } else { 0 };
        let mut span = |id: &str, place: &str, from: u64, length: u64, rest: &str| {
            writeln!(text, "{trace} {id} {place} {from}..{} {rest}", from + length).expect("text grows");
        };
        let network = 400_000;
        span("a", "- shop/buy@shop-1", start, own + calls + network + 500_000, &format!("server {error}"));
        span("b", "a shop/call-cart@shop-1", start + 1, own + calls + network, &format!("client {error}"));
        let call = format!("b cart/get@cart-{pod}");
        let mut next = start + 200_000;
        span("c", &call, next, own + calls, &format!("server {error}"));
        if error.is_empty() {
            next += own / 2;
            span("d", &format!("c cart/check@cart-{pod}"), next, check, "internal");
            next += check;
            for (number, read) in reads.into_iter().enumerate() {
                span(&format!("e{number}"), &format!("c cart/read@cart-{pod}"), next, read, "client");
                next += read;
            }
        }
    }
    text
}

/// Usual requests without some spans: `is_lost` is called with the number of the request, its pod, and the operation.
fn shop_with_losses(from: usize, requests: usize, is_lost: impl Fn(usize, usize, &str) -> bool) -> Requests {
    without_spans(&shop_spans(from, requests, |_, _| Cart::Reads(1)), from, is_lost)
}

fn without_spans(text: &str, from: usize, is_lost: impl Fn(usize, usize, &str) -> bool) -> Requests {
    let is_recorded = |line: &&str| {
        let mut words = line.split([' ', '@']);
        let request =
            words.next().and_then(|trace| trace.parse::<usize>().ok()).expect("a number") - 1 - from;
        !is_lost(request, request * 7 % 3, words.nth(2).expect("an operation"))
    };
    traces_of(text.lines().filter(is_recorded))
}

fn usual() -> Requests {
    shop(0, 1_200, |_, _| Cart::Reads(1))
}

fn report(window: &Requests, baseline: Option<&Requests>) -> Report {
    let (facts, settings) = (InputFacts::default(), DiagnoseSettings::default());
    diagnose(window, baseline, &facts, &settings, LocalEngine::new(THREADS)).unwrap()
}

/// The first suspect as `SERVICE OPERATION REPLICAS EVIDENCE`.
fn first(report: &Report) -> String {
    let Some(first) = report.suspects.first() else { return format!("{:?}", report.verdict) };
    let (replicas, evidence) = (first.replicas.join(","), first.evidence.join(","));
    format!("{} {} [{replicas}] {evidence}", first.service, first.operation)
}

#[test]
fn one_of_three_replicas_returns_at_once_with_an_error() {
    let window = shop(5_000, 600, |_, pod| if pod == 1 { Cart::Fails } else { Cart::Reads(1) });
    let compared = report(&window, Some(&usual()));
    assert_eq!(compared.verdict, Verdict::Suspects);
    assert_eq!(first(&compared), "cart get [cart-1] errors", "{}", compared.headline);
    assert_eq!(compared.suspects[0].requests_hit, 200);
    assert_eq!(
        compared.headline,
        "`cart` operation `get` on 1 of 3 replicas (cart-1) fails in 33 % of its calls, 0 % in the baseline; this hit \
         200 of 600 requests."
    );
    let alone = report(&window, None);
    assert_eq!(alone.verdict, Verdict::Suspects);
    assert_eq!(first(&alone), "cart get [cart-1] peers,errors", "{}", alone.headline);
}

#[test]
fn the_time_since_which_an_operation_fails_is_named() {
    let fails = |request: usize, _| {
        if request >= 5_250 && request.is_multiple_of(4) { Cart::Fails } else { Cart::Reads(1) }
    };
    let window = shop(5_000, 600, |request, pod| fails(5_000 + request, pod));
    let report = report(&window, Some(&usual()));
    assert_eq!(first(&report), "cart get [] errors");
    let onset = report.suspects[0].onset.as_ref().expect("an onset").at.unix_ns() / 1_000_000_000;
    assert!((5_245..=5_260).contains(&onset), "{onset}");
    assert!(report.headline.contains("0 % in the baseline since 01:27:"), "{}", report.headline);
    assert!(report.suspects[0].score > 0.0);
}

#[test]
fn an_early_return_is_named_where_old_and_new_trees_diverge() {
    let window = shop(5_000, 600, |request, _| Cart::Reads(u64::from(request % 10 != 3)));
    let report = report(&window, Some(&usual()));
    assert_eq!(report.verdict, Verdict::Suspects);
    assert_eq!(first(&report), "cart get [] missing-calls", "{}", report.headline);
    assert_eq!(report.suspects[0].requests_hit, 60);
    let [change] = &report.suspects[0].behavior[..] else { panic!("{:?}", report.suspects[0].behavior) };
    assert_eq!((change.callees[0].operation.as_str(), change.usual_rate), ("read", 1.0));
    assert!((change.rate - 0.9).abs() < 1e-9);
    assert!(report.headline.contains("calls `cart read` in 90 % of its calls, 100 % in the baseline"));
}

#[test]
fn slow_requests_precede_others_that_make_fewer_calls() {
    let window = shop(5_000, 600, |request, _| match (request % 10, request % 20) {
        (3, _) => Cart::Reads(0),
        (_, 4) => Cart::ReadsSlowly,
        _ => Cart::Reads(1),
    });
    let report = report(&window, Some(&usual()));
    let named: Vec<String> =
        report.suspects.iter().map(|suspect| format!("{} {}", suspect.service, suspect.operation)).collect();
    assert_eq!(named, ["cart read", "cart get"], "{}", report.headline);
}

#[test]
fn messages_that_wait_in_a_queue_are_not_called_missing_calls() {
    let orders = |from: usize, count: usize, is_processed: &dyn Fn(usize) -> bool| {
        let mut text = String::new();
        for order in from..from + count {
            let (trace, start) = (1 + order, order as u64 * 1_000_000_000);
            let time = 1_000_000 + order as u64 * 7_919 % 500_000;
            let mut span = |line: String| writeln!(text, "{trace} {line}").expect("text grows");
            span(format!("a - shop/confirm@shop-1 {start}..{} server", start + 3 * time));
            span(format!("b a shop/publish@shop-1 {}..{} producer", start + time, start + 2 * time));
            if is_processed(order) {
                let process_start = start + 3 * time;
                span(format!(
                    "c b worker/process@worker-1 {process_start}..{} consumer",
                    process_start + time
                ));
            }
        }
        traces_of(text.lines())
    };
    let usual = orders(0, 900, &|_| true);
    let report = report(&orders(5_000, 600, &|order| order % 2 == 0), Some(&usual));
    assert_eq!(first(&report), "worker process [worker-1] unprocessed-messages", "{}", report.headline);
    let headline = "`worker` operation `process` on its only replica (worker-1) processed 50 % of the messages of \
                    `shop publish` in this time, 100 % in the baseline";
    assert!(report.headline.starts_with(headline), "{}", report.headline);
}

#[test]
fn repeated_calls_are_named_with_their_caller() {
    let window = shop(5_000, 600, |_, _| Cart::Reads(6));
    let report = report(&window, Some(&usual()));
    let caller = report.suspects.iter().find(|suspect| suspect.operation == "get").expect("a suspect");
    assert!(caller.evidence.contains(&"more-calls".to_owned()), "{:?}", caller.evidence);
    assert_eq!((caller.behavior[0].rate, caller.behavior[0].usual_rate), (6.0, 1.0));
    // Five more reads of a millisecond in requests of 3.1 ms.
    let met = caller.met.expect("requests that met it");
    assert!(met.requests == 600 && (1.5..1.7).contains(&met.slower), "{met:?}");
}

/// The window's blocks differ more than those of the baseline because the change is in its middle.
#[test]
fn calls_repeated_from_the_middle_of_the_window_are_named_with_their_onset() {
    let window = shop(5_000, 600, |request, _| Cart::Reads(if request < 200 { 1 } else { 6 }));
    let report = report(&window, Some(&usual()));
    let caller = report.suspects.iter().find(|suspect| suspect.operation == "get").expect("a suspect");
    assert!(caller.evidence.contains(&"more-calls".to_owned()), "{:?}", caller.evidence);
    assert_eq!(caller.requests_hit, 400);
    assert!(caller.onset.is_some());
}

#[test]
fn without_a_baseline_failures_are_compared_with_the_time_before_them() {
    let fails = |request: usize| request >= 400 && request.is_multiple_of(4);
    let window = shop(0, 1_200, |request, _| if fails(request) { Cart::Fails } else { Cart::Reads(1) });
    let alone = report(&window, None);
    let failing = &alone.suspects[0];
    assert_eq!((failing.operation.as_str(), &failing.evidence[..]), ("get", &["errors".to_owned()][..]));
    assert_eq!(failing.behavior[0].usual_rate, 0.0);
    assert!((0.23..0.27).contains(&failing.behavior[0].rate), "{}", failing.behavior[0].rate);
    let hit = (0..1_200).filter(|&request| fails(request)).count() as u64;
    assert!(failing.onset.is_some() && failing.requests_hit == hit, "{}", failing.requests_hit);
    assert!(alone.headline.contains("in the rest of the window"), "{}", alone.headline);

    // As often throughout the window: nothing shows that it is new, but it is mentioned.
    let always =
        shop(0, 1_200, |request, _| if request.is_multiple_of(4) { Cart::Fails } else { Cart::Reads(1) });
    let always = report(&always, None);
    assert_eq!(always.suspects.len(), 0);
    assert!(
        always.cautions.iter().any(|text| text.contains("fails in 25 % of its calls")),
        "{:?}",
        always.cautions
    );

    // So is a burst.
    let burst = |request: usize| (700..730).contains(&request);
    let burst = shop(0, 1_200, |request, _| if burst(request) { Cart::Fails } else { Cart::Reads(1) });
    assert_eq!(report(&burst, None).suspects.len(), 0);
}

#[test]
fn without_a_baseline_an_early_return_is_compared_with_the_time_before_it() {
    let stops = |request: usize| request >= 375 && request.is_multiple_of(2);
    let window = shop(0, 1_200, |request, _| Cart::Reads(u64::from(!stops(request))));
    let alone = report(&window, None);
    assert_eq!(first(&alone), "cart get [] missing-calls", "{}", alone.headline);
    let change = &alone.suspects[0].behavior[0];
    assert!((change.rate - 0.5).abs() < 0.01 && change.usual_rate == 1.0, "{change:?}");
    assert_eq!(alone.suspects[0].requests_hit, (0..1_200).filter(|&request| stops(request)).count() as u64);
    assert!(alone.suspects[0].onset.is_some());
    assert!(alone.headline.contains("100 % in the rest of the window"), "{}", alone.headline);

    // What is slow all the time, in one of twenty calls, may be usual, and follows.
    let is_slow = |request: usize| request % if request < 375 { 20 } else { 40 } == 7;
    let window = shop(0, 1_200, |request, _| {
        if is_slow(request) { Cart::ReadsSlowly } else { Cart::Reads(u64::from(!stops(request))) }
    });
    let alone = report(&window, None);
    assert_eq!(first(&alone), "cart get [] missing-calls", "{}", alone.headline);
    assert_eq!(alone.verdict, Verdict::Suspects);

    // As often throughout the window: nothing shows that it is new.
    let window = shop(0, 1_200, |request, _| Cart::Reads((request % 2) as u64));
    assert_ne!(report(&window, None).verdict, Verdict::Suspects);
}

/// One call in a hundred fails and one in four makes no call: before, and now.
#[test]
fn an_unchanged_failure_rate_is_no_suspect() {
    let usual = |request: usize, _| match request * 37 % 100 {
        0 => Cart::Fails,
        number => Cart::Reads(u64::from(number % 4 != 1)),
    };
    let (baseline, window) = (shop(0, 2_400, usual), shop(5_000, 600, usual));
    assert_eq!(first(&report(&window, Some(&baseline))), "Healthy");
    // A burst of errors within a few seconds is no change.
    let burst =
        |request: usize, pod| if (300..315).contains(&request) { Cart::Fails } else { usual(request, pod) };
    assert_eq!(first(&report(&shop(5_000, 600, burst), Some(&baseline))), "Healthy");
}

/// A lost span hides no time: its duration becomes the caller's self time.
#[test]
fn lost_spans_are_no_missing_calls() {
    for lost in ["cart/read", "cart/get", "shop/call-cart", "cart/check"] {
        let everywhere = shop_with_losses(5_000, 600, |request, _, operation| {
            operation == lost && request * 37 % 100 < 10
        });
        let report = self::report(&everywhere, Some(&usual()));
        assert_ne!(report.verdict, Verdict::Suspects, "{lost}: {}", report.headline);
        let one_pod = shop_with_losses(5_000, 600, |request, pod, operation| {
            pod == 1 && operation.starts_with("cart") && (request * 37 + operation.len() * 11) % 100 < 10
        });
        let report = self::report(&one_pod, Some(&usual()));
        assert_ne!(report.verdict, Verdict::Suspects, "{lost}: {}", report.headline);
        let later = shop_with_losses(0, 1_200, |request, _, operation| {
            operation == lost && request >= 600 && request * 37 % 100 < 30
        });
        let report = self::report(&later, None);
        let mut evidence = report.suspects.iter().flat_map(|suspect| &suspect.evidence);
        assert!(!evidence.any(|kind| kind == "missing-calls"), "{lost}: {}", report.headline);
    }
}

/// Of requests that make a call, more lose a span with callees and are incomplete, so the call is rarer in complete ones.
#[test]
fn requests_with_more_spans_are_incomplete_more_often() {
    let every_second = |request: usize, _: usize| Cart::Reads(u64::from(request.is_multiple_of(2)));
    let text = shop_spans(5_000, 600, every_second);
    let is_lost = |request: usize, _: usize, operation: &str| {
        operation == "cart/get" && request.is_multiple_of(2) && request % 10 < 6
    };
    let window = without_spans(&text, 5_000, is_lost);
    let report = self::report(&window, Some(&shop(0, 1_200, every_second)));
    assert_ne!(report.verdict, Verdict::Suspects, "{}", report.headline);
}

#[test]
fn the_time_between_an_operation_and_what_it_calls_is_found_by_the_operation_alone() {
    let requests = shop(0, 50, |_, _| Cart::Reads(1));
    let calls = |caller: Option<(&str, &str)>| {
        let subject =
            Subject { operation: ("shop", "call-cart"), caller, replicas: &[], is_inclusive: false };
        subject_calls(&Population::all(&requests), &subject, LocalEngine::new(THREADS)).len()
    };
    assert_eq!((calls(Some(("shop", "call-cart"))), calls(Some(("shop", "buy"))), calls(None)), (50, 0, 0));
}
