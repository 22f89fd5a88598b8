//! Pure crates see no file, no clock, no network, no thread pool they were not handed, and do not print.

use crate::repository::{Judgment, Repository, TextFile, judge};
use crate::rust_text::{line_of, product_sources, word_offsets};

/// Crates whose answers depend on their arguments only.
const PURE: &[&str] = &[
    "base/model",
    "base/numeric",
    "traces/assembly",
    "traces/localize",
    "metrics/samples",
    "metrics/changes",
    "metrics/capacity",
    "kernel/graph",
    "kernel/align",
    "app/report",
];

/// Paths of the standard library and crates that a pure crate does not name.
const FORBIDDEN: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "std::time::SystemTime",
    "std::time::Instant",
    "SystemTime",
    "Instant",
    "tokio",
    "rand",
    "println!",
    "print!",
    "eprintln!",
    "eprint!",
];

/// An exception with its reason.
struct Exception {
    path: &'static str,
    what: &'static str,
    #[expect(dead_code, reason = "documents the exception")]
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[Exception {
    path: "crates/base/numeric/src/robust_pca/stripes.rs",
    what: "std::thread",
    reason: "scoped threads over stripes of rows; the caller says how many, and no bit of the answer depends on it",
}];

/// Scans the sources of the pure crates.
pub(crate) fn violations(repository: &Repository) -> Vec<String> {
    let sources = product_sources(repository);
    let pure =
        |file: &&TextFile| PURE.iter().any(|name| file.path.starts_with(&format!("crates/{name}/src/")));
    sources.iter().filter(pure).flat_map(violations_in).collect()
}

/// The rule as a step.
pub(crate) fn check(repository: &Repository) -> Judgment {
    judge(violations(repository), || {
        format!("{} crates without files, clocks, network or printing", PURE.len())
    })
}

fn violations_in(file: &TextFile) -> Vec<String> {
    let mut out = Vec::new();
    for what in FORBIDDEN {
        if EXCEPTIONS.iter().any(|known| known.path == file.path && known.what == *what) {
            continue;
        }
        let offsets = word_offsets(&file.text, what).chain(grouped_imports(&file.text, what));
        out.extend(
            offsets.map(|offset| {
                format!("{}:{}: {what} in a pure crate", file.path, line_of(&file.text, offset))
            }),
        );
    }
    out
}

/// `use std::{fs, io};` names `std::fs` as well.
fn grouped_imports<'a>(text: &'a str, what: &'a str) -> impl Iterator<Item = usize> + 'a {
    let name = what.strip_prefix("std::").filter(|name| !name.contains("::"));
    text.match_indices("use std::{").filter_map(move |(offset, _)| {
        let group = &text[offset..offset + text[offset..].find(';').unwrap_or(0)];
        word_offsets(group, name?).next().map(|inside| offset + inside)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations_of(path: &str, text: &str) -> usize {
        violations(&Repository::from_files(&[(path, text)])).len()
    }

    #[test]
    fn files_clocks_threads_and_printing_fail_in_a_pure_crate() {
        for text in [
            "use std::fs;",
            "use std::{fs, io};",
            "fn f() { let t = std::time::Instant::now(); }",
            "fn f() { std::thread::spawn(g); }",
            "fn f() { println!(); }",
            "use rand::Rng;",
        ] {
            assert!(violations_of("crates/base/numeric/src/a.rs", text) > 0, "{text}");
            assert_eq!(violations_of("crates/app/cli/src/a.rs", text), 0, "{text}");
        }
    }

    #[test]
    fn tests_comments_and_similar_words_pass() {
        let text = "// std::fs\n#[cfg(test)]\nmod tests { use std::fs; }\nuse std::io; fn operand() {}";
        assert_eq!(violations_of("crates/app/report/src/a.rs", text), 0);
    }

    #[test]
    fn an_exception_covers_one_file_and_one_rule() {
        let threads = "use std::thread;";
        let excepted = "crates/base/numeric/src/robust_pca/stripes.rs";
        assert_eq!(violations_of(excepted, threads), 0);
        assert_eq!(violations_of(excepted, "use std::fs;"), 1);
        assert_eq!(violations_of("crates/traces/localize/src/gate.rs", threads), 1);
    }
}
