//! Names of the functions in recorded call stacks.
//!
//! The kernel has some hundred thousand functions, and a recording's stacks some hundred. Which ones is found without decoding the
//! pages: whatever in them looks like an address of the kernel's code counts as one.

use super::facts::FUNCTIONS;
use super::reader::CpuFile;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};

/// Bytes of pages that are looked at together.
const BLOCK_BYTES: usize = 1 << 20;
/// Distinct addresses beyond this many have no names; stacks of a long recording have some thousand.
const ADDRESSES_MAX: usize = 1 << 20;

/// The lines of `/proc/kallsyms` that name functions in stacks, and those that every file has. Nothing where addresses are hidden.
pub(super) fn of_stacks(files: &[CpuFile]) -> io::Result<Vec<u8>> {
    let mut addresses = BTreeSet::new();
    for file in files {
        gather(&file.file, &mut addresses)?;
        (&file.file).rewind()?;
    }
    let Ok(symbols) = File::open("/proc/kallsyms") else { return Ok(Vec::new()) };
    let lines = BufReader::new(symbols).lines().map_while(Result::ok);
    Ok(select(lines, &addresses))
}

/// Adds what looks like an address of the kernel.
fn gather(pages: &File, addresses: &mut BTreeSet<u64>) -> io::Result<()> {
    for_each_word(pages, |word| {
        if is_kernel(word) && addresses.len() < ADDRESSES_MAX {
            addresses.insert(word);
        }
    })
}

/// Visits every number of 8 bytes in pages that may be one of a record.
pub(super) fn for_each_word(mut pages: &File, mut visit: impl FnMut(u64)) -> io::Result<()> {
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        // Pages are multiples of 8 bytes, and so is every read but the last.
        let read = read_full(&mut pages, &mut block)?;
        if read == 0 {
            return Ok(());
        }
        // Records are aligned to 4 bytes.
        for offset in (0..read.saturating_sub(7)).step_by(4) {
            visit(u64::from_ne_bytes(block[offset..offset + 8].try_into().unwrap_or_default()));
        }
    }
}

/// Addresses of the kernel's code have these bits on all 64-bit machines; most other large numbers have not.
const fn is_kernel(word: u64) -> bool {
    word >> 47 == 0x1_ffff
}

fn read_full(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < into.len() {
        match from.read(&mut into[length..])? {
            0 => break,
            read => length += read,
        }
    }
    Ok(length)
}

/// A function of the kernel, by its line.
struct Function {
    address: u64,
    line: String,
}

/// Lines of functions that contain one of the addresses, and of those that every file has with the next one as their end, by address.
fn select(lines: impl Iterator<Item = String>, addresses: &BTreeSet<u64>) -> Vec<u8> {
    let mut functions: Vec<Function> = lines.filter_map(function).collect();
    functions.sort_by_key(|function| function.address);
    let (mut text, mut is_next) = (String::new(), false);
    for (index, function) in functions.iter().enumerate() {
        let end = functions[index..].iter().map(|next| next.address).find(|&next| next > function.address);
        let mut inside = addresses.range(function.address..end.unwrap_or(u64::MAX));
        let name = function.line.split_ascii_whitespace().nth(2).unwrap_or_default();
        let is_wanted = FUNCTIONS.contains(&name) || inside.next().is_some();
        if is_wanted || is_next {
            text.push_str(&function.line);
            text.push('\n');
        }
        is_next = is_wanted;
    }
    text.into_bytes()
}

fn function(line: String) -> Option<Function> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok().filter(|&address| address > 0)?;
    matches!(words.next()?, "t" | "T" | "w" | "W").then_some(Function { address, line })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_functions_in_stacks_are_named() {
        let lines = [
            "ffffffff81000300 T unused",
            "ffffffff81000200 t after [mod]",
            "ffffffff81000100 T inside",
            "ffffffff81000000 T before",
            "ffffffff81000180 D data",
            "0000000000000000 T hidden",
            "ffffffff81000400 t hrtimer_wakeup",
            "ffffffff81000500 t end",
        ];
        let mut pages = tempfile::tempfile().unwrap();
        let words = [7_u32, 0x8100_01f0, 0xffff_ffff, 0];
        words.iter().for_each(|word| pages.write_all(&word.to_ne_bytes()).unwrap());
        pages.rewind().unwrap();
        let files = [CpuFile { cpu: 0, bytes: 16, file: pages }];
        let mut addresses = BTreeSet::new();
        gather(&files[0].file, &mut addresses).unwrap();
        let text =
            String::from_utf8(select(lines.iter().map(|line| (*line).to_owned()), &addresses)).unwrap();
        let names: Vec<&str> = text.lines().map(|line| line.split(' ').nth(2).unwrap()).collect();
        let expected = if cfg!(target_endian = "little") {
            &["inside", "after", "hrtimer_wakeup", "end"][..]
        } else {
            &["hrtimer_wakeup", "end"]
        };
        assert_eq!(names, expected);
    }
}
