//! Perfetto traces with ftrace events inside (Android, `traced`).
//!
//! A file holds packets; a packet may hold a bundle of one CPU's events, and bundles of different CPUs follow each
//! other in the order in which they were drained, up to seconds out of order. Opening therefore walks through the
//! packets once and notes where each CPU's bundles lie; then every CPU is a stream of its own.

mod bundle;
mod events;
mod facts;
mod packets;
mod stream;

use crate::error::KernelTraceError;
use crate::interface::{KernelFormat, SampleShape};
use crate::options::OpenOptions;
use crate::source::SharedFile;
use crate::trace::{EventStream, KernelTrace, TraceFacts};
use laggard_model::{Loss, Losses};
use laggard_wire::{Fields, Value};
use packets::{NextPacket, PacketField, PacketRange, Packets};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::Arc;

pub(crate) const FORMAT: KernelFormat = KernelFormat {
    name: "perfetto",
    about: "Perfetto trace with ftrace events (Android, traced)",
    manual: "docs/manual/formats/perfetto.md",
    sample: SampleShape::File(b""),
    recognize,
    open,
};

/// Bundles beyond this number are left out: at a page of events each they would be a trace of 16 GiB.
const BUNDLES_MAX: u64 = 4 << 20;

/// Position of a bundle.
#[derive(Clone, Copy, Debug)]
struct BundlePosition {
    /// The packet in the file.
    packet: PacketRange,
    /// Its number among the bundles of that packet, or of the packets compressed into it.
    number: u32,
}

/// A Perfetto file begins with a packet; its first field is one that only Perfetto's packets have, or a bundle.
fn recognize(_path: &Path, head: &[u8]) -> bool {
    let Ok(Some(header)) = laggard_wire::header(head) else { return false };
    let laggard_wire::Contents::Bytes(length) = header.contents else { return false };
    if header.field != 1 || length == 0 {
        return false;
    }
    let rest = &head[header.bytes..];
    let packet = &rest[..rest.len().min(usize::try_from(length).unwrap_or(usize::MAX))];
    match Fields::new(packet).next() {
        Some(Ok((1, Value::Bytes(bundle)))) => packets::cpu_of(bundle).is_some(),
        // A clock snapshot, a time stamp, a sequence id, a configuration, …: every packet has one of them early.
        Some(Ok((field, _))) => (6..2048).contains(&field),
        // The first packet is larger than what can be seen of it.
        Some(Err(_)) | None => packet.len() > 16 && packet[0] == 0x0A,
    }
}

/// State of the scan of a file.
#[derive(Default)]
struct PacketWalk {
    facts: TraceFacts,
    losses: Losses,
    bundles: BTreeMap<u16, Vec<BundlePosition>>,
    bundle_count: u64,
}

fn open(path: &Path, _options: &OpenOptions) -> Result<KernelTrace, KernelTraceError> {
    let io_error = |source| KernelTraceError::Io { path: path.to_owned(), source };
    let shared = Arc::new(SharedFile::open(path).map_err(io_error)?);
    let bytes = shared.bytes();
    let mut walk = PacketWalk::default();
    walk.facts = TraceFacts { format: "Perfetto".to_owned(), clock: "boot".to_owned(), bytes, ..walk.facts };
    walk.through(path, File::open(path).map_err(io_error)?).map_err(io_error)?;
    walk.facts.cpus = u32::try_from(walk.bundles.len()).unwrap_or(u32::MAX);
    let stream = |(cpu, positions)| -> Box<dyn EventStream> {
        Box::new(stream::BundleStream::new(path.to_owned(), Arc::clone(&shared), cpu, positions))
    };
    let streams = walk.bundles.into_iter().map(stream).collect();
    Ok(KernelTrace { facts: walk.facts, losses: walk.losses, streams })
}

impl PacketWalk {
    fn through(&mut self, path: &Path, file: File) -> io::Result<()> {
        let mut packets = Packets::new(BufReader::new(file));
        let mut packet = Vec::new();
        loop {
            let (next, range) = packets.next(&mut packet)?;
            let example = || format!("{} at byte {}", path.display(), range.offset);
            match next {
                NextPacket::End => return Ok(()),
                NextPacket::Oversized => self.losses.add(Loss::OversizedRecord, example),
                NextPacket::Broken => {
                    self.losses.add(Loss::TruncatedInput, example);
                    return Ok(());
                }
                NextPacket::Packet => {
                    let mut number = 0;
                    if !self.packet(&packet, range, &mut number, MessageNesting::Outside) {
                        self.losses.add(Loss::MalformedRecord, example);
                    }
                }
            }
        }
    }

    fn note_bundle(&mut self, cpu: u16, position: BundlePosition) {
        self.bundle_count += 1;
        if self.bundle_count > BUNDLES_MAX {
            self.losses.add(Loss::OversizedRecord, || format!("bundles beyond {BUNDLES_MAX} in one trace"));
            return;
        }
        self.bundles.entry(cpu).or_default().push(position);
    }

    /// Notes the contents of a packet; returns whether it was complete.
    fn packet(
        &mut self,
        packet: &[u8],
        range: PacketRange,
        number: &mut u32,
        nesting: MessageNesting,
    ) -> bool {
        let mut is_complete = true;
        is_complete &= packets::contents(packet, |content| match content {
            PacketField::Bundle(bundle) => {
                self.note_bundle(
                    packets::cpu_of(bundle).unwrap_or(0),
                    BundlePosition { packet: range, number: *number },
                );
                *number += 1;
            }
            PacketField::Clocks(snapshot) => facts::clocks(snapshot, &mut self.facts),
            PacketField::System(message) => facts::system(message, &mut self.facts),
            compressed => match (packets::unpack(&compressed), nesting) {
                (Some(inside), MessageNesting::Outside) => {
                    for field in Fields::new(&inside).flatten() {
                        if let (1, Value::Bytes(packet)) = field {
                            self.packet(packet, range, number, MessageNesting::Compressed);
                        }
                    }
                }
                _ => self.losses.add(Loss::CorruptCompression, || format!("packet at byte {}", range.offset)),
            },
        });
        is_complete
    }
}

/// Packets compressed inside compressed packets are not written by anyone, and are not read.
#[derive(Clone, Copy)]
enum MessageNesting {
    Outside,
    Compressed,
}

#[cfg(test)]
mod tests;
