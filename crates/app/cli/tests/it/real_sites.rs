//! Published measurements with known truth, with default settings. Without the files the tests are skipped.

use crate::outcome::diagnose;
use crate::shop;
use laggard_testkit::data_folder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

fn traces(name: &str) -> Option<PathBuf> {
    Some(data_folder("tracebench")?.join(format!("{name}.csv.zst")))
}

fn texts<'a>(list: &'a Value, field: &str) -> BTreeSet<&'a str> {
    list.as_array().unwrap().iter().map(|entry| entry[field].as_str().unwrap()).collect()
}

/// Faults injected on some datanodes are found on exactly these, regardless of their clocks.
#[test]
fn slow_datanodes_are_named_exactly() {
    for (name, count) in
        [("slowdn-w-20ms-05fdn", 5), ("slowdn-w-20ms-05fdn-raw-clocks", 5), ("slowdn-w-20ms-20fdn", 20)]
    {
        let Some(path) = traces(name) else { return };
        let report = diagnose(&path, &[]).json();
        let slow: Vec<String> = (1..=count).map(|number| format!("datanode{number:03}")).collect();
        let slow: BTreeSet<&str> = slow.iter().map(String::as_str).collect();
        assert_eq!(texts(&report["replicas"], "replica"), slow, "{name}");
        for suspect in report["suspects"].as_array().unwrap() {
            assert!(suspect["evidence"].as_array().unwrap().contains(&"peers".into()), "{name}: {suspect}");
        }
    }
}

#[test]
fn runs_without_faults_are_healthy() {
    let Some(path) = traces("slowhdfs-w-00ms") else { return };
    let report = diagnose(&path, &["--exit-code"]).json();
    assert_eq!(
        (report["verdict"].as_str(), report["suspects"].as_array().unwrap().len()),
        (Some("healthy"), 0)
    );
}

/// A fault on all nodes is visible only against the healthy run, as operations without replicas.
#[test]
fn a_fault_on_all_nodes_is_found_against_a_healthy_run() {
    let Some(healthy) = traces("slowhdfs-w-00ms") else { return };
    let Some(slow) = traces("slowhdfs-w-10ms") else { return };
    let report = diagnose(&slow, &["--baseline", healthy.to_str().unwrap()]).json();
    assert_eq!(report["verdict"], "suspects");
    assert_eq!(report["replicas"].as_array().unwrap().len(), 0);
    for suspect in report["suspects"].as_array().unwrap() {
        assert_eq!(
            (suspect["scope"].as_str(), suspect["evidence"][0].as_str()),
            (Some("all"), Some("baseline"))
        );
    }
    let back = diagnose(&healthy, &["--baseline", slow.to_str().unwrap()]).json();
    assert_eq!(back["verdict"], "healthy", "{}", back["headline"]);
}

/// Three minutes of a fault against everything else in a quarter of an hour, with another fault.
#[test]
fn a_fault_in_a_shop_is_found_against_the_rest() {
    let Some(spans) = shop::spans(shop::CART) else { return };
    // Network delay at the cart from 1661142423 on.
    let flags = ["--since", "1661142423", "--until", "1661142603", "--baseline-rest"];
    let report = diagnose(&spans, &flags).json();
    let first = &report["suspects"][0];
    assert_eq!(first["service"], "cartservice", "{}", report["headline"]);
    assert!(first["between"]["callee_service"] == "cartservice", "{first}");
    let (hit, seen) = (first["requests_hit"].as_u64().unwrap(), first["requests_seen"].as_u64().unwrap());
    assert!(hit * 2 > seen, "most requests that call it were slow: {hit} of {seen}");
}
