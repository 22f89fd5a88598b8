//! `use` declarations and written-out paths of a piece of Rust code.

/// One name that a `use` declaration brings in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Import {
    /// The path, without the alias; for a glob, that of the module.
    pub(super) path: Vec<String>,
    /// The name in this file; `*` for a glob.
    pub(super) name: String,
    /// Whether others see it: `pub use`, of whatever reach.
    pub(super) is_exported: bool,
}

/// A token: a word or one character.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    Word(String),
    /// `::`
    Colons,
    Other(char),
}

/// Splits code without comments and literals.
pub(super) fn tokens(code: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if length > 0 {
            out.push(Token::Word(rest[..length].to_owned()));
            rest = &rest[length..];
        } else if let Some(after) = rest.strip_prefix("::") {
            out.push(Token::Colons);
            rest = after;
        } else {
            if !first.is_whitespace() {
                out.push(Token::Other(first));
            }
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

fn is_word(token: Option<&Token>, word: &str) -> bool {
    matches!(token, Some(Token::Word(known)) if known == word)
}

/// The imports, and the other tokens without the declarations.
pub(super) fn split(tokens: &[Token]) -> (Vec<Import>, Vec<Token>) {
    let (mut imports, mut rest) = (Vec::new(), Vec::new());
    let mut position = 0;
    while position < tokens.len() {
        // `use<'a>` is a bound on captures.
        let declares =
            is_word(tokens.get(position), "use") && tokens.get(position + 1) != Some(&Token::Other('<'));
        if !declares {
            rest.push(tokens[position].clone());
            position += 1;
            continue;
        }
        let is_exported = drop_visibility(&mut rest);
        let end = tokens[position..].iter().position(|token| *token == Token::Other(';'));
        let end = end.map_or(tokens.len(), |length| position + length);
        let mut tree = Tree { tokens: &tokens[position + 1..end], at: 0, is_exported, out: &mut imports };
        tree.read(&[]);
        position = end + 1;
    }
    (imports, rest)
}

/// Removes `pub` or `pub(…)` from the end.
fn drop_visibility(rest: &mut Vec<Token>) -> bool {
    if is_word(rest.last(), "pub") {
        rest.pop();
        return true;
    }
    if rest.last() != Some(&Token::Other(')')) {
        return false;
    }
    let Some(open) = rest.iter().rposition(|token| *token == Token::Other('(')) else { return false };
    let is_visibility = open > 0 && is_word(rest.get(open - 1), "pub");
    if is_visibility {
        rest.truncate(open - 1);
    }
    is_visibility
}

struct Tree<'a> {
    tokens: &'a [Token],
    at: usize,
    is_exported: bool,
    out: &'a mut Vec<Import>,
}

impl Tree<'_> {
    /// Reads one branch: `a::b`, `a::b as c`, `a::*`, `a::{…}`.
    fn read(&mut self, prefix: &[String]) {
        let mut path = prefix.to_vec();
        loop {
            match self.tokens.get(self.at) {
                Some(Token::Word(word)) => {
                    path.push(word.clone());
                    self.at += 1;
                }
                Some(Token::Other('{')) => {
                    self.at += 1;
                    while self.at < self.tokens.len() && self.tokens[self.at] != Token::Other('}') {
                        self.read(&path);
                        self.skip(',');
                    }
                    self.skip('}');
                    return;
                }
                Some(Token::Other('*')) => {
                    self.at += 1;
                    self.push(path, Some("*".to_owned()));
                    return;
                }
                _ => {}
            }
            match self.tokens.get(self.at) {
                Some(Token::Colons) => self.at += 1,
                Some(Token::Word(word)) if word == "as" => {
                    let alias = self.tokens.get(self.at + 1).cloned();
                    self.at += 2;
                    let Some(Token::Word(alias)) = alias else { return };
                    return self.push(path, Some(alias));
                }
                _ => return self.push(path, None),
            }
        }
    }

    fn skip(&mut self, character: char) {
        if self.tokens.get(self.at) == Some(&Token::Other(character)) {
            self.at += 1;
        }
    }

    fn push(&mut self, mut path: Vec<String>, alias: Option<String>) {
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
        }
        let Some(name) = alias.or_else(|| path.last().cloned()) else {
            self.at += 1;
            return;
        };
        self.out.push(Import { path, name, is_exported: self.is_exported });
    }
}

/// Paths of two and more words: `a::b::c`.
pub(super) fn paths(tokens: &[Token]) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    let mut position = 0;
    while position < tokens.len() {
        let Token::Word(first) = &tokens[position] else {
            position += 1;
            continue;
        };
        let mut path = vec![first.clone()];
        let after_colons = position > 0 && tokens[position - 1] == Token::Colons;
        position += 1;
        while let (Some(Token::Colons), Some(Token::Word(word))) =
            (tokens.get(position), tokens.get(position + 1))
        {
            path.push(word.clone());
            position += 2;
        }
        if path.len() > 1 && !after_colons {
            out.push(path);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(code: &str) -> Vec<String> {
        let (imports, _) = split(&tokens(code));
        let line = |import: &Import| {
            let exported = if import.is_exported { "pub " } else { "" };
            format!("{exported}{} as {}", import.path.join("::"), import.name)
        };
        imports.iter().map(line).collect()
    }

    #[test]
    fn trees_are_unfolded() {
        assert_eq!(
            imports("use a::{b, c::{self, d as e}, f::*}; pub(crate) use super::g; fn h() {}"),
            ["a::b as b", "a::c as c", "a::c::d as e", "a::f as *", "pub super::g as g"]
        );
        assert_eq!(imports("fn f() -> impl Iterator + use<'a> {}"), Vec::<String>::new());
    }

    #[test]
    fn paths_are_read_from_code() {
        let (_, rest) = split(&tokens("use a::b; fn f(x: super::X) -> Vec<c::D> { c::g::<u8>(); h }"));
        assert_eq!(paths(&rest), [vec!["super", "X"], vec!["c", "D"], vec!["c", "g"]]);
    }
}
