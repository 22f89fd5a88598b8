//! The seam between bytes and records, and the list of formats.

use crate::access_log::{self, AccessLogSettings};
use crate::measures::MeasureRule;
use crate::metrics::MetricRule;
use crate::{call_log, jaeger, otlp_frames, otlp_json, request_table, sample_csv, span_csv, zipkin};
use laggard_model::Sink;
use std::fmt;

/// Whether some first bytes are of a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sniff {
    /// They are.
    Yes,
    /// They are not, whatever follows.
    No,
    /// More bytes are needed to tell. At the end of the input this counts as [`Sniff::No`].
    NeedMore,
}

/// What the records of a format fill.
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

/// One format: a row in [`FORMATS`].
pub struct Format {
    /// The word for `--format`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Path of its page in the manual, from the repository's root.
    pub manual: &'static str,
    /// What its records fill.
    pub fills: GroundTable,
    /// Tells whether an input starts like this format. Called with a growing prefix.
    pub sniff: fn(prefix: &[u8]) -> Sniff,
    /// A reader for one input.
    pub open: fn(options: &ReaderOptions) -> Box<dyn Reader>,
}

/// Settings of readers; each format takes what concerns it.
#[derive(Clone, Debug, Default)]
pub struct ReaderOptions {
    /// `NAME=HEADER` pairs that map other people's column headers to ours (tables).
    pub columns: Vec<(String, String)>,
    /// What the columns of tables of samples measure that do not say so; the first rule that fits a file counts.
    pub measures: Vec<MeasureRule>,
    /// What metrics of some names measure, before the semantic conventions.
    pub metrics: Vec<MetricRule>,
    /// How access logs are read.
    pub access_log: AccessLogSettings,
    /// Path of the input, for formats in which a file's name says something (a call log without a host
    /// column is one host's log); `None` for standard input.
    pub source_name: Option<String>,
    /// Attribute (or column) that tells how many spans a span stands for, like Honeycomb's `SampleRate`.
    pub weight_attribute: Option<String>,
    /// Attribute (or column) that tells a span's sampling probability, like Datadog's `_sample_rate`.
    pub probability_attribute: Option<String>,
}

/// Reads one input of one format.
///
/// Contract, checked for every format by [`contract`](crate::contract):
/// * any split of the input into chunks gives the same records and losses in the same order;
/// * truncation at any byte gives a prefix of the records, and a loss or an error unless it falls on a
///   boundary between records. Where a cut record cannot be told from a whole one (a line without its line
///   break) the reader may hand on that one record as it stands, together with a
///   [`Loss::TruncatedInput`](laggard_model::Loss);
/// * no input makes it panic, hang, or keep more than a fixed amount of memory beyond what one record needs
///   (records over the limit are a [`Loss::OversizedRecord`](laggard_model::Loss)).
pub trait Reader: Send {
    /// Takes the next bytes. After an error the input is not read further.
    fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), FormatError>;

    /// Called once, after the last byte: hands on what is pending and counts what is cut off.
    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), FormatError>;
}

/// An input that cannot be read as its format at all, in a sentence that says what was given, what is
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

/// Every format, in the order in which they are tried.
pub static FORMATS: &[Format] = &[
    Format {
        name: "otlp-json",
        title: "OpenTelemetry (OTLP) JSON",
        manual: "docs/manual/formats/otlp.md",
        fills: GroundTable::SpansAndSamples,
        sniff: otlp_json::sniff,
        open: otlp_frames::open_json,
    },
    Format {
        name: "otlp-proto",
        title: "OpenTelemetry (OTLP) protobuf, also as the Collector's files",
        manual: "docs/manual/formats/otlp.md",
        fills: GroundTable::SpansAndSamples,
        sniff: otlp_frames::sniff,
        open: otlp_frames::open_protobuf,
    },
    Format {
        name: "jaeger",
        title: "Jaeger JSON",
        manual: "docs/manual/formats/jaeger.md",
        fills: GroundTable::Spans,
        sniff: jaeger::sniff,
        open: jaeger::open,
    },
    Format {
        name: "zipkin",
        title: "Zipkin v2 JSON",
        manual: "docs/manual/formats/zipkin.md",
        fills: GroundTable::Spans,
        sniff: zipkin::sniff,
        open: zipkin::open,
    },
    span_csv::FORMAT,
    call_log::FORMAT,
    request_table::FORMAT,
    access_log::FORMAT,
    sample_csv::FORMAT,
];

/// The format of this name.
pub fn find_format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
