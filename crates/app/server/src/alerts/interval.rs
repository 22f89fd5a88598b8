//! An interval of time.

use laggard_model::Timestamp;
use laggard_params::Window;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An interval of time, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Interval {
    /// First instant, since the Unix epoch.
    pub since_ns: i64,
    /// Last instant, since the Unix epoch.
    pub until_ns: i64,
}

impl Interval {
    /// From its first to its last instant.
    pub(super) const fn length_ns(&self) -> i64 {
        self.until_ns.saturating_sub(self.since_ns)
    }
}

impl From<Window> for Interval {
    fn from(window: Window) -> Interval {
        Interval { since_ns: window.since.unix_ns(), until_ns: window.until.unix_ns() }
    }
}

impl From<Interval> for Window {
    fn from(interval: Interval) -> Window {
        let [since, until] = [interval.since_ns, interval.until_ns].map(Timestamp::from_unix_ns);
        Window { since, until }
    }
}
