//! Sleeping threads and their wake-ups.

use super::log::EventContext;
use super::machine::{Machine, ThreadActivity, TimedEvent};
use laggard_model::{EventKind, ExpiredTimer, KernelEvent, KernelTexts, PrevState, Socket, Tid};

/// The disk's interrupt.
const DISK_IRQ: u32 = 40;
/// The soft interrupt that receives packets.
const NET_RX: u8 = 3;

impl<F: FnMut(&KernelEvent, &KernelTexts)> Machine<F> {
    /// The running thread waits: its CPU runs another.
    pub(super) fn block(&mut self, cpu: usize, thread: usize, activity: ThreadActivity) {
        let prev_state =
            if activity == ThreadActivity::Disk { PrevState::UNINTERRUPTIBLE } else { PrevState::SLEEPING };
        self.switch(cpu, prev_state);
        // The switch's record is the CPU's last one.
        let time = self.log.last_of(cpu);
        self.turn(thread, activity, time);
    }

    /// Wakes a thread from a context on a CPU.
    pub(super) fn wake(&mut self, cpu: usize, context: EventContext, thread: usize) {
        let writer = self.writer(cpu);
        let (tid, name) = (Tid(self.threads[thread].tid), self.threads[thread].name);
        let time =
            self.log.write(self.now, cpu, writer, context, EventKind::Waking { tid, name, target: None });
        self.turn(thread, ThreadActivity::Runnable, time);
        self.enqueue(thread, time);
    }

    pub(super) fn timer_expires(&mut self, thread: usize) {
        let cpu = self.threads[thread].cpu;
        let writer = self.writer(cpu);
        self.log.write(
            self.now,
            cpu,
            writer,
            EventContext::HardInterrupt,
            EventKind::HrtimerEntry(ExpiredTimer::default()),
        );
        self.wake(cpu, EventContext::HardInterrupt, thread);
        self.log.write(self.now, cpu, writer, EventContext::HardInterrupt, EventKind::HrtimerExit);
    }

    /// Queues an access to the disk, which does one after the other.
    pub(super) fn access_disk(&mut self, thread: usize, ns: u64) {
        self.disk_free = self.disk_free.max(self.now) + ns;
        self.at(self.disk_free, TimedEvent::Disk { thread });
    }

    pub(super) fn disk_completes(&mut self, thread: usize) {
        let writer = self.writer(0);
        let name = self.log.name("virtio1-req.0");
        let entry = EventKind::IrqEntry { irq: DISK_IRQ, name };
        self.log.write(self.now, 0, writer, EventContext::HardInterrupt, entry);
        self.wake(0, EventContext::HardInterrupt, thread);
        let exit = EventKind::IrqExit { irq: DISK_IRQ };
        self.log.write(self.now, 0, writer, EventContext::HardInterrupt, exit);
    }

    /// Sends a packet over loopback, which arrives in a soft interrupt on the same CPU; wakes the receiver if it waits.
    pub(super) fn send(&mut self, cpu: usize, receiver: Option<usize>) {
        let writer = self.writer(cpu);
        self.buffers += 1;
        // Addresses are used again, as the kernel does.
        let buffer = Socket::Buffer(0xffff_8880_0000_0000 + (self.buffers % 512) * 0x100);
        let soft = EventContext::SoftInterrupt;
        self.log.write(self.now, cpu, writer, EventContext::Thread, EventKind::PacketSent(buffer));
        self.log.write(self.now, cpu, writer, soft, EventKind::SoftirqEntry { vector: NET_RX });
        self.log.write(self.now, cpu, writer, soft, EventKind::PacketReceived(buffer));
        if let Some(receiver) = receiver {
            self.wake(cpu, soft, receiver);
        }
        self.log.write(self.now, cpu, writer, soft, EventKind::SoftirqExit { vector: NET_RX });
    }
}
