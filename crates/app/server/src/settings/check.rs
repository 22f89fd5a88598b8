//! What is checked before anything starts.

use super::listener::ListenerKind;
use super::log_filter::log_filter;
use super::{CheckedAlerts, Scope, ServeSettings, TlsSettings, TokenSettings};
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// Settings that were checked: every value is in its range, files that it names were read.
#[derive(Clone, Debug)]
pub struct CheckedSettings {
    /// As given.
    pub raw: ServeSettings,
    pub(crate) tokens: Arc<[CheckedToken]>,
    pub(crate) alerts: CheckedAlerts,
}

/// A token with its secret. It is never printed.
#[derive(Clone)]
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

/// A setting that cannot be, in a sentence that says which one and what is allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsError {
    message: String,
}

impl SettingsError {
    pub(crate) fn new(message: impl Into<String>) -> SettingsError {
        SettingsError { message: message.into() }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SettingsError {}

/// A slice must be so many times as long as a trace may be idle, or every trace would be cut by one.
const IDLE_SLICE_RATIO: u32 = 2;

/// Shorter secrets can be guessed.
const SECRET_BYTES_MIN: usize = 16;
const SECRET_BYTES_MAX: usize = 4096;
const TOKENS_MAX: usize = 1000;

impl ServeSettings {
    /// Checks every value and reads the files with tokens.
    ///
    /// # Errors
    /// The first value that is out of its range, file that cannot be read, or combination that makes no sense.
    pub fn check(self) -> Result<CheckedSettings, SettingsError> {
        self.check_values()?;
        log_filter(&self.logs.level).map(drop)?;
        self.tls.check()?;
        let tokens = read_tokens(&self)?;
        self.check_exposure(!tokens.is_empty())?;
        let alerts = self.alerts.check()?;
        Ok(CheckedSettings { raw: self, tokens: tokens.into(), alerts })
    }

    fn check_values(&self) -> Result<(), SettingsError> {
        let store = &self.store;
        if store.slice.duration() < store.idle.duration() * IDLE_SLICE_RATIO {
            return Err(SettingsError::new(format!(
                "store.slice is {}, store.idle {}: a slice must be at least {IDLE_SLICE_RATIO} times as long as a \
                 trace may be idle",
                store.slice, store.idle
            )));
        }
        if self.limits.decompressed < self.limits.message {
            return Err(SettingsError::new(
                "limits.decompressed is less than limits.message; give at least as much",
            ));
        }
        let counts = [
            ("limits.connections", self.limits.connections),
            ("limits.connections_per_peer", self.limits.connections_per_peer),
            ("limits.streams", self.limits.streams),
            ("tenants.most", self.tenants.most),
        ];
        if let Some((name, value)) = counts.into_iter().find(|(_, value)| !(1..=100_000).contains(value)) {
            return Err(SettingsError::new(format!("{name} is {value}; give 1 to 100000")));
        }
        if !(0.0..=1.0).contains(&self.self_tracing.share) {
            return Err(SettingsError::new(format!(
                "self_tracing.share is {}; give 0 to 1",
                self.self_tracing.share
            )));
        }
        self.check_tenants()
    }

    fn check_tenants(&self) -> Result<(), SettingsError> {
        if http::HeaderName::from_bytes(self.tenants.header.as_bytes()).is_err() {
            return Err(SettingsError::new(format!(
                "tenants.header is {:?}, which is no name of a header",
                self.tenants.header
            )));
        }
        let named = self.tokens.iter().flat_map(|token| &token.tenants).chain(&self.tenants.default);
        for name in named {
            if !is_tenant_name(name) {
                return Err(SettingsError::new(format!("{name:?} is no name of a tenant; {TENANT_NAMES}")));
            }
        }
        Ok(())
    }

    /// Beyond this machine only those who show something may come in, unless somebody said so.
    fn check_exposure(&self, tokens: bool) -> Result<(), SettingsError> {
        if self.insecure || tokens || self.tls.client_roots.is_some() {
            return Ok(());
        }
        let Some((listener, address)) = self.addresses().into_iter().find(|(_, at)| !at.ip().is_loopback())
        else {
            return Ok(());
        };
        let name = listener.name();
        Err(SettingsError::new(format!(
            "{name} is {address}, which others can reach, and nobody has to show a token. Give token_file or \
             tokens, or tls.client_roots, or say insecure: true (--insecure)"
        )))
    }

    /// The address of every listener that is on.
    pub(crate) fn addresses(&self) -> Vec<(ListenerKind, SocketAddr)> {
        let all = [
            (ListenerKind::Http, Some(self.http)),
            (ListenerKind::OtlpGrpc, self.otlp_grpc),
            (ListenerKind::OtlpHttp, self.otlp_http),
            (ListenerKind::Zipkin, self.zipkin),
        ];
        all.into_iter().filter_map(|(listener, address)| Some((listener, address?))).collect()
    }
}

impl TlsSettings {
    fn check(&self) -> Result<(), SettingsError> {
        match (&self.certificate, &self.key, &self.client_roots) {
            (Some(_), Some(_), _) | (None, None, None) => Ok(()),
            (None, None, Some(_)) => {
                Err(SettingsError::new("tls.client_roots needs tls.certificate and tls.key beside it"))
            }
            _ => Err(SettingsError::new("tls.certificate and tls.key belong together; give both or none")),
        }
    }
}

/// What names of tenants may be: they are names of folders, too.
pub(crate) const TENANT_NAMES: &str = "1 to 64 of A-Z, a-z, 0-9, _ and -";

/// Whether a tenant can be called so.
pub(crate) fn is_tenant_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(allowed)
}

fn read_tokens(settings: &ServeSettings) -> Result<Vec<CheckedToken>, SettingsError> {
    let short = settings.token_file.iter().map(|file| TokenSettings {
        name: "token_file".to_owned(),
        file: file.clone(),
        scopes: vec![Scope::Read, Scope::Write],
        tenants: Vec::new(),
    });
    let given: Vec<TokenSettings> = settings.tokens.iter().cloned().chain(short).collect();
    if given.len() > TOKENS_MAX {
        return Err(SettingsError::new(format!("{} tokens; at most {TOKENS_MAX}", given.len())));
    }
    given.into_iter().map(read_token).collect()
}

fn read_token(token: TokenSettings) -> Result<CheckedToken, SettingsError> {
    if token.scopes.is_empty() {
        return Err(SettingsError::new(format!(
            "token {:?} has no scopes; give read, write or both",
            token.name
        )));
    }
    let secret = read_secret(&token.file).map_err(|problem| {
        SettingsError::new(format!("token {:?}: {}: {problem}", token.name, token.file.display()))
    })?;
    Ok(CheckedToken {
        name: token.name,
        secret,
        read: token.scopes.contains(&Scope::Read),
        write: token.scopes.contains(&Scope::Write),
        tenants: token.tenants,
    })
}

pub(super) fn read_secret(file: &Path) -> Result<Vec<u8>, String> {
    let length = std::fs::metadata(file).map_err(|error| error.to_string())?.len();
    if length > SECRET_BYTES_MAX as u64 {
        return Err(format!("{length} bytes are no token; at most {SECRET_BYTES_MAX}"));
    }
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let secret = text.trim();
    if secret.len() < SECRET_BYTES_MIN {
        return Err(format!(
            "the token has {} characters, give at least {SECRET_BYTES_MIN}, for example `openssl rand -hex 32`",
            secret.len()
        ));
    }
    if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("the token has spaces or characters that no header can carry".to_owned());
    }
    Ok(secret.as_bytes().to_vec())
}
