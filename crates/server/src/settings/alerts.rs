//! What alerts can be told.

use super::quantities::{Length, Size, optional};
use crate::alerts::{Detection, JudgeSettings, Rules};
use serde::Deserialize;
use std::path::PathBuf;

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
    /// Length of what it is compared with: the time before the window, and around the same time a day earlier.
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

impl AlertSettings {
    /// What detection depends on.
    pub fn detection(&self) -> Detection {
        Detection {
            window: self.window.nanos(),
            baseline: self.baseline.nanos(),
            judge: JudgeSettings {
                requests_min: u64::from(self.requests_min),
                slower_min: self.slower_min,
            },
            rules: Rules {
                fire_after: self.fire_after,
                fire_of: self.fire_of,
                resolve_after: self.resolve_after,
                adapt_after: self.adapt_after.nanos(),
                silent_after: SILENT_AFTER.nanos(),
            },
        }
    }
}

/// An alert that cannot be judged for so long is over.
const SILENT_AFTER: Length = Length::from_secs(3600);
