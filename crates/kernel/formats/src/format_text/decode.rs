//! Turns the raw records of one stream into kernel events, by the plans made from the format texts.

use super::fields::{BytesField, NumberField};
use super::other::write_fields;
use super::parse::EventFormat;
use super::plan::{AddressArray, EventPlan, PlanText, SwitchFields, WakeFields};
use super::stack_names::{Programs, StackAddresses, StackNames};
use super::symbols::Symbols;
use crate::bytes::ByteOrder;
use crate::event_names::{EventSide, WakeKind};
use crate::options::OpenOptions;
use crate::thread_names::ThreadNames;
use laggard_model::{
    ContextFlags, Cpu, EventKind, ExpiredTimer, KernelEvent, KernelTexts, KernelTime, PrevState, Socket,
    TextId, Tid,
};
use std::sync::Arc;

/// Maximum number of functions whose names are kept; kernels have some dozens of timers.
const FUNCTIONS_MAX: usize = 256;

/// Shared by all records of a trace: a plan for each event, and where the fields of every event lie.
#[derive(Debug)]
struct Plans {
    order: ByteOrder,
    /// By the event's number.
    by_id: Vec<EventPlan>,
    /// Texts the plans refer to.
    texts: Vec<String>,
    symbols: Symbols,
    programs: Arc<dyn Programs>,
    id: NumberField,
    flags: Option<NumberField>,
    tid: Option<NumberField>,
}

/// State of one stream.
#[derive(Debug, Default)]
struct DecodeScratch {
    names: ThreadNames,
    /// Handles of the plans' texts in the trace's table; empty until the first record.
    text_ids: Vec<TextId>,
    /// Names of functions met so far, by address.
    functions: Vec<(u64, TextId)>,
    stacks: StackNames,
    /// The program's part of a stack, from the record directly before that of the kernel's part.
    program_stack: Option<StackAddresses>,
    fields: String,
}

/// Turns the records of one stream into events.
#[derive(Debug)]
pub(crate) struct Decoder {
    plans: Arc<Plans>,
    scratch: DecodeScratch,
}

/// The result of decoding a record.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum DecodedEvent {
    Event(KernelEvent),
    /// An event that was not requested.
    Unwanted,
    /// No format text has its number, or it is shorter than its format says.
    Malformed,
}

impl Decoder {
    /// Plans for the events of these formats; `symbols` names functions of the kernel, `programs` those of programs.
    pub(crate) fn new(
        formats: &[EventFormat],
        (symbols, programs): (Symbols, Arc<dyn Programs>),
        order: ByteOrder,
        options: &OpenOptions,
    ) -> Decoder {
        let (mut by_id, mut texts) = (Vec::new(), Vec::new());
        for format in formats {
            let id = usize::from(format.id);
            if by_id.len() <= id {
                by_id.resize(id + 1, EventPlan::Missing);
            }
            by_id[id] = EventPlan::new(format, options, &mut texts);
        }
        let everywhere = |name: &str| formats.iter().find_map(|format| format.number(name));
        let id = everywhere("common_type").unwrap_or(NumberField { offset: 0, size: 2, signed: false });
        let (flags, tid) = (everywhere("common_flags"), everywhere("common_pid"));
        let plans = Arc::new(Plans { order, by_id, texts, symbols, programs, id, flags, tid });
        Decoder { plans, scratch: DecodeScratch::default() }
    }

    /// A decoder of the same events for another stream.
    pub(crate) fn another(&self) -> Decoder {
        Decoder { plans: Arc::clone(&self.plans), scratch: DecodeScratch::default() }
    }

    /// The stack of a record, from the addresses that a format has beside it; `None` if no function is in it.
    pub(crate) fn stack(
        &mut self,
        stack: StackAddresses,
        time: KernelTime,
        texts: &mut KernelTexts,
    ) -> Option<EventKind> {
        let names = (&self.plans.symbols, &*self.plans.programs);
        let frames = self.scratch.stacks.frames(stack, time, names, texts);
        (frames != TextId::EMPTY).then_some(EventKind::Stack { frames })
    }

    /// The event of one record, written at `time` on `cpu`.
    #[inline]
    pub(crate) fn decode(
        &mut self,
        record: &[u8],
        time: KernelTime,
        cpu: Cpu,
        texts: &mut KernelTexts,
    ) -> DecodedEvent {
        let plans = &*self.plans;
        let Some(id) = plans.id.read_u32(record, plans.order) else { return DecodedEvent::Malformed };
        let plan = match plans.by_id.get(id as usize) {
            None | Some(EventPlan::Missing) => return DecodedEvent::Malformed,
            Some(EventPlan::Unwanted) => return DecodedEvent::Unwanted,
            Some(plan) => plan,
        };
        let mut reading = RecordDecoder { plans, scratch: &mut self.scratch, record, time, texts };
        if let EventPlan::ProgramStack { .. } = plan {
            reading.program_stack(plan);
            return DecodedEvent::Unwanted;
        }
        if !reading.can_be_matched(plan) {
            return DecodedEvent::Unwanted;
        }
        let kind = reading.kind(plan);
        self.scratch.program_stack = None;
        let Some(kind) = kind else { return DecodedEvent::Malformed };
        let is_stack = matches!(kind, EventKind::Stack { .. });
        let flags = plans.flags.and_then(|flags| flags.read_u32(record, plans.order));
        let tid = plans.tid.and_then(|tid| tid.read_u32(record, plans.order));
        DecodedEvent::Event(KernelEvent {
            time,
            cpu,
            flags: flags.map(|flags| ContextFlags(flags as u8)),
            recorded: tid.map(Tid).filter(|_| !is_stack),
            kind,
        })
    }
}

/// Context for decoding one record.
struct RecordDecoder<'a> {
    plans: &'a Plans,
    scratch: &'a mut DecodeScratch,
    record: &'a [u8],
    time: KernelTime,
    texts: &'a mut KernelTexts,
}

impl RecordDecoder<'_> {
    /// Whether a packet's buffer says where it comes from or goes to; other events always count.
    fn can_be_matched(&self, plan: &EventPlan) -> bool {
        let (EventPlan::PacketSent { device, .. } | EventPlan::PacketReceived { device, .. }) = plan else {
            return true;
        };
        let device = device.and_then(|device| device.read_text(self.record, self.plans.order));
        device.is_none_or(shares_memory)
    }

    #[inline]
    fn kind(&mut self, plan: &EventPlan) -> Option<EventKind> {
        match plan {
            EventPlan::Switch(fields) => self.switch(fields),
            EventPlan::Wake(kind, fields) => self.wake(*kind, fields),
            &EventPlan::IrqEntry { irq, name } => {
                Some(EventKind::IrqEntry { irq: self.number(irq)?, name: self.name(name)? })
            }
            &EventPlan::IrqExit { irq } => Some(EventKind::IrqExit { irq: self.number(irq)? }),
            &EventPlan::Softirq(EventSide::Entry, vector) => {
                Some(EventKind::SoftirqEntry { vector: self.number(vector)? as u8 })
            }
            &EventPlan::Softirq(EventSide::Exit, vector) => {
                Some(EventKind::SoftirqExit { vector: self.number(vector)? as u8 })
            }
            &EventPlan::HrtimerEntry { timer, function } => {
                let address = |field: Option<NumberField>| field.and_then(|field| self.wide(field));
                let (address, function) = (address(timer).unwrap_or(0), address(function));
                let function = function.map_or(TextId::EMPTY, |function| self.function(function));
                Some(EventKind::HrtimerEntry(ExpiredTimer { address, function }))
            }
            EventPlan::HrtimerExit => Some(EventKind::HrtimerExit),
            &EventPlan::Ipi(EventSide::Entry, vector) => Some(EventKind::IpiEntry(vector)),
            &EventPlan::Ipi(EventSide::Exit, vector) => Some(EventKind::IpiExit(vector)),
            plan => self.rarer(plan),
        }
    }

    fn rarer(&mut self, plan: &EventPlan) -> Option<EventKind> {
        Some(match plan {
            &EventPlan::SoftirqRaise(vector) => {
                EventKind::SoftirqRaise { vector: self.number(vector)? as u8 }
            }
            &EventPlan::Fork { parent, child, child_name } => EventKind::Fork {
                parent: Tid(self.number(parent)?),
                child: Tid(self.number(child)?),
                child_name: self.name(child_name)?,
            },
            &EventPlan::Exec { tid, filename } => EventKind::Exec {
                tid: Tid(tid.or(self.plans.tid).and_then(|tid| self.number(tid))?),
                filename: self.text(filename)?,
            },
            &EventPlan::Exit { tid } => EventKind::Exit { tid: Tid(self.number(tid)?) },
            &EventPlan::Rename { tid, name } => {
                EventKind::Rename { tid: Tid(self.number(tid)?), name: self.name(Some(name))? }
            }
            &EventPlan::Marker { text } => EventKind::Marker { text: self.marker(text)? },
            &EventPlan::SyscallEntry { number, name } => {
                EventKind::SyscallEntry { number: self.call(number)?, name: self.text_id(name) }
            }
            &EventPlan::SyscallExit { number, name, returned } => EventKind::SyscallExit {
                number: self.call(number)?,
                name: self.text_id(name),
                returned: returned.map_or(Some(0), |field| self.wide(field))? as i64,
            },
            EventPlan::PageFault => EventKind::PageFault,
            &EventPlan::Stack { count, addresses } => {
                let count = count.map_or(Some(u32::MAX), |count| self.number(count))?;
                let mut stack = StackAddresses::new(0, self.addresses(addresses)?.take(count as usize));
                if let Some(program) = self.scratch.program_stack.take() {
                    stack = stack.with_program(program);
                }
                let names = (&self.plans.symbols, &*self.plans.programs);
                EventKind::Stack { frames: self.scratch.stacks.frames(stack, self.time, names, self.texts) }
            }
            &EventPlan::PacketSent { buffer, .. } => {
                EventKind::PacketSent(Socket::Buffer(self.wide(buffer)?))
            }
            &EventPlan::PacketReceived { buffer, .. } => {
                EventKind::PacketReceived(Socket::Buffer(self.wide(buffer)?))
            }
            EventPlan::Other { name, fields } => {
                write_fields(fields, self.record, self.plans.order, &mut self.scratch.fields);
                let fields = self.texts.intern(&self.scratch.fields);
                EventKind::Other { name: self.text_id(*name), fields }
            }
            _ => return None,
        })
    }

    /// Keeps the program's part of a stack until the next record, which has the kernel's.
    fn program_stack(&mut self, plan: &EventPlan) {
        let &EventPlan::ProgramStack { process, addresses } = plan else { return };
        let parts = self.number(process).zip(self.addresses(addresses));
        self.scratch.program_stack =
            parts.map(|(process, addresses)| StackAddresses::new(process, addresses));
    }

    /// The addresses in an array at the end of the record, which may be longer than declared.
    fn addresses(&self, array: AddressArray) -> Option<impl Iterator<Item = u64> + '_> {
        let (order, size) = (self.plans.order, array.size);
        let elements = self.record.get(array.offset..)?.chunks_exact(size.max(1));
        Some(elements.filter_map(move |bytes| order.unsigned(bytes, 0, size)))
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
    fn wake(&mut self, kind: WakeKind, fields: &WakeFields) -> Option<EventKind> {
        let tid = Tid(self.number(fields.tid)?);
        let name = self.name(fields.name)?;
        let target = fields.target.and_then(|target| self.number(target));
        let target = target.and_then(|cpu| u16::try_from(cpu).ok()).map(Cpu);
        Some(kind.event(tid, name, target))
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

    /// The name of the function at an address; the empty text where the trace has no symbols.
    fn function(&mut self, address: u64) -> TextId {
        let known = &mut self.scratch.functions;
        if let Some(&(_, name)) = known.iter().find(|(known, _)| *known == address) {
            return name;
        }
        let name = self.plans.symbols.name(address).map_or(TextId::EMPTY, |name| self.texts.intern(name));
        if known.len() < FUNCTIONS_MAX {
            known.push((address, name));
        }
        name
    }

    /// The handle of a plan's text in the trace's table.
    fn text_id(&mut self, text: PlanText) -> TextId {
        let ids = &mut self.scratch.text_ids;
        if ids.is_empty() {
            ids.extend(self.plans.texts.iter().map(|text| self.texts.intern(text)));
        }
        ids[text.0]
    }
}

/// Whether packets of a network device stay in this host's memory, so that the buffer's address identifies the packet on
/// both sides. Other drivers free the buffer after sending, and its address is reused. An empty name means unknown: true.
pub(crate) fn shares_memory(device: &[u8]) -> bool {
    device.is_empty() || device == b"lo" || device.starts_with(b"veth")
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::UserFunctions;

    const STACK: &str = "name: kernel_stack\nID: 4\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n";

    const PROGRAM_STACK: &str = "name: user_stack\nID: 5\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n";

    #[test]
    fn a_stack_has_as_many_functions_as_its_record_states_and_no_thread() {
        let format = EventFormat::parse("ftrace", STACK).expect("a format");
        let symbols = Symbols::from_lines(b"ffffffff81000000 T vfs_read\nffffffff81001000 T ksys_read\n");
        let program = EventFormat::parse("ftrace", PROGRAM_STACK).expect("a format");
        let mut programs = UserFunctions::default();
        programs.add(9, 0x5000..0x5010, "shop:handle");
        let names: (Symbols, Arc<dyn Programs>) = (symbols, Arc::new(programs));
        let mut decoder = Decoder::new(&[format, program], names, ByteOrder::Little, &OpenOptions::default());
        let mut record = [[4_u32, 77, 2, 0].map(u32::to_le_bytes).concat()].concat();
        // The third is padding.
        for address in [0xffff_ffff_8100_0007_u64, 0xffff_ffff_8100_1007, 0xffff_ffff_8100_1008] {
            record.extend(address.to_le_bytes());
        }
        let mut texts = KernelTexts::default();
        let mut decode = |record: &[u8]| decoder.decode(record, KernelTime::from_ns(5), Cpu(1), &mut texts);
        let DecodedEvent::Event(event) = decode(&record) else { panic!("no event") };
        let DecodedEvent::Event(cut) = decode(&record[..30]) else { panic!("no event") };
        assert_eq!(decode(&record[..12]), DecodedEvent::Malformed);
        let frames = |event: KernelEvent| match event.kind {
            EventKind::Stack { frames } => texts.text(frames).to_owned(),
            kind => panic!("{kind:?}"),
        };
        assert_eq!((event.recorded, frames(event)), (None, "vfs_read ksys_read".to_owned()));
        assert_eq!(frames(cut), "vfs_read");

        let mut program = [5_u32, 77, 9, 0].map(u32::to_le_bytes).concat();
        program.extend([0x5010_u64, 0x6001, 0, 0, 0, 0, 0, 0].map(u64::to_le_bytes).concat());
        let mut decode = |record: &[u8]| decoder.decode(record, KernelTime::from_ns(5), Cpu(1), &mut texts);
        assert_eq!(decode(&program), DecodedEvent::Unwanted);
        let DecodedEvent::Event(both) = decode(&record) else { panic!("no event") };
        let DecodedEvent::Event(next) = decode(&record) else { panic!("no event") };
        let text = |event: KernelEvent| match event.kind {
            EventKind::Stack { frames } => texts.text(frames).to_owned(),
            kind => panic!("{kind:?}"),
        };
        assert_eq!(text(both), "vfs_read ksys_read shop:handle 0x6001");
        assert_eq!(text(next), "vfs_read ksys_read", "the program's part is of one stack only");
    }

    #[test]
    fn only_virtual_devices_share_memory() {
        assert!(shares_memory(b"lo") && shares_memory(b"veth12ab") && shares_memory(b""));
        assert!(!shares_memory(b"eth0") && !shares_memory(b"wlan0") && !shares_memory(b"lowpan0"));
    }
}
