//! Kernel events as a CTF trace, laid out as LTTng does. Written from the specifications, independently of the
//! reader.

mod bits;
mod events;
mod field;
mod metadata;

use bits::BitWriter;
use events::{Class, classes, value};
use field::Field;
use laggard_model::{EventKind, KernelEvent, KernelTexts};
use std::collections::BTreeMap;
use std::path::Path;

/// The language of the metadata.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    /// TSDL.
    One,
    /// JSON.
    Two,
}

/// The shape of event headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Header {
    /// 5 bits of class and 27 of the clock.
    Compact,
    /// 16 bits and 32.
    Large,
}

/// How a trace is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub(crate) version: Version,
    pub(crate) header: Header,
    /// Most significant byte first.
    pub(crate) big_endian: bool,
    /// Numbers are aligned to their size and not to bytes.
    pub(crate) natural_alignment: bool,
    /// Metadata in packets (CTF 1.8).
    pub(crate) packetized: bool,
    /// Thread numbers as LEB128 (CTF 2).
    pub(crate) variable_length: bool,
    /// Cycles of the clock in a nanosecond.
    pub(crate) cycles_per_ns: u64,
    /// Bytes after which a packet is closed.
    pub(crate) packet_bytes: usize,
    /// Names of events up to LTTng 2.6.
    pub(crate) old_names: bool,
    /// Records also have the pid namespace of their thread, and its number there (see [`namespace_of`]).
    pub(crate) namespaces: bool,
}

/// The inode of the host's pid namespace.
const HOST_NAMESPACE: u32 = 4_026_531_836;

/// The pid namespace of a thread and its number there: of threads from 1000 on, each thousand is a container.
pub(crate) fn namespace_of(tid: u32) -> (u32, u32) {
    match tid / 1000 {
        0 => (HOST_NAMESPACE, tid),
        container => (HOST_NAMESPACE + container, tid % 1000),
    }
}

impl Layout {
    /// As on x86-64.
    pub(crate) fn new(version: Version) -> Layout {
        Layout {
            version,
            header: Header::Compact,
            big_endian: false,
            natural_alignment: false,
            packetized: version == Version::One,
            variable_length: false,
            cycles_per_ns: 1,
            packet_bytes: 4096,
            old_names: false,
            namespaces: false,
        }
    }
}

/// Writes a trace into a folder, a file a CPU. The thread of a record is written when all events have it.
pub(crate) fn write(
    folder: &Path,
    events: &[KernelEvent],
    texts: &KernelTexts,
    layout: Layout,
) -> std::io::Result<()> {
    let summarize =
        |event: &KernelEvent| event.recorded.is_some() || matches!(event.kind, EventKind::Lost { .. });
    let context = !events.is_empty() && events.iter().all(summarize);
    let classes = classes(&layout);
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("metadata"), metadata::metadata(&layout, &classes, context))?;
    let mut by_cpu: BTreeMap<u16, Vec<&KernelEvent>> = BTreeMap::new();
    for event in events {
        by_cpu.entry(event.cpu.0).or_default().push(event);
    }
    for (cpu, events) in by_cpu {
        let mut stream = Stream {
            layout,
            classes: &classes,
            context,
            cpu,
            packet: None,
            discarded: 0,
            sequence: 0,
            out: Vec::new(),
        };
        for event in events {
            stream.event(event, texts);
        }
        stream.close(None);
        std::fs::write(folder.join(format!("channel0_{cpu}")), stream.out)?;
    }
    Ok(())
}

/// The clock at which packets of an unfinished stream are.
struct Packet {
    bits: BitWriter,
    begin: u64,
    last: u64,
}

struct Stream<'a> {
    layout: Layout,
    classes: &'a [Class],
    context: bool,
    cpu: u16,
    packet: Option<Packet>,
    discarded: u64,
    sequence: u64,
    out: Vec<u8>,
}

impl Stream<'_> {
    fn event(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        let cycles = event.time.ns() * self.layout.cycles_per_ns;
        if let EventKind::Lost { count } = event.kind {
            self.discarded += count.expect("losses are counted");
            self.packet_at(cycles);
            return self.close(Some(cycles));
        }
        let (class, value) = value(event, texts, &self.layout);
        let position = self.classes.iter().position(|known| known.name == class);
        let position = position.unwrap_or_else(|| panic!("no class {class}"));
        let (layout, context, fields) = (self.layout, self.context, &self.classes[position].fields);
        let packet = self.packet_at(cycles);
        header(&mut packet.bits, &layout, position as u64, cycles, packet.last);
        packet.last = cycles;
        if context {
            let tid = event.recorded.expect("the layout contains the thread").0;
            Field::signed(32).write(&mut packet.bits, &field::Value::from(tid), &layout);
            if layout.namespaces {
                let (pid_ns, vtid) = namespace_of(tid);
                Field::unsigned(32).write(&mut packet.bits, &field::Value::from(pid_ns), &layout);
                Field::signed(32).write(&mut packet.bits, &field::Value::from(vtid), &layout);
            }
        }
        fields.write(&mut packet.bits, &value, &layout);
        if packet.bits.bytes.len() + 64 > layout.packet_bytes {
            self.close(None);
        }
    }

    fn packet_at(&mut self, cycles: u64) -> &mut Packet {
        let layout = &self.layout;
        self.packet.get_or_insert_with(|| {
            let mut bits = BitWriter::new(layout.big_endian);
            head(&mut bits, layout, &[0; 7]);
            Packet { bits, begin: cycles, last: cycles }
        })
    }

    /// Writes the packet out, padded to its size.
    fn close(&mut self, end: Option<u64>) {
        let Some(packet) = self.packet.take() else { return };
        let content = packet.bits.at as u64;
        let mut bytes = packet.bits.bytes;
        let size = bytes.len().max(self.layout.packet_bytes).next_multiple_of(8);
        bytes.resize(size, 0);
        let end = end.unwrap_or(packet.last);
        let numbers =
            [packet.begin, end, content, 8 * size as u64, self.sequence, self.discarded, u64::from(self.cpu)];
        let mut bits = BitWriter::new(self.layout.big_endian);
        head(&mut bits, &self.layout, &numbers);
        bytes[..bits.bytes.len()].copy_from_slice(&bits.bytes);
        self.sequence += 1;
        self.out.extend(bytes);
    }
}

/// A packet's header and context.
fn head(bits: &mut BitWriter, layout: &Layout, numbers: &[u64; 7]) {
    let align = |size: u32| if layout.natural_alignment { size } else { 8 };
    bits.put(0xC1FC_1FC1, 32, align(32));
    for byte in UUID {
        bits.put(u64::from(byte), 8, 8);
    }
    bits.put(0, 32, align(32));
    bits.put(numbers[6], 64, align(64));
    for number in &numbers[..6] {
        bits.put(*number, 64, align(64));
    }
    bits.put(numbers[6], 32, align(32));
}

const UUID: [u8; 16] = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3];

/// The short form when the class fits it and the clock has not wrapped since the last event.
fn header(bits: &mut BitWriter, layout: &Layout, class: u64, cycles: u64, last: u64) {
    let align = |size: u32| if layout.natural_alignment { size } else { 8 };
    let (id_bits, clock_bits) = match layout.header {
        Header::Compact => (5, 27),
        Header::Large => (16, 32),
    };
    let escape = (1 << id_bits) - 1;
    bits.align(if !layout.natural_alignment { 8 } else { 64 });
    if class < escape && cycles - last < 1 << clock_bits {
        let clock_align = if layout.header == Header::Compact { 1 } else { align(32) };
        bits.put(class, id_bits, 1);
        bits.put(cycles & ((1 << clock_bits) - 1), clock_bits, clock_align);
        return;
    }
    bits.put(escape, id_bits, 1);
    // A structure begins where the most demanding of its fields can.
    bits.align(align(64));
    bits.put(class, 32, align(32));
    bits.put(cycles, 64, align(64));
}
