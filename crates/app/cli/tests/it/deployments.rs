//! Deployments near the onset of a suspect are named in every output format.

use crate::outcome::{diagnose, laggard};
use serde_json::Value;
use std::path::{Path, PathBuf};

const START_S: u64 = 1_768_208_400; // 2026-01-12T09:00:00Z
const HEADER: &str =
    "trace_id,span_id,parent_span_id,service,replica,operation,start_ns,duration_ns,version\n";

/// Two requests per second for 25 minutes from 09:00 on, over four pods of `store`, whose version depends on the second.
fn table(version: impl Fn(u64) -> &'static str, slow_from: u64) -> String {
    let mut table = HEADER.to_owned();
    for index in 0..3_000_u64 {
        let second = index / 2;
        let start = START_S * 1_000_000_000 + index * 500_000_000;
        let factor = if second >= slow_from { 3 } else { 1 };
        let store = factor * 2_000_000 * (1_000 + index * 104_729 % 200) / 1_000;
        let shop = 1_000_000 + index * 7_919 % 200_000 + store;
        let pod = index * 7 % 4;
        table.push_str(&format!("t{index},a,,shop,pod-1,buy,{start},{shop},\n"));
        let version = version(second);
        table.push_str(&format!(
            "t{index},b,a,store,store-{pod},read,{},{store},{version}\n",
            start + 500_000
        ));
    }
    table
}

fn write(folder: &Path, content: &str) -> PathBuf {
    let path = folder.join("spans.csv");
    std::fs::write(&path, content).unwrap();
    path
}

/// The last fifteen minutes against the ten before them.
const AGAINST: [&str; 4] = ["--since", "2026-01-12T09:10:00Z", "--baseline-until", "2026-01-12T09:09:59Z"];

fn of_first(report: &Value) -> Vec<(String, String)> {
    let events = report["suspects"][0]["events"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    events.iter().map(|event| (text(&event["version"]), text(&event["source"]))).collect()
}

#[test]
fn every_output_format_names_the_deployment_before_a_slowdown() {
    let folder = tempfile::tempdir().unwrap();
    let version = |second| if second < 900 { "1.4.2" } else { "1.4.3" };
    let path = write(folder.path(), &table(version, 900));
    let report = diagnose(&path, &AGAINST).json();
    assert_eq!(of_first(&report), [("1.4.3".to_owned(), "spans".to_owned())], "{}", report["headline"]);
    let event = &report["events"][0];
    assert_eq!((&event["time"], &event["running"]["of"]), (&"2026-01-12T09:15:00.000Z".into(), &4.into()));
    for form in ["text", "markdown", "html"] {
        let words =
            laggard(&[&["diagnose", path.to_str().unwrap(), "--output", form], &AGAINST[..]].concat()).text();
        assert!(words.contains("was first seen (4 of 4 replicas)"), "{form}: {words}");
        assert!(words.contains("Timing alone does not prove a cause."), "{form}: {words}");
    }
}

#[test]
fn declared_deployments_are_named_if_they_precede_the_onset() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), &table(|_| "", 900));
    let with = |deployments: &[&str]| {
        let deployments = deployments.iter().flat_map(|deployment| ["--deployment", *deployment]);
        let flags: Vec<&str> = AGAINST.into_iter().chain(deployments).collect();
        diagnose(&path, &flags).json()
    };
    let report = with(&["store@2=2026-01-12T09:14:00Z", "other@3=2026-01-12T09:14:30Z"]);
    assert_eq!(of_first(&report), [("2".to_owned(), "declared".to_owned())]);
    let headline = report["headline"].as_str().unwrap();
    assert!(headline.contains("after version `2` of `store` was deployed at 09:14 UTC"), "{headline}");
    let both = with(&["store@2=2026-01-12T09:14:00Z", "store@3=2026-01-12T09:10:00Z"]);
    assert_eq!(of_first(&both).len(), 2, "both fit");
    for late in ["store@2=2026-01-12T09:20:00Z", "store@2=2026-01-12T09:00:30Z"] {
        let report = with(&[late]);
        assert!(of_first(&report).is_empty(), "{late}: {}", report["headline"]);
        assert_eq!(report["events"].as_array().map(Vec::len), Some(1), "{late}: it is listed");
    }
    diagnose(&path, &["--deployment", "store@2"]).fails(2, &["store@2", "write cart@1.4.3="]);
}

#[test]
fn deployments_are_not_mentioned_without_a_suspect() {
    let folder = tempfile::tempdir().unwrap();
    let version = |second| if second < 900 { "1.4.2" } else { "1.4.3" };
    let path = write(folder.path(), &table(version, 9_999));
    let report =
        diagnose(&path, &[&AGAINST[..], &["--deployment", "shop@9=2026-01-12T09:14:00Z"]].concat()).json();
    assert_eq!(report["verdict"], "healthy", "{}", report["headline"]);
    let headline = report["headline"].as_str().unwrap();
    assert!(!headline.contains("version") && !headline.contains("deployed"), "{headline}");
    assert_eq!(report["events"].as_array().map(Vec::len), Some(2));
}
