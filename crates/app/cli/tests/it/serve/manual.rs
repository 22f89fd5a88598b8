//! The commands of the tutorial and of the recipes, run as they are printed.
//!
//! A server and a Jaeger stand behind the addresses in them, and with Jaeger times relative to now become the time of the data. A block
//! ```` ```text ```` below commands is the verdict that they print: `LAGGARD_BLESS=1` writes it anew.

use super::Running;
use crate::outcome::{Outcome, finish, laggard};
use laggard_testkit::{
    HttpStandIn, Missing, is_installed, jaeger_response, jaeger_traces, skip, trace_stand_in,
};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A block of commands of a page, and the verdict below it, if there is one.
struct Block {
    commands: String,
    verdict: Option<String>,
}

fn page_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/manual").join(name)
}

/// The text between a fence and its end.
fn fenced<'a>(text: &'a str, open: &str) -> Option<(&'a str, &'a str)> {
    text.strip_prefix(open)?.split_once("```\n")
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find("```sh\n") {
        let (commands, after) = fenced(&rest[start..], "```sh\n").unwrap();
        let verdict = after.strip_prefix('\n').and_then(|after| fenced(after, "```text\n"));
        found
            .push(Block { commands: commands.to_owned(), verdict: verdict.map(|(text, _)| text.to_owned()) });
        rest = after;
    }
    found
}

/// What a report says first: the verdict and the headline.
fn verdict_of(report: &str) -> String {
    let paragraphs: Vec<&str> = report.split("\n\n").take(2).collect();
    paragraphs.join("\n\n").trim_end().to_owned() + "\n"
}

/// Commands that a test does not run: they need root, a kernel trace of the reader's, another program, or do not end.
const NOT_RUN: [&str; 6] = [
    "sudo ",
    "laggard serve",
    "laggard kernel path slow.dat",
    "laggard diagnose calls.dat",
    "claude ",
    "docker ",
];

fn is_run(command: &str) -> bool {
    !NOT_RUN.iter().any(|beginning| command.starts_with(beginning))
}

/// Flags of a command that is not run exist.
fn check_flags(command: &str) {
    let words: Vec<&str> = command.split_whitespace().skip_while(|word| *word != "laggard").skip(1).collect();
    let is_name = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase()) && !word.is_empty();
    let names: Vec<&str> = words.iter().take_while(is_name).copied().collect();
    let help = laggard(&[&names[..], &["--help"]].concat()).text();
    // Flags that help hides, of how a server is reached, are in another command's list.
    let flags = words.iter().filter(|word| word.starts_with("--") && word.len() > 2);
    for flag in flags.map(|flag| flag.split('=').next().unwrap()) {
        assert!(help.contains(flag), "{command}: {flag} is not in {help}");
    }
}

/// The programs and servers that the commands of a page meet.
struct Reader {
    folder: tempfile::TempDir,
    server: Running,
    jaeger: HttpStandIn,
}

impl Reader {
    fn new() -> Reader {
        let folder = tempfile::tempdir().unwrap();
        let server = Running::start(&folder.path().join("data"), &[]);
        let traces = folder.path().join("jaeger");
        let size = ["--requests", "120", "--window", "600", "--categories", "4"];
        let flags = ["simulate", "--format", "jaeger", "-o", traces.to_str().unwrap()];
        laggard(&[&flags[..], &size].concat()).text();
        let stored = std::fs::read_to_string(traces.join("traces/jaeger.json")).unwrap();
        Reader { folder, server, jaeger: trace_stand_in(jaeger_traces(&stored), jaeger_response) }
    }

    /// A command with the addresses and times of this test.
    fn adapted(&self, command: &str) -> String {
        let server = format!("http://{}", self.server.addresses["http"]);
        let window = "--since 2026-01-12T09:05:00Z --until 2026-01-12T09:10:00Z";
        let command = command.replace("http://127.0.0.1:4316", &server);
        if !command.contains("--jaeger") {
            return command;
        }
        let command =
            command.replace("--jaeger http://localhost:16686", &format!("--jaeger {}", self.jaeger.url()));
        command.replace("--since -15m", window).replace("--since -5m", window)
    }

    /// Runs the commands of a block, one shell for all.
    fn run(&self, commands: &str) -> Outcome {
        let program = Path::new(env!("CARGO_BIN_EXE_laggard")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("bash");
        shell.args(["-e", "-o", "pipefail", "-c", commands]).current_dir(&self.folder).env("PATH", path);
        finish(shell.env_remove("NO_COLOR"))
    }
}

/// Runs every block of a page, and compares verdicts.
fn check_page(name: &str) {
    if let Some(tool) = ["curl", "python3", "bash"].into_iter().find(|tool| !is_installed(tool)) {
        return skip(Missing::Packages("curl python3"), &format!("there is no {tool}"));
    }
    let mut page = std::fs::read_to_string(page_path(name)).unwrap();
    let reader = Reader::new();
    let mut stale = String::new();
    for Block { commands, verdict } in blocks(&page) {
        let lines = commands.lines();
        lines.clone().filter(|line| !is_run(line)).for_each(check_flags);
        let selected: Vec<String> =
            lines.filter(|line| is_run(line)).map(|line| reader.adapted(line)).collect();
        if selected.is_empty() {
            continue;
        }
        let outcome = reader.run(&selected.join("\n"));
        // A gate that finds something has status 1.
        let expected = [0, i32::from(commands.contains("--exit-code"))];
        assert!(expected.contains(&outcome.status), "{commands}\n{}\n{}", outcome.stdout, outcome.stderr);
        let Some(verdict) = verdict else { continue };
        let printed = verdict_of(&outcome.stdout);
        if printed != verdict {
            let _ = writeln!(stale, "below\n{commands}\nstands\n{verdict}\nprinted was\n{printed}");
            page = page.replace(
                &format!("{commands}```\n\n```text\n{verdict}```\n"),
                &format!("{commands}```\n\n```text\n{printed}```\n"),
            );
        }
    }
    if std::env::var_os("LAGGARD_BLESS").is_some() {
        std::fs::write(page_path(name), page).unwrap();
    } else {
        assert!(stale.is_empty(), "{name}: run again with LAGGARD_BLESS=1\n{stale}");
    }
}

#[test]
fn the_tutorial_works_as_printed() {
    check_page("tutorial.md");
}

#[test]
fn the_recipes_work_as_printed() {
    check_page("recipes.md");
    let page = std::fs::read_to_string(page_path("recipes.md")).unwrap();
    let situations = page.lines().filter(|line| line.starts_with("### ")).count();
    assert!(situations >= 20, "{situations}");
}

#[test]
fn blocks_and_their_verdicts_are_found() {
    let page = "# A\n\n```sh\none\ntwo\n```\n\n```text\n[ok] Fine\n```\n\n```sh\nthree\n```\n\nText.\n\n```text\nother\n```\n";
    let found = blocks(page);
    assert_eq!(found.len(), 2);
    assert_eq!(
        (found[0].commands.as_str(), found[0].verdict.as_deref()),
        ("one\ntwo\n", Some("[ok] Fine\n"))
    );
    assert_eq!((found[1].commands.as_str(), found[1].verdict.as_deref()), ("three\n", None));
    assert_eq!(verdict_of("[!] Slower\n\n  More.\n\nTable\n"), "[!] Slower\n\n  More.\n");
    assert!(is_run("laggard diagnose x") && !is_run("sudo laggard record"));
}
