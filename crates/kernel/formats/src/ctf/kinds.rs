//! Registers to the kinds of events.

use super::meaning::{EventMeaning, FIELD};
use super::plan::{Registers, Slot};
use crate::event_names::EventSide;
use crate::thread_names::ThreadNames;
use laggard_model::{
    Cpu, EventKind, ExpiredTimer, KernelTexts, PrevState, Socket, StatedumpStatus, TextId, Tid,
};

/// A record as its plan left it.
pub(super) struct RecordKind<'a> {
    pub(super) registers: &'a Registers,
    /// The bytes that texts point into.
    pub(super) bytes: &'a [u8],
    /// Kernels before 4.14 write another number for a thread that ends.
    pub(super) old_states: bool,
}

impl RecordKind<'_> {
    fn number(&self, field: Slot) -> Option<u64> {
        self.registers.get(FIELD + field)
    }

    fn tid(&self, field: Slot) -> Option<Tid> {
        u32::try_from(self.number(field)?).ok().map(Tid)
    }

    fn text(&self, field: Slot) -> &[u8] {
        self.registers.text(FIELD + field, self.bytes)
    }

    fn socket(&self) -> Option<Socket> {
        let tcp = (self.number(1), self.number(2), self.number(3));
        if let (Some(sequence), Some(acknowledgment), Some(flags)) = tcp {
            let ports = self.number(4).zip(self.number(5));
            return Some(Socket::Tcp {
                sequence: sequence as u32,
                acknowledgment: acknowledgment as u32,
                flags: flags as u16,
                ports: ports.map_or(0, |(from, to)| (from as u32) << 16 | (to as u32 & 0xffff)),
            });
        }
        self.number(0).map(Socket::Buffer)
    }

    fn prev_state(&self, field: Slot) -> Option<PrevState> {
        // TASK_DEAD was 64; since 4.14 tracing shows 16, and 64 is a parked kernel thread.
        let state = self.number(field)? as u32;
        Some(PrevState(if self.old_states && state == 64 { 16 } else { state }))
    }

    /// The kind; none when a field it needs was not read. `name` is the handle of a name in `what`.
    pub(super) fn kind(
        &self,
        what: &EventMeaning,
        name: TextId,
        names: &mut ThreadNames,
        texts: &mut KernelTexts,
    ) -> Option<EventKind> {
        Some(match what {
            EventMeaning::Switch => EventKind::Switch {
                prev: self.tid(0)?,
                prev_name: names.id(self.text(1), texts),
                prev_state: self.prev_state(2)?,
                next: self.tid(3)?,
                next_name: names.id(self.text(4), texts),
            },
            EventMeaning::Wake(wake) => {
                let (tid, name) = (self.tid(0)?, names.id(self.text(1), texts));
                let target = self.number(2).and_then(|cpu| u16::try_from(cpu).ok()).map(Cpu);
                wake.event(tid, name, target)
            }
            EventMeaning::Irq(EventSide::Entry) => {
                EventKind::IrqEntry { irq: self.number(0)? as u32, name: names.id(self.text(1), texts) }
            }
            EventMeaning::Irq(EventSide::Exit) => EventKind::IrqExit { irq: self.number(0)? as u32 },
            EventMeaning::Softirq(EventSide::Entry) => EventKind::SoftirqEntry { vector: self.vector()? },
            EventMeaning::Softirq(EventSide::Exit) => EventKind::SoftirqExit { vector: self.vector()? },
            EventMeaning::SoftirqRaise => EventKind::SoftirqRaise { vector: self.vector()? },
            EventMeaning::Hrtimer(EventSide::Entry) => EventKind::HrtimerEntry(ExpiredTimer::default()),
            EventMeaning::Hrtimer(EventSide::Exit) => EventKind::HrtimerExit,
            EventMeaning::Ipi(EventSide::Entry, vector) => EventKind::IpiEntry(*vector),
            EventMeaning::Ipi(EventSide::Exit, vector) => EventKind::IpiExit(*vector),
            EventMeaning::PageFault => EventKind::PageFault,
            EventMeaning::PacketSent => EventKind::PacketSent(self.socket()?),
            EventMeaning::PacketReceived => EventKind::PacketReceived(self.socket()?),
            EventMeaning::Reception(EventSide::Entry) => EventKind::ReceptionEntry,
            EventMeaning::Reception(EventSide::Exit) => EventKind::ReceptionExit,
            EventMeaning::Syscall { side, .. } => self.syscall(*side, name),
            EventMeaning::Other { .. } => {
                EventKind::Other { name, fields: texts.intern(&self.registers.printed.text) }
            }
            _ => return self.life(what, names, texts),
        })
    }

    /// Events about threads.
    fn life(
        &self,
        what: &EventMeaning,
        names: &mut ThreadNames,
        texts: &mut KernelTexts,
    ) -> Option<EventKind> {
        Some(match what {
            EventMeaning::Fork => EventKind::Fork {
                parent: self.tid(0)?,
                child: self.tid(1)?,
                child_name: names.id(self.text(2), texts),
            },
            EventMeaning::Exec => {
                EventKind::Exec { tid: self.tid(0)?, filename: names.id(self.text(1), texts) }
            }
            EventMeaning::Exit => EventKind::Exit { tid: self.tid(0)? },
            EventMeaning::Rename => {
                EventKind::Rename { tid: self.tid(0)?, name: names.id(self.text(1), texts) }
            }
            EventMeaning::ProcessState => EventKind::Statedump {
                tid: self.tid(0)?,
                pid: self.tid(1)?,
                name: names.id(self.text(2), texts),
                status: status(self.number(3)?),
            },
            EventMeaning::Interrupt => EventKind::InterruptName {
                irq: self.number(0)? as u32,
                name: names.id(self.text(1), texts),
                thread: Tid::IDLE,
            },
            EventMeaning::Marker => {
                let text = self.text(0).trim_ascii_end();
                EventKind::Marker { text: texts.intern(&String::from_utf8_lossy(text)) }
            }
            _ => return None,
        })
    }

    fn vector(&self) -> Option<u8> {
        u8::try_from(self.number(0)?).ok()
    }

    fn syscall(&self, side: EventSide, name: TextId) -> EventKind {
        let number = self.number(0).map_or(u32::MAX, |number| number as u32);
        match side {
            EventSide::Entry => EventKind::SyscallEntry { number, name },
            EventSide::Exit => {
                EventKind::SyscallExit { number, name, returned: self.number(1).unwrap_or(0).cast_signed() }
            }
        }
    }
}

/// The codes of LTTng's state dump.
fn status(code: u64) -> StatedumpStatus {
    match code {
        1 => StatedumpStatus::WaitFork,
        2 => StatedumpStatus::WaitCpu,
        3 => StatedumpStatus::Exit,
        4 => StatedumpStatus::Zombie,
        5 => StatedumpStatus::WaitUnknown,
        6 => StatedumpStatus::Running,
        7 => StatedumpStatus::Dead,
        _ => StatedumpStatus::Unknown,
    }
}
