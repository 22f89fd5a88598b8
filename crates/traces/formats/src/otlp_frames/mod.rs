//! The Collector's length-prefixed files, and which of OTLP's encodings an input is in.
//!
//! The file exporter writes `format: proto`, and `format: json` with `compression: zstd`, as a stream of
//!
//! ```text
//! ┌ length ┐┌──────── message ────────┐
//! │ u32 BE ││ protobuf, JSON, or zstd ││ …
//! └────────┘└─────────────────────────┘
//! ```
//!
//! where with compression every message is a separate zstd frame.
//! Reference: open-telemetry/opentelemetry-collector-contrib, `exporter/fileexporter`, "File Format".

mod split;
#[cfg(test)]
mod tests;

use crate::format::{Format, FormatError, GroundTable, Reader, ReaderOptions, Recognizer, Sniff, Splitter};
use crate::metrics::{MetricRule, MetricSamples};
use crate::otlp_json;
use crate::otlp_json::OtlpJson;
use crate::otlp_protobuf::{self, OtlpProtobuf};
use crate::sampling::WantedAttributes;
use laggard_model::{Loss, Sink};
use std::io::{self, Read};

/// A compressed message may have this many bytes.
const COMPRESSED_BYTES_MAX: u64 = 64 << 20;
/// A message may unpack to this many bytes; it is read as it unpacks and never held.
const UNPACKED_BYTES_MAX: u64 = if cfg!(test) { 4 << 20 } else { 2 << 30 };
/// A message may request a window of 2 to this power from the decompressor: zstd's own default limit, 128 MiB.
const WINDOW_LOG_MAX: u32 = 27;
/// Messages are decompressed in chunks of this size.
const CHUNK_BYTES: usize = 128 << 10;
/// Maximum length of a message for sniffing.
const SNIFF_LENGTH_MAX: u32 = 1 << 30;
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// The row in [`FORMATS`](crate::FORMATS).
pub(crate) const JSON_FORMAT: Format = Format {
    name: "otlp-json",
    title: "OpenTelemetry (OTLP) JSON",
    manual: "docs/manual/formats/otlp.md",
    fills: GroundTable::SpansAndSamples,
    recognizer: Recognizer::JsonMembers(otlp_json::MEMBERS),
    open: open_json,
};

/// The row in [`FORMATS`](crate::FORMATS).
pub(crate) const FORMAT: Format = Format {
    name: "otlp-proto",
    title: "OpenTelemetry (OTLP) protobuf, also as the Collector's files",
    manual: "docs/manual/formats/otlp.md",
    fills: GroundTable::SpansAndSamples,
    recognizer: Recognizer::Start(sniff),
    open: open_protobuf,
};

/// Whether the input starts with a protobuf request, or with a length and any OTLP message.
pub(crate) fn sniff(prefix: &[u8]) -> Sniff {
    match Encoding::from_protobuf(*prefix.first().unwrap_or(&0)) {
        Encoding::Framed => sniff_frame(prefix),
        _ => otlp_protobuf::sniff::sniff(prefix),
    }
}

fn sniff_frame(prefix: &[u8]) -> Sniff {
    let Some((length, message)) = prefix.split_first_chunk::<4>() else {
        return Sniff::NeedMore;
    };
    if !(4..=SNIFF_LENGTH_MAX).contains(&u32::from_be_bytes(*length)) {
        return Sniff::No;
    }
    match message.first() {
        None => Sniff::NeedMore,
        Some(0x28) if message.starts_with(&ZSTD_MAGIC) => Sniff::Yes,
        Some(0x28) if ZSTD_MAGIC.starts_with(message) => Sniff::NeedMore,
        Some(b'{') => otlp_json::sniff(message),
        Some(_) => otlp_protobuf::sniff::sniff(message),
    }
}

/// A reader for `--format otlp-json`: JSON, also length-prefixed.
pub(crate) fn open_json(options: &ReaderOptions) -> Box<dyn Reader> {
    Box::new(Otlp::new(Encoding::from_json, options))
}

/// A reader for `--format otlp-proto`: one request, or a length-prefixed stream of any encoding.
pub(crate) fn open_protobuf(options: &ReaderOptions) -> Box<dyn Reader> {
    Box::new(Otlp::new(Encoding::from_protobuf, options))
}

/// The encoding of an input, detected by its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Encoding {
    Json,
    Protobuf,
    Framed,
}

impl Encoding {
    /// JSON starts with a bracket, white space or a mark, a length below 128 MiB with less than any of these.
    fn from_json(first: u8) -> Encoding {
        if first < 8 { Encoding::Framed } else { Encoding::Json }
    }

    /// A request starts with its field 1, a length below 160 MiB with less.
    fn from_protobuf(first: u8) -> Encoding {
        match first {
            0x0A => Encoding::Protobuf,
            b'{' => Encoding::Json,
            _ => Encoding::Framed,
        }
    }
}

/// Reads OTLP in the encoding detected by the first byte.
struct Otlp {
    choose: fn(u8) -> Encoding,
    stream: Option<Stream>,
    wanted: WantedAttributes,
    /// Until the stream begins.
    metrics: MetricSamples,
}

impl Otlp {
    fn new(choose: fn(u8) -> Encoding, options: &ReaderOptions) -> Otlp {
        let metrics = MetricSamples::new(&options.get::<Vec<MetricRule>>());
        Otlp { choose, stream: None, wanted: WantedAttributes::new(options), metrics }
    }
}

enum Stream {
    FrameMessage(FrameMessage),
    Frames(Box<OtlpFrames>),
}

impl Reader for Otlp {
    fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), FormatError> {
        let Some(&first) = chunk.first() else {
            return Ok(());
        };
        let stream = self.stream.get_or_insert_with(|| {
            let metrics = std::mem::take(&mut self.metrics);
            match (self.choose)(first) {
                Encoding::Json => Stream::FrameMessage(FrameMessage::json(&self.wanted, metrics)),
                Encoding::Protobuf => {
                    Stream::FrameMessage(FrameMessage::protobuf(None, &self.wanted, metrics))
                }
                Encoding::Framed => Stream::Frames(Box::new(OtlpFrames {
                    wanted: self.wanted.clone(),
                    metrics,
                    ..OtlpFrames::default()
                })),
            }
        });
        match stream {
            Stream::FrameMessage(message) => message.push(chunk, sink),
            Stream::Frames(frames) => frames.push(chunk, sink),
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), FormatError> {
        match &mut self.stream {
            None => {}
            Some(Stream::FrameMessage(message)) => message.end(sink),
            Some(Stream::Frames(frames)) => frames.end(sink),
        }
        Ok(())
    }

    /// JSON between lines, and length-prefixed messages; not a message alone.
    fn split(&mut self, block_bytes: usize) -> Option<Box<dyn Splitter>> {
        match self.stream.take() {
            Some(Stream::FrameMessage(FrameMessage::Json(reader))) => self.split_lines(reader, block_bytes),
            Some(Stream::Frames(frames)) => self.split_frames(frames, block_bytes),
            other => {
                self.stream = other;
                None
            }
        }
    }

    fn is_at_boundary(&self) -> bool {
        match &self.stream {
            Some(Stream::FrameMessage(FrameMessage::Json(reader))) => reader.is_at_document(),
            Some(Stream::Frames(frames)) => frames.is_at_length(),
            Some(Stream::FrameMessage(FrameMessage::Protobuf(_))) | None => false,
        }
    }
}

/// A message that is being read.
#[derive(Debug)]
enum FrameMessage {
    Json(Box<OtlpJson>),
    Protobuf(Box<OtlpProtobuf>),
}

impl FrameMessage {
    fn json(wanted: &WantedAttributes, metrics: MetricSamples) -> FrameMessage {
        FrameMessage::Json(Box::new(OtlpJson::new(wanted, metrics)))
    }

    fn protobuf(length: Option<u64>, wanted: &WantedAttributes, metrics: MetricSamples) -> FrameMessage {
        FrameMessage::Protobuf(Box::new(OtlpProtobuf::new(length, wanted, metrics)))
    }

    /// A message that starts with this byte, which takes `metrics`; `None` when none does.
    fn starting(
        first: u8,
        length: Option<u64>,
        wanted: &WantedAttributes,
        metrics: &mut MetricSamples,
    ) -> Option<FrameMessage> {
        match first {
            b'{' => Some(FrameMessage::json(wanted, std::mem::take(metrics))),
            0x0A => Some(FrameMessage::protobuf(length, wanted, std::mem::take(metrics))),
            _ => None,
        }
    }

    /// What is known of metrics, for the next message.
    fn take_metrics(&mut self) -> MetricSamples {
        match self {
            FrameMessage::Json(reader) => reader.take_metrics(),
            FrameMessage::Protobuf(reader) => reader.take_metrics(),
        }
    }

    fn push(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        match self {
            FrameMessage::Json(reader) => reader.push(bytes, sink),
            FrameMessage::Protobuf(reader) => reader.push(bytes, sink),
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) {
        match self {
            FrameMessage::Json(reader) => reader.end(sink),
            FrameMessage::Protobuf(reader) => reader.end(sink),
        }
    }
}

/// Reads a length-prefixed stream.
#[derive(Debug, Default)]
struct OtlpFrames {
    next: FrameAction,
    /// A length that chunks cut, or a compressed message.
    held: Vec<u8>,
    /// Messages begun, for examples of losses.
    messages: u64,
    wanted: WantedAttributes,
    /// While no message is being read, which has it then.
    metrics: MetricSamples,
}

#[derive(Debug, Default)]
enum FrameAction {
    #[default]
    Length,
    /// A message of this many bytes; its encoding is detected by its first byte.
    Begin(u64),
    Plain {
        left: u64,
        message: FrameMessage,
    },
    Compressed {
        length: u64,
    },
    Skip(u64),
    /// The lengths cannot be trusted any more.
    Damage,
}

impl OtlpFrames {
    fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        let mut rest = chunk;
        while !rest.is_empty() {
            let read = self.step(rest, sink);
            rest = &rest[read..];
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) {
        let number = self.messages;
        match &mut self.next {
            FrameAction::Damage => return,
            FrameAction::Length if self.held.is_empty() => return,
            // It counts its own cut.
            FrameAction::Plain { message, .. } => return message.end(sink),
            _ => {}
        }
        sink.lose(Loss::TruncatedInput, &|| format!("the input ends inside message {number}"));
    }

    /// Takes some of `rest`, which is not empty; returns how many bytes.
    fn step(&mut self, rest: &[u8], sink: &mut dyn Sink) -> usize {
        let within = |remaining: u64| remaining.min(rest.len() as u64) as usize;
        match &mut self.next {
            FrameAction::Length => self.split_length(rest),
            &mut FrameAction::Begin(length) => {
                self.begin(length, rest[0], sink);
                0
            }
            FrameAction::Plain { left: remaining, message } => {
                let read = within(*remaining);
                message.push(&rest[..read], sink);
                *remaining -= read as u64;
                if *remaining == 0 {
                    message.end(sink);
                    self.metrics = message.take_metrics();
                    self.next = FrameAction::Length;
                }
                read
            }
            &mut FrameAction::Compressed { length } => {
                let read = within(length - self.held.len() as u64);
                self.held.extend_from_slice(&rest[..read]);
                if self.held.len() as u64 == length {
                    self.unpack(sink);
                }
                read
            }
            FrameAction::Skip(remaining) => {
                let read = within(*remaining);
                *remaining -= read as u64;
                if *remaining == 0 {
                    self.next = FrameAction::Length;
                }
                read
            }
            FrameAction::Damage => rest.len(),
        }
    }

    fn split_length(&mut self, rest: &[u8]) -> usize {
        let read = rest.len().min(4 - self.held.len());
        self.held.extend_from_slice(&rest[..read]);
        if let Ok(length) = <[u8; 4]>::try_from(self.held.as_slice()) {
            self.held.clear();
            self.messages += 1;
            let length = u64::from(u32::from_be_bytes(length));
            // A request without anything in it is written as no bytes.
            self.next = if length == 0 { FrameAction::Length } else { FrameAction::Begin(length) };
        }
        read
    }

    /// Starts on a message by its first byte.
    fn begin(&mut self, length: u64, first: u8, sink: &mut dyn Sink) {
        let number = self.messages;
        self.next = match FrameMessage::starting(first, Some(length), &self.wanted, &mut self.metrics) {
            Some(message) => FrameAction::Plain { left: length, message },
            None if first != ZSTD_MAGIC[0] => {
                sink.lose(Loss::MalformedRecord, &|| {
                    format!("message {number} is neither protobuf nor JSON nor zstd; the rest is not read")
                });
                FrameAction::Damage
            }
            None if length > COMPRESSED_BYTES_MAX => {
                sink.lose(Loss::OversizedRecord, &|| {
                    format!("message {number} has {length} bytes compressed")
                });
                FrameAction::Skip(length)
            }
            None => FrameAction::Compressed { length },
        };
    }

    /// Reads the compressed message that is held, and is ready for the next length.
    fn unpack(&mut self, sink: &mut dyn Sink) {
        let number = self.messages;
        if let Err(error) = unpack(&self.held, number, &self.wanted, &mut self.metrics, sink) {
            sink.lose(Loss::CorruptCompression, &|| format!("message {number}: {error}"));
        }
        self.held.clear();
        self.next = FrameAction::Length;
    }
}

/// Reads a compressed message. After an error it is abandoned: buffered records are lost with the rest.
///
/// It is decompressed when complete, in chunks of one size, so that a damaged one gives the same records however
/// the input was cut.
fn unpack(
    packed: &[u8],
    number: u64,
    wanted: &WantedAttributes,
    metrics: &mut MetricSamples,
    sink: &mut dyn Sink,
) -> io::Result<()> {
    let mut message = None;
    let unpacked = unpack_into(&mut message, packed, number, wanted, metrics, sink);
    if let Some(mut message) = message {
        *metrics = message.take_metrics();
    }
    unpacked
}

/// Unpacks into `message`, which is opened with the first byte.
fn unpack_into(
    message: &mut Option<FrameMessage>,
    packed: &[u8],
    number: u64,
    wanted: &WantedAttributes,
    metrics: &mut MetricSamples,
    sink: &mut dyn Sink,
) -> io::Result<()> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
    decoder.window_log_max(WINDOW_LOG_MAX)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut unpacked_bytes = 0_u64;
    loop {
        let count = decoder.read(&mut chunk)?;
        if count == 0 {
            break;
        }
        unpacked_bytes += count as u64;
        if unpacked_bytes > UNPACKED_BYTES_MAX {
            sink.lose(Loss::OversizedRecord, &|| format!("message {number} unpacks to too many bytes"));
            return Ok(());
        }
        if message.is_none() {
            *message = FrameMessage::starting(chunk[0], None, wanted, metrics);
        }
        let Some(message) = message else {
            sink.lose(Loss::MalformedRecord, &|| format!("message {number} is neither protobuf nor JSON"));
            return Ok(());
        };
        message.push(&chunk[..count], sink);
    }
    if let Some(message) = message {
        message.end(sink);
    }
    Ok(())
}
