//! Records to events.

use super::fields::{BytesField, NumberField};
use super::names::ThreadNames;
use super::other::write_fields;
use super::parse::EventFormat;
use super::plan::{Plan, PlanText, Side, SwitchFields, Wake, WakeFields};
use crate::bytes::ByteOrder;
use crate::devices::keeps_buffers;
use crate::options::OpenOptions;
use laggard_model::{
    ContextFlags, Cpu, EventKind, KernelEvent, KernelTexts, KernelTime, PrevState, Socket, TextId, Tid,
};
use std::sync::Arc;

/// What all records of a trace share: a plan an event, and where the fields of every event lie.
#[derive(Debug)]
struct Plans {
    order: ByteOrder,
    /// By the event's number.
    by_id: Vec<Plan>,
    /// Texts the plans refer to.
    texts: Vec<String>,
    id: NumberField,
    flags: Option<NumberField>,
    tid: Option<NumberField>,
}

/// What one stream needs beside the plans.
#[derive(Debug, Default)]
struct Scratch {
    names: ThreadNames,
    /// Handles of the plans' texts in the trace's table; empty until the first record.
    text_ids: Vec<TextId>,
    fields: String,
}

/// Turns the records of one stream into events.
#[derive(Debug)]
pub(crate) struct Decoder {
    plans: Arc<Plans>,
    scratch: Scratch,
}

/// What a record turned out to be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Decoded {
    Event(KernelEvent),
    /// Nobody asked for it.
    Unwanted,
    /// No format text has its number, or it is shorter than its format says.
    Malformed,
}

impl Decoder {
    /// Plans for the events of these formats.
    pub(crate) fn new(formats: &[EventFormat], order: ByteOrder, options: &OpenOptions) -> Decoder {
        let (mut by_id, mut texts) = (Vec::new(), Vec::new());
        for format in formats {
            let id = usize::from(format.id);
            if by_id.len() <= id {
                by_id.resize(id + 1, Plan::Missing);
            }
            by_id[id] = Plan::new(format, options, &mut texts);
        }
        let everywhere = |name: &str| formats.iter().find_map(|format| format.number(name));
        let id = everywhere("common_type").unwrap_or(NumberField { offset: 0, size: 2, signed: false });
        let (flags, tid) = (everywhere("common_flags"), everywhere("common_pid"));
        let plans = Arc::new(Plans { order, by_id, texts, id, flags, tid });
        Decoder { plans, scratch: Scratch::default() }
    }

    /// A decoder of the same events for another stream.
    pub(crate) fn another(&self) -> Decoder {
        Decoder { plans: Arc::clone(&self.plans), scratch: Scratch::default() }
    }

    /// The event of one record, written at `time` on `cpu`.
    #[inline]
    pub(crate) fn decode(
        &mut self,
        record: &[u8],
        time: KernelTime,
        cpu: Cpu,
        texts: &mut KernelTexts,
    ) -> Decoded {
        let plans = &*self.plans;
        let Some(id) = plans.id.read_u32(record, plans.order) else { return Decoded::Malformed };
        let plan = match plans.by_id.get(id as usize) {
            None | Some(Plan::Missing) => return Decoded::Malformed,
            Some(Plan::Unwanted) => return Decoded::Unwanted,
            Some(plan) => plan,
        };
        let mut reading = Reading { plans, scratch: &mut self.scratch, record, texts };
        if !reading.can_be_matched(plan) {
            return Decoded::Unwanted;
        }
        let Some(kind) = reading.kind(plan) else { return Decoded::Malformed };
        let flags = plans.flags.and_then(|flags| flags.read_u32(record, plans.order));
        let tid = plans.tid.and_then(|tid| tid.read_u32(record, plans.order));
        Decoded::Event(KernelEvent {
            time,
            cpu,
            flags: flags.map(|flags| ContextFlags(flags as u8)),
            recorded: tid.map(Tid),
            kind,
        })
    }
}

/// One record while it is read.
struct Reading<'a> {
    plans: &'a Plans,
    scratch: &'a mut Scratch,
    record: &'a [u8],
    texts: &'a mut KernelTexts,
}

impl Reading<'_> {
    /// Whether a packet's buffer says where it comes from or goes to; other events always count.
    fn can_be_matched(&self, plan: &Plan) -> bool {
        let (Plan::PacketSent { device, .. } | Plan::PacketReceived { device, .. }) = plan else {
            return true;
        };
        let device = device.and_then(|device| device.read_text(self.record, self.plans.order));
        device.is_none_or(keeps_buffers)
    }

    #[inline]
    fn kind(&mut self, plan: &Plan) -> Option<EventKind> {
        match plan {
            Plan::Switch(fields) => self.switch(fields),
            Plan::Wake(which, fields) => self.wake(*which, fields),
            &Plan::IrqEntry { irq, name } => {
                Some(EventKind::IrqEntry { irq: self.number(irq)?, name: self.name(name)? })
            }
            &Plan::IrqExit { irq } => Some(EventKind::IrqExit { irq: self.number(irq)? }),
            &Plan::Softirq(Side::Entry, vector) => {
                Some(EventKind::SoftirqEntry { vector: self.number(vector)? as u8 })
            }
            &Plan::Softirq(Side::Exit, vector) => {
                Some(EventKind::SoftirqExit { vector: self.number(vector)? as u8 })
            }
            Plan::Hrtimer(Side::Entry) => Some(EventKind::HrtimerEntry),
            Plan::Hrtimer(Side::Exit) => Some(EventKind::HrtimerExit),
            &Plan::Ipi(Side::Entry, vector) => Some(EventKind::IpiEntry(vector)),
            &Plan::Ipi(Side::Exit, vector) => Some(EventKind::IpiExit(vector)),
            plan => self.rarer(plan),
        }
    }

    fn rarer(&mut self, plan: &Plan) -> Option<EventKind> {
        Some(match plan {
            &Plan::SoftirqRaise(vector) => EventKind::SoftirqRaise { vector: self.number(vector)? as u8 },
            &Plan::Fork { parent, child, child_name } => EventKind::Fork {
                parent: Tid(self.number(parent)?),
                child: Tid(self.number(child)?),
                child_name: self.name(child_name)?,
            },
            &Plan::Exec { tid, filename } => EventKind::Exec {
                tid: Tid(tid.or(self.plans.tid).and_then(|tid| self.number(tid))?),
                filename: self.text(filename)?,
            },
            &Plan::Exit { tid } => EventKind::Exit { tid: Tid(self.number(tid)?) },
            &Plan::Rename { tid, name } => {
                EventKind::Rename { tid: Tid(self.number(tid)?), name: self.name(Some(name))? }
            }
            &Plan::Marker { text } => EventKind::Marker { text: self.marker(text)? },
            &Plan::SyscallEntry { number, name } => {
                EventKind::SyscallEntry { number: self.call(number)?, name: self.kept(name) }
            }
            &Plan::SyscallExit { number, name, returned } => EventKind::SyscallExit {
                number: self.call(number)?,
                name: self.kept(name),
                returned: returned.map_or(Some(0), |field| self.wide(field))? as i64,
            },
            &Plan::PacketSent { buffer, .. } => EventKind::PacketSent(Socket::Buffer(self.wide(buffer)?)),
            &Plan::PacketReceived { buffer, .. } => {
                EventKind::PacketReceived(Socket::Buffer(self.wide(buffer)?))
            }
            Plan::Other { name, fields } => {
                write_fields(fields, self.record, self.plans.order, &mut self.scratch.fields);
                let fields = self.texts.intern(&self.scratch.fields);
                EventKind::Other { name: self.kept(*name), fields }
            }
            _ => return None,
        })
    }

    #[inline]
    fn switch(&mut self, fields: &SwitchFields) -> Option<EventKind> {
        Some(EventKind::Switch {
            prev: Tid(self.number(fields.prev)?),
            prev_name: self.name(fields.prev_name)?,
            prev_state: PrevState(self.number(fields.prev_state)?),
            next: Tid(self.number(fields.next)?),
            next_name: self.name(fields.next_name)?,
        })
    }

    #[inline]
    fn wake(&mut self, which: Wake, fields: &WakeFields) -> Option<EventKind> {
        let tid = Tid(self.number(fields.tid)?);
        let name = self.name(fields.name)?;
        let target = fields.target.and_then(|target| self.number(target));
        let target = target.and_then(|cpu| u16::try_from(cpu).ok()).map(Cpu);
        Some(match which {
            Wake::Waking => EventKind::Waking { tid, name, target },
            Wake::Wakeup => EventKind::Wakeup { tid, name, target },
            Wake::WakeupNew => EventKind::WakeupNew { tid, name, target },
        })
    }

    #[inline]
    fn number(&self, field: NumberField) -> Option<u32> {
        field.read_u32(self.record, self.plans.order)
    }

    fn wide(&self, field: NumberField) -> Option<u64> {
        field.read(self.record, self.plans.order)
    }

    /// A system call's number; `u32::MAX` when the event has none.
    fn call(&self, field: Option<NumberField>) -> Option<u32> {
        field.map_or(Some(u32::MAX), |field| self.number(field))
    }

    /// The handle of a short text that comes again and again; the empty one when the event has no such field.
    #[inline]
    fn name(&mut self, field: Option<BytesField>) -> Option<TextId> {
        let Some(field) = field else { return Some(TextId::EMPTY) };
        let name = field.read_text(self.record, self.plans.order)?;
        Some(self.scratch.names.id(name, self.texts))
    }

    fn text(&mut self, field: Option<BytesField>) -> Option<TextId> {
        let Some(field) = field else { return Some(TextId::EMPTY) };
        let text = field.read_text(self.record, self.plans.order)?;
        Some(self.texts.intern(&String::from_utf8_lossy(text)))
    }

    /// A marker's text without its line end.
    fn marker(&mut self, field: BytesField) -> Option<TextId> {
        let text = field.read_text(self.record, self.plans.order)?;
        let text = String::from_utf8_lossy(text);
        Some(self.texts.intern(text.trim_end_matches(['\n', '\r'])))
    }

    /// The handle of a plan's text in the trace's table.
    fn kept(&mut self, text: PlanText) -> TextId {
        let ids = &mut self.scratch.text_ids;
        if ids.is_empty() {
            ids.extend(self.plans.texts.iter().map(|text| self.texts.intern(text)));
        }
        ids[text.0]
    }
}
