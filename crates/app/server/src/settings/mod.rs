//! Everything a server can be told, as its configuration file has it.
//!
//! `operations/fields.rs` lists the same fields once more, one a row: what flags, environment variables, the
//! manual and `check-config` are made of.

mod alerts;
mod check;
mod listener;
mod log_filter;
mod quantities;

pub use alerts::AlertSettings;
pub(crate) use alerts::CheckedAlerts;
pub use check::{CheckedSettings, SettingsError};
pub(crate) use check::{CheckedToken, TENANT_NAMES, is_tenant_name};
pub(crate) use listener::ListenerKind;
pub(crate) use log_filter::log_filter;
pub(crate) use quantities::OFF;
use quantities::optional;
pub use quantities::{Length, Size};

use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The configuration file; flags and environment variables override single fields.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServeSettings {
    /// Where API and pages listen.
    pub http: SocketAddr,
    /// Where OTLP over gRPC is taken.
    #[serde(deserialize_with = "optional")]
    pub otlp_grpc: Option<SocketAddr>,
    /// Where OTLP over HTTP is taken.
    #[serde(deserialize_with = "optional")]
    pub otlp_http: Option<SocketAddr>,
    /// Where Zipkin's spans are taken.
    #[serde(deserialize_with = "optional")]
    pub zipkin: Option<SocketAddr>,
    /// Folder of the data.
    pub data: PathBuf,
    /// Whether it may listen beyond this machine without tokens or certificates of clients.
    pub insecure: bool,
    /// Names, beside addresses and `localhost`, under which browsers may reach it.
    pub names: Vec<String>,
    /// What is kept, and how much.
    pub store: KeepSettings,
    /// Certificates.
    pub tls: TlsSettings,
    /// Who may read and write.
    pub tokens: Vec<TokenSettings>,
    /// A file with one token that may read and write; short for an entry in `tokens`.
    #[serde(deserialize_with = "optional")]
    pub token_file: Option<PathBuf>,
    /// Data kept apart by a header.
    pub tenants: TenantSettings,
    /// What one client, or all of them, can use.
    pub limits: LimitSettings,
    /// Continuous detection, and whom it tells.
    pub alerts: AlertSettings,
    /// Log lines.
    pub logs: LogSettings,
    /// Spans of its own requests.
    pub self_tracing: SelfTracingSettings,
}

/// What is kept, and how much.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeepSettings {
    /// Length of the stretches of time that data are laid out by.
    pub slice: Length,
    /// A trace that had no new span for so long is taken as whole.
    pub idle: Length,
    /// Most memory for traces that are still open, of each tenant.
    pub memory: Size,
    /// Most memory for decoded slices that the next question may need, of each tenant.
    pub cache: Size,
    /// How often segments are looked at for compaction, and every sixth time for what is too old.
    pub upkeep: Length,
    /// Data older than this are deleted.
    #[serde(deserialize_with = "optional")]
    pub keep_for: Option<Length>,
    /// Beyond so many bytes the oldest data are deleted, of each tenant.
    #[serde(deserialize_with = "optional")]
    pub keep_bytes: Option<Size>,
}

/// Certificates, in files of PEM; they are read again when they change.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// The server's certificate and those between it and the root.
    #[serde(deserialize_with = "optional")]
    pub certificate: Option<PathBuf>,
    /// Its private key.
    #[serde(deserialize_with = "optional")]
    pub key: Option<PathBuf>,
    /// Roots of the certificates that clients must show; with it, nobody is served without one.
    #[serde(deserialize_with = "optional")]
    pub client_roots: Option<PathBuf>,
}

/// One bearer token.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenSettings {
    /// How logs call it.
    pub name: String,
    /// The file it is read from; spaces around it do not count.
    pub file: PathBuf,
    /// What it allows.
    pub scopes: Vec<Scope>,
    /// Tenants it is for; empty for all.
    #[serde(default)]
    pub tenants: Vec<String>,
}

/// What a token allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Asking.
    Read,
    /// Sending data.
    Write,
}

/// Data kept apart by a header.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TenantSettings {
    /// Whether requests name a tenant.
    pub enabled: bool,
    /// The header that does.
    pub header: String,
    /// Most tenants that can be.
    pub most: u32,
    /// The tenant of requests that name none; without it they are refused.
    #[serde(deserialize_with = "optional")]
    pub default: Option<String>,
}

/// What one client, or all of them, can use.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitSettings {
    /// Most connections at once, of each listener; more wait to be accepted.
    pub connections: u32,
    /// Most of them from one address; more are closed at once.
    pub connections_per_peer: u32,
    /// Most requests at once on one connection of HTTP/2.
    pub streams: u32,
    /// Until when a new connection must have asked for something.
    pub header_timeout: Length,
    /// A connection that asks for nothing for so long is closed.
    pub idle_timeout: Length,
    /// A request's body must arrive within this time, and a second more for every 64 KiB of it.
    pub body_timeout: Length,
    /// A client that takes nothing of an answer for so long is dropped.
    pub send_timeout: Length,
    /// Largest message of telemetry, as sent.
    pub message: Size,
    /// Largest message of telemetry, decompressed.
    pub decompressed: Size,
    /// Largest upload of traces or tables, as sent.
    pub upload: Size,
    /// How long a stopping server waits for requests in flight.
    pub drain: Length,
}

/// Log lines, on standard error.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSettings {
    /// Text for people, JSON for programs.
    pub form: LogForm,
    /// `error`, `warn`, `info`, `debug`, `trace`, or a filter like `info,laggard_store=debug`.
    pub level: String,
}

/// Form of log lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogForm {
    /// For people.
    Text,
    /// For programs: one object a line.
    Json,
}

/// Spans of its own requests.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelfTracingSettings {
    /// Where they are sent, as OTLP over HTTP in JSON: `http://host:4318/v1/traces`. Without it there are none.
    #[serde(deserialize_with = "optional")]
    pub endpoint: Option<String>,
    /// The share of requests that is traced, 0 to 1.
    pub share: f64,
}

impl Default for ServeSettings {
    /// Loopback only, everything taken, a week kept.
    fn default() -> ServeSettings {
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        ServeSettings {
            http: local(4316),
            otlp_grpc: Some(local(4317)),
            otlp_http: Some(local(4318)),
            zipkin: Some(local(9411)),
            data: PathBuf::from("laggard-data"),
            insecure: false,
            names: Vec::new(),
            store: KeepSettings::default(),
            tls: TlsSettings::default(),
            tokens: Vec::new(),
            token_file: None,
            tenants: TenantSettings::default(),
            limits: LimitSettings::default(),
            alerts: AlertSettings::default(),
            logs: LogSettings::default(),
            self_tracing: SelfTracingSettings::default(),
        }
    }
}

impl Default for KeepSettings {
    /// A week; 512 MiB for open traces and as much for slices.
    fn default() -> KeepSettings {
        KeepSettings {
            slice: Length::from_secs(300),
            idle: Length::from_secs(10),
            memory: Size(512 << 20),
            cache: Size(512 << 20),
            upkeep: Length::from_secs(10),
            keep_for: Some(Length::from_secs(7 * 24 * 3600)),
            keep_bytes: None,
        }
    }
}

impl Default for TenantSettings {
    /// Off; the header that Grafana's stores use.
    fn default() -> TenantSettings {
        TenantSettings { enabled: false, header: "X-Scope-OrgID".to_owned(), most: 16, default: None }
    }
}

impl Default for LimitSettings {
    /// For one machine: what the OpenTelemetry Collector allows in a message, a thousand connections.
    fn default() -> LimitSettings {
        LimitSettings {
            connections: 1024,
            connections_per_peer: 512,
            streams: 128,
            header_timeout: Length::from_secs(10),
            idle_timeout: Length::from_secs(120),
            body_timeout: Length::from_secs(20),
            send_timeout: Length::from_secs(30),
            message: Size(20 << 20),
            decompressed: Size(64 << 20),
            upload: Size(1 << 30),
            drain: Length::from_secs(20),
        }
    }
}

impl Default for LogSettings {
    /// Text, what a person should know.
    fn default() -> LogSettings {
        LogSettings { form: LogForm::Text, level: "info".to_owned() }
    }
}

impl Default for SelfTracingSettings {
    /// Off.
    fn default() -> SelfTracingSettings {
        SelfTracingSettings { endpoint: None, share: 0.01 }
    }
}
