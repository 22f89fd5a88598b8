//! Baselines: files, their window, and the rest of the same files.

use crate::outcome::{diagnose, laggard};
use serde_json::Value;
use std::path::{Path, PathBuf};

const START_S: u64 = 1_768_208_400; // 2026-01-12T09:00:00Z
const HEADER: &str = "trace_id,span_id,parent_span_id,service,replica,operation,start_ns,duration_ns\n";

/// A request every second from 09:00 on; `store` takes about `usual_ns`.
fn table(seconds: std::ops::Range<u64>, usual_ns: impl Fn(u64) -> u64) -> String {
    let mut table = HEADER.to_owned();
    for second in seconds {
        let start = (START_S + second) * 1_000_000_000;
        let (shop, store) =
            (1_000_000 + second * 7919 % 200_000, usual_ns(second) * (1000 + second * 104_729 % 200) / 1000);
        table.push_str(&format!("t{second},a,,shop,pod-1,buy,{start},{}\n", shop + store));
        table.push_str(&format!("t{second},b,a,store,pod-1,read,{},{store}\n", start + 500_000));
    }
    table
}

fn write(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// Ten quiet minutes, and five minutes in which the store takes three times as long.
fn files() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let before = write(folder.path(), "before.csv", &table(0..600, |_| 2_000_000));
    let after = write(folder.path(), "after.csv", &table(600..900, |_| 6_000_000));
    (folder, before, after)
}

fn first(report: &Value) -> (&str, &str) {
    let suspect = &report["suspects"][0];
    (suspect["service"].as_str().unwrap_or(""), suspect["operation"].as_str().unwrap_or(""))
}

fn baseline_requests(report: &Value) -> u64 {
    report["baseline"]["requests"].as_u64().unwrap()
}

#[test]
fn traces_are_compared_with_baseline_files() {
    let (folder, before, after) = files();
    let before = before.to_str().unwrap();
    let report = diagnose(&after, &["--baseline", before]).json();
    assert_eq!((first(&report), baseline_requests(&report)), (("store", "read"), 600));
    let shift = &report["suspects"][0]["shift"];
    assert!((2.8..3.2).contains(&shift["factor"].as_f64().unwrap()), "{shift}");
    assert_eq!(report["suspects"][0]["evidence"][0], "baseline");
    let quiet = diagnose(Path::new(before), &["--baseline", before]).json();
    assert_eq!((quiet["verdict"].as_str().unwrap(), baseline_requests(&quiet)), ("healthy", 600));
    let faster = diagnose(Path::new(before), &["--baseline", after.to_str().unwrap()]).json();
    assert_eq!(faster["verdict"], "healthy");
    for form in ["text", "markdown", "html"] {
        let cautions =
            laggard(&["diagnose", after.to_str().unwrap(), "--baseline", before, "--output", form]).text();
        assert!(cautions.contains("read"), "{form}: {cautions}");
    }
    drop(folder);
}

#[test]
fn several_baseline_files_and_a_baseline_window() {
    let (folder, before, after) = files();
    let older = write(folder.path(), "older.csv", &table(1_000_000..1_000_100, |_| 2_000_000));
    let paths = [before.to_str().unwrap(), older.to_str().unwrap()];
    let both = diagnose(&after, &["--baseline", paths[0], paths[1]]).json();
    assert_eq!((first(&both), baseline_requests(&both)), (("store", "read"), 700));
    let repeated = diagnose(&after, &["--baseline", paths[0], "--baseline", paths[1]]).json();
    assert_eq!(baseline_requests(&repeated), 700);
    let part = ["--baseline", paths[0], "--baseline-since", "1768208500", "--baseline-until", "1768208699"];
    let part = diagnose(&after, &part).json();
    assert_eq!((first(&part), baseline_requests(&part)), (("store", "read"), 200));
}

#[test]
fn a_window_is_compared_with_another_window_or_the_rest_of_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let slow = |second| if (300..420).contains(&second) { 6_000_000 } else { 2_000_000 };
    let path = write(folder.path(), "all.csv", &table(0..1200, slow));
    let window = ["--since", "2026-01-12T09:05:00Z", "--until", "2026-01-12T09:06:59Z"];
    for (further, requests) in [
        (&["--baseline-rest"][..], 1080),
        (&["--baseline-until", "2026-01-12T09:04:59Z"], 300),
        (&["--baseline-since", "2026-01-12T09:10:00Z"], 600),
        (&["--baseline-since", "2026-01-12T09:01:00Z", "--baseline-until", "2026-01-12T09:02:59Z"], 120),
    ] {
        let report = diagnose(&path, &[&window, further].concat()).json();
        assert_eq!(
            (first(&report), baseline_requests(&report)),
            (("store", "read"), requests),
            "{further:?}"
        );
        assert_eq!(report["input"]["requests"], 120);
        assert_eq!(report["suspects"][0]["onset"]["at"], "2026-01-12T09:05:00.000Z", "{further:?}");
    }
    let alone = diagnose(&path, &[]).json();
    let incident = &alone["incidents"][0];
    assert_eq!(incident["since"], "2026-01-12T09:05:00.000Z");
    assert_eq!(incident["until"], "2026-01-12T09:07:00.000Z");
    assert_eq!(incident["onset"]["at"], "2026-01-12T09:05:00.000Z");
    assert_eq!(incident["suspects"][0]["operation"], "read");
    assert_eq!(alone["suspects"][0]["evidence"].as_array().unwrap().last().unwrap(), "period");
}

#[test]
fn impossible_baselines_are_usage_errors() {
    let (_folder, before, after) = files();
    let before = before.to_str().unwrap();
    let since = ["--since", "2026-01-12T09:10:00Z"];
    let cases: &[(&[&str], &[&str])] = &[
        (&["--baseline-rest"], &["--since", "--until"]),
        (&["--baseline-since", "2026-01-12T09:00:00Z"], &["--since", "--until"]),
        (&["--baseline-until", "2026-01-12T09:00:00Z"], &["--since", "--until"]),
        (&["--baseline-rest", "--baseline", before], &["--baseline-rest", "cannot be used"]),
        (&["--baseline-rest", "--baseline-since", "0", since[0], since[1]], &["cannot be used"]),
        (
            &[
                "--baseline",
                before,
                "--baseline-since",
                "2026-01-12T10:00Z",
                "--baseline-until",
                "2026-01-12T09:00Z",
            ],
            &["--baseline-since", "--baseline-until"],
        ),
        (&["--baseline-since", "whenever"], &["whenever"]),
        (&["--method", "clouddiag", "--baseline", before], &["clouddiag", "does not compare"]),
        (&["--method", "pca", "--baseline-rest", since[0], since[1]], &["pca", "does not compare"]),
    ];
    for (flags, words) in cases {
        let arguments = [&["diagnose", after.to_str().unwrap()], *flags].concat();
        laggard(&arguments).fails(2, words);
    }
    laggard(&["diagnose", after.to_str().unwrap(), "--baseline", "no-such-file"]).fails(3, &["no-such-file"]);
}

#[test]
fn a_baseline_with_too_few_requests_is_reported() {
    let (folder, _before, after) = files();
    let tiny = write(folder.path(), "tiny.csv", &table(0..3, |_| 2_000_000));
    for (flags, count) in [
        (&["--baseline", tiny.to_str().unwrap()][..], "3 requests"),
        (&["--since", "2026-01-12T09:00:00Z", "--baseline-rest"], "0 requests"),
    ] {
        let report = diagnose(&after, flags).json();
        let cautions = report["cautions"].to_string();
        assert!(cautions.contains("baseline") && cautions.contains(count), "{cautions}");
    }
}

#[test]
fn losses_while_reading_the_baseline_are_reported() {
    let (folder, _before, after) = files();
    let broken = table(0..100, |_| 2_000_000) + "t900,a,,shop,pod-1,buy,yesterday,12\n";
    let broken = write(folder.path(), "broken.csv", &broken);
    let report = diagnose(&after, &["--baseline", broken.to_str().unwrap()]).json();
    let cautions = report["cautions"].to_string();
    assert!(cautions.contains("baseline: 1 malformed_record"), "{cautions}");
}

#[test]
fn extreme_timestamps_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    for start in [i64::MIN, i64::MIN + 1, 0, i64::MAX - 1, i64::MAX] {
        let mut text = table(0..60, |_| 2_000_000);
        text.push_str(&format!("x,a,,shop,pod-1,buy,{start},5000\n"));
        let path = write(folder.path(), "ends.csv", &text);
        for flags in [&[][..], &["--since", "1768208420", "--baseline-rest"]] {
            let run = diagnose(&path, flags);
            assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{start} {flags:?}");
        }
    }
}

/// Recorded from the bookstore in `examples`: fewer calls of `SET` while its cache warms are no lost spans.
#[test]
fn a_slow_replica_is_named_while_a_cache_warms() {
    let recordings = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/bookstore/recordings");
    let file = Path::new(recordings).join("slow-replica-while-cache-warms.csv.zst");
    let (since, until) = ("1795458709813011525", "1795458809453044517");
    for baseline in ["--baseline-rest", "--baseline-since=1795458579813011525"] {
        let report = diagnose(&file, &["--since", since, "--until", until, baseline]).json();
        let suspect = &report["suspects"][0];
        assert_eq!((&suspect["service"], &suspect["operation"]), (&"store".into(), &"GET /item".into()));
        assert_eq!(suspect["replicas"], serde_json::json!(["store-2"]), "{baseline}");
        let cautions = report["cautions"].to_string();
        assert!(!cautions.contains("may lack a callee"), "{cautions}");
        let ruled_out = report["ruled_out"].to_string();
        assert!(ruled_out.contains("blocking reads of queues are no requests"), "{ruled_out}");
    }
}
