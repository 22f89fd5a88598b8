//! What alerts can be told.

use super::SettingsError;
use super::check::read_secret;
use super::quantities::{Length, Size, optional};
use laggard_system::http::root_certificates;
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Continuous detection, and whom it tells.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AlertSettings {
    /// Whether it looks at all.
    pub enabled: bool,
    /// How often.
    pub every: Length,
    /// Length of the window that is judged.
    pub window: Length,
    /// Length of what it is compared with: the time before the window.
    pub baseline: Length,
    /// Complete requests that both must have.
    pub requests_min: u32,
    /// By how much requests must take longer, as a share of their usual time.
    pub slower_min: f64,
    /// Found so often …
    pub fire_after: u32,
    /// … in so many looks, it fires.
    pub fire_of: u32,
    /// Not found in so many looks in a row, it is over.
    pub resolve_after: u32,
    /// What lasts for so long counts as usual.
    pub adapt_after: Length,
    /// Who was told of an alert that still fires is told again after this.
    pub repeat_after: Length,
    /// Most memory for the requests of one look.
    pub memory: Size,
    /// Where people reach the pages; links begin with it.
    #[serde(deserialize_with = "optional")]
    pub pages: Option<String>,
    /// Where notifications are posted.
    #[serde(deserialize_with = "optional")]
    pub webhook: Option<String>,
    /// A file with the bearer token that goes with them.
    #[serde(deserialize_with = "optional")]
    pub webhook_token_file: Option<PathBuf>,
    /// An Alertmanager that is told of every firing alert.
    #[serde(deserialize_with = "optional")]
    pub alertmanager: Option<String>,
    /// A file with its bearer token.
    #[serde(deserialize_with = "optional")]
    pub alertmanager_token_file: Option<PathBuf>,
    /// Roots of the certificates of webhook and Alertmanager.
    #[serde(deserialize_with = "optional")]
    pub roots: Option<PathBuf>,
    /// How long each may take.
    pub send_timeout: Length,
    /// A program that is run with notifications on its standard input.
    #[serde(deserialize_with = "optional")]
    pub exec: Option<PathBuf>,
    /// Its arguments.
    pub exec_arguments: Vec<String>,
    /// It is killed after this.
    pub exec_timeout: Length,
    /// How long before an alert of others began its diagnosis begins.
    pub lead: Length,
    /// Labels of others' alerts that may name a service; the first that there is counts.
    pub service_labels: Vec<String>,
}

impl Default for AlertSettings {
    /// Looks every minute, tells nobody. Why these: `docs/manual/alerts.md`.
    fn default() -> AlertSettings {
        AlertSettings {
            enabled: true,
            every: Length::from_secs(60),
            window: Length::from_secs(900),
            baseline: Length::from_secs(2 * 3600),
            requests_min: 100,
            slower_min: 0.2,
            fire_after: 2,
            fire_of: 3,
            resolve_after: 5,
            adapt_after: Length::from_secs(24 * 3600),
            repeat_after: Length::from_secs(4 * 3600),
            memory: Size(256 << 20),
            pages: None,
            webhook: None,
            webhook_token_file: None,
            alertmanager: None,
            alertmanager_token_file: None,
            roots: None,
            send_timeout: Length::from_secs(10),
            exec: None,
            exec_arguments: Vec::new(),
            exec_timeout: Length::from_secs(30),
            lead: Length::from_secs(900),
            service_labels: ["service", "service_name", "job"].map(str::to_owned).into(),
        }
    }
}

/// What the files hold that the settings name. Secrets are never printed.
#[derive(Clone, Default)]
pub(crate) struct CheckedAlerts {
    pub(crate) webhook_token: Option<String>,
    pub(crate) alertmanager_token: Option<String>,
    /// Certificates of authorities, as PEM.
    pub(crate) roots: Option<Vec<u8>>,
}

impl fmt::Debug for CheckedAlerts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CheckedAlerts")
    }
}

/// Looks that a window of them can remember.
const LOOKS_MAX: u32 = 32;
const ROOTS_BYTES_MAX: u64 = 1 << 20;
const ARGUMENTS_MAX: usize = 100;
const LABELS_MAX: usize = 20;
const WINDOW_MAX: Length = Length::from_secs(24 * 3600);
const EVERY_MIN: Duration = Duration::from_millis(100);

impl AlertSettings {
    /// Checks every value and reads the files.
    pub(super) fn check(&self) -> Result<CheckedAlerts, SettingsError> {
        self.check_numbers()?;
        self.check_lengths()?;
        for (name, url) in
            [("pages", &self.pages), ("webhook", &self.webhook), ("alertmanager", &self.alertmanager)]
        {
            url.as_deref().map_or(Ok(()), |url| check_url(name, url))?;
        }
        self.check_program()?;
        if self.service_labels.len() > LABELS_MAX {
            return Err(wrong(format_args!(
                "service_labels are {}; at most {LABELS_MAX}",
                self.service_labels.len()
            )));
        }
        let token = |name: &str, file: &Option<PathBuf>, of: &Option<String>| {
            let Some(file) = file else { return Ok(None) };
            if of.is_none() {
                return Err(wrong(format_args!("{name}_token_file is given without {name}")));
            }
            let secret = read_secret(file);
            let secret = secret
                .map_err(|problem| wrong(format_args!("{name}_token_file: {}: {problem}", file.display())))?;
            Ok(Some(String::from_utf8(secret).expect("secrets are of characters that headers can carry")))
        };
        Ok(CheckedAlerts {
            webhook_token: token("webhook", &self.webhook_token_file, &self.webhook)?,
            alertmanager_token: token("alertmanager", &self.alertmanager_token_file, &self.alertmanager)?,
            roots: self.roots.as_deref().map(read_roots).transpose()?,
        })
    }

    fn check_numbers(&self) -> Result<(), SettingsError> {
        let counts = [
            ("requests_min", self.requests_min, 10, 1_000_000),
            ("fire_of", self.fire_of, 1, LOOKS_MAX),
            ("fire_after", self.fire_after, 1, self.fire_of),
            ("resolve_after", self.resolve_after, 1, 1_000),
        ];
        for (name, value, least, most) in counts {
            if !(least..=most).contains(&value) {
                return Err(wrong(format_args!("{name} is {value}; give {least} to {most}")));
            }
        }
        if !(0.01..=100.0).contains(&self.slower_min) {
            return Err(wrong(format_args!("slower_min is {}; give 0.01 to 100", self.slower_min)));
        }
        Ok(())
    }

    fn check_lengths(&self) -> Result<(), SettingsError> {
        if self.every.duration() < EVERY_MIN {
            return Err(wrong(format_args!("every is {}; give 100ms or more", self.every)));
        }
        if self.window > WINDOW_MAX || self.baseline > WINDOW_MAX {
            return Err(wrong(format_args!("window and baseline are at most {WINDOW_MAX}")));
        }
        if self.baseline < self.window {
            return Err(wrong(format_args!(
                "baseline is {}, window {}; give a baseline that is at least as long",
                self.baseline, self.window
            )));
        }
        Ok(())
    }

    fn check_program(&self) -> Result<(), SettingsError> {
        if self.exec_arguments.len() > ARGUMENTS_MAX {
            return Err(wrong(format_args!(
                "exec_arguments are {}; at most {ARGUMENTS_MAX}",
                self.exec_arguments.len()
            )));
        }
        let Some(program) = &self.exec else { return Ok(()) };
        if !program.is_absolute() {
            return Err(wrong(format_args!(
                "exec is {}; give the whole path of a program",
                program.display()
            )));
        }
        match std::fs::metadata(program) {
            Ok(found) if found.is_file() => Ok(()),
            Ok(_) => Err(wrong(format_args!("exec: {} is no file", program.display()))),
            Err(error) => Err(wrong(format_args!("exec: {}: {error}", program.display()))),
        }
    }
}

fn wrong(problem: impl fmt::Display) -> SettingsError {
    SettingsError::new(format!("alerts.{problem}"))
}

/// An address without a user, whose password would be in logs, and without a query, which `pages` cannot have.
fn check_url(name: &str, url: &str) -> Result<(), SettingsError> {
    let uri: http::Uri =
        url.parse().map_err(|_| wrong(format_args!("{name} is {url:?}, which is no address")))?;
    let host = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    if !matches!(uri.scheme_str(), Some("http" | "https")) || !host {
        return Err(wrong(format_args!(
            "{name} takes an address like http://host:9093, without a user (a token goes into a file)"
        )));
    }
    match uri.query() {
        Some(_) if name != "webhook" => Err(wrong(format_args!("{name} takes an address without `?`"))),
        _ => Ok(()),
    }
}

fn read_roots(file: &Path) -> Result<Vec<u8>, SettingsError> {
    let explain = |problem: &dyn fmt::Display| wrong(format_args!("roots: {}: {problem}", file.display()));
    let length = std::fs::metadata(file).map_err(|error| explain(&error))?.len();
    if length > ROOTS_BYTES_MAX {
        return Err(explain(&format_args!("{length} bytes; at most {ROOTS_BYTES_MAX}")));
    }
    let pem = std::fs::read(file).map_err(|error| explain(&error))?;
    root_certificates(&pem).map_err(|problem| explain(&problem))?;
    Ok(pem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_told() {
        let told = |change: fn(&mut AlertSettings)| {
            let mut settings = AlertSettings::default();
            change(&mut settings);
            settings.check().expect_err("it cannot be").to_string()
        };
        assert!(AlertSettings::default().check().is_ok());
        for (message, wanted) in [
            (told(|alerts| alerts.fire_after = 4), "alerts.fire_after is 4; give 1 to 3"),
            (told(|alerts| alerts.fire_of = 33), "alerts.fire_of is 33; give 1 to 32"),
            (told(|alerts| alerts.slower_min = f64::NAN), "alerts.slower_min is NaN"),
            (told(|alerts| alerts.requests_min = 0), "alerts.requests_min is 0; give 10"),
            (told(|alerts| alerts.baseline = Length::from_secs(60)), "alerts.baseline is 1m, window 15m"),
            (
                told(|alerts| alerts.webhook = Some("ftp://host".to_owned())),
                "alerts.webhook takes an address",
            ),
            (told(|alerts| alerts.webhook = Some("http://a:b@host".to_owned())), "without a user"),
            (told(|alerts| alerts.alertmanager = Some("http://host/?x=1".to_owned())), "without `?`"),
            (told(|alerts| alerts.exec = Some("mail".into())), "whole path"),
            (told(|alerts| alerts.exec = Some("/no/such".into())), "/no/such"),
            (told(|alerts| alerts.roots = Some("/dev/null".into())), "no PEM certificate"),
            (told(|alerts| alerts.webhook_token_file = Some("/dev/null".into())), "without webhook"),
        ] {
            assert!(message.contains(wanted), "{message}");
        }
    }
}
