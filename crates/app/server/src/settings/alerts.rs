//! Settings of alerts.

use super::check::read_secret;
use super::{Length, MILLISECOND, SettingError, Size};
use laggard_settings::settings;
use laggard_system::http::root_certificates;
use std::fmt;
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
        /// … of the last so many evaluations
        fire_of ("alerts.fire_of", "evaluations"): u32 = 3, within(1.0, EVALUATIONS_MAX);
        /// It resolves after so many consecutive evaluations without a finding
        resolve_after ("alerts.resolve_after", "evaluations"): u32 = 5, within(1.0, 1_000.0);
        /// After firing for so long, the slow-down counts as usual
        adapt_after ("alerts.adapt_after"): Length = Length::from_secs(86_400), at_least(MILLISECOND);
        /// The notification of an alert that still fires is repeated after this
        repeat_after ("alerts.repeat_after"): Length = Length::from_secs(4 * 3600), at_least(MILLISECOND);
        /// Whether servers are watched, by their samples
        servers ("alerts.servers"): bool = true, any();
        /// Length of the time before the last hour that shows what CPU the transactions of a server usually take
        servers_baseline ("alerts.servers_baseline"): Length = Length::from_secs(12 * 3600), within(4.0 * 3600.0, 2.0 * DAY);
        /// Least additional CPU, as a share of the server's
        cpu_min ("alerts.cpu_min"): f64 = 0.02, within(0.001, 1.0);
        /// Part of every server's CPU to be kept free, as a share; 0 for none
        reserve ("alerts.reserve"): f64 = 0.0, within(0.0, 0.99);
        /// Most memory for the requests of one evaluation; beyond it, a sample of the traces is evaluated
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
}

impl fmt::Debug for CheckedAlerts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CheckedAlerts")
    }
}

/// Evaluations that an alert's state can hold: bits of a word.
const EVALUATIONS_MAX: f64 = 32.0;
const DAY: f64 = 86_400.0;
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
            let secret = read_secret(file);
            let secret = secret.map_err(|problem| {
                invalid(format_args!("{name}_token_file: {}: {problem}", file.display()))
            })?;
            Ok(Some(String::from_utf8(secret).expect("secrets are of characters that headers can carry")))
        };
        Ok(CheckedAlerts {
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
        for (message, wanted) in [
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
            assert!(message.contains(wanted), "{message}");
        }
    }
}
