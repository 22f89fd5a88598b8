//! Metadata in TSDL, the language of CTF 1.8.

mod blocks;
mod lexer;
mod packets;
mod scalars;
mod types;

pub(super) use blocks::parse;
pub(super) use packets::{is_packetized, unpacketized};
