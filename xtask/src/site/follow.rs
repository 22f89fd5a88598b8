//! Follows the links of a built site.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// What was followed.
#[derive(Debug, Default)]
pub(super) struct Followed {
    pub(super) pages: usize,
    pub(super) links: usize,
    /// Links that lead nowhere, a line each.
    pub(super) broken: Vec<String>,
}

/// Pages that repeat others, in which relative links and anchors are not what they were.
const REPEATING: &[&str] = &["print.html", "toc.html", "404.html"];

/// Follows every relative link of every page, to a file and to an element with the anchor's name.
///
/// # Errors
/// When the site cannot be read.
pub(super) fn follow_links(site: &Path) -> io::Result<Followed> {
    let mut pages = BTreeMap::new();
    read_pages(site, site, &mut pages)?;
    let mut followed = Followed { pages: pages.len(), ..Followed::default() };
    let anchors: BTreeMap<&PathBuf, BTreeSet<&str>> =
        pages.iter().map(|(path, text)| (path, attributes(text, "id").collect())).collect();
    for (path, text) in pages.iter().filter(|(path, _)| !REPEATING.iter().any(|name| path.ends_with(name))) {
        for target in attributes(text, "href").chain(attributes(text, "src")) {
            if target.contains("://") || target.starts_with("mailto:") || target.starts_with("data:") {
                continue;
            }
            followed.links += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let to = if file.is_empty() { path.clone() } else { joined(path, file) };
            let is_there = site.join(&to).is_file();
            let known = anchor.is_empty() || anchors.get(&to).is_none_or(|known| known.contains(anchor));
            if !is_there || !known {
                followed.broken.push(format!("{}: link to {target}, which does not exist", path.display()));
            }
        }
    }
    Ok(followed)
}

fn read_pages(site: &Path, folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_pages(site, &path, pages)?;
        } else if path.extension().is_some_and(|ending| ending == "html") {
            let name = path.strip_prefix(site).unwrap_or(&path).to_owned();
            pages.insert(name, fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// The target of a link from a page, from the root of the site.
fn joined(page: &Path, target: &str) -> PathBuf {
    let mut parts: Vec<Component<'_>> = page.parent().unwrap_or(Path::new("")).components().collect();
    for part in Path::new(target.split('?').next().unwrap_or_default()).components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(_) => parts.push(part),
            _ => {}
        }
    }
    parts.into_iter().collect()
}

/// The values of an attribute, in quotation marks, in a page.
fn attributes<'a>(html: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let open = format!(" {name}=\"");
    let starts: Vec<usize> = html.match_indices(&open).map(|(at, _)| at + open.len()).collect();
    starts.into_iter().filter_map(|start| html[start..].split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_must_lead_to_a_file_and_an_element() {
        let site = std::env::temp_dir().join(format!("laggard-site-{}", std::process::id()));
        fs::create_dir_all(site.join("a")).unwrap();
        fs::write(
            site.join("a/one.html"),
            "<h2 id=\"x\">X</h2><a href=\"../two.html#y\">y</a><a href=\"#x\">x</a>",
        )
        .unwrap();
        fs::write(
            site.join("two.html"),
            "<p id=\"y\"></p><a href=\"a/one.html\">1</a><a href=\"https://w/#z\">w</a>",
        )
        .unwrap();
        let good = follow_links(&site).unwrap();
        assert_eq!((good.pages, good.links, good.broken.len()), (2, 3, 0), "{:?}", good.broken);
        fs::write(site.join("two.html"), "<a href=\"a/one.html#y\">1</a><img src=\"none.png\">").unwrap();
        let bad = follow_links(&site).unwrap();
        fs::remove_dir_all(&site).unwrap();
        // An anchor that is gone, one that is not there, and a picture that is not.
        assert_eq!(bad.broken.len(), 3, "{:?}", bad.broken);
    }
}
