//! Bearer tokens, which may be replaced while the server runs.

use crate::settings::CheckedToken;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

/// A token that was valid when it was found.
#[derive(Debug)]
pub(crate) struct KnownToken {
    /// What it allows.
    pub(crate) checked: CheckedToken,
    revoked: CancellationToken,
}

impl KnownToken {
    /// Returns once the token is not valid any more.
    pub(crate) async fn revoked(&self) {
        self.revoked.cancelled().await;
    }
}

/// All tokens; without any, requests need none.
#[derive(Debug)]
pub(crate) struct Tokens {
    known: RwLock<Arc<[Arc<KnownToken>]>>,
    /// A server that once had tokens is not opened by removing the last one.
    needed: AtomicBool,
}

impl Tokens {
    pub(crate) fn new(known: &[CheckedToken]) -> Tokens {
        let tokens = Tokens { known: RwLock::new([].into()), needed: AtomicBool::new(false) };
        tokens.replace(known);
        tokens
    }

    /// Whether requests need a token.
    pub(crate) fn are_needed(&self) -> bool {
        self.needed.load(Ordering::Acquire)
    }

    /// Replaces all tokens. Those that are not among the new ones, or allow something else now, are revoked.
    pub(crate) fn replace(&self, new: &[CheckedToken]) {
        let before = self.known();
        let known: Arc<[Arc<KnownToken>]> = (new.iter())
            .map(|token| match before.iter().find(|known| known.checked == *token) {
                Some(known) => known.clone(),
                None => Arc::new(KnownToken { checked: token.clone(), revoked: CancellationToken::new() }),
            })
            .collect();
        if !known.is_empty() {
            self.needed.store(true, Ordering::Release);
        }
        *self.known.write().expect("no thread panics while it holds the lock") = known.clone();
        for token in before.iter().filter(|token| !known.iter().any(|new| Arc::ptr_eq(new, token))) {
            token.revoked.cancel();
        }
    }

    /// The token with this secret. The time does not depend on the secret.
    pub(crate) fn find(&self, secret: &[u8]) -> Option<Arc<KnownToken>> {
        let mut matching = None;
        for token in self.known().iter() {
            if bool::from(token.checked.secret.ct_eq(secret)) {
                matching = Some(token.clone());
            }
        }
        matching
    }

    fn known(&self) -> Arc<[Arc<KnownToken>]> {
        self.known.read().expect("no thread panics while it holds the lock").clone()
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
    use futures::FutureExt;

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
        let tokens = Tokens::new(&[token("a", "0123456789abcdef"), token("b", "0123456789abcdeg")]);
        assert!(tokens.are_needed());
        assert_eq!(tokens.find(b"0123456789abcdeg").unwrap().checked.name, "b");
        for wrong in ["", "0123456789abcde", "0123456789abcdefg", "0123456789abcdeF"] {
            assert!(tokens.find(wrong.as_bytes()).is_none(), "{wrong}");
        }
        assert!(!Tokens::new(&[]).are_needed());
    }

    #[test]
    fn replaced_tokens_are_revoked_and_the_others_stay() {
        let (stays, goes) = (token("a", "0123456789abcdef"), token("b", "0123456789abcdeg"));
        let tokens = Tokens::new(&[stays.clone(), goes]);
        let [first, second] = [b"0123456789abcdef", b"0123456789abcdeg"].map(|one| tokens.find(one).unwrap());
        tokens.replace(&[stays.clone(), token("b", "0123456789abcdeh")]);
        assert!(first.revoked().now_or_never().is_none());
        assert!(second.revoked().now_or_never().is_some());
        assert!(tokens.find(b"0123456789abcdeg").is_none());
        assert_eq!(tokens.find(b"0123456789abcdeh").unwrap().checked.name, "b");
        tokens.replace(&[CheckedToken { write: true, ..stays }]);
        assert!(first.revoked().now_or_never().is_some(), "it allows something else now");
        tokens.replace(&[]);
        assert!(tokens.are_needed(), "removing the last token opens nothing");
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
