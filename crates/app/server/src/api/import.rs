//! `/api/v1/import` and `/api/v1/flush`: data from files, and the end of open traces.

use super::data::cancelable;
use super::jobs::Progress;
use super::parameters::{Query, now};
use super::problem::{ApiError, ProblemDocument, ProblemKind};
use super::running::JobSize;
use super::running::Stop;
use super::sampled::read_files;
use super::trace::{LossRow, loss_rows};
use super::uploads::{Part, Uploads};
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::body::Body;
use axum::extract::State;
use axum::{Extension, Json};
use futures::StreamExt;
use http::StatusCode;
use laggard_engine::Batch;
use laggard_model::{CallRecord, Loss, Losses, SampleRecord, Sink, SpanEvent, SpanRecord, Timestamp};
use laggard_params::SampleReading;
use laggard_store::AppendError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use utoipa::{IntoParams, ToSchema};

/// Records that are handed to the store at a time.
const BATCH_RECORDS: usize = 16 << 10;

/// How long an import waits for memory of the store.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// How a file is read.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ImportParameters {
    /// A format of `laggard formats`; recognized from the content if absent.
    format: Option<String>,
    /// Name of the file; it is the host in formats that have none.
    name: Option<String>,
}

/// Result of an import.
#[derive(Serialize, ToSchema)]
pub(crate) struct Imported {
    spans: u64,
    /// Call-log records.
    calls: u64,
    samples: u64,
    /// Events of spans.
    events: u64,
    /// When retention deletes them, at the earliest by their age: `store.keep_for` after they arrived; `null` for never.
    kept_until_ns: Option<i64>,
    /// Records that could not be read, by cause.
    losses: BTreeMap<&'static str, LossRow>,
}

/// Imports a file of traces or samples
#[utoipa::path(
    post, path = "/api/v1/import", tag = "data", params(ImportParameters),
    request_body(content_type = "application/octet-stream", content = String, description = "A file of any format, plain, gzip, zstd or an archive of them"),
    responses((status = 200, body = Imported), (status = "4XX", body = ProblemDocument), (status = 503, body = ProblemDocument))
)]
pub(crate) async fn import(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<ImportParameters>,
    body: Body,
) -> Result<Json<Imported>, ApiError> {
    let mut reading = SampleReading::default();
    reading.inputs.format = parameters.format;
    reading.settings()?;
    let folder = &state.api.uploads;
    let mut uploads = folder.open()?;
    let name = parameters.name.as_deref().unwrap_or("import");
    let mut writing = uploads.begin(folder, Part::File, name).await?;
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let cut = |_| ApiError::new(ProblemKind::Slow, "the body is incomplete");
        writing.write(&chunk.map_err(cut)?).await?;
    }
    writing.end().await?;
    let busy = |_| ApiError::new(ProblemKind::Busy, "too many imports are running");
    let permit = state.api.imports.clone().try_acquire_owned().map_err(busy)?;
    let handle = Handle::current();
    let stop = Stop::default();
    let _listed = state.api.running.begin(JobSize::Long, &stop);
    cancelable(stop.clone(), move || {
        let imported = import_files(&uploads, &reading, tenant, handle);
        drop(permit);
        imported.map(Json)
    })
    .await
}

fn import_files(
    uploads: &Uploads,
    reading: &SampleReading,
    tenant: Arc<Tenant>,
    handle: Handle,
) -> Result<Imported, ApiError> {
    let kept_until = tenant.store.keep_for().map(|keep_for| now().plus(keep_for));
    let mut filling = Filling::new(tenant, handle);
    let read = read_files(uploads, reading, &mut filling, &Progress::new());
    // Even after an error, everything read until then is imported.
    filling.flush();
    if let Some(problem) = filling.problem {
        return Err(problem);
    }
    read?;
    let losses = loss_rows(&filling.losses);
    let losses = losses
        .into_iter()
        .map(|(name, row)| (name, LossRow { example: uploads.hide_paths(&row.example), ..row }));
    Ok(Imported {
        spans: filling.spans,
        calls: filling.calls,
        samples: filling.samples,
        events: filling.events,
        kept_until_ns: kept_until.map(Timestamp::unix_ns),
        losses: losses.collect(),
    })
}

/// Fills batches and appends them to the store, which may have to wait for memory.
pub(crate) struct Filling {
    tenant: Arc<Tenant>,
    handle: Handle,
    batch: Batch,
    records: usize,
    spans: u64,
    calls: u64,
    samples: u64,
    events: u64,
    losses: Losses,
    problem: Option<ApiError>,
}

impl Filling {
    pub(crate) fn new(tenant: Arc<Tenant>, handle: Handle) -> Filling {
        Filling {
            tenant,
            handle,
            batch: Batch::default(),
            records: 0,
            spans: 0,
            calls: 0,
            samples: 0,
            events: 0,
            losses: Losses::none(),
            problem: None,
        }
    }

    /// Appends what is left.
    ///
    /// # Errors
    /// When records could not be appended, in words.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        self.flush();
        self.problem.map_or(Ok(()), |problem| Err(problem.detail().to_owned()))
    }

    fn count(&mut self) {
        self.records += 1;
        if self.records >= BATCH_RECORDS {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.records = 0;
        self.losses.merge(&batch.losses);
        if batch.is_empty() || self.problem.is_some() {
            return;
        }
        let counts = [batch.spans.len(), batch.calls.len(), batch.samples.rows.len(), batch.events.len()];
        match self.append(batch) {
            Ok(()) => {
                self.spans += counts[0] as u64;
                self.calls += counts[1] as u64;
                self.samples += counts[2] as u64;
                self.events += counts[3] as u64;
            }
            Err(error) => self.problem = Some(ApiError::from(error)),
        }
    }

    fn append(&self, batch: Batch) -> Result<(), AppendError> {
        let started = Instant::now();
        loop {
            match self.handle.block_on(self.tenant.append(batch.clone())) {
                Err(AppendError::Busy(after)) if started.elapsed() < WAIT_MAX => {
                    std::thread::sleep(after.min(Duration::from_secs(1)));
                }
                appended => return appended,
            }
        }
    }
}

impl Sink for Filling {
    fn span(&mut self, span: &SpanRecord<'_>) {
        self.batch.span(span);
        self.count();
    }

    fn call(&mut self, call: &CallRecord<'_>) {
        self.batch.call(call);
        self.count();
    }

    fn sample(&mut self, sample: &SampleRecord<'_>) {
        self.batch.sample(sample);
        self.count();
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: SpanEvent) {
        self.batch.event(event);
        self.count();
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        self.batch.lose(loss, example);
    }
}

/// Finalizes open traces
#[utoipa::path(
    post, path = "/api/v1/flush", tag = "data",
    responses((status = 204, description = "They are stored"), (status = 503, body = ProblemDocument))
)]
pub(crate) async fn flush(Extension(tenant): Extension<Arc<Tenant>>) -> Result<StatusCode, ApiError> {
    tenant.store.flush().await?;
    Ok(StatusCode::NO_CONTENT)
}
