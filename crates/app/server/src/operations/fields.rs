//! Every setting that is one value, a row each: what files, environment variables, flags, `check-config` and the
//! manual have in common.

use crate::settings::{Length, LogForm, OFF, ServeSettings, Size};
use std::net::SocketAddr;
use std::path::PathBuf;

/// One setting.
pub struct Field {
    /// Its place in the file: `store.keep_for`.
    pub key: &'static str,
    /// What it is, in a sentence.
    pub meaning: &'static str,
    pub(crate) set: fn(&mut ServeSettings, &str) -> Result<(), String>,
    pub(crate) show: fn(&ServeSettings) -> String,
}

impl Field {
    /// The value it has unless told otherwise, as a file would have it.
    pub fn default_text(&self) -> String {
        (self.show)(&ServeSettings::default())
    }
}

macro_rules! field {
    ($key:literal, $($place:ident).+, $meaning:literal) => {
        Field {
            key: $key,
            meaning: $meaning,
            set: |settings, text| {
                settings.$($place).+ = Value::read(text)?;
                Ok(())
            },
            show: |settings| Value::show(&settings.$($place).+),
        }
    };
}

const FIELDS: &[Field] = &[
    field!("http", http, "Where API and pages listen."),
    field!("otlp_grpc", otlp_grpc, "Where OTLP over gRPC is taken, or `off`."),
    field!("otlp_http", otlp_http, "Where OTLP over HTTP is taken, or `off`."),
    field!("zipkin", zipkin, "Where Zipkin's spans are taken, or `off`."),
    field!("data", data, "Folder of the data. One server at a time uses it."),
    field!(
        "insecure",
        insecure,
        "`true` lets it listen beyond this machine although nobody has to show a token or a certificate."
    ),
    field!(
        "token_file",
        token_file,
        "A file with one token that may read and write; short for an entry in `tokens`."
    ),
    field!("store.slice", store.slice, "Length of the stretches of time that data are laid out by."),
    field!("store.idle", store.idle, "A trace that had no new span for so long is taken as whole."),
    field!(
        "store.memory",
        store.memory,
        "Most memory for traces that are still open, of each tenant. Beyond it, senders wait, then are told to come back."
    ),
    field!(
        "store.cache",
        store.cache,
        "Most memory for decoded slices that the next question may need, of each tenant."
    ),
    field!(
        "store.upkeep",
        store.upkeep,
        "How often segments are looked at for compaction, and every sixth time for what is too old."
    ),
    field!("store.keep_for", store.keep_for, "Data older than this are deleted, or `off`."),
    field!(
        "store.keep_bytes",
        store.keep_bytes,
        "Beyond so many bytes the oldest data are deleted, of each tenant, or `off`."
    ),
    field!(
        "tls.certificate",
        tls.certificate,
        "The server's certificate and those between it and the root (PEM), or `off` for plain connections."
    ),
    field!("tls.key", tls.key, "Its private key (PEM)."),
    field!(
        "tls.client_roots",
        tls.client_roots,
        "Roots of the certificates that clients must show (PEM); with it, nobody is served without one."
    ),
    field!("tenants.enabled", tenants.enabled, "Whether requests name a tenant, whose data are kept apart."),
    field!("tenants.header", tenants.header, "The header that does."),
    field!("tenants.most", tenants.most, "Most tenants that can be."),
    field!("tenants.default", tenants.default, "The tenant of requests that name none; `off` refuses them."),
    field!(
        "limits.connections",
        limits.connections,
        "Most connections at once, of each listener; more wait to be accepted."
    ),
    field!(
        "limits.connections_per_peer",
        limits.connections_per_peer,
        "Most of them from one address (of IPv6: one /64); more are closed at once."
    ),
    field!("limits.streams", limits.streams, "Most requests at once on one connection of HTTP/2."),
    field!(
        "limits.header_timeout",
        limits.header_timeout,
        "Until when a new connection must have asked for something."
    ),
    field!(
        "limits.idle_timeout",
        limits.idle_timeout,
        "A connection that asks for nothing for so long is closed."
    ),
    field!(
        "limits.body_timeout",
        limits.body_timeout,
        "The body of a request must arrive within this time, and a second more for every 64 KiB of it."
    ),
    field!(
        "limits.send_timeout",
        limits.send_timeout,
        "A client that does not take a piece of an answer for so long, and a second more for every 64 KiB of it, is dropped."
    ),
    field!("limits.message", limits.message, "Largest message of telemetry, as sent."),
    field!("limits.decompressed", limits.decompressed, "Largest message of telemetry, decompressed."),
    field!("limits.upload", limits.upload, "Largest upload of traces or tables, as sent."),
    field!("limits.drain", limits.drain, "How long a stopping server waits for requests in flight."),
    field!("alerts.enabled", alerts.enabled, "Whether it looks for slow operations on its own."),
    field!("alerts.every", alerts.every, "How often it looks."),
    field!("alerts.window", alerts.window, "Length of the window that is judged."),
    field!(
        "alerts.baseline",
        alerts.baseline,
        "Length of what it is compared with: the time before the window."
    ),
    field!(
        "alerts.requests_min",
        alerts.requests_min,
        "Complete requests that window and baseline must each have."
    ),
    field!(
        "alerts.slower_min",
        alerts.slower_min,
        "By how much an operation must make the requests concerned longer, as a share of their usual time."
    ),
    field!("alerts.fire_after", alerts.fire_after, "An alert fires once it was found in so many looks …"),
    field!("alerts.fire_of", alerts.fire_of, "… of the last so many, at most 32."),
    field!(
        "alerts.resolve_after",
        alerts.resolve_after,
        "It is over after so many looks in a row without it."
    ),
    field!("alerts.adapt_after", alerts.adapt_after, "What fires for so long counts as usual from then on."),
    field!(
        "alerts.repeat_after",
        alerts.repeat_after,
        "Who was told of an alert is told again after this, if it still fires."
    ),
    field!(
        "alerts.memory",
        alerts.memory,
        "Most memory for the requests of one look; beyond it, a sample of the traces is judged."
    ),
    field!(
        "alerts.pages",
        alerts.pages,
        "Where people reach the pages, for links in notifications; `off` for the address of `http`."
    ),
    field!(
        "alerts.webhook",
        alerts.webhook,
        "Where notifications are posted, in the form of Alertmanager's webhook, or `off`."
    ),
    field!(
        "alerts.webhook_token_file",
        alerts.webhook_token_file,
        "A file with the bearer token that goes with them."
    ),
    field!(
        "alerts.alertmanager",
        alerts.alertmanager,
        "An Alertmanager that is told of alerts: `http://host:9093`, or `off`."
    ),
    field!("alerts.alertmanager_token_file", alerts.alertmanager_token_file, "A file with its bearer token."),
    field!(
        "alerts.roots",
        alerts.roots,
        "Roots of the certificates of webhook and Alertmanager (PEM), instead of the well-known ones."
    ),
    field!("alerts.send_timeout", alerts.send_timeout, "How long a notification may take to arrive."),
    field!("alerts.exec", alerts.exec, "A program that gets notifications on its standard input, or `off`."),
    field!("alerts.exec_timeout", alerts.exec_timeout, "It is killed after this."),
    field!(
        "alerts.lead",
        alerts.lead,
        "How long before an alert of others began the window of its diagnosis begins."
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
        "Where spans of its own requests are sent, as OTLP over HTTP in JSON: `http://host:4318/v1/traces`; `off` for none."
    ),
    field!("self_tracing.share", self_tracing.share, "The share of requests that is traced, 0 to 1."),
];

/// All of them, in the order of the manual.
pub fn fields() -> &'static [Field] {
    FIELDS
}

/// A value as text, in a variable or a flag; shown as YAML has it.
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
        if text.is_empty() { Err("nothing was given".to_owned()) } else { Ok(text.to_owned()) }
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
