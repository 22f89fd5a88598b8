//! When packets were sent and received, on each of two hosts.

use laggard_model::{EventKind, KernelEvent, KernelTime, Socket};
use std::collections::HashMap;

/// Packets remembered a side and direction; further ones are not needed.
const PACKETS_MAX: usize = 1 << 20;

/// Which of two hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The one whose clock stays.
    First,
    /// The one whose clock is brought to the first's.
    Second,
}

/// The packets of two hosts' traces.
#[derive(Clone, Debug, Default)]
pub struct PacketTimes {
    sent: [HashMap<Socket, Seen>; 2],
    received: [HashMap<Socket, Seen>; 2],
}

/// A packet's instant, unless there were several that look alike: acknowledgments sent again, probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seen {
    Once(KernelTime),
    Often,
}

/// One packet's instants by both clocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Passage {
    pub(crate) first: KernelTime,
    pub(crate) second: KernelTime,
}

impl PacketTimes {
    /// Takes an event of one host's trace. The traces may come one after the other.
    pub fn push(&mut self, side: Side, event: &KernelEvent) {
        let (packets, socket) = match event.kind {
            EventKind::PacketSent(socket) => (&mut self.sent[side as usize], socket),
            EventKind::PacketReceived(socket) => (&mut self.received[side as usize], socket),
            _ => return,
        };
        // A buffer's address means nothing on another host.
        if matches!(socket, Socket::Buffer(_))
            || (packets.len() >= PACKETS_MAX && !packets.contains_key(&socket))
        {
            return;
        }
        packets.entry(socket).and_modify(|seen| *seen = Seen::Often).or_insert(Seen::Once(event.time));
    }

    /// Packets from the first host to the second, in order of the first's clock.
    pub(crate) fn forth(&self) -> Vec<Passage> {
        matched(&self.sent[0], &self.received[1], |sent, received| Passage { first: sent, second: received })
    }

    /// Packets from the second host to the first, in order of the first's clock.
    pub(crate) fn back(&self) -> Vec<Passage> {
        matched(&self.sent[1], &self.received[0], |sent, received| Passage { first: received, second: sent })
    }
}

fn matched(
    sent: &HashMap<Socket, Seen>,
    received: &HashMap<Socket, Seen>,
    passage: impl Fn(KernelTime, KernelTime) -> Passage,
) -> Vec<Passage> {
    let both = |(socket, seen): (&Socket, &Seen)| match (seen, received.get(socket)?) {
        (Seen::Once(sent), Seen::Once(received)) => Some(passage(*sent, *received)),
        _ => None,
    };
    let mut passages: Vec<Passage> = sent.iter().filter_map(both).collect();
    passages.sort_unstable();
    passages
}
