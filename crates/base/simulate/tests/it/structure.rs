//! Invariants of every request of every scenario.

use laggard_model::SpanKind;
use laggard_simulate::{Request, SAMPLING, Scenario, Settings, requests};
use proptest::prelude::*;
use std::collections::HashSet;

fn check_call(request: &Request, index: usize) {
    let call = &request.calls[index];
    let callees: Vec<_> = request.calls.iter().filter(|other| other.parent == Some(index as u32)).collect();
    let below: u64 = callees.iter().map(|callee| callee.inclusive.ns()).sum();
    assert_eq!(call.inclusive.ns(), call.self_time.ns() + below, "position {index}");
    let inside = |callee: &&laggard_simulate::Call| {
        callee.true_start >= call.true_start && callee.true_end <= call.true_end
    };
    assert!(callees.iter().all(inside), "position {index}");
    for callee in callees.iter().filter(|callee| request.replica(callee) == request.replica(call)) {
        assert!(callee.start >= call.start);
        assert!(callee.start.plus(callee.inclusive) <= call.start.plus(call.inclusive));
    }
    if request.kind(call) == SpanKind::Client {
        assert_eq!(callees.len(), 1);
        assert_eq!(request.kind(callees[0]), SpanKind::Server);
        assert!(callees[0].inclusive < call.inclusive);
    }
    for pair in callees.windows(2) {
        assert!(pair[0].true_end <= pair[1].true_start, "position {index}: callees overlap");
    }
}

fn check_place(request: &Request, index: usize) {
    let call = &request.calls[index];
    let Some(parent) = call.parent else {
        assert_eq!((index, request.kind(call)), (0, SpanKind::Server));
        return;
    };
    assert!((parent as usize) < index);
    let caller = &request.calls[parent as usize];
    let handles = request.kind(call) == SpanKind::Server;
    assert_eq!(handles, request.kind(caller) == SpanKind::Client);
    if !handles {
        assert_eq!(request.service(call), request.service(caller));
        assert_eq!(request.replica(call), request.replica(caller));
    }
}

fn check(request: &Request) {
    assert!((80..=150).contains(&request.calls.len()));
    for index in 0..request.calls.len() {
        check_call(request, index);
        check_place(request, index);
    }
    let ids: HashSet<_> = request.calls.iter().map(|call| call.span_id).collect();
    assert_eq!(ids.len(), request.calls.len());
    assert_eq!(mix(request.trace_id.value() as u64) % SAMPLING, 0);
    let replica = |service: &str| {
        let calls = request.calls.iter().filter(|call| request.service(call) == service);
        calls.map(|call| request.replica(call)).collect::<HashSet<_>>()
    };
    assert!(request.calls.iter().all(|call| replica(request.service(call)).len() == 1));
}

/// An independent copy of the splitmix64 finalizer.
fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_requests_are_consistent(
        seed: u64,
        run in 0..3_u32,
        scenario in 0..Scenario::ALL.len(),
        mild: bool,
        clock_skew: bool,
    ) {
        let scenario = Scenario::ALL[scenario];
        let base = Settings { requests_per_service: 4, ..Settings::new(scenario, seed) };
        let settings = Settings { run, mild, clock_skew, categories_per_service: 3, ..base };
        requests(&settings).unwrap().for_each(|request| check(&request));
    }

    #[test]
    fn extreme_settings_give_consistent_requests(seed: u64) {
        let base = Settings { requests_per_service: 3, ..Settings::new(Scenario::SlowHost, seed) };
        let settings = Settings {
            slow_host_factor: 1_000.0,
            size_sigma: 2.0,
            host_load_sigma: 2.0,
            pause_probability: 1.0,
            categories_per_service: 1,
            window_s: 86_400,
            ..base
        };
        requests(&settings).unwrap().for_each(|request| check(&request));
    }
}
