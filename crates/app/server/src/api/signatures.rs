//! `/api/v1/signatures`: what transactions took in each release and on each day, and what differs between two of them.

use super::answers::{Answer, FormParameters};
use super::jobs::Progress;
use super::parameters::Query;
use super::problem::{ApiError, ProblemDocument, ProblemKind};
use super::queries::TenantQueries;
use super::running::blocking;
use super::sampled::of_store;
use crate::signatures::StoredSignature;
use crate::tenants::Tenant;
use axum::extract::Path;
use axum::response::Response;
use axum::{Extension, Json};
use laggard_metrics_questions::{DiffThresholds, NamedSignature, diff_signatures};
use laggard_model::Timestamp;
use laggard_params::{Moment, SampleQuestion, SignatureParams, Windows};
use laggard_report::{Output, Signature, SignatureDiff, rfc3339};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// The signature of a service's release, or of the whole system where no service is named, from stored samples. Blocks.
///
/// # Errors
/// When there are no samples, or not of such windows.
pub(crate) fn signature_of_store(
    tenant_queries: &TenantQueries,
    service: &str,
    version: &str,
    since: Timestamp,
    until: Timestamp,
) -> Result<Signature, ApiError> {
    let progress = Progress::new();
    let windows = |tiers| Windows {
        since: Some(Moment::At(since)),
        until: Some(Moment::At(until)),
        tiers,
        ..Windows::default()
    };
    let whole = || of_store(tenant_queries, &windows(Vec::new()), &progress);
    let samples = match service {
        "" => whole()?,
        // Samples may name their tiers differently than spans name services.
        service => of_store(tenant_queries, &windows(vec![service.to_owned()]), &progress)
            .or_else(|error| if error.kind() == ProblemKind::Invalid { whole() } else { Err(error) })?,
    };
    let label = [service, version].join(" ").trim().to_owned();
    let params = SignatureParams { label, ..SignatureParams::default() };
    SignatureParams::answer(params, samples).map_err(ApiError::from)
}

/// Which signatures to list.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SignatureListParameters {
    /// Only those of this service's releases.
    service: Option<String>,
}

/// Stored signatures.
#[derive(Serialize, ToSchema)]
pub(crate) struct SignatureList {
    /// By time, the latest first.
    signatures: Vec<StoredSignature>,
}

/// Stored signatures of releases and days
#[utoipa::path(
    get, path = "/api/v1/signatures", tag = "signatures", params(SignatureListParameters),
    responses((status = 200, body = SignatureList), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn signatures(
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<SignatureListParameters>,
) -> Json<SignatureList> {
    let mut signatures = tenant.signatures.list();
    signatures.retain(|about| parameters.service.as_ref().is_none_or(|service| about.service == *service));
    signatures.reverse();
    Json(SignatureList { signatures })
}

/// A stored signature, by its id or as SERVICE@VERSION
#[utoipa::path(
    get, path = "/api/v1/signatures/{id}", tag = "signatures", params(("id" = String, Path), FormParameters),
    responses((status = 200, body = Signature), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn signature(
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(id): Path<String>,
    Query(form): Query<FormParameters>,
) -> Result<Response, ApiError> {
    let form = form.form()?;
    let (_, signature) = blocking(move || read(&tenant, &id)).await??;
    Answer::from_report(signature).respond(&form)
}

/// Which two signatures to compare.
#[derive(Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SignatureDiffParameters {
    /// The one before: an id, or SERVICE@VERSION.
    old: String,
    /// The one after.
    new: String,
    /// Form of the report: json if absent.
    #[param(inline)]
    output: Option<Output>,
}

/// What differs between two stored signatures
#[utoipa::path(
    get, path = "/api/v1/signatures/diff", tag = "signatures", params(SignatureDiffParameters),
    responses((status = 200, body = SignatureDiff), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn diff(
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<SignatureDiffParameters>,
) -> Result<Response, ApiError> {
    let SignatureDiffParameters { old, new, output } = parameters;
    let form = FormParameters { output, ..FormParameters::default() }.form()?;
    let difference = blocking(move || {
        let (old, new) = (read(&tenant, &old)?, read(&tenant, &new)?);
        let named = |(name, signature)| NamedSignature { file: name, signature };
        let (old, new) = ((&*old.0, &old.1), (&*new.0, &new.1));
        Ok(diff_signatures(named(old), named(new), &DiffThresholds::default()))
    });
    let difference: Result<SignatureDiff, ApiError> = difference.await?;
    Answer::from_report(difference?).respond(&form)
}

/// A stored signature and its name. Blocks.
fn read(tenant: &Tenant, name: &str) -> Result<(String, Signature), ApiError> {
    let about = tenant.signatures.find(name).ok_or_else(|| {
        ApiError::not_found(format_args!(
            "there is no stored signature {name:?}; GET /api/v1/signatures lists them"
        ))
    })?;
    let signature = tenant.signatures.read(&about).map_err(|error| {
        ApiError::new(ProblemKind::Storage, format_args!("the signature could not be read: {error}"))
    })?;
    let name = match about.version.as_str() {
        "" => rfc3339(Timestamp::from_unix_ns(about.since_ns)),
        version => format!("{}@{version}", about.service),
    };
    Ok((name, signature))
}
