//! Searches the requests of a window by their calls, and reads the traces that have them.

use super::call_filter::{CallFacts, CallFilter, RequestFacts};
use crate::api::data::{query, query_turn};
use crate::api::problem::{ApiError, ProblemKind};
use crate::api::running::{JobSize, Stop, blocking};
use crate::api::search::latest_first;
use crate::api::state::AppState;
use crate::api::trace::{TraceDocument, TraceSpan, trace_document};
use crate::operations::ProcessMemory;
use crate::tenants::Tenant;
use laggard_engine::{RequestView, Requests};
use laggard_model::{Names, Nanos, OperationId, OperationKey, SpanKind, Timestamp, TraceId};
use laggard_params::Window;
use std::collections::HashSet;
use std::sync::Arc;

// Limit: bytes of the answer to a search of the Jaeger and Tempo endpoints, and an eighth of `memory` | rejected: choose a shorter time or a smaller limit
/// Most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 128 << 20;

/// What one call of a trace takes while it is read and written, bytes.
const CALL_BYTES: u64 = 800;

/// Requests whose traces are read, beyond those that are returned.
const REJECTED_MAX: usize = 10_000;

/// Requests that are searched for.
#[derive(Clone, Debug)]
pub(super) struct RequestSearch {
    /// They start in it.
    pub(super) window: Window,
    /// They end after this, by the clock of their entry.
    pub(super) ends_after: Timestamp,
    /// Each selects one of their calls.
    pub(super) calls: Vec<CallFilter>,
    /// The shortest and the longest.
    pub(super) durations: (Nanos, Nanos),
    /// Most traces.
    pub(super) limit: usize,
}

/// A request that was searched for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RequestHit {
    pub(super) trace: TraceId,
    pub(super) start: Timestamp,
    pub(super) duration: Nanos,
    /// Where it enters.
    pub(super) service: String,
    pub(super) operation: String,
    pub(super) calls: u64,
}

/// What a search is answered with.
pub(super) struct SearchAnswer<T> {
    pub(super) traces: Vec<T>,
    /// Requests that were searched.
    pub(super) scanned: u64,
}

impl RequestSearch {
    /// Searches requests, and converts their traces until there are as many as requested, the latest requests first. A trace for
    /// which `convert` returns nothing does not count.
    ///
    /// # Errors
    /// As of every query, and when the answer would be too large.
    pub(super) async fn run<T: Send + 'static>(
        self,
        state: &AppState,
        tenant: &Tenant,
        convert: impl Fn(&RequestHit, &TraceDocument) -> Option<T> + Send + Sync + 'static,
        bytes_of: fn(&T) -> usize,
    ) -> Result<SearchAnswer<T>, ApiError> {
        let limit = self.limit;
        let (hits, scanned) =
            query(state, &tenant.store, self.window, move |requests| Ok(self.hits(requests))).await?;
        let is_cut = hits.len() == limit.saturating_add(REJECTED_MAX);
        let traces = read_traces(state, tenant, (hits, limit), convert, bytes_of).await?;
        if is_cut && traces.len() < limit {
            return Err(ApiError::new(
                ProblemKind::TooMuchData,
                format_args!(
                    "more than {REJECTED_MAX} requests start near the time and not in it; choose another time"
                ),
            ));
        }
        Ok(SearchAnswer { traces, scanned })
    }

    /// The latest requests that match, one of each trace, and how many were searched. There are more than requested, since some
    /// may turn out not to match.
    fn hits(&self, requests: &Requests) -> (Vec<RequestHit>, u64) {
        let filters: Vec<PreparedFilter> =
            self.calls.iter().map(|filter| PreparedFilter::new(filter, requests)).collect();
        let (mut hits, mut known, mut scanned) = (Vec::new(), HashSet::new(), 0);
        for request in latest_first(requests, self.window) {
            scanned += 1;
            let is_hit = request.start().plus(request.latency()) >= self.ends_after
                && (self.durations.0..=self.durations.1).contains(&request.latency())
                && filters.iter().all(|filter| filter.selects(requests.names(), &request));
            if is_hit && known.insert(request.trace()) {
                hits.push(hit(requests.names(), &request));
                if hits.len() == self.limit.saturating_add(REJECTED_MAX) {
                    break;
                }
            }
        }
        (hits, scanned)
    }
}

fn hit(names: &Names, request: &RequestView<'_>) -> RequestHit {
    let entry = names.operation_key(request.tree().operation[0]);
    RequestHit {
        trace: request.trace(),
        start: request.start(),
        duration: request.latency(),
        service: entry.service.to_owned(),
        operation: entry.operation.to_owned(),
        calls: request.calls() as u64,
    }
}

/// A filter whose conditions on names are decided.
pub(super) struct PreparedFilter {
    by_operation: Vec<CallFilter>,
    /// Whether it selects a call of every request with a structure, or of none; `None` if that depends on the request.
    by_structure: Vec<Option<bool>>,
}

impl PreparedFilter {
    pub(super) fn new(filter: &CallFilter, requests: &Requests) -> PreparedFilter {
        let names = requests.names();
        let operation = |index| filter.of_operation(names.operation_key(OperationId::from_index(index)));
        let by_operation: Vec<CallFilter> = (0..names.operations()).map(operation).collect();
        let decided: Vec<Option<bool>> = by_operation.iter().map(CallFilter::decided).collect();
        let by_structure = requests.structures().iter().map(|structure| {
            let mut calls = structure.operation.iter().map(|operation| decided[operation.index()]);
            let mut selects = Some(false);
            loop {
                match calls.next() {
                    None => return selects,
                    Some(Some(true)) => return Some(true),
                    Some(Some(false)) => {}
                    Some(None) => selects = None,
                }
            }
        });
        let by_structure = by_structure.collect();
        PreparedFilter { by_operation, by_structure }
    }

    /// Whether it selects a call of a request.
    pub(super) fn selects(&self, names: &Names, request: &RequestView<'_>) -> bool {
        self.by_structure[request.structure()]
            .unwrap_or_else(|| self.selected(names, request).next().is_some())
    }

    /// The calls of a request that it selects, by node.
    pub(super) fn selected<'a>(
        &'a self,
        names: &'a Names,
        request: &'a RequestView<'a>,
    ) -> impl Iterator<Item = (usize, CallFacts<'a>)> {
        let tree = request.tree();
        let facts = RequestFacts {
            entry: names.operation_key(tree.operation[0]),
            duration: request.latency(),
            attributes: names.attribute_set_text(request.attributes()),
        };
        (0..request.calls()).filter_map(move |node| {
            let filter = &self.by_operation[tree.operation[node].index()];
            if filter.decided() == Some(false) {
                return None;
            }
            let call = CallFacts {
                operation: names.operation_key(tree.operation[node]),
                status: if node == 0 { request.status() } else { request.call_status()[node] },
                duration: request.inclusive_time(node),
                replica: names.replica_name(request.replica(node)),
                is_entry: node == 0,
                request: facts,
            };
            filter.selects(&call).then_some((node, call))
        })
    }
}

/// The spans of a trace that a filter selects.
pub(super) fn selected_spans<'a>(
    document: &'a TraceDocument,
    filter: &CallFilter,
) -> impl Iterator<Item = &'a TraceSpan> {
    let mut entry: Option<&TraceSpan> = None;
    document.spans.iter().filter(move |span| {
        // A request is followed by its calls.
        if span.depth == 0 {
            entry = Some(span);
        }
        let entry = entry.unwrap_or(span);
        filter.selects(&CallFacts {
            operation: operation_key(span),
            status: span.status.into(),
            duration: Nanos::from_ns(span.inclusive_ns),
            replica: &span.replica,
            is_entry: span.depth == 0,
            request: RequestFacts {
                entry: operation_key(entry),
                duration: Nanos::from_ns(entry.inclusive_ns),
                attributes: document.attributes.as_str(),
            },
        })
    })
}

fn operation_key(span: &TraceSpan) -> OperationKey<'_> {
    let kind = SpanKind::parse(span.kind).unwrap_or_default();
    OperationKey { service: &span.service, operation: &span.operation, kind }
}

/// Reads the traces of requests in the turn of one query, until enough of them are converted.
async fn read_traces<T: Send + 'static>(
    state: &AppState,
    tenant: &Tenant,
    (hits, limit): (Vec<RequestHit>, usize),
    convert: impl Fn(&RequestHit, &TraceDocument) -> Option<T> + Send + Sync + 'static,
    bytes_of: fn(&T) -> usize,
) -> Result<Vec<T>, ApiError> {
    let bytes_max = state.memory.at_most_an_eighth(ANSWER_BYTES_MAX);
    let needed = CALL_BYTES * hits.iter().take(limit).map(|hit| hit.calls).sum::<u64>();
    let _turn = query_turn(state).await?;
    let _reserved = state
        .memory
        .reserve_for_query(needed.min(2 * bytes_max as u64), ProcessMemory::query_deadline())
        .await?;
    let stop = Stop::default();
    let _listed = state.api.running.begin(JobSize::Short, &stop);
    let convert = Arc::new(convert);
    let (mut converted, mut bytes) = (Vec::new(), 0);
    for hit in hits {
        if converted.len() == limit {
            break;
        }
        let Some(document) = stop.wait_for(trace_document(tenant, hit.trace)).await? else { continue };
        let convert = Arc::clone(&convert);
        let Some(trace) = blocking(move || convert(&hit, &document)).await? else { continue };
        bytes += bytes_of(&trace);
        if bytes > bytes_max {
            return Err(ApiError::new(
                ProblemKind::TooMuchData,
                format_args!(
                    "the traces take more than {bytes_max} bytes; choose a shorter time or a smaller limit"
                ),
            ));
        }
        converted.push(trace);
    }
    Ok(converted)
}
