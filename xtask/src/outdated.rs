//! Dependencies that are behind their newest version: `cargo xtask outdated`.
//!
//! It reports and fails nothing, since what is newest changes without a change of the repository.

use crate::cargo::cargo;
use crate::manual::{DEPENDENCIES_PAGE, dependencies};
use crate::repository::Repository;
use crate::say;
use std::io;

/// A direct dependency that is behind.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Behind {
    name: String,
    /// The version of the lock file.
    locked: String,
    /// The newest version that the manifest allows.
    allowed: String,
    /// The newest version.
    newest: String,
}

/// Prints direct dependencies that are behind, those first for which the manifest has to change.
///
/// # Errors
/// When cargo cannot be started.
pub(crate) fn report(repository: &Repository) -> io::Result<()> {
    let output = cargo(&["update", "--dry-run", "--verbose", "--color", "never"]).output()?;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        let reason = printed.lines().find(|line| line.starts_with("error")).unwrap_or("cargo update failed");
        say(&format!("outdated did not run: {reason}"));
        return Ok(());
    }
    let direct = dependencies(repository.text("Cargo.toml").unwrap_or_default());
    let behind = behind(&printed, &direct);
    let (majors, minors): (Vec<&Behind>, Vec<&Behind>) =
        behind.iter().partition(|row| row.newest != row.allowed);
    let pinned = pinned(repository.text(DEPENDENCIES_PAGE).unwrap_or_default());
    for Behind { name, locked, newest, .. } in &majors {
        let reason = pinned.iter().find(|row| row.name == name).map(|row| format!("stays: {}", row.reason));
        let advice = reason.unwrap_or_else(|| "raise it in Cargo.toml".to_owned());
        say(&format!("{name} {locked} is behind {newest}: {advice}"));
    }
    for Behind { name, locked, newest, .. } in &minors {
        say(&format!("{name} {locked} is behind {newest}: cargo update"));
    }
    say(&format!(
        "{} of {} direct dependencies are behind, {} of them by an incompatible version",
        behind.len(),
        direct.len(),
        majors.len()
    ));
    Ok(())
}

/// A dependency that stays behind on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pinned<'a> {
    pub(crate) name: &'a str,
    /// The requirement in `Cargo.toml`.
    pub(crate) version: &'a str,
    pub(crate) reason: &'a str,
}

/// The rows of the page's table of crates that stay behind.
pub(crate) fn pinned(page: &str) -> Vec<Pinned<'_>> {
    let table = page.lines().skip_while(|line| !line.starts_with("| crate | stays at |")).skip(2);
    let rows = table.map_while(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    let rows = rows.filter_map(|row| {
        let (name, rest) = row.split_once("` | ")?;
        let (version, reason) = rest.split_once(" | ")?;
        Some(Pinned { name, version, reason })
    });
    rows.collect()
}

/// The rows of `cargo update --dry-run --verbose` about direct dependencies that are behind.
fn behind(printed: &str, direct: &[String]) -> Vec<Behind> {
    let rows = printed.lines().filter_map(row);
    rows.filter(|row| direct.contains(&row.name) && row.newest != row.locked).collect()
}

/// `Updating NAME vA -> vB (available: vC)` or `Unchanged NAME vA (available: vC)`, where the end may be missing.
fn row(line: &str) -> Option<Behind> {
    let mut words = line.split_whitespace();
    if !["Updating", "Unchanged"].contains(&words.next()?) {
        return None;
    }
    let version = |word: &str| {
        let word = word.trim_end_matches([')', ',']).strip_prefix('v')?;
        Some(word.split('+').next().unwrap_or(word).to_owned())
    };
    let name = words.next()?.to_owned();
    let locked = version(words.next()?)?;
    let rest: Vec<&str> = words.collect();
    let after = |mark: &str| {
        let position = rest.iter().position(|word| *word == mark)?;
        version(rest.get(position + 1)?)
    };
    let allowed = after("->").unwrap_or_else(|| locked.clone());
    let newest = after("(available:").unwrap_or_else(|| allowed.clone());
    Some(Behind { name, locked, allowed, newest })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "    Updating crates.io index
     Locking 3 packages to latest Rust 1.89 compatible versions
    Updating jiff v0.2.43 -> v0.2.46 (available: v1.0.2)
   Unchanged sha2 v0.10.9 (available: v0.11.1, requires Rust 1.90)
    Updating zstd-sys v2.1.2+zstd.1.5.7 -> v2.1.3+zstd.1.5.7
      Adding other v1.0.0
   Unchanged same v1.0.0
    Updating deep v1.0.0 -> v1.0.1
note: to see how you depend on a package, run `cargo tree`
";

    #[test]
    fn crates_that_stay_behind_are_read_from_the_page() {
        let page = "| `other` | 1 | a |\n\n| crate | stays at | because |\n|---|---|---|\n| `x` | 0.2 | y needs it |\n\n| `z` | 3 | no |\n";
        assert_eq!(pinned(page), [Pinned { name: "x", version: "0.2", reason: "y needs it" }]);
        assert!(pinned("").is_empty());
    }

    #[test]
    fn direct_dependencies_that_are_behind_are_listed() {
        let direct = ["jiff", "sha2", "zstd-sys", "same"].map(str::to_owned);
        let row = |name: &str, locked: &str, allowed: &str, newest: &str| {
            let [name, locked, allowed, newest] = [name, locked, allowed, newest].map(str::to_owned);
            Behind { name, locked, allowed, newest }
        };
        let expected = [
            row("jiff", "0.2.43", "0.2.46", "1.0.2"),
            row("sha2", "0.10.9", "0.10.9", "0.11.1"),
            row("zstd-sys", "2.1.2", "2.1.3", "2.1.3"),
        ];
        assert_eq!(behind(PRINTED, &direct), expected);
    }
}
