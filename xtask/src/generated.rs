//! Pages of the manual generated from the program, so that they match it.

use crate::repository::{Judgment, Repository, judge};
use crate::{cargo, json_pages, limits, samples, typescript};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;

/// The page, from the root.
const PAGE: &str = "docs/manual/command-line.md";

const HEAD: &str = "<!-- Written by `cargo xtask docs` from the program's own help; do not edit. -->

# Command line

How to read a report and which flags to reach for first: [diagnose.md](diagnose.md).
";

/// The page of settings, from the root.
const SETTINGS_PAGE: &str = "docs/manual/settings.md";

const SETTINGS_HEAD: &str = "<!-- Written by `cargo xtask docs` from the declarations of the settings; do not edit. -->

# Settings

Thresholds of the methods. Set them by name: `--set cv-min=1.5` on the command line, `{\"set\": {\"cv-min\": 1.5}}` in a
request to the [API](api.md). `laggard settings diagnose` prints the same lists, and every report states the values used.
The [configuration of the server](#laggard-serve) is at the end.

";

/// The list of pages, from the root; its table of commands follows from the program's help.
const INDEX_PAGE: &str = "docs/manual/README.md";
const COMMANDS_OPEN: &str =
    "<!-- Written by `cargo xtask docs` from the program's own help; do not edit. -->\n";

/// The page of the API, from the root; its table of questions follows from the OpenAPI document.
const API_PAGE: &str = "docs/manual/api.md";
const QUESTIONS_OPEN: &str =
    "<!-- Written by `cargo xtask docs` from the OpenAPI document; do not edit. -->\n";

/// Every page that the program writes, by its path.
fn pages(repository: &Repository) -> io::Result<BTreeMap<String, String>> {
    let mut pages = json_pages::pages(&run_program)?;
    pages.insert(PAGE.to_owned(), page(&run_program)?);
    pages.insert(SETTINGS_PAGE.to_owned(), settings(&run_program)?);
    pages.insert(limits::PAGE.to_owned(), limits::page(repository)?);
    let openapi: Value = serde_json::from_str(&run_program(&["schema", "api"])?)?;
    pages.insert(typescript::PATH.to_owned(), typescript::types(&openapi)?);
    pages.insert(typescript::FORMS_PATH.to_owned(), typescript::forms(&openapi)?);
    let index = commands_with_pages(&run_program, repository)?;
    let index = limits::replace_table(repository, INDEX_PAGE, COMMANDS_OPEN, &index)?;
    pages.insert(INDEX_PAGE.to_owned(), index);
    let api = limits::replace_table(repository, API_PAGE, QUESTIONS_OPEN, &questions(&openapi))?;
    pages.insert(API_PAGE.to_owned(), api);
    Ok(pages)
}

/// Writes the generated pages.
///
/// # Errors
/// When the program cannot be built or a page cannot be written.
pub(crate) fn write(repository: &Repository) -> io::Result<()> {
    for (path, page) in pages(repository)? {
        let path = repository.root.join(path);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, page)?;
    }
    samples::write(repository, &samples::demo()?)
}

/// Whether the pages are as the program would write them.
pub(crate) fn check(repository: &Repository) -> Judgment {
    let failed = |error: io::Error| vec![error.to_string()];
    let pages = pages(repository).map_err(failed)?;
    let stale = pages.iter().flat_map(|(path, page)| compare(path, repository.text(path), page));
    let mut violations: Vec<String> = stale.collect();
    violations.extend(samples::violations(repository, &samples::demo().map_err(failed)?));
    judge(violations, || format!("{} pages of the manual and the sample in README.md", pages.len()))
}

fn compare(path: &str, current: Option<&str>, expected: &str) -> Vec<String> {
    let Some(current) = current else { return vec![format!("{path} is missing; run cargo xtask docs")] };
    let mut lines = std::iter::zip(current.lines(), expected.lines()).enumerate();
    if let Some((position, (is, should))) = lines.find(|(_, (is, should))| is != should) {
        let stale = format!("{path}:{}: stale; run cargo xtask docs", position + 1);
        return vec![stale, format!("  is:     {is}"), format!("  should: {should}")];
    }
    if current.lines().count() != expected.lines().count() {
        return vec![format!("{path} is stale at its end; run cargo xtask docs")];
    }
    vec![]
}

/// Runs the program with arguments; returns what it prints.
type Query<'a> = &'a dyn Fn(&[&str]) -> io::Result<String>;

fn run_program(arguments: &[&str]) -> io::Result<String> {
    cargo::output(&[&["run", "--quiet", "--package", "laggard", "--"], arguments].concat())
}

fn page(query: Query<'_>) -> io::Result<String> {
    let mut out = HEAD.to_owned();
    let overview = query(&["--help"])?;
    section(&mut out, "laggard", &overview);
    for command in commands(&overview) {
        let help = query(&[command, "--help"])?;
        section(&mut out, &format!("laggard {command}"), &help);
        for inner in commands(&help) {
            let help = query(&[command, inner, "--help"])?;
            section(&mut out, &format!("laggard {command} {inner}"), &help);
        }
    }
    out.push_str("\n## Formats\n\n");
    out.push_str(&formats(&query(&["formats"])?));
    out.push_str("\n## Methods\n\n");
    out.push_str(&methods(&query(&["methods"])?));
    Ok(out)
}

/// Commands that have a page of their own.
fn commands_with_pages(query: Query<'_>, repository: &Repository) -> io::Result<String> {
    let mut out = "| page | command | what it does |\n|---|---|---|\n".to_owned();
    for command in commands(&query(&["--help"])?) {
        if !repository.has(&format!("docs/manual/{command}.md")) {
            continue;
        }
        let help = query(&[command, "--help"])?;
        let about = help.lines().next().unwrap_or_default().trim();
        let _ = writeln!(out, "| [{command}.md]({command}.md) | `laggard {command}` | {about} |");
    }
    Ok(out)
}

/// Requests that are answered with a report.
fn questions(openapi: &Value) -> String {
    let mut out = "| request | question | report |\n|---|---|---|\n".to_owned();
    // Questions that are answered by the same report share its page.
    let mut pages: BTreeMap<&str, String> = BTreeMap::new();
    for (path, methods) in openapi["paths"].as_object().into_iter().flatten() {
        let post = &methods["post"];
        let report = &post["responses"]["200"]["content"]["application/json"]["schema"]["$ref"];
        let is_question =
            post["tags"].as_array().into_iter().flatten().any(|tag| tag == "questions" || tag == "kernel");
        let (Some(name), Some(report), true) = (path.strip_prefix("/api/v1/"), report.as_str(), is_question)
        else {
            continue;
        };
        let report = report.rsplit('/').next().unwrap_or_default();
        let summary = post["summary"].as_str().unwrap_or_default();
        let page = pages.entry(report).or_insert_with(|| name.replace('/', "-"));
        let _ = writeln!(out, "| `POST {path}` | {summary} | [{report}](json/{page}.md) |");
    }
    out
}

fn settings(query: Query<'_>) -> io::Result<String> {
    Ok(SETTINGS_HEAD.to_owned() + &query(&["settings", "--output", "markdown"])?)
}

fn section(out: &mut String, title: &str, help: &str) {
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    let _ = write!(out, "\n## `{title}`\n\n```text\n{}\n```\n", lines.join("\n"));
}

/// The names in the list of commands, in order; `help` explains itself.
fn commands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let rows = listed.take_while(|line| !line.trim().is_empty());
    // A row starts after two spaces; the continuation of a long text stands further in.
    let names = rows.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

/// An entry of a list the program prints: a name and a title, then lines that stand further in, the last of
/// which is the page.
struct Entry<'a> {
    name: &'a str,
    title: &'a str,
    facts: Vec<&'a str>,
    page: &'a str,
}

fn entries(listed: &str) -> Vec<Entry<'_>> {
    let lines: Vec<&str> = listed.lines().collect();
    let groups = lines.chunk_by(|_, next| next.starts_with(' '));
    groups.filter_map(entry).collect()
}

fn entry<'a>(lines: &[&'a str]) -> Option<Entry<'a>> {
    let [head, facts @ .., page] = lines else { return None };
    let (name, title) = head.split_once(' ')?;
    let facts = facts.iter().map(|line| line.trim()).collect();
    Some(Entry { name, title: title.trim(), facts, page: page.trim() })
}

/// Entries with `HOLDS; PAGE`, an empty line, then prose.
fn formats(listed: &str) -> String {
    let mut out = "| `--format` | what it is | holds | page |\n|---|---|---|---|\n".to_owned();
    let (rows, prose) = listed.split_once("\n\n").unwrap_or((listed, ""));
    for entry in entries(rows) {
        let (holds, page) = entry.page.split_once("; ").unwrap_or(("", entry.page));
        let _ = writeln!(out, "| `{}` | {} | {holds} | {} |", entry.name, entry.title, link(page));
    }
    if !prose.trim().is_empty() {
        let _ = writeln!(out, "\n{}", prose.trim());
    }
    out
}

/// Entries with one fact: `reads X; SOURCE`.
fn methods(listed: &str) -> String {
    let mut out = "| `--method` | question | reads | source | page |\n|---|---|---|---|---|\n".to_owned();
    for entry in entries(listed) {
        let facts = entry.facts.join(" ");
        let (reads, source) = facts.split_once(';').unwrap_or((&facts, ""));
        let (reads, source) = (reads.trim_start_matches("reads "), source.trim());
        let page = link(entry.page);
        let _ = writeln!(out, "| `{}` | {} | {reads} | {source} | {page} |", entry.name, entry.title);
    }
    out
}

/// A link from the folder of the page to a page relative to the root.
fn link(page: &str) -> String {
    let target = page.strip_prefix("docs/manual/").map_or_else(|| format!("../../{page}"), str::to_owned);
    let name = target.rsplit('/').next().unwrap_or_default();
    format!("[{name}]({target})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fake(arguments: &[&str]) -> io::Result<String> {
        Ok(match arguments {
            ["--help"] => {
                "Explains.\n\nCommands:\n  one   First\n        and more\n  help  Print\n\nOptions:\n  -h\n"
            }
            ["one", "--help"] => "First \n\nUsage: laggard one\n",
            ["formats"] => {
                "otlp-json    OpenTelemetry JSON\n       traces; docs/manual/formats/otlp.md\n\nEach plain.\n"
            }
            ["methods"] => "cd   Why?\n     reads spans; Mi, 2013\n     docs/manual/methods/cd.md\n",
            _ => return Err(io::Error::other("unexpected arguments")),
        }
        .to_owned())
    }

    #[test]
    fn commands_with_a_manual_page_are_listed() {
        let repository = Repository::from_files(&[("docs/manual/one.md", "")]);
        let table = commands_with_pages(&fake, &repository).unwrap();
        assert!(table.ends_with("| [one.md](one.md) | `laggard one` | First |\n"), "{table}");
        let none = commands_with_pages(&fake, &Repository::from_files(&[])).unwrap();
        assert!(!none.contains("one"));
    }

    #[test]
    fn questions_are_listed_with_their_reports() {
        let answer = serde_json::json!({"200": {"content": {"application/json": {"schema": {"$ref": "#/x/PathReport"}}}}});
        let question =
            serde_json::json!({"post": {"tags": ["kernel"], "summary": "Why?", "responses": answer}});
        let other = serde_json::json!({"get": {"tags": ["jobs"]}});
        let openapi = serde_json::json!({"paths": {
            "/api/v1/kernel/path": question, "/api/v1/jobs": other, "/api/v1/other/path": question
        }});
        let table = questions(&openapi);
        assert!(
            table.contains("| `POST /api/v1/kernel/path` | Why? | [PathReport](json/kernel-path.md) |\n"),
            "{table}"
        );
        assert!(
            table.ends_with("| `POST /api/v1/other/path` | Why? | [PathReport](json/kernel-path.md) |\n")
        );
        assert!(!table.contains("jobs"));
    }

    #[test]
    fn the_page_holds_every_command_format_and_method() {
        let page = page(&fake).unwrap();
        assert!(page.contains("## `laggard one`\n\n```text\nFirst\n\nUsage: laggard one\n```"));
        assert!(page.contains(
            "| `otlp-json` | OpenTelemetry JSON | traces | [otlp.md](formats/otlp.md) |\n\nEach plain."
        ));
        assert!(page.contains("| `cd` | Why? | spans | Mi, 2013 | [cd.md](methods/cd.md) |"));
    }

    #[test]
    fn a_stale_page_fails() {
        assert!(compare(PAGE, Some("a\nb\n"), "a\nb\n").is_empty());
        assert!(compare(PAGE, Some("a\nb\n"), "a\nc\n")[0].contains(":2: stale"));
        assert_eq!(compare(PAGE, Some("a\n"), "a\nc\n").len(), 1);
        assert_eq!(compare(PAGE, None, "a\n").len(), 1);
    }
}
