//! Checks of the settings before anything starts.

use super::listener::ListenerKind;
use super::log_filter::log_filter;
use super::objectives::check_objectives;
use super::tokens::CheckedToken;
use super::trace_sources::check_trace_sources;
use super::{
    CheckedAlerts, ServeSettings, ServerRole, SettingError, StorageSettings, TlsSettings, WorkersSettings,
};
use laggard_settings::Settings;
use laggard_store::DataLocation;
use std::net::SocketAddr;
use std::sync::Arc;

/// Settings whose values were checked and whose files were read.
#[derive(Clone, Debug)]
pub struct CheckedSettings {
    /// The settings themselves.
    pub raw: ServeSettings,
    pub(crate) tokens: Arc<[CheckedToken]>,
    pub(crate) alerts: CheckedAlerts,
}

/// Smallest ratio of a slice to the idle time of traces; with shorter slices most traces would be split.
const IDLE_SLICE_RATIO: u32 = 2;

impl ServeSettings {
    /// Checks every value and reads the files with tokens.
    ///
    /// # Errors
    /// The first value that is out of its range, file that cannot be read, or combination that makes no sense.
    pub fn check(self) -> Result<CheckedSettings, SettingError> {
        Settings::check(&self)?;
        self.check_pairs()?;
        log_filter(&self.logs.level).map(drop)?;
        self.tls.check_pair()?;
        self.cluster.check(self.store.role)?;
        let tokens = self.token_list().read_all()?;
        self.check_exposure(!tokens.is_empty())?;
        check_objectives(&self.objectives)?;
        check_trace_sources(&self.trace_sources, self.tenants.enabled)?;
        if self.store.role == ServerRole::Query && !self.trace_sources.is_empty() {
            return Err(SettingError::new("trace_sources: a server with store.role query takes no data"));
        }
        let alerts = self.alerts.read_files()?;
        Ok(CheckedSettings { raw: self, tokens: tokens.into(), alerts })
    }

    fn check_pairs(&self) -> Result<(), SettingError> {
        let store = &self.store;
        if store.slice.duration() < store.idle.duration() * IDLE_SLICE_RATIO {
            return Err(SettingError::new(format_args!(
                "store.slice is {}; allowed: at least {IDLE_SLICE_RATIO} times store.idle, which is {}",
                store.slice, store.idle
            )));
        }
        if self.limits.decompressed < self.limits.message {
            return Err(SettingError::new("limits.decompressed must be at least limits.message"));
        }
        self.recordings.check_pairs()?;
        self.store.check_url()?;
        self.check_tenants()
    }

    /// Checks the names of tenants, those of tokens among them.
    pub(crate) fn check_tenants(&self) -> Result<(), SettingError> {
        if http::HeaderName::from_bytes(self.tenants.header.as_bytes()).is_err() {
            return Err(SettingError::new(format_args!(
                "tenants.header is {:?}, which is not a valid header name",
                self.tenants.header
            )));
        }
        let named = self.tokens.iter().flat_map(|token| &token.tenants).chain(&self.tenants.default);
        for name in named {
            if !is_tenant_name(name) {
                return Err(SettingError::new(format_args!(
                    "{name:?} is not a valid tenant name; allowed: {TENANT_NAMES}"
                )));
            }
        }
        Ok(())
    }

    /// Other machines need a token or a client certificate, unless the server is explicitly insecure.
    fn check_exposure(&self, has_tokens: bool) -> Result<(), SettingError> {
        if self.insecure || has_tokens || self.tls.client_roots.is_some() {
            return Ok(());
        }
        let Some((listener, address)) =
            self.addresses().into_iter().find(|(_, address)| !address.ip().is_loopback())
        else {
            return Ok(());
        };
        let name = listener.name();
        Err(SettingError::new(format_args!(
            "{name} is {address}, which other machines can reach, but clients need no authentication. Set token_file, \
             tokens, or tls.client_roots, or allow it with insecure: true (--insecure)"
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

impl StorageSettings {
    /// Checks that segments can be where `store.url` says, as far as that is known without a connection.
    fn check_url(&self) -> Result<(), SettingError> {
        let Some(url) = &self.url else {
            return match self.role {
                _ if !self.adopt.is_empty() => {
                    Err(SettingError::new("store.adopt needs store.url: the names are of servers below it"))
                }
                ServerRole::Both => Ok(()),
                ServerRole::Receive | ServerRole::Query => Err(SettingError::new(
                    "store.role needs store.url: a server without it answers from what it stores itself",
                )),
            };
        };
        if !url.contains("://") {
            return Err(SettingError::new(format_args!(
                "store.url is {url:?}; allowed: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, or file:///FOLDER"
            )));
        }
        DataLocation::parse(url).map_err(|error| SettingError::new(format_args!("store.url: {error}")))?;
        // `URL/tenants` would look like the folder of one server.
        if !is_tenant_name(&self.writer) || self.writer == TENANTS {
            return Err(SettingError::new(format_args!(
                "store.writer is {:?}; allowed: {TENANT_NAMES}, but not {TENANTS:?}",
                self.writer
            )));
        }
        if self.role != ServerRole::Query && self.adopt.contains(&self.writer) {
            return Err(SettingError::new("store.adopt names this server itself (store.writer)"));
        }
        Ok(())
    }
}

impl WorkersSettings {
    fn check(&self, role: ServerRole) -> Result<(), SettingError> {
        if self.workers.is_empty() == self.token_file.is_some() {
            return Err(SettingError::new(
                "cluster.workers and cluster.token_file must both be set, or neither",
            ));
        }
        if self.client_certificate.is_some() != self.client_key.is_some() {
            return Err(SettingError::new(
                "cluster.client_certificate and cluster.client_key must both be set, or neither",
            ));
        }
        if self.roots.is_some() && self.workers.is_empty() {
            return Err(SettingError::new("cluster.roots needs cluster.workers"));
        }
        if self.client_key.is_some() && self.roots.is_none() {
            return Err(SettingError::new("cluster.client_certificate needs cluster.roots"));
        }
        if !self.workers.is_empty() && role == ServerRole::Receive {
            return Err(SettingError::new(
                "cluster.workers: a server with store.role receive answers no questions that workers could read the store for",
            ));
        }
        Ok(())
    }
}

impl TlsSettings {
    fn check_pair(&self) -> Result<(), SettingError> {
        match (&self.certificate, &self.key, &self.client_roots) {
            (Some(_), Some(_), _) | (None, None, None) => Ok(()),
            (None, None, Some(_)) => {
                Err(SettingError::new("tls.client_roots needs tls.certificate and tls.key"))
            }
            _ => Err(SettingError::new("tls.certificate and tls.key must both be set, or neither")),
        }
    }
}

/// The folder of all tenants.
pub(crate) const TENANTS: &str = "tenants";

/// Valid tenant names; they are names of folders, too.
pub(crate) const TENANT_NAMES: &str = "1 to 64 of A-Z, a-z, 0-9, _ and -";

pub(crate) fn is_tenant_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(allowed)
}
