//! Readers for formats of traces and samples: bytes in chunks of any size to span, call and sample records.
//!
//! ```text
//! file / folder / glob / stdin ─► decompress ─► sniff ─► Reader::push ─► Sink
//! ```
//!
//! A new format is one module, its two lines in this file (`mod` and a row in [`FORMATS`]), a sample with its expected
//! records, and a page in the manual.

#[cfg(any(test, feature = "contract"))]
pub mod contract;

mod access_log;
mod attributes_json;
mod call_log;
mod columns;
mod conventions;
mod decompress;
mod delimited;
mod events;
mod first_line;
mod format;
mod input;
mod jaeger;
mod json_sniff;
mod json_stream;
mod lax_json;
mod measures;
mod messages;
mod metrics;
mod otlp_frames;
mod otlp_json;
mod otlp_protobuf;
mod paths;
mod pending;
mod pump;
#[cfg(test)]
mod real_data;
mod recognize;
mod request_table;
#[cfg(test)]
mod sample_checks;
mod sample_csv;
mod sampling;
mod span_csv;
mod split;
mod table;
mod tar;
mod text;
mod time_text;
mod zipkin;

pub use access_log::{AccessLogSettings, LogTimeUnit};
pub use columns::parse_column_option;
pub use conventions::{
    DEFAULT_ATTRIBUTES, SelectedAttributes, THREAD_ATTRIBUTE, attribute_key, attribute_name,
};
pub use format::{
    Format, FormatError, FormatSettings, GroundTable, InputBlock, Reader, ReaderOptions, Recognizer, Sniff,
    Splitter,
};
pub use input::{
    InputError, InputSettings, MisnamedFormat, NoProgress, Outcome, Progress, SkippedInput, read, read_all,
};
pub use measures::{MeasureRule, parse_measure_option};
pub use messages::{MessageContents, MessageKind, MessageReader};
pub use metrics::{MetricRule, parse_metric_option};
pub use paths::{Source, SourceOrigin, expand};
pub use recognize::find_format;

/// Every format, in the order in which they are tried.
pub static FORMATS: &[Format] = &[
    otlp_frames::JSON_FORMAT,
    otlp_frames::FORMAT,
    jaeger::FORMAT,
    zipkin::FORMAT,
    span_csv::FORMAT,
    call_log::FORMAT,
    request_table::FORMAT,
    access_log::FORMAT,
    sample_csv::FORMAT,
];
