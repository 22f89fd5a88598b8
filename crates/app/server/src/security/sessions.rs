//! Sessions of browsers that sent a token once: a cookie that scripts cannot read and other sites cannot send.

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq;

/// A session's number: 256 random bits, in hex.
pub(crate) type SessionId = Box<str>;

const ID_BYTES: usize = 32;
/// Maximum number of sessions; beyond it the oldest one ends.
const SESSIONS_MAX: usize = 1024;
/// A working day and a little.
const LENGTH: Duration = Duration::from_secs(12 * 3600);

/// Sessions; they end with the server.
#[derive(Default)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<SessionId, Session>>,
}

/// A browser's session.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Session {
    /// The secret of its token: it ends when that is removed.
    pub(crate) secret: Box<[u8]>,
    /// The tenant that was chosen at login.
    pub(crate) tenant: Option<Box<str>>,
    started: Instant,
}

impl Sessions {
    /// Begins a session.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub(crate) fn begin(&self, secret: &[u8], tenant: Option<Box<str>>) -> Result<SessionId, std::io::Error> {
        let mut bytes = [0; ID_BYTES];
        random(&mut bytes)?;
        let mut id = String::with_capacity(2 * ID_BYTES);
        for byte in bytes {
            write!(id, "{byte:02x}").expect("writing into a String cannot fail");
        }
        let id: SessionId = id.into();
        let mut open = self.open.lock().expect("no thread panics while it holds the lock");
        open.retain(|_, session| session.started.elapsed() < LENGTH);
        if open.len() >= SESSIONS_MAX {
            let oldest = open.iter().min_by_key(|(_, session)| session.started).map(|(id, _)| id.clone());
            oldest.and_then(|id| open.remove(&id));
        }
        open.insert(id.clone(), Session { secret: secret.into(), tenant, started: Instant::now() });
        Ok(id)
    }

    /// The session that these headers name.
    pub(crate) fn find(&self, headers: &HeaderMap) -> Option<Session> {
        self.find_at(headers, Instant::now())
    }

    fn find_at(&self, headers: &HeaderMap, now: Instant) -> Option<Session> {
        let id = cookie(headers)?;
        let open = self.open.lock().expect("no thread panics while it holds the lock");
        let (known, session) = open.get_key_value(id)?;
        let same = bool::from(known.as_bytes().ct_eq(id.as_bytes()));
        (same && now.saturating_duration_since(session.started) < LENGTH).then(|| session.clone())
    }

    /// Ends the session that these headers name.
    pub(crate) fn end(&self, headers: &HeaderMap) {
        let Some(id) = cookie(headers) else { return };
        self.open.lock().expect("no thread panics while it holds the lock").remove(id);
    }
}

/// With this prefix browsers accept the cookie over TLS only, and from this host only.
const ENCRYPTED_NAME: &str = "__Host-laggard";
const PLAIN_NAME: &str = "laggard";

/// `Set-Cookie` of a session that begins.
pub(crate) fn set_cookie(id: &str, encrypted: bool) -> HeaderValue {
    let (name, secure) = if encrypted { (ENCRYPTED_NAME, "; Secure") } else { (PLAIN_NAME, "") };
    let text =
        format!("{name}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{secure}", LENGTH.as_secs());
    HeaderValue::try_from(text).expect("hex and fixed text are a header's value")
}

/// `Set-Cookie` of a session that ended.
pub(crate) fn clear_cookie(encrypted: bool) -> HeaderValue {
    let (name, secure) = if encrypted { (ENCRYPTED_NAME, "; Secure") } else { (PLAIN_NAME, "") };
    let text = format!("{name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0{secure}");
    HeaderValue::try_from(text).expect("fixed text is a header's value")
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let pairs = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    pairs.flat_map(|value| value.split(';')).find_map(|pair| {
        let (name, id) = pair.trim().split_once('=')?;
        (name == ENCRYPTED_NAME || name == PLAIN_NAME).then_some(id)
    })
}

fn random(bytes: &mut [u8]) -> Result<(), std::io::Error> {
    use std::io::Read;
    std::fs::File::open("/dev/urandom")?.read_exact(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(cookie: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, cookie.parse().unwrap());
        headers
    }

    #[test]
    fn a_session_lasts_for_half_a_day_or_until_logout() {
        let sessions = Sessions::default();
        let id = sessions.begin(b"abc", Some("shop".into())).unwrap();
        let held = headers(&format!("theme=dark; laggard={id}"));
        assert_eq!(*sessions.find(&held).unwrap().secret, *b"abc");
        assert!(sessions.find(&headers("laggard=0")).is_none());
        assert!(sessions.find(&HeaderMap::new()).is_none());
        assert!(sessions.find_at(&held, Instant::now() + LENGTH).is_none());
        let id = sessions.begin(b"abc", None).unwrap();
        let held = headers(&format!("__Host-laggard={id}"));
        sessions.end(&held);
        assert!(sessions.find(&held).is_none());
    }

    #[test]
    fn the_number_of_sessions_is_limited() {
        let sessions = Sessions::default();
        let first = sessions.begin(b"abc", None).unwrap();
        for _ in 0..SESSIONS_MAX {
            sessions.begin(b"abc", None).unwrap();
        }
        assert_eq!(sessions.open.lock().unwrap().len(), SESSIONS_MAX);
        assert!(sessions.find(&headers(&format!("laggard={first}"))).is_none(), "the oldest has to go");
    }

    #[test]
    fn scripts_cannot_read_the_cookie_and_other_sites_cannot_send_it() {
        let plain = set_cookie("ab", false);
        assert_eq!(plain, "laggard=ab; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200");
        let encrypted = set_cookie("ab", true);
        assert_eq!(encrypted, "__Host-laggard=ab; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure");
        assert!(clear_cookie(true).to_str().unwrap().contains("Max-Age=0"));
    }
}
