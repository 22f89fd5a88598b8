//! Samples from a Prometheus server, or anything that speaks its query API: Thanos, Mimir, VictoriaMetrics.
//!
//! ```text
//! Query … ─ range queries, split ─► Client ─ HTTP ─► matrices ─ labels to names ─► SampleRecord ─► Sink
//! ```
//!
//! A leaf crate with a network client. It only sends queries; it never listens, writes, or follows redirects.

mod answer;
mod client;
mod error;
mod fetch;
mod labels;
mod query;
mod series;
mod similar;

pub use client::{Client, ClientSettings};
pub use error::PrometheusError;
pub use fetch::{Fetched, TimeRange, fetch};
pub use labels::LabelMap;
pub use laggard_system::Credentials;
pub use query::{DEFAULT_QUERIES, PROXY_QUERIES, Query, RESOURCE_QUERIES};
pub use similar::{Half, similar_names};
