//! Questions about stored recordings of hosts.

use super::{Body, Query, Question, Work};
use crate::api::data::threads;
use crate::api::problem::ApiError;
use crate::recordings::{ExamineLimits, RecordedTrace, recorded_comparison, recorded_path};
use crate::tenants::Tenant;
use laggard_params::{
    FromParams, KernelDiagnoseParams, KernelPathParams, ParamsError, RawParams, add_schemas,
};
use laggard_report::{KernelDiagnosis, KernelPathReport};
use serde::Deserialize;
use std::borrow::Cow;
use utoipa::openapi::schema::{AllOfBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

pub(super) fn questions() -> [Question; 2] {
    [
        Question::new(
            "recordings/path",
            "What was the time of threads in a stored recording spent on?",
            Body::Settings,
            path,
        ),
        Question::new(
            "recordings/diagnose",
            "What does a culprit wait for that a healthy peer does not, by their stored recordings?",
            Body::Settings,
            diagnose,
        ),
    ]
}

/// Which recordings.
#[derive(Clone, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct RecordingIds {
    /// The id of a stored recording; the culprit's, where there are two.
    recording: String,
    /// The id of a healthy peer's.
    peer: Option<String>,
}

/// Recordings and the settings of a question about kernel traces.
pub(crate) struct RecordingQuery<P> {
    ids: RecordingIds,
    params: P,
}

impl<P: FromParams> FromParams for RecordingQuery<P> {
    fn from_raw(raw: &mut RawParams) -> Result<RecordingQuery<P>, ParamsError> {
        let ids: RecordingIds = raw.group()?;
        if ids.recording.is_empty() {
            return Err(ParamsError::new("recording is missing: the id of a stored recording"));
        }
        Ok(RecordingQuery { ids, params: P::from_raw(raw)? })
    }
}

impl<P: ToSchema> PartialSchema for RecordingQuery<P> {
    fn schema() -> RefOr<Schema> {
        let parts = [RecordingIds::name(), P::name()];
        let all =
            AllOfBuilder::new().description(Some("Which recordings, and the question's own parameters."));
        parts.into_iter().fold(all, |all, part| all.item(Ref::from_schema_name(part))).into()
    }
}

impl<P: ToSchema> ToSchema for RecordingQuery<P> {
    fn name() -> Cow<'static, str> {
        Cow::Owned(format!("RecordingQuery_{}", P::name()))
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        add_schemas::<RecordingIds>(schemas);
        add_schemas::<P>(schemas);
    }
}

fn trace(tenant: &Tenant, id: &str) -> Result<RecordedTrace, ApiError> {
    let stored = tenant.recordings.stored(id);
    stored.map(RecordedTrace::new).ok_or_else(|| {
        ApiError::not_found(format_args!(
            "there is no stored recording {id:?}; GET /api/v1/recordings lists them"
        ))
    })
}

fn path(query: Query<'_, RecordingQuery<KernelPathParams>>) -> Result<Work<KernelPathReport>, ApiError> {
    let RecordingQuery { ids, params } = query.params;
    if ids.peer.is_some() {
        return Err(ApiError::invalid("peer is of recordings/diagnose"));
    }
    let trace = trace(query.tenant, &ids.recording)?;
    let limits = ExamineLimits { memory: query.state.memory.graph_bytes(), threads: threads() };
    Ok(Work::long(move |progress| {
        progress.stage("reading events", 0)?;
        recorded_path(&trace, &params, limits, progress).map_err(ApiError::from)
    }))
}

fn diagnose(
    query: Query<'_, RecordingQuery<KernelDiagnoseParams>>,
) -> Result<Work<KernelDiagnosis>, ApiError> {
    let RecordingQuery { ids, params } = query.params;
    let culprit = trace(query.tenant, &ids.recording)?;
    let peer = ids.peer.as_deref().map(|id| trace(query.tenant, id)).transpose()?;
    let limits = ExamineLimits { memory: query.state.memory.graph_bytes(), threads: threads() };
    Ok(Work::long(move |progress| {
        progress.stage("reading events", 0)?;
        recorded_comparison((&culprit, peer.as_ref()), &params, limits, progress).map_err(ApiError::from)
    }))
}
