//! Aligns the clocks of two hosts by the packets between them.
//!
//! A packet arrives after it was sent. Packets in one direction bound the second clock from above, packets in the other
//! from below; the line with the largest margin to both is the estimate (Duda, Harrus, Haddad, Bernard 1987: convex
//! hulls; Poirier, Roy, Dagenais 2010).

mod alignment;
mod bounds;
mod hull;
mod packets;

pub use alignment::{ClockAlignment, ClockAlignmentError, HostClock};
pub use packets::{ClockSide, PacketTimes};

#[cfg(test)]
mod tests;
