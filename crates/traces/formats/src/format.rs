//! The interface between bytes and records.

use crate::conventions::SelectedAttributes;
use laggard_model::Sink;
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Whether some first bytes are of a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sniff {
    /// They are.
    Yes,
    /// They are not, regardless of what follows.
    No,
    /// More bytes are needed. At the end of the input this counts as [`Sniff::No`].
    NeedMore,
}

/// Kind of table that the records of a format fill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroundTable {
    /// Spans, directly or by way of call records.
    Spans,
    /// Samples: counts, times and utilization by window.
    Samples,
    /// Both: files of the format may carry either or a mixture.
    SpansAndSamples,
}

impl GroundTable {
    /// The word in lists.
    pub const fn name(self) -> &'static str {
        match self {
            GroundTable::Spans => "traces",
            GroundTable::Samples => "samples",
            GroundTable::SpansAndSamples => "traces and samples",
        }
    }
}

/// How a format is recognized.
#[derive(Clone, Copy, Debug)]
pub enum Recognizer {
    /// By a function, called with a growing prefix of the input.
    Start(fn(prefix: &[u8]) -> Sniff),
    /// As JSON, by names of members that no other format has: the first such name in the input decides.
    JsonMembers(&'static [&'static str]),
}

/// One format: a row in [`FORMATS`](crate::FORMATS).
pub struct Format {
    /// The word for `--format`.
    pub name: &'static str,
    /// A description of a few words.
    pub title: &'static str,
    /// Path of its page in the manual, from the repository's root.
    pub manual: &'static str,
    /// The table that its records fill: spans or samples.
    pub fills: GroundTable,
    /// How an input of this format is recognized.
    pub recognizer: Recognizer,
    /// A reader for one input.
    pub open: fn(options: &ReaderOptions) -> Box<dyn Reader>,
}

/// Settings of readers: what all formats share, and what some format alone needs, by its type.
#[derive(Clone, Debug, Default)]
pub struct ReaderOptions {
    /// `NAME=HEADER` pairs that map other people's column headers to ours (tables).
    pub columns: Vec<(String, String)>,
    /// Path of the input, for formats that use the file's name (a call log without a host
    /// column is one host's log); `None` for standard input.
    pub source_name: Option<String>,
    /// Attribute (or column) with the number of spans that a span represents, like Honeycomb's `SampleRate`.
    pub weight_attribute: Option<String>,
    /// Attribute (or column) with a span's sampling probability, like Datadog's `_sample_rate`.
    pub probability_attribute: Option<String>,
    /// Attributes of requests and services that are retained.
    pub attributes: SelectedAttributes,
    /// Settings of single formats.
    pub own: FormatSettings,
}

impl ReaderOptions {
    /// Sets what one format, or some of them, need: `AccessLogSettings`, `Vec<MeasureRule>`, `Vec<MetricRule>`.
    pub fn set<S: Any + Send + Sync>(&mut self, settings: S) {
        self.own.0.insert(TypeId::of::<S>(), Arc::new(settings));
    }

    /// These options with settings for one format.
    #[must_use]
    pub fn with<S: Any + Send + Sync>(mut self, settings: S) -> ReaderOptions {
        self.set(settings);
        self
    }

    /// The settings of a type, or its defaults.
    pub fn get<S: Any + Default + Clone>(&self) -> S {
        self.own
            .0
            .get(&TypeId::of::<S>())
            .and_then(|settings| settings.downcast_ref())
            .cloned()
            .unwrap_or_default()
    }
}

/// Settings of single formats, by their type.
#[derive(Clone, Default)]
pub struct FormatSettings(BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl fmt::Debug for FormatSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "settings of {} formats", self.0.len())
    }
}

/// Reads one input of one format.
///
/// Contract, checked for every format by `contract`:
/// * any split of the input into chunks gives the same records and losses in the same order;
/// * truncation at any byte gives a prefix of the records, and a loss or an error unless it falls on a
///   boundary between records. Where a truncated record cannot be distinguished from a complete one (a line without its line
///   break) the reader may emit that one record unchanged, together with a
///   [`Loss::TruncatedInput`](laggard_model::Loss);
/// * no input makes it panic, hang, or hold more than a fixed amount of memory beyond what one record needs
///   (records over the limit are a [`Loss::OversizedRecord`](laggard_model::Loss)).
pub trait Reader: Send {
    /// Reads the next bytes. After an error the input is not read further.
    fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), FormatError>;

    /// Called once, after the last byte: emits pending records and counts what is cut off.
    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), FormatError>;

    /// Hands the rest of the input over to something that cuts it into blocks of at least `block_bytes`, which can be read at the
    /// same time; this reader is not used any more then. `None` if the format cannot be cut, or not yet: it may be possible
    /// after the next bytes.
    fn split(&mut self, block_bytes: usize) -> Option<Box<dyn Splitter>> {
        let _ = block_bytes;
        None
    }

    /// After a block: whether the next block can be read independently of this one, as the splitter assumed. Otherwise this
    /// reader must read it.
    fn is_at_boundary(&self) -> bool {
        true
    }
}

/// Cuts an input into blocks between records, on one thread. Blocks that are read in their order, or at the same time with results
/// in their order, give the same records and losses as one reader of the whole input; `contract` checks that, too.
pub trait Splitter: Send {
    /// Takes the next bytes and passes on the blocks that are complete.
    fn push(&mut self, chunk: &[u8], emit: &mut dyn FnMut(InputBlock));

    /// Called once, after the last byte: the last block, which may be empty. Its reader finishes the input.
    fn finish(self: Box<Self>) -> InputBlock;
}

/// Part of an input.
pub struct InputBlock {
    /// In the state in which it reads these bytes first.
    pub reader: Box<dyn Reader>,
    /// The part, or what a splitter made of it for its reader.
    pub bytes: Vec<u8>,
}

/// An input that cannot be read as its format at all, in a sentence with what was specified, what is
/// expected and what to try.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatError {
    message: String,
}

impl FormatError {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> FormatError {
        FormatError { message: message.into() }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FormatError {}
