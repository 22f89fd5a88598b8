//! The second clock on the first's scale.

use super::bounds::{Corridor, Line};
use super::hull::Point;
use super::packets::{PacketTimes, Passage};
use laggard_model::KernelTime;
use std::fmt;

/// How the clock of a second host lies on that of a first: `second = second_reference + rate · (first −
/// first_reference)`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HostClock {
    first_reference: KernelTime,
    second_reference: KernelTime,
    /// The rate less 1.
    drift: f64,
}

/// Two clocks brought together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClockAlignment {
    /// The map.
    pub clock: HostClock,
    /// How far (nanoseconds) the true relation can lie from the map between the first and the last packet used: every
    /// packet arrived after it was sent, and that is all that is known.
    pub bound_ns: u64,
    /// Packets used from the first host to the second.
    pub packets_forth: u64,
    /// Packets used from the second host to the first.
    pub packets_back: u64,
}

/// Why two clocks cannot be brought together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoAlignment {
    /// No packet is in both traces.
    NoPackets,
    /// Packets go one way only: the offset has no bound on the other side.
    OneDirection,
    /// No clock with a constant rate explains the packets: some would arrive before they were sent, by at least so
    /// many nanoseconds. A clock was set, or packets were confused.
    Contradiction {
        /// By how much.
        ns: u64,
    },
}

impl fmt::Display for NoAlignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoAlignment::NoPackets => f.write_str(
                "the clocks cannot be aligned: no packet is in both traces (record the packets' TCP events)",
            ),
            NoAlignment::OneDirection => {
                f.write_str("the clocks cannot be aligned: no packets in both directions are in both traces")
            }
            NoAlignment::Contradiction { ns } => write!(
                f,
                "the clocks cannot be aligned: some packets would arrive {ns} ns before they were sent, whatever the \
                 offset and rate; was a clock set during the recording?"
            ),
        }
    }
}

impl std::error::Error for NoAlignment {}

impl HostClock {
    /// An instant of the second host on the first's clock; 0 when it lies before that clock's origin.
    pub fn to_first(self, second: KernelTime) -> KernelTime {
        shifted(self.first_reference, signed(second, self.second_reference) / (1.0 + self.drift), 0.0)
    }

    /// An instant of the first host on the second's clock; 0 when it lies before that clock's origin.
    pub fn to_second(self, first: KernelTime) -> KernelTime {
        let since = signed(first, self.first_reference);
        shifted(self.second_reference, since, since * self.drift)
    }

    /// How much faster the second clock runs, in parts per million.
    pub fn drift_ppm(self) -> f64 {
        self.drift * 1e6
    }
}

/// Nanoseconds from a reference: below 2⁵³ (104 days) exactly.
fn signed(time: KernelTime, reference: KernelTime) -> f64 {
    match time >= reference {
        true => time.since(reference) as f64,
        false => -(reference.since(time) as f64),
    }
}

fn shifted(reference: KernelTime, ns: f64, more_ns: f64) -> KernelTime {
    let ns = (ns + more_ns).round();
    match ns < 0.0 {
        true => KernelTime::from_ns(reference.ns().saturating_sub((-ns) as u64)),
        false => reference.plus_ns(ns as u64),
    }
}

impl PacketTimes {
    /// Brings the second host's clock to the first's.
    ///
    /// # Errors
    /// When no packets were matched in both directions, or no clock of constant rate explains them.
    pub fn align(&self) -> Result<ClockAlignment, NoAlignment> {
        let (forth, back) = (self.forth(), self.back());
        if forth.is_empty() && back.is_empty() {
            return Err(NoAlignment::NoPackets);
        }
        let (Some(&reference), false) = (forth.first(), back.is_empty()) else {
            return Err(NoAlignment::OneDirection);
        };
        let point = |passage: &Passage| Point {
            x: signed(passage.first, reference.first),
            y: signed(passage.second, reference.second),
        };
        let corridor = Corridor::new(forth.iter().map(point), back.iter().map(point));
        let line = corridor.middle();
        if line.room < 0.0 {
            return Err(NoAlignment::Contradiction { ns: (-2.0 * line.room).ceil() as u64 });
        }
        let ends = [forth.first(), forth.last(), back.first(), back.last()];
        let deviation = |passage: &Passage| corridor.deviation(line, point(passage).x);
        let bound = ends.into_iter().flatten().map(deviation).fold(0.0, f64::max);
        Ok(ClockAlignment {
            clock: clock(line, reference),
            bound_ns: bound.ceil() as u64 + 1,
            packets_forth: forth.len() as u64,
            packets_back: back.len() as u64,
        })
    }
}

fn clock(line: Line, reference: Passage) -> HostClock {
    HostClock {
        first_reference: reference.first,
        second_reference: shifted(reference.second, line.offset, 0.0),
        drift: line.rate - 1.0,
    }
}
