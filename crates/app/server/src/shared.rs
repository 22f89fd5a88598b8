//! What every handler can reach.

use crate::CheckedSettings;
use crate::alerts::Alerts;
use crate::api::Api;
use crate::listen::Listener;
use crate::operations::SelfTracing;
use crate::receive::Receivers;
use crate::security::{Gate, Tenants};
use laggard_formats::MessageReader;
use laggard_model::Timestamp;
use laggard_store::Store;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// One for the whole server; handlers hold an [`Arc`] of it as axum's state.
///
/// What belongs to one tenant is not here: handlers take it by `Extension(tenant): Extension<Arc<Tenant>>`
/// (from a gRPC request: `request.extensions().get::<Arc<Tenant>>()`), put there once the request was admitted.
pub(crate) struct Shared {
    pub(crate) settings: CheckedSettings,
    pub(crate) tenants: Tenants,
    /// Who may come in; counts whom it refused.
    pub(crate) gate: Gate,
    /// What all receivers share, with figures of what they took.
    pub(crate) receivers: Receivers,
    /// What the API keeps between requests: jobs, uploads.
    pub(crate) api: Api,
    /// Continuous detection, and whom it tells.
    pub(crate) alerts: Arc<Alerts>,
    /// Traces its own requests; off unless told otherwise.
    pub(crate) tracing: Option<SelfTracing>,
    /// What it listens on, with figures of connections.
    pub(crate) listeners: Vec<Arc<Listener>>,
    pub(crate) started: Timestamp,
    /// Canceled when the server begins to stop: streams of events end, jobs are canceled.
    pub(crate) stopping: CancellationToken,
}

/// What belongs to one tenant. Without tenants there is one, called `default`.
pub(crate) struct Tenant {
    pub(crate) name: Box<str>,
    pub(crate) store: Store,
    /// Reads what receivers get; remembers series of metrics.
    pub(crate) messages: MessageReader,
}

/// The state of axum's routers.
pub(crate) type AppState = Arc<Shared>;
