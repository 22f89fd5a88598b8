//! The baseline that a window was compared with.

use crate::Window;
use serde::Serialize;
use utoipa::ToSchema;

/// The baseline of the comparison.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Baseline {
    /// Its requests.
    pub requests: u64,
    /// Their spans.
    pub spans: u64,
    /// The time they cover.
    pub window: Option<Window>,
    /// Their mean latency, nanoseconds.
    pub mean_ns: f64,
    /// Mean latency of the window.
    pub window_mean_ns: f64,
    /// The part of the difference because requests of the same shape got slower; negative when they got faster.
    pub slower_ns: f64,
    /// The part caused by a different mix of requests, nanoseconds; with `slower_ns` it makes the whole difference.
    pub mix_ns: f64,
    /// Set when requests are slower by a material amount and by more than levels drift in the baseline, and suspects explain less
    /// than half of it: the part of `slower_ns` that is unexplained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unexplained_ns: Option<f64>,
    /// Set when most operations are slower than in the baseline: the cause is what they share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub widespread_slowdown: Option<WidespreadSlowdown>,
}

/// Most operations take longer than in the baseline.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, ToSchema)]
pub struct WidespreadSlowdown {
    /// Operations that take longer.
    pub slower: u64,
    /// Operations with enough calls to compare.
    pub compared: u64,
    /// Median factor of all compared operations.
    pub factor: f64,
}

/// A baseline that a server chose from its stored requests.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct AutomaticBaseline {
    /// Which time was chosen.
    pub choice: AutomaticChoice,
    /// The chosen interval; both ends belong to it. Absent if none was chosen.
    pub window: Option<Window>,
}

/// Which earlier time a window is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AutomaticChoice {
    /// The time directly before the window.
    Before,
    /// The same time of day, a day earlier.
    DayBefore,
    /// Neither: too few requests are stored of both.
    None,
}
