//! Packets: who sent what was waited for.

use super::context::Context;
use super::follow::{Follower, Place};
use super::thread::{Received, ThreadId};
use crate::sketch::Point;
use laggard_model::{KernelTime, Socket};
use std::collections::{BTreeMap, VecDeque};

/// Packets sent and not yet received that are kept; the oldest give way.
const SENT_MAX: usize = 65_536;

/// What a packet is found again by. The address of a buffer means something on one host only.
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

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Point,
    time: KernelTime,
    serial: u64,
}

/// Packets on their way.
#[derive(Debug, Default)]
pub(super) struct PacketTable {
    sent: BTreeMap<PacketKey, Sent>,
    order: VecDeque<(PacketKey, u64)>,
    serial: u64,
}

impl PacketTable {
    fn put(&mut self, key: PacketKey, at: Point, time: KernelTime) {
        self.serial += 1;
        self.sent.insert(key, Sent { at, time, serial: self.serial });
        self.order.push_back((key, self.serial));
        if self.order.len() <= SENT_MAX {
            return;
        }
        let Some((oldest, serial)) = self.order.pop_front() else { return };
        if self.sent.get(&oldest).is_some_and(|sent| sent.serial == serial) {
            self.sent.remove(&oldest);
        }
    }

    fn take(&mut self, key: PacketKey) -> Option<Sent> {
        self.sent.remove(&key)
    }
}

impl Follower {
    /// A packet leaves. In contexts other than a thread's and the network's soft interrupt it is ignored.
    pub(super) fn send(&mut self, at: Place, socket: Socket) {
        if matches!(socket, Socket::Buffer(_)) && !self.is_modern() {
            return;
        }
        let Some(sender) = self.sender(at) else { return };
        let point = self.extend(sender, at);
        self.packets.put(PacketKey::new(at.host, socket), point, at.time);
    }

    fn sender(&self, at: Place) -> Option<ThreadId> {
        let cpu = self.cpu(at.cpu);
        match cpu.innermost() {
            Some(Context::Softirq { vector: 2 | 3 }) => Some(cpu.interrupts),
            Some(Context::Reception) if self.is_modern() => self.receiver(at),
            None => cpu.current.filter(|&current| !(self.is_modern() && self.thread(current).is_idle())),
            Some(_) => None,
        }
    }

    /// A packet arrives. Its sender is held back until somebody is woken, or the receiver goes on.
    pub(super) fn receive(&mut self, at: Place, socket: Socket) {
        let is_buffer = matches!(socket, Socket::Buffer(_));
        if is_buffer && !self.is_modern() {
            return;
        }
        let Some(receiver) = self.receiver(at) else { return };
        let age_ns_max = if is_buffer { self.settings.buffer_ns_max } else { u64::MAX };
        let sent = self.packets.take(PacketKey::new(at.host, socket));
        let sent = sent.filter(|sent| at.time.since(sent.time) <= age_ns_max);
        if is_buffer && sent.is_none() {
            return;
        }
        let received_at = self.extend(receiver, at);
        if let Some(sent) = sent {
            self.thread_mut(receiver).received = Some(Received { sent_at: sent.at, received_at });
        }
    }

    /// Who takes packets here: the interrupt side, or the thread in whose context they arrive.
    pub(super) fn receiver(&self, at: Place) -> Option<ThreadId> {
        let cpu = self.cpu(at.cpu);
        if cpu.is_interrupted() {
            return Some(cpu.interrupts);
        }
        cpu.current
    }
}
