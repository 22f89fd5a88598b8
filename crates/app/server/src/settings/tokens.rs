//! Tokens and their files.

use super::{Scope, ServeSettings, SettingError, TokenSettings};
use std::collections::HashSet;
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

/// A token with its secret. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct CheckedToken {
    pub(crate) name: String,
    pub(crate) secret: Vec<u8>,
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) tenants: Vec<String>,
}

impl fmt::Debug for CheckedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckedToken({})", self.name)
    }
}

/// Shorter secrets can be guessed.
const SECRET_BYTES_MIN: usize = 16;
/// Longest file with secrets.
const FILE_BYTES_MAX: u64 = 4096;
/// Secrets in a file of one token: the new one and the old one, while clients move from one to the other, and some more.
const SECRETS_MAX: usize = 8;
const TOKENS_MAX: usize = 1000;

/// All tokens of the settings, without their secrets.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TokenList {
    pub(crate) tokens: Vec<TokenSettings>,
}

/// What was read of a [`TokenList`] after its files changed.
#[derive(Debug, Default)]
pub(crate) struct ReadTokens {
    /// The valid tokens.
    pub(crate) tokens: Vec<CheckedToken>,
    /// Files that are there and cannot be used; what they had before counts.
    pub(crate) problems: Vec<SettingError>,
    /// Names of tokens whose files are gone; they are not valid any more.
    pub(crate) removed: Vec<String>,
}

impl ServeSettings {
    /// The tokens in these settings.
    pub(crate) fn token_list(&self) -> TokenList {
        let single = self.token_file.iter().map(|file| TokenSettings {
            name: "token_file".to_owned(),
            file: file.clone(),
            scopes: vec![Scope::Read, Scope::Write],
            tenants: Vec::new(),
        });
        TokenList { tokens: self.tokens.iter().cloned().chain(single).collect() }
    }
}

impl TokenList {
    /// Reads every file.
    ///
    /// # Errors
    /// What [`TokenList::check`] finds, or the first token whose file cannot be used.
    pub(crate) fn read_all(&self) -> Result<Vec<CheckedToken>, SettingError> {
        self.check()?;
        let mut all = Vec::new();
        for token in &self.tokens {
            all.extend(token.checked(&token.read()?));
        }
        Ok(all)
    }

    /// Reads every file again. `before` are the tokens of now.
    pub(crate) fn read_again(&self, before: &[CheckedToken]) -> ReadTokens {
        let mut read = ReadTokens::default();
        for token in &self.tokens {
            if matches!(std::fs::metadata(&token.file), Err(error) if error.kind() == ErrorKind::NotFound) {
                read.removed.push(token.name.clone());
                continue;
            }
            match token.read() {
                Ok(secrets) => read.tokens.extend(token.checked(&secrets)),
                Err(problem) => {
                    let is_same = |known: &&CheckedToken| known.name == token.name;
                    let secrets: Vec<Vec<u8>> =
                        before.iter().filter(is_same).map(|known| known.secret.clone()).collect();
                    read.tokens.extend(token.checked(&secrets));
                    read.problems.push(problem);
                }
            }
        }
        read
    }

    /// Checks what needs no file.
    ///
    /// # Errors
    /// When there are too many tokens, two have one name, or one has no scopes.
    pub(crate) fn check(&self) -> Result<(), SettingError> {
        if self.tokens.len() > TOKENS_MAX {
            return Err(SettingError::new(format_args!(
                "{} tokens; at most {TOKENS_MAX}",
                self.tokens.len()
            )));
        }
        let mut names = HashSet::new();
        if let Some(token) = self.tokens.iter().find(|token| !names.insert(&token.name)) {
            return Err(SettingError::new(format_args!("two tokens are named {:?}", token.name)));
        }
        match self.tokens.iter().find(|token| token.scopes.is_empty()) {
            None => Ok(()),
            Some(token) => Err(SettingError::new(format_args!(
                "token {:?} has no scopes; allowed: read, write, or both",
                token.name
            ))),
        }
    }
}

impl TokenSettings {
    fn read(&self) -> Result<Vec<Vec<u8>>, SettingError> {
        read_secrets(&self.file).map_err(|problem| {
            SettingError::new(format_args!("token {:?}: {}: {problem}", self.name, self.file.display()))
        })
    }

    fn checked(&self, secrets: &[Vec<u8>]) -> Vec<CheckedToken> {
        let checked = |secret: &Vec<u8>| CheckedToken {
            name: self.name.clone(),
            secret: secret.clone(),
            read: self.scopes.contains(&Scope::Read),
            write: self.scopes.contains(&Scope::Write),
            tenants: self.tenants.clone(),
        };
        secrets.iter().map(checked).collect()
    }
}

/// The secrets in a file, one a line; at least one.
fn read_secrets(file: &Path) -> Result<Vec<Vec<u8>>, String> {
    let text = read_text(file)?;
    let secrets: Result<Vec<_>, String> =
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(check_secret).collect();
    let secrets = secrets?;
    match secrets.len() {
        0 => Err(check_secret("").expect_err("an empty secret is too short")),
        1..=SECRETS_MAX => Ok(secrets),
        many => Err(format!("{many} tokens, one a line; at most {SECRETS_MAX}")),
    }
}

/// The only secret in a file.
pub(super) fn read_secret(file: &Path) -> Result<Vec<u8>, String> {
    check_secret(read_text(file)?.trim())
}

fn read_text(file: &Path) -> Result<String, String> {
    let length = std::fs::metadata(file).map_err(|error| error.to_string())?.len();
    if length > FILE_BYTES_MAX {
        return Err(format!("{length} bytes are too many for a token; at most {FILE_BYTES_MAX}"));
    }
    std::fs::read_to_string(file).map_err(|error| error.to_string())
}

fn check_secret(secret: &str) -> Result<Vec<u8>, String> {
    if secret.len() < SECRET_BYTES_MIN {
        return Err(format!(
            "the token has {} characters; it needs at least {SECRET_BYTES_MIN}, for example `openssl rand -hex 32`",
            secret.len()
        ));
    }
    if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("the token has spaces or characters that are not allowed in a header".to_owned());
    }
    Ok(secret.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens `a` and `b`, in files of these contents.
    fn list(folder: &Path) -> TokenList {
        let token = |name: &str| TokenSettings {
            name: name.to_owned(),
            file: folder.join(name),
            scopes: vec![Scope::Read],
            tenants: Vec::new(),
        };
        TokenList { tokens: vec![token("a"), token("b")] }
    }

    fn secrets(tokens: &[CheckedToken]) -> Vec<&str> {
        tokens.iter().map(|token| std::str::from_utf8(&token.secret).unwrap()).collect()
    }

    #[test]
    fn a_file_has_one_token_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("a", " a-new-0123456789\r\n\n\ta-old-0123456789 \n");
        write("b", "b-only-0123456789");
        let read = list(folder.path()).read_all().unwrap();
        assert_eq!(secrets(&read), ["a-new-0123456789", "a-old-0123456789", "b-only-0123456789"]);
        let rejected = |text: &str| {
            write("b", text);
            list(folder.path()).read_all().unwrap_err().to_string()
        };
        assert!(rejected("").contains("0 characters"));
        let mut twice = list(folder.path());
        twice.tokens[1].name = "a".to_owned();
        assert!(twice.read_all().unwrap_err().to_string().contains("two tokens are named"));
        assert!(rejected("b-only-0123456789\nshort").contains("5 characters"));
        assert!(rejected("b only 0123456789").contains("spaces"));
        assert!(rejected(&"0123456789abcdef\n".repeat(9)).contains("at most 8"));
        assert!(rejected(&"0123456789abcdef".repeat(300)).contains("at most 4096"));
    }

    #[test]
    fn a_file_that_cannot_be_used_changes_nothing_and_one_that_is_gone_removes_its_token() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("a", "a-old-0123456789\n");
        write("b", "b-old-0123456789\n");
        let list = list(folder.path());
        let before = list.read_all().unwrap();
        write("a", "short");
        write("b", "b-new-0123456789\n");
        let read = list.read_again(&before);
        assert_eq!(secrets(&read.tokens), ["a-old-0123456789", "b-new-0123456789"]);
        assert!(read.problems[0].to_string().contains("token \"a\""), "{:?}", read.problems);
        std::fs::remove_file(folder.path().join("b")).unwrap();
        let read = list.read_again(&read.tokens);
        assert_eq!(secrets(&read.tokens), ["a-old-0123456789"]);
        assert_eq!(read.removed, ["b"]);
    }
}
