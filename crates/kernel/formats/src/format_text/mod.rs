//! The kernel's "format" texts: where the fields of an event lie, and which [`EventKind`](laggard_model::EventKind)
//! it becomes. Shared by trace.dat and perf.data.

mod decode;
mod fields;
mod other;
mod parse;
mod plan;
mod stack_names;
mod symbols;

pub(crate) use decode::{DecodedEvent, Decoder, shares_memory};
pub(crate) use parse::{EventFormat, field};
pub(crate) use stack_names::{Programs, StackAddresses, StackNames};
pub(crate) use symbols::Symbols;
