//! The file offset of a function in a program: 64-bit ELF symbols.

use crate::names::function_path;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Why a function was not found.
#[derive(Debug)]
pub enum ElfError {
    /// A file system error.
    Io(io::Error),
    /// Not a 64-bit program in the byte order of this machine, or damaged.
    NotReadable(&'static str),
    /// It has no such function.
    NoFunction {
        /// The requested name.
        name: String,
        /// Names that contain it.
        similar: Vec<String>,
    },
    /// There is no code at an offset.
    NoCode {
        /// The requested offset in the file.
        offset: u64,
    },
    /// Its own symbols were removed, and those for linking do not have this function.
    Stripped {
        /// The requested name.
        name: String,
    },
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElfError::Io(error) => error.fmt(f),
            ElfError::NotReadable(reason) => {
                write!(f, "{reason}; give the function's offset in the file (0x…)")
            }
            ElfError::NoFunction { name, similar } if similar.is_empty() => {
                write!(f, "no function '{name}'; `nm` lists those it has")
            }
            ElfError::NoFunction { name, similar } => {
                write!(f, "no function '{name}'; there are {}", similar.join(", "))
            }
            ElfError::NoCode { offset } => write!(
                f,
                "there is no code at {offset:#x} of the file; `objdump -d` shows addresses, from which those of the segment are to be \
                 subtracted (`readelf -lW`)"
            ),
            ElfError::Stripped { name } => write!(
                f,
                "no function '{name}': the program has no symbols of its own (it is stripped). Use a build with symbols, or \
                 give the function's offset in the file (0x…)"
            ),
        }
    }
}

impl std::error::Error for ElfError {}

impl From<io::Error> for ElfError {
    fn from(error: io::Error) -> ElfError {
        match error.kind() {
            // An offset beyond 64 bits is invalid.
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput => {
                ElfError::NotReadable("it ends too early")
            }
            _ => ElfError::Io(error),
        }
    }
}

/// Tables beyond this size are not read (bytes).
const TABLE_BYTES_MAX: u64 = 1 << 30;
/// Names that are suggested.
const SUGGESTIONS: usize = 5;

/// The offset of a function in a program's file, in bytes: by its symbol, by the path that it has in C++ or Rust (`shop::handle`), or
/// by `0x` and the offset.
///
/// # Errors
/// When the file cannot be read, has no such function, or several of that path.
pub fn function_offset(binary: &Path, function: &str) -> Result<u64, ElfError> {
    let mut elf = Elf::open(binary)?;
    if let Some(digits) = function.strip_prefix("0x") {
        let offset = u64::from_str_radix(digits, 16).map_err(|_| ElfError::NotReadable("not a number"))?;
        return elf.code_offset(offset);
    }
    let mut similar = Vec::new();
    let mut by_path = BTreeMap::new();
    for table in elf.symbol_tables() {
        let (symbols, names) = (elf.bytes(&table)?, elf.names_of(&table)?);
        for symbol in symbols.chunks_exact(SYMBOL_BYTES) {
            let name = text_at(&names, number(symbol, 0, 4));
            if symbol[4] & 0xf != FUNCTION || number(symbol, 6, 2) == UNDEFINED {
                continue;
            }
            if function_path(name).is_some_and(|path| path == function) {
                by_path.insert(name.to_owned(), number(symbol, 8, 8));
            }
            if !name.contains(function) {
                continue;
            }
            match name == function {
                true => return elf.probe_offset(number(symbol, 8, 8)),
                false if similar.len() < SUGGESTIONS => similar.push(name.to_owned()),
                false => {}
            }
        }
    }
    let name = function.to_owned();
    match by_path.first_key_value() {
        Some((_, &address)) if by_path.len() == 1 => return elf.probe_offset(address),
        Some(_) => similar = by_path.into_keys().take(SUGGESTIONS).collect(),
        None => {}
    }
    match elf.sections.iter().any(|part| part.kind == SYMBOLS) {
        true => Err(ElfError::NoFunction { name, similar }),
        false => Err(ElfError::Stripped { name }),
    }
}

const SYMBOL_BYTES: usize = 24;
/// The type of a symbol that is a function.
const FUNCTION: u8 = 2;
/// The section of a symbol that is defined in another file.
pub(crate) const UNDEFINED: u64 = 0;
/// The section of all symbols, and of those for linking at run time, which remain in a stripped program.
const SYMBOLS: u64 = 2;
const SYMBOL_TABLES: [u64; 2] = [SYMBOLS, 11];
const SEGMENT_LOADED: u64 = 1;
/// The flag of a segment that is executed.
const EXECUTED: u64 = 1;

/// The instruction that marks targets of indirect calls (x86-64).
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
/// `push` of one of the first eight registers, and the prefix for the other eight.
const PUSH: std::ops::RangeInclusive<u8> = 0x50..=0x57;
const PREFIX_HIGH_REGISTER: u8 = 0x41;

/// A section, or a part of the file that is loaded.
pub(crate) struct ElfPart {
    pub(crate) kind: u64,
    offset: u64,
    bytes: u64,
    /// Address in memory; of a section, the section it refers to.
    link: u64,
    /// Whether it is executed; false for sections.
    is_code: bool,
}

pub(crate) struct Elf {
    file: File,
    sections: Vec<ElfPart>,
    segments: Vec<ElfPart>,
}

impl Elf {
    pub(crate) fn open(path: &Path) -> Result<Elf, ElfError> {
        let mut file = File::open(path)?;
        let mut head = [0; 64];
        file.read_exact(&mut head)?;
        let order = if cfg!(target_endian = "big") { 2 } else { 1 };
        if head[..4] != *b"\x7fELF" || head[4] != 2 || head[5] != order {
            return Err(ElfError::NotReadable("not a program of this machine (ELF, 64 bits)"));
        }
        let table = |offset: usize, count: usize, bytes: u64| ElfPart {
            kind: 0,
            offset: number(&head, offset, 8),
            bytes: number(&head, count, 2) * bytes,
            link: 0,
            is_code: false,
        };
        let mut elf = Elf { file, sections: Vec::new(), segments: Vec::new() };
        let (segments, sections) = (elf.bytes(&table(32, 56, 56))?, elf.bytes(&table(40, 60, 64))?);
        elf.segments = segments.chunks_exact(56).map(segment).collect();
        elf.sections = sections.chunks_exact(64).map(section).collect();
        Ok(elf)
    }

    pub(crate) fn bytes(&mut self, part: &ElfPart) -> Result<Vec<u8>, ElfError> {
        if part.bytes > TABLE_BYTES_MAX {
            return Err(ElfError::NotReadable("its tables are too large"));
        }
        self.file.seek(SeekFrom::Start(part.offset))?;
        let mut bytes = Vec::new();
        (&mut self.file).take(part.bytes).read_to_end(&mut bytes)?;
        match bytes.len() as u64 == part.bytes {
            true => Ok(bytes),
            false => Err(ElfError::NotReadable("it ends too early")),
        }
    }

    /// The sections of the file.
    pub(crate) fn sections(&self) -> &[ElfPart] {
        &self.sections
    }

    /// The tables of symbols: all of them, then those for linking.
    pub(crate) fn symbol_tables(&self) -> Vec<ElfPart> {
        let kinds = SYMBOL_TABLES.into_iter();
        kinds
            .flat_map(|kind| self.sections.iter().filter(move |part| part.kind == kind).map(ElfPart::copy))
            .collect()
    }

    pub(crate) fn names_of(&mut self, table: &ElfPart) -> Result<Vec<u8>, ElfError> {
        let names =
            usize::try_from(table.link).ok().and_then(|link| self.sections.get(link)).map(ElfPart::copy);
        self.bytes(&names.ok_or(ElfError::NotReadable("its symbols have no names"))?)
    }

    /// Where to probe the function at an address: at its first instruction, or behind `endbr64` if the next one is a push. The
    /// kernel emulates a push, but executes `endbr64` in single steps, which takes ten times as long; the stack is the same at
    /// both.
    fn probe_offset(&mut self, address: u64) -> Result<u64, ElfError> {
        let offset = self.file_offset(address)?;
        let mut first = [0; 6];
        self.file.seek(SeekFrom::Start(offset))?;
        let skips = cfg!(target_arch = "x86_64") && self.file.read_exact(&mut first).is_ok() && {
            let next = if first[4] == PREFIX_HIGH_REGISTER { first[5] } else { first[4] };
            first.starts_with(&ENDBR64) && PUSH.contains(&next)
        };
        Ok(if skips { offset + ENDBR64.len() as u64 } else { offset })
    }

    /// An offset in the file, if code is there.
    fn code_offset(&self, offset: u64) -> Result<u64, ElfError> {
        let is_in = |part: &&ElfPart| {
            part.kind == SEGMENT_LOADED
                && part.is_code
                && offset.checked_sub(part.offset).is_some_and(|inside| inside < part.bytes)
        };
        match self.segments.iter().any(|part| is_in(&part)) {
            true => Ok(offset),
            false => Err(ElfError::NoCode { offset }),
        }
    }

    /// The file offset of an address in memory.
    pub(crate) fn file_offset(&self, address: u64) -> Result<u64, ElfError> {
        let loaded = self.segments.iter().filter(|part| part.kind == SEGMENT_LOADED);
        let mut offsets = loaded.filter_map(|part| {
            let inside = address.checked_sub(part.link)?;
            (inside < part.bytes).then(|| part.offset.checked_add(inside))?
        });
        offsets.next().ok_or(ElfError::NotReadable("the function is not in the file"))
    }
}

impl ElfPart {
    pub(crate) fn copy(&self) -> ElfPart {
        ElfPart { ..*self }
    }
}

fn segment(head: &[u8]) -> ElfPart {
    ElfPart {
        kind: number(head, 0, 4),
        offset: number(head, 8, 8),
        bytes: number(head, 32, 8),
        link: number(head, 16, 8),
        is_code: number(head, 4, 4) & EXECUTED != 0,
    }
}

fn section(head: &[u8]) -> ElfPart {
    ElfPart {
        kind: number(head, 4, 4),
        offset: number(head, 24, 8),
        bytes: number(head, 32, 8),
        link: number(head, 40, 4),
        is_code: false,
    }
}

/// A number in this machine's byte order; the offsets are inside fixed headers.
pub(crate) fn number(bytes: &[u8], offset: usize, width: usize) -> u64 {
    let mut all = [0; 8];
    let begin = if cfg!(target_endian = "big") { 8 - width } else { 0 };
    all[begin..begin + width].copy_from_slice(&bytes[offset..offset + width]);
    u64::from_ne_bytes(all)
}

pub(crate) fn text_at(names: &[u8], offset: u64) -> &str {
    let rest = usize::try_from(offset).ok().and_then(|offset| names.get(offset..)).unwrap_or_default();
    let text = rest.split(|byte| *byte == 0).next().unwrap_or_default();
    std::str::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    fn an_offset_must_be_that_of_code() {
        let this = std::env::current_exe().unwrap();
        let main = function_offset(&this, "main").unwrap();
        assert_eq!(function_offset(&this, &format!("{main:#x}")).unwrap(), main);
        for offset in ["0x3", "0xffffffffffffffff"] {
            assert!(matches!(function_offset(&this, offset), Err(ElfError::NoCode { .. })), "{offset}");
        }
        assert!(matches!(function_offset(&this, "0xyz"), Err(ElfError::NotReadable(_))));
    }

    #[test]
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    fn functions_of_rust_are_found_by_their_path() {
        let this = std::env::current_exe().unwrap();
        let own = concat!(module_path!(), "::functions_of_rust_are_found_by_their_path");
        // Other versions of the compiler may write symbols in another way.
        let is_known = std::fs::read(&this).unwrap().windows(4).any(|bytes| bytes == b"_ZN1");
        assert!(!is_known || function_offset(&this, own).unwrap() > 0);
        assert!(function_offset(&this, &format!("{own}x")).is_err());
    }

    #[test]
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    fn functions_of_this_program_have_offsets() {
        let this = std::env::current_exe().unwrap();
        let offset = function_offset(&this, "main").unwrap();
        assert!(offset > 0 && offset < std::fs::metadata(&this).unwrap().len());
        let Err(ElfError::NoFunction { similar, .. }) = function_offset(&this, "mai") else { panic!() };
        assert!(similar.iter().any(|name| name == "main") || similar.len() == SUGGESTIONS, "{similar:?}");
    }

    #[test]
    fn files_that_are_not_programs_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for bytes in
            [&b""[..], b"#!/bin/sh\n", &[0x7f; 64], &[b"\x7fELF\x02\x01".as_slice(), &[0xff; 58]].concat()]
        {
            std::fs::write(&path, bytes).unwrap();
            assert!(matches!(function_offset(&path, "main"), Err(ElfError::NotReadable(_))));
        }
    }
}
