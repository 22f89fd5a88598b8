//! Settings of the server, each declared once: its type, key, range, default, and meaning.
//!
//! ```text
//! settings! { ... } ─► struct, Default, check
//!                   └─► rows by key ─► configuration file, environment, --set, flags, --check-config, `laggard settings serve`, manual
//! ```

mod alerts;
mod check;
mod listener;
mod log_filter;
mod objectives;
mod recordings;
mod tokens;
mod trace_sources;

pub use alerts::AlertSettings;
pub(crate) use alerts::CheckedAlerts;
pub use check::CheckedSettings;
pub(crate) use check::{TENANT_NAMES, TENANTS, is_tenant_name};
pub use laggard_settings::{Length, SettingError, Size};
pub(crate) use listener::ListenerKind;
pub(crate) use log_filter::log_filter;
pub use objectives::ObjectiveSettings;
pub use recordings::RecordingSettings;
pub(crate) use tokens::{CheckedToken, TokenList};
pub use trace_sources::TraceSourceSettings;

use laggard_formats::DEFAULT_ATTRIBUTES;
use laggard_settings::{Choice, settings};
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Shortest length that a setting can have, in seconds: lengths are above zero.
const MILLISECOND: f64 = 0.001;

const fn local(port: u16) -> SocketAddr {
    SocketAddr::V4(std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port))
}

settings! {
    group "serve";
    /// The configuration file; flags and environment variables override single settings.
    #[derive(Clone, PartialEq, Debug)]
    pub struct ServeSettings {
        /// Address for API and pages
        http ("http"): SocketAddr = local(4316), any();
        /// Address for OTLP/gRPC, or `off`
        otlp_grpc ("otlp_grpc"): Option<SocketAddr> = Some(local(4317)), any(), "OpenTelemetry";
        /// Address for OTLP/HTTP, or `off`
        otlp_http ("otlp_http"): Option<SocketAddr> = Some(local(4318)), any(), "OpenTelemetry";
        /// Address for Zipkin spans, or `off`
        zipkin ("zipkin"): Option<SocketAddr> = Some(local(9411)), any(), "Zipkin";
        /// Data folder. One server at a time uses it
        data ("data"): PathBuf = PathBuf::from("laggard-data"), any();
        /// Most memory of the process, for all tenants and questions together; `off` for three quarters of the machine's, or of
        /// the control group's if that has less
        memory ("memory"): Option<Size> = None, at_least(268_435_456.0);
        /// Allow non-loopback addresses without authentication
        insecure ("insecure"): bool = false, any();
        /// File with a token that clients must send; short for an entry in `tokens` that may read and write
        token_file ("token_file"): Option<PathBuf> = None, any();
        /// Names, beside addresses and `localhost`, under which browsers may reach it
        names ("names", "entries"): Vec<String> = Vec::new(), at_least(0.0);
        /// Attributes of requests and services to retain, separated by commas: these short names, or attributes' own names
        attributes ("attributes"): String = DEFAULT_ATTRIBUTES.to_owned(), any();
    }
    groups {
        /// The store of each tenant.
        store: StorageSettings;
        /// Workers.
        cluster: WorkersSettings;
        /// Certificates.
        tls: TlsSettings;
        /// Separate data, named by a header.
        tenants: TenantSettings;
        /// Limits of one client, or of all together.
        limits: LimitSettings;
        /// Continuous detection and notifications.
        alerts: AlertSettings;
        /// Kernel recordings of hosts.
        recordings: RecordingSettings;
        /// Log lines.
        logs: LogSettings;
        /// Spans of its own requests.
        self_tracing: SelfTracingSettings;
    }
    other {
        /// Who may read and write.
        tokens: Vec<TokenSettings> = Vec::new();
        /// Service level objectives.
        objectives: Vec<ObjectiveSettings> = Vec::new();
        /// Servers that traces are read from.
        trace_sources: Vec<TraceSourceSettings> = Vec::new();
    }
}

settings! {
    group "store";
    /// The store of each tenant: layout, memory, retention.
    #[derive(Clone, PartialEq, Debug)]
    pub struct StorageSettings {
        /// Length of the time slices that data are stored in
        slice ("store.slice"): Length = Length::from_secs(300), at_least(MILLISECOND);
        /// A trace without new spans for this long is finalized
        idle ("store.idle"): Length = Length::from_secs(10), at_least(MILLISECOND);
        /// Most memory for open traces of all tenants; at most a quarter of `memory`. Beyond it, senders wait, then get 503 or
        /// UNAVAILABLE with a time to retry after
        memory ("store.memory"): Size = Size(512 << 20), at_least(1.0);
        /// Most memory for decoded slices of all tenants; at most a quarter of `memory`
        cache ("store.cache"): Size = Size(512 << 20), at_least(1.0);
        /// How often segments are checked for compaction, and every sixth time for expired data
        upkeep ("store.upkeep"): Length = Length::from_secs(10), at_least(MILLISECOND);
        /// Data is deleted this long after it arrived; `off` for never
        keep_for ("store.keep_for"): Option<Length> = Some(Length::from_secs(7 * 86_400)), at_least(MILLISECOND);
        /// Maximum size of a tenant's data; beyond it the oldest are deleted; `off` for no limit
        keep_bytes ("store.keep_bytes"): Option<Size> = None, at_least(1.0);
        /// Where segments are, below the name of this server: `file:///FOLDER`, or in programs built with the feature `s3`, `gcs`, or
        /// `azure` `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, or `az://CONTAINER/PREFIX`; `off` for the data folder. The write-ahead log and
        /// all else stay in the data folder
        url ("store.url"): Option<String> = None, any();
        /// The name of this server below `store.url`, which no other server has
        writer ("store.writer"): String = "default".to_owned(), any();
        /// With `store.url`: `receive` data, `query` what all servers below the URL have stored, or `both`
        role ("store.role"): ServerRole = ServerRole::Both, choice();
        /// With `store.url`: names of servers that are gone; this one merges and expires their data
        adopt ("store.adopt", "entries"): Vec<String> = Vec::new(), within(0.0, 100.0);
        /// With `store.url`: how often it is looked for what other servers have stored
        refresh ("store.refresh"): Length = Length::from_secs(5), at_least(0.1);
        /// With `store.url`: how long this server must have given no sign of life before one of the same name with another data
        /// folder may continue in its place
        takeover_after ("store.takeover_after"): Length = Length::from_secs(30), at_least(1.0);
        /// With `store.url`: files of replaced and expired segments are deleted this long after, so that other programs can read
        /// them until then
        delete_after ("store.delete_after"): Length = Length::from_secs(900), at_least(MILLISECOND);
    }
}

/// What a server with `store.url` does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerRole {
    /// It receives and stores data, and answers no questions about it.
    Receive,
    /// It answers from what all servers below the URL have stored, and takes no data.
    Query,
    /// Both.
    Both,
}

impl Choice for ServerRole {
    const CHOICES: &'static [(&'static str, ServerRole)] =
        &[("receive", ServerRole::Receive), ("query", ServerRole::Query), ("both", ServerRole::Both)];
}

settings! {
    group "cluster";
    /// Processes that read the store for this server.
    #[derive(Clone, PartialEq, Debug)]
    pub struct WorkersSettings {
        /// Workers (`laggard worker`) that read the store for diagnoses and comparisons: `HOST:PORT`. In programs built with the feature
        /// `cluster`
        workers ("cluster.workers", "entries"): Vec<String> = Vec::new(), within(0.0, 1000.0);
        /// File with the token that the workers require
        token_file ("cluster.token_file"): Option<PathBuf> = None, any();
        /// Root certificates of the workers (PEM), for encrypted connections; `off` for plain ones
        roots ("cluster.roots"): Option<PathBuf> = None, any();
        /// Certificate chain of this server (PEM), for workers that require one
        client_certificate ("cluster.client_certificate"): Option<PathBuf> = None, any();
        /// Its private key (PEM)
        client_key ("cluster.client_key"): Option<PathBuf> = None, any();
        /// Windows stored in slices of fewer spans are read by the server itself, which is faster
        spans_min ("cluster.spans_min"): u32 = 1_000_000, within(0.0, 1e9);
    }
}

settings! {
    group "tls";
    /// Certificates, in files of PEM; they are read again when they change.
    #[derive(Clone, PartialEq, Debug)]
    pub struct TlsSettings {
        /// The server's certificate chain (PEM), or `off` for plain connections
        certificate ("tls.certificate"): Option<PathBuf> = None, any();
        /// Its private key (PEM)
        key ("tls.key"): Option<PathBuf> = None, any();
        /// Root certificates for clients (PEM); with it, every client needs a certificate
        client_roots ("tls.client_roots"): Option<PathBuf> = None, any();
    }
}

/// One bearer token.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenSettings {
    /// Its name in logs.
    pub name: String,
    /// The file it is read from, again when it changes: one a line, so that the old one can stay valid beside the new one;
    /// white space around it is ignored.
    pub file: PathBuf,
    /// The scopes that it allows.
    pub scopes: Vec<Scope>,
    /// Tenants it is for; empty for all.
    #[serde(default)]
    pub tenants: Vec<String>,
}

/// A permission of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Queries.
    Read,
    /// Sending data.
    Write,
}

settings! {
    group "tenants";
    /// Separate data, named by a header.
    #[derive(Clone, PartialEq, Debug)]
    pub struct TenantSettings {
        /// Whether requests name a tenant, whose data are separate
        enabled ("tenants.enabled"): bool = false, any();
        /// The header with the name of the tenant
        header ("tenants.header"): String = "X-Scope-OrgID".to_owned(), any(), "Grafana's stores";
        /// Most tenants
        most ("tenants.most"): u32 = 16, within(1.0, 1e5);
        /// The tenant of requests that name none; `off` rejects them
        default ("tenants.default"): Option<String> = None, any();
    }
}

settings! {
    group "limits";
    /// Limits of one client, or of all together.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct LimitSettings {
        /// Most connections of each listener; for another one an idle one is closed, else it waits to be accepted
        connections ("limits.connections"): u32 = 1024, within(1.0, 1e5);
        /// Most connections from one address (IPv6: one /64); for another one an idle one is closed, else it is refused
        connections_per_peer ("limits.connections_per_peer"): u32 = 512, within(1.0, 1e5);
        /// Most concurrent requests on one HTTP/2 connection
        streams ("limits.streams"): u32 = 128, within(1.0, 1e5);
        /// Longest time until the first request of a connection
        header_timeout ("limits.header_timeout"): Length = Length::from_secs(10), at_least(MILLISECOND);
        /// An idle connection is closed after this
        idle_timeout ("limits.idle_timeout"): Length = Length::from_secs(120), at_least(MILLISECOND);
        /// Longest time for the body of a request, plus a second for every 64 KiB
        body_timeout ("limits.body_timeout"): Length = Length::from_secs(20), at_least(MILLISECOND);
        /// Longest time for a client to receive a chunk of a response, plus a second for every 64 KiB
        send_timeout ("limits.send_timeout"): Length = Length::from_secs(30), at_least(MILLISECOND);
        /// Largest message of telemetry, as sent
        message ("limits.message"): Size = Size(20 << 20), at_least(1.0), "OpenTelemetry Collector";
        /// Largest message of telemetry, decompressed
        decompressed ("limits.decompressed"): Size = Size(64 << 20), at_least(1.0);
        /// Largest upload of traces or tables, as sent
        upload ("limits.upload"): Size = Size(1 << 30), at_least(1.0);
        /// Longest time that a question or an import may run
        run_time ("limits.run_time"): Length = Length::from_secs(900), at_least(MILLISECOND);
        /// Most calls of requests that one diagnosis or comparison reads; of more, the most frequent kinds of requests are thinned
        calls ("limits.calls"): u32 = 100_000_000, within(1.0, 1e9);
        /// How long a stopping server waits for requests in flight
        drain ("limits.drain"): Length = Length::from_secs(20), at_least(MILLISECOND);
    }
}

settings! {
    group "logs";
    /// Log lines, on standard error.
    #[derive(Clone, PartialEq, Debug)]
    pub struct LogSettings {
        /// `text` for people, `json` for programs
        form ("logs.form"): LogForm = LogForm::Text, choice();
        /// `error`, `warn`, `info`, `debug`, `trace`, or a filter like `info,laggard_store=debug`
        level ("logs.level"): String = "info".to_owned(), any();
    }
}

/// Form of log lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogForm {
    /// For people.
    Text,
    /// For programs: one object a line.
    Json,
}

impl Choice for LogForm {
    const CHOICES: &'static [(&'static str, LogForm)] = &[("text", LogForm::Text), ("json", LogForm::Json)];
}

settings! {
    group "self_tracing";
    /// Spans of its own requests.
    #[derive(Clone, PartialEq, Debug)]
    pub struct SelfTracingSettings {
        /// OTLP/HTTP endpoint for spans of the server's own requests: `http://host:4318/v1/traces`, or `off`
        endpoint ("self_tracing.endpoint"): Option<String> = None, any();
        /// Share of the server's requests that are traced
        share ("self_tracing.share"): f64 = 0.01, within(0.0, 1.0);
    }
}
