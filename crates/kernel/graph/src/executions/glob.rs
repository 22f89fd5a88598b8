//! Glob patterns for names.

use std::fmt;

/// A pattern for a whole name: `*` matches any number of characters, `?` exactly one. Case-sensitive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Glob {
    pattern: Box<str>,
}

impl Glob {
    /// Creates a pattern; every text is a valid pattern.
    pub fn new(pattern: &str) -> Glob {
        Glob { pattern: pattern.into() }
    }

    /// Whether the whole `name` matches. The cost is at most the product of both lengths.
    pub fn matches(&self, name: &str) -> bool {
        let (mut pattern, mut rest) = (self.pattern.chars(), name.chars());
        // Where to retry when the text does not match after the last `*`.
        let mut retry = None;
        loop {
            let before = (pattern.clone(), rest.clone());
            match (pattern.next(), rest.next()) {
                (None, None) => return true,
                (Some('*'), _) => {
                    rest = before.1;
                    retry = Some((pattern.clone(), rest.clone()));
                }
                (Some('?'), Some(_)) => {}
                (Some(expected), Some(letter)) if expected == letter => {}
                _ => {
                    let Some((after_star, mut from)) = retry.take() else { return false };
                    if from.next().is_none() {
                        return false;
                    }
                    (pattern, rest) = (after_star.clone(), from.clone());
                    retry = Some((after_star, from));
                }
            }
        }
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name, expected) in [
            ("", "", true),
            ("*", "", true),
            ("*", "anything", true),
            ("order", "order", true),
            ("order", "orders", false),
            ("order*", "orders", true),
            ("*order", "reorder", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b", false),
            ("??", "ab", true),
            ("??", "abc", false),
            ("*é?", "caféx", true),
            ("**a**", "bab", true),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn matching_many_stars_terminates() {
        let pattern = Glob::new(&"*a".repeat(40));
        assert!(!pattern.matches(&"a".repeat(2000).replace("aa", "ab")[..1999].replace('a', "b")));
    }
}
