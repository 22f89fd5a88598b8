//! Bodies of questions: a JSON object, or a form with settings and files.

use crate::api::problem::{ApiError, ProblemKind};
use crate::api::state::AppState;
use crate::api::uploads::{Uploads, read_form};
use axum::body::{Bytes, to_bytes};
use axum::extract::multipart::Multipart;
use axum::extract::{FromRequest, Request};
use http::header::CONTENT_TYPE;
use laggard_params::FromParams;
use serde_json::{Map, Value};

/// Largest JSON object of settings.
const SETTINGS_BYTES_MAX: usize = 1 << 20;

/// A question with the files it is about, if any came with it.
pub(crate) struct QueryBody<Q> {
    pub(crate) params: Q,
    pub(crate) uploads: Option<Uploads>,
}

impl<Q: FromParams> FromRequest<AppState> for QueryBody<Q> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<QueryBody<Q>, ApiError> {
        match kind_of(&request) {
            BodyKind::Form => {
                let refused = |error: axum::extract::multipart::MultipartRejection| {
                    ApiError::invalid(error.body_text())
                };
                let form = Multipart::from_request(request, state).await.map_err(refused)?;
                let form = read_form(form, &state.api.uploads).await?;
                let question = read(form.settings.as_deref().unwrap_or_default())?;
                Ok(QueryBody { params: question, uploads: Some(form.uploads) })
            }
            BodyKind::Json => {
                let bytes = small_body(request).await?;
                Ok(QueryBody { params: read(&bytes)?, uploads: None })
            }
            BodyKind::Other(kind) => {
                // No content type at all is no trouble as long as there is no content.
                let bytes = small_body(request).await?;
                if !bytes.is_empty() {
                    return Err(ApiError::new(
                        ProblemKind::WrongType,
                        format_args!(
                            "{kind:?} is not accepted; send application/json or multipart/form-data"
                        ),
                    ));
                }
                Ok(QueryBody { params: read(&bytes)?, uploads: None })
            }
        }
    }
}

enum BodyKind {
    Json,
    Form,
    Other(String),
}

fn kind_of(request: &Request) -> BodyKind {
    let header =
        request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = header.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "application/json" => BodyKind::Json,
        "multipart/form-data" => BodyKind::Form,
        _ => BodyKind::Other(essence),
    }
}

pub(crate) async fn small_body(request: Request) -> Result<Bytes, ApiError> {
    let too_large = |_| ApiError::new(ProblemKind::TooLarge, "settings are incomplete, or larger than 1 MiB");
    to_bytes(request.into_body(), SETTINGS_BYTES_MAX).await.map_err(too_large)
}

fn read<Q: FromParams>(bytes: &[u8]) -> Result<Q, ApiError> {
    let value = match bytes.trim_ascii() {
        [] => Value::Object(Map::new()),
        text => serde_json::from_slice(text)
            .map_err(|error| ApiError::invalid(format_args!("no JSON: {error}")))?,
    };
    Q::from_json(value).map_err(ApiError::from)
}
