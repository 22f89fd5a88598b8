//! Rust source as text: comments and literals blanked, tests blanked, functions found.
//!
//! Not a parser: it knows tokens and braces, which is all the rules need, and it moves no line,
//! so that violations have line numbers.

use crate::repository::{Repository, TextFile};
use std::collections::HashSet;

/// A function with a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// 1-based.
    pub(crate) first_line: usize,
    pub(crate) lines: usize,
}

/// The source files of the product (not of tests), with comments, literals and test items blanked.
pub(crate) fn product_sources(repository: &Repository) -> Vec<TextFile> {
    let code: Vec<TextFile> = repository
        .ending(".rs")
        .map(|file| TextFile { path: file.path.clone(), text: code_only(&file.text) })
        .collect();
    let test_modules: HashSet<String> = code.iter().flat_map(test_module_paths).collect();
    code.into_iter()
        .filter(|file| !is_test_path(&file.path) && !test_modules.contains(&file.path))
        .map(|file| TextFile { text: without_tests(&file.text), ..file })
        .collect()
}

/// Whether a file belongs to tests by its place.
pub(crate) fn is_test_path(path: &str) -> bool {
    path.contains("/tests/") || path.contains("/benches/") || path.ends_with("/tests.rs")
}

/// Files of `#[cfg(test)] mod name;` items.
fn test_module_paths(file: &TextFile) -> Vec<String> {
    let Some((folder, name)) = file.path.rsplit_once('/') else { return vec![] };
    let stem = name.trim_end_matches(".rs");
    let folder = match stem {
        "lib" | "main" | "mod" => folder.to_owned(),
        _ => format!("{folder}/{stem}"),
    };
    let modules = test_items(&file.text).into_iter().filter_map(|(from, to)| {
        let item = file.text[from..to].trim_end();
        let name = item.strip_suffix(';')?.rsplit_once("mod ")?.1.trim();
        Some([format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")])
    });
    modules.flatten().collect()
}

/// Blanks comments and the insides of literals; every line stays where it is.
pub(crate) fn code_only(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut position = 0;
    while position < bytes.len() {
        let end = literal_end(bytes, position);
        if end > position {
            out[position..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
            position = end;
        } else if is_word(bytes[position]) {
            // A whole word at once, so that the `r` of `for"` is no prefix.
            while position < bytes.len() && is_word(bytes[position]) {
                position += 1;
            }
        } else {
            position += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Where the comment or literal that starts here ends; `at` when none starts here.
fn literal_end(bytes: &[u8], position: usize) -> usize {
    let rest = &bytes[position..];
    match rest {
        [b'/', b'/', ..] => position + rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment_end(bytes, position),
        [b'"', ..] => string_end(bytes, position + 1),
        [b'b' | b'c', b'"', ..] => string_end(bytes, position + 2),
        [b'r', b'"' | b'#', ..] => raw_string_end(bytes, position, position + 1),
        [b'b' | b'c', b'r', b'"' | b'#', ..] => raw_string_end(bytes, position, position + 2),
        [b'b', b'\'', ..] => character_end(bytes, position, position + 2),
        [b'\'', ..] => character_end(bytes, position, position + 1),
        _ => position,
    }
}

fn block_comment_end(bytes: &[u8], position: usize) -> usize {
    let (mut depth, mut here) = (0_usize, position);
    while here < bytes.len() {
        match &bytes[here..] {
            [b'/', b'*', ..] => (depth, here) = (depth + 1, here + 2),
            [b'*', b'/', ..] => (depth, here) = (depth - 1, here + 2),
            _ => here += 1,
        }
        if depth == 0 {
            return here;
        }
    }
    bytes.len()
}

fn string_end(bytes: &[u8], mut here: usize) -> usize {
    while here < bytes.len() {
        match bytes[here] {
            b'\\' => here += 2,
            b'"' => return here + 1,
            _ => here += 1,
        }
    }
    bytes.len()
}

fn raw_string_end(bytes: &[u8], position: usize, hashes_from: usize) -> usize {
    let hashes = bytes[hashes_from..].iter().take_while(|&&byte| byte == b'#').count();
    let from = hashes_from + hashes;
    if bytes.get(from) != Some(&b'"') {
        // A raw identifier.
        return position;
    }
    let close = [&b"\""[..], &b"#".repeat(hashes)].concat();
    let length = bytes[from + 1..].windows(close.len()).position(|window| window == close);
    length.map_or(bytes.len(), |length| from + 1 + length + close.len())
}

/// The end of a character literal, or `at` when the quote starts a lifetime.
fn character_end(bytes: &[u8], position: usize, from: usize) -> usize {
    let Some(&first) = bytes.get(from) else { return position };
    if first == b'\\' {
        let close = bytes[from + 2..].iter().position(|&byte| byte == b'\'');
        return close.map_or(bytes.len(), |length| from + 2 + length + 1);
    }
    let width = match first {
        0..=0x7F => 1,
        0x80..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    };
    if bytes.get(from + width) == Some(&b'\'') { from + width + 1 } else { position }
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Blanks items under `#[test]` and `#[cfg(test)]`. Takes code without comments and literals.
pub(crate) fn without_tests(code: &str) -> String {
    let mut out = code.as_bytes().to_vec();
    for (from, to) in test_items(code) {
        out[from..to].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Byte ranges of test items, attributes included.
fn test_items(code: &str) -> Vec<(usize, usize)> {
    let mut items: Vec<(usize, usize)> = Vec::new();
    for attribute in ["#[test]", "#[cfg(test)]"] {
        for (from, _) in code.match_indices(attribute) {
            items.push((from, item_end(code.as_bytes(), from)));
        }
    }
    items
}

/// Where the item that starts here, with its attributes, ends: at its closing brace or semicolon.
fn item_end(code: &[u8], from: usize) -> usize {
    let mut depth = 0_i32;
    for (here, &byte) in code.iter().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b';' if depth == 0 => return here + 1,
            b'{' if depth == 0 => return matching_brace(code, here) + 1,
            _ => {}
        }
    }
    code.len()
}

/// The brace that closes the one at `open`; the last byte when none does.
fn matching_brace(code: &[u8], open: usize) -> usize {
    let mut depth = 0_i32;
    for (here, &byte) in code.iter().enumerate().skip(open) {
        depth += i32::from(byte == b'{') - i32::from(byte == b'}');
        if depth == 0 {
            return here;
        }
    }
    code.len() - 1
}

/// Functions with a body, in order. Takes code without comments and literals.
pub(crate) fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (from, _) in code.match_indices("fn ") {
        if from > 0 && is_word(code.as_bytes()[from - 1]) {
            continue;
        }
        let name: String =
            code[from + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let end = item_end(code.as_bytes(), from);
        if name.is_empty() || !code[from..end].ends_with('}') {
            continue;
        }
        let first_line = line_of(code, from);
        found.push(Function { name, first_line, lines: line_of(code, end - 1) - first_line + 1 });
    }
    found
}

/// The 1-based line of a byte.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// Byte offsets at which a word stands by itself.
pub(crate) fn word_offsets<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = text.as_bytes();
    let starts = word.as_bytes().first().is_some_and(|&byte| is_word(byte));
    let ends = word.as_bytes().last().is_some_and(|&byte| is_word(byte));
    text.match_indices(word).map(|(offset, _)| offset).filter(move |&offset| {
        let before = starts && offset > 0 && is_word(bytes[offset - 1]);
        let after = ends && bytes.get(offset + word.len()).is_some_and(|&byte| is_word(byte));
        !before && !after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blank_and_lines_stay() {
        let source = "let a = \"x // y\\\"\"; // todo\n/* a /* b */ c */ let b = 'x'; let c: &'static str = r#\"q\"#;\n";
        let code = code_only(source);
        assert_eq!(code.len(), source.len());
        assert_eq!(
            code.split_whitespace().collect::<Vec<_>>().join(" "),
            "let a = ; let b = ; let c: &'static str = ;"
        );
        assert_eq!(code_only("'\\'' 'é' b'\\n' b\"x\" br\"y\" for\"z\" r#type").trim(), "for    r#type");
    }

    #[test]
    fn test_items_are_blanked() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { x.unwrap(); }\n}\nfn c() {}\n#[test]\n#[should_panic(expected)]\nfn d() { e(); }\n";
        let product = without_tests(code);
        assert!(product.contains("fn a") && product.contains("fn c"));
        assert!(!product.contains("unwrap") && !product.contains("fn d"));
        assert_eq!(product.lines().count(), code.lines().count());
    }

    #[test]
    fn test_modules_in_separate_files_are_not_product_code() {
        let repository = Repository::from_files(&[
            ("crates/a/src/lib.rs", "#[cfg(test)]\nmod checks;\nmod real;"),
            ("crates/a/src/checks.rs", "fn t() {}"),
            ("crates/a/src/real.rs", "#[cfg(test)]\nmod inner;"),
            ("crates/a/src/real/inner.rs", "fn u() {}"),
            ("crates/a/tests/it/main.rs", "fn v() {}"),
        ]);
        let paths: Vec<String> = product_sources(&repository).into_iter().map(|file| file.path).collect();
        assert_eq!(paths, ["crates/a/src/lib.rs", "crates/a/src/real.rs"]);
    }

    #[test]
    fn functions_are_measured_from_signature_to_brace() {
        let code = "fn a(\n x: [u8; 3],\n) -> u8 {\n if y { 1 } else { 2 }\n}\ntrait T { fn b(); }\ntype F = fn (u8);\n";
        let found = functions(code);
        assert_eq!(found, [Function { name: "a".to_owned(), first_line: 1, lines: 5 }]);
    }

    #[test]
    fn only_whole_words_match() {
        assert_eq!(word_offsets("a std::fs b std::fsx", "std::fs").collect::<Vec<_>>(), [2]);
        assert_eq!(word_offsets("x.unwrap() unwrap_or()", ".unwrap()").collect::<Vec<_>>(), [1]);
    }
}
