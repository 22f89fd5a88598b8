//! Functions of programs and libraries: 64-bit ELF symbols.
//!
//! `record` asks where a function is, to probe it, and which function an address of a call stack is in; readers of traces without
//! names ask the latter.

mod elf;
mod names;
mod table;

pub use elf::{ElfError, function_offset};
pub use names::function_path;
pub use table::FunctionTable;
