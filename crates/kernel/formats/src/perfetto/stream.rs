//! The bundles of one CPU, one after the other.

use super::bundle::{self, RunningThread};
use super::packets::{self, PacketField};
use super::{BundlePosition, PacketRange};
use crate::source::SharedFile;
use crate::trace::{EventBatch, EventStream, StreamState};
use laggard_model::{Cpu, Loss};
use laggard_wire::{Fields, Value};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

pub(super) struct BundleStream {
    path: PathBuf,
    /// Shared by the streams of all CPUs.
    file: Arc<SharedFile>,
    cpu: u16,
    positions: std::vec::IntoIter<BundlePosition>,
    running: RunningThread,
    /// The bundles of the packet read last: several of them may be this CPU's.
    packet: Option<u64>,
    bundles: Vec<Vec<u8>>,
}

impl BundleStream {
    pub(super) fn new(
        path: PathBuf,
        file: Arc<SharedFile>,
        cpu: u16,
        positions: Vec<BundlePosition>,
    ) -> BundleStream {
        let (positions, running) = (positions.into_iter(), RunningThread::default());
        BundleStream { path, file, cpu, positions, running, packet: None, bundles: Vec::new() }
    }

    fn load(&mut self, range: PacketRange) -> io::Result<()> {
        if self.packet == Some(range.offset) {
            return Ok(());
        }
        self.packet = Some(range.offset);
        self.bundles.clear();
        let mut packet = Vec::new();
        let count = usize::try_from(range.bytes).unwrap_or(usize::MAX);
        self.file.read_at(range.offset, count, &mut packet)?;
        collect(&packet, &mut self.bundles);
        Ok(())
    }
}

/// All bundles of a packet, in the order in which opening numbered them.
fn collect(packet: &[u8], bundles: &mut Vec<Vec<u8>>) {
    packets::contents(packet, |content| match content {
        PacketField::Bundle(bundle) => bundles.push(bundle.to_owned()),
        PacketField::Clocks(_) | PacketField::System(_) => {}
        compressed => {
            let inside = packets::unpack(&compressed).unwrap_or_default();
            for (number, value) in Fields::new(&inside).flatten() {
                let (1, Value::Bytes(packet)) = (number, value) else { continue };
                packets::contents(packet, |content| {
                    if let PacketField::Bundle(bundle) = content {
                        bundles.push(bundle.to_owned());
                    }
                });
            }
        }
    });
}

impl EventStream for BundleStream {
    fn read(&mut self, batch: &mut EventBatch) -> StreamState {
        let Some(position) = self.positions.next() else { return StreamState::Ended };
        if let Err(error) = self.load(position.packet) {
            batch.losses.add(Loss::TruncatedInput, || format!("{}: {error}", self.path.display()));
            return StreamState::Ended;
        }
        let is_complete = match self.bundles.get(position.number as usize) {
            Some(bytes) => bundle::read(bytes, Cpu(self.cpu), &mut self.running, batch),
            None => false,
        };
        if !is_complete {
            batch.losses.add(Loss::MalformedRecord, || {
                format!("{} at byte {}", self.path.display(), position.packet.offset)
            });
        }
        StreamState::More
    }
}
