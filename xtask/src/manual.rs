//! Checks that the manual explains everything that the code lists: formats, methods, losses, dependencies.

use crate::outdated::pinned;
use crate::repository::{Judgment, Repository, judge};

const LOSSES: &str = "crates/base/model/src/losses.rs";
const METHODS: &str = "crates/traces/diagnose/src/diagnose/methods/";
const CHANGE_METHODS: &str = "crates/metrics/questions/src/methods.rs";
const ASSEMBLY_PAGE: &str = "docs/manual/assembly.md";

pub(crate) const DEPENDENCIES_PAGE: &str = "docs/dependencies.md";

/// The one command that runs every test; README and CI use the same.
const TEST_COMMAND: &str = "cargo xtask test";

/// Compares lists in the code with pages.
pub(crate) fn check(repository: &Repository) -> Judgment {
    let mut violations = Vec::new();
    let mut explained = 0;
    let mut demand = |page: &str, what: &str, terms: Vec<String>| {
        if terms.is_empty() {
            violations.push(format!("no {what} in the code to compare with {page}; has the code moved?"));
        }
        explained += terms.len();
        let text = repository.text(page).unwrap_or_default();
        let missing = terms.into_iter().filter(|term| !text.contains(&format!("`{term}`")));
        violations.extend(missing.map(|term| format!("{page} does not explain {what} `{term}`")));
    };
    demand(ASSEMBLY_PAGE, "the loss", losses(repository.text(LOSSES).unwrap_or_default()));
    demand(
        DEPENDENCIES_PAGE,
        "the dependency",
        dependencies(repository.text("Cargo.toml").unwrap_or_default()),
    );
    violations.extend(missing_pages(repository));
    violations.extend(other_test_commands(repository));
    violations.extend(raised_after_all(repository));
    judge(violations, || format!("{explained} losses and dependencies explained"))
}

/// Names of `Loss::ALL`: the first text of each row `("name", "phrase")`.
fn losses(code: &str) -> Vec<String> {
    let rows = code.split("(\"").skip(1).filter_map(|rest| rest.split_once('"'));
    let rows = rows.filter(|(_, after)| after.trim_start().starts_with(','));
    rows.map(|(name, _)| name.to_owned()).collect()
}

/// Dependencies from outside, of `[workspace.dependencies]`.
pub(crate) fn dependencies(manifest: &str) -> Vec<String> {
    let lines = manifest.lines().skip_while(|line| line.trim() != "[workspace.dependencies]").skip(1);
    let table = lines.take_while(|line| !line.starts_with('['));
    let names = table.filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim().to_owned());
    names.filter(|name| !name.starts_with("laggard-") && !name.starts_with('#')).collect()
}

/// Pages that rows of formats and methods name.
fn missing_pages(repository: &Repository) -> Vec<String> {
    let lists = repository.files.iter().filter(|file| {
        (file.path.starts_with("crates/traces/formats/src/") && file.path.ends_with(".rs"))
            || file.path.starts_with(METHODS)
            || file.path == CHANGE_METHODS
    });
    let named = lists.flat_map(|file| {
        let rows = file.text.split("manual: \"").skip(1).filter_map(|rest| rest.split_once('"'));
        rows.map(|(page, _)| (page, &file.path))
    });
    let missing = named.filter(|(page, _)| !repository.has(page));
    missing.map(|(page, path)| format!("{path} names the page {page}, which does not exist")).collect()
}

/// Crates that stay behind according to the page, although the manifest has another version of them.
fn raised_after_all(repository: &Repository) -> Vec<String> {
    let manifest = repository.text("Cargo.toml").unwrap_or_default();
    let is_pinned = |name: &str, version: &str| {
        let prefix = format!("{name} = ");
        let row = manifest.lines().find(|line| line.starts_with(&prefix));
        row.is_some_and(|row| row.contains(&format!("\"{version}\"")))
    };
    let rows = pinned(repository.text(DEPENDENCIES_PAGE).unwrap_or_default()).into_iter();
    let raised = rows.filter(|row| !is_pinned(row.name, row.version));
    let says = |name, version| {
        format!("{DEPENDENCIES_PAGE} says that `{name}` stays at {version}; Cargo.toml does not")
    };
    raised.map(|row| says(row.name, row.version)).collect()
}

fn other_test_commands(repository: &Repository) -> Vec<String> {
    let says_it = |path: &&str| !repository.text(path).unwrap_or_default().contains(TEST_COMMAND);
    let silent = ["README.md", ".ci/run"].into_iter().filter(says_it);
    silent.map(|path| format!("{path} does not run the tests by `{TEST_COMMAND}`")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSS_ROWS: &str =
        "Loss::A => (\"bad_record\", \"records\"),\nLoss::B => {\n(\"cut_off\", \"ends\")\n}";
    const MANIFEST: &str =
        "[workspace.dependencies]\nlaggard-model = { path = \"x\" }\nserde = \"1\"\n\n[profile.dev]\nx = 1\n";

    fn repository<'a>(losses: &'a str, dependencies: &'a str) -> Repository {
        Repository::from_files(&[
            (LOSSES, LOSS_ROWS),
            ("Cargo.toml", MANIFEST),
            (ASSEMBLY_PAGE, losses),
            ("docs/manual/methods/clouddiag.md", ""),
            (DEPENDENCIES_PAGE, dependencies),
            (METHODS, "manual: \"docs/manual/methods/clouddiag.md\","),
            ("README.md", TEST_COMMAND),
            (".ci/run", TEST_COMMAND),
        ])
    }

    #[test]
    fn lists_are_read_from_the_code() {
        assert_eq!(losses(LOSS_ROWS), ["bad_record", "cut_off"]);
        assert_eq!(dependencies(MANIFEST), ["serde"]);
    }

    #[test]
    fn every_listed_name_needs_an_explanation() {
        let good = repository("`bad_record` `cut_off`", "| `serde` |");
        assert_eq!(check(&good), Ok("3 losses and dependencies explained".to_owned()));
        assert_eq!(check(&repository("`bad_record`", "`serde`")).unwrap_err().len(), 1);
        assert_eq!(check(&repository("`bad_record` `cut_off`", "")).unwrap_err().len(), 1);
    }

    #[test]
    fn a_crate_that_stays_behind_has_that_version() {
        let table = |row: &str| format!("`serde`\n| crate | stays at | because |\n|---|---|---|\n{row}\n");
        let found = |row: &str| raised_after_all(&repository("", &table(row))).len();
        assert_eq!([found(""), found("| `serde` | 1 | x |"), found("| `serde` | 0.9 | x |")], [0, 0, 1]);
    }

    #[test]
    fn pages_named_by_rows_must_exist() {
        let text = "manual: \"docs/manual/formats/none.md\",";
        let repository = Repository::from_files(&[("crates/traces/formats/src/a.rs", text)]);
        assert_eq!(missing_pages(&repository).len(), 1);
    }

    #[test]
    fn one_command_runs_the_tests() {
        assert_eq!(other_test_commands(&Repository::from_files(&[("README.md", TEST_COMMAND)])).len(), 1);
    }
}
