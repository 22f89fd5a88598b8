//! Faults on a time line cut into minutes.

use serde::Deserialize;
use std::path::Path;

pub(super) const NS_PER_S: i64 = 1_000_000_000;

/// How long a fault lasts, and how long after it a minute may still show it.
const FAULT_S: i64 = 180;
pub(super) const AFTERMATH_S: i64 = 60;
/// Length of a slice.
pub(super) const SLICE_S: i64 = 60;
/// Length of a quarter of an hour.
pub(super) const QUARTER_S: i64 = 900;
/// A slice shows a fault when it covers at least this much of it.
pub(super) const OVERLAP_S_MIN: i64 = 30;
/// Slices within which a fault should be detected: two minutes.
const SLICES_TO_DETECT: usize = 2;

/// One row of `faults.json`.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(super) struct Fault {
    pub(super) inject_epoch_s: i64,
    pub(super) pod: String,
    pub(super) fault: String,
    /// Whether it shows in latencies at all.
    pub(super) performance: bool,
}

impl Fault {
    pub(super) fn end_s(&self) -> i64 {
        self.inject_epoch_s + FAULT_S
    }

    /// `cpu_contention of POD at SECONDS`.
    pub(super) fn title(&self) -> String {
        format!("{} of {} at {}", self.fault, self.pod, self.inject_epoch_s)
    }

    /// Seconds of it in a slice.
    fn seconds_in(&self, slice_s: i64) -> i64 {
        (slice_s + SLICE_S).min(self.end_s()) - slice_s.max(self.inject_epoch_s)
    }
}

pub(super) fn read_faults(path: &Path) -> Result<Vec<Fault>, String> {
    let index = |error: String| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| index(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| index(error.to_string()))
}

/// Whether a slice is at least a minute away from the end of every fault, of whatever kind, and before none.
pub(super) fn is_fault_free(slice_s: i64, faults: &[Fault]) -> bool {
    faults
        .iter()
        .all(|fault| slice_s + SLICE_S <= fault.inject_epoch_s || slice_s >= fault.end_s() + AFTERMATH_S)
}

/// The slices (by their starts, ascending) in which a fault must be detected: of those that cover at least half a
/// minute of it, the first two.
pub(super) fn slices_to_detect<'a>(fault: &Fault, slices: impl Iterator<Item = &'a i64>) -> Vec<i64> {
    let shows = |slice: &&i64| fault.seconds_in(**slice) >= OVERLAP_S_MIN;
    slices.filter(shows).take(SLICES_TO_DETECT).copied().collect()
}

/// One alarm of a scan that matters for a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alarm {
    /// Whether anything was named.
    pub raised: bool,
    /// Rank of the right replica, from 1.
    pub rank: Option<usize>,
}

/// The result of a scan for a fault: detected if any alarm was raised; the best rank of the right replica.
pub fn detection(alarms: &[Alarm]) -> Alarm {
    Alarm {
        raised: alarms.iter().any(|alarm| alarm.raised),
        rank: alarms.iter().filter_map(|alarm| alarm.rank).min(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(inject_epoch_s: i64) -> Fault {
        Fault { inject_epoch_s, pod: "p".to_owned(), fault: "f".to_owned(), performance: true }
    }

    #[test]
    fn slices_around_a_fault_are_neither_free_nor_faulty() {
        let faults = [fault(1_000)];
        assert!(is_fault_free(940, &faults));
        assert!(!is_fault_free(941, &faults));
        assert!(!is_fault_free(1_239, &faults));
        assert!(is_fault_free(1_240, &faults));
    }

    #[test]
    fn the_first_two_slices_that_show_a_fault_count() {
        // The first slice covers 20 s of it only; one slice is missing in the data.
        let slices = [960, 1_020, 1_140, 1_200];
        assert_eq!(slices_to_detect(&fault(1_000), slices.iter()), [1_020, 1_140]);
        assert_eq!(slices_to_detect(&fault(970), slices.iter()), [960, 1_020]);
        assert_eq!(slices_to_detect(&fault(5_000), slices.iter()), [0; 0]);
    }

    #[test]
    fn the_best_of_the_alarms_counts() {
        let alarm = |raised, rank| Alarm { raised, rank };
        assert_eq!(detection(&[alarm(false, None), alarm(true, Some(3))]), alarm(true, Some(3)));
        assert_eq!(detection(&[alarm(true, Some(2)), alarm(true, Some(1))]), alarm(true, Some(1)));
        assert_eq!(detection(&[]), alarm(false, None));
    }
}
