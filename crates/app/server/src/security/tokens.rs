//! Bearer tokens.

use crate::settings::CheckedToken;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// All tokens; without any, requests need none.
#[derive(Clone)]
pub(crate) struct Tokens {
    known: Arc<[CheckedToken]>,
}

impl Tokens {
    pub(crate) fn new(known: Arc<[CheckedToken]>) -> Tokens {
        Tokens { known }
    }

    /// Whether requests need a token.
    pub(crate) fn are_needed(&self) -> bool {
        !self.known.is_empty()
    }

    /// The index of the token with this secret. The time does not depend on the secret.
    pub(crate) fn find(&self, secret: &[u8]) -> Option<usize> {
        let mut matching = None;
        for (index, token) in self.known.iter().enumerate() {
            if bool::from(token.secret.ct_eq(secret)) {
                matching = Some(index);
            }
        }
        matching
    }

    /// The token with an index from [`Tokens::find`].
    pub(crate) fn at(&self, index: usize) -> &CheckedToken {
        &self.known[index]
    }
}

/// The secret in `Authorization: Bearer SECRET`; gRPC's metadata are the same headers.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, secret) = value.split_at_checked("bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| secret.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(name: &str, secret: &str) -> CheckedToken {
        CheckedToken {
            name: name.to_owned(),
            secret: secret.as_bytes().to_vec(),
            read: true,
            write: false,
            tenants: Vec::new(),
        }
    }

    #[test]
    fn a_token_matches_its_complete_secret() {
        let tokens = Tokens::new([token("a", "0123456789abcdef"), token("b", "0123456789abcdeg")].into());
        assert!(tokens.are_needed());
        let index = tokens.find(b"0123456789abcdeg").unwrap();
        assert_eq!(tokens.at(index).name, "b");
        for wrong in ["", "0123456789abcde", "0123456789abcdefg", "0123456789abcdeF"] {
            assert_eq!(tokens.find(wrong.as_bytes()), None, "{wrong}");
        }
        assert!(!Tokens::new([].into()).are_needed());
    }

    #[test]
    fn the_scheme_may_be_written_in_any_case() {
        for (value, secret) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("BEARER abc", Some("abc")),
            ("Basic abc", None),
            ("Bearer", None),
            ("abc", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            assert_eq!(bearer(&headers), secret.map(str::as_bytes), "{value}");
        }
        assert_eq!(bearer(&HeaderMap::new()), None);
    }

    #[test]
    fn a_secret_is_never_printed() {
        assert_eq!(format!("{:?}", token("collector", "0123456789abcdef")), "CheckedToken(collector)");
    }
}
