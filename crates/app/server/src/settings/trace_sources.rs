//! Servers that traces are read from, as the configuration file declares them.

use super::check::{TENANT_NAMES, is_tenant_name};
use super::{Length, SettingError};
use laggard_system::Credentials;
use laggard_trace_sources::{SOURCES, SourceClient, SourceSettings};
use serde::de::{self, Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// A server whose traces are read again and again.
#[derive(Clone, PartialEq, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSourceSettings {
    /// Its name in logs, and that of the file with the time up to which it was read; unique.
    pub name: String,
    /// The kind of server: a name of `SOURCES`.
    pub kind: String,
    /// Its URL.
    pub url: String,
    /// Only traces with a span of this service.
    #[serde(default)]
    pub service: Option<String>,
    /// The table or pattern of indices, where it is a database.
    #[serde(default)]
    pub table: Option<String>,
    /// Its tenant, sent as `X-Scope-OrgID`.
    #[serde(default)]
    pub source_tenant: Option<String>,
    /// File with a bearer token.
    #[serde(default)]
    pub token_file: Option<PathBuf>,
    /// File with `user:password`.
    #[serde(default)]
    pub basic_file: Option<PathBuf>,
    /// File with the certificates (PEM) of the authorities to trust, instead of the well-known ones.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// How often it is read.
    #[serde(default = "minute", deserialize_with = "length")]
    pub every: Length,
    /// How long after their start traces are read: spans that it gets later are not.
    #[serde(default = "minute", deserialize_with = "length")]
    pub delay: Length,
    /// About the most traces to read at a time; of more, a fair sample.
    #[serde(default = "default_traces")]
    pub traces: u64,
    /// The tenant whose data they become.
    #[serde(default)]
    pub tenant: Option<String>,
}

// Limit: servers that `laggard serve` reads traces from | rejected
/// Most sources.
const SOURCES_MAX: usize = 16;

/// Largest file with a secret or with certificates, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

const fn minute() -> Length {
    Length::from_secs(60)
}

const fn default_traces() -> u64 {
    10_000
}

fn length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Length, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

/// Checks what the types cannot express, and reads the files once.
pub(super) fn check_trace_sources(
    sources: &[TraceSourceSettings],
    has_tenants: bool,
) -> Result<(), SettingError> {
    if sources.len() > SOURCES_MAX {
        return Err(SettingError::new(format_args!(
            "{} trace sources; at most {SOURCES_MAX}",
            sources.len()
        )));
    }
    let mut names = BTreeSet::new();
    for source in sources {
        source.check(has_tenants)?;
        if !names.insert(&source.name) {
            return Err(source.invalid("there are two trace sources of this name"));
        }
    }
    Ok(())
}

impl TraceSourceSettings {
    /// A client of the server, with the secrets that its files have now.
    ///
    /// # Errors
    /// An unknown kind, a URL that cannot be one, and a file that cannot be read.
    pub(crate) fn client(&self) -> Result<SourceClient, String> {
        let kinds: Vec<&str> = SOURCES.iter().map(|row| row.name).collect();
        let row = SOURCES.iter().find(|row| row.name == self.kind);
        let row = row.ok_or_else(|| format!("kind is {:?}; allowed: {}", self.kind, kinds.join(", ")))?;
        let credentials = match (&self.token_file, &self.basic_file) {
            (Some(_), Some(_)) => return Err("set one of token_file and basic_file, not both".to_owned()),
            (Some(file), None) => Some(Credentials::bearer(&text_of(file)?)),
            (None, Some(file)) => Some(Credentials::basic(&text_of(file)?)),
            (None, None) => None,
        };
        let settings = SourceSettings {
            credentials: credentials.transpose().map_err(|error| error.to_string())?,
            tenant: self.source_tenant.clone(),
            table: self.table.clone(),
            authorities_pem: self.ca_file.as_deref().map(text_of).transpose()?.map(String::into_bytes),
            ..SourceSettings::new(row, &self.url)
        };
        SourceClient::new(settings).map_err(|error| error.to_string())
    }

    fn check(&self, has_tenants: bool) -> Result<(), SettingError> {
        if !is_tenant_name(&self.name) {
            return Err(self.invalid(format_args!("its name can have {TENANT_NAMES}")));
        }
        if self.traces == 0 {
            return Err(self.invalid("traces is 0; allowed: at least 1"));
        }
        if self.every < Length::from_secs(1) {
            return Err(self.invalid(format_args!("every is {}; allowed: at least 1s", self.every)));
        }
        match &self.tenant {
            Some(name) if !is_tenant_name(name) => {
                return Err(self
                    .invalid(format_args!("{name:?} is not a valid tenant name; allowed: {TENANT_NAMES}")));
            }
            Some(_) if !has_tenants => {
                return Err(self.invalid("it has a tenant, but tenants.enabled is false"));
            }
            None if has_tenants => {
                return Err(self.invalid("tenants.enabled is true, but it has no tenant"));
            }
            _ => {}
        }
        self.client().map(drop).map_err(|reason| self.invalid(reason))
    }

    fn invalid(&self, problem: impl fmt::Display) -> SettingError {
        SettingError::new(format_args!("trace source {:?}: {problem}", self.name))
    }
}

fn text_of(file: &Path) -> Result<String, String> {
    let unreadable = |reason: &dyn fmt::Display| format!("{}: {reason}", file.display());
    if std::fs::metadata(file).map_err(|error| unreadable(&error))?.len() > FILE_BYTES_MAX {
        return Err(unreadable(&"larger than 1 MiB"));
    }
    std::fs::read_to_string(file).map_err(|error| unreadable(&error))
}

#[cfg(test)]
impl TraceSourceSettings {
    /// A Jaeger server that is read every second.
    pub(crate) fn example(url: &str) -> TraceSourceSettings {
        TraceSourceSettings {
            name: "jaeger".to_owned(),
            kind: "jaeger".to_owned(),
            url: url.to_owned(),
            service: None,
            table: None,
            source_tenant: None,
            token_file: None,
            basic_file: None,
            ca_file: None,
            every: Length::from_secs(1),
            delay: minute(),
            traces: default_traces(),
            tenant: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_sources_are_rejected() {
        let example = || TraceSourceSettings::example("http://localhost:16686");
        assert!(check_trace_sources(&[example()], false).is_ok());
        let rejected = |change: fn(&mut TraceSourceSettings)| {
            let mut changed = example();
            change(&mut changed);
            check_trace_sources(&[changed], false).expect_err("invalid").to_string()
        };
        for (message, expected) in [
            (rejected(|source| source.name = "a/b".to_owned()), "its name can have"),
            (rejected(|source| source.kind = "yeager".to_owned()), "allowed: jaeger, tempo"),
            (rejected(|source| source.url = "localhost".to_owned()), "is not a URL like"),
            (rejected(|source| source.table = Some("t".to_owned())), "has no tables"),
            (rejected(|source| source.traces = 0), "at least 1"),
            (rejected(|source| source.every = Length::from_millis(1)), "at least 1s"),
            (rejected(|source| source.tenant = Some("a".to_owned())), "tenants.enabled is false"),
            (rejected(|source| source.token_file = Some("/nonexistent/x".into())), "/nonexistent/x"),
        ] {
            assert!(message.starts_with("trace source ") && message.contains(expected), "{message}");
        }
        let twice = check_trace_sources(&[example(), example()], false).unwrap_err().to_string();
        assert!(twice.contains("two trace sources of this name"), "{twice}");
        assert!(check_trace_sources(&[example()], true).unwrap_err().to_string().contains("has no tenant"));
    }
}
