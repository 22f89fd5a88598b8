//! The contract of [`Reader`], as functions that every format's tests, the fuzz targets and
//! the hostile-input driver call (feature `contract`). They panic with a message when the contract is broken.
//!
//! | function | property |
//! |---|---|
//! | [`check_splits`] | where the input is cut into chunks changes nothing |
//! | [`check_blocks`] | nor do blocks that several threads read |
//! | [`check_truncations`] | records before a cut are those of the complete input, and a cut is reported |
//! | [`check_hostile`] | no panic, no invented records, messages of bounded size |
//! | [`check_all`] | all of them, for a fuzz target |

mod cases;
mod transcript;

pub use cases::{HostileCase, HostileCases, SeededRng};
use transcript::transcript_in_blocks;
pub use transcript::{Event, Transcript, transcript};

use crate::format::{Format, FormatError, Reader, ReaderOptions};
use laggard_model::{CallRecord, Loss, SampleRecord, Sink, SpanRecord};

/// Inputs up to this length are truncated at every position, longer ones at about as many, evenly spaced.
const TRUNCATIONS: usize = 1_500;

/// Longest message a reader may make out of an input's text.
const MESSAGE_BYTES_MAX: usize = 8 << 10;

/// Any split of the input into chunks gives the same records, losses, examples and error, in the same order.
/// Tried are single bytes, chunks of a few prime lengths, and one random split for each seed; and [`check_blocks`].
///
/// # Panics
/// When a split gives different records than one push of the entire input.
pub fn check_splits(format: &Format, options: &ReaderOptions, bytes: &[u8], seeds: &[u64]) {
    let complete = transcript(format, options, [bytes]);
    for length in [1, 2, 3, 7, 61, 997] {
        let split = transcript(format, options, bytes.chunks(length));
        complete.assert_equals(&split, &format!("{}: chunks of {length} bytes", format.name));
    }
    for &seed in seeds {
        let split = transcript(format, options, random_chunks(bytes, seed));
        complete.assert_equals(&split, &format!("{}: random chunks, seed {seed}", format.name));
    }
    check_blocks(format, options, bytes);
}

/// Reading by several threads, in blocks of any size down to one byte, gives what one reader gives. Nothing is checked of formats
/// that cannot be split.
///
/// # Panics
/// When blocks give different records than one push of the entire input.
pub fn check_blocks(format: &Format, options: &ReaderOptions, bytes: &[u8]) {
    let complete = transcript(format, options, [bytes]);
    for block_bytes in [1, 2, 37, 64, 499, 4_096, 65_536] {
        for chunk_bytes in [1, 61, 4_099, usize::MAX] {
            // Single bytes of a large input take long and show nothing that larger chunks of it do not show.
            if bytes.len() / chunk_bytes.min(block_bytes) < 20_000 {
                let chunks = bytes.chunks(chunk_bytes);
                let read = transcript_in_blocks(format, options, chunks, block_bytes);
                let what = format!("{}: blocks of {block_bytes}, chunks of {chunk_bytes} bytes", format.name);
                complete.assert_equals(&read, &what);
            }
        }
    }
}

/// Cuts into chunks of 0 to 40 bytes, now and then of up to 4,000.
fn random_chunks(bytes: &[u8], seed: u64) -> Vec<&[u8]> {
    let mut random = SeededRng::new(seed);
    let mut chunks = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let longest = if random.below(8) == 0 { 4_000 } else { 40 };
        let (chunk, tail) = rest.split_at(random.below(longest + 1).min(rest.len()));
        chunks.push(chunk);
        rest = tail;
    }
    chunks
}

/// For the input cut off at any position (every one when it is small, evenly spaced ones when not):
///
/// 1. the records are a prefix of the complete input's records; only the last may differ or be surplus, and only
///    together with a [`Loss::TruncatedInput`];
/// 2. cuts inside a record are noticed: between two cuts after which different numbers of records come out
///    without any loss or error lies one that has a loss or an error. (That can be seen only when every
///    position is tried, and when the complete input is read without loss.)
///
/// # Panics
/// When one of these does not hold.
pub fn check_truncations(format: &Format, options: &ReaderOptions, bytes: &[u8]) {
    let complete = transcript(format, options, [bytes]);
    let stride = bytes.len().div_ceil(TRUNCATIONS).max(1);
    let is_decided = stride == 1 && complete.is_clean();
    let mut clean_count = None;
    let mut noticed = true;
    for cut in (0..bytes.len()).step_by(stride) {
        let part = transcript(format, options, [&bytes[..cut]]);
        part.assert_prefix_of(&complete, &format!("{}: cut at {cut} of {}", format.name, bytes.len()));
        if !part.is_clean() {
            noticed = true;
            continue;
        }
        let count = part.records().count();
        let is_silent = clean_count.is_some_and(|before| before != count) && !noticed;
        assert!(
            !is_decided || !is_silent,
            "{}: no cut before {cut} was noticed as inside a record",
            format.name
        );
        clean_count = Some(count);
        noticed = false;
    }
}

/// Result of a hostile input.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostileOutcome {
    /// Records read.
    pub records: u64,
    /// Losses counted.
    pub losses: u64,
    /// Whether the reader gave up with an error.
    pub gave_up: bool,
}

/// Reads any bytes and checks what must hold for all: no panic; no more records and losses than bytes; texts
/// no longer than the input; messages of bounded length. Nothing is stored, so memory is the reader's own.
///
/// # Panics
/// When one of these does not hold.
pub fn check_hostile(format: &Format, options: &ReaderOptions, bytes: &[u8]) -> HostileOutcome {
    let mut sink = CheckingSink { bytes: bytes.len(), outcome: HostileOutcome::default() };
    let mut reader = (format.open)(options);
    let read = read_in_chunks(&mut *reader, bytes, &mut sink);
    let mut outcome = sink.outcome;
    if let Err(error) = read {
        outcome.gave_up = true;
        assert_message(&error.to_string());
    }
    let events = outcome.records + outcome.losses;
    assert!(events <= bytes.len() as u64 + 1, "{}: {events} events from {} bytes", format.name, bytes.len());
    outcome
}

fn read_in_chunks(reader: &mut dyn Reader, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), FormatError> {
    for chunk in bytes.chunks(64 << 10) {
        reader.push(chunk, sink)?;
    }
    reader.finish(sink)
}

/// All checks of one input at a price that suits a fuzzer: single bytes, one random split and a few random
/// cuts of the first kilobytes.
///
/// # Panics
/// When the contract is broken.
pub fn check_all(format: &Format, bytes: &[u8]) {
    const LENGTH_MAX: usize = 4 << 10;
    const CUTS: usize = 6;
    let options = ReaderOptions { source_name: Some("host.log".to_owned()), ..ReaderOptions::default() };
    let _ = format.sniff(bytes);
    check_hostile(format, &options, bytes);
    let few = &bytes[..bytes.len().min(LENGTH_MAX)];
    let mut random = SeededRng::new(
        few.len() as u64 ^ few.iter().fold(0, |sum, &byte| sum * 31 % 65_521 + u64::from(byte)),
    );
    let complete = transcript(format, &options, [few]);
    complete.assert_equals(&transcript(format, &options, few.chunks(1)), "single bytes");
    let split = random_chunks(few, random.word());
    complete.assert_equals(&transcript(format, &options, split.iter().copied()), "a random split");
    let block_bytes = 1 + random.below(200);
    let blocks = transcript_in_blocks(format, &options, split, block_bytes);
    complete.assert_equals(&blocks, &format!("blocks of {block_bytes} bytes"));
    for _ in 0..CUTS {
        let cut = random.below(few.len() + 1);
        let part = transcript(format, &options, [&few[..cut]]);
        part.assert_prefix_of(&complete, &format!("{}: cut at {cut} of {}", format.name, few.len()));
    }
}

/// A sink that stores nothing and checks every record.
struct CheckingSink {
    bytes: usize,
    outcome: HostileOutcome,
}

impl CheckingSink {
    /// Two columns may be joined with a separator, hence the few bytes more.
    fn assert_texts(&self, texts: &[&str]) {
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        assert!(longest <= self.bytes + 16, "a text of {longest} bytes from {} bytes", self.bytes);
    }
}

impl Sink for CheckingSink {
    fn span(&mut self, span: &SpanRecord<'_>) {
        self.outcome.records += 1;
        self.assert_texts(&[span.service, span.operation, span.replica, span.trace_text.unwrap_or("")]);
        assert!(!span.service.is_empty(), "a span without a service must be of the service `unknown`");
    }

    fn call(&mut self, call: &CallRecord<'_>) {
        self.outcome.records += 1;
        self.assert_texts(&[call.host, call.service, call.operation, call.request_text.unwrap_or("")]);
    }

    fn sample(&mut self, sample: &SampleRecord<'_>) {
        self.outcome.records += 1;
        self.assert_texts(&[sample.server, sample.tier, sample.transaction, sample.callee]);
    }

    fn lose(&mut self, _loss: Loss, example: &dyn Fn() -> String) {
        self.outcome.losses += 1;
        assert_message(&example());
    }
}

fn assert_message(text: &str) {
    assert!(text.len() <= MESSAGE_BYTES_MAX, "a message of {} bytes", text.len());
}
