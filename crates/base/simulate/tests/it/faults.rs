//! Faults hit their documented targets, with the documented frequency and strength.

use crate::support::draw;
use laggard_simulate::{Request, Scenario, Settings};
use std::collections::{HashMap, HashSet};

fn settings(scenario: Scenario) -> Settings {
    Settings { requests_per_service: 2_000, ..Settings::new(scenario, 21) }
}

fn extra_ns(request: &Request) -> u64 {
    request.calls.iter().map(|call| call.injected.ns()).sum()
}

fn is_delayed(request: &&Request) -> bool {
    extra_ns(request) > 0
}

fn entry(request: &Request) -> &str {
    request.operation(&request.calls[0])
}

/// Share of the requests, among those that satisfy `concerned`, that are delayed.
fn share(requests: &[Request], concerned: impl Fn(&Request) -> bool) -> f64 {
    let concerned: Vec<&Request> = requests.iter().filter(|request| concerned(request)).collect();
    assert!(concerned.len() >= 100, "{}", concerned.len());
    concerned.iter().copied().filter(is_delayed).count() as f64 / concerned.len() as f64
}

/// Within four standard errors of a share over `count`.
#[track_caller]
fn assert_share(found: f64, stated: f64, count: usize) {
    let error = (stated * (1.0 - stated) / count as f64).sqrt();
    assert!((found - stated).abs() < 4.0 * error, "{found} instead of {stated} ± {error}");
}

fn categories_hit(requests: &[Request]) -> HashSet<usize> {
    requests.iter().filter(is_delayed).map(|request| request.category).collect()
}

fn replicas_hit(requests: &[Request]) -> HashSet<String> {
    let calls = requests.iter().flat_map(|request| request.calls.iter().map(move |call| (request, call)));
    calls.filter(|(_, call)| call.injected.ns() > 0).map(|(r, call)| r.replica(call).to_owned()).collect()
}

fn runs(request: &Request, service: &str, operation: &str) -> bool {
    let is = |call: &laggard_simulate::Call| {
        request.service(call) == service && request.operation(call) == operation
    };
    request.calls.iter().any(is)
}

fn on(request: &Request, service: &str, replicas: &HashSet<String>) -> bool {
    let mut calls = request.calls.iter().filter(|call| request.service(call) == service);
    calls.next().is_some_and(|call| replicas.contains(request.replica(call)))
}

#[test]
fn the_thread_pool_delays_a_fifth_of_the_requests_of_its_categories() {
    let requests = draw(&settings(Scenario::ThreadPool));
    let hit = categories_hit(&requests);
    let concerned = |request: &Request| hit.contains(&request.category);
    let count = requests.iter().filter(|request| concerned(request)).count();
    assert_share(share(&requests, concerned), 0.2, count);
    let calls = |request: &Request| request.calls.iter().filter(|call| call.injected.ns() > 0).count();
    assert!(requests.iter().filter(is_delayed).all(|request| (1..=3).contains(&calls(request))));
    assert!(replicas_hit(&requests).len() > 80);
}

#[test]
fn the_random_device_blocks_four_front_ends() {
    let requests = draw(&settings(Scenario::RandomDevice));
    let (hit, replicas) = (categories_hit(&requests), replicas_hit(&requests));
    assert_eq!(replicas.len(), 4);
    assert!(requests.iter().filter(is_delayed).all(|request| entry(request) == "SendMail"));
    let concerned =
        |request: &Request| hit.contains(&request.category) && on(request, "front-end", &replicas);
    let count = requests.iter().filter(|request| concerned(request)).count();
    assert_share(share(&requests, concerned), 0.6, count);
    assert!(requests.iter().filter(is_delayed).all(|request| request.calls[1].injected.ns() > 0));
}

#[test]
fn bursts_delay_three_replicas_by_eight_latencies() {
    let more = Settings { requests_per_service: 8_000, ..settings(Scenario::Bursts) };
    let requests = draw(&more);
    assert_eq!((categories_hit(&requests).len(), replicas_hit(&requests).len()), (7, 3));
    let extras: Vec<f64> = requests
        .iter()
        .flat_map(|request| &request.calls)
        .filter(|call| call.injected.ns() > 0)
        .map(|call| call.injected.as_ms())
        .collect();
    let mean = extras.iter().sum::<f64>() / extras.len() as f64;
    // Median latencies are 30 to 65 ms.
    assert!((240.0..520.0).contains(&mean), "{mean} ms over {}", extras.len());
}

#[test]
fn a_misconfiguration_quadruples_reads_in_two_fifths_of_the_lists() {
    let requests = draw(&settings(Scenario::Misconfiguration));
    let concerned =
        |request: &Request| entry(request) == "ListFile" && runs(request, "chunk-store", "ReadChunk");
    let count = requests.iter().filter(|request| concerned(request)).count();
    assert_share(share(&requests, concerned), 0.4, count);
    for call in requests.iter().flat_map(|request| &request.calls).filter(|call| call.injected.ns() > 0) {
        let ratio = call.self_time.ns() as f64 / (call.self_time.minus(call.injected)).ns() as f64;
        assert!((ratio - 4.0).abs() < 0.01, "{ratio}");
    }
}

#[test]
fn failover_delays_half_of_the_writes_at_five_hosts_by_300_ms() {
    let more = Settings { requests_per_service: 8_000, ..settings(Scenario::Failover) };
    let requests = draw(&more);
    let replicas = replicas_hit(&requests);
    assert_eq!(replicas.len(), 5);
    let writes: Vec<_> = requests
        .iter()
        .flat_map(|request| request.calls.iter().map(move |call| (request, call)))
        .filter(|(request, call)| request.operation(call) == "WriteChunk")
        .filter(|(request, call)| replicas.contains(request.replica(call)))
        .map(|(_, call)| call.injected.as_ms())
        .collect();
    let delayed: Vec<f64> = writes.iter().copied().filter(|ms| *ms > 0.0).collect();
    assert_share(delayed.len() as f64 / writes.len() as f64, 0.5, writes.len());
    let mean = delayed.iter().sum::<f64>() / delayed.len() as f64;
    assert!((mean - 300.0).abs() < 4.0 * 300.0 / (delayed.len() as f64).sqrt(), "{mean}");
}

#[test]
fn a_code_bug_costs_20_ms_on_nine_hosts_and_a_third_when_mild() {
    for (mild, stated_ms) in [(false, 20.0), (true, 20.0 / 3.0)] {
        let requests = draw(&Settings { mild, ..settings(Scenario::CodeBug) });
        assert_eq!(replicas_hit(&requests).len(), 9);
        for call in requests.iter().flat_map(|request| &request.calls).filter(|c| c.injected.ns() > 0) {
            assert!((call.injected.as_ms() - stated_ms).abs() < 1e-3);
        }
    }
}

#[test]
fn one_of_two_front_ends_and_forty_of_a_hundred_chunk_hosts_cost_20_ms() {
    let cases = [(Scenario::OneOfTwo, "front-end", 2, 1), (Scenario::FortyOfHundred, "chunk-store", 100, 40)];
    for (scenario, service, replicas, bad) in cases {
        let settings = Settings { requests_per_service: 400, ..settings(scenario) };
        let quiet = draw(&settings.baseline());
        let used = |request: &Request| {
            let calls = request.calls.iter().filter(|call| request.service(call) == service);
            calls.map(|call| request.replica(call).to_owned()).collect::<Vec<_>>()
        };
        let seen: std::collections::BTreeSet<String> = quiet.iter().flat_map(used).collect();
        assert_eq!(seen.len(), replicas, "{service}");
        let requests = draw(&settings);
        let hit = replicas_hit(&requests);
        assert_eq!(hit.len(), bad, "{service}");
        assert!(hit.iter().all(|replica| seen.contains(replica)));
        for call in requests.iter().flat_map(|request| &request.calls).filter(|c| c.injected.ns() > 0) {
            assert!((call.injected.as_ms() - 20.0).abs() < 1e-3);
        }
    }
}

#[test]
fn a_new_operation_makes_new_categories() {
    let requests = draw(&settings(Scenario::CodeBugNewOperation));
    let replicas = replicas_hit(&requests);
    assert_eq!(replicas.len(), 9);
    for request in &requests {
        let upgraded = on(request, "mail-logic", &replicas);
        assert_eq!(runs(request, "mail-logic", "ScanAttachments"), upgraded);
        assert_eq!(request.category >= 120, upgraded);
    }
    let upgraded = |request: &Request| on(request, "mail-logic", &replicas);
    let found = requests.iter().filter(|request| upgraded(request)).count() as f64 / requests.len() as f64;
    assert_share(found, 0.3, requests.len());
}

#[test]
fn load_imbalance_sends_three_fifths_of_the_saves_to_five_hosts() {
    let requests = draw(&settings(Scenario::LoadImbalance));
    let replicas = replicas_hit(&requests);
    assert_eq!(replicas.len(), 5);
    let saves: Vec<&Request> = requests
        .iter()
        .filter(|request| entry(request) == "SaveFile" && runs(request, "chunk-store", "QueueWait"))
        .collect();
    let found = saves.iter().filter(|request| on(request, "chunk-store", &replicas)).count();
    // The rest is spread over all hosts, these five among them.
    assert_share(found as f64 / saves.len() as f64, 0.6 + 0.4 * 0.05, saves.len());
}

#[test]
fn uniform_adds_a_tenth_and_a_slow_host_twice_the_self_time() {
    for (scenario, factor) in [(Scenario::Uniform, 1.1), (Scenario::SlowHost, 3.0)] {
        let requests = draw(&settings(scenario));
        let mut seen = 0;
        for request in &requests {
            for call in request.calls.iter().filter(|call| call.injected.ns() > 0) {
                let usual = call.self_time.minus(call.injected).ns() as f64;
                let ratio = call.self_time.ns() as f64 / usual;
                // Clocks drift, and a remote call's network time is seen through two of them.
                assert!((ratio / factor - 1.0).abs() < 0.02, "{ratio} {}", request.operation(call));
                seen += 1;
            }
        }
        assert!(seen > 1_000);
    }
}

/// Faults only add: the same seed without the fault gives the same requests less what was injected.
#[test]
fn a_faulty_run_is_the_quiet_run_plus_the_injected_time() {
    for scenario in Scenario::ALL {
        let changes_more =
            [Scenario::CodeBugNewOperation, Scenario::LoadImbalance, Scenario::HeavyTail].contains(&scenario);
        if changes_more {
            continue;
        }
        let faulty = Settings { requests_per_service: 300, ..settings(scenario) };
        let quiet =
            Settings { scenario: Scenario::Quiet, services: Some(faulty.entry_services()), ..faulty.clone() };
        let quiet: HashMap<_, _> = draw(&quiet).into_iter().map(|r| (r.trace_id, r)).collect();
        for request in draw(&faulty) {
            let (with, without) = (&request.calls[0], &quiet[&request.trace_id].calls[0]);
            let length = |call: &laggard_simulate::Call| call.true_end.since(call.true_start).ns();
            let added = length(with) - length(without);
            let slack = added - extra_ns(&request) as i64;
            // Network time may grow a little with what it waits for.
            assert!((0..200_000).contains(&slack), "{}: {slack}", scenario.name());
        }
    }
}
