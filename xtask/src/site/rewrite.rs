//! Pages as the site has them: where they are, and where their links lead.

use super::{DOCS, START};
use crate::links::{is_elsewhere, links_of, resolve};
use crate::repository::Repository;

/// A file's place in the site's sources: the page of a folder is its index.
pub(super) fn site_path(path: &str) -> String {
    let path = path.strip_prefix(DOCS).unwrap_or(path);
    match path.strip_suffix("README.md") {
        Some(folder) => format!("{folder}index.md"),
        None => path.to_owned(),
    }
}

/// A page with its links as the site needs them; `forge` is the address of the repository's files.
pub(super) fn page(repository: &Repository, path: &str, text: &str, forge: &str) -> String {
    let links = links_of(text);
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let mut rest = line;
        for link in links.iter().filter(|link| link.line == number + 1 && !link.target.is_empty()) {
            let Some((before, after)) = rest.split_once(&format!("]({}", link.target)) else { continue };
            out.push_str(before);
            out.push_str("](");
            out.push_str(&target(repository, path, link.target, forge));
            rest = after;
        }
        out.push_str(rest);
    }
    out
}

fn target(repository: &Repository, from: &str, target: &str, forge: &str) -> String {
    if is_elsewhere(target) || target.starts_with('#') {
        return target.to_owned();
    }
    let (file, anchor) =
        target.split_once('#').map_or((target, String::new()), |(file, anchor)| (file, format!("#{anchor}")));
    let path = resolve(from, file);
    if is_in_site(&path) && repository.paths.contains(&path) {
        return relative(&site_path(from), &site_path(&path)) + &anchor;
    }
    format!("{forge}/{path}{anchor}")
}

/// Whether a file of the repository is one of the site: the documentation, and the page it begins with.
pub(super) fn is_in_site(path: &str) -> bool {
    path.starts_with(DOCS) || path == START
}

/// The way from a page to another file of the site.
fn relative(from: &str, to: &str) -> String {
    let folders: Vec<&str> = from.split('/').collect();
    let parts: Vec<&str> = to.split('/').collect();
    let (folders, ends) = (&folders[..folders.len() - 1], parts.len() - 1);
    let common = std::iter::zip(folders, &parts[..ends]).take_while(|(a, b)| a == b).count();
    "../".repeat(folders.len() - common) + &parts[common..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_inside_stay_and_links_outside_lead_to_the_forge() {
        let files = [
            ("docs/manual/a.md", ""),
            ("docs/b/README.md", ""),
            ("README.md", ""),
            ("packaging/x.yaml", ""),
            ("docs/p.png", ""),
        ];
        let repository = Repository::from_files(&files);
        let rewritten = |text: &str| page(&repository, "docs/manual/a.md", text, "https://f/v1");
        assert_eq!(rewritten("[a](a.md#x) ![p](../p.png)"), "[a](a.md#x) ![p](../p.png)");
        assert_eq!(rewritten("[b](../b/README.md#y) [c](#z)"), "[b](../b/index.md#y) [c](#z)");
        assert_eq!(
            rewritten("[x](../../packaging/x.yaml), [f](../../packaging/)\n"),
            "[x](https://f/v1/packaging/x.yaml), [f](https://f/v1/packaging)\n"
        );
        assert_eq!(
            rewritten("[w](https://w/x) `[a](../../packaging/x.yaml)`"),
            "[w](https://w/x) `[a](../../packaging/x.yaml)`"
        );
        assert_eq!(
            rewritten("```\n[x](../../packaging/x.yaml)\n```\n"),
            "```\n[x](../../packaging/x.yaml)\n```\n"
        );
    }

    #[test]
    fn the_first_page_is_that_of_the_repository() {
        let files = [("README.md", ""), ("docs/manual/a.md", ""), ("LICENSE", "")];
        let repository = Repository::from_files(&files);
        let text = "[a](docs/manual/a.md#x) [l](LICENSE)";
        assert_eq!(
            page(&repository, "README.md", text, "https://f/v1"),
            "[a](manual/a.md#x) [l](https://f/v1/LICENSE)"
        );
        let back = page(&repository, "docs/manual/a.md", "[r](../../README.md#y)", "https://f/v1");
        assert_eq!(back, "[r](../index.md#y)");
    }

    #[test]
    fn the_page_of_a_folder_is_its_index() {
        assert_eq!(
            (site_path("docs/manual/README.md").as_str(), site_path("docs/tour.md").as_str()),
            ("manual/index.md", "tour.md")
        );
    }
}
