//! The site's contents: the sections of the index with the pages they link, then what only other pages link.

use super::START;
use super::rewrite::site_path;
use crate::links::{links_of, resolve};
use crate::repository::Repository;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The index, from the root.
const INDEX: &str = "docs/manual/README.md";

/// The folder of which every page must be in the index.
const MANUAL: &str = "docs/manual/";

/// Pages of the project rather than of the program, behind the others: folder and title of the part.
const FURTHER: &[(&str, &str)] =
    &[("docs/decisions/", "Decisions"), ("docs/benchmarks/", "Benchmarks"), ("docs/", "More")];

/// A page of the site.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Page {
    /// The part of the contents it is in.
    part: String,
    title: String,
    /// From the root of the repository.
    path: String,
    /// Whether it is listed below the page before it that is not.
    nested: bool,
}

/// The contents.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Summary {
    pub(super) pages: Vec<Page>,
    /// Pages of the manual that the index does not link, as violations.
    pub(super) forgotten: Vec<String>,
}

impl Summary {
    pub(super) fn of(repository: &Repository) -> Summary {
        let mut summary = Summary::default();
        let mut seen = BTreeSet::from([INDEX.to_owned()]);
        let index = repository.text(INDEX).unwrap_or_default();
        let mut part = String::new();
        for (line_number, line) in index.lines().enumerate() {
            if let Some(heading) = line.strip_prefix("## ") {
                heading.trim().clone_into(&mut part);
            }
            for link in links_of(index).iter().filter(|link| link.line == line_number + 1) {
                let path = resolve(INDEX, link.target.split('#').next().unwrap_or_default());
                summary.add(repository, &mut seen, &part, &path);
            }
        }
        let manual = repository.ending(".md").filter(|file| file.path.starts_with(MANUAL));
        summary.forgotten = manual
            .filter(|file| !seen.contains(&file.path))
            .map(|file| format!("{} is not linked by {INDEX}, so it has no place in the site", file.path))
            .collect();
        for (folder, title) in FURTHER {
            let mut further: Vec<&str> = repository.ending(".md").map(|file| file.path.as_str()).collect();
            further.retain(|path| path.starts_with(folder));
            // The index of a folder comes before its pages.
            further.sort_by_key(|path| (!path.ends_with("README.md"), *path));
            for path in further {
                summary.add(repository, &mut seen, title, path);
            }
        }
        summary
    }

    /// Adds a page, and the pages that the index of its folder links, if it is one.
    fn add(&mut self, repository: &Repository, seen: &mut BTreeSet<String>, part: &str, path: &str) {
        let page = |path: &str, nested: bool| {
            let text =
                repository.text(path).filter(|_| path.starts_with("docs/") && path.ends_with(".md"))?;
            let title = text.lines().find_map(|line| line.strip_prefix("# "))?;
            Some(Page {
                part: part.to_owned(),
                title: title.trim().to_owned(),
                path: path.to_owned(),
                nested,
            })
        };
        let Some(own) = page(path, false).filter(|_| seen.insert(path.to_owned())) else { return };
        self.pages.push(own);
        if !path.ends_with("/README.md") {
            return;
        }
        let text = repository.text(path).unwrap_or_default();
        let folder = path.strip_suffix("README.md").unwrap_or_default();
        for link in links_of(text) {
            let below = resolve(path, link.target.split('#').next().unwrap_or_default());
            let is_new = below.starts_with(folder) && seen.insert(below.clone());
            self.pages.extend(page(&below, true).filter(|_| is_new));
        }
    }

    /// mdBook's `SUMMARY.md`.
    pub(super) fn markdown(&self) -> String {
        let mut out =
            format!("# Summary\n\n[Laggard]({})\n[Manual]({})\n", site_path(START), site_path(INDEX));
        let mut part = "";
        for page in &self.pages {
            if page.part != part {
                part = &page.part;
                let _ = write!(out, "\n# {part}\n\n");
            }
            let indent = if page.nested { "  " } else { "" };
            let title = page.title.replace(['[', ']', '`'], "");
            let _ = writeln!(out, "{indent}- [{title}]({})", site_path(&page.path));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(index: &str) -> Repository {
        Repository::from_files(&[
            (INDEX, index),
            ("docs/manual/one.md", "<!-- Generated -->\n# The `one`\n"),
            ("docs/manual/json/README.md", "# Fields\n[a](a.md) [out](../one.md)\n"),
            ("docs/manual/json/a.md", "# A\n"),
            ("docs/decisions/README.md", "# Decisions\n[1](0001.md)\n"),
            ("docs/decisions/0001.md", "# First\n"),
            ("docs/tour.md", "# Tour\n"),
            ("README.md", "# Laggard\n"),
        ])
    }

    #[test]
    fn the_contents_follow_the_index() {
        let index = "# Manual\n[Tour](../tour.md)\n## Use\n- [x](one.md#y), [again](one.md)\n- [f](json/README.md) [r](../../README.md)\n";
        let summary = Summary::of(&repository(index));
        assert!(summary.forgotten.is_empty(), "{:?}", summary.forgotten);
        let expected = "# Summary\n\n[Laggard](index.md)\n[Manual](manual/index.md)\n- [Tour](tour.md)\n\n# Use\n\n- [The one](manual/one.md)\n\
                        - [Fields](manual/json/index.md)\n  - [A](manual/json/a.md)\n\n# Decisions\n\n\
                        - [Decisions](decisions/index.md)\n  - [First](decisions/0001.md)\n";
        assert_eq!(summary.markdown(), expected);
    }

    #[test]
    fn a_page_of_the_manual_without_a_link_is_forgotten() {
        let found = Summary::of(&repository("## Use\n[f](json/README.md)\n")).forgotten;
        assert_eq!(
            found,
            ["docs/manual/one.md is not linked by docs/manual/README.md, so it has no place in the site"]
        );
    }
}
