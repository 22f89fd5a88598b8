//! Watches the versions on received spans as long as the server runs, and stores what became of them.

use super::TenantEvents;
use super::versions::{KnownVersions, ObservedVersions};
use crate::tenants::{Tenant, Tenants};
use laggard_model::{Nanos, Timestamp};
use laggard_report::{SystemEvent, SystemEventSource};
use laggard_system::now;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often new versions become events.
const EVERY: Duration = Duration::from_secs(5);

/// Known versions are saved once in this number of checks.
const SAVED_EVERY: u32 = 12;

/// A version that appears again within this of an event of it is the same deployment.
const SAME_DEPLOYMENT: Nanos = Nanos::from_secs(3_600);

const VERSION: u32 = 1;

/// More than the limits of known versions allow.
const FILE_BYTES_MAX: u64 = 256 << 20;

#[derive(Serialize, Deserialize)]
struct VersionFile<K> {
    version: u32,
    known: K,
}

/// The versions of one tenant's services.
pub(crate) struct VersionWatch {
    path: PathBuf,
    known: Mutex<KnownVersions>,
}

impl VersionWatch {
    /// Opens what is known in a tenant's folder. A file that cannot be read is renamed; then the versions of the next spans
    /// count as the first ones, which are no events.
    pub(crate) fn open(folder: &Path) -> VersionWatch {
        let path = folder.join("versions.json");
        let known = read(&path).unwrap_or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::error!(file = %path.display(), %error, "stored versions cannot be read; starting without them");
                // Renaming fails if the disk does; then the file stays until it is replaced.
                let _ = std::fs::rename(&path, path.with_extension("json.unreadable"));
            }
            KnownVersions::default()
        });
        VersionWatch { path, known: Mutex::new(known) }
    }

    /// Adds what a stored message reports.
    pub(crate) fn add(&self, observed: ObservedVersions) {
        if !observed.is_empty() {
            self.known().add(observed, now());
        }
    }

    /// Stores the events of new versions. Blocks.
    fn store_events(&self, events: &TenantEvents, at: Timestamp) {
        let mut new = self.known().new_events(at);
        new.retain(|event| !is_known(events, event));
        for event in &new {
            tracing::info!(service = %event.service, version = event.version, "spans report a new version");
        }
        if let Err(error) = events.add(new, at) {
            tracing::error!(%error, "new versions could not be stored as events");
        }
    }

    /// Replaces the file atomically. Blocks.
    fn save(&self) {
        if let Err(error) = self.try_save() {
            tracing::error!(file = %self.path.display(), %error, "known versions cannot be saved");
        }
    }

    fn try_save(&self) -> io::Result<()> {
        let folder = self.path.parent().ok_or_else(|| io::Error::other("it is in no folder"))?;
        let bytes = serde_json::to_vec(&VersionFile { version: VERSION, known: &*self.known() })?;
        let mut fresh = tempfile::Builder::new().prefix("versions.").suffix(".new").tempfile_in(folder)?;
        fresh.write_all(&bytes)?;
        fresh.as_file().sync_all()?;
        fresh.persist(&self.path)?;
        File::open(folder)?.sync_all()
    }

    fn known(&self) -> MutexGuard<'_, KnownVersions> {
        self.known.lock().expect("no thread panics while it holds the lock")
    }
}

fn read(path: &Path) -> io::Result<KnownVersions> {
    let length = std::fs::metadata(path)?.len();
    if length > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("{length} bytes; at most {FILE_BYTES_MAX}")));
    }
    let stored: VersionFile<KnownVersions> = serde_json::from_slice(&std::fs::read(path)?)?;
    match stored.version {
        VERSION => Ok(stored.known),
        other => Err(io::Error::other(format!("unknown version {other}; this program reads {VERSION}"))),
    }
}

/// Whether it is an event already: what is known of versions may be older than the events after a crash.
fn is_known(events: &TenantEvents, new: &SystemEvent) -> bool {
    let around = events.within(new.at().minus(SAME_DEPLOYMENT), new.at().plus(SAME_DEPLOYMENT));
    around.iter().any(|event| {
        event.source == SystemEventSource::Spans
            && event.service == new.service
            && event.version == new.version
    })
}

/// Stores the events of new versions until the server stops.
pub(crate) async fn watch_versions(tenants: Arc<Tenants>, stopping: CancellationToken) {
    for round in 1_u32.. {
        tokio::select! {
            () = stopping.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        for tenant in tenants.all() {
            store(tenant, round.is_multiple_of(SAVED_EVERY)).await;
        }
    }
}

/// Saves known versions when the server stops.
pub(crate) async fn save_versions(tenants: &Tenants) {
    for tenant in tenants.all() {
        store(tenant, true).await;
    }
}

async fn store(tenant: Arc<Tenant>, saves: bool) {
    let storing = tokio::task::spawn_blocking(move || {
        tenant.versions.store_events(&tenant.events, now());
        if saves {
            tenant.versions.save();
        }
    });
    if let Err(error) = storing.await {
        tracing::error!(%error, "versions could not be stored");
    }
}
