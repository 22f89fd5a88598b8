//! The table of limits in the documents, from comments at the constants:
//!
//! ```text
//! // Limit: WHAT IS LIMITED | WHAT HAPPENS BEYOND IT
//! const NAME: usize = 16 << 20;
//! ```
//!
//! The value is that of the constant; constants with `BYTES` in their name, and limits that begin with "bytes", are sizes.

use crate::repository::{Repository, TextFile};
use std::fmt::Write;
use std::io;

/// The page with the table, from the root.
pub(crate) const PAGE: &str = "docs/limits.md";

const COMMENT: &str = "// Limit: ";
const OPEN: &str =
    "<!-- Written by `cargo xtask docs` from the comments at the constants; do not edit. -->\n";
const CLOSE: &str = "<!-- End of the table. -->";

/// The page with its table renewed.
///
/// # Errors
/// When the page has no table, or a comment is not followed by a constant whose value can be read.
pub(crate) fn page(repository: &Repository) -> io::Result<String> {
    replace_table(repository, PAGE, OPEN, &table(repository).map_err(io::Error::other)?)
}

/// A page with the text between `open` and the end of the table replaced.
///
/// # Errors
/// When the page has no such table.
pub(crate) fn replace_table(
    repository: &Repository,
    path: &str,
    open: &str,
    table: &str,
) -> io::Result<String> {
    let page = repository.text(path).unwrap_or_default();
    let split = page.split_once(open).and_then(|(before, rest)| Some((before, rest.split_once(CLOSE)?.1)));
    let (before, after) = split.ok_or_else(|| io::Error::other(format!("{path} has no generated table")))?;
    Ok(format!("{before}{open}{table}{CLOSE}{after}"))
}

fn table(repository: &Repository) -> Result<String, String> {
    let mut out = "| area | what | limit | beyond it |\n|---|---|---|---|\n".to_owned();
    for file in repository.files.iter().filter(|file| file.path.starts_with("crates/")) {
        let area = file.path.split('/').nth(1).unwrap_or_default();
        for (index, line) in file.text.lines().enumerate() {
            let Some(row) = line.trim_start().strip_prefix(COMMENT) else { continue };
            let failed = |why: &str| format!("{}:{}: {why}", file.path, index + 1);
            let (what, beyond) = row.split_once(" | ").ok_or_else(|| failed("no ` | ` in the limit"))?;
            let limit = limit(file, index, what).ok_or_else(|| failed("no constant with a value follows"))?;
            let _ = writeln!(out, "| {area} | {what} | {limit} | {beyond} |");
        }
    }
    Ok(out)
}

/// The value of the constant below the comment at `index`, as people write it.
fn limit(file: &TextFile, index: usize, what: &str) -> Option<String> {
    let mut below = file.text.lines().skip(index + 1).map(str::trim);
    let declaration = below.find(|line| !line.starts_with("//") && !line.starts_with("#["))?;
    let (name, expression) = declaration.split_once(" = ")?;
    let expression = expression.trim_end_matches(';');
    // Tests have smaller limits.
    let expression =
        expression.rsplit_once(" else { ").map_or(expression, |(_, real)| real.trim_end_matches(" }"));
    if expression.contains('e') {
        return Some(expression.to_owned());
    }
    let value = evaluate(expression)?;
    Some(if name.contains("BYTES") || what.starts_with("bytes") { size(value) } else { grouped(value) })
}

/// A number, a shift, or a product of numbers.
fn evaluate(expression: &str) -> Option<u64> {
    let number = |text: &str| text.trim().replace('_', "").parse::<u64>().ok();
    if let Some((value, bits)) = expression.split_once("<<") {
        return number(value)?.checked_shl(u32::try_from(number(bits)?).ok()?);
    }
    expression.split('*').map(number).try_fold(1_u64, |product, factor| product.checked_mul(factor?))
}

fn size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.into_iter().find(|(_, bits)| bytes >= 1 << bits && bytes.is_multiple_of(1 << bits));
    unit.map_or_else(|| grouped(bytes), |(name, bits)| format!("{} {name}", grouped(bytes >> bits)))
}

/// `200,000`
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_value_of_the_constant() {
        let code = "\n    // Limit: bytes of a line | skipped\n    /// Longest.\n    const MAX: u64 = if cfg!(test) { 9 } else { 64 << 10 };\n// Limit: work | less exact\nconst WORK: f64 = 2.5e8;\n";
        let page = format!("# Limits\n\n{OPEN}old\n{CLOSE}\n");
        let repository = Repository::from_files(&[("crates/traces/x.rs", code), (PAGE, &page)]);
        let page = super::page(&repository).unwrap();
        assert!(page.contains("| traces | bytes of a line | 64 KiB | skipped |\n"), "{page}");
        assert!(page.contains("| traces | work | 2.5e8 | less exact |\n"), "{page}");
        assert!(!page.contains("old"));
    }

    #[test]
    fn a_comment_without_a_constant_fails() {
        let page = format!("{OPEN}{CLOSE}");
        let page_of =
            |code: &str| super::page(&Repository::from_files(&[("crates/a/x.rs", code), (PAGE, &page)]));
        assert!(page_of("// Limit: a | b\nfn nothing() {}\n").is_err());
        assert!(page_of("// Limit: a\nconst A: u32 = 1;\n").is_err());
    }

    #[test]
    fn values_are_printed_in_readable_units() {
        assert_eq!(
            (size(1 << 20), size(1_000), grouped(1_440)),
            ("1 MiB".into(), "1,000".into(), "1,440".into())
        );
        assert_eq!(evaluate("64 * 1024"), Some(65_536));
    }
}
