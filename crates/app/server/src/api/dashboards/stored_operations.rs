//! The operations of all stored traces, from the summaries of their slices.

use crate::api::data::query_turn;
use crate::api::problem::{ApiError, ProblemKind};
use crate::api::running::{JobSize, Stop};
use crate::api::state::AppState;
use crate::tenants::Tenant;
use laggard_model::{Nanos, SpanKind, Timestamp};
use laggard_params::Window;
use laggard_store::{KnownSegments, StoreError, View};
use std::collections::BTreeSet;

/// Slices that are read at a time, and the resolution of their summaries, which does not matter here.
const READ_AT_ONCE: Nanos = Nanos::from_secs(3_600);

/// An operation: service, name, kind.
pub(super) type StoredOperation = (String, String, SpanKind);

/// Operations, and the replicas they ran on.
#[derive(Default)]
pub(super) struct StoredNames {
    pub(super) operations: BTreeSet<StoredOperation>,
    pub(super) replicas: BTreeSet<String>,
}

impl StoredNames {
    /// Those of all stored requests.
    ///
    /// # Errors
    /// As of every query.
    pub(super) async fn read(state: &AppState, tenant: &Tenant) -> Result<StoredNames, ApiError> {
        let _turn = query_turn(state).await?;
        let stop = Stop::default();
        let _listed = state.api.running.begin(JobSize::Short, &stop);
        let view = tenant.store.view();
        let mut names = StoredNames::default();
        for window in windows(&view) {
            if view.spans_within(window.since, window.until) > state.memory.calls_max() {
                let text = "the stored slices are too large for the limit of memory (`memory`)";
                return Err(ApiError::new(ProblemKind::TooMuchData, text));
            }
            stop.wait_for(async { Ok(names.add(&view, window).await?) }).await?;
        }
        Ok(names)
    }

    async fn add(&mut self, view: &View, window: Window) -> Result<(), StoreError> {
        for summary in view.summaries(window.since, window.until, READ_AT_ONCE).await? {
            for &(operation, replica) in &summary.homes {
                let key = summary.names.operation_key(operation);
                self.operations.insert((key.service.to_owned(), key.operation.to_owned(), key.kind));
                let replica = summary.names.replica_name(replica);
                if !self.replicas.contains(replica) {
                    self.replicas.insert(replica.to_owned());
                }
            }
        }
        self.replicas.remove("");
        Ok(())
    }

    pub(super) fn services(&self) -> BTreeSet<&str> {
        self.operations.iter().map(|(service, _, _)| service.as_str()).collect()
    }
}

/// Windows that hold all stored requests, in the order of time; what is far apart is not in one of them.
fn windows(view: &View) -> Vec<Window> {
    let mut extents = view.written_since(&KnownSegments::default()).extents;
    extents.sort_unstable();
    let mut windows: Vec<Window> = Vec::new();
    for (first, last) in extents {
        match windows.last_mut() {
            Some(window) if last <= window.until => {}
            Some(window) if last <= window.since.plus(READ_AT_ONCE) => window.until = last,
            Some(window) => {
                let since = first.max(window.until.plus(Nanos::from_ns(1)));
                windows.push(Window { since, until: last });
            }
            None => windows.push(Window { since: first, until: last }),
        }
    }
    windows
}

/// The last hour of the stored data: the window of a query that names none.
pub(super) fn latest_hour(tenant: &Tenant, now: Timestamp) -> Window {
    let until = tenant.store.figures().newest.unwrap_or(now);
    Window { since: until.minus(READ_AT_ONCE), until }
}
