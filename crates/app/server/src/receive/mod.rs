//! What takes data: one file a protocol.
//!
//! ```text
//!  otlp_grpc ─┐                                                       ┌─► Taken ─► answer
//!  otlp_http ─┼─► body ─► unpack ─► MessageReader ─► Batch ─► store ──┤
//!  zipkin    ─┤   └── gate: room for so many bytes ──┘                └─► Refusal ─► answer
//!  write     ─┘
//! ```
//!
//! A message is answered as taken once it would survive a loss of power. Until then it holds room at the gate, so
//! that memory stays bounded however many senders there are; when there is no room, senders wait a little and are
//! then told when to come back.

mod answer;
mod body;
mod counters;
mod gate;
mod otlp_grpc;
mod otlp_http;
mod refusal;
mod settings;
mod take;
#[cfg(test)]
mod tests;
mod unpack;
mod write;
mod zipkin;

pub(crate) use counters::{Receiver, ReceiverFigures};

use crate::settings::LimitSettings;
use crate::shared::AppState;
use axum::Router;
use counters::Counters;
use gate::Gate;
use laggard_model::Losses;
use settings::ReceiveSettings;
use std::num::NonZeroUsize;
use tokio::sync::Semaphore;

/// What all receivers share: one for the whole server.
#[derive(Debug)]
pub(crate) struct Receivers {
    settings: ReceiveSettings,
    gate: Gate,
    /// How many large messages are unpacked and read at one time: as many as there are processors.
    desks: Semaphore,
    counters: [Counters; Receiver::ALL.len()],
}

impl Receivers {
    /// Receivers that have taken nothing yet.
    pub(crate) fn new(limits: &LimitSettings) -> Receivers {
        let settings = ReceiveSettings::new(limits);
        let desks = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Receivers {
            settings,
            gate: Gate::new(settings.in_flight_bytes_max, settings.wait_max),
            desks: Semaphore::new(desks),
            counters: Default::default(),
        }
    }

    /// What one of them took.
    pub(crate) fn figures(&self, receiver: Receiver) -> ReceiverFigures {
        self.counters(receiver).figures()
    }

    /// What was lost in reading, of all of them.
    pub(crate) fn losses(&self) -> Losses {
        let mut all = Losses::none();
        for counters in &self.counters {
            all.merge(&counters.losses());
        }
        all
    }

    fn counters(&self, receiver: Receiver) -> &Counters {
        &self.counters[receiver as usize]
    }
}

/// OTLP over gRPC, for its own listener.
pub(crate) fn otlp_grpc_routes() -> Router<AppState> {
    otlp_grpc::routes()
}

/// OTLP over HTTP (`/v1/traces`, `/v1/metrics`, `/v1/logs`), for its own listener.
pub(crate) fn otlp_http_routes() -> Router<AppState> {
    otlp_http::routes()
}

/// Zipkin (`/api/v2/spans`), for its own listener.
pub(crate) fn zipkin_routes() -> Router<AppState> {
    zipkin::routes()
}

/// Prometheus remote write (`/api/v1/write`), beside the API.
pub(crate) fn write_routes() -> Router<AppState> {
    write::routes()
}
