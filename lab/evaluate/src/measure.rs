//! Measures the wall-clock time and the processor time of a computation.

use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Cost {
    /// On the clock on the wall.
    pub wall_s: f64,
    /// Of all processors together; 0 where the system does not report it.
    pub processor_s: f64,
}

impl Cost {
    /// Both of two.
    pub fn plus(self, other: Cost) -> Cost {
        Cost { wall_s: self.wall_s + other.wall_s, processor_s: self.processor_s + other.processor_s }
    }
}

/// Runs something and measures its cost. Processor time has the system's resolution of 10 ms, so only sums over
/// many cases mean anything; nothing else may run in this process meanwhile.
pub(crate) fn measured<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let (wall, processor) = (Instant::now(), processor_s());
    let value = work();
    let cost = Cost { wall_s: wall.elapsed().as_secs_f64(), processor_s: processor_s() - processor };
    (value, cost)
}

/// Processor time of this process so far, ended threads included.
fn processor_s() -> f64 {
    /// Linux reports in hundredths of a second on every architecture.
    const TICKS_PER_S: f64 = 100.0;
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    ticks(&text).map_or(0.0, |ticks| ticks as f64 / TICKS_PER_S)
}

/// User and system time from the text of `/proc/PID/stat`: fields 14 and 15, counted behind the program's name,
/// which may hold anything.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
    Some(times.next()?? + times.next()??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_after_any_program_name() {
        let stat = "71 (a) b) R 1 2 3 4 5 6 7 8 9 10 250 31 0 0 20";
        assert_eq!(ticks(stat), Some(281));
        assert_eq!(ticks("nonsense"), None);
    }
}
