//! Every setting that is one value, a row each: what files, environment variables, flags, `check-config` and the
//! manual have in common.

use crate::settings::{Length, LogForm, OFF, ServeSettings, Size};
use std::net::SocketAddr;
use std::path::PathBuf;

/// One setting.
pub struct Field {
    /// Its path in the configuration file: `store.keep_for`.
    pub key: &'static str,
    /// Its meaning in a sentence.
    pub meaning: &'static str,
    pub(crate) set: fn(&mut ServeSettings, &str) -> Result<(), String>,
    pub(crate) show: fn(&ServeSettings) -> String,
}

impl Field {
    /// The default as written in a configuration file.
    pub fn default_text(&self) -> String {
        (self.show)(&ServeSettings::default())
    }
}

macro_rules! field {
    ($key:literal, $($path:ident).+, $meaning:literal) => {
        Field {
            key: $key,
            meaning: $meaning,
            set: |settings, text| {
                settings.$($path).+ = Value::read(text)?;
                Ok(())
            },
            show: |settings| Value::show(&settings.$($path).+),
        }
    };
}

const FIELDS: &[Field] = &[
    field!("http", http, "Address for API and pages."),
    field!("otlp_grpc", otlp_grpc, "Address for OTLP/gRPC, or `off`."),
    field!("otlp_http", otlp_http, "Address for OTLP/HTTP, or `off`."),
    field!("zipkin", zipkin, "Address for Zipkin spans, or `off`."),
    field!("data", data, "Data folder. One server at a time uses it."),
    field!("insecure", insecure, "`true` allows non-loopback addresses without authentication."),
    field!(
        "token_file",
        token_file,
        "A file with one token for reading and writing; short for an entry in `tokens`."
    ),
    field!("store.slice", store.slice, "Length of the time slices that data are stored in."),
    field!("store.idle", store.idle, "A trace without new spans for so long is finalized."),
    field!(
        "store.memory",
        store.memory,
        "Most memory for open traces, per tenant. Beyond it, senders wait, then get 503 or UNAVAILABLE with a time to retry after."
    ),
    field!("store.cache", store.cache, "Most memory for decoded slices, per tenant."),
    field!(
        "store.upkeep",
        store.upkeep,
        "How often segments are checked for compaction, and every sixth time for expired data."
    ),
    field!("store.keep_for", store.keep_for, "Data older than this are deleted; `off` for never."),
    field!(
        "store.keep_bytes",
        store.keep_bytes,
        "Beyond so many bytes the oldest data are deleted, per tenant; `off` for no limit."
    ),
    field!(
        "tls.certificate",
        tls.certificate,
        "The server's certificate chain (PEM), or `off` for plain connections."
    ),
    field!("tls.key", tls.key, "Its private key (PEM)."),
    field!(
        "tls.client_roots",
        tls.client_roots,
        "Root certificates for clients (PEM); with it, every client needs a certificate."
    ),
    field!("tenants.enabled", tenants.enabled, "Whether requests name a tenant, whose data are separate."),
    field!("tenants.header", tenants.header, "The header with the name of the tenant."),
    field!("tenants.most", tenants.most, "Most tenants."),
    field!("tenants.default", tenants.default, "The tenant of requests that name none; `off` rejects them."),
    field!(
        "limits.connections",
        limits.connections,
        "Most connections of each listener; more wait to be accepted."
    ),
    field!(
        "limits.connections_per_peer",
        limits.connections_per_peer,
        "Most connections from one address (IPv6: one /64); more are closed at once."
    ),
    field!("limits.streams", limits.streams, "Most concurrent requests on one HTTP/2 connection."),
    field!(
        "limits.header_timeout",
        limits.header_timeout,
        "Longest time until the first request of a connection."
    ),
    field!("limits.idle_timeout", limits.idle_timeout, "An idle connection is closed after this."),
    field!(
        "limits.body_timeout",
        limits.body_timeout,
        "Longest time for the body of a request, plus a second for every 64 KiB."
    ),
    field!(
        "limits.send_timeout",
        limits.send_timeout,
        "Longest time for a client to receive a chunk of a response, plus a second for every 64 KiB."
    ),
    field!("limits.message", limits.message, "Largest message of telemetry, as sent."),
    field!("limits.decompressed", limits.decompressed, "Largest message of telemetry, decompressed."),
    field!("limits.upload", limits.upload, "Largest upload of traces or tables, as sent."),
    field!("limits.drain", limits.drain, "How long a stopping server waits for requests in flight."),
    field!("alerts.enabled", alerts.enabled, "Whether continuous detection is on."),
    field!("alerts.every", alerts.every, "Time between evaluations."),
    field!("alerts.window", alerts.window, "Length of the evaluated window."),
    field!("alerts.baseline", alerts.baseline, "Length of the baseline, which ends where the window begins."),
    field!(
        "alerts.requests_min",
        alerts.requests_min,
        "Complete requests that window and baseline each need."
    ),
    field!(
        "alerts.slower_min",
        alerts.slower_min,
        "Least slow-down of the affected requests, as a share of their usual time."
    ),
    field!("alerts.fire_after", alerts.fire_after, "An alert fires after findings in this many …"),
    field!("alerts.fire_of", alerts.fire_of, "… of the last so many evaluations, at most 32."),
    field!(
        "alerts.resolve_after",
        alerts.resolve_after,
        "It resolves after so many consecutive evaluations without a finding."
    ),
    field!(
        "alerts.adapt_after",
        alerts.adapt_after,
        "After firing for so long, the slow-down counts as usual."
    ),
    field!(
        "alerts.repeat_after",
        alerts.repeat_after,
        "The notification of an alert that still fires is repeated after this."
    ),
    field!(
        "alerts.memory",
        alerts.memory,
        "Most memory for the requests of one evaluation; beyond it, a sample of the traces is evaluated."
    ),
    field!(
        "alerts.pages",
        alerts.pages,
        "URL of the pages for links in notifications; `off` for the address of `http`."
    ),
    field!(
        "alerts.webhook",
        alerts.webhook,
        "URL for notifications in the format of Alertmanager's webhook, or `off`."
    ),
    field!(
        "alerts.webhook_token_file",
        alerts.webhook_token_file,
        "A file with the bearer token of the webhook."
    ),
    field!(
        "alerts.alertmanager",
        alerts.alertmanager,
        "An Alertmanager to notify: `http://host:9093`, or `off`."
    ),
    field!(
        "alerts.alertmanager_token_file",
        alerts.alertmanager_token_file,
        "A file with the bearer token of the Alertmanager."
    ),
    field!(
        "alerts.roots",
        alerts.roots,
        "Root certificates for webhook and Alertmanager (PEM), instead of the well-known ones."
    ),
    field!("alerts.send_timeout", alerts.send_timeout, "Longest time for sending a notification."),
    field!("alerts.exec", alerts.exec, "A program that gets notifications on its standard input, or `off`."),
    field!("alerts.exec_timeout", alerts.exec_timeout, "After this the program is killed."),
    field!(
        "alerts.lead",
        alerts.lead,
        "How long before an alert received at `/api/v1/alertmanager` the window of its diagnosis begins."
    ),
    field!("logs.form", logs.form, "`text` for people, `json` for programs."),
    field!(
        "logs.level",
        logs.level,
        "`error`, `warn`, `info`, `debug`, `trace`, or a filter like `info,laggard_store=debug`."
    ),
    field!(
        "self_tracing.endpoint",
        self_tracing.endpoint,
        "OTLP/HTTP endpoint for spans of the server's own requests: `http://host:4318/v1/traces`, or `off`."
    ),
    field!(
        "self_tracing.share",
        self_tracing.share,
        "Share of the server's requests that are traced, 0 to 1."
    ),
];

/// All settings, in the order of the manual.
pub fn fields() -> &'static [Field] {
    FIELDS
}

/// A value that is read from text and written as YAML.
trait Value: Sized {
    fn read(text: &str) -> Result<Self, String>;
    fn show(&self) -> String;
}

macro_rules! plain_value {
    ($($kind:ty => $expected:literal),+ $(,)?) => {$(
        impl Value for $kind {
            fn read(text: &str) -> Result<Self, String> {
                text.trim().parse().map_err(|_| format!("{text:?} is not {}", $expected))
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    )+};
}

plain_value!(
    bool => "true or false",
    u32 => "a whole number",
    f64 => "a number",
    SocketAddr => "an address like 127.0.0.1:4316 or [::1]:4316",
    Length => "a length of time above zero like 500ms, 30s, 5m, 12h or 7d",
    Size => "a size above zero like 4096, 64KiB, 512MiB or 2GiB",
);

impl Value for String {
    fn read(text: &str) -> Result<String, String> {
        if text.is_empty() { Err("the value is empty".to_owned()) } else { Ok(text.to_owned()) }
    }

    fn show(&self) -> String {
        super::show::quoted(self)
    }
}

impl Value for PathBuf {
    fn read(text: &str) -> Result<PathBuf, String> {
        String::read(text).map(PathBuf::from)
    }

    fn show(&self) -> String {
        super::show::quoted(&self.to_string_lossy())
    }
}

impl Value for LogForm {
    fn read(text: &str) -> Result<LogForm, String> {
        match text {
            "text" => Ok(LogForm::Text),
            "json" => Ok(LogForm::Json),
            _ => Err(format!("{text:?} is not text or json")),
        }
    }

    fn show(&self) -> String {
        match self {
            LogForm::Text => "text",
            LogForm::Json => "json",
        }
        .to_owned()
    }
}

impl<T: Value> Value for Option<T> {
    fn read(text: &str) -> Result<Option<T>, String> {
        if text == OFF { Ok(None) } else { T::read(text).map(Some) }
    }

    fn show(&self) -> String {
        self.as_ref().map_or_else(|| OFF.to_owned(), T::show)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_has_every_setting_as_it_is() {
        let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/manual/serve.md");
        let manual = std::fs::read_to_string(manual).unwrap();
        for field in fields() {
            let row = format!("| `{}` | `{}` | {} |\n", field.key, field.default_text(), field.meaning);
            assert!(manual.contains(&row), "docs/manual/serve.md lacks\n{row}");
        }
        let rows = manual.lines().filter(|line| line.starts_with("| `") && line.matches(" | ").count() == 2);
        let settings = rows.filter(|row| !row.starts_with("| `127.")).count();
        assert_eq!(settings, fields().len() + 4, "settings that there are not, or lists that are missing");
    }
}
