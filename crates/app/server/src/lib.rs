//! The service: receivers, API and pages; what `laggard serve` runs.
//!
//! ```text
//! OTLP gRPC 4317 ─┐
//! OTLP HTTP 4318 ─┼─ receive ─► Batch ─► store ─► api ─► JSON, pages (4316)
//! Zipkin    9411 ─┘
//! ```
//!
//! The crates of the questions compute the answers from the store, on other threads than those that serve connections.

pub mod alerts;
mod api;
pub mod client;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod durable_files;
mod events;
mod grpc;
mod line_log;
mod listen;
mod objectives;
mod operations;
mod pages;
mod pull;
mod receive;
mod recordings;
mod rotation;
mod run;
mod security;
mod settings;
mod signatures;
mod stored_facts;
mod tenants;

pub use api::{ReadLimits, StoredData, WorkerStore, openapi, tools};
pub use operations::{
    DataFolder, OtelVariables, SettingSources, SettingText, check_health, environment_name,
    load as load_settings,
};
pub use rotation::FollowedCertificates;
pub use run::{ServeEnvironment, ServeError, serve};
pub use settings::{
    AlertSettings, CheckedSettings, Length, LimitSettings, LogForm, LogSettings, ObjectiveSettings,
    RecordingSettings, Scope, SelfTracingSettings, ServeSettings, SettingError, Size, StorageSettings,
    TenantSettings, TlsSettings, TokenSettings, TraceSourceSettings, WorkersSettings,
};
