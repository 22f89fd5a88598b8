//! The reading half of an input: a thread that reads, decompresses and opens archives, and passes buffers
//! over a bounded channel. The parsing half returns the buffers.
//!
//! ```text
//! reading thread:  file ─► decompress ─► tar members ─┐ Message          ┌─► sniff ─► Reader ─► Sink
//! caller's thread:                                    └──── bounded ─────┘
//!                        ◄──────────── empty buffers ────────────────────
//! ```

use crate::decompress::{Decompressed, Peeked, decompress};
use crate::tar;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

/// Bytes in one buffer: large enough that passing it costs little, small enough for the cache.
const BUFFER_BYTES: usize = 256 << 10;

/// Buffers of one input; the reading thread waits when all are full.
const BUFFERS: usize = 4;

/// A message of the reading thread.
pub(crate) enum PumpMessage {
    /// A document starts; a member's name when it comes from an archive.
    Start { member: Option<String> },
    /// Bytes of the document, and how many bytes of the file were read since the last message.
    Bytes { buffer: Vec<u8>, compressed: u64 },
    /// The document ended, early when it is damaged.
    End { damage: Option<String> },
    /// The archive around the documents is damaged; no more will come.
    ArchiveDamaged { damage: String },
    /// The operating system could not read on.
    Failed { reason: String },
}

/// The parsing half's end of the channel.
pub(crate) struct Pump {
    pub(crate) messages: Receiver<PumpMessage>,
    empties: SyncSender<Vec<u8>>,
}

impl Pump {
    /// Starts the reading thread. It ends by itself when the pump is dropped; a read that blocks (a
    /// terminal, an idle pipe) delays only that thread.
    pub(crate) fn start(raw: Box<dyn Read + Send>) -> Pump {
        let (to_parser, messages) = sync_channel(BUFFERS);
        let (empties, from_parser) = sync_channel(BUFFERS);
        for _ in 0..BUFFERS {
            // The channel's capacity is exactly this.
            let _ = empties.try_send(Vec::new());
        }
        let gauge = ReadMonitor::default();
        let counted = CountingReader { raw, gauge: gauge.clone() };
        let reader = SourceReader { to_parser, from_parser, gauge, reported_bytes: 0 };
        std::thread::spawn(move || reader.run(counted));
        Pump { messages, empties }
    }

    /// Returns a buffer.
    pub(crate) fn recycle(&self, buffer: Vec<u8>) {
        // If the thread has ended, the buffer is not needed.
        let _ = self.empties.try_send(buffer);
    }
}

/// The state of the raw input, below the decoders.
#[derive(Clone, Default)]
struct ReadMonitor {
    read: Arc<AtomicU64>,
    error: Arc<OnceLock<String>>,
}

/// The raw input. Its own error is recorded separately from errors of the decoders above it.
struct CountingReader {
    raw: Box<dyn Read + Send>,
    gauge: ReadMonitor,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let outcome = self.raw.read(buffer);
        match &outcome {
            Ok(read) => {
                self.gauge.read.fetch_add(*read as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let _ = self.gauge.error.set(error.to_string());
            }
        }
        outcome
    }
}

/// The parsing side has ended: stop without an error.
struct Disconnected;

/// Whether a document is complete.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    Complete,
    WireError,
}

/// The reading half.
struct SourceReader {
    to_parser: SyncSender<PumpMessage>,
    from_parser: Receiver<Vec<u8>>,
    gauge: ReadMonitor,
    /// Bytes of the file already reported.
    reported_bytes: u64,
}

impl SourceReader {
    fn run(mut self, counted: CountingReader) {
        // If the parsing side has ended, the message is dropped.
        let _ = match decompress(counted) {
            Ok(stream) => self.pump(stream),
            Err(error) => self.pump_nothing(None, &error).map(|_| ()),
        };
    }

    fn pump(&mut self, stream: Decompressed<'_>) -> Result<(), Disconnected> {
        let reader = Peeked::new(stream.reader, tar::PEEK);
        if tar::is_tar(reader.first()) {
            return self.pump_archive(reader);
        }
        let stream = Decompressed { compression: stream.compression, reader: Box::new(reader) };
        self.pump_document(None, stream).map(|_| ())
    }

    fn pump_archive(&mut self, archive: impl Read) -> Result<(), Disconnected> {
        let mut members = tar::ArchiveMembers::new(archive);
        let mut last = Condition::Complete;
        loop {
            match members.next() {
                Ok(None) => return Ok(()),
                Ok(Some(member)) if is_hidden(&member.name) || member.size == 0 => {}
                Ok(Some(member)) if !member.complete => {
                    let reason = "sparse members and parts of other volumes are not read";
                    let error = io::Error::new(io::ErrorKind::Unsupported, reason);
                    self.pump_nothing(Some(member.name), &error)?;
                }
                Ok(Some(member)) => last = self.pump_member(member.name, members.content())?,
                // The truncated member has reported it already.
                Err(_) if last == Condition::WireError => return Ok(()),
                Err(error) => {
                    return self.send_damage(&error, |damage| PumpMessage::ArchiveDamaged { damage });
                }
            }
        }
    }

    fn pump_member(&mut self, name: String, content: impl Read) -> Result<Condition, Disconnected> {
        match decompress(content) {
            Ok(stream) => self.pump_document(Some(name), stream),
            Err(error) => self.pump_nothing(Some(name), &error),
        }
    }

    fn pump_nothing(&mut self, member: Option<String>, error: &io::Error) -> Result<Condition, Disconnected> {
        self.send(PumpMessage::Start { member })?;
        self.send_damage(error, |damage| PumpMessage::End { damage: Some(damage) })?;
        Ok(Condition::WireError)
    }

    fn pump_document(
        &mut self,
        member: Option<String>,
        stream: Decompressed<'_>,
    ) -> Result<Condition, Disconnected> {
        let Decompressed { compression, mut reader } = stream;
        self.send(PumpMessage::Start { member })?;
        loop {
            let mut buffer = self.from_parser.recv().map_err(|_| Disconnected)?;
            buffer.resize(BUFFER_BYTES, 0);
            match reader.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => self.send_bytes(buffer, 0)?,
                Ok(0) => {
                    self.send_bytes(buffer, 0)?;
                    self.send(PumpMessage::End { damage: None })?;
                    return Ok(Condition::Complete);
                }
                Ok(read) => self.send_bytes(buffer, read)?,
                Err(error) => {
                    let name = compression.name();
                    self.send_damage(&error, |reason| PumpMessage::End {
                        damage: Some(format!("{name}: {reason}")),
                    })?;
                    return Ok(Condition::WireError);
                }
            }
        }
    }

    fn send_bytes(&mut self, mut buffer: Vec<u8>, length: usize) -> Result<(), Disconnected> {
        buffer.truncate(length);
        let read = self.gauge.read.load(Ordering::Relaxed);
        let compressed = read - self.reported_bytes;
        self.reported_bytes = read;
        self.send(PumpMessage::Bytes { buffer, compressed })
    }

    /// Reports damage, unless the operating system failed to read.
    fn send_damage(
        &self,
        error: &io::Error,
        message: impl FnOnce(String) -> PumpMessage,
    ) -> Result<(), Disconnected> {
        match self.gauge.error.get() {
            Some(reason) => self.send(PumpMessage::Failed { reason: reason.clone() }),
            None => self.send(message(error.to_string())),
        }
    }

    fn send(&self, message: PumpMessage) -> Result<(), Disconnected> {
        self.to_parser.send(message).map_err(|_| Disconnected)
    }
}

/// Members whose own name starts with a dot: what archivers on some systems add beside each file.
fn is_hidden(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|name| name.starts_with('.'))
}
