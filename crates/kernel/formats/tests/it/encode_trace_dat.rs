//! Writes trace.dat files: any version, byte order, size of `long` and compression, page by page.

use crate::encode_records::{FORMATS, Order, PRINT_FORMAT};
use std::io::Write;

/// The traced machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedMachine {
    pub(crate) order: Order,
    pub(crate) long_bytes: usize,
}

impl RecordedMachine {
    fn long(self, value: u64) -> Vec<u8> {
        match self.long_bytes {
            4 => self.order.u32(value as u32).to_vec(),
            _ => self.order.u64(value).to_vec(),
        }
    }
}

/// Bytes of a page.
pub(crate) const PAGE_BYTES: usize = 4096;

/// A page of a ring buffer under construction.
pub(crate) struct PageWriter {
    machine: RecordedMachine,
    time: u64,
    data: Vec<u8>,
    missed: Option<Option<u64>>,
}

impl PageWriter {
    pub(crate) fn new(machine: RecordedMachine, time: u64) -> PageWriter {
        PageWriter { machine, time, data: Vec::new(), missed: None }
    }

    /// Events were lost before this page: this number of events, or an unknown number.
    pub(crate) fn missed(mut self, count: Option<u64>) -> PageWriter {
        self.missed = Some(count);
        self
    }

    fn head(&mut self, kind: u32, step: u32) {
        let order = self.machine.order;
        let word = if order == Order::Little { kind | step << 5 } else { kind << 27 | step };
        self.data.extend(order.u32(word));
    }

    /// A record `step` after the one before, its length in its head or, beyond 112 bytes, behind it.
    pub(crate) fn record(mut self, step: u32, record: &[u8]) -> PageWriter {
        assert_eq!(record.len() % 4, 0, "records are multiples of 4 bytes");
        if record.len() <= 112 {
            self.head(record.len() as u32 / 4, step);
        } else {
            self.head(0, step);
            self.data.extend(self.machine.order.u32(record.len() as u32 + 4));
        }
        self.data.extend(record);
        self
    }

    /// A step of more than 27 bits.
    pub(crate) fn extend(mut self, step: u64) -> PageWriter {
        self.head(30, (step & 0x7ff_ffff) as u32);
        self.data.extend(self.machine.order.u32((step >> 27) as u32));
        self
    }

    /// An absolute time.
    pub(crate) fn absolute(mut self, stamp: u64) -> PageWriter {
        self.head(31, (stamp & 0x7ff_ffff) as u32);
        self.data.extend(self.machine.order.u32((stamp >> 27) as u32));
        self
    }

    /// A record that was discarded, of `bytes` bytes.
    pub(crate) fn discarded(mut self, step: u32, bytes: usize) -> PageWriter {
        self.head(29, step);
        self.data.extend(self.machine.order.u32(bytes as u32));
        self.data.extend(vec![0xee; bytes - 4]);
        self
    }

    /// The page, filled up.
    pub(crate) fn page(self) -> Vec<u8> {
        let order = self.machine.order;
        let mut commit = self.data.len() as u64;
        let mut data = Vec::new();
        match self.missed {
            Some(Some(count)) => {
                commit |= 3 << 30;
                data = self.machine.long(count);
            }
            Some(None) => commit |= 1 << 31,
            None => {}
        }
        let mut out = order.u64(self.time).to_vec();
        out.extend(self.machine.long(commit));
        out.extend(self.data);
        out.extend(data);
        assert!(out.len() <= PAGE_BYTES, "the page is full");
        out.resize(PAGE_BYTES, 0);
        out
    }
}

/// Compression of the blocks of a file of version 7.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Packing {
    None,
    Zstd,
    Zlib,
}

impl Packing {
    fn name(self) -> &'static str {
        match self {
            Packing::None => "none",
            Packing::Zstd => "zstd",
            Packing::Zlib => "zlib",
        }
    }

    fn pack(self, plain: &[u8]) -> Vec<u8> {
        match self {
            Packing::None => plain.to_vec(),
            Packing::Zstd => zstd::encode_all(plain, 1).expect("memory"),
            Packing::Zlib => {
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(plain).expect("memory");
                encoder.finish().expect("memory")
            }
        }
    }
}

/// A file.
#[derive(Clone, Debug)]
pub(crate) struct TraceDat {
    pub(crate) machine: RecordedMachine,
    /// The pages of each CPU.
    pub(crate) cpus: Vec<Vec<Vec<u8>>>,
    /// Further options: number and data.
    pub(crate) options: Vec<(u16, Vec<u8>)>,
    /// Names of further, empty buffers.
    pub(crate) instances: Vec<&'static str>,
    /// The content of the file `trace_clock`.
    pub(crate) clock: &'static str,
    /// Saved names of threads.
    pub(crate) threads: &'static str,
}

impl TraceDat {
    pub(crate) fn new(machine: RecordedMachine, cpus: Vec<Vec<Vec<u8>>>) -> TraceDat {
        let (options, instances) = (Vec::new(), Vec::new());
        TraceDat {
            machine,
            cpus,
            options,
            instances,
            clock: "local [mono]",
            threads: "7 early bird\n8 late\n",
        }
    }

    fn preamble(&self, version: &str) -> Vec<u8> {
        let mut out = b"\x17\x08\x44tracing".to_vec();
        out.extend(version.as_bytes());
        out.extend([0, u8::from(self.machine.order == Order::Big), self.machine.long_bytes as u8]);
        out.extend(self.machine.order.u32(PAGE_BYTES as u32));
        out
    }

    fn header_info(&self) -> Vec<u8> {
        let (order, long) = (self.machine.order, self.machine.long_bytes);
        let page = format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
             \tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n\
             \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
             \tfield: char data;\toffset:{};\tsize:{};\tsigned:0;\n",
            8 + long,
            PAGE_BYTES - 8 - long
        );
        let mut out = Vec::new();
        for (name, text) in
            [("header_page\0", page.as_str()), ("header_event\0", "# compressed entry header\n")]
        {
            out.extend(name.as_bytes());
            out.extend(order.u64(text.len() as u64));
            out.extend(text.as_bytes());
        }
        out
    }

    fn ftrace_formats(&self) -> Vec<u8> {
        let order = self.machine.order;
        let mut out = order.u32(1).to_vec();
        out.extend(order.u64(PRINT_FORMAT.len() as u64));
        out.extend(PRINT_FORMAT.as_bytes());
        out
    }

    fn systems(&self) -> Vec<u8> {
        let order = self.machine.order;
        let mut out = order.u32(FORMATS.len() as u32).to_vec();
        for (system, text) in FORMATS {
            out.extend(system.as_bytes());
            out.push(0);
            out.extend(order.u32(1));
            out.extend(order.u64(text.len() as u64));
            out.extend(text.as_bytes());
        }
        out
    }

    fn cmdlines(&self) -> Vec<u8> {
        let mut out = self.machine.order.u64(self.threads.len() as u64).to_vec();
        out.extend(self.threads.as_bytes());
        out
    }

    fn option(&self, number: u16, data: &[u8]) -> Vec<u8> {
        let order = self.machine.order;
        let mut out = order.u16(number).to_vec();
        out.extend(order.u32(data.len() as u32));
        out.extend(data);
        out
    }

    /// The texts of perf.data and of version 6: everything before the number of CPUs.
    pub(crate) fn texts(&self, version: &str) -> Vec<u8> {
        let order = self.machine.order;
        let mut out = self.preamble(version);
        out.extend(self.header_info());
        out.extend(self.ftrace_formats());
        out.extend(self.systems());
        out.extend(order.u32(9));
        out.extend(b"kallsyms\n");
        out.extend(order.u32(0));
        out.extend(self.cmdlines());
        out
    }

    /// As version 6.
    pub(crate) fn version_6(&self) -> Vec<u8> {
        let order = self.machine.order;
        let mut out = self.texts("6");
        out.extend(order.u32(self.cpus.len() as u32));
        out.extend(b"options  \0");
        out.extend(self.option(4, b"\0"));
        for (number, data) in &self.options {
            out.extend(self.option(*number, data));
        }
        for name in &self.instances {
            let mut data = order.u64(0).to_vec();
            data.extend(name.as_bytes());
            data.push(0);
            out.extend(self.option(3, &data));
        }
        out.extend(order.u16(0));
        out.extend(b"flyrecord\0");
        let table = out.len() + 16 * self.cpus.len() + 8 + self.clock.len();
        let mut offset = table.next_multiple_of(PAGE_BYTES);
        let first = offset;
        for pages in &self.cpus {
            let bytes = pages.len() * PAGE_BYTES;
            out.extend(order.u64(offset as u64));
            out.extend(order.u64(bytes as u64));
            offset += bytes;
        }
        out.extend(order.u64(self.clock.len() as u64));
        out.extend(self.clock.as_bytes());
        out.resize(first, 0);
        out.extend(self.cpus.iter().flatten().flatten());
        out
    }

    fn section(&self, out: &mut Vec<u8>, kind: u16, content: &[u8], packing: Packing) -> u64 {
        let order = self.machine.order;
        let offset = out.len() as u64;
        out.extend(order.u16(kind));
        out.extend(order.u16(u16::from(packing != Packing::None)));
        out.extend(order.u32(0));
        let packed = packing.pack(content);
        if packing == Packing::None {
            out.extend(order.u64(packed.len() as u64));
        } else {
            out.extend(order.u64(packed.len() as u64 + 8));
            out.extend(order.u32(packed.len() as u32));
            out.extend(order.u32(content.len() as u32));
        }
        out.extend(packed);
        offset
    }

    /// The pages of one CPU in version 7: plain, or in chunks of two pages.
    pub(crate) fn chunks(&self, pages: &[Vec<u8>], packing: Packing) -> Vec<u8> {
        if packing == Packing::None || pages.is_empty() {
            return pages.concat();
        }
        let order = self.machine.order;
        let mut out = order.u32(pages.chunks(2).count() as u32).to_vec();
        for chunk in pages.chunks(2) {
            let (plain, packed) = (chunk.concat(), packing.pack(&chunk.concat()));
            out.extend(order.u32(packed.len() as u32));
            out.extend(order.u32(plain.len() as u32));
            out.extend(packed);
        }
        out
    }

    fn buffer_option(&self, section: u64, name: &str, cpus: &[(u32, u64, u64)]) -> Vec<u8> {
        let order = self.machine.order;
        let mut data = order.u64(section).to_vec();
        for text in [name, self.clock] {
            data.extend(text.as_bytes());
            data.push(0);
        }
        data.extend(order.u32(PAGE_BYTES as u32));
        data.extend(order.u32(cpus.len() as u32));
        for &(cpu, offset, bytes) in cpus {
            data.extend(order.u32(cpu));
            data.extend(order.u64(offset));
            data.extend(order.u64(bytes));
        }
        self.option(3, &data)
    }

    /// As version 7.
    pub(crate) fn version_7(&self, packing: Packing) -> Vec<u8> {
        let order = self.machine.order;
        let mut out = self.preamble("7");
        out.extend(packing.name().as_bytes());
        out.extend(b"\x001\0");
        let options_at = out.len();
        out.extend(order.u64(0));
        let mut options = Vec::new();
        for (kind, content) in [
            (16, self.header_info()),
            (17, self.ftrace_formats()),
            (18, self.systems()),
            (21, self.cmdlines()),
        ] {
            let offset = self.section(&mut out, kind, &content, packing);
            options.extend(self.option(kind, &order.u64(offset)));
        }
        for (number, data) in &self.options {
            options.extend(self.option(*number, data));
        }
        let section = out.len() as u64;
        out.extend(order.u16(3));
        out.extend(order.u16(u16::from(packing != Packing::None)));
        out.extend([0; 12]);
        let mut cpus = Vec::new();
        for (pages, cpu) in self.cpus.iter().zip(0..) {
            let data = self.chunks(pages, packing);
            cpus.push((cpu, out.len() as u64, data.len() as u64));
            out.extend(data);
        }
        for name in &self.instances {
            options.extend(self.buffer_option(section, name, &[]));
        }
        options.extend(self.buffer_option(section, "", &cpus));
        options.extend(self.option(0, &order.u64(0)));
        let offset = self.section(&mut out, 0, &options, packing);
        out[options_at..options_at + 8].copy_from_slice(&order.u64(offset));
        out
    }
}
