//! Names of the functions of programs in recorded call stacks.
//!
//! Programs may end before the recording does, and what is in their memory is known only while they live: a thread looks at new
//! processes again and again, in growing intervals. Which functions are needed is found as for the kernel's: whatever in the pages
//! looks like an address of code counts as one.

use super::reader::CpuFile;
use super::symbols::for_each_word;
use laggard_elf::FunctionTable;
use laggard_model::UserFunctions;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{self, Seek};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two looks for new processes.
const LOOK: Duration = Duration::from_millis(20);
/// Looks until a process is looked at again double each time, up to this many (10 s).
const LOOKS_MAX: u32 = 512;
// Limit: processes whose functions in call stacks have names (`record`) | those of the others are addresses
/// Processes beyond this many are not looked at.
const PROCESSES_MAX: usize = 1 << 16;
/// Distinct addresses beyond this many have no names.
const ADDRESSES_MAX: usize = 1 << 20;

/// A part of a file in the memory of a process that is executed.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mapping {
    addresses: Range<u64>,
    /// Where it begins in the file, in bytes.
    offset: u64,
    path: PathBuf,
}

/// Facts about a process.
#[derive(Debug, Default)]
struct Process {
    mappings: Vec<Mapping>,
    /// Looks until the next one at it, and how many it will be after that.
    next: u32,
    interval: u32,
}

type Processes = BTreeMap<u32, Process>;

/// The thread that looks at processes while something is recorded.
pub(super) struct ProgramWatch {
    thread: JoinHandle<Processes>,
    stop: Sender<()>,
}

impl ProgramWatch {
    /// Starts it.
    pub(super) fn start() -> io::Result<ProgramWatch> {
        let (stop, stopped) = channel();
        let thread =
            std::thread::Builder::new().name("laggard-maps".to_owned()).spawn(move || watch(&stopped))?;
        Ok(ProgramWatch { thread, stop })
    }

    /// Ends it; the names of all functions in the pages that were recorded meanwhile.
    pub(super) fn functions(self, files: &[CpuFile]) -> io::Result<UserFunctions> {
        // It has ended already if this cannot be sent.
        let _ = self.stop.send(());
        let mut processes = self.thread.join().unwrap_or_default();
        update(&mut processes, true);
        let addresses = addresses(&processes, files)?;
        Ok(names(&processes, &addresses))
    }
}

fn watch(stopped: &Receiver<()>) -> Processes {
    let mut processes = Processes::new();
    loop {
        update(&mut processes, false);
        if stopped.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout) {
            return processes;
        }
    }
}

/// Looks at processes that are due, or at all.
fn update(processes: &mut Processes, at_all: bool) {
    for number in super::groups::numbers("/proc") {
        if processes.len() >= PROCESSES_MAX && !processes.contains_key(&number) {
            continue;
        }
        let process = processes.entry(number).or_default();
        if process.next > 0 && !at_all {
            process.next -= 1;
            continue;
        }
        process.interval = (2 * process.interval).clamp(1, LOOKS_MAX);
        process.next = process.interval;
        // One that has ended since has no text. What a program had before it executed another is of no use.
        let maps = fs::read_to_string(format!("/proc/{number}/maps")).unwrap_or_default();
        let mappings: Vec<Mapping> = maps.lines().filter_map(mapping).collect();
        if !mappings.is_empty() {
            process.mappings = mappings;
        }
    }
}

/// `55d260000000-55d260001000 r-xp 00001000 fe:01 1234      /usr/bin/shop`
fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (begin, end) = words.next()?.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let addresses = number(begin)?..number(end)?;
    let is_code = words.next()?.contains('x');
    let offset = number(words.next()?)?;
    let path = words.nth(2)?.trim_start();
    (is_code && path.starts_with('/')).then(|| Mapping { addresses, offset, path: path.into() })
}

/// Values that look like addresses in the code of a program.
fn addresses(processes: &Processes, files: &[CpuFile]) -> io::Result<BTreeSet<u64>> {
    let mut code: Vec<Range<u64>> =
        processes.values().flat_map(|process| &process.mappings).map(|map| map.addresses.clone()).collect();
    code.sort_by_key(|part| part.start);
    code.dedup_by(|next, part| {
        let overlaps = next.start <= part.end;
        if overlaps {
            part.end = part.end.max(next.end);
        }
        overlaps
    });
    let mut addresses = BTreeSet::new();
    for file in files {
        for_each_word(&file.file, |word| {
            let begun = code.partition_point(|part| part.start <= word);
            let is_code = begun > 0 && word <= code[begun - 1].end;
            if is_code && addresses.len() < ADDRESSES_MAX {
                addresses.insert(word);
            }
        })?;
        (&file.file).rewind()?;
    }
    Ok(addresses)
}

fn names(processes: &Processes, addresses: &BTreeSet<u64>) -> UserFunctions {
    let mut functions = UserFunctions::default();
    let mut files: HashMap<PathBuf, Option<FunctionTable>> = HashMap::new();
    for (&number, process) in processes {
        for map in &process.mappings {
            let file_name = map.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // Addresses of stacks are those behind calls; the last instruction of a function may be one.
            for &address in addresses.range(map.addresses.start + 1..=map.addresses.end) {
                let address = address - 1;
                if functions.name(number, address).is_some() {
                    continue;
                }
                let table = files.entry(map.path.clone()).or_insert_with(|| table(number, &map.path));
                let offset = address - map.addresses.start + map.offset;
                let found =
                    table.as_ref().and_then(|table| table.extent(offset).zip(table.containing(offset)));
                match found {
                    Some((extent, name)) => {
                        let in_memory = |offset: u64| {
                            (map.addresses.start + offset.saturating_sub(map.offset)).min(map.addresses.end)
                        };
                        let extent = in_memory(extent.start)..in_memory(extent.end);
                        functions.add(number, extent, &format!("{file_name}:{name}"));
                    }
                    None => functions.add(number, address..address + 1, &format!("{file_name}+{offset:#x}")),
                }
            }
        }
    }
    functions
}

/// The functions of a file as a process sees it, which may be in a container; if it has ended, as we see it.
fn table(process: u32, path: &Path) -> Option<FunctionTable> {
    let inside = format!("/proc/{process}/root{}", path.display());
    FunctionTable::read(Path::new(&inside)).or_else(|_| FunctionTable::read(path)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn executed_parts_of_files_are_read() {
        let parsed = mapping("55d260001000-55d260002000 r-xp 00001000 fe:01 1234      /opt/a shop").unwrap();
        let expected = Mapping {
            addresses: 0x55d2_6000_1000..0x55d2_6000_2000,
            offset: 0x1000,
            path: "/opt/a shop".into(),
        };
        assert_eq!(parsed, expected);
        for line in [
            "55d260001000-55d260002000 r--p 00001000 fe:01 1234      /opt/shop",
            "7ffe5a1d1000-7ffe5a1d3000 r-xp 00000000 00:00 0         [vdso]",
            "7ffe5a1d1000-7ffe5a1d3000 r-xp 00000000 00:00 0 ",
            "x-y r-xp 0 0 0 /x",
            "",
        ] {
            assert_eq!(mapping(line), None, "{line}");
        }
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn functions_of_this_program_are_named() {
        let watch = ProgramWatch::start().unwrap();
        let inside = functions_of_this_program_are_named as fn() as usize as u64 + 9;
        let mut pages = tempfile::tempfile().unwrap();
        for word in [7, inside, 0] {
            pages.write_all(&word.to_ne_bytes()).unwrap();
        }
        pages.rewind().unwrap();
        let functions = watch.functions(&[CpuFile { cpu: 0, bytes: 24, file: pages }]).unwrap();
        let name = functions.name(std::process::id(), inside - 1).unwrap();
        assert!(name.contains("functions_of_this_program_are_named"), "{name}");
        assert_eq!(functions.name(std::process::id(), 7), None);
    }
}
