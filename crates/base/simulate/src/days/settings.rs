//! Settings of a simulated day: system, duration, load, and the fault with its strength.

use super::profile::Profile;
use crate::Error;

/// Everything a simulated day depends on.
#[derive(Clone, PartialEq, Debug)]
pub struct DaySettings {
    /// The kind of system.
    pub profile: Profile,
    /// The seed: the system, its schedule, and its requests depend on it.
    pub seed: u64,
    /// Start of the period, in nanoseconds since the Unix epoch. The same seed gives the same system at any time.
    pub start_unix_ns: i64,
    /// Length of the period in seconds.
    pub window_s: u32,
    /// Probability that a span is lost.
    pub lost_spans: f64,
    /// Losses that set in later.
    pub loss_onset: Option<LossOnset>,
    /// Whether clocks of hosts disagree: offsets within ±20 ms.
    pub clock_skew: bool,
    /// Standard deviation of the logarithm of a replica's speed from minute to minute. That of a service over ten minutes is
    /// five sixths of it.
    pub drift: f64,
    /// The fault, if there is one.
    pub fault: Option<DayFault>,
}

/// Spans that are lost from some time on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LossOnset {
    /// Probability that a span is lost.
    pub probability: f64,
    /// Only spans of one replica of one service, chosen by the seed.
    pub one_replica: bool,
    /// Start, in seconds after the start of the period.
    pub since_s: u32,
}

/// A fault and when it lasts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DayFault {
    /// The kind of fault.
    pub kind: DayFaultKind,
    /// Selects the operation, replica, tenant or edge among those that carry enough of the latency.
    pub seed: u64,
    /// Time at the target over its usual time, for the kinds that make it slow.
    pub factor: f64,
    /// Share of the calls that fail or stop short, for the kinds that do not make anything slow.
    pub share: f64,
    /// Start, in seconds after the start of the period.
    pub since_s: u32,
    /// End, in seconds after the start of the period.
    pub until_s: u32,
}

/// A kind of fault.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DayFaultKind {
    /// One operation is slower on all of its replicas.
    Operation,
    /// One operation is slower on one of several replicas.
    Replica,
    /// Calls from one service to another take longer on the network.
    Edge,
    /// One operation is slower for one tenant.
    Tenant,
    /// Calls of one operation fail, and so do the requests that need them.
    Errors,
    /// One operation returns without the calls that it usually makes.
    EarlyReturn,
}

impl DayFaultKind {
    /// All of them, in the order of the manual.
    pub const ALL: [DayFaultKind; 6] = [
        DayFaultKind::Operation,
        DayFaultKind::Replica,
        DayFaultKind::Edge,
        DayFaultKind::Tenant,
        DayFaultKind::Errors,
        DayFaultKind::EarlyReturn,
    ];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            DayFaultKind::Operation => "operation",
            DayFaultKind::Replica => "replica",
            DayFaultKind::Edge => "edge",
            DayFaultKind::Tenant => "tenant",
            DayFaultKind::Errors => "errors",
            DayFaultKind::EarlyReturn => "early-return",
        }
    }

    /// The kind of a name.
    pub fn parse(name: &str) -> Option<DayFaultKind> {
        DayFaultKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Its effect in one sentence.
    pub const fn summary(self) -> &'static str {
        match self {
            DayFaultKind::Operation => "One operation is slower on all of its replicas.",
            DayFaultKind::Replica => "One operation is slower on one of several replicas.",
            DayFaultKind::Edge => "Calls from one service to another take longer on the network.",
            DayFaultKind::Tenant => "One operation is slower for one tenant.",
            DayFaultKind::Errors => "Calls of one operation fail, and so do the requests that need them.",
            DayFaultKind::EarlyReturn => "One operation returns without the calls that it usually makes.",
        }
    }

    /// Whether the fault makes calls slower.
    pub const fn is_slow(self) -> bool {
        !matches!(self, DayFaultKind::Errors | DayFaultKind::EarlyReturn)
    }
}

/// Monday, 12 January 2026, 09:00 UTC: a fixed time, so that the same seed gives the same bytes.
const DEFAULT_START_UNIX_NS: i64 = 1_768_208_400_000_000_000;

const DRIFT: f64 = 0.06;
const DRIFT_MAX: f64 = 1.0;

impl DaySettings {
    /// An hour without a fault, no span lost.
    pub fn new(profile: Profile, seed: u64) -> DaySettings {
        DaySettings {
            profile,
            seed,
            start_unix_ns: DEFAULT_START_UNIX_NS,
            window_s: 3_600,
            lost_spans: 0.0,
            loss_onset: None,
            clock_skew: true,
            drift: DRIFT,
            fault: None,
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let refuse = |name, value: String, allowed| Err(Error::Setting { name, value, allowed });
        if !(1..=604_800).contains(&self.window_s) {
            return refuse("window_s", self.window_s.to_string(), "1 second to 7 days");
        }
        if !(0.0..=1.0).contains(&self.lost_spans) {
            return refuse("lost_spans", self.lost_spans.to_string(), "a probability, 0 to 1");
        }
        if !(0.0..=DRIFT_MAX).contains(&self.drift) {
            return refuse("drift", self.drift.to_string(), "0 to 1");
        }
        let onset = self.loss_onset.map_or(0.0, |onset| onset.probability);
        if !(0.0..=1.0).contains(&onset) {
            return refuse("loss_onset", onset.to_string(), "a probability, 0 to 1");
        }
        if !(86_400_000_000_000..8_000_000_000_000_000_000).contains(&self.start_unix_ns) {
            return refuse("start_unix_ns", self.start_unix_ns.to_string(), "the years 1970 to 2223");
        }
        let Some(fault) = self.fault else { return Ok(()) };
        if !(1.0..=1_000.0).contains(&fault.factor) {
            return refuse("factor", fault.factor.to_string(), "1 to 1 000");
        }
        if !(0.0..=1.0).contains(&fault.share) {
            return refuse("share", fault.share.to_string(), "a probability, 0 to 1");
        }
        Ok(())
    }
}
