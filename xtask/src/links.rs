//! Relative links in Markdown lead somewhere.

use crate::repository::{Judgment, Repository, TextFile, is_sample, judge};

/// Follows every link.
pub(crate) fn check(repository: &Repository) -> Judgment {
    let mut followed = 0;
    let mut violations = Vec::new();
    for file in repository.ending(".md").filter(|file| !is_sample(&file.path)) {
        for link in links_of(&file.text) {
            if is_elsewhere(link.target) {
                continue;
            }
            followed += 1;
            if let Some(trouble) = trouble(repository, file, link.target) {
                violations.push(format!("{}:{}: {trouble}", file.path, link.line));
            }
        }
    }
    judge(violations, || format!("{followed} relative links"))
}

pub(crate) fn is_elsewhere(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:")
}

fn trouble(repository: &Repository, from: &TextFile, target: &str) -> Option<String> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { from.path.clone() } else { resolve(&from.path, path) };
    if !repository.has(&path) {
        return Some(format!("link to {path}, which does not exist"));
    }
    let text = repository.text(&path).filter(|_| path.ends_with(".md"))?;
    let found = anchor.is_empty() || headings(text).any(|heading| slug(heading) == anchor);
    (!found).then(|| format!("link to #{anchor}, which is no heading of {path}"))
}

/// A link's target from the root of the repository.
pub(crate) fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// A link of a page.
pub(crate) struct Link<'a> {
    pub(crate) target: &'a str,
    /// From 1.
    pub(crate) line: usize,
}

/// Inline links outside code.
pub(crate) fn links_of(text: &str) -> Vec<Link<'_>> {
    let mut found = Vec::new();
    for (line_number, line) in prose(text) {
        let mut rest = line;
        while let Some(open) = rest.find("](") {
            let after = &rest[open + 2..];
            let close = after.find(')').unwrap_or(after.len());
            // Inside code spans stand examples, not links.
            let before = line.len() - rest.len() + open;
            if line[..before].matches('`').count().is_multiple_of(2) {
                let target = after[..close].split_whitespace().next().unwrap_or_default();
                found.push(Link { target, line: line_number });
            }
            rest = &after[close..];
        }
    }
    found
}

/// Lines outside fenced code, with their 1-based number.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_fence = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        (!in_fence && !is_fence).then_some((index + 1, line))
    })
}

fn headings(text: &str) -> impl Iterator<Item = &str> {
    prose(text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| line.trim_start_matches('#').trim())
}

/// A heading's anchor, as forges make it: lower case, spaces to dashes, punctuation dropped.
fn slug(heading: &str) -> String {
    let characters = heading.chars().filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    characters.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(text: &str) -> Vec<String> {
        let files = [("docs/a.md", text), ("README.md", "# One: `two` three\n"), ("docs/b/c.md", "")];
        check(&Repository::from_files(&files)).err().unwrap_or_default()
    }

    #[test]
    fn links_must_lead_to_a_file() {
        assert_eq!(
            violations("[a](b/c.md) [r](../README.md) [folder](b/) [w](https://example.org/x)").len(),
            0
        );
        assert_eq!(violations("\n[a](d.md)"), ["docs/a.md:2: link to docs/d.md, which does not exist"]);
    }

    #[test]
    fn anchors_must_be_headings() {
        assert_eq!(violations("[a](../README.md#one-two-three)").len(), 0);
        assert_eq!(violations("[a](../README.md#four)").len(), 1);
        assert_eq!(violations("# Here\n[a](#here) [b](#there)").len(), 1);
    }

    #[test]
    fn code_is_no_link() {
        assert_eq!(violations("`[a](x)`\n```\n[a](y)\n```\n").len(), 0);
    }
}
