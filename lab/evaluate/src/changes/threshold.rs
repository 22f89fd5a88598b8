//! The most common monitoring rule: an alarm when the CPU is busy.

use super::{ChangeAnswer, ReportedAlarm};
use crate::arm::Arm;
use laggard_changes::Observations;

const BUSY: f64 = 0.7;
/// For this many windows in a row.
const WINDOWS: usize = 5;

/// An alarm whenever utilization has been above 70 % for five windows.
pub(super) struct BusyThreshold;

impl Arm<Observations, ChangeAnswer> for BusyThreshold {
    fn name(&self) -> &str {
        "utilization above 70 %"
    }

    fn answer(&self, observations: &Observations) -> Result<ChangeAnswer, String> {
        let mut busy = 0;
        let mut alarms = Vec::new();
        for (row, &utilization) in observations.utilization.iter().enumerate() {
            busy = if utilization > BUSY { busy + 1 } else { 0 };
            if busy == WINDOWS {
                let window = observations.windows[row + 1 - WINDOWS];
                alarms.push(ReportedAlarm { window, ..ReportedAlarm::default() });
            }
        }
        Ok(ChangeAnswer { alarms, regions: Vec::new() })
    }
}
