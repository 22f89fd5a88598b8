//! The query of a URL as pairs: these APIs repeat some parameters, and ignore unknown ones.

use super::go_duration;
use crate::api::parameters::Query;
use crate::api::problem::ApiError;
use axum::extract::FromRequestParts;
use http::request::Parts;
use laggard_model::{Nanos, Timestamp};

/// Names and values in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct UrlFields(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for UrlFields {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<UrlFields, ApiError> {
        Query::<Vec<(String, String)>>::from_request_parts(parts, state)
            .await
            .map(|Query(pairs)| UrlFields(pairs))
    }
}

impl UrlFields {
    /// The first value of this name that is not empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.all(name).find(|value| !value.is_empty())
    }

    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A whole number.
    ///
    /// # Errors
    /// When it is none; of the other functions, too.
    pub(super) fn number(&self, name: &str) -> Result<Option<i64>, ApiError> {
        let parse = |text: &str| {
            text.parse()
                .map_err(|_| ApiError::invalid(format_args!("{name}: {text:?} is not a whole number")))
        };
        self.text(name).map(parse).transpose()
    }

    /// A number of traces, from 1 to `most`.
    pub(super) fn count(&self, name: &str, default: usize, most: usize) -> Result<usize, ApiError> {
        match self.number(name)?.map(usize::try_from) {
            None => Ok(default),
            Some(Ok(count @ 1..)) if count <= most => Ok(count),
            Some(_) => Err(ApiError::invalid(format_args!("{name} is a whole number from 1 to {most}"))),
        }
    }

    /// A time in units of so many nanoseconds since the Unix epoch.
    pub(super) fn time(&self, name: &str, unit_ns: i64) -> Result<Option<Timestamp>, ApiError> {
        Ok(self.number(name)?.map(|units| Timestamp::from_unix_ns(units.saturating_mul(unit_ns))))
    }

    /// A duration such as `1.5ms`.
    pub(super) fn duration(&self, name: &str) -> Result<Option<Nanos>, ApiError> {
        let parse = |text: &str| {
            let wrong = || {
                ApiError::invalid(format_args!("{name}: {text:?} is not a duration such as 100ms or 1.5s"))
            };
            go_duration::parse(text).ok_or_else(wrong)
        };
        self.text(name).map(parse).transpose()
    }
}
