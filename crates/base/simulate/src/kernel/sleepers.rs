//! Who sleeps, and what wakes them.

use super::log::Context;
use super::machine::{Doing, Due, Machine};
use laggard_model::{EventKind, KernelEvent, KernelTexts, PrevState, Socket, Tid};

/// The disk's interrupt.
const DISK_IRQ: u32 = 40;
/// The soft interrupt that receives packets.
const NET_RX: u8 = 3;

impl<F: FnMut(&KernelEvent, &KernelTexts)> Machine<F> {
    /// The running thread waits: its CPU goes to another.
    pub(super) fn block(&mut self, cpu: usize, thread: usize, doing: Doing) {
        let prev_state = if doing == Doing::Disk { PrevState::UNINTERRUPTIBLE } else { PrevState::SLEEPING };
        self.switch(cpu, prev_state);
        // The switch's record is the CPU's last one.
        let time = self.log.last_of(cpu);
        self.turn(thread, doing, time);
    }

    /// Wakes a thread from a context on a CPU.
    pub(super) fn wake(&mut self, cpu: usize, context: Context, thread: usize) {
        let writer = self.writer(cpu);
        let (tid, name) = (Tid(self.threads[thread].tid), self.threads[thread].name);
        let time =
            self.log.write(self.now, cpu, writer, context, EventKind::Waking { tid, name, target: None });
        self.turn(thread, Doing::Runnable, time);
        self.enqueue(thread, time);
    }

    pub(super) fn timer_expires(&mut self, thread: usize) {
        let cpu = self.threads[thread].cpu;
        let writer = self.writer(cpu);
        self.log.write(self.now, cpu, writer, Context::HardInterrupt, EventKind::HrtimerEntry);
        self.wake(cpu, Context::HardInterrupt, thread);
        self.log.write(self.now, cpu, writer, Context::HardInterrupt, EventKind::HrtimerExit);
    }

    /// Queues an access to the disk, which does one after the other.
    pub(super) fn access_disk(&mut self, thread: usize, ns: u64) {
        self.disk_free = self.disk_free.max(self.now) + ns;
        self.at(self.disk_free, Due::Disk { thread });
    }

    pub(super) fn disk_completes(&mut self, thread: usize) {
        let writer = self.writer(0);
        let name = self.log.name("virtio1-req.0");
        let entry = EventKind::IrqEntry { irq: DISK_IRQ, name };
        self.log.write(self.now, 0, writer, Context::HardInterrupt, entry);
        self.wake(0, Context::HardInterrupt, thread);
        let exit = EventKind::IrqExit { irq: DISK_IRQ };
        self.log.write(self.now, 0, writer, Context::HardInterrupt, exit);
    }

    /// Sends a packet over loopback, which arrives in a soft interrupt on the same CPU; wakes the receiver if it waits.
    pub(super) fn send(&mut self, cpu: usize, receiver: Option<usize>) {
        let writer = self.writer(cpu);
        self.buffers += 1;
        // Addresses are used again, as the kernel does.
        let buffer = Socket::Buffer(0xffff_8880_0000_0000 + (self.buffers % 512) * 0x100);
        let soft = Context::SoftInterrupt;
        self.log.write(self.now, cpu, writer, Context::Thread, EventKind::PacketSent(buffer));
        self.log.write(self.now, cpu, writer, soft, EventKind::SoftirqEntry { vector: NET_RX });
        self.log.write(self.now, cpu, writer, soft, EventKind::PacketReceived(buffer));
        if let Some(receiver) = receiver {
            self.wake(cpu, soft, receiver);
        }
        self.log.write(self.now, cpu, writer, soft, EventKind::SoftirqExit { vector: NET_RX });
    }
}
