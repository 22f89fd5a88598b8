//! Maps the clock of a second host to the clock of a first host.

use super::bounds::{Corridor, Line};
use super::hull::Point;
use super::packets::{PacketTimes, PacketTransit};
use laggard_model::KernelTime;
use std::fmt;

/// The clock of a second host as a linear function of a first host's: `second = second_reference + rate · (first −
/// first_reference)`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HostClock {
    first_reference: KernelTime,
    second_reference: KernelTime,
    /// The rate minus 1.
    drift: f64,
}

/// The alignment of two clocks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClockAlignment {
    /// The map between the clocks.
    pub clock: HostClock,
    /// Maximum error (nanoseconds) of the map between the first and the last packet used. It follows only from the fact
    /// that every packet arrived after it was sent.
    pub bound_ns: u64,
    /// Number of packets used from the first host to the second.
    pub packets_forward: u64,
    /// Number of packets used from the second host to the first.
    pub packets_backward: u64,
}

/// Why two clocks cannot be aligned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockAlignmentError {
    /// No packet is in both traces.
    NoPackets,
    /// Packets go in one direction only, so the offset is bounded on one side only.
    OneDirection,
    /// No clock with a constant rate explains the packets: some would arrive before they were sent. A clock was set, or
    /// packets were mismatched.
    Contradiction {
        /// By how much at least, in nanoseconds.
        ns: u64,
    },
}

impl fmt::Display for ClockAlignmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClockAlignmentError::NoPackets => f.write_str(
                "the clocks cannot be aligned: no packet is in both traces (record the packets' TCP events)",
            ),
            ClockAlignmentError::OneDirection => {
                f.write_str("the clocks cannot be aligned: no packets in both directions are in both traces")
            }
            ClockAlignmentError::Contradiction { ns } => write!(
                f,
                "the clocks cannot be aligned: some packets would arrive {ns} ns before they were sent, whatever the \
                 offset and rate; was a clock set during the recording?"
            ),
        }
    }
}

impl std::error::Error for ClockAlignmentError {}

impl HostClock {
    /// Converts an instant of the second host to the first's clock; 0 if it lies before that clock's origin.
    pub fn to_first(self, second: KernelTime) -> KernelTime {
        shifted(self.first_reference, signed(second, self.second_reference) / (1.0 + self.drift), 0.0)
    }

    /// Converts an instant of the first host to the second's clock; 0 if it lies before that clock's origin.
    pub fn to_second(self, first: KernelTime) -> KernelTime {
        let since = signed(first, self.first_reference);
        shifted(self.second_reference, since, since * self.drift)
    }

    /// How much faster the second clock runs than the first, in parts per million.
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
    /// Aligns the second host's clock with the first's.
    ///
    /// # Errors
    /// When no packets were matched in both directions, or no clock of constant rate explains them.
    pub fn align(&self) -> Result<ClockAlignment, ClockAlignmentError> {
        let (forward, backward) = (self.forward(), self.backward());
        if forward.is_empty() && backward.is_empty() {
            return Err(ClockAlignmentError::NoPackets);
        }
        let (Some(&reference), false) = (forward.first(), backward.is_empty()) else {
            return Err(ClockAlignmentError::OneDirection);
        };
        let point = |passage: &PacketTransit| Point {
            x: signed(passage.first, reference.first),
            y: signed(passage.second, reference.second),
        };
        let corridor = Corridor::new(forward.iter().map(point), backward.iter().map(point));
        let line = corridor.middle();
        if line.margin < 0.0 {
            return Err(ClockAlignmentError::Contradiction { ns: (-2.0 * line.margin).ceil() as u64 });
        }
        let ends = [forward.first(), forward.last(), backward.first(), backward.last()];
        let deviation = |passage: &PacketTransit| corridor.deviation(line, point(passage).x);
        let bound = ends.into_iter().flatten().map(deviation).fold(0.0, f64::max);
        Ok(ClockAlignment {
            clock: clock(line, reference),
            bound_ns: bound.ceil() as u64 + 1,
            packets_forward: forward.len() as u64,
            packets_backward: backward.len() as u64,
        })
    }
}

fn clock(line: Line, reference: PacketTransit) -> HostClock {
    HostClock {
        first_reference: reference.first,
        second_reference: shifted(reference.second, line.offset, 0.0),
        drift: line.rate - 1.0,
    }
}
