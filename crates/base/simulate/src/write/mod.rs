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

use crate::delivery::{Arrangement, SpanRow};
use crate::operations::Operation;
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

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Written {
    pub(crate) records: RecordCounts,
    pub(crate) files: u64,
    /// Before compression.
    pub(crate) bytes: u64,
}

/// Turns spans into the bytes of one file.
pub(crate) trait SpanEncoder {
    /// What comes before the first span.
    fn begin(&mut self, out: &mut Vec<u8>);
    fn span(&mut self, span: &SpanRow, out: &mut Vec<u8>);
    /// What comes after the last span.
    fn end(&mut self, out: &mut Vec<u8>);
}

/// Makes the encoder of one file.
type NewEncoder = fn(Arc<Simulation>) -> Box<dyn SpanEncoder>;

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
    let arrangement = match format {
        OutputFormat::Jaeger => Arrangement::ByTrace,
        _ => Arrangement::AsExported,
    };
    let encoder: NewEncoder = match format {
        OutputFormat::SpanCsv | OutputFormat::CallLog => |system| Box::new(span_csv::SpanCsv::new(system)),
        OutputFormat::OtlpJson => |system| Box::new(otlp_json::OtlpJson::new(system)),
        OutputFormat::OtlpProto => |system| Box::new(otlp_proto::OtlpProto::new(system)),
        OutputFormat::Jaeger => |system| Box::new(jaeger::Jaeger::new(system)),
        OutputFormat::Zipkin => |system| Box::new(zipkin::Zipkin::new(system)),
    };
    let layout = span_log::SpanLayout { arrangement, file_name: file_name(format), encoder };
    Ok(Box::new(span_log::SpanLog::create(simulation, layout, folder, compression)?))
}

/// What a file of spans is called.
const fn file_name(format: OutputFormat) -> &'static str {
    match format {
        OutputFormat::SpanCsv | OutputFormat::CallLog => "spans.csv",
        OutputFormat::OtlpJson => "otlp.jsonl",
        OutputFormat::OtlpProto => "otlp.binpb",
        OutputFormat::Jaeger => "jaeger.json",
        OutputFormat::Zipkin => "zipkin.json",
    }
}

impl Simulation {
    /// The operation of a span.
    fn operation_of(&self, span: &SpanRow) -> &Operation {
        self.system.operations.get(span.operation)
    }

    /// The replica of a span.
    fn replica_of(&self, span: &SpanRow) -> &str {
        &self.system.hosts.names[usize::from(span.node)]
    }
}

/// A time in microseconds, rounded down, so that nested intervals remain nested.
const fn microseconds(ns: i64) -> i64 {
    ns.div_euclid(1_000)
}
