//! `laggard capacity` end to end.

use crate::outcome::{Outcome, laggard};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Windows of a minute of a shop on one core: `home` takes 10 ms and `cart` 30 ms, clients think 7 s. The numbers
/// are those of one shared queue.
pub(crate) fn samples(folder: &Path, windows: usize) -> PathBuf {
    let mut text = String::from(
        "time,server,tier,cores,utilization,clients,count:home,response_ms:home,count:cart,response_ms:cart\n",
    );
    for window in 0..windows {
        let clients = 100.0 + 20.0 * (window % 10) as f64;
        let cart_share = 0.2 + 0.05 * (window % 3) as f64;
        let demand_s = 0.01 * (1.0 - cart_share) + 0.03 * cart_share;
        let mut throughput = clients / 7.0;
        for _ in 0..50 {
            throughput = clients / (7.0 + demand_s / (1.0 - throughput * demand_s));
        }
        let used = throughput * demand_s;
        let [home, cart] = [1.0 - cart_share, cart_share].map(|share| (60.0 * throughput * share).round());
        let [home_ms, cart_ms] = [10.0, 30.0].map(|alone_ms| alone_ms / (1.0 - used));
        let time = format!("2026-01-12T{:02}:{:02}:00Z", window / 60, window % 60);
        writeln!(text, "{time},app-1,app,1,{used:.4},{clients},{home},{home_ms:.3},{cart},{cart_ms:.3}")
            .unwrap();
    }
    let file = folder.join("samples.csv");
    std::fs::write(&file, text).unwrap();
    file
}

fn capacity(file: &Path, further: &[&str]) -> Outcome {
    let mut arguments = vec!["capacity", file.to_str().unwrap(), "--output", "json"];
    arguments.extend(further);
    laggard(&arguments)
}

fn clients(answer: &Value) -> f64 {
    answer["clients"].as_f64().unwrap()
}

#[test]
fn the_answer_in_every_output_format() {
    let folder = tempfile::tempdir().unwrap();
    let file = samples(folder.path(), 60);
    let report = capacity(&file, &["--latency-max", "200ms"]).json();
    assert_eq!((report["report"].as_str(), report["verdict"].as_str()), (Some("capacity"), Some("enough")));
    assert_eq!(report["accuracy"]["trust"], "good", "{}", report["headline"]);
    let think_s = report["model"]["think"]["seconds"].as_f64().unwrap();
    assert!((think_s - 7.0).abs() < 0.05, "{think_s}");
    // The costliest mix has 30 % cart: 16 ms, so at most 62.5 requests/s; the target is met slightly below that.
    let answer = &report["answer"];
    assert!((400.0..438.0).contains(&clients(answer)), "{}", report["headline"]);
    assert!((answer["mix"][0].as_f64().unwrap() - 0.3).abs() < 0.01);
    assert_eq!(answer["bottleneck"], "app");
    let written = |form: &str| {
        laggard(&["capacity", file.to_str().unwrap(), "--latency-max", "0.2", "--output", form]).text()
    };
    let text = written("text");
    let first = text.lines().nth(2).unwrap();
    assert!(first.contains("clients (") && first.contains("within 200 ms with the least"), "{first}");
    assert!(written("markdown").starts_with("### Laggard: enough capacity\n"));
    assert!(written("html").contains("Capacity over time"));
    let one = capacity(&file, &["--latency-max", "200ms", "--threads", "1"]).json();
    assert_eq!(one, report, "one thread");
}

#[test]
fn what_if_flags_change_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let file = samples(folder.path(), 60);
    let report = capacity(
        &file,
        &["--latency-max", "200ms", "--what-if", "cart.demand=-50%", "--servers", "app=2", "--load", "3"],
    )
    .json();
    let (base, what_if) = (&report["answer"], &report["what_if"]);
    assert_eq!(what_if["changes"].as_array().unwrap().len(), 3);
    assert!(clients(&what_if["answer"]) > 2.0 * clients(base), "{}", report["headline"]);
    assert_eq!(what_if["load"]["within_target"], true);
    let servers = |part: &Value| part["model"]["tiers"][0]["servers"].as_u64();
    assert_eq!((servers(&report), servers(what_if)), (Some(1), Some(2)));
    let mix = folder.path().join("mix");
    std::fs::write(&mix, "home=1\n").unwrap();
    let at_mix = format!("@{}", mix.display());
    let home = capacity(&file, &["--latency-max", "200ms", "--mix", &at_mix]).json();
    let same = capacity(&file, &["--latency-max", "200ms", "--mix", "home=100%"]).json();
    assert_eq!(home["what_if"]["answer"], same["what_if"]["answer"]);
    assert!(clients(&home["what_if"]["answer"]) > clients(&home["answer"]));
}

#[test]
fn exit_statuses_distinguish_outcomes() {
    let folder = tempfile::tempdir().unwrap();
    let file = samples(folder.path(), 60);
    assert_eq!(capacity(&file, &["--latency-max", "200ms", "--exit-code"]).status, 0);
    assert_eq!(capacity(&file, &["--latency-max", "11ms", "--exit-code"]).status, 1, "beyond");
    assert_eq!(capacity(&file, &["--latency-max", "11ms"]).status, 0);
    for wrong in [
        &["--latency-max", "0"][..],
        &[],
        &["--latency-max", "1s", "--what-if", "cart=1"],
        &["--latency-max", "1s", "--what-if", "card.demand=-10%"],
        &["--latency-max", "1s", "--servers", "db=2"],
        &["--latency-max", "1s", "--mix", "cart"],
        &["--latency-max", "1s", "--load", "0"],
        &["--latency-max", "1s", "--front", "db"],
    ] {
        assert_eq!(capacity(&file, wrong).status, 2, "{wrong:?}");
    }
    let short = samples(folder.path(), 4);
    let report = capacity(&short, &["--latency-max", "200ms"]);
    assert_eq!(report.status, 4);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["verdict"], "insufficient-data");
}
