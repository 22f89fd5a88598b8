//! Alerts on disk: one small file per tenant, replaced atomically.

use super::incidents::{IncidentHistory, IncidentRecord, KEPT_FOR, PastIncident};
use super::lifecycle::AlertList;
use crate::durable_files::{FileCalls, replace};
use crate::line_log::{LineLog, LogRecord, file_name};
use laggard_system::now;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the file in the folder of a tenant.
const FILE: &str = "alerts.json";

/// The file of a tenant, in its data folder.
pub(super) fn file_of(data: &Path, tenant: &str) -> PathBuf {
    data.join("tenants").join(tenant).join(FILE)
}

/// Names of the files that have the incidents of a tenant: the current ones, and those that are history.
pub(crate) fn stored_incident_files() -> [String; 2] {
    [FILE.to_owned(), file_name::<Arc<PastIncident>>()]
}

/// The incidents in the contents of these files, which a server may be writing; by the times at which they were opened.
///
/// # Errors
/// When one of them is of another version, or cannot be read.
pub(crate) fn stored_incidents(
    current: Option<&[u8]>,
    past: Option<&[u8]>,
) -> io::Result<Vec<IncidentRecord>> {
    let mut alerts = current.map_or_else(|| Ok(AlertList::default()), parse)?;
    add_history(&mut alerts, &LineLog::read(past.unwrap_or_default())?);
    let mut incidents: Vec<IncidentRecord> =
        alerts.history.incidents().chain(&alerts.incidents).cloned().collect();
    incidents.sort_by(|a, b| (a.opened_ns, &a.id).cmp(&(b.opened_ns, &b.id)));
    Ok(incidents)
}

/// More than two thousand alerts with long names need.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Version 1 used other names of fields, version 2 had alerts about operations only, version 3 no incidents, version 4 no file of
/// earlier incidents; all are still read.
const VERSION: u32 = 5;

/// How the name of a file begins and ends while it is written.
const UNFINISHED: (&str, &str) = ("alerts.", ".new");

#[derive(Serialize, Deserialize)]
struct AlertFile<B> {
    version: u32,
    #[serde(alias = "book")]
    alerts: B,
}

/// Reads stored alerts. A file that cannot be read is renamed, so that it neither gets lost nor blocks the start;
/// notifications may be repeated then.
pub(super) fn load(file: &Path) -> AlertList {
    remove_unfinished(file);
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
    parse(&std::fs::read(file)?)
}

fn parse(bytes: &[u8]) -> io::Result<AlertList> {
    let stored: AlertFile<AlertList> = serde_json::from_slice(bytes)?;
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

/// Opens the file of earlier incidents next to that of alerts; `None` if it cannot be read.
pub(super) fn load_history(file: &Path, files: Arc<dyn FileCalls>) -> Option<LineLog<Arc<PastIncident>>> {
    let opened = LineLog::open_with(file.parent()?, files);
    opened
        .inspect_err(|error| tracing::error!(%error, "earlier incidents cannot be read; none are known"))
        .ok()
}

/// Has a list know the history of a file. What a kill left in both counts once.
pub(super) fn add_history(alerts: &mut AlertList, past: &LineLog<Arc<PastIncident>>) {
    let mut history = IncidentHistory::default();
    past.records().iter().for_each(|past| history.add(past.clone()));
    alerts.incidents.retain(|incident| !history.contains(&incident.id));
    alerts.retired.retain(|retired| !history.contains(&retired.incident.id));
    alerts.retired.iter().for_each(|retired| history.add(Arc::new(retired.clone())));
    alerts.history = Arc::new(history);
}

/// Makes incidents durable and forgets those that are too old, by the latest of them: a clock that jumps ahead deletes nothing.
///
/// # Errors
/// When they cannot be written: then none of them is stored.
pub(super) fn append_history(
    past: &mut LineLog<Arc<PastIncident>>,
    retired: &[PastIncident],
) -> io::Result<()> {
    let retired: Vec<Arc<PastIncident>> = retired.iter().cloned().map(Arc::new).collect();
    past.append(&retired)?;
    let newest = past.records().last().map_or(0, LogRecord::order);
    let oldest = newest.saturating_sub(KEPT_FOR.ns() as i64);
    past.retain(|past| past.order() >= oldest)
}

/// Removes what a kill left of files that were being written. Failing to do so harms nothing but the disk.
fn remove_unfinished(file: &Path) {
    let entries = file.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(UNFINISHED.0) && name.ends_with(UNFINISHED.1) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Replaces the file atomically: at any instant it is completely the old one or the new one.
///
/// # Errors
/// When it cannot be written.
pub(super) fn save(file: &Path, alerts: &AlertList, files: &dyn FileCalls) -> io::Result<()> {
    let bytes = serde_json::to_vec(&AlertFile { version: VERSION, alerts })?;
    let unfinished = file.with_file_name(format!("{}1{}", UNFINISHED.0, UNFINISHED.1));
    replace(files, file, &unfinished, &bytes)
}

#[cfg(test)]
mod tests {
    use super::super::incidents::IncidentState;
    use super::super::kind::AlertKind;
    use super::super::lifecycle::tests::{evaluated, rules, time};
    use super::*;
    use crate::durable_files::disk;

    #[test]
    fn saved_alerts_are_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alerts.json");
        assert_eq!(load(&file), AlertList::default());
        let mut alerts = AlertList::default();
        for minute in 0..3 {
            alerts.apply(&evaluated(&["read"], minute), rules(), time(minute));
        }
        save(&file, &alerts, &*disk()).unwrap();
        save(&file, &alerts, &*disk()).unwrap();
        assert_eq!(load(&file), alerts);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left behind");
    }

    #[test]
    fn a_kill_during_a_write_leaves_the_previous_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alerts.json");
        let mut alerts = AlertList::default();
        for minute in 0..3 {
            alerts.apply(&evaluated(&["read"], minute), rules(), time(minute));
        }
        save(&file, &alerts, &*disk()).unwrap();
        let whole = std::fs::read(&file).unwrap();
        for length in (0..whole.len()).step_by(97) {
            std::fs::write(folder.path().join("alerts.x7Qa.new"), &whole[..length]).unwrap();
            assert_eq!(load(&file), alerts);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "it is removed");
        }
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

    /// As versions wrote it whose incidents were forgotten with their alerts.
    #[test]
    fn files_of_version_4_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alerts.json");
        std::fs::write(&file, include_str!("stored_version_4.json")).unwrap();
        let alerts = load(&file);
        let states: Vec<(bool, IncidentState)> =
            alerts.incidents.iter().map(|incident| (incident.was_examined, incident.state)).collect();
        assert_eq!(states, [(true, IncidentState::Open), (false, IncidentState::Open)]);
        assert_eq!(alerts.incidents[0].notified["webhook"].state, IncidentState::Open);
        assert!(alerts.incidents.iter().all(|incident| incident.unconfirmed.is_empty()));
    }

    /// A kill between writing the file of earlier incidents and that of alerts leaves an incident in both.
    #[test]
    fn an_incident_in_both_files_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alerts.json");
        let mut alerts = AlertList::default();
        for minute in 0..10 {
            let operations: &[&str] = if minute < 4 { &["read"] } else { &[] };
            alerts.apply(&evaluated(operations, minute), rules(), time(minute));
        }
        save(&file, &alerts, &*disk()).unwrap();
        alerts.retire_incidents(time(10_000));
        append_history(&mut load_history(&file, disk()).unwrap(), &alerts.retired).unwrap();
        let (mut again, past) = (load(&file), load_history(&file, disk()).unwrap());
        assert_eq!(again.incidents.len(), 1);
        add_history(&mut again, &past);
        assert_eq!((again.incidents.len(), again.all_incidents().count()), (0, 1));
    }

    #[test]
    fn an_unreadable_file_is_renamed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alerts.json");
        for bad in
            ["", "{", "[]", "{\"version\":6,\"alerts\":{}}", "{\"version\":1,\"alerts\":{\"active\":3}}"]
        {
            std::fs::write(&file, bad).unwrap();
            assert_eq!(load(&file), AlertList::default(), "{bad}");
            assert!(!file.exists());
            assert_eq!(std::fs::read_to_string(folder.path().join("alerts.json.unreadable")).unwrap(), bad);
        }
    }
}
