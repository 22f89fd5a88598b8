//! Power is lost at every call that writes the files of alerts and incidents.

use super::lifecycle::tests::{evaluated, rules, time};
use super::lifecycle::{Alert, AlertList};
use super::tenant_alerts::TenantAlerts;
use crate::durable_files::disk;
use crate::durable_files::simulated::{LosingPower, Random};
use std::path::Path;
use std::sync::Arc;

/// Incidents that open and close, one after the other; after every second one the closed ones become history.
const INCIDENTS: i64 = 5;
/// Losses of power at each call, which leave different parts of what was not durable.
const SEEDS: u64 = 4;

/// What a list knows, without how much of it is history already.
#[derive(Clone, PartialEq, Debug)]
struct Known {
    active: Vec<Alert>,
    resolved: Vec<Alert>,
    /// Ids of incidents, sorted.
    incidents: Vec<String>,
}

impl Known {
    fn from_list(list: &AlertList) -> Known {
        let mut incidents: Vec<String> = list.all_incidents().map(|incident| incident.id.clone()).collect();
        incidents.sort();
        Known { active: list.active.clone(), resolved: list.resolved.clone(), incidents }
    }
}

/// What was known at each save, and how many of these were successful before the power was lost.
struct Saved {
    known: Vec<Known>,
    durable: usize,
}

fn load(folder: &Path, files: Arc<LosingPower>) -> TenantAlerts {
    TenantAlerts::load(folder.join("alerts.json"), files)
}

/// Lets incidents open, close, and become history, and saves after each evaluation.
fn work(alerts: &TenantAlerts) -> Saved {
    let mut saved = Saved { known: vec![Known::from_list(&AlertList::default())], durable: 0 };
    for number in 0..INCIDENTS {
        for minute in 60 * number..60 * number + 6 {
            let operations: &[&str] = if minute % 60 < 3 { &["db read"] } else { &[] };
            {
                let list = &mut alerts.state().alerts;
                list.apply(&evaluated(operations, minute), rules(), time(minute));
                if minute % 60 == 5 && number % 2 == 1 {
                    list.retire_incidents(time(100_000));
                }
            }
            saved.known.push(Known::from_list(&alerts.state().alerts));
            alerts.save();
            if alerts.save_failures() > 0 {
                return saved;
            }
            saved.durable += 1;
        }
    }
    saved
}

/// Checks that what was saved is there once, or what was being saved.
fn check(folder: &Path, saved: &Saved, context: &str) {
    let list = TenantAlerts::load(folder.join("alerts.json"), disk()).state().alerts.clone();
    let found = Known::from_list(&list);
    assert!(saved.known[saved.durable..].contains(&found), "{context}: {found:?}");
    assert!(!folder.join("alerts.json.unreadable").exists(), "{context}");
}

#[test]
fn a_loss_of_power_at_any_call_loses_and_repeats_no_saved_alert_or_incident() {
    let mut calls = 0;
    for call in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let files = Arc::new(LosingPower::during(call));
        let saved = work(&load(folder.path(), files.clone()));
        for seed in 0..SEEDS {
            let after = tempfile::tempdir().unwrap();
            files.write_survivors(after.path(), &mut Random(call * SEEDS + seed));
            check(after.path(), &saved, &format!("call {call}, seed {seed}"));
        }
        if !files.is_lost() {
            assert_eq!(saved.durable, saved.known.len() - 1, "every save is successful with power");
            calls = call;
            break;
        }
    }
    // Five for each replaced file, and those of the history.
    assert!(calls > 5 * 6 * INCIDENTS as u64, "{calls}");
}
