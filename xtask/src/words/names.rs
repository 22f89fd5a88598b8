//! Names on the list of `xtask/words.txt`, constructors called `of_…`, and type names that many files define.
//!
//! Exceptions that are no longer needed fail too, so the list only shrinks.

use crate::repository::{Repository, TextFile, is_sample};
use crate::rust_text::{code_only, line_of, product_sources, word_offsets};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Names that are not allowed, with what to write instead.
pub(super) const LIST: &str = include_str!("../../words.txt");

/// Most files of the product that may define a type of one name.
const SAME_NAME_MAX: usize = 3;

/// Types of an interface that every implementation names alike.
const ASSOCIATED: &[&str] =
    &["Output", "Partial", "Error", "Input", "Item", "Err", "Settings", "Value", "IntoIter"];

/// The kind of name that a row of the list applies to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A word of a type's, a file's or a folder's name.
    Any,
    /// A type's whole name.
    Type,
    /// The last word of a type's name.
    Last,
    /// A file's or folder's whole name, without ending.
    File,
    /// A function's whole name.
    Function,
    /// A word of a test function's name.
    Test,
    /// The whole name of a variable bound by `let` or `for`.
    Variable,
}

/// A row of the list.
#[derive(Debug)]
struct Row<'a> {
    kind: Kind,
    name: &'a str,
    instead: &'a str,
}

/// The whole list.
#[derive(Debug, Default)]
pub(super) struct Words<'a> {
    rows: Vec<Row<'a>>,
    allowed: Vec<Allowed<'a>>,
    /// Names of types that more files may define than others, and how many.
    limits: Vec<(&'a str, usize)>,
}

/// An exception: a name in a file or below a folder.
#[derive(Debug)]
struct Allowed<'a> {
    path: &'a str,
    name: &'a str,
    /// Whether it was needed.
    used: Cell<bool>,
}

impl<'a> Words<'a> {
    /// Reads the list.
    ///
    /// # Errors
    /// The first line that is no row.
    pub(super) fn parse(text: &'a str) -> Result<Words<'a>, String> {
        let mut words = Words::default();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let fields: Vec<&str> = line.split('|').map(str::trim).collect();
            let kind = match fields[..] {
                ["allow", path, name, _] => {
                    words.allowed.push(Allowed { path, name, used: Cell::new(false) });
                    continue;
                }
                ["limit", name, files, _] => {
                    let files =
                        files.parse().map_err(|_| format!("xtask/words.txt:{}: no number", index + 1))?;
                    words.limits.push((name, files));
                    continue;
                }
                ["any", _, _] => Kind::Any,
                ["type", _, _] => Kind::Type,
                ["last", _, _] => Kind::Last,
                ["file", _, _] => Kind::File,
                ["fn", _, _] => Kind::Function,
                ["test", _, _] => Kind::Test,
                ["let", _, _] => Kind::Variable,
                _ => return Err(format!("xtask/words.txt:{}: not a row: {line}", index + 1)),
            };
            words.rows.push(Row { kind, name: fields[1], instead: fields[2] });
        }
        Ok(words)
    }

    /// The row that forbids a type's name.
    fn type_row(&self, name: &str) -> Option<&Row<'a>> {
        let parts = name_words(name);
        self.rows.iter().find(|row| match row.kind {
            Kind::Any => has_word(&parts, row.name),
            Kind::Type => row.name == name,
            Kind::Last => parts.last().is_some_and(|last| last.eq_ignore_ascii_case(row.name)),
            Kind::File | Kind::Function | Kind::Test | Kind::Variable => false,
        })
    }

    /// The row that forbids the name of a file or folder.
    fn file_row(&self, stem: &str) -> Option<&Row<'a>> {
        let parts = name_words(stem);
        self.rows.iter().find(|row| match row.kind {
            Kind::Any => has_word(&parts, row.name),
            Kind::File => row.name == stem,
            Kind::Type | Kind::Last | Kind::Function | Kind::Test | Kind::Variable => false,
        })
    }

    fn function_row(&self, name: &str) -> Option<&Row<'a>> {
        self.rows.iter().find(|row| row.kind == Kind::Function && row.name == name)
    }

    /// The row that forbids the name of a test.
    fn test_row(&self, name: &str) -> Option<&Row<'a>> {
        let parts = name_words(name);
        self.rows.iter().find(|row| row.kind == Kind::Test && has_word(&parts, row.name))
    }

    /// The row that forbids the name of a local variable.
    fn variable_row(&self, name: &str) -> Option<&Row<'a>> {
        self.rows.iter().find(|row| row.kind == Kind::Variable && row.name == name)
    }

    fn allows(&self, path: &str, name: &str) -> bool {
        let matching = self.allowed.iter().filter(|known| known.name == name && path.starts_with(known.path));
        matching.map(|known| known.used.set(true)).count() > 0
    }

    /// How many files may define a type of this name.
    fn limit(&self, name: &str) -> usize {
        self.limits.iter().find(|(known, _)| *known == name).map_or(SAME_NAME_MAX, |(_, files)| *files)
    }

    /// Exceptions that nothing needs any more.
    fn unused(&self) -> Vec<String> {
        let unused = self.allowed.iter().filter(|known| !known.used.get());
        unused
            .map(|known| format!("xtask/words.txt allows `{}` in {} for nothing", known.name, known.path))
            .collect()
    }
}

/// Whether one of the words is this; `NotFound` is a status of HTTP and of files.
fn has_word(parts: &[String], word: &str) -> bool {
    let is_word = |part: &String| part.eq_ignore_ascii_case(word);
    let negated = |index: usize| index > 0 && parts[index - 1] == "not";
    (0..parts.len()).any(|index| is_word(&parts[index]) && !negated(index))
}

/// The words of a snake-case, kebab-case or camel-case name, in lower case.
fn name_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for character in name.chars() {
        if !character.is_alphanumeric() || character.is_uppercase() {
            words.push(String::new());
        }
        let lower = character.to_lowercase().filter(|letter| letter.is_alphanumeric());
        if let Some(word) = words.last_mut() {
            word.extend(lower);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Everything on the list that occurs, and constructors called `of_…`.
pub(super) fn check(repository: &Repository, words: &Words<'_>) -> Vec<String> {
    let mut violations = Vec::new();
    for file in repository.files.iter().filter(|file| !is_sample(&file.path) && is_code(&file.path)) {
        violations.extend(path_violations(&file.path, words));
        if file.path.ends_with(".rs") {
            let code = code_only(&file.text);
            violations.extend(type_violations(file, &code, RUST_ITEMS, words));
            violations.extend(function_violations(file, &code, words));
            violations.extend(test_violations(file, &code, words));
            violations.extend(variable_violations(file, &code, words));
        } else {
            violations.extend(type_violations(file, &file.text, SCRIPT_ITEMS, words));
        }
    }
    violations.extend(words.unused());
    violations.extend(repeated(repository, words));
    violations
}

const RUST_ITEMS: &[&str] = &["struct ", "enum ", "trait ", "type ", "union "];
const SCRIPT_ITEMS: &[&str] = &["export interface ", "export type ", "\ninterface ", "\ntype ", "class "];

fn is_code(path: &str) -> bool {
    [".rs", ".ts", ".svelte", ".mjs", ".py"].iter().any(|end| path.ends_with(end))
}

fn path_violations(path: &str, words: &Words<'_>) -> Vec<String> {
    let stems = path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    let rows = stems.filter_map(|stem| words.file_row(stem).map(|row| (stem, row)));
    let denied = rows.filter(|(_, row)| !words.allows(path, row.name));
    denied.map(|(stem, row)| format!("{path}: file name `{stem}`; better: {}", row.instead)).collect()
}

fn type_violations(file: &TextFile, code: &str, items: &[&str], words: &Words<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for (offset, name) in items.iter().flat_map(|item| names_after(code, item)) {
        let denied = words.type_row(name).filter(|row| !words.allows(&file.path, row.name));
        if let Some(row) = denied {
            let line = line_of(code, offset);
            out.push(format!("{}:{line}: type `{name}`; better: {}", file.path, row.instead));
        }
    }
    out
}

/// Names that follow a keyword, with the byte they start at.
fn names_after<'a>(code: &'a str, item: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    word_offsets(code, item).filter_map(move |offset| {
        let name = identifier(&code[offset + item.len()..]);
        name.starts_with(char::is_uppercase).then_some((offset + item.len(), name))
    })
}

fn function_violations(file: &TextFile, code: &str, words: &Words<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for offset in word_offsets(code, "fn ") {
        let name = identifier(&code[offset + 3..]);
        let row = words.function_row(name).filter(|row| !words.allows(&file.path, row.name));
        if let Some(row) = row {
            let line = line_of(code, offset);
            out.push(format!("{}:{line}: function `{name}`; better: {}", file.path, row.instead));
        }
        if name.starts_with("of_") && is_constructor(code, offset) && !words.allows(&file.path, name) {
            let line = line_of(code, offset);
            let better = name.replacen("of_", "from_", 1);
            out.push(format!("{}:{line}: constructor `{name}`; better: {better}", file.path));
        }
    }
    out
}

/// Names of tests with a word on the list.
fn test_violations(file: &TextFile, code: &str, words: &Words<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for offset in TEST_ATTRIBUTES.iter().flat_map(|attribute| word_offsets(code, attribute)) {
        let Some(function) = word_offsets(&code[offset..], "fn ").next() else { continue };
        let name = identifier(&code[offset + function + 3..]);
        let row = words.test_row(name).filter(|row| !words.allows(&file.path, row.name));
        if let Some(row) = row {
            let line = line_of(code, offset + function);
            let Row { name: word, instead, .. } = row;
            out.push(format!("{}:{line}: test `{name}` has the word `{word}`; better: {instead}", file.path));
        }
    }
    out
}

/// Keywords that bind variables.
const VARIABLE_KEYWORDS: &[&str] = &["let ", "for "];

/// Starts of the attributes of tests.
const TEST_ATTRIBUTES: &[&str] = &["#[test]", "#[tokio::test"];

/// Variables on the list that `let` or `for` binds. Only the first of a tuple is looked at.
fn variable_violations(file: &TextFile, code: &str, words: &Words<'_>) -> Vec<String> {
    let mut out = Vec::new();
    let offsets = VARIABLE_KEYWORDS
        .iter()
        .flat_map(|keyword| word_offsets(code, keyword).map(|offset| (offset, offset + keyword.len())));
    for (offset, pattern) in offsets {
        let pattern = code[pattern..].trim_start_matches(['(', '&']);
        let name = identifier(pattern.strip_prefix("mut ").unwrap_or(pattern));
        let row = words.variable_row(name).filter(|row| !words.allows(&file.path, row.name));
        if let Some(row) = row {
            let line = line_of(code, offset);
            out.push(format!("{}:{line}: variable `{name}`; better: {}", file.path, row.instead));
        }
    }
    out
}

/// The identifier that a text starts with, possibly empty.
fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// A function inside a block that takes no `self` and returns its own type.
fn is_constructor(code: &str, offset: usize) -> bool {
    let line_start = code[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    if !code[line_start..].starts_with(' ') {
        return false;
    }
    let signature = code[offset..].split(['{', ';']).next().unwrap_or_default();
    let receiver = word_offsets(signature, "self").next().is_some();
    let header = code[..offset].rfind("\nimpl").map(|header| &code[header..]);
    let own = header.and_then(|header| {
        let header = header.split('{').next()?;
        let target = header.rsplit(" for ").next()?.trim_start_matches("\nimpl").trim();
        let target = target.rsplit_once("> ").map_or(target, |(_, target)| target);
        target.split(['<', ' ']).next()
    });
    let returned = signature.split_once("->").map_or("", |(_, returned)| returned);
    let returns_own = own.is_some_and(|own| !own.is_empty() && word_offsets(returned, own).next().is_some());
    !receiver && (returns_own || word_offsets(returned, "Self").next().is_some())
}

/// Type names of the product that more than [`SAME_NAME_MAX`] files define.
fn repeated(repository: &Repository, words: &Words<'_>) -> Vec<String> {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in product_sources(repository).iter().filter(|file| is_product(&file.path)) {
        for (_, name) in RUST_ITEMS.iter().flat_map(|item| names_after(&file.text, item)) {
            if ASSOCIATED.contains(&name) {
                continue;
            }
            let known = files.entry(name.to_owned()).or_default();
            if known.last() != Some(&file.path) {
                known.push(file.path.clone());
            }
        }
    }
    let mut out = Vec::new();
    for (name, paths) in &files {
        let limit = words.limit(name);
        if paths.len() > limit {
            let paths = paths.join(", ");
            out.push(format!(
                "{} files define a type `{name}`, at most {limit} may: {paths}",
                files[name].len()
            ));
        }
    }
    for (name, limit) in &words.limits {
        let count = files.get(*name).map_or(0, Vec::len);
        if count < *limit {
            out.push(format!(
                "xtask/words.txt: {count} files define a type `{name}`, so lower its limit of {limit}"
            ));
        }
    }
    out
}

fn is_product(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(path: &str, text: &str) -> Vec<String> {
        let mut words = Words::parse(LIST).unwrap();
        words.allowed.retain(|known| known.path.ends_with("processors.rs") && known.path == path);
        words.limits.clear();
        check(&Repository::from_files(&[(path, text)]), &words)
    }

    #[test]
    fn the_list_is_well_formed() {
        assert!(Words::parse(LIST).unwrap().rows.len() > 50);
        assert!(Words::parse("any | Word").is_err());
        assert!(Words::parse("some | Word | instead").is_err());
    }

    #[test]
    fn names_on_the_list_fail() {
        assert_eq!(violations("crates/a/src/string_utils.rs", "").len(), 1);
        assert_eq!(violations("crates/a/src/told/b.rs", "").len(), 1);
        assert_eq!(
            violations("crates/a/src/b.rs", "struct TraceManager; enum Told {} trait FoundCategory {}").len(),
            3
        );
        assert_eq!(
            violations("crates/a/src/b.rs", "struct Information; enum Utilization {} struct NotFound;").len(),
            0
        );
        assert_eq!(
            violations("crates/a/src/b.rs", "enum LoadProblem {} struct ProblemKind; fn tell() {}").len(),
            2
        );
        assert_eq!(violations("web/src/b.ts", "export interface FoundBlock {}\n").len(), 1);
    }

    #[test]
    fn words_of_test_names_fail() {
        let count = |text: &str| violations("crates/a/tests/it/b.rs", text).len();
        assert_eq!(count("#[test]\nfn a_loss_is_told() {}"), 1);
        assert_eq!(count("#[tokio::test(flavor = \"multi_thread\")]\nasync fn whoever_asks_waits() {}"), 1);
        assert_eq!(count("#[test]\n#[should_panic(expected = \"x\")]\nfn nobody_is_notified() {}"), 1);
        assert_eq!(count("#[test]\nfn a_toldster_is_reported() {}\nfn said_by_helper() {}"), 0);
        assert_eq!(count("// #[test]\nfn a_loss_is_told() {}"), 0);
        assert_eq!(
            violations("crates/a/src/b.rs", "#[cfg(test)] mod t { #[test] fn a_dearer_call() {} }").len(),
            1
        );
    }

    #[test]
    fn names_of_variables_fail() {
        let count = |text: &str| violations("crates/a/tests/it/b.rs", text).len();
        assert_eq!(count("fn f() { let said = g(); let mut told = 1; }"), 2);
        assert_eq!(count("fn f() { for at in 0..2 {} for (at, x) in y {} let (at, x) = y; }"), 3);
        assert_eq!(count("fn f() { for attribute in y {} let at_end = 1; } impl At for Wanted {}"), 0);
        assert_eq!(count("fn f() { let stderr = said.g(); let said_so = 1; if let Some(x) = y {} }"), 0);
    }

    #[test]
    fn exceptions_are_for_their_path_only() {
        let processors = "crates/base/numeric/src/robust_pca/processors.rs";
        assert_eq!(violations(processors, "enum Processor {}").len(), 0);
        assert_eq!(violations("crates/a/src/b.rs", "enum Processor {}").len(), 1);
        assert_eq!(violations(processors, "enum Other {}").len(), 1, "the exception is not needed");
    }

    #[test]
    fn constructors_are_called_from() {
        let source = |function: &str| format!("\nimpl<'a> Slice<'a> {{\n    {function} {{}}\n}}\n");
        let count = |function: &str| violations("crates/a/src/b.rs", &source(function)).len();
        assert_eq!(count("fn of_rows(rows: &[u8]) -> Slice<'a>"), 1);
        assert_eq!(count("fn of_rows(rows: &[u8]) -> Option<Self>"), 1);
        assert_eq!(count("fn from_rows(rows: &[u8]) -> Self"), 0);
        assert_eq!(count("fn of_rows(&self) -> Self"), 0);
        assert_eq!(count("fn of_rows(rows: &[u8]) -> usize"), 0);
    }

    #[test]
    fn a_name_that_many_files_define_fails() {
        let paths: Vec<String> = (0..4).map(|file| format!("crates/a/src/b{file}.rs")).collect();
        let files =
            |count: usize, text| paths[..count].iter().map(|path| (path.as_str(), text)).collect::<Vec<_>>();
        let count = |files: &[(&str, &str)], list: &str| {
            check(&Repository::from_files(files), &Words::parse(list).unwrap()).len()
        };
        assert_eq!(count(&files(3, "struct Row;"), ""), 0);
        assert_eq!(count(&files(4, "struct Row;"), ""), 1);
        assert_eq!(count(&files(4, "type Output = u8;"), ""), 0);
        assert_eq!(count(&files(4, "struct Row;"), "limit | Row | 4 | reason"), 0);
        assert_eq!(count(&files(3, "struct Row;"), "limit | Row | 4 | reason"), 1);
    }
}
