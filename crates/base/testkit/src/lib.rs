//! Shared by tests: traces in a line of text, reference results, measured data, programs beside Rust, stand-ins for servers, and
//! the record of tests that were skipped.

mod elasticsearch_stand_in;
mod http_stand_in;
mod reference;
mod skip;
mod span_notation;
mod tools;
mod trace_stand_in;
mod worker_recording;

pub use elasticsearch_stand_in::{elasticsearch_document, elasticsearch_response, elasticsearch_traces};
pub use http_stand_in::{HttpStandIn, ReceivedRequest, StandInResponse};
pub use reference::{data_folder, golden, measured_data};
pub use skip::{Missing, skip};
pub use span_notation::{ParsedSpans, parse_spans};
pub use tools::{browser_lacks, is_installed, npm_install, python_with};
pub use trace_stand_in::{
    Answering, StoredTrace, StoredTraces, jaeger_response, jaeger_traces, tempo_response, tempo_traces,
    trace_stand_in, zipkin_response, zipkin_traces,
};
pub use worker_recording::{RecordedInstant, WORKER, WorkerWait, worker_recording};
