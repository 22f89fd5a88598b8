//! The list of formats.

use crate::format::{Format, GroundTable};
use crate::{
    access_log, call_log, jaeger, otlp_frames, otlp_json, request_table, sample_csv, span_csv, zipkin,
};

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
