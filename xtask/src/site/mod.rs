//! The documentation as a site with search, built by mdBook: `cargo xtask site`.
//!
//! The pages are README.md and those of `docs/`, in the order of the index, `docs/manual/README.md`. Links to other files of the
//! repository become links to its forge. Afterwards every link of the site is followed.

mod follow;
mod rewrite;
mod summary;

use crate::repository::{Judgment, Repository, judge};
use crate::say;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The pages' folder, from the root.
const DOCS: &str = "docs/";

/// The page that the site begins with.
const START: &str = "README.md";

/// Room for the hundred columns of a report.
const STYLE: &str = ":root { --content-max-width: 58rem; }\npre > code { font-size: 0.8125em; }\n";

/// Builds the site.
const TOOL: &str = "mdbook";

/// How [`TOOL`] is installed; `.ci/run` does the same.
const INSTALL: &str = "cargo install --locked mdbook@0.5.4 --no-default-features --features search";

/// Whether every page of the manual has its place in the index.
pub(crate) fn check(repository: &Repository) -> Judgment {
    let summary = summary::Summary::of(repository);
    judge(summary.forgotten.clone(), || format!("{} pages in the site's contents", summary.pages.len()))
}

/// Builds the site into `target/site` and follows its links; true when all lead somewhere.
///
/// # Errors
/// When mdBook is missing or fails, or a file cannot be written.
pub(crate) fn build(repository: &Repository) -> io::Result<bool> {
    let source = repository.root.join("target/site-source");
    let site = repository.root.join("target/site");
    for folder in [&source, &site] {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
    }
    write_source(repository, &source)?;
    run_tool(&source, &site)?;
    let report = follow::follow_links(&site)?;
    report.broken.iter().for_each(|line| say(&format!("      {line}")));
    say(&format!(
        "{} pages, {} links followed: {}",
        report.pages,
        report.links,
        site.join("index.html").display()
    ));
    Ok(report.broken.is_empty())
}

/// The value of a key in the workspace's manifest.
fn manifest_value<'a>(repository: &'a Repository, key: &str) -> &'a str {
    let manifest = repository.text("Cargo.toml").unwrap_or_default();
    let mut rows = manifest.lines().filter_map(|line| line.split_once(" = "));
    rows.find(|(name, _)| *name == key).map_or("", |(_, value)| value.trim_matches('"'))
}

/// Writes what mdBook reads: its configuration, the contents, and every page and picture.
fn write_source(repository: &Repository, source: &Path) -> io::Result<()> {
    let (forge, version) = (manifest_value(repository, "repository"), manifest_value(repository, "version"));
    let summary = summary::Summary::of(repository);
    let pages = source.join("src");
    for path in repository.paths.iter().filter(|path| rewrite::is_in_site(path)) {
        let to = pages.join(rewrite::site_path(path));
        to.parent().map_or(Ok(()), fs::create_dir_all)?;
        match repository.text(path).filter(|_| path.ends_with(".md")) {
            Some(text) => {
                fs::write(to, rewrite::page(repository, path, text, &format!("{forge}/blob/v{version}")))?
            }
            None => drop(fs::copy(repository.root.join(path), to)?),
        }
    }
    fs::write(pages.join("SUMMARY.md"), summary.markdown())?;
    fs::write(source.join("style.css"), STYLE)?;
    fs::write(source.join("book.toml"), configuration(forge, version))
}

fn configuration(forge: &str, version: &str) -> String {
    format!(
        "[book]\ntitle = \"Laggard {version}\"\ndescription = \"Tells why a distributed system is slow\"\n\
         language = \"en\"\n\n[build]\ncreate-missing = false\n\n[output.html]\ngit-repository-url = \"{forge}\"\n\
         default-theme = \"light\"\npreferred-dark-theme = \"navy\"\nno-section-label = true\nadditional-css = [\"style.css\"]\n\n\
         [output.html.fold]\nenable = true\nlevel = 0\n\n[output.html.search]\nlimit-results = 20\nheading-split-level = 2\n"
    )
}

fn run_tool(source: &Path, site: &Path) -> io::Result<()> {
    let mut command = Command::new(TOOL);
    let ran = command.arg("build").arg(source).arg("--dest-dir").arg(site).stdin(Stdio::null()).output();
    let output = ran.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::other(format!("there is no {TOOL}; install it: {INSTALL}")),
        _ => error,
    })?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    // What it warns of is wrong, too: a tag that is not closed swallows the rest of a page.
    let warned = text.lines().any(|line| line.contains("WARN") || line.contains("ERROR"));
    if output.status.success() && !warned {
        Ok(())
    } else {
        Err(io::Error::other(format!("{TOOL}:\n{text}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_installs_the_tool_is_that_of_ci() {
        let ci = include_str!("../../../.ci/run");
        assert!(ci.contains(INSTALL), "{INSTALL}");
    }

    #[test]
    fn values_are_read_from_the_manifest() {
        let manifest = "[workspace.package]\nversion = \"0.2.0\"\nrepository = \"https://x\"\n";
        let repository = Repository::from_files(&[("Cargo.toml", manifest)]);
        assert_eq!(manifest_value(&repository, "version"), "0.2.0");
        assert_eq!(manifest_value(&repository, "license"), "");
        assert!(configuration("https://x", "0.2.0").contains("git-repository-url = \"https://x\""));
    }
}
