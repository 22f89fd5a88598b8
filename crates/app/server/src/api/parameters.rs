//! Parameters of queries.

use super::problem::ApiError;
use axum::extract::{FromRequestParts, Query as AxumQuery};
use http::request::Parts;
use laggard_model::{Nanos, Timestamp};
use laggard_params::{Moment, Window};
pub(crate) use laggard_system::now;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

/// The parameters behind `?`; invalid ones give a problem document.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Query<T>, ApiError> {
        let read = AxumQuery::<T>::from_request_parts(parts, state).await;
        read.map(|AxumQuery(read)| Query(read)).map_err(|rejection| ApiError::invalid(rejection.body_text()))
    }
}

/// A window of time.
#[derive(Clone, Copy, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WindowParameters {
    /// Where it begins; an hour before it ends if absent.
    pub(crate) since: Option<Moment>,
    /// Where it ends, that instant included; now if absent.
    pub(crate) until: Option<Moment>,
}

/// Length of a window without a beginning.
const USUAL_WINDOW: Nanos = Nanos::from_secs(3600);

impl WindowParameters {
    pub(crate) fn window(self) -> Result<Window, ApiError> {
        window(self.since, self.until, now())
    }
}

/// The window of parameters that may be absent.
pub(crate) fn window(
    since: Option<Moment>,
    until: Option<Moment>,
    now: Timestamp,
) -> Result<Window, ApiError> {
    let until = until.map_or(now, |moment| moment.at(now));
    let since = since.map_or(until.minus(USUAL_WINDOW), |moment| moment.at(now));
    checked(Window { since, until })
}

/// The part of a list that was requested.
pub(crate) struct ListRange {
    /// Without an end, it is open there.
    pub(crate) window: Window,
    /// Most entries.
    pub(crate) limit: usize,
}

/// The range of a list, from the parameters `since` and `until` at a time, and `limit` with what is usual and the most.
pub(crate) fn list_range(
    (since, until, now): (Option<Moment>, Option<Moment>, Timestamp),
    (limit, usual, most): (Option<u64>, usize, usize),
) -> Result<ListRange, ApiError> {
    let limit = count("limit", limit, usual, most)?;
    let since = since.map_or(Timestamp::MIN, |moment| moment.at(now));
    let until = until.map_or(Timestamp::MAX, |moment| moment.at(now));
    Ok(ListRange { window: checked(Window { since, until })?, limit })
}

/// Shortens a list to a limit; how many entries were left out.
pub(crate) fn shorten<T>(list: &mut Vec<T>, limit: usize) -> u64 {
    let omitted = list.len().saturating_sub(limit) as u64;
    list.truncate(limit);
    omitted
}

fn checked(window: Window) -> Result<Window, ApiError> {
    match window.since > window.until {
        true => Err(ApiError::invalid("since is later than until")),
        false => Ok(window),
    }
}

/// Whether something lasted in a window; without an end, it still lasts.
pub(crate) fn lasted_in(window: Window, since_ns: i64, until_ns: Option<i64>) -> bool {
    until_ns.is_none_or(|until_ns| until_ns >= window.since.unix_ns()) && since_ns <= window.until.unix_ns()
}

/// A requested number, from 1 to `most`; `usual` if absent.
pub(crate) fn count(
    name: &str,
    requested: Option<u64>,
    usual: usize,
    most: usize,
) -> Result<usize, ApiError> {
    match requested.map(usize::try_from) {
        None => Ok(usual),
        Some(Ok(number)) if (1..=most).contains(&number) => Ok(number),
        Some(_) => Err(ApiError::invalid(format_args!("{name} must be a whole number from 1 to {most}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_have_a_default_length() {
        let now = Timestamp::from_unix_ns(5_000_000_000_000);
        let read = |since: Option<&str>, until: Option<&str>| {
            let moment = |text: Option<&str>| text.map(|text| Moment::parse_exact(text).unwrap());
            window(moment(since), moment(until), now)
                .map(|window| (window.since.unix_ns(), window.until.unix_ns()))
        };
        assert_eq!(read(None, None), Ok((1_400_000_000_000, 5_000_000_000_000)));
        assert_eq!(read(None, Some("4000000000000")), Ok((400_000_000_000, 4_000_000_000_000)));
        assert_eq!(read(Some("-10m"), None), Ok((4_400_000_000_000, 5_000_000_000_000)));
        assert_eq!(read(Some("7"), Some("7")), Ok((7, 7)));
        assert!(read(Some("8"), Some("7")).is_err());
    }

    #[test]
    fn counts_have_a_range() {
        assert_eq!(count("bins", None, 60, 100), Ok(60));
        assert_eq!(count("bins", Some(100), 60, 100), Ok(100));
        assert!(count("bins", Some(0), 60, 100).is_err() && count("bins", Some(101), 60, 100).is_err());
    }
}
