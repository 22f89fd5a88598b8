//! Packets: links a network wait to the sender of the packet.

use super::context::InterruptContext;
use super::thread::{ReceivedPacket, ThreadId};
use super::tracker::{EventOrigin, StateTracker};
use crate::partial_graph::VertexHandle;
use laggard_model::{KernelTime, Socket};
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of packets in flight; beyond it the oldest is dropped.
const SENT_MAX: usize = 65_536;

/// Identifies a packet. The address of a buffer is valid on one host only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct PacketKey {
    host: Option<u32>,
    socket: Socket,
}

impl PacketKey {
    fn new(host: u32, socket: Socket) -> PacketKey {
        let host = matches!(socket, Socket::Buffer(_)).then_some(host);
        PacketKey { host, socket }
    }
}

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
struct SentPacket {
    vertex: VertexHandle,
    time: KernelTime,
    serial: u64,
}

/// Packets in flight.
#[derive(Debug, Default)]
pub(super) struct PacketTable {
    sent: BTreeMap<PacketKey, SentPacket>,
    order: VecDeque<(PacketKey, u64)>,
    serial: u64,
}

impl PacketTable {
    fn insert(&mut self, key: PacketKey, vertex: VertexHandle, time: KernelTime) {
        self.serial += 1;
        self.sent.insert(key, SentPacket { vertex, time, serial: self.serial });
        self.order.push_back((key, self.serial));
        if self.order.len() <= SENT_MAX {
            return;
        }
        let Some((oldest, serial)) = self.order.pop_front() else { return };
        if self.sent.get(&oldest).is_some_and(|sent| sent.serial == serial) {
            self.sent.remove(&oldest);
        }
    }

    fn remove(&mut self, key: PacketKey) -> Option<SentPacket> {
        self.sent.remove(&key)
    }
}

impl StateTracker {
    /// A packet is sent. It is ignored in contexts other than a thread and the network softirq.
    pub(super) fn send(&mut self, origin: EventOrigin, socket: Socket) {
        self.graph.has_packets = true;
        if let Some(sender) = self.sender(origin) {
            self.send_from(sender, origin, socket);
        }
    }

    pub(super) fn send_from(&mut self, sender: ThreadId, origin: EventOrigin, socket: Socket) {
        let point = self.extend(sender, origin);
        self.packets.insert(PacketKey::new(origin.host, socket), point, origin.time);
    }

    fn sender(&self, origin: EventOrigin) -> Option<ThreadId> {
        let cpu = self.cpu(origin.cpu);
        match cpu.innermost() {
            Some(InterruptContext::Softirq { vector: 2 | 3 }) => Some(cpu.interrupts),
            Some(InterruptContext::Reception) => self.receiver(origin),
            None => self.waker(origin),
            Some(_) => None,
        }
    }

    /// A packet is received. It stays pending until a thread is woken or the receiver continues.
    pub(super) fn receive(&mut self, origin: EventOrigin, socket: Socket) {
        let is_buffer = matches!(socket, Socket::Buffer(_));
        let Some(receiver) = self.receiver(origin) else { return };
        let age_ns_max = if is_buffer { self.settings.buffer_ns_max } else { u64::MAX };
        let sent = self.packets.remove(PacketKey::new(origin.host, socket));
        let sent = sent.filter(|sent| origin.time.since(sent.time) <= age_ns_max);
        if is_buffer && sent.is_none() {
            return;
        }
        let received_at = self.extend(receiver, origin);
        if let Some(sent) = sent {
            self.thread_mut(receiver).received = Some(ReceivedPacket { sent_at: sent.vertex, received_at });
        }
    }

    /// The receiver on this CPU: its interrupt side, or the thread in whose context packets arrive.
    pub(super) fn receiver(&self, origin: EventOrigin) -> Option<ThreadId> {
        let cpu = self.cpu(origin.cpu);
        if cpu.is_interrupted() {
            return Some(cpu.interrupts);
        }
        cpu.current
    }
}
