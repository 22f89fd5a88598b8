//! `FtraceEvent`: one event in full. Field numbers are those of Perfetto's published schema (`ftrace_event.proto` and
//! the files beside it).

use crate::format_text::shares_memory;
use crate::trace::EventBatch;
use laggard_model::{
    ContextFlags, Cpu, EventKind, ExpiredTimer, IpiVector, KernelEvent, KernelTexts, KernelTime, PrevState,
    Socket, TextId, Tid,
};
use laggard_wire::{Fields, Value};

/// Texts of markers beyond this length are cut.
const TEXT_BYTES_MAX: usize = 1024;

/// Reads one event and appends it if its kind is known; returns whether it was complete.
pub(super) fn read(event: &[u8], cpu: Cpu, batch: &mut EventBatch) -> bool {
    let (mut time, mut recorded, mut flags, mut kind) = (None, None, None, None);
    for field in Fields::new(event) {
        match field {
            Ok((1, Value::Varint(ns))) => time = Some(KernelTime::from_ns(ns)),
            Ok((2, Value::Varint(pid))) => recorded = Some(Tid(pid as u32)),
            Ok((5, Value::Varint(bits))) => flags = Some(ContextFlags(bits as u8)),
            Ok((number, Value::Bytes(fields))) => {
                let Some(values) = EventValues::read(fields) else { return false };
                kind = kind_of(number, &values, &mut batch.texts).or(kind);
            }
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    let (Some(time), Some(kind)) = (time, kind) else { return time.is_some() };
    batch.events.push(KernelEvent { time, cpu, flags, recorded, kind });
    true
}

/// The fields of an event's own message by number, 1 to 7.
#[derive(Default)]
struct EventValues<'a> {
    numbers: [u64; 8],
    texts: [&'a [u8]; 8],
}

impl<'a> EventValues<'a> {
    fn read(fields: &'a [u8]) -> Option<EventValues<'a>> {
        let mut values = EventValues::default();
        for field in Fields::new(fields) {
            let (number, value) = field.ok()?;
            let Some(index) = usize::try_from(number).ok().filter(|&index| index < values.numbers.len())
            else {
                continue;
            };
            match value {
                Value::Varint(number) => values.numbers[index] = number,
                Value::Bytes(text) => values.texts[index] = text,
                Value::Fixed64(_) | Value::Fixed32(_) => {}
            }
        }
        Some(values)
    }

    fn word(&self, number: usize) -> u32 {
        self.numbers[number] as u32
    }

    fn tid(&self, number: usize) -> Tid {
        Tid(self.word(number))
    }

    fn text(&self, number: usize, texts: &mut KernelTexts) -> TextId {
        let bytes = self.texts[number];
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(TEXT_BYTES_MAX)]);
        texts.intern(text.trim_end())
    }
}

/// The kind of an event by the number of its field in `FtraceEvent`.
fn kind_of(number: u32, values: &EventValues<'_>, texts: &mut KernelTexts) -> Option<EventKind> {
    let target = || u16::try_from(values.numbers[5]).ok().map(Cpu);
    Some(match number {
        3 => EventKind::Marker { text: values.text(2, texts) },
        4 => EventKind::Switch {
            prev: values.tid(2),
            prev_name: values.text(1, texts),
            prev_state: PrevState(values.word(4)),
            next: values.tid(6),
            next_name: values.text(5, texts),
        },
        17 => EventKind::Wakeup { tid: values.tid(2), name: values.text(1, texts), target: target() },
        20 => EventKind::Waking { tid: values.tid(2), name: values.text(1, texts), target: target() },
        114 => EventKind::WakeupNew { tid: values.tid(2), name: values.text(1, texts), target: target() },
        // Reschedule and call-function interrupts of ARM and RISC-V.
        21 => EventKind::IpiEntry(IpiVector::Other),
        22 => EventKind::IpiExit(IpiVector::Other),
        24 => EventKind::SoftirqEntry { vector: u8::try_from(values.numbers[1]).ok()? },
        25 => EventKind::SoftirqExit { vector: u8::try_from(values.numbers[1]).ok()? },
        26 => EventKind::SoftirqRaise { vector: u8::try_from(values.numbers[1]).ok()? },
        36 => EventKind::IrqEntry { irq: values.word(1), name: values.text(2, texts) },
        37 => EventKind::IrqExit { irq: values.word(1) },
        553 => EventKind::HrtimerEntry(ExpiredTimer { address: values.numbers[2], function: TextId::EMPTY }),
        554 => EventKind::HrtimerExit,
        236 => EventKind::Rename { tid: values.tid(1), name: values.text(3, texts) },
        237 => EventKind::Exec { tid: values.tid(2), filename: values.text(1, texts) },
        238 => EventKind::Exit { tid: values.tid(2) },
        239 => {
            EventKind::Fork { parent: values.tid(2), child: values.tid(4), child_name: values.text(3, texts) }
        }
        329 => EventKind::SyscallEntry { number: values.word(1), name: TextId::EMPTY },
        330 => EventKind::SyscallExit {
            number: values.word(1),
            name: TextId::EMPTY,
            returned: values.numbers[2].cast_signed(),
        },
        360 if !shares_memory(values.texts[2]) => return None,
        361 if !shares_memory(values.texts[1]) => return None,
        360 => EventKind::PacketReceived(Socket::Buffer(values.numbers[3])),
        361 => EventKind::PacketSent(Socket::Buffer(values.numbers[4])),
        _ => return None,
    })
}
