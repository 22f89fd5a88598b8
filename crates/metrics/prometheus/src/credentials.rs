//! Credentials for the server.

use crate::PrometheusError;
use std::fmt;

/// An `Authorization` header. Never shown, not even for debugging.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    header: String,
}

impl Credentials {
    /// A bearer token: the content of a file, without white space at its ends.
    ///
    /// # Errors
    /// When it is empty or holds what cannot be in a header.
    pub fn bearer(token: &str) -> Result<Credentials, PrometheusError> {
        let token = token.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(PrometheusError::Settings("the bearer token is empty or not plain ASCII".to_owned()));
        }
        Ok(Credentials { header: format!("Bearer {token}") })
    }

    /// User and password for basic authentication: `user:password` (RFC 7617).
    ///
    /// # Errors
    /// When there is no colon.
    pub fn basic(pair: &str) -> Result<Credentials, PrometheusError> {
        let pair = pair.trim_end_matches(['\r', '\n']);
        if !pair.contains(':') {
            return Err(PrometheusError::Settings("basic authentication needs user:password".to_owned()));
        }
        Ok(Credentials { header: format!("Basic {}", base64(pair.as_bytes())) })
    }

    pub(crate) fn header(&self) -> &str {
        &self.header
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0_u32, |group, &byte| group << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let letter = ALPHABET[(group >> (18 - 6 * digit) & 63) as usize];
            text.push(if digit <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, coded) in cases {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

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
