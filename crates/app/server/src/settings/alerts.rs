//! Settings of alerts.

use super::tokens::read_secret;
use super::{Length, MILLISECOND, SettingError, Size};
use crate::alerts::{Owner, Owners};
use laggard_settings::settings;
use laggard_system::http::root_certificates;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

settings! {
    group "alerts";
    /// Continuous detection and notifications. Why these defaults: `docs/manual/alerts.md`.
    #[derive(Clone, PartialEq, Debug)]
    pub struct AlertSettings {
        /// Whether continuous detection is on
        enabled ("alerts.enabled"): bool = true, any();
        /// Time between evaluations
        every ("alerts.every"): Length = Length::from_secs(60), at_least(0.1);
        /// Length of the evaluated window
        window ("alerts.window"): Length = Length::from_secs(900), within(MILLISECOND, DAY);
        /// Length of the baseline, which ends where the window begins
        baseline ("alerts.baseline"): Length = Length::from_secs(2 * 3600), within(MILLISECOND, DAY);
        /// A shorter window, for what makes a large difference; unused unless shorter than `alerts.window`
        short_window ("alerts.short_window"): Length = Length::from_secs(300), within(MILLISECOND, DAY);
        /// A still shorter one; unused unless shorter than `alerts.short_window`
        shortest_window ("alerts.shortest_window"): Length = Length::from_secs(180), within(MILLISECOND, DAY);
        /// A longer window for what is called rarely; unused unless longer than `alerts.window`
        long_window ("alerts.long_window"): Length = Length::from_secs(3_600), within(MILLISECOND, DAY);
        /// A still longer one; unused unless longer than `alerts.long_window`
        longest_window ("alerts.longest_window"): Length = Length::from_secs(6 * 3_600), within(MILLISECOND, DAY);
        /// Complete requests that window and baseline each need
        requests_min ("alerts.requests_min"): u32 = 100, within(10.0, 1e6);
        /// Least slow-down of the requests that meet the operation, as a share of their usual time
        slower_min ("alerts.slower_min"): f64 = 0.05, within(0.01, 100.0);
        /// An alert fires after findings in this many …
        fire_after ("alerts.fire_after", "evaluations"): u32 = 2, within(1.0, EVALUATIONS_MAX);
        /// … of this many latest evaluations
        fire_of ("alerts.fire_of", "evaluations"): u32 = 3, within(1.0, EVALUATIONS_MAX);
        /// An alert resolves after this many consecutive evaluations without a finding
        resolve_after ("alerts.resolve_after", "evaluations"): u32 = 5, within(1.0, 1_000.0);
        /// An alert that has fired for this long ends: the slow-down counts as usual
        adapt_after ("alerts.adapt_after"): Length = Length::from_secs(86_400), at_least(MILLISECOND);
        /// How long an incident must stay closed before receivers are notified of its end
        confirm_end ("alerts.confirm_end"): Length = Length::from_secs(420), at_least(MILLISECOND);
        /// The notification of an incident that is still open is repeated after this, or `off`
        repeat_after ("alerts.repeat_after"): Option<Length> = None, at_least(MILLISECOND);
        /// Whether servers are watched, by their samples
        servers ("alerts.servers"): bool = true, any();
        /// Length of the time before the last hour that shows what CPU the transactions of a server usually take
        servers_baseline ("alerts.servers_baseline"): Length = Length::from_secs(12 * 3600), within(4.0 * 3600.0, 2.0 * DAY);
        /// Least additional CPU, as a share of the server's
        cpu_min ("alerts.cpu_min"): f64 = 0.02, within(0.001, 1.0);
        /// Part of every server's CPU to be kept free, as a share; 0 for none
        reserve ("alerts.reserve"): f64 = 0.0, within(0.0, 0.99);
        /// Most memory for the requests of one evaluation; beyond it, a sample of them is evaluated
        memory ("alerts.memory"): Size = Size(256 << 20), at_least(1.0);
        /// URL of the pages for links in notifications; `off` for the address of `http`
        pages ("alerts.pages"): Option<String> = None, any();
        /// URL for notifications in the format of Alertmanager's webhook, or `off`
        webhook ("alerts.webhook"): Option<String> = None, any();
        /// A file with the bearer token of the webhook
        webhook_token_file ("alerts.webhook_token_file"): Option<PathBuf> = None, any();
        /// An Alertmanager to notify: `http://host:9093`, or `off`
        alertmanager ("alerts.alertmanager"): Option<String> = None, any();
        /// A file with the bearer token of the Alertmanager
        alertmanager_token_file ("alerts.alertmanager_token_file"): Option<PathBuf> = None, any();
        /// A file with the URL of an incoming webhook of Slack, or `off`
        slack_url_file ("alerts.slack_url_file"): Option<PathBuf> = None, any();
        /// A file with the URL of a webhook of Teams, or `off`
        teams_url_file ("alerts.teams_url_file"): Option<PathBuf> = None, any();
        /// A mail server: `smtps://host` (TLS), `smtp://host:587?tls=required` (STARTTLS), or `smtp://host` (plain)
        email_server ("alerts.email_server"): Option<String> = None, any();
        /// The user at the mail server
        email_user ("alerts.email_user"): Option<String> = None, any();
        /// A file with that user's password
        email_password_file ("alerts.email_password_file"): Option<PathBuf> = None, any();
        /// The sender of email
        email_from ("alerts.email_from"): Option<String> = None, any();
        /// Addresses that get email
        email_to ("alerts.email_to", "entries"): Vec<String> = Vec::new(), within(0.0, 100.0);
        /// A file that says who owns which services, and where their incidents are sent
        owners ("alerts.owners"): Option<PathBuf> = None, any();
        /// Root certificates for webhook and Alertmanager (PEM), instead of the well-known ones
        roots ("alerts.roots"): Option<PathBuf> = None, any();
        /// Longest time for sending a notification
        send_timeout ("alerts.send_timeout"): Length = Length::from_secs(10), at_least(MILLISECOND);
        /// A program that gets notifications on its standard input, or `off`
        exec ("alerts.exec"): Option<PathBuf> = None, any();
        /// Arguments of `alerts.exec`
        exec_arguments ("alerts.exec_arguments", "entries"): Vec<String> = Vec::new(), within(0.0, 100.0);
        /// After this the program is killed
        exec_timeout ("alerts.exec_timeout"): Length = Length::from_secs(30), at_least(MILLISECOND);
        /// How long before an alert received at `/api/v1/alertmanager` the window of its diagnosis begins
        lead ("alerts.lead"): Length = Length::from_secs(900), at_least(MILLISECOND);
        /// Labels of received alerts that may name a service; the first one present is used
        service_labels ("alerts.service_labels", "entries"): Vec<String> = service_labels(), within(0.0, 20.0);
    }
}

fn service_labels() -> Vec<String> {
    ["service", "service_name", "job"].map(str::to_owned).into()
}

/// Contents of the files that the settings name. Secrets are never printed.
#[derive(Clone, Default)]
pub(crate) struct CheckedAlerts {
    pub(crate) webhook_token: Option<String>,
    pub(crate) alertmanager_token: Option<String>,
    /// Certificates of authorities, as PEM.
    pub(crate) roots: Option<Vec<u8>>,
    pub(crate) slack_url: Option<String>,
    pub(crate) teams_url: Option<String>,
    pub(crate) email_password: Option<String>,
    pub(crate) owners: Owners,
    /// For each owner.
    pub(crate) owner_urls: Vec<ChatUrls>,
}

/// Where chats accept messages: secrets.
#[derive(Clone, Default)]
pub(crate) struct ChatUrls {
    pub(crate) slack: Option<String>,
    pub(crate) teams: Option<String>,
}

impl fmt::Debug for CheckedAlerts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CheckedAlerts")
    }
}

/// Evaluations that an alert's state can hold: bits of a word.
const EVALUATIONS_MAX: f64 = 32.0;
const DAY: f64 = 86_400.0;
const PASSWORD_BYTES_MAX: u64 = 4_096;
const ROOTS_BYTES_MAX: u64 = 1 << 20;

impl AlertSettings {
    /// Checks what a range cannot express, and reads the files.
    pub(super) fn read_files(&self) -> Result<CheckedAlerts, SettingError> {
        self.check_pairs()?;
        for (name, url) in
            [("pages", &self.pages), ("webhook", &self.webhook), ("alertmanager", &self.alertmanager)]
        {
            url.as_deref().map_or(Ok(()), |url| check_url(name, url))?;
        }
        self.check_program()?;
        let token = |name: &str, file: &Option<PathBuf>, url: &Option<String>| {
            let Some(file) = file else { return Ok(None) };
            if url.is_none() {
                return Err(invalid(format_args!("{name}_token_file needs {name}")));
            }
            secret(&format!("{name}_token_file"), file).map(Some)
        };
        let owners = match &self.owners {
            None => Owners::default(),
            Some(file) => Owners::read(file)
                .map_err(|problem| invalid(format_args!("owners: {}: {problem}", file.display())))?,
        };
        let urls = |owner: &Owner| {
            Ok(ChatUrls {
                slack: read_url("owners: slack_url_file", &owner.slack_url_file)?,
                teams: read_url("owners: teams_url_file", &owner.teams_url_file)?,
            })
        };
        self.check_email(&owners)?;
        Ok(CheckedAlerts {
            slack_url: read_url("slack_url_file", &self.slack_url_file)?,
            teams_url: read_url("teams_url_file", &self.teams_url_file)?,
            email_password: self.email_password_file.as_deref().map(read_password).transpose()?,
            owner_urls: owners.all.iter().map(urls).collect::<Result<Vec<ChatUrls>, SettingError>>()?,
            owners,
            webhook_token: token("webhook", &self.webhook_token_file, &self.webhook)?,
            alertmanager_token: token("alertmanager", &self.alertmanager_token_file, &self.alertmanager)?,
            roots: self.roots.as_deref().map(read_roots).transpose()?,
        })
    }

    fn check_pairs(&self) -> Result<(), SettingError> {
        if self.fire_after > self.fire_of {
            return Err(invalid(format_args!(
                "fire_after is {}; allowed: 1 to fire_of, which is {}",
                self.fire_after, self.fire_of
            )));
        }
        if self.baseline < self.window {
            return Err(invalid(format_args!(
                "baseline is {}; allowed: at least window, which is {}",
                self.baseline, self.window
            )));
        }
        Ok(())
    }

    fn check_email(&self, owners: &Owners) -> Result<(), SettingError> {
        let is_used = !self.email_to.is_empty() || owners.all.iter().any(|owner| !owner.email.is_empty());
        if is_used && (self.email_server.is_none() || self.email_from.is_none()) {
            return Err(invalid("email_to and owners with email need email_server and email_from"));
        }
        if self.email_user.is_some() != self.email_password_file.is_some() {
            return Err(invalid("email_user and email_password_file need each other"));
        }
        // The password would be in logs.
        let has_password =
            |server: &String| server.split_once('@').is_some_and(|(user, _)| user.matches(':').count() > 1);
        if self.email_server.as_ref().is_some_and(has_password) {
            return Err(invalid("email_server must not have a password (put it into email_password_file)"));
        }
        Ok(())
    }

    fn check_program(&self) -> Result<(), SettingError> {
        let Some(program) = &self.exec else { return Ok(()) };
        if !program.is_absolute() {
            return Err(invalid(format_args!(
                "exec is {}; allowed: the absolute path of a program",
                program.display()
            )));
        }
        match std::fs::metadata(program) {
            Ok(metadata) if metadata.is_file() => Ok(()),
            Ok(_) => Err(invalid(format_args!("exec: {} is not a file", program.display()))),
            Err(error) => Err(invalid(format_args!("exec: {}: {error}", program.display()))),
        }
    }
}

/// The secret in a file.
fn secret(name: &str, file: &Path) -> Result<String, SettingError> {
    let secret = read_secret(file);
    let secret = secret.map_err(|problem| invalid(format_args!("{name}: {}: {problem}", file.display())))?;
    Ok(String::from_utf8(secret).expect("secrets are of characters that headers can carry"))
}

/// The password in a file; unlike a token it is chosen by others.
fn read_password(file: &Path) -> Result<String, SettingError> {
    let explain = |problem: &dyn fmt::Display| {
        invalid(format_args!("email_password_file: {}: {problem}", file.display()))
    };
    let mut text = String::new();
    let read =
        std::fs::File::open(file).and_then(|file| file.take(PASSWORD_BYTES_MAX).read_to_string(&mut text));
    read.map_err(|error| explain(&error))?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() { Err(explain(&"it is empty")) } else { Ok(password.to_owned()) }
}

/// The URL in a file: whoever knows it may send messages.
fn read_url(name: &str, file: &Option<PathBuf>) -> Result<Option<String>, SettingError> {
    let Some(file) = file else { return Ok(None) };
    let url = secret(name, file)?;
    let is_url = url
        .parse::<http::Uri>()
        .is_ok_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.authority().is_some());
    if !is_url {
        return Err(invalid(format_args!("{name}: {} does not have a URL", file.display())));
    }
    Ok(Some(url))
}

fn invalid(problem: impl fmt::Display) -> SettingError {
    SettingError::new(format_args!("alerts.{problem}"))
}

/// A URL without a user, whose password would be in logs, and without a query, except for the webhook.
fn check_url(name: &str, url: &str) -> Result<(), SettingError> {
    let uri: http::Uri =
        url.parse().map_err(|_| invalid(format_args!("{name} is {url:?}, which is not a URL")))?;
    let host = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    if !matches!(uri.scheme_str(), Some("http" | "https")) || !host {
        return Err(invalid(format_args!(
            "{name} is not a URL like http://host:9093 without a user (put the token into a file)"
        )));
    }
    match uri.query() {
        Some(_) if name != "webhook" => Err(invalid(format_args!("{name} must not have a query (`?`)"))),
        _ => Ok(()),
    }
}

fn read_roots(file: &Path) -> Result<Vec<u8>, SettingError> {
    let explain = |problem: &dyn fmt::Display| invalid(format_args!("roots: {}: {problem}", file.display()));
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
    fn invalid_settings_are_rejected() {
        let rejected = |change: fn(&mut AlertSettings)| {
            let mut settings = AlertSettings::default();
            change(&mut settings);
            settings.read_files().expect_err("invalid").to_string()
        };
        assert!(AlertSettings::default().read_files().is_ok());
        for (message, expected) in [
            (rejected(|alerts| alerts.fire_after = 4), "alerts.fire_after is 4; allowed: 1 to fire_of"),
            (rejected(|alerts| alerts.baseline = Length::from_secs(60)), "alerts.baseline is 1m"),
            (
                rejected(|alerts| alerts.webhook = Some("ftp://host".to_owned())),
                "alerts.webhook is not a URL",
            ),
            (rejected(|alerts| alerts.webhook = Some("http://a:b@host".to_owned())), "without a user"),
            (rejected(|alerts| alerts.alertmanager = Some("http://host/?x=1".to_owned())), "query"),
            (rejected(|alerts| alerts.exec = Some("mail".into())), "absolute path"),
            (rejected(|alerts| alerts.exec = Some("/no/such".into())), "/no/such"),
            (rejected(|alerts| alerts.roots = Some("/dev/null".into())), "no PEM certificate"),
            (rejected(|alerts| alerts.webhook_token_file = Some("/dev/null".into())), "needs webhook"),
        ] {
            assert!(message.contains(expected), "{message}");
        }
    }
}
