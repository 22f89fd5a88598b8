//! The state of continuous detection of the server.

use super::detection::Detection;
use super::evaluate::EvaluationSettings;
use super::lifecycle::{Alert, Rules};
use super::owners::Owners;
use super::pending_notifications::waiting;
use super::receivers::{Receiver, receivers};
use super::tenant_alerts::{AllTenantAlerts, TenantAlerts};
use crate::operations::ProcessMemory;
use crate::settings::{AlertSettings, CheckedSettings};
use crate::tenants::Tenants;
use laggard_model::{Nanos, Timestamp};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// State shared by the alerts of all tenants.
pub(crate) struct Alerts {
    pub(crate) settings: AlertSettings,
    pub(super) detection: Detection,
    /// URL of the pages, without a slash at its end.
    pub(crate) pages: String,
    pub(crate) receivers: Vec<Receiver>,
    pub(crate) owners: Owners,
    pub(crate) tenant_alerts: AllTenantAlerts,
    pub(super) tenants: Arc<Tenants>,
    pub(super) memory: Arc<ProcessMemory>,
    /// Limits the queries that run at a time, those of people included.
    pub(super) queries: Arc<Semaphore>,
    pub(super) stopping: CancellationToken,
}

/// An alert that could not be evaluated for this long is resolved.
const SILENT_AFTER: Nanos = Nanos::from_secs(3600);

impl Alerts {
    /// `address`: URL of the pages on this machine, for links of a server whose settings name no other.
    ///
    /// # Errors
    /// When the settings of a receiver are invalid.
    pub(crate) fn new(
        settings: &CheckedSettings,
        address: &str,
        tenants: Arc<Tenants>,
        memory: Arc<ProcessMemory>,
        queries: Arc<Semaphore>,
        stopping: CancellationToken,
    ) -> Result<Arc<Alerts>, String> {
        let alerts = &settings.raw.alerts;
        let pages = alerts.pages.clone().unwrap_or_else(|| address.to_owned());
        Ok(Arc::new(Alerts {
            detection: Detection::from_settings(alerts),
            pages: pages.trim_end_matches('/').to_owned(),
            receivers: receivers(alerts, &settings.alerts)?,
            owners: settings.alerts.owners.clone(),
            tenant_alerts: AllTenantAlerts::new(&settings.raw.data),
            settings: alerts.clone(),
            tenants,
            memory,
            queries,
            stopping,
        }))
    }

    /// Notifications that are pending for a receiver.
    pub(crate) fn waiting(&self, receiver: &Receiver, at: Timestamp) -> usize {
        let is_for = |alert: &Alert| receiver.receives(alert, &self.owners);
        let recipient = receiver.recipient(&self.settings, &is_for);
        let of_tenant = |alerts: &TenantAlerts| waiting(&alerts.state().alerts, recipient, at);
        self.tenant_alerts.all().iter().map(|(_, alerts)| of_tenant(alerts)).sum()
    }

    pub(crate) fn wake(&self) {
        self.receivers.iter().for_each(|receiver| receiver.woken.notify_one());
    }
}

impl Detection {
    /// The configured detection.
    pub fn from_settings(settings: &AlertSettings) -> Detection {
        Detection {
            window: settings.window.nanos(),
            baseline: settings.baseline.nanos(),
            other_windows: other_windows(settings),
            settings: EvaluationSettings {
                requests_min: u64::from(settings.requests_min),
                slower_min: settings.slower_min,
            },
            rules: Rules {
                fire_after: settings.fire_after,
                fire_of: settings.fire_of,
                resolve_after: settings.resolve_after,
                adapt_after: settings.adapt_after.nanos(),
                silent_after: SILENT_AFTER,
            },
        }
    }
}

/// The shorter windows, and the longer ones, each longer than the one before.
fn other_windows(settings: &AlertSettings) -> Vec<Nanos> {
    let [window, shortest, short, long, longest] = [
        settings.window,
        settings.shortest_window,
        settings.short_window,
        settings.long_window,
        settings.longest_window,
    ]
    .map(|length| length.nanos());
    let still_shorter = Some(shortest).filter(|shortest| *shortest < window.min(short));
    let shorter = Some(short).filter(|short| *short < window);
    let longer = Some(long).filter(|long| *long > window);
    let still_longer = Some(longest).filter(|longest| *longest > window.max(long));
    [still_shorter, shorter, longer, still_longer].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_other_window_is_shorter_or_longer_than_the_next() {
        let minutes = |change: fn(&mut AlertSettings)| -> Vec<u64> {
            let mut settings = AlertSettings::default();
            change(&mut settings);
            other_windows(&settings).into_iter().map(|length| length.ns() / 60_000_000_000).collect()
        };
        assert_eq!(minutes(|_| ()), [3, 5, 60, 360]);
        assert_eq!(minutes(|settings| settings.window = "4m".parse().unwrap()), [3, 60, 360]);
        assert_eq!(minutes(|settings| settings.short_window = "2m".parse().unwrap()), [2, 60, 360]);
        assert_eq!(minutes(|settings| settings.long_window = "6h".parse().unwrap()), [3, 5, 360]);
    }
}
