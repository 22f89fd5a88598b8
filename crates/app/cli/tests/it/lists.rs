//! Lists, generated pages, and the demonstration.

use crate::outcome::{diagnose, laggard};
use crate::workshop::{Answer, Incident};

#[test]
fn formats_and_methods_are_listed() {
    let formats = laggard(&["formats"]).text();
    for name in [
        "otlp-json",
        "otlp-proto",
        "jaeger",
        "zipkin",
        "span-csv",
        "call-log",
        "sample-csv",
        "access-log",
        "trace.dat",
        "kernel-text",
    ] {
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
fn completions_and_the_man_page_know_the_flags() {
    for shell in ["bash", "zsh", "fish"] {
        let script = laggard(&["completions", shell]).text();
        for word in ["diagnose", "exit-code", "cosine-max", "markdown"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let page = laggard(&["man"]).text();
    assert!(page.contains(".TH") && page.contains("laggard"));
    for word in ["diagnose", "simulate", "exit\\-code", "cosine\\-max"] {
        assert!(page.contains(word), "{word}");
    }
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
fn the_demonstration_names_the_true_replicas_and_leaves_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("demo");
    let said = laggard(&["demo", place.to_str().unwrap()]).text();
    let incident = Incident::at(place.clone());
    let answer = Answer::true_one(&incident);
    assert_eq!(answer.scope, "replicas");
    let page = std::fs::read_to_string(place.join("report.html")).unwrap();
    for name in answer.replicas.iter().map(String::as_str).chain(["front-end", "QueueWait"]) {
        assert!(said.contains(name) && page.contains(name), "{name}");
    }
    assert!(said.contains("report.html") && said.contains("laggard diagnose PATH"));
    let report = diagnose(&incident.traces(), &[]).json();
    assert_eq!(Answer::given(&report), answer);
    let again = laggard(&["demo", place.to_str().unwrap()]).text();
    assert!(again.contains("an earlier demonstration left"), "{again}");
    assert_eq!(again.lines().next(), said.lines().next());
}
