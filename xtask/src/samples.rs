//! The terminal sample in the README, and the lines of it that the manual explains, are what the program
//! prints.

use crate::cargo;
use crate::repository::Repository;
use std::io;

const README: &str = "README.md";

/// The page that goes through the sample line by line.
const EXPLAINED: &str = "docs/manual/diagnose.md";

/// How the sample starts and how it ends.
const OPEN: &str = "```text\n[!] ";
const CLOSE: &str = "\n```";

/// The part of the output of `laggard demo` that is its diagnosis.
///
/// # Errors
/// When the program cannot be built or fails.
pub(crate) fn demo() -> io::Result<String> {
    let folder = std::env::temp_dir().join(format!("laggard-sample-{}", std::process::id()));
    let folder_name = folder.display().to_string();
    let printed = cargo::output(&["run", "--quiet", "--package", "laggard", "--", "demo", &folder_name]);
    // It may not have got so far as to make the folder.
    let _ = std::fs::remove_dir_all(&folder);
    Ok(diagnosis(&printed?))
}

/// Without the last paragraph, which names the folder.
fn diagnosis(printed: &str) -> String {
    printed.split("\n\nMade for this").next().unwrap_or_default().trim_end().to_owned()
}

/// The README with the sample in its place; `None` when it has no place for it.
pub(crate) fn renewed(readme: &str, sample: &str) -> Option<String> {
    let (before, rest) = readme.split_once(OPEN)?;
    let (_, after) = rest.split_once(CLOSE)?;
    Some(format!("{before}```text\n{sample}{CLOSE}{after}"))
}

/// Writes the sample into the README.
///
/// # Errors
/// When the file cannot be written or has no place for the sample.
pub(crate) fn write(repository: &Repository, sample: &str) -> io::Result<()> {
    let readme = repository.text(README).and_then(|readme| renewed(readme, sample));
    let readme = readme.ok_or_else(|| io::Error::other("README.md has no sample to renew"))?;
    std::fs::write(repository.root.join(README), readme)
}

/// Whether README and manual show what the program prints.
pub(crate) fn violations(repository: &Repository, sample: &str) -> Vec<String> {
    let readme = repository.text(README).unwrap_or_default();
    let mut out = Vec::new();
    if renewed(readme, sample).as_deref() != Some(readme) {
        out.push(format!("the sample in {README} is stale; run cargo xtask docs"));
    }
    let explained = repository.text(EXPLAINED).unwrap_or_default();
    let blocks = explained.split("```text\n").skip(1).filter_map(|block| block.split(CLOSE).next());
    let stale = blocks.flat_map(str::lines).filter(|line| !sample.lines().any(|known| known == *line));
    out.extend(stale.map(|line| format!("{EXPLAINED} explains a line that is not in the sample: {line}")));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "[!] Found\n\n  a is slow";

    fn violations_of(readme: &str, page: &str) -> usize {
        violations(&Repository::from_files(&[(README, readme), (EXPLAINED, page)]), SAMPLE).len()
    }

    #[test]
    fn a_stale_sample_fails() {
        let readme = "# L\n```text\n[!] Found\n\n  a is slow\n```\nmore\n";
        assert_eq!(violations_of(readme, "```text\n  a is slow\n```\n"), 0);
        assert_eq!(violations_of(&readme.replace("slow", "fast"), ""), 1);
        assert_eq!(violations_of("# L\n", ""), 1);
        assert_eq!(violations_of(readme, "```text\n  b is slow\n```\n"), 1);
    }

    #[test]
    fn the_sample_replaces_its_placeholder() {
        let renewed = renewed("# L\n```text\n[!] old\n```\nmore\n", SAMPLE).unwrap();
        assert_eq!(renewed, "# L\n```text\n[!] Found\n\n  a is slow\n```\nmore\n");
    }

    #[test]
    fn the_folder_is_omitted() {
        assert_eq!(diagnosis("[!] Found\n\nMade for this demonstration: x\n"), "[!] Found");
    }
}
