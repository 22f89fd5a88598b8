//! Version 7: sections in any order, found by options, compressed with zstd. Pages come last, so that a file whose end is lost can
//! be read up to there.

use super::{CpuPages, TraceHead, options, page_aligned, start};
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

/// Pages that are compressed together: trace-cmd writes 10, more compress better and are still read at once.
const PAGES_IN_CHUNK: usize = 32;
/// zstd's fastest ordinary level: recorded pages shrink to a seventh with it.
const LEVEL: i32 = 1;

/// Bytes of a section's head: number, packing, name, and bytes of its content.
const SECTION_HEAD_BYTES: u64 = 16;

/// Numbers of sections; the head refers to the section of options that describes the file.
mod section {
    pub(super) const OPTIONS: u16 = 0;
    pub(super) const BUFFER: u16 = 3;
    pub(super) const STRINGS: u16 = 15;
    pub(super) const HEADERS: u16 = 16;
    pub(super) const FTRACE_EVENTS: u16 = 17;
    pub(super) const EVENT_FORMATS: u16 = 18;
    pub(super) const SYMBOLS: u16 = 19;
    pub(super) const PRINTK: u16 = 20;
    pub(super) const COMMAND_LINES: u16 = 21;
}

/// Whether a section is compressed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PagePacking {
    Plain,
    Zstd,
}

/// Where the pages of one CPU went.
struct PlacedSection {
    cpu: u32,
    offset: u64,
    bytes: u64,
}

pub(super) fn write(out: &mut File, head: &TraceHead, cpus: &mut [CpuPages<'_>]) -> io::Result<u64> {
    let mut front = start("7", head.page_bytes);
    front.extend(b"zstd\0");
    front.extend(zstd::zstd_safe::version_string().as_bytes());
    front.push(0);
    let first_options_at = front.len() as u64;
    front.extend(0u64.to_ne_bytes());
    let mut writer = Writer::new(out)?;
    writer.put(&front)?;
    let sections = writer.sections(head)?;
    // The places of pages are not known yet, but the size of the options is.
    let unplaced = cpus.iter().map(|cpu| PlacedSection { cpu: cpu.cpu, offset: 0, bytes: 0 }).collect();
    let options = options(head, &sections, &(0, unplaced));
    let options_at = writer.section(section::OPTIONS, "options", &options, PagePacking::Plain)?;
    let buffer_name = writer.name("buffer");
    let strings = std::mem::take(&mut writer.strings);
    writer.section(section::STRINGS, "strings", &strings, PagePacking::Zstd)?;
    let placed = writer.buffer(head, buffer_name, cpus)?;
    writer.patch(options_at + SECTION_HEAD_BYTES, &self::options(head, &sections, &placed))?;
    writer.patch(first_options_at, &options_at.to_ne_bytes())?;
    writer.out.flush()?;
    Ok(writer.position)
}

struct Writer<'a> {
    out: BufWriter<&'a mut File>,
    position: u64,
    /// Names of sections; a section refers to its name by its offset here.
    strings: Vec<u8>,
    compressor: zstd::bulk::Compressor<'static>,
}

impl Writer<'_> {
    fn new(out: &mut File) -> io::Result<Writer<'_>> {
        let out = BufWriter::with_capacity(1 << 20, out);
        let compressor = zstd::bulk::Compressor::new(LEVEL)?;
        Ok(Writer { out, position: 0, strings: Vec::new(), compressor })
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.position += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Overwrites what was not known before, and returns to the end.
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.out.seek(SeekFrom::Start(offset))?;
        self.out.write_all(bytes)?;
        self.out.seek(SeekFrom::Start(self.position)).map(|_| ())
    }

    /// Adds the name of a section; its offset among the names.
    fn name(&mut self, name: &str) -> u32 {
        let offset = self.strings.len() as u32;
        self.strings.extend(name.as_bytes());
        self.strings.push(0);
        offset
    }

    fn section_head(&mut self, id: u16, name: u32, packing: PagePacking, bytes: u64) -> io::Result<()> {
        self.put(&id.to_ne_bytes())?;
        self.put(&u16::from(packing == PagePacking::Zstd).to_ne_bytes())?;
        self.put(&name.to_ne_bytes())?;
        self.put(&bytes.to_ne_bytes())
    }

    /// Writes a section and returns its offset.
    fn section(&mut self, id: u16, name: &str, data: &[u8], packing: PagePacking) -> io::Result<u64> {
        let offset = self.position;
        let body = match packing {
            PagePacking::Plain => data.to_vec(),
            PagePacking::Zstd => self.chunk(data)?,
        };
        let name = self.name(name);
        self.section_head(id, name, packing, body.len() as u64)?;
        self.put(&body)?;
        Ok(offset)
    }

    /// Compressed bytes after their sizes, compressed and plain.
    fn chunk(&mut self, data: &[u8]) -> io::Result<Vec<u8>> {
        let packed = self.compressor.compress(data)?;
        let size =
            |bytes: usize| u32::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge));
        let mut chunk = size(packed.len())?.to_ne_bytes().to_vec();
        chunk.extend(size(data.len())?.to_ne_bytes());
        chunk.extend(packed);
        Ok(chunk)
    }

    /// The sections of texts; returns the options that refer to them.
    fn sections(&mut self, head: &TraceHead) -> io::Result<Vec<u8>> {
        let mut options = Vec::new();
        for (id, name, data) in [
            (section::HEADERS, "headers", head.header_section()),
            (section::FTRACE_EVENTS, "ftrace events", head.ftrace_section()),
            (section::EVENT_FORMATS, "event formats", head.events_section()),
            (section::SYMBOLS, "kallsyms", head.symbols_section()),
            (section::PRINTK, "printk", head.printk_section()),
            (section::COMMAND_LINES, "command lines", head.command_lines_section()),
        ] {
            let offset = self.section(id, name, &data, PagePacking::Zstd)?;
            options::put(&mut options, id, &offset.to_ne_bytes());
        }
        Ok(options)
    }

    /// The pages: those of each CPU begin at a page boundary of the file.
    fn buffer(
        &mut self,
        head: &TraceHead,
        name: u32,
        cpus: &mut [CpuPages<'_>],
    ) -> io::Result<(u64, Vec<PlacedSection>)> {
        let offset = self.position;
        self.section_head(section::BUFFER, name, PagePacking::Zstd, 0)?;
        let begin = self.position;
        let mut placed = Vec::new();
        for cpu in cpus {
            let padding = page_aligned(self.position, head.page_bytes) - self.position;
            self.put(&vec![0; padding as usize])?;
            placed.push(self.cpu(head.page_bytes, cpu)?);
        }
        let bytes = self.position - begin;
        self.patch(offset + 8, &bytes.to_ne_bytes())?;
        Ok((offset, placed))
    }

    /// One CPU's chunks. Their count of 4 bytes comes first and is not included in the size in the table.
    fn cpu(&mut self, page_bytes: u32, cpu: &mut CpuPages<'_>) -> io::Result<PlacedSection> {
        let offset = self.position;
        let chunk_bytes = (PAGES_IN_CHUNK * page_bytes as usize) as u64;
        let chunks = u32::try_from(cpu.bytes.div_ceil(chunk_bytes))
            .map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        self.put(&chunks.to_ne_bytes())?;
        let begin = self.position;
        let mut remaining = cpu.bytes;
        let mut plain = vec![0; chunk_bytes as usize];
        while remaining > 0 {
            let pages = &mut plain[..remaining.min(chunk_bytes) as usize];
            cpu.pages.read_exact(pages)?;
            remaining -= pages.len() as u64;
            let chunk = self.chunk(pages)?;
            self.put(&chunk)?;
        }
        Ok(PlacedSection { cpu: cpu.cpu, offset, bytes: self.position - begin })
    }
}

/// The only list of options: the sections, facts, and where the pages of each CPU are.
fn options(head: &TraceHead, sections: &[u8], (buffer_at, placed): &(u64, Vec<PlacedSection>)) -> Vec<u8> {
    let mut options = sections.to_vec();
    options::put_facts(&mut options, head);
    let mut buffer = buffer_at.to_ne_bytes().to_vec();
    buffer.push(0);
    buffer.extend(head.clock.as_bytes());
    buffer.push(0);
    buffer.extend(head.page_bytes.to_ne_bytes());
    buffer.extend((placed.len() as u32).to_ne_bytes());
    for cpu in placed {
        buffer.extend(cpu.cpu.to_ne_bytes());
        buffer.extend(cpu.offset.to_ne_bytes());
        buffer.extend(cpu.bytes.to_ne_bytes());
    }
    options::put(&mut options, options::id::BUFFER, &buffer);
    options::put(&mut options, options::id::DONE, &0u64.to_ne_bytes());
    options
}
