//! `laggard compare` end to end.

use crate::outcome::{Outcome, laggard};
use crate::shop;
use laggard_simulate::{Compression, OutputFormat, Scenario, Settings, generate};
use laggard_testkit::data_folder;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn compare(paths: &[&Path], further: &[&str]) -> Outcome {
    let mut arguments = vec!["compare", "--output", "json"];
    arguments.extend(paths.iter().map(|path| path.to_str().unwrap()));
    arguments.extend(further);
    laggard(&arguments)
}

/// An upgrade that makes one operation slower, and the hour before it; in two formats.
fn upgrade(folder: &Path) -> [PathBuf; 2] {
    let settings = Settings {
        requests_per_service: 150,
        categories_per_service: 3,
        ..Settings::new(Scenario::CodeBug, 5)
    };
    let make = |settings: &Settings, format, name: &str| {
        generate(settings, format, &folder.join(name), Compression::Plain).unwrap().traces
    };
    [
        make(&settings.baseline(), OutputFormat::SpanCsv, "before"),
        make(&settings, OutputFormat::OtlpJson, "after"),
    ]
}

fn slower(comparison: &Value) -> Vec<&str> {
    let operations = comparison["operations"].as_array().unwrap().iter();
    let slower = operations.filter(|operation| operation["change"] == "slower");
    slower.map(|operation| operation["operation"].as_str().unwrap()).collect()
}

#[test]
fn two_data_sets_of_different_formats_are_compared_in_every_output_format() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = &upgrade(folder.path());
    let comparison = compare(&[before, after], &[]).json();
    assert_eq!(
        (comparison["kind"].as_str(), comparison["verdict"].as_str()),
        (Some("comparison"), Some("slower"))
    );
    assert_eq!(slower(&comparison).len(), 1, "{}", comparison["headline"]);
    assert_eq!(comparison["before"]["input"]["formats"][0]["name"], "span-csv");
    assert_eq!(comparison["after"]["input"]["formats"][0]["name"], "otlp-json");
    let named =
        compare(&[], &["--before", before.to_str().unwrap(), "--after", after.to_str().unwrap()]).json();
    assert_eq!(named["operations"], comparison["operations"]);
    let paths = [before.to_str().unwrap(), after.to_str().unwrap()];
    let written = |form: &str| laggard(&["compare", paths[0], paths[1], "--output", form]).text();
    assert!(written("text").starts_with("[!] Slower\n"));
    assert!(written("markdown").starts_with("### Laggard: slower\n"));
    assert!(written("html").contains("Differential flame graph"));
    assert_eq!(compare(&[before, after], &["--threads", "1"]).json(), comparison, "one thread");
    assert_eq!(compare(&[before, after], &["--threads", "3"]).json(), comparison, "three threads");
}

#[test]
fn with_exit_code_a_slowdown_has_status_1() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = &upgrade(folder.path());
    assert_eq!(compare(&[before, after], &["--exit-code"]).status, 1);
    assert_eq!(compare(&[after, before], &["--exit-code"]).status, 0, "faster is no failure");
    assert_eq!(compare(&[before, before], &["--exit-code"]).status, 0);
    assert_eq!(compare(&[before, after], &["--service", "nobody"]).status, 4);
}

/// What fails the command has a case that fails and a result; what passes has none.
#[test]
fn junit_and_sarif_agree_with_the_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = &upgrade(folder.path());
    let (junit, sarif) = (folder.path().join("laggard.xml"), folder.path().join("laggard.sarif"));
    let written = |sets: [&PathBuf; 2]| {
        let flags = ["--exit-code", "--junit", junit.to_str().unwrap(), "--sarif", sarif.to_str().unwrap()];
        let run = compare(&sets.map(PathBuf::as_path), &flags);
        let log: Value = serde_json::from_str(&std::fs::read_to_string(&sarif).unwrap()).unwrap();
        (run.status, std::fs::read_to_string(&junit).unwrap(), log["runs"][0]["results"].clone())
    };
    let (status, xml, results) = written([before, after]);
    assert_eq!(status, 1);
    assert!(xml.contains("classname=\"requests\" name=\"all requests\""), "{xml}");
    assert!(xml.contains("<failure type=\"slower\""), "{xml}");
    let results = results.as_array().unwrap().clone();
    assert_eq!(results.len(), xml.matches("<failure ").count());
    assert!(results.iter().all(|result| result["ruleId"] == "slower"), "{results:?}");
    // The operation that the upgrade made slower is among them, with its figures.
    let json = compare(&[before, after], &[]).json();
    let culprit = slower(&json)[0].to_owned();
    let named = |result: &&Value| {
        result["locations"][0]["logicalLocations"][0]["name"].as_str().unwrap().starts_with(&culprit)
    };
    let found = results.iter().find(named).unwrap();
    assert!(found["message"]["text"].as_str().unwrap().contains(" a call instead of "), "{found}");
    for sets in [[after, before], [before, before]] {
        let (status, xml, results) = written(sets);
        assert_eq!((status, xml.contains("<failure "), results.as_array().unwrap().len()), (0, false, 0));
    }
    let few = compare(&[before, after], &["--service", "nobody", "--junit", junit.to_str().unwrap()]);
    assert_eq!(few.status, 4);
    assert!(std::fs::read_to_string(&junit).unwrap().contains("<skipped message=\"are too few to compare"));
    compare(&[], &["--server", "http://127.0.0.1:1", "--since", "-1h", "--junit", "x.xml"])
        .fails(2, &["--junit", "--server"]);
}

#[test]
fn one_data_set_is_split_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let [before, _] = &upgrade(folder.path());
    let requests = |comparison: &Value| {
        ["before", "after"].map(|set| comparison[set]["input"]["requests"].as_u64().unwrap())
    };
    // The quiet hour starts at 08:00.
    let split = compare(&[before], &["--since", "2026-01-12T08:30:00Z"]).json();
    let [first, second] = requests(&split);
    assert!(first > 150 && second > 150 && first + second == 450, "{first} {second}");
    assert_eq!(split["verdict"], "unchanged", "{}", split["headline"]);
    let same = compare(&[before], &["--before-until", "2026-01-12T08:29:59.999999999Z"]).json();
    assert_eq!(requests(&same), [first, second]);
    let overlapping =
        compare(&[before], &["--before-until", "2026-01-12T08:40:00Z", "--since", "2026-01-12T08:20:00Z"]);
    assert!(overlapping.json()["cautions"].to_string().contains("overlap"));
    let in_turn = ["--before-until", "2026-01-12T08:30:00Z", "--since", "2026-01-12T08:30:00Z"];
    let in_turn = compare(&[before], &in_turn).json();
    assert!(!in_turn["cautions"].to_string().contains("overlap"), "{}", in_turn["cautions"]);
}

#[test]
fn incomparable_inputs_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.csv");
    std::fs::write(&file, "x").unwrap();
    compare(&[], &[]).fails(2, &["BEFORE AFTER"]);
    compare(&[&file], &[]).fails(2, &["two windows"]);
    compare(&[&file, &file], &["--since", "2026-01-12", "--until", "2026-01-11"]).fails(2, &["--since"]);
    compare(&[Path::new("-"), Path::new("-")], &[]).fails(2, &["standard input"]);
    compare(&[&file, &file], &["--set", "level=2"]).fails(2, &["level is 2", "below 1"]);
    compare(&[&file, &folder.path().join("missing")], &[]).fails(3, &[]);
}

/// 10 ms of network delay on every node against the run without: operations are slower and hardly any is faster.
#[test]
fn a_delay_on_all_nodes_of_a_real_cluster_is_described() {
    let Some(data) = data_folder("tracebench") else { return };
    let run = |name: &str| data.join(format!("slowhdfs-w-{name}.csv.zst"));
    let comparison = compare(&[&run("00ms"), &run("10ms")], &[]).json();
    assert_eq!(comparison["verdict"], "slower");
    let slower = slower(&comparison);
    for operation in ["writeBlock", "receiveBlock", "RPC:addBlock", "RPC:create"] {
        assert!(slower.contains(&operation), "{operation} in {slower:?}");
    }
    let same = &comparison["latency"]["same_requests"];
    assert!(
        same["change_ns"].as_f64().unwrap()
            > 0.9 * comparison["latency"]["total"]["change_ns"].as_f64().unwrap()
    );
}

/// The minutes of a fault against earlier minutes: the calls of the pod are slower by a hundred milliseconds.
#[test]
fn a_fault_in_a_real_shop_is_described() {
    let Some(spans) = shop::spans(shop::CHECKOUT) else { return };
    let flags = [
        "--before-since",
        "1661143260",
        "--before-until",
        "1661143440",
        "--since",
        "1661143470",
        "--until",
        "1661143640",
    ];
    let comparison = compare(&[&spans], &flags).json();
    let operations = comparison["operations"].as_array().unwrap().iter();
    let slow: Vec<String> = operations
        .filter(|found| found["change"] == "slower" && found["time"]["ratio"].as_f64() > Some(5.0))
        .map(|found| format!("{} {}", found["service"], found["operation"]))
        .collect();
    // Calls by the pod and the call of the pod.
    let own = slow.iter().filter(|name| name.starts_with("\"checkoutservice")).count();
    assert!(own >= 5 && slow.iter().all(|name| name.contains("heckout")), "{slow:?}");
}
