//! Clocks are injected, so that tests can make them jump.

use laggard_model::{Nanos, Timestamp};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time, in two ways.
pub trait Clock: Send + Sync {
    /// The wall clock. It may jump.
    fn wall(&self) -> Timestamp;
    /// Time since some start. It never jumps.
    fn monotonic(&self) -> Duration;
}

/// The machine's clocks.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn wall(&self) -> Timestamp {
        let ns = |length: Duration| i64::try_from(length.as_nanos()).unwrap_or(i64::MAX);
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => Timestamp::from_unix_ns(ns(since)),
            Err(before) => Timestamp::from_unix_ns(-ns(before.duration())),
        }
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }
}

/// The time now, by the clock of this machine.
pub(crate) fn wall_clock() -> Timestamp {
    SystemClock::default().wall()
}

/// Detects jumps of the wall clock, and provides a time that does not follow a jump immediately.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockWatch {
    /// Both clocks at the last check.
    wall: Timestamp,
    monotonic: Duration,
    /// How far the wall clock is ahead of the trusted time.
    ahead: Nanos,
    /// When it last jumped.
    jumped: Option<Duration>,
}

/// Differences up to this are corrections, not jumps.
const JUMP_MIN: Nanos = Nanos::from_secs(30);

/// A clock is trusted again after this time without a jump.
const TRUSTED_AFTER: Duration = Duration::from_secs(3600);

impl ClockWatch {
    pub(crate) fn new(clock: &dyn Clock) -> ClockWatch {
        let (wall, monotonic) = (clock.wall(), clock.monotonic());
        ClockWatch { wall, monotonic, ahead: Nanos::ZERO, jumped: None }
    }

    /// Checks the clock: by how many nanoseconds the wall clock jumped since the last check, if it did.
    pub(crate) fn check(&mut self, clock: &dyn Clock) -> Option<i64> {
        let (wall, monotonic) = (clock.wall(), clock.monotonic());
        let passed = i64::try_from((monotonic - self.monotonic).as_nanos()).unwrap_or(i64::MAX);
        let jump_ns = wall.since(self.wall).ns().saturating_sub(passed);
        (self.wall, self.monotonic) = (wall, monotonic);
        if self.jumped.is_some_and(|jumped| monotonic - jumped > TRUSTED_AFTER) {
            (self.jumped, self.ahead) = (None, Nanos::ZERO);
        }
        if jump_ns.unsigned_abs() < JUMP_MIN.ns() {
            return None;
        }
        self.jumped = Some(monotonic);
        self.ahead = match jump_ns {
            0.. => self.ahead.plus(Nanos::from_ns(jump_ns.unsigned_abs())),
            _ => self.ahead.minus(Nanos::from_ns(jump_ns.unsigned_abs())),
        };
        Some(jump_ns)
    }

    /// The wall clock without its jumps ahead in the last hour: used to decide what is deleted by age.
    pub(crate) fn trusted(&self) -> Timestamp {
        self.wall.minus(self.ahead)
    }

    /// Whether it jumped in the last hour.
    pub(crate) fn is_uncertain(&self) -> bool {
        self.jumped.is_some()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Clocks that stand still until a test advances them.
    #[derive(Debug)]
    pub(crate) struct ManualClock(Mutex<(Timestamp, Duration)>);

    impl ManualClock {
        pub(crate) fn new() -> ManualClock {
            ManualClock(Mutex::new((Timestamp::from_unix_ns(1_700_000_000_000_000_000), Duration::ZERO)))
        }

        pub(crate) fn pass(&self, time: Duration) {
            let mut now = self.0.lock().unwrap();
            *now = (now.0.plus(Nanos::from_ns(time.as_nanos() as u64)), now.1 + time);
        }

        pub(crate) fn jump_secs(&self, secs: i64) {
            let mut now = self.0.lock().unwrap();
            now.0 = Timestamp::from_unix_ns(now.0.unix_ns() + secs * 1_000_000_000);
        }
    }

    impl Clock for ManualClock {
        fn wall(&self) -> Timestamp {
            self.0.lock().unwrap().0
        }

        fn monotonic(&self) -> Duration {
            self.0.lock().unwrap().1
        }
    }

    #[test]
    fn a_jump_is_detected_once_and_the_clock_distrusted_for_an_hour() {
        let clock = ManualClock::new();
        let mut watch = ClockWatch::new(&clock);
        let before = clock.wall();
        clock.pass(Duration::from_secs(1));
        assert_eq!(watch.check(&clock), None);
        clock.jump_secs(86_400);
        assert_eq!(watch.check(&clock), Some(86_400_000_000_000));
        assert_eq!(watch.trusted(), before.plus(Nanos::from_secs(1)));
        clock.pass(Duration::from_secs(60));
        assert_eq!((watch.check(&clock), watch.is_uncertain()), (None, true));
        clock.jump_secs(-86_400);
        assert_eq!(watch.check(&clock), Some(-86_400_000_000_000));
        assert_eq!(watch.trusted(), clock.wall());
        clock.pass(Duration::from_secs(3601));
        watch.check(&clock);
        assert!(!watch.is_uncertain());
    }

    #[test]
    fn a_corrected_clock_is_trusted_after_an_hour() {
        let clock = ManualClock::new();
        let mut watch = ClockWatch::new(&clock);
        clock.jump_secs(86_400);
        watch.check(&clock);
        clock.pass(Duration::from_secs(3601));
        watch.check(&clock);
        assert_eq!(watch.trusted(), clock.wall());
    }
}
