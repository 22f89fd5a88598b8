//! One query over a long time, in questions that the server will answer.

use crate::client::{Client, RangeQuery};
use crate::series::{JoinedSeries, ReadTimes};
use crate::{PrometheusError, Query};
use laggard_model::{Nanos, Sink, Timestamp};
use std::collections::BTreeSet;

/// The time range of a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeRange {
    /// The first instant; moved back to a multiple of the step.
    pub since: Timestamp,
    /// The last instant at most.
    pub until: Timestamp,
    /// Distance of the instants, at least a millisecond.
    pub step: Nanos,
}

/// Result of one query.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fetched {
    /// Bytes of all responses, decompressed.
    pub bytes: u64,
    /// Questions that were answered.
    pub answers: u64,
    /// Distinct series.
    pub series: u64,
    /// Readings, without repetitions.
    pub points: u64,
    /// The server's warnings, without duplicates.
    pub warnings: Vec<String>,
}

/// Maximum number of instants per request: below Prometheus's limit of 11,000 per series.
const STEPS_MAX: i64 = 10_000;

/// Maximum number of warnings.
const WARNINGS_MAX: usize = 20;

// Limit: instants of a Prometheus query | rejected
/// Maximum number of instants of a query: a year of minutes.
const INSTANTS_MAX: i64 = 1 << 20;

/// Runs one query over a time range and passes every sample to the sink.
///
/// A bare selector is queried twice, once as `timestamp(…)`: Prometheus repeats the last value for up to five minutes,
/// and only the instants distinguish a repeated value from a new one, and a gap from an idle server.
///
/// # Errors
/// If the server is unreachable, rejects the query, or returns something other than a matrix.
pub fn fetch(
    client: &Client,
    query: &Query,
    range: &TimeRange,
    sink: &mut dyn Sink,
) -> Result<Fetched, PrometheusError> {
    let step = i64::try_from(range.step.ns()).unwrap_or(i64::MAX).max(1_000_000);
    let first = range.since.unix_ns().div_euclid(step).saturating_mul(step);
    let last = range.until.unix_ns();
    if last.saturating_sub(first) / step >= INSTANTS_MAX {
        return Err(PrometheusError::Settings(format!(
            "{} instants are more than {INSTANTS_MAX}; take a longer --step or less time",
            last.saturating_sub(first) / step
        )));
    }
    let promql = query.with_step(step);
    let mut fetcher = RangeFetcher { client, fetched: Fetched::default(), warnings: BTreeSet::new() };
    let mut joined = JoinedSeries::new(query, step);
    let mut steps = STEPS_MAX;
    let mut start = first;
    while start <= last {
        let end = start.saturating_add((steps - 1).saturating_mul(step)).min(last);
        let range_query = RangeQuery { promql: &promql, start, end, step };
        match fetcher.query_range(&range_query, query.is_selector()) {
            Ok((series, read)) => joined.add(&series, read.as_ref(), sink),
            Err(error) if steps > 1 && end > start && is_too_much(&error) => {
                steps = (steps.min((end - start) / step + 1) / 2).max(1);
                continue;
            }
            Err(error) => return Err(error),
        }
        start = end.saturating_add(step);
    }
    let mut fetched = fetcher.fetched;
    fetched.warnings = fetcher.warnings.into_iter().take(WARNINGS_MAX).collect();
    (fetched.series, fetched.points) = (joined.series(), joined.points());
    joined.emit(sink);
    Ok(fetched)
}

/// Whether less time may be answered.
fn is_too_much(error: &PrometheusError) -> bool {
    match error {
        PrometheusError::TooLarge { .. } => true,
        PrometheusError::Refused { message, .. } => {
            ["too many samples", "maximum resolution", "too many points", "exceeds the limit"]
                .iter()
                .any(|words| message.contains(words))
        }
        _ => false,
    }
}

struct RangeFetcher<'c> {
    client: &'c Client,
    fetched: Fetched,
    warnings: BTreeSet<String>,
}

impl RangeFetcher<'_> {
    fn query_range(
        &mut self,
        range_query: &RangeQuery<'_>,
        is_selector: bool,
    ) -> Result<(Vec<crate::answer::MatrixSeries>, Option<ReadTimes>), PrometheusError> {
        let series = self.fetch_range(range_query)?;
        if !is_selector || series.is_empty() {
            return Ok((series, None));
        }
        let promql = format!("timestamp({})", range_query.promql);
        let times = self.fetch_range(&RangeQuery { promql: &promql, ..*range_query })?;
        Ok((series, Some(ReadTimes::new(&times))))
    }

    fn fetch_range(
        &mut self,
        range_query: &RangeQuery<'_>,
    ) -> Result<Vec<crate::answer::MatrixSeries>, PrometheusError> {
        let result = self.client.query_range(range_query)?;
        self.fetched.bytes += result.bytes;
        self.fetched.answers += 1;
        self.warnings.extend(result.matrix.warnings);
        Ok(result.matrix.series)
    }
}
