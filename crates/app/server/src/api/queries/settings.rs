//! Route that lists the settings that clients can set by name, for each question.

use crate::api::problem::{ApiError, ProblemDocument, ProblemKind};
use axum::Json;
use axum::extract::Path;
use laggard_params::SettingsListing;

/// What can be set in a question's object `set`: names, ranges, defaults, and their sources
#[utoipa::path(
    get, path = "/api/v1/settings/{question}", tag = "questions",
    params(("question" = String, Path, description = "A question that has settings, like diagnose or changes")),
    responses((status = 200, body = SettingsListing), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn settings(Path(question): Path<String>) -> Result<Json<SettingsListing>, ApiError> {
    let unknown = || {
        let known = SettingsListing::questions().join(", ");
        ApiError::new(
            ProblemKind::NotFound,
            format_args!("{question:?} has no settings; these have: {known}"),
        )
    };
    SettingsListing::from_question(&question).map(Json).ok_or_else(unknown)
}
