//! The reading half of an input: a thread that reads, decompresses and opens archives, and hands buffers
//! over a bounded channel. The parsing half gives the buffers back.
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

/// Bytes in one buffer: large enough that handing it over costs nothing, small enough to stay in cache.
const BUFFER_BYTES: usize = 256 << 10;

/// Buffers of one input; the reading thread waits when all are full.
const BUFFERS: usize = 4;

/// What the reading thread says.
pub(crate) enum Message {
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
    pub(crate) messages: Receiver<Message>,
    empties: SyncSender<Vec<u8>>,
}

impl Pump {
    /// Starts the reading thread. It ends by itself when the pump is dropped; a read that blocks (a
    /// terminal, an idle pipe) delays only that thread.
    pub(crate) fn start(raw: Box<dyn Read + Send>) -> Pump {
        let (to_parser, messages) = sync_channel(BUFFERS);
        let (empties, from_parser) = sync_channel(BUFFERS);
        for _ in 0..BUFFERS {
            // The channel has room for exactly these.
            let _ = empties.try_send(Vec::new());
        }
        let gauge = Gauge::default();
        let counted = Counted { raw, gauge: gauge.clone() };
        let hose = Hose { to_parser, from_parser, gauge, told: 0 };
        std::thread::spawn(move || hose.run(counted));
        Pump { messages, empties }
    }

    /// Gives a buffer back.
    pub(crate) fn recycle(&self, buffer: Vec<u8>) {
        // When the thread has ended there is nobody to use it.
        let _ = self.empties.try_send(buffer);
    }
}

/// What happened at the raw input, below the decoders.
#[derive(Clone, Default)]
struct Gauge {
    read: Arc<AtomicU64>,
    failure: Arc<OnceLock<String>>,
}

/// The raw input. Its own failure is kept apart from what the decoders above make of it.
struct Counted {
    raw: Box<dyn Read + Send>,
    gauge: Gauge,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let outcome = self.raw.read(buffer);
        match &outcome {
            Ok(read) => {
                self.gauge.read.fetch_add(*read as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let _ = self.gauge.failure.set(error.to_string());
            }
        }
        outcome
    }
}

/// The parsing half is gone: stop quietly.
struct Gone;

/// Whether a document came through whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    Whole,
    Damaged,
}

/// The reading half.
struct Hose {
    to_parser: SyncSender<Message>,
    from_parser: Receiver<Vec<u8>>,
    gauge: Gauge,
    /// Bytes of the file already reported.
    told: u64,
}

impl Hose {
    fn run(mut self, counted: Counted) {
        // When the parsing half is gone there is nobody to tell.
        let _ = match decompress(counted) {
            Ok(stream) => self.pump(stream),
            Err(error) => self.pump_nothing(None, &error).map(|_| ()),
        };
    }

    fn pump(&mut self, stream: Decompressed<'_>) -> Result<(), Gone> {
        let reader = Peeked::new(stream.reader, tar::PEEK);
        if tar::is_tar(reader.first()) {
            return self.pump_archive(reader);
        }
        let stream = Decompressed { compression: stream.compression, reader: Box::new(reader) };
        self.pump_document(None, stream).map(|_| ())
    }

    fn pump_archive(&mut self, archive: impl Read) -> Result<(), Gone> {
        let mut members = tar::Members::new(archive);
        let mut last = Condition::Whole;
        loop {
            match members.next() {
                Ok(None) => return Ok(()),
                Ok(Some(member)) if is_hidden(&member.name) || member.size == 0 => {}
                Ok(Some(member)) if !member.whole => {
                    let reason = "sparse members and parts of other volumes are not read";
                    let error = io::Error::new(io::ErrorKind::Unsupported, reason);
                    self.pump_nothing(Some(member.name), &error)?;
                }
                Ok(Some(member)) => last = self.pump_member(member.name, members.content())?,
                // The member that the damage cut off has told already.
                Err(_) if last == Condition::Damaged => return Ok(()),
                Err(error) => return self.send_damage(&error, |damage| Message::ArchiveDamaged { damage }),
            }
        }
    }

    fn pump_member(&mut self, name: String, content: impl Read) -> Result<Condition, Gone> {
        match decompress(content) {
            Ok(stream) => self.pump_document(Some(name), stream),
            Err(error) => self.pump_nothing(Some(name), &error),
        }
    }

    fn pump_nothing(&mut self, member: Option<String>, error: &io::Error) -> Result<Condition, Gone> {
        self.send(Message::Start { member })?;
        self.send_damage(error, |damage| Message::End { damage: Some(damage) })?;
        Ok(Condition::Damaged)
    }

    fn pump_document(&mut self, member: Option<String>, stream: Decompressed<'_>) -> Result<Condition, Gone> {
        let Decompressed { compression, mut reader } = stream;
        self.send(Message::Start { member })?;
        loop {
            let mut buffer = self.from_parser.recv().map_err(|_| Gone)?;
            buffer.resize(BUFFER_BYTES, 0);
            match reader.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => self.send_bytes(buffer, 0)?,
                Ok(0) => {
                    self.send_bytes(buffer, 0)?;
                    self.send(Message::End { damage: None })?;
                    return Ok(Condition::Whole);
                }
                Ok(read) => self.send_bytes(buffer, read)?,
                Err(error) => {
                    let name = compression.name();
                    self.send_damage(&error, |reason| Message::End {
                        damage: Some(format!("{name}: {reason}")),
                    })?;
                    return Ok(Condition::Damaged);
                }
            }
        }
    }

    fn send_bytes(&mut self, mut buffer: Vec<u8>, length: usize) -> Result<(), Gone> {
        buffer.truncate(length);
        let read = self.gauge.read.load(Ordering::Relaxed);
        let compressed = read - self.told;
        self.told = read;
        self.send(Message::Bytes { buffer, compressed })
    }

    /// Tells of damage, unless it was the operating system that could not read.
    fn send_damage(&self, error: &io::Error, message: impl FnOnce(String) -> Message) -> Result<(), Gone> {
        match self.gauge.failure.get() {
            Some(reason) => self.send(Message::Failed { reason: reason.clone() }),
            None => self.send(message(error.to_string())),
        }
    }

    fn send(&self, message: Message) -> Result<(), Gone> {
        self.to_parser.send(message).map_err(|_| Gone)
    }
}

/// Members whose own name starts with a dot: what archivers on some systems add beside each file.
fn is_hidden(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|name| name.starts_with('.'))
}
