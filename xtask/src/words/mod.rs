//! Words that must not be in the repository: unfinished work, panics, meaningless names, paths of this machine.

mod names;
mod spelling;

use crate::repository::{Judgment, Repository, TextFile, is_sample, judge};
use crate::rust_text::{code_only, line_of, product_sources, word_offsets};
use std::path::Path;

/// Never in Rust code, tests included. Put together so that this file may be searched as well.
const UNFINISHED: &[&str] =
    &[concat!("to", "do!"), concat!("unimple", "mented!"), concat!("db", "g!"), concat!("#[", "ignore")];

/// Never in any text.
const NOTES: &[&str] = &[concat!("FIX", "ME"), concat!("XX", "X")];

/// Searches all files.
pub(crate) fn check(repository: &Repository) -> Judgment {
    let mut violations = text_violations(repository);
    match names::Words::parse(names::LIST) {
        Ok(list) => violations.extend(names::check(repository, &list)),
        Err(error) => violations.push(error),
    }
    match spelling::Spelling::parse(spelling::LIST) {
        Ok(list) => violations.extend(spelling::check(repository, &list)),
        Err(error) => violations.push(error),
    }
    judge(violations, || format!("{} text files", repository.files.len()))
}

/// Unfinished work, panics, paths and registries of a machine.
fn text_violations(repository: &Repository) -> Vec<String> {
    let mut violations = Vec::new();
    for file in repository.files.iter().filter(|file| !is_sample(&file.path)) {
        violations.extend(occurrences(file, &file.text, NOTES));
        violations.extend(machine_paths(file, &repository.root));
        violations.extend(registries(file));
        if file.path.ends_with(".rs") {
            violations.extend(occurrences(file, &code_only(&file.text), UNFINISHED));
        }
    }
    for file in product_sources(repository) {
        violations.extend(occurrences(&file, &file.text, &[".unwrap()", ".unwrap_err()"]));
    }
    violations
}

fn occurrences(file: &TextFile, text: &str, words: &[&str]) -> Vec<String> {
    let hits = words.iter().flat_map(|word| word_offsets(text, word).map(move |offset| (word, offset)));
    hits.map(|(word, offset)| format!("{}:{}: `{word}`", file.path, line_of(text, offset))).collect()
}

/// Homes of users, and the folder of this very checkout.
fn machine_paths(file: &TextFile, root: &Path) -> Vec<String> {
    let own = format!("{}/", root.display());
    let parent_folder = root.parent().filter(|parent| is_particular(parent));
    let parent_folder = parent_folder.map(|parent| format!("{}/", parent.display()));
    let known =
        [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!(":\\Us", "ers")];
    let mut prefixes = known.to_vec();
    if own.len() > 1 {
        prefixes.push(&own);
    }
    prefixes.extend(parent_folder.as_deref());
    let hits = prefixes.iter().flat_map(|prefix| file.text.match_indices(prefix));
    hits.map(|(offset, prefix)| {
        format!("{}:{}: path of a machine, {prefix}", file.path, line_of(&file.text, offset))
    })
    .collect()
}

/// Folders that every machine has may be in the text.
fn is_particular(folder: &Path) -> bool {
    !["", "/", "/tmp", "/var", "/opt", "/srv", "/usr", "/mnt", "/home"]
        .iter()
        .any(|known| folder == Path::new(known))
}

/// Packages come from the public registry; which mirror a machine uses is its own business.
fn registries(file: &TextFile) -> Vec<String> {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let offends = |line: &str| match name {
        "Cargo.lock" => {
            let source = line.trim().strip_prefix("source = ");
            source.is_some_and(|source| source != "\"registry+https://github.com/rust-lang/crates.io-index\"")
        }
        "config.toml" => {
            ["[source", "[registr", "registry ="].iter().any(|start| line.trim().starts_with(start))
        }
        ".npmrc" => {
            let key = line.split('=').next().unwrap_or_default().trim();
            key == "registry" || key.ends_with(":registry") || key.starts_with("//")
        }
        "package-lock.json" => line.trim().starts_with("\"resolved\":"),
        "pip.conf" => true,
        _ => false,
    };
    let lines = file.text.lines().enumerate().filter(|(_, line)| offends(line));
    lines.map(|(index, _)| format!("{}:{}: names a package registry", file.path, index + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(path: &str, text: &str) -> usize {
        text_violations(&Repository::from_files(&[(path, text)])).len()
    }

    #[test]
    fn unfinished_work_fails_even_in_tests() {
        for word in UNFINISHED {
            let end = if word.ends_with('!') { "();" } else { "]" };
            assert_eq!(
                violations("crates/a/tests/it/b.rs", &format!("fn f() {{ {word}{end} }}")),
                1,
                "{word}"
            );
        }
        for note in NOTES {
            assert_eq!(violations("docs/a.md", &format!("see {note}: later")), 1, "{note}");
        }
    }

    #[test]
    fn unwrap_fails_outside_tests_only() {
        assert_eq!(violations("crates/a/src/b.rs", "fn f() { g().unwrap(); }"), 1);
        assert_eq!(violations("crates/a/src/b.rs", "fn f() { g().unwrap_or(1); }"), 0);
        assert_eq!(violations("crates/a/src/b.rs", "/// `x.unwrap()`\n#[test]\nfn f() { g().unwrap(); }"), 0);
        assert_eq!(violations("crates/a/tests/it/b.rs", "fn f() { g().unwrap(); }"), 0);
    }

    #[test]
    fn paths_of_machines_fail() {
        assert_eq!(violations("README.md", concat!("cd /ho", "me/somebody/laggard")), 1);
        let mut repository =
            Repository::from_files(&[("README.md", "see /builds/seven/laggard/x and /builds/seven/y")]);
        repository.root = "/builds/seven/laggard".into();
        assert_eq!(text_violations(&repository).len(), 3);
        repository.root = "/tmp/laggard".into();
        assert!(text_violations(&repository).is_empty());
    }

    #[test]
    fn registries_of_a_machine_fail() {
        let lock = |source: &str| format!("[[package]]\nsource = \"{source}\"\n");
        assert_eq!(
            violations("Cargo.lock", &lock("registry+https://github.com/rust-lang/crates.io-index")),
            0
        );
        assert_eq!(violations("Cargo.lock", &lock("sparse+https://mirror.example/index/")), 1);
        assert_eq!(violations(".cargo/config.toml", "[source.crates-io]"), 1);
        assert_eq!(violations("web/.npmrc", "omit-lockfile-registry-resolved=true"), 0);
        assert_eq!(violations("web/.npmrc", "registry=https://mirror.example/"), 1);
        assert_eq!(violations("web/.npmrc", "//mirror.example/:_authToken=1"), 1);
        assert_eq!(
            violations("web/package-lock.json", "  \"resolved\": \"https://mirror.example/a.tgz\","),
            1
        );
    }

    #[test]
    fn samples_are_exempt() {
        assert_eq!(violations("crates/traces/formats/tests/samples/a.json", NOTES[0]), 0);
    }
}
