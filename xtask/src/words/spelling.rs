//! American spelling, by the list of `xtask/spelling.txt`.

use crate::repository::{Repository, TextFile, is_sample};

/// British spellings and exceptions.
pub(super) const LIST: &str = include_str!("../../spelling.txt");

/// A part of a word and what replaces it.
#[derive(Debug)]
struct Row<'a> {
    part: &'a str,
    at_start: bool,
    at_end: bool,
    better: &'a str,
}

impl Row<'_> {
    /// Whether a word in lower case is spelled like this.
    fn matches(&self, word: &str) -> bool {
        match (self.at_start, self.at_end) {
            (true, true) => word == self.part,
            (true, false) => word.starts_with(self.part),
            (false, true) => word.ends_with(self.part),
            (false, false) => word.contains(self.part),
        }
    }
}

/// The whole list.
#[derive(Debug, Default)]
pub(super) struct Spelling<'a> {
    rows: Vec<Row<'a>>,
    /// Path and word that are excepted.
    allowed: Vec<(&'a str, &'a str)>,
}

impl<'a> Spelling<'a> {
    /// Reads the list.
    ///
    /// # Errors
    /// The first line that is no row.
    pub(super) fn parse(text: &'a str) -> Result<Spelling<'a>, String> {
        let mut spelling = Spelling::default();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let fields: Vec<&str> = line.split('|').map(str::trim).collect();
            match fields[..] {
                ["allow", path, word, _] => spelling.allowed.push((path, word)),
                [part, better] => spelling.rows.push(Row {
                    part: part.trim_start_matches('^').trim_end_matches('$'),
                    at_start: part.starts_with('^'),
                    at_end: part.ends_with('$'),
                    better,
                }),
                _ => return Err(format!("xtask/spelling.txt:{}: not a row: {line}", index + 1)),
            }
        }
        Ok(spelling)
    }

    fn allows(&self, path: &str, word: &str) -> bool {
        let covers = |folder: &str| folder == "*" || path.starts_with(folder);
        self.allowed.iter().any(|&(folder, known)| known == word && covers(folder))
    }
}

/// British spellings in texts and in names of files.
pub(super) fn check(repository: &Repository, spelling: &Spelling<'_>) -> Vec<String> {
    let ours = repository.files.iter().filter(|file| !is_foreign(&file.path));
    ours.flat_map(|file| violations(file, spelling)).collect()
}

/// Files that are exempt: licenses, lock files, samples, and the list itself.
fn is_foreign(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    is_sample(path) || ["LICENSE", "Cargo.lock", "package-lock.json", "spelling.txt"].contains(&name)
}

fn violations(file: &TextFile, spelling: &Spelling<'_>) -> Vec<String> {
    let mut out = Vec::new();
    let text = [&file.path, file.text.as_str()].concat().to_lowercase();
    let rows: Vec<&Row<'_>> = spelling.rows.iter().filter(|row| text.contains(row.part)).collect();
    if rows.is_empty() {
        return out;
    }
    let lines = std::iter::once((0, file.path.as_str())).chain((1..).zip(file.text.lines()));
    for (number, line) in lines {
        for word in words(line) {
            let Some(row) = rows.iter().find(|row| row.matches(&word)) else { continue };
            if !spelling.allows(&file.path, &word) {
                out.push(format!("{}:{number}: `{word}`, American: …{}…", file.path, row.better));
            }
        }
    }
    out
}

/// The words of a line in lower case; parts of camel-case and snake-case names are words.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for character in line.chars() {
        if !character.is_alphabetic() || (after_lower && character.is_uppercase()) {
            words.push(String::new());
        }
        after_lower = character.is_lowercase();
        if let Some(word) = words.last_mut() {
            word.extend(character.to_lowercase().filter(|letter| letter.is_alphabetic()));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Repository::from_files(&[(path, text)]), &Spelling::parse(LIST).unwrap()).len()
    }

    #[test]
    fn british_spellings_fail() {
        let british = ["Col", "our"].concat();
        assert_eq!(count("docs/a.md", &format!("The {british} of a {british}ed line")), 2);
        assert_eq!(count("crates/a/src/b.rs", &format!("fn set{british}s() {{ my_{british}(); }}")), 2);
        assert_eq!(count("docs/a.md", "The color of the programmed center. An analysis; optimistic."), 0);
        assert_eq!(count(&format!("docs/{british}.md"), ""), 1);
    }

    #[test]
    fn foreign_words_are_allowed() {
        let attribute = ["aria-label", "ledby"].concat();
        assert_eq!(count("web/src/a.svelte", &attribute), 0);
        assert_eq!(count("crates/a/tests/samples/a.csv", &["col", "our"].concat()), 0);
    }

    #[test]
    fn the_list_is_well_formed() {
        assert!(Spelling::parse("one | two | three").is_err());
    }
}
