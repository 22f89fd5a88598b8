//! Alerts on disk: one small file per tenant, replaced atomically.

use super::lifecycle::AlertList;
use laggard_system::now;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file of a tenant, in its data folder.
pub(super) fn file_of(data: &Path, tenant: &str) -> PathBuf {
    data.join("tenants").join(tenant).join("alerts.json")
}

/// More than two thousand alerts with long names need.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Version 1 used other names of fields, version 2 had alerts about operations only, version 3 no incidents; all are still read.
const VERSION: u32 = 4;

#[derive(Serialize, Deserialize)]
struct AlertFile<B> {
    version: u32,
    #[serde(alias = "book")]
    alerts: B,
}

/// Reads stored alerts. A file that cannot be read is renamed, so that it neither gets lost nor blocks the start;
/// notifications may be repeated then.
pub(super) fn load(file: &Path) -> AlertList {
    match read(file) {
        Ok(alerts) => alerts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => AlertList::default(),
        Err(error) => {
            let aside = file.with_extension("json.unreadable");
            tracing::error!(file = %file.display(), %error, aside = %aside.display(), "stored alerts cannot be read; starting without alerts");
            // Renaming fails if the disk does; then the file stays.
            let _ = std::fs::rename(file, aside);
            AlertList::default()
        }
    }
}

fn read(file: &Path) -> io::Result<AlertList> {
    let length = std::fs::metadata(file)?.len();
    if length > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("{length} bytes; at most {FILE_BYTES_MAX}")));
    }
    let bytes = std::fs::read(file)?;
    let stored: AlertFile<AlertList> = serde_json::from_slice(&bytes)?;
    match stored.version {
        VERSION => Ok(stored.alerts),
        1..VERSION => {
            let mut alerts = stored.alerts;
            alerts.follow_incidents(now());
            Ok(alerts)
        }
        other => {
            Err(io::Error::other(format!("unknown version {other}; this program reads up to {VERSION}")))
        }
    }
}

/// Replaces the file atomically: at any instant it is completely the old one or the new one.
///
/// # Errors
/// When it cannot be written.
pub(super) fn save(file: &Path, alerts: &AlertList) -> io::Result<()> {
    let folder = file.parent().ok_or_else(|| io::Error::other("it is in no folder"))?;
    let mut fresh = tempfile::Builder::new().prefix("alerts.").suffix(".new").tempfile_in(folder)?;
    let bytes = serde_json::to_vec(&AlertFile { version: VERSION, alerts })?;
    fresh.write_all(&bytes)?;
    fresh.as_file().sync_all()?;
    fresh.persist(file)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::super::incidents::IncidentState;
    use super::super::kind::AlertKind;
    use super::super::lifecycle::tests::{evaluated, rules, time};
    use super::*;

    #[test]
    fn saved_alerts_are_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alerts.json");
        assert_eq!(load(&file), AlertList::default());
        let mut alerts = AlertList::default();
        for minute in 0..3 {
            alerts.apply(&evaluated(&["read"], minute), rules(), time(minute));
        }
        save(&file, &alerts).unwrap();
        save(&file, &alerts).unwrap();
        assert_eq!(load(&file), alerts);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left behind");
    }

    /// As version 0.1.0 wrote it.
    #[test]
    fn files_of_version_1_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alerts.json");
        std::fs::write(&file, include_str!("stored_version_1.json")).unwrap();
        let alerts = load(&file);
        let (active, resolved) = (&alerts.active[0], &alerts.resolved[0]);
        assert_eq!(
            (active.finding.operation().unwrap().operation.as_str(), active.evaluations),
            ("read", 0b111)
        );
        let incident = &alerts.incidents[0];
        assert_eq!(
            (&incident.alerts, incident.notified["webhook"].state),
            (&vec![active.id.clone()], IncidentState::Open)
        );
        assert_eq!(resolved.ended.as_deref(), Some("it makes requests slower no more"));
        assert_eq!((resolved.healthy_evaluations, resolved.evaluated_ns), (2, 1_768_208_700_000_000_000));
    }

    /// As versions wrote it that had alerts about operations only.
    #[test]
    fn files_of_version_2_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alerts.json");
        std::fs::write(&file, include_str!("stored_version_2.json")).unwrap();
        let alerts = load(&file);
        let alert = &alerts.active[0];
        assert_eq!((alert.kind(), alert.evaluations), (AlertKind::SlowOperation, 0b111));
        assert_eq!(alert.finding.operation().unwrap().other_operations, ["write"]);
        assert_eq!(alerts.incidents[0].notified["webhook"].state, IncidentState::Open);
    }

    #[test]
    fn an_unreadable_file_is_renamed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alerts.json");
        for bad in
            ["", "{", "[]", "{\"version\":5,\"alerts\":{}}", "{\"version\":1,\"alerts\":{\"active\":3}}"]
        {
            std::fs::write(&file, bad).unwrap();
            assert_eq!(load(&file), AlertList::default(), "{bad}");
            assert!(!file.exists());
            assert_eq!(std::fs::read_to_string(folder.path().join("alerts.json.unreadable")).unwrap(), bad);
        }
    }
}
