//! Timers that end the throttling of control groups, and when groups were throttled.

use crate::membership::GroupKey;
use crate::path::Window;
use crate::worker::{HostId, WorkerId};
use laggard_model::KernelTime;
use std::collections::{BTreeMap, BTreeSet};

/// Functions of the timers that end throttling: at the beginning of a period, and when another CPU returned time that it did not
/// use.
const TIMER_FUNCTIONS: [&str; 2] = ["sched_cfs_period_timer", "sched_cfs_slack_timer"];

/// Whether a timer with this function ends throttling.
pub(crate) fn ends_throttling(function: &str) -> bool {
    TIMER_FUNCTIONS.contains(&function)
}

/// The instants at which timers that end throttling expired, in time order, by host and the timer's address.
pub(crate) type QuotaTimers = BTreeMap<(HostId, u64), Vec<KernelTime>>;

/// When groups were throttled.
#[derive(Debug, Default)]
pub(crate) struct Throttling {
    /// Of groups whose quota is known: when their threads were throttled, in time order.
    pub(crate) windows: BTreeMap<WorkerId, Vec<Window>>,
    /// These groups.
    pub(crate) known: BTreeSet<GroupKey>,
    /// Of other groups: the timers that end throttling.
    pub(crate) limits: BTreeSet<(GroupKey, u64)>,
}
