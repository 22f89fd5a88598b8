//! `laggard changes` end to end.

use crate::outcome::laggard;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The change in the middle of [`samples`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Story {
    Nothing,
    /// `buy` takes 10 ms more from window 120 on.
    MoreExpensive,
    /// Another process uses a random 5 to 35 % of the CPU from window 100 to 160.
    Foreign,
}

/// An evenly distributed, irregular sequence in 0..1.
fn noise(seed: u64) -> f64 {
    let mut z = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ z >> 31) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Four hours of minutes from 2026-01-12T09:00:00Z: a server with three transaction types.
fn samples(story: Story, windows: usize) -> String {
    const DEMAND_S: [f64; 3] = [0.004, 0.006, 0.003];
    let mut text =
        "time,server,tier,cores,utilization,count:buy,response_ms:buy,count:home,response_ms:home,count:search,response_ms:search\n"
            .to_owned();
    for window in 0..windows {
        let draw = |number: u64| noise(window as u64 * 100 + number);
        let load = 1.0 + 0.6 * (window as f64 / 17.0).sin();
        let counts = [0, 1, 2].map(|index| (load * (900.0 + 900.0 * draw(index))).round());
        let extra_s = if story == Story::MoreExpensive && window >= 120 { 0.010 } else { 0.0 };
        let demand = |index: usize| DEMAND_S[index] + if index == 0 { extra_s } else { 0.0 };
        let work: f64 = (0..3).map(|index| counts[index] * demand(index)).sum();
        let foreign = story == Story::Foreign && (100..160).contains(&window);
        let foreign = if foreign { 0.05 + 0.3 * draw(4) } else { 0.0 };
        let used = 0.01 + work / 60.0 + foreign + 0.004 * (draw(5) - 0.5);
        let (hour, minute) = (9 + window / 60, window % 60);
        let _ = write!(text, "2026-01-12T{hour:02}:{minute:02}:00Z,app-1,app,1,{used:.4}");
        for (index, count) in counts.iter().enumerate() {
            let response_ms = 1e3 * demand(index) / (1.0 - used) * (0.97 + 0.06 * draw(6 + index as u64));
            let _ = write!(text, ",{count},{response_ms:.4}");
        }
        text.push('\n');
    }
    text
}

fn file(folder: &Path, story: Story, windows: usize) -> PathBuf {
    let path = folder.join("samples.csv");
    std::fs::write(&path, samples(story, windows)).unwrap();
    path
}

fn changes_of(story: Story, windows: usize, flags: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), story, windows);
    let found = laggard(&[&["changes", path.to_str().unwrap()], flags].concat());
    (found.status, found.stdout)
}

#[test]
fn a_costlier_transaction_is_named_by_both_methods() {
    let deployment = "2026-01-12T10:59:48Z=v2.4";
    for method in ["adaptive", "cherkasova"] {
        let flags = ["--method", method, "--exit-code", "--deployment", deployment];
        let (status, text) = changes_of(Story::MoreExpensive, 240, &flags);
        assert_eq!(status, 1, "{method}: {text}");
        assert!(text.starts_with("[!] Application change"), "{method}: {text}");
        let headline = text.split("\n\n").nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            (headline.contains("buy costs ") || headline.contains("buy takes "))
                && headline.contains("on app-1"),
            "{method}: {headline}"
        );
        assert!(headline.contains("after deployment v2.4"), "{method}: {headline}");
    }
}

#[test]
fn a_quiet_server_is_steady_and_the_status_is_0() {
    for method in ["adaptive", "cherkasova"] {
        let (status, text) = changes_of(Story::Nothing, 240, &["--method", method, "--exit-code"]);
        assert_eq!(status, 0, "{method}: {text}");
        assert!(!text.contains("application change") && text.starts_with("[ok]"), "{method}: {text}");
    }
}

#[test]
fn cpu_use_of_another_process_is_an_anomaly() {
    for method in ["adaptive", "cherkasova"] {
        let (status, text) = changes_of(Story::Foreign, 240, &["--method", method, "--exit-code"]);
        assert_eq!(status, 1, "{method}: {text}");
        assert!(text.starts_with("[!] Anomaly"), "{method}: {text}");
    }
}

#[test]
fn too_little_data_has_its_own_status_and_no_verdict() {
    let (status, text) = changes_of(Story::MoreExpensive, 4, &[]);
    assert_eq!(status, 4, "{text}");
    assert!(text.starts_with("[?] Not enough data"), "{text}");
}

#[test]
fn all_output_formats_agree() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), Story::MoreExpensive, 240);
    let path = path.to_str().unwrap();
    let form = |form: &str| laggard(&["changes", path, "--output", form]).stdout;
    let json: Value = serde_json::from_str(&form("json")).unwrap();
    assert_eq!((&json["report"], &json["schema_version"]), (&Value::from("changes"), &Value::from(2)));
    assert_eq!(json["verdict"], "application-change");
    assert_eq!(json["servers"][0]["windows"], 240);
    assert_eq!(json["input"]["windows"], 240);
    let headline = json["headline"].as_str().unwrap();
    let markdown = form("markdown");
    assert!(markdown.contains(headline) && markdown.lines().count() <= 40, "{markdown}");
    assert!(form("html").contains("<title>Application change: "));
    let page = folder.path().join("page.html");
    let outcome = laggard(&["changes", path, "--output", "html", "-o", page.to_str().unwrap()]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, ""));
    assert!(std::fs::read_to_string(page).unwrap().ends_with("</html>\n"));
}

#[test]
fn a_signature_across_an_application_change_has_a_caution() {
    let mixed = "changed within this period, last at 2026-01-12T11:00:00";
    for (story, is_mixed) in [(Story::MoreExpensive, true), (Story::Nothing, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), story, 240);
        let found = laggard(&["signature", path.to_str().unwrap()]);
        let text = found.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(text.contains(mixed), is_mixed, "{text}");
    }
}

#[test]
fn usage_errors_list_the_allowed_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), Story::Nothing, 30);
    let path = path.to_str().unwrap();
    for (flags, expected) in [
        (["--method", "guess"], "there is adaptive, cherkasova"),
        (["--set", "types-max=0"], "types-max is 0"),
        (["--set", "score-min=0"], "score-min is 0"),
        (["--deployment", "v2"], "is not a deployment"),
    ] {
        let found = laggard(&[&["changes", path], &flags[..]].concat());
        assert_eq!(found.status, 2, "{flags:?}");
        assert!(found.stderr.contains(expected), "{flags:?}: {}", found.stderr);
    }
    let epsilon = ["--method", "cherkasova", "--set", "error-max=0"];
    let found = laggard(&[&["changes", path], &epsilon[..]].concat());
    assert!(found.status == 2 && found.stderr.contains("error-max is 0"), "{}", found.stderr);
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_threads() {
    let [one, four] = ["1", "4"]
        .map(|threads| changes_of(Story::MoreExpensive, 240, &["--threads", threads, "--output", "json"]));
    assert_eq!(one, four);
}
