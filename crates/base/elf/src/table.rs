//! All functions of a file, by where their code is in it.

use crate::elf::{Elf, ElfError, ElfPart, UNDEFINED, number, text_at};
use crate::names::function_path;
use std::path::Path;

// Limit: functions of a program or library | the others have no name in call stacks
/// Functions beyond this many are left out; a large browser has a million.
const FUNCTIONS_MAX: usize = 1 << 22;

/// Types of symbols that are code: functions, and those that choose one when they are first called.
const CODE_TYPES: [u8; 2] = [2, 10];
const SYMBOL_BYTES: usize = 24;
/// The kind of a section with notes, and the type of the note with the build id.
const SECTION_NOTES: u64 = 7;
const NOTE_BUILD_ID: u64 = 3;
const OWNER: &[u8] = b"GNU\0";

/// The code of one function, in bytes of the file.
#[derive(Debug)]
struct FunctionCode {
    begin: u64,
    /// The byte behind its last one.
    end: u64,
    name: Box<str>,
}

/// The functions of a program or library.
#[derive(Debug, Default)]
pub struct FunctionTable {
    functions: Vec<FunctionCode>,
    build_id: Vec<u8>,
}

impl FunctionTable {
    /// Reads the symbols of a file: its own, and those for linking, which remain in a stripped one.
    ///
    /// # Errors
    /// When the file cannot be read, or is no 64-bit program of this machine.
    pub fn read(file: &Path) -> Result<FunctionTable, ElfError> {
        let mut elf = Elf::open(file)?;
        let mut functions = Vec::new();
        for table in elf.symbol_tables() {
            let (symbols, names) = (elf.bytes(&table)?, elf.names_of(&table)?);
            for symbol in symbols.chunks_exact(SYMBOL_BYTES) {
                if functions.len() < FUNCTIONS_MAX {
                    functions.extend(function(&elf, symbol, &names));
                }
            }
        }
        // A stable order: of several names of one function the first remains, and a program's own symbols come first.
        functions.sort_by_key(|function: &FunctionCode| function.begin);
        functions.dedup_by_key(|function| function.begin);
        for index in 1..functions.len() {
            let next = functions[index].begin;
            let function = &mut functions[index - 1];
            if function.end == function.begin {
                function.end = next;
            }
        }
        let build_id = build_id(&mut elf).unwrap_or_default();
        Ok(FunctionTable { functions, build_id })
    }

    /// The name of the function at a byte of the file: the path of a C++ or Rust function (`shop::handle`), else its symbol. Has
    /// no blanks.
    pub fn containing(&self, offset: u64) -> Option<String> {
        let (_, name) = self.function_at(offset)?;
        Some(function_path(name).unwrap_or_else(|| name.to_owned()).replace(char::is_whitespace, ""))
    }

    /// Where the function at a byte of the file begins and ends, in bytes of the file.
    pub fn extent(&self, offset: u64) -> Option<std::ops::Range<u64>> {
        self.function_at(offset).map(|(extent, _)| extent)
    }

    fn function_at(&self, offset: u64) -> Option<(std::ops::Range<u64>, &str)> {
        let begun = self.functions.partition_point(|function| function.begin <= offset);
        let function = &self.functions[begun.checked_sub(1)?];
        (offset < function.end).then_some((function.begin..function.end, &*function.name))
    }

    /// The number that the linker gave this build; empty without one.
    pub fn build_id(&self) -> &[u8] {
        &self.build_id
    }
}

fn function(elf: &Elf, symbol: &[u8], names: &[u8]) -> Option<FunctionCode> {
    if !CODE_TYPES.contains(&(symbol[4] & 0xf)) || number(symbol, 6, 2) == UNDEFINED {
        return None;
    }
    let name = text_at(names, number(symbol, 0, 4));
    // Versions of functions follow their names: `read@@GLIBC_2.2.5`.
    let name = name.split('@').next().filter(|name| !name.is_empty())?;
    let begin = elf.file_offset(number(symbol, 8, 8)).ok()?;
    // Assemblers give some functions no size: they extend to the next one.
    let end = begin.saturating_add(number(symbol, 16, 8));
    Some(FunctionCode { begin, end, name: name.into() })
}

/// A note: sizes of owner and content and the type, then both, each padded to 4 bytes.
fn build_id(elf: &mut Elf) -> Option<Vec<u8>> {
    let sections: Vec<ElfPart> =
        elf.sections().iter().filter(|part| part.kind == SECTION_NOTES).map(ElfPart::copy).collect();
    for section in sections {
        let notes = elf.bytes(&section).ok()?;
        let mut rest = &notes[..];
        while rest.len() >= 12 {
            let sizes = [0, 4].map(|offset| number(rest, offset, 4) as usize);
            let content_at = 12 + sizes[0].next_multiple_of(4);
            let owner = rest.get(12..12 + sizes[0]);
            let Some(content) = rest.get(content_at..content_at + sizes[1]) else { break };
            if number(rest, 8, 4) == NOTE_BUILD_ID && owner == Some(OWNER) {
                return Some(content.to_vec());
            }
            rest = rest.get(content_at + sizes[1].next_multiple_of(4)..).unwrap_or_default();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function_offset;
    use proptest::prelude::*;

    #[test]
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    fn functions_are_found_by_their_code() {
        let this = std::env::current_exe().unwrap();
        let table = FunctionTable::read(&this).unwrap();
        let main = function_offset(&this, "main").unwrap();
        assert_eq!(table.containing(main).as_deref(), Some("main"));
        let extent = table.extent(main).unwrap();
        assert_eq!(table.containing(extent.end - 1).as_deref(), Some("main"));
        assert_ne!(table.containing(extent.end).as_deref(), Some("main"));
        assert_eq!(table.containing(0), None);
        assert_eq!(table.containing(u64::MAX), None);
    }

    proptest! {
        #[test]
        fn damaged_programs_are_errors_or_have_fewer_functions(places in prop::collection::vec((0..4096usize, any::<u8>()), 0..40), end in 0..200_000usize) {
            let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
            let mut bytes = this[..end.min(this.len())].to_vec();
            for (place, byte) in places {
                if let Some(at) = bytes.get_mut(place) {
                    *at = byte;
                }
            }
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("damaged");
            std::fs::write(&path, bytes).unwrap();
            let _ = FunctionTable::read(&path);
        }
    }
}
