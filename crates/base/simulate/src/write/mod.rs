//! The trace formats, as written.

mod call_log;
mod file;
mod jaeger;
mod otlp_json;
mod otlp_proto;
mod resource_batches;
mod span_csv;
mod span_log;
pub(crate) mod text;
mod zipkin;

pub(crate) use file::TraceFile;
pub(crate) use span_log::{SpanLog, SpanOrigin};

use crate::delivery::{Arrangement, SpanRow};
use crate::request::Request;
use crate::settings::OutputFormat;
use crate::simulation::Simulation;
use crate::truth::RecordCounts;
use crate::{Compression, Error};
use std::path::Path;
use std::sync::Arc;

/// Writes requests as they arrive.
pub(crate) trait TraceLog {
    /// Takes a request. Requests come in order of their start.
    fn add(&mut self, request: &Request);

    /// Writes what is complete, given that no further request starts before this (true) time.
    fn write_before(&mut self, next_start_ns: Option<i64>) -> Result<(), Error>;

    /// Writes the rest and closes the files.
    fn finish(&mut self) -> Result<Written, Error>;
}

/// Counts of written records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Written {
    pub(crate) records: RecordCounts,
    pub(crate) files: u64,
    /// Before compression.
    pub(crate) bytes: u64,
}

/// Turns spans into the bytes of one file.
pub(crate) trait SpanEncoder {
    /// Text before the first span.
    fn begin(&mut self, out: &mut Vec<u8>);
    fn span(&mut self, span: &SpanRow, out: &mut Vec<u8>);
    /// Text after the last span.
    fn end(&mut self, out: &mut Vec<u8>);
}

/// The names behind the numbers of spans.
pub(crate) trait SpanNames: Send + Sync {
    fn service(&self, span: &SpanRow) -> &str;
    fn operation(&self, span: &SpanRow) -> &str;
    fn replica(&self, span: &SpanRow) -> &str;

    /// The attribute `tenant` of a span that has it.
    fn tenant(&self, _: &SpanRow) -> Option<&str> {
        None
    }

    /// Whether spans may fail or have a tenant, so that a table has columns for both.
    fn has_outcomes(&self) -> bool {
        false
    }
}

/// Makes the encoder of one file.
type NewEncoder = fn(Arc<dyn SpanNames>) -> Box<dyn SpanEncoder>;

/// Opens the files of a format.
pub(crate) fn open(
    simulation: &Arc<Simulation>,
    format: OutputFormat,
    folder: &Path,
    compression: Compression,
) -> Result<Box<dyn TraceLog>, Error> {
    let simulation = Arc::clone(simulation);
    if format == OutputFormat::CallLog {
        return Ok(Box::new(call_log::CallLog::create(simulation, folder, compression)?));
    }
    Ok(Box::new(span_log::ScenarioLog::create(simulation, layout(format), folder, compression)?))
}

/// Opens the files of a format for spans of any origin. The call log is written by [`open`] only.
pub(crate) fn open_spans(
    origin: SpanOrigin,
    format: OutputFormat,
    folder: &Path,
    compression: Compression,
) -> Result<SpanLog, Error> {
    SpanLog::create(origin, layout(format), folder, compression)
}

fn layout(format: OutputFormat) -> span_log::SpanLayout {
    let arrangement = match format {
        OutputFormat::Jaeger => Arrangement::ByTrace,
        _ => Arrangement::AsExported,
    };
    let encoder: NewEncoder = match format {
        OutputFormat::SpanCsv | OutputFormat::CallLog => |names| Box::new(span_csv::SpanCsv::new(names)),
        OutputFormat::OtlpJson => |names| Box::new(otlp_json::OtlpJson::new(names)),
        OutputFormat::OtlpProto => |names| Box::new(otlp_proto::OtlpProto::new(names)),
        OutputFormat::Jaeger => |names| Box::new(jaeger::Jaeger::new(names)),
        OutputFormat::Zipkin => |names| Box::new(zipkin::Zipkin::new(names)),
    };
    span_log::SpanLayout { arrangement, file_name: file_name(format), encoder }
}

/// The name of a file of spans.
const fn file_name(format: OutputFormat) -> &'static str {
    match format {
        OutputFormat::SpanCsv | OutputFormat::CallLog => "spans.csv",
        OutputFormat::OtlpJson => "otlp.jsonl",
        OutputFormat::OtlpProto => "otlp.binpb",
        OutputFormat::Jaeger => "jaeger.json",
        OutputFormat::Zipkin => "zipkin.json",
    }
}

impl SpanNames for Simulation {
    fn service(&self, span: &SpanRow) -> &str {
        self.system.operations.get(span.operation).service()
    }

    fn operation(&self, span: &SpanRow) -> &str {
        &self.system.operations.get(span.operation).name
    }

    fn replica(&self, span: &SpanRow) -> &str {
        &self.system.hosts.names[span.host as usize]
    }
}

/// A time in microseconds, rounded down, so that nested intervals remain nested.
const fn microseconds(ns: i64) -> i64 {
    ns.div_euclid(1_000)
}
