//! Lists of formats, methods, and settings; generated pages; the demonstration.

use crate::outcome::{diagnose, laggard};
use crate::workshop::{Answer, Incident};

#[test]
fn formats_and_methods_are_listed() {
    let formats = laggard(&["formats"]).text();
    let names = laggard_formats::FORMATS.iter().map(|format| format.name);
    for name in names.chain(["trace.dat", "kernel-text"]) {
        assert!(formats.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}");
    }
    let methods = laggard(&["methods"]).text();
    for name in ["combined", "clouddiag", "pca", "adaptive", "cherkasova"] {
        assert!(methods.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}");
    }
    for line in formats.lines().chain(methods.lines()) {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn completions_and_the_man_page_contain_the_flags() {
    for shell in ["bash", "zsh", "fish"] {
        let script = laggard(&["completions", shell]).text();
        for word in ["diagnose", "exit-code", "sampling-probability", "markdown"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let page = laggard(&["man"]).text();
    assert!(page.contains(".TH") && page.contains("laggard"));
    for word in ["diagnose", "simulate", "exit\\-code", "sampling\\-probability"] {
        assert!(page.contains(word), "{word}");
    }
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man");
    assert_eq!(laggard(&["man", "-o", pages.to_str().unwrap()]).text(), "");
    // Every page that one refers to is there.
    let mut referred = 0;
    for entry in std::fs::read_dir(&pages).unwrap() {
        let page = std::fs::read_to_string(entry.unwrap().path()).unwrap().replace("\\-", "-");
        for name in page.lines().filter_map(|line| line.strip_suffix("(1)")) {
            assert!(pages.join(format!("{name}.1")).is_file(), "{name}");
            referred += 1;
        }
    }
    assert!(referred > 15, "{referred}");
    laggard(&["man", "-o", "/dev/null/x"]).fails(3, &["/dev/null/x"]);
    laggard(&["completions", "tcsh"]).fails(2, &["tcsh", "bash", "fish"]);
}

#[test]
fn help_shows_every_subcommand_with_an_example() {
    let help = laggard(&["--help"]).text();
    for word in
        ["diagnose", "kernel", "demo", "simulate", "formats", "methods", "completions", "man", "Examples:"]
    {
        assert!(help.contains(word), "{word}");
    }
    let help = laggard(&["diagnose", "--help"]).text();
    for word in ["--since", "--exit-code", "--memory", "Exit status: 0", "[default: combined]"] {
        assert!(help.contains(word), "{word}");
    }
    assert!(laggard(&["simulate", "--help"]).text().contains("--late-host"));
    assert_eq!(laggard(&["--version"]).text(), format!("laggard {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_demonstration_names_the_faulty_replicas_and_writes_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let demo = folder.path().join("demo");
    let output = laggard(&["demo", demo.to_str().unwrap()]).text();
    let incident = Incident::at(demo.clone());
    let answer = Answer::expected(&incident);
    assert_eq!(answer.scope, "replicas");
    let page = std::fs::read_to_string(demo.join("report.html")).unwrap();
    for name in answer.replicas.iter().map(String::as_str).chain(["front-end", "QueueWait"]) {
        assert!(output.contains(name) && page.contains(name), "{name}");
    }
    assert!(output.contains("report.html") && output.contains("laggard diagnose PATH"));
    let report = diagnose(&incident.traces(), &[]).json();
    assert_eq!(Answer::from_report(&report), answer);
    let again = laggard(&["demo", demo.to_str().unwrap()]).text();
    assert!(again.contains("an earlier demonstration left"), "{again}");
    assert_eq!(again.lines().next(), output.lines().next());
}

/// Flags of a command's help, `--help` itself not counted.
fn flags(command: &[&str]) -> usize {
    let help = laggard(&[command, &["--help"]].concat()).text();
    // Possible values are listed below their flag after a dash and a space.
    let flags =
        help.lines().map(str::trim_start).filter(|line| line.starts_with('-') && !line.starts_with("- "));
    flags.filter(|line| !line.contains("--help")).count()
}

#[test]
fn help_shows_only_the_common_flags() {
    for command in [&["diagnose"][..], &["compare"], &["kernel", "diagnose"]] {
        let count = flags(command);
        assert!((5..=25).contains(&count), "{command:?}: {count}");
    }
}

#[test]
fn settings_are_listed_with_range_default_and_source() {
    let text = laggard(&["settings", "diagnose"]).text();
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let listed = text.split_once("  cv-min").map(|(_, rest)| rest).unwrap();
    let lines: Vec<&str> = listed.lines().take(3).map(str::trim).collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["1", "at", "least", "0"]);
    assert!(lines[1].starts_with("A category is anomalous") && lines[2].contains("Mi 2013"), "{lines:?}");
    let json: serde_json::Value =
        serde_json::from_str(&laggard(&["settings", "changes", "--output", "json"]).text()).unwrap();
    let rows = json["settings"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == "drift-scale").unwrap();
    assert_eq!(
        (&row["default"], &row["minimum"], &row["maximum"]),
        (&"0.04".into(), &0.0.into(), &0.9.into())
    );
    laggard(&["settings", "guess"]).fails(2, &["guess", "kernel-diagnose"]);
    laggard(&["diagnose", "--set", "cvmin=1"])
        .fails(2, &["did you mean cv-min?", "laggard settings diagnose"]);
}

/// The manual page lists every default; `cargo xtask docs` generates it.
#[test]
fn listed_settings_match_the_manual() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/manual/settings.md");
    let page = std::fs::read_to_string(page).unwrap();
    let listed = laggard(&["settings", "--output", "markdown"]).text();
    assert!(
        page.ends_with(&listed),
        "the settings differ from docs/manual/settings.md; run cargo xtask docs"
    );
}
