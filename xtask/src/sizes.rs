//! Files and functions that a person can hold in mind.

use crate::repository::{Judgment, Repository, TextFile, judge};
use crate::rust_text::{functions, product_sources};

/// Most lines of a file of code, tests included.
const FILE_LINES_MAX: usize = 500;

/// Most lines of a function outside tests.
const FUNCTION_LINES_MAX: usize = 70;

/// Endings of files of code.
const CODE: &[&str] = &[".rs", ".js", ".ts", ".css", ".py", ".sh"];

/// Generated files, which are not read from top to bottom.
const GENERATED: &str = "/generated.ts";

/// Measures files and functions.
pub(crate) fn check(repository: &Repository) -> Judgment {
    let code: Vec<&TextFile> =
        repository.files.iter().filter(|file| CODE.iter().any(|end| file.path.ends_with(end))).collect();
    let code: Vec<&TextFile> = code.into_iter().filter(|file| !file.path.ends_with(GENERATED)).collect();
    let mut lines: Vec<usize> = code.iter().map(|file| file.text.lines().count()).collect();
    let mut violations: Vec<String> = std::iter::zip(&code, &lines)
        .filter(|&(_, &lines)| lines > FILE_LINES_MAX)
        .map(|(file, lines)| format!("{} has {lines} lines; at most {FILE_LINES_MAX}", file.path))
        .collect();
    for file in product_sources(repository) {
        let long = functions(&file.text).into_iter().filter(|function| function.lines > FUNCTION_LINES_MAX);
        violations.extend(long.map(|function| {
            format!(
                "{}:{}: `{}` has {} lines; at most {FUNCTION_LINES_MAX}",
                file.path, function.first_line, function.name, function.lines
            )
        }));
    }
    lines.sort_unstable();
    let median = lines.get(lines.len() / 2).copied().unwrap_or(0);
    judge(violations, || format!("{} files of code, median {median} lines", lines.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_fails() {
        let text = |lines: usize| "//\n".repeat(lines);
        assert!(check(&Repository::from_files(&[("crates/a/src/lib.rs", &text(500))])).is_ok());
        let found = check(&Repository::from_files(&[("crates/a/tests/it/main.rs", &text(501))])).unwrap_err();
        assert_eq!(found, ["crates/a/tests/it/main.rs has 501 lines; at most 500"]);
    }

    #[test]
    fn a_long_function_fails_unless_it_is_a_test() {
        let function = |lines: usize| format!("fn f() {{\n{}}}\n", "x;\n".repeat(lines - 2));
        assert!(check(&Repository::from_files(&[("crates/a/src/lib.rs", &function(70))])).is_ok());
        let found = check(&Repository::from_files(&[("crates/a/src/lib.rs", &function(71))])).unwrap_err();
        assert_eq!(found, ["crates/a/src/lib.rs:1: `f` has 71 lines; at most 70"]);
        let test = format!("#[test]\n{}", function(71));
        assert!(check(&Repository::from_files(&[("crates/a/src/lib.rs", &test)])).is_ok());
    }
}
