//! Clocks of two hosts brought together by the packets between them.
//!
//! A packet arrives after it was sent. Packets one way bound the second clock from above, packets the other way from
//! below; the line with the most room to both is the estimate (Duda, Harrus, Haddad, Bernard 1987: convex hulls;
//! Poirier, Roy, Dagenais 2010).

mod alignment;
mod bounds;
mod hull;
mod packets;

pub use alignment::{ClockAlignment, HostClock, NoAlignment};
pub use packets::{PacketTimes, Side};

#[cfg(test)]
mod tests;
