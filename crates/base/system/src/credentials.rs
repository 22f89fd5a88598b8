//! Credentials for a server of others.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use std::fmt;

/// An `Authorization` header. Never shown, not even for debugging.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    header: String,
}

/// Why a text cannot be a secret. The text is not part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CredentialsError {
    /// A bearer token that is empty, or has characters that are not allowed in a header.
    Token,
    /// User and password without a colon between them.
    Pair,
}

impl fmt::Display for CredentialsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CredentialsError::Token => "the bearer token is empty or not plain ASCII",
            CredentialsError::Pair => "basic authentication needs user:password",
        })
    }
}

impl std::error::Error for CredentialsError {}

impl Credentials {
    /// A bearer token: the content of a file or variable, without white space at its ends.
    ///
    /// # Errors
    /// When it is empty or contains characters that are not allowed in a header.
    pub fn bearer(token: &str) -> Result<Credentials, CredentialsError> {
        let token = token.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(CredentialsError::Token);
        }
        Ok(Credentials { header: crate::http::bearer(token) })
    }

    /// User and password for basic authentication: `user:password` (RFC 7617).
    ///
    /// # Errors
    /// When there is no colon.
    pub fn basic(pair: &str) -> Result<Credentials, CredentialsError> {
        let pair = pair.trim_end_matches(['\r', '\n']);
        if !pair.contains(':') {
            return Err(CredentialsError::Pair);
        }
        Ok(Credentials { header: format!("Basic {}", BASE64_STANDARD.encode(pair)) })
    }

    /// The value of the header.
    pub fn header(&self) -> &str {
        &self.header
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_checked_and_never_shown() {
        let basic = Credentials::basic("Aladdin:open sesame\n").unwrap();
        assert_eq!(basic.header(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert!(!format!("{basic:?}").contains("QWxh"));
        assert_eq!(Credentials::bearer(" abc\n").unwrap().header(), "Bearer abc");
        assert!(Credentials::bearer("").is_err());
        assert!(Credentials::bearer("a\nb: c").is_err());
        assert!(Credentials::basic("nobody").is_err());
    }
}
