//! Which files programs had in their memory when, and the functions in them: what perf's records of mappings say, and the symbols of
//! those files, if they are still here and of the same build.

use super::kinds;
use super::records::{NextRecord, PerfRecord, Records, following};
use super::sample::SampleLayouts;
use crate::bytes::{ByteOrder, until_zero};
use crate::format_text::Programs;
use laggard_elf::FunctionTable;
use laggard_model::KernelTime;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

// Limit: mappings of programs in a perf.data | functions in further ones have no names
/// Mappings beyond this many are left out.
const MAPPINGS_MAX: usize = 1 << 20;
/// Processes whose parent is remembered.
const FORKS_MAX: usize = 1 << 20;
/// Ancestors of which a process may have inherited a mapping.
const ANCESTORS_MAX: usize = 32;

/// The flag of a mapping whose record has the build id of its file in place of the inode.
const MISC_BUILD_ID: u16 = 1 << 14;
/// Data, which the first kind of record marks so.
const MISC_DATA: u16 = 1 << 13;
/// The flag of memory that is executed (mmap(2)).
const EXECUTED: u32 = 4;

/// A part of a file in the memory of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mapping {
    /// When it was mapped, in nanoseconds of the trace's clock; 0 before the recording.
    time_ns: u64,
    addresses: Range<u64>,
    /// Where it begins in the file, in bytes.
    offset: u64,
    path: Arc<str>,
}

/// Mappings of all processes, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Mappings {
    by_process: HashMap<u32, Vec<Mapping>>,
    /// The parent of a process, and when it was forked.
    parents: HashMap<u32, (u64, u32)>,
    build_ids: HashMap<Arc<str>, Vec<u8>>,
    mappings: usize,
    /// Functions of files, once they were looked for.
    files: Mutex<HashMap<Arc<str>, Option<Arc<FunctionTable>>>>,
}

impl Mappings {
    /// With the build ids of the file's feature, by path.
    pub(super) fn new(build_ids: &HashMap<String, Vec<u8>>) -> Mappings {
        let build_ids = build_ids.iter().map(|(path, id)| (Arc::from(path.as_str()), id.clone()));
        Mappings { build_ids: build_ids.collect(), ..Mappings::default() }
    }

    /// Takes in the records of one file. What cannot be read is reported when its events are read.
    pub(super) fn add_file(&mut self, mut records: Records, order: ByteOrder, layouts: &SampleLayouts) {
        while let Ok(NextRecord::PerfRecord(record)) = records.next() {
            let rest = following(record, order);
            match record.kind {
                kinds::MMAP | kinds::MMAP2 => self.add_mapping(record, order, layouts),
                kinds::FORK => self.add_fork(record.body, order),
                _ => {}
            }
            if rest > 0 && !matches!(records.follow(rest, |_| {}), Ok(Some(()))) {
                return;
            }
        }
    }

    /// Process, thread, address, length, offset in the file; of the newer kind also inode or build id, rights, and flags; path.
    fn add_mapping(&mut self, record: PerfRecord<'_>, order: ByteOrder, layouts: &SampleLayouts) {
        let body = record.body;
        let is_newer = record.kind == kinds::MMAP2;
        let fields = (order.u32(body, 0), order.u64(body, 8), order.u64(body, 16), order.u64(body, 24));
        let (Some(process), Some(begin), Some(length), Some(offset)) = fields else { return };
        let is_code = match is_newer {
            true => order.u32(body, 56).is_some_and(|rights| rights & EXECUTED != 0),
            false => record.misc & MISC_DATA == 0,
        };
        let path = body.get(if is_newer { 64 } else { 32 }..).map(until_zero).unwrap_or_default();
        // Others are names like `[vdso]`, and `//anon`.
        let is_file = path.starts_with(b"/") && !path.starts_with(b"//");
        if !is_code || !is_file || self.mappings >= MAPPINGS_MAX {
            return;
        }
        self.mappings += 1;
        let path: Arc<str> = Arc::from(&*String::from_utf8_lossy(path));
        if is_newer && record.misc & MISC_BUILD_ID != 0 {
            let id = body.get(36..56).and_then(|id| id.get(..usize::from(body[32])));
            self.build_ids.extend(id.map(|id| (Arc::clone(&path), id.to_vec())));
        }
        let time_ns = layouts.trailer(body).time_ns.unwrap_or(0);
        let addresses = begin..begin.saturating_add(length);
        self.by_process.entry(process).or_default().push(Mapping { time_ns, addresses, offset, path });
    }

    /// Process, parent, thread, parent thread, time.
    fn add_fork(&mut self, body: &[u8], order: ByteOrder) {
        let (Some(process), Some(parent)) = (order.u32(body, 0), order.u32(body, 4)) else { return };
        if process != parent && self.parents.len() < FORKS_MAX {
            self.parents.insert(process, (order.u64(body, 16).unwrap_or(0), parent));
        }
    }

    /// The mapping of an address of a process at a time: the latest until then, or that of the process it is forked from.
    fn mapping(&self, process: u32, time_ns: u64, address: u64) -> Option<&Mapping> {
        let (mut process, mut time_ns) = (process, time_ns);
        for _ in 0..ANCESTORS_MAX {
            let own = self.by_process.get(&process).map(Vec::as_slice).unwrap_or_default();
            let candidates = own
                .iter()
                .filter(|mapping| mapping.time_ns <= time_ns && mapping.addresses.contains(&address));
            if let Some(mapping) = candidates.max_by_key(|mapping| mapping.time_ns) {
                return Some(mapping);
            }
            let &(forked_ns, parent) = self.parents.get(&process)?;
            (process, time_ns) = (parent, time_ns.min(forked_ns));
        }
        None
    }

    /// The functions of a file; `None` if it is gone, no program of this machine, or of another build.
    fn functions(&self, path: &Arc<str>) -> Option<Arc<FunctionTable>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || {
            let table = FunctionTable::read(Path::new(&**path)).ok()?;
            let recorded = self.build_ids.get(path).map(|id| trimmed(id));
            recorded.is_none_or(|id| id == trimmed(table.build_id())).then(|| Arc::new(table))
        };
        files.entry(Arc::clone(path)).or_insert_with(read).clone()
    }
}

/// A build id without the zeros that fixed fields pad it with.
fn trimmed(id: &[u8]) -> &[u8] {
    let zeros = id.iter().rev().take_while(|&&byte| byte == 0).count();
    &id[..id.len() - zeros]
}

impl Programs for Mappings {
    fn function(&self, process: u32, time: KernelTime, address: u64) -> Option<String> {
        let mapping = self.mapping(process, time.ns(), address)?;
        let offset = address.checked_sub(mapping.addresses.start)?.checked_add(mapping.offset)?;
        let file = mapping.path.rsplit('/').next().unwrap_or_default().replace(char::is_whitespace, "?");
        let name = self.functions(&mapping.path).and_then(|table| table.containing(offset));
        Some(name.map_or_else(|| format!("{file}+{offset:#x}"), |name| format!("{file}:{name}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf_data::attributes::{Attribute, sample_bits};

    fn layouts() -> SampleLayouts {
        let attribute = Attribute {
            tracepoint: true,
            config: 1,
            sample_type: sample_bits::TIME | sample_bits::CALLCHAIN | sample_bits::RAW,
            read_format: 0,
            sample_id_all: true,
            clock: None,
            ids: Vec::new(),
        };
        SampleLayouts::new(&[attribute], ByteOrder::Little).unwrap()
    }

    /// The body of a record of executed memory, which ends with the time.
    fn mmap2(process: u32, begin: u64, path: &str, time_ns: u64) -> Vec<u8> {
        let mut body = [process, process].map(u32::to_le_bytes).concat();
        body.extend([begin, 0x1000, 0x400].map(u64::to_le_bytes).concat());
        body.extend([0; 24]);
        body.extend([5_u32, 2].map(u32::to_le_bytes).concat());
        let mut name = path.as_bytes().to_vec();
        name.resize((name.len() + 1).next_multiple_of(8), 0);
        body.extend(name);
        body.extend(time_ns.to_le_bytes());
        body
    }

    fn name(mappings: &Mappings, process: u32, time_ns: u64, address: u64) -> Option<String> {
        mappings.function(process, KernelTime::from_ns(time_ns), address)
    }

    #[test]
    fn addresses_belong_to_the_latest_mapping_or_that_of_the_parent() {
        let mut mappings = Mappings::default();
        let mut add = |process, begin, path: &str, time_ns| {
            let body = mmap2(process, begin, path, time_ns);
            let record = PerfRecord { kind: kinds::MMAP2, misc: 2, body: &body };
            mappings.add_mapping(record, ByteOrder::Little, &layouts());
        };
        add(7, 0x10_000, "/gone/sh", 0);
        add(7, 0x10_000, "/gone/shop v2", 50);
        add(7, 0x20_000, "[vdso]", 0);
        let mut fork = [8_u32, 7, 8, 7].map(u32::to_le_bytes).concat();
        fork.extend(60_u64.to_le_bytes());
        mappings.add_fork(&fork, ByteOrder::Little);
        assert_eq!(name(&mappings, 7, 40, 0x10_010).as_deref(), Some("sh+0x410"));
        assert_eq!(name(&mappings, 7, 50, 0x10_010).as_deref(), Some("shop?v2+0x410"));
        assert_eq!(name(&mappings, 8, 70, 0x10_fff).as_deref(), Some("shop?v2+0x13ff"));
        assert_eq!(name(&mappings, 7, 70, 0x11_000), None);
        assert_eq!(name(&mappings, 7, 70, 0x20_010), None);
    }

    #[test]
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    fn functions_have_names_only_if_the_file_is_of_the_same_build() {
        let this = std::env::current_exe().unwrap();
        let table = FunctionTable::read(&this).unwrap();
        let main = laggard_elf::function_offset(&this, "main").unwrap();
        let path = this.to_str().unwrap();
        let file = this.file_name().unwrap().to_str().unwrap();
        for (id, expected) in
            [(table.build_id().to_vec(), format!("{file}:main")), (vec![1, 2], format!("{file}+{main:#x}"))]
        {
            let mut mappings = Mappings::new(&HashMap::from([(path.to_owned(), id)]));
            let mapping = Mapping { time_ns: 0, addresses: 0..u64::MAX, offset: 0, path: Arc::from(path) };
            mappings.by_process.insert(7, vec![mapping]);
            assert_eq!(name(&mappings, 7, 1, main), Some(expected));
        }
    }

    #[test]
    fn short_records_are_passed_over() {
        let whole = mmap2(7, 0x10_000, "/x", 0);
        let mut mappings = Mappings::default();
        for length in 0..64 {
            for (kind, misc) in [(kinds::MMAP, 2), (kinds::MMAP2, 2 | MISC_BUILD_ID)] {
                let record = PerfRecord { kind, misc, body: &whole[..length] };
                mappings.add_mapping(record, ByteOrder::Little, &layouts());
            }
            mappings.add_fork(&whole[..length], ByteOrder::Little);
        }
        assert!(mappings.by_process.values().flatten().all(|mapping| &*mapping.path != "/x"));
    }
}
