//! Presentation of reports: colors, widths, pipes, files.

use crate::outcome::{Outcome, command, finish, laggard};
use crate::workshop::{Answer, QUIET, RANDOM_DEVICE, SLOW_HOST, SMALL, incident};
use std::process::Stdio;

const ESCAPE: char = '\u{1b}';
const FORMS: [&str; 4] = ["text", "json", "markdown", "html"];

fn report(traces: &std::path::Path, flags: &[&str]) -> Outcome {
    laggard(&[&["diagnose", traces.to_str().unwrap()], flags].concat())
}

#[test]
fn colors_are_used_on_terminals_or_on_request() {
    let traces = incident(SMALL, &[]).traces();
    let plain = report(&traces, &[]).text();
    assert!(!plain.contains(ESCAPE));
    assert_eq!(report(&traces, &["--color", "never"]).text(), plain);
    let colored = report(&traces, &["--color", "always"]).text();
    assert!(colored.contains(ESCAPE));
    // Without its colors it is the same text: each sequence is ESC [ … m.
    let mut bare = String::new();
    for (index, part) in colored.split(ESCAPE).enumerate() {
        let rest = if index == 0 { part } else { part.split_once('m').unwrap().1 };
        bare.push_str(rest);
    }
    assert_eq!(bare, plain);
    let path = traces.to_str().unwrap();
    for value in ["1", ""] {
        let no_color = finish(command(&["diagnose", path]).env("NO_COLOR", value));
        assert_eq!(no_color.text(), plain);
    }
    let forced = finish(command(&["diagnose", path, "--color", "always"]).env("NO_COLOR", "1"));
    assert_eq!(forced.text(), colored, "a flag is more specific than the environment");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let incident = incident(SMALL, &[]);
    let path = incident.traces();
    let path = path.to_str().unwrap();
    let mut runs: Vec<Vec<&str>> =
        FORMS.iter().map(|form| vec!["diagnose", path, "--output", form]).collect();
    runs.extend([vec!["formats"], vec!["methods"], vec!["man"], vec!["completions", "bash"]]);
    runs.extend([vec!["--help"], vec!["--version"]]);
    for arguments in runs {
        let mut child = command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn writing_to_a_full_disk_fails() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let traces = incident(SMALL, &[]).traces();
    let run = finish(command(&["diagnose", traces.to_str().unwrap()]).stdout(full));
    run.fails(3, &["cannot write to standard output"]);
    report(&traces, &["-o", "/dev/full"]).fails(3, &["cannot write", "/dev/full"]);
}

#[test]
fn text_fits_in_100_columns_and_markdown_in_40_lines() {
    for recipe in [RANDOM_DEVICE, SLOW_HOST, QUIET, SMALL] {
        let traces = incident(recipe, &[]).traces();
        for line in report(&traces, &[]).text().lines() {
            assert!(line.chars().count() <= 100, "{line}");
            assert!(!line.ends_with(' '), "{line:?}");
        }
        let markdown = report(&traces, &["--output", "markdown"]).text();
        assert!(markdown.lines().count() <= 40, "{markdown}");
    }
}

#[test]
fn every_output_format_names_the_suspects() {
    let incident = incident(RANDOM_DEVICE, &[]);
    let answer = Answer::expected(&incident);
    for form in FORMS {
        let report = report(&incident.traces(), &["--output", form]).text();
        assert!(report.contains("QueueWait") && report.contains("front-end"), "{form}");
        for replica in &answer.replicas {
            assert!(report.contains(replica), "{form} names {replica}");
        }
        assert!(report.ends_with('\n'), "{form}");
    }
}

#[test]
fn the_html_page_loads_no_external_resources() {
    let page = report(&incident(RANDOM_DEVICE, &[]).traces(), &["--output", "html"]).text();
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"));
    for load in ["<link", "src=", "@import", "url(", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(load), "{load}");
    }
    let addresses = page.matches("http://").count() + page.matches("https://").count();
    let namespaces = page.matches("http://www.w3.org/2000/svg").count();
    assert_eq!(addresses, namespaces, "the name of SVG's namespace is never loaded");
}

#[test]
fn a_report_file_leaves_standard_output_empty() {
    let folder = tempfile::tempdir().unwrap();
    let traces = incident(SMALL, &[]).traces();
    for form in FORMS {
        let file = folder.path().join(form);
        std::fs::write(&file, "x".repeat(1 << 20)).unwrap();
        let printed = report(&traces, &["--output", form]).text();
        let flags = ["--output", form, "-o", file.to_str().unwrap()];
        assert_eq!(report(&traces, &flags).text(), "", "{form}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), printed, "{form}");
    }
    let page = folder.path().join("page.html");
    assert_eq!(report(&traces, &["-o", page.to_str().unwrap()]).text(), "");
    assert!(
        std::fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"),
        "the name says which form"
    );
}
