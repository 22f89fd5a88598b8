//! `/api/v1/recordings` and `/api/v1/agent`: kernel recordings of hosts, requested by people and sent by agents.

use super::parameters::{ListRange, Query, list_range, now, shorten};
use super::problem::{ApiError, ProblemDocument, ProblemKind};
use super::queries::small_body;
use super::running::blocking;
use super::uploads::{Part, UploadFolder, Uploads};
use crate::api::state::AppState;
use crate::recordings::{
    AgentStatus, RecordingReason, RecordingRequest, RecordingRequestError, UploadResult,
};
use crate::tenants::Tenant;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures::StreamExt;
use http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use laggard_model::Nanos;
use laggard_params::{Moment, Window};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;
use tokio_util::io::ReaderStream;
use utoipa::{IntoParams, ToSchema};

/// Longest name of a host, in characters.
const HOST_MAX: usize = 200;

/// Longest reason or note that is stored, in characters.
const TEXT_MAX: usize = 500;

/// Time between polls of an agent.
const NEXT_POLL_MS: u64 = 3_000;

/// An interval by default: the last seconds.
const USUAL_INTERVAL: Nanos = Nanos::from_secs(10);

/// Listed recordings by default, and at most.
const LIMIT: usize = 100;
const LIMIT_MAX: usize = 5_000;

/// What every trace.dat begins with.
const TRACE_DAT: &[u8] = b"\x17\x08\x44tracing";

/// A poll of an agent.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentPoll {
    /// The host's name, as spans have it.
    host: String,
    /// Whether it records.
    recording: bool,
    /// Why it does not although it should, or only with pauses.
    #[serde(default)]
    note: String,
    /// Requests that cannot be met.
    #[serde(default)]
    missed: Vec<MissedRequest>,
}

/// A request that cannot be met.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MissedRequest {
    id: String,
    /// Why.
    reason: String,
}

/// Orders for an agent.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentOrders {
    /// Limits within which the host records; absent if it may not record at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<RecordLimits>,
    /// Recordings to be sent.
    requests: Vec<RecordingRequest>,
    /// Time until the next poll.
    next_poll_ms: u64,
}

/// Limits of a recorder.
#[derive(Serialize, ToSchema)]
pub(crate) struct RecordLimits {
    /// Memory for events, in bytes.
    buffer_bytes: u64,
    /// Most of the host's CPU, as a share of all its CPUs.
    cpu_share: f64,
}

/// What an agent is to do: whether its host records, and what it is to send
#[utoipa::path(
    post, path = "/api/v1/agent/poll", tag = "recordings", request_body = AgentPoll,
    responses((status = 200, body = AgentOrders), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn poll(
    Extension(tenant): Extension<Arc<Tenant>>,
    request: Request,
) -> Result<Json<AgentOrders>, ApiError> {
    let poll: AgentPoll = read(request).await?;
    let status = AgentStatus {
        host: checked_host(&poll.host)?,
        polled_ns: now().unix_ns(),
        recording: poll.recording,
        note: laggard_system::printable(&poll.note, TEXT_MAX),
    };
    let missed = poll.missed.into_iter().map(|missed| {
        let MissedRequest { id, reason } = missed;
        (id, laggard_system::printable(&reason, TEXT_MAX))
    });
    let missed = missed.collect();
    let reply = blocking(move || tenant.recordings.poll(status, missed)).await?;
    let record = reply.record.map(|(buffer_bytes, cpu_share)| RecordLimits { buffer_bytes, cpu_share });
    Ok(Json(AgentOrders { record, requests: reply.requests, next_poll_ms: NEXT_POLL_MS }))
}

/// Result of an upload.
#[derive(Serialize, ToSchema)]
pub(crate) struct UploadedRecording {
    /// Whether it was stored before: a repeated upload changes nothing.
    known: bool,
}

/// Stores a requested recording; repeating it changes nothing
#[utoipa::path(
    put, path = "/api/v1/agent/recordings/{id}", tag = "recordings", params(("id" = String, Path)),
    request_body(content_type = "application/octet-stream", content = String, description = "A trace.dat"),
    responses(
        (status = 200, body = UploadedRecording),
        (status = 409, body = ProblemDocument, description = "The request has ended without it"),
        (status = "4XX", body = ProblemDocument), (status = 503, body = ProblemDocument)
    )
)]
pub(crate) async fn upload(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<UploadedRecording>, ApiError> {
    let folder = &state.api.uploads;
    let mut uploads = folder.open()?;
    write(body, &mut uploads, folder, tenant.recordings.upload_bytes_max()).await?;
    let now = now();
    let stored = blocking(move || tenant.recordings.store(&id, &uploads.files()[0].path, now)).await?;
    match stored.map_err(|error| failed(&error))? {
        UploadResult::Stored => Ok(Json(UploadedRecording { known: false })),
        UploadResult::Known => Ok(Json(UploadedRecording { known: true })),
        UploadResult::Ended => {
            Err(ApiError::new(ProblemKind::NotReady, "the request has ended without this recording"))
        }
        UploadResult::Unknown => Err(unknown()),
    }
}

/// Writes a body to the only file of an upload.
async fn write(
    body: Body,
    uploads: &mut Uploads,
    folder: &UploadFolder,
    bytes_max: u64,
) -> Result<(), ApiError> {
    let mut writing = uploads.begin(folder, Part::File, "trace.dat").await?;
    let (mut chunks, mut bytes, mut head) = (body.into_data_stream(), 0, Vec::new());
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| ApiError::new(ProblemKind::Slow, "the body is incomplete"))?;
        bytes += chunk.len() as u64;
        if bytes > bytes_max {
            let reason = format_args!("recordings.upload allows {bytes_max} bytes");
            return Err(ApiError::new(ProblemKind::TooLarge, reason));
        }
        let missing = TRACE_DAT.len().saturating_sub(head.len());
        head.extend_from_slice(&chunk[..missing.min(chunk.len())]);
        writing.write(&chunk).await?;
    }
    writing.end().await?;
    match head == TRACE_DAT {
        true => Ok(()),
        false => Err(ApiError::new(ProblemKind::Unreadable, "the body is no trace.dat")),
    }
}

/// Hosts to be recorded, and when.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedRecordings {
    /// The host, or a culprit and a healthy peer, as their agents name them.
    hosts: Vec<String>,
    /// Where the interval begins; ten seconds before it ends if absent.
    since: Option<Moment>,
    /// Where it ends; now if absent.
    until: Option<Moment>,
    /// Why, for whoever lists recordings.
    #[serde(default)]
    reason: String,
}

/// Requested recordings.
#[derive(Serialize, ToSchema)]
pub(crate) struct RequestedRecordings {
    /// One for each host, in the same order.
    recordings: Vec<RecordingRequest>,
}

/// Requests the recordings of the last seconds of hosts
#[utoipa::path(
    post, path = "/api/v1/recordings", tag = "recordings", request_body = WantedRecordings,
    responses(
        (status = 200, body = RequestedRecordings),
        (status = 409, body = ProblemDocument, description = "The operator's rule or a host's agent does not allow it"),
        (status = "4XX", body = ProblemDocument), (status = 503, body = ProblemDocument)
    )
)]
pub(crate) async fn request_recording(
    Extension(tenant): Extension<Arc<Tenant>>,
    request: Request,
) -> Result<Json<RequestedRecordings>, ApiError> {
    let body: WantedRecordings = read(request).await?;
    let now = now();
    let hosts = body.hosts.iter().map(|host| checked_host(host)).collect::<Result<Vec<_>, _>>()?;
    let until = body.until.map_or(now, |moment| moment.at(now));
    let since = body.since.map_or(until.minus(USUAL_INTERVAL), |moment| moment.at(now));
    let text = laggard_system::printable(&body.reason, TEXT_MAX);
    let reason = RecordingReason { incident: None, text };
    let window = Window { since, until };
    let requested = blocking(move || tenant.recordings.request(&hosts, window, &reason, now)).await?;
    let recordings = requested.map_err(|error| {
        let kind = match error {
            RecordingRequestError::Hosts(_) | RecordingRequestError::Interval(_) => ProblemKind::Invalid,
            RecordingRequestError::Storage(_) => ProblemKind::Storage,
            _ => ProblemKind::NotReady,
        };
        ApiError::new(kind, error)
    })?;
    Ok(Json(RequestedRecordings { recordings }))
}

/// Which recordings to list.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RecordingParameters {
    /// Only those of this host.
    host: Option<String>,
    /// Only intervals that end at this time or later.
    since: Option<Moment>,
    /// Only intervals that begin at this time or earlier.
    until: Option<Moment>,
    /// Most recordings (1 to 5000; default 100).
    #[param(minimum = 1, maximum = 5_000)]
    limit: Option<u64>,
}

/// Recordings and requests for them.
#[derive(Serialize, ToSchema)]
pub(crate) struct RecordingList {
    /// By the beginning of their intervals, the latest first.
    recordings: Vec<RecordingRequest>,
    /// Matching ones that are not listed.
    omitted: u64,
    /// Agents that polled within the last hour, by host.
    agents: Vec<AgentStatus>,
}

/// Recordings by host and time, and the agents that send them
#[utoipa::path(
    get, path = "/api/v1/recordings", tag = "recordings", params(RecordingParameters),
    responses((status = 200, body = RecordingList), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn recordings(
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<RecordingParameters>,
) -> Result<Json<RecordingList>, ApiError> {
    let now = now();
    let ListRange { window, limit } =
        list_range((parameters.since, parameters.until, now), (parameters.limit, LIMIT, LIMIT_MAX))?;
    let mut recordings = tenant.recordings.list(parameters.host.as_deref(), window);
    let omitted = shorten(&mut recordings, limit);
    Ok(Json(RecordingList { recordings, omitted, agents: tenant.recordings.agents(now) }))
}

/// A stored recording
#[utoipa::path(
    get, path = "/api/v1/recordings/{id}", tag = "recordings", params(("id" = String, Path)),
    responses(
        (status = 200, body = String, content_type = "application/octet-stream", description = "A trace.dat"),
        (status = "4XX", body = ProblemDocument), (status = 503, body = ProblemDocument)
    )
)]
pub(crate) async fn download(
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let (path, request) = tenant.recordings.stored(&id).ok_or_else(unknown)?;
    let file = tokio::fs::File::open(&path).await.map_err(|error| failed(&error))?;
    let bytes = file.metadata().await.map_err(|error| failed(&error))?.len();
    let name = format!("attachment; filename=\"{}.dat\"", request.id);
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_LENGTH, bytes.to_string()),
        (CONTENT_DISPOSITION, name),
    ];
    Ok((headers, Body::from_stream(ReaderStream::new(file))).into_response())
}

async fn read<T: DeserializeOwned>(request: Request) -> Result<T, ApiError> {
    let body = small_body(request).await?;
    serde_json::from_slice(&body).map_err(|error| ApiError::invalid(format_args!("no JSON: {error}")))
}

fn checked_host(host: &str) -> Result<String, ApiError> {
    let host = host.trim();
    let is_name = (1..=HOST_MAX).contains(&host.chars().count()) && !host.contains(char::is_control);
    match is_name {
        true => Ok(host.to_owned()),
        false => Err(ApiError::invalid(format_args!("a host has a name of 1 to {HOST_MAX} characters"))),
    }
}

fn unknown() -> ApiError {
    ApiError::not_found("there is no such recording; GET /api/v1/recordings lists them")
}

fn failed(error: &io::Error) -> ApiError {
    tracing::error!(%error, "a recording could not be stored or read");
    ApiError::new(
        ProblemKind::Storage,
        format_args!("the recording could not be stored or read: {}", error.kind()),
    )
}
