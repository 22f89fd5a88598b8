//! When packets were sent and received, on each of two hosts.

use laggard_model::{EventKind, KernelEvent, KernelTime, Socket};
use std::collections::HashMap;

// Limit: packets remembered to align the clocks of two hosts | later packets are not used
/// Maximum number of packets stored per side and direction; more are not needed.
const PACKETS_MAX: usize = 1 << 20;

/// One of the two hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockSide {
    /// The reference clock.
    First,
    /// The clock that is aligned with the first.
    Second,
}

/// The packets of two hosts' traces.
#[derive(Clone, Debug, Default)]
pub struct PacketTimes {
    sent: [HashMap<Socket, PacketInstant>; 2],
    received: [HashMap<Socket, PacketInstant>; 2],
}

/// When a packet was seen, unless several packets look alike (repeated acknowledgments, probes).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PacketInstant {
    Once(KernelTime),
    Often,
}

/// When one packet was seen, on both clocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct PacketTransit {
    pub(crate) first: KernelTime,
    pub(crate) second: KernelTime,
}

impl PacketTimes {
    /// Adds an event of one host's trace. The traces may be added one after the other.
    pub fn push(&mut self, side: ClockSide, event: &KernelEvent) {
        let (packets, socket) = match event.kind {
            EventKind::PacketSent(socket) => (&mut self.sent[side as usize], socket),
            EventKind::PacketReceived(socket) => (&mut self.received[side as usize], socket),
            _ => return,
        };
        // A buffer's address is not valid on another host.
        if matches!(socket, Socket::Buffer(_))
            || (packets.len() >= PACKETS_MAX && !packets.contains_key(&socket))
        {
            return;
        }
        packets
            .entry(socket)
            .and_modify(|instant| *instant = PacketInstant::Often)
            .or_insert(PacketInstant::Once(event.time));
    }

    /// Packets from the first host to the second, in order of the first's clock.
    pub(crate) fn forward(&self) -> Vec<PacketTransit> {
        matched(&self.sent[0], &self.received[1], |sent, received| PacketTransit {
            first: sent,
            second: received,
        })
    }

    /// Packets from the second host to the first, in order of the first's clock.
    pub(crate) fn backward(&self) -> Vec<PacketTransit> {
        matched(&self.sent[1], &self.received[0], |sent, received| PacketTransit {
            first: received,
            second: sent,
        })
    }
}

fn matched(
    sent: &HashMap<Socket, PacketInstant>,
    received: &HashMap<Socket, PacketInstant>,
    new_transit: impl Fn(KernelTime, KernelTime) -> PacketTransit,
) -> Vec<PacketTransit> {
    let transit = |(socket, instant): (&Socket, &PacketInstant)| match (instant, received.get(socket)?) {
        (PacketInstant::Once(sent), PacketInstant::Once(received)) => Some(new_transit(*sent, *received)),
        _ => None,
    };
    let mut transits: Vec<PacketTransit> = sent.iter().filter_map(transit).collect();
    transits.sort_unstable();
    transits
}
