//! Kernel trace timestamps and their conversion to calendar time.

use crate::time::Timestamp;

/// An instant on the clock of a kernel trace: nanoseconds since that clock's own origin (mostly the boot).
///
/// It becomes a [`Timestamp`] only through a [`ClockMap`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct KernelTime(u64);

impl KernelTime {
    /// The latest representable instant.
    pub const MAX: KernelTime = KernelTime(u64::MAX);

    /// The instant `ns` nanoseconds after the clock's origin.
    pub const fn from_ns(ns: u64) -> KernelTime {
        KernelTime(ns)
    }

    /// Nanoseconds since the clock's origin.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Nanoseconds from `earlier` to this instant; 0 when it is not earlier.
    pub const fn since(self, earlier: KernelTime) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This instant plus `ns` nanoseconds, saturating.
    pub const fn plus_ns(self, ns: u64) -> KernelTime {
        KernelTime(self.0.saturating_add(ns))
    }
}

/// How the clock of one kernel trace lies in calendar time: `unix = kernel + offset`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockMap {
    offset_ns: i64,
}

impl ClockMap {
    /// The map that adds `offset_ns` nanoseconds.
    pub const fn from_offset_ns(offset_ns: i64) -> ClockMap {
        ClockMap { offset_ns }
    }

    /// The offset in nanoseconds.
    pub const fn offset_ns(self) -> i64 {
        self.offset_ns
    }

    /// Calendar time of an instant, saturating.
    pub const fn to_unix(self, time: KernelTime) -> Timestamp {
        Timestamp::from_unix_ns(self.offset_ns.saturating_add_unsigned(time.0))
    }

    /// The instant of a calendar time, saturating; 0 when it lies before the clock's origin.
    pub const fn to_kernel(self, time: Timestamp) -> KernelTime {
        let ns = time.unix_ns().saturating_sub(self.offset_ns);
        KernelTime(if ns < 0 { 0 } else { ns as u64 })
    }
}
